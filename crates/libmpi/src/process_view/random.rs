//! Random numbers of the C library: the same sequences as in a process, each rank its own.
//!
//! The C library has a second form of each function, with the state as an argument; these are the first forms
//! over them.

use std::cell::RefCell;
use std::ffi::{c_char, c_int, c_long, c_uint, c_ushort, c_void};

use super::rank::running;
use crate::loader::Hook;

unsafe extern "C" {
    fn random_r(state: *mut Additive, result: *mut i32) -> c_int;
    fn srandom_r(seed: c_uint, state: *mut Additive) -> c_int;
    fn initstate_r(seed: c_uint, buffer: *mut c_char, bytes: usize, state: *mut Additive) -> c_int;
    fn setstate_r(buffer: *mut c_char, state: *mut Additive) -> c_int;
    fn erand48_r(digits: *mut c_ushort, state: *mut Congruent, result: *mut f64) -> c_int;
    fn nrand48_r(digits: *mut c_ushort, state: *mut Congruent, result: *mut c_long) -> c_int;
    fn jrand48_r(digits: *mut c_ushort, state: *mut Congruent, result: *mut c_long) -> c_int;
    fn drand48_r(state: *mut Congruent, result: *mut f64) -> c_int;
    fn lrand48_r(state: *mut Congruent, result: *mut c_long) -> c_int;
    fn mrand48_r(state: *mut Congruent, result: *mut c_long) -> c_int;
    fn srand48_r(seed: c_long, state: *mut Congruent) -> c_int;
    fn seed48_r(digits: *mut c_ushort, state: *mut Congruent) -> c_int;
    fn lcong48_r(parameters: *mut c_ushort, state: *mut Congruent) -> c_int;
}

/// `struct random_data` (random_r(3)).
#[repr(C)]
struct Additive {
    /// Places in the table in use: front, rear, its beginning; the last is its end.
    places: [*mut i32; 3],
    kind: [c_int; 3],
    end: *mut i32,
}

/// `struct drand48_data` (drand48_r(3)); zeros are its beginning.
#[repr(C)]
#[derive(Default)]
struct Congruent {
    digits: [c_ushort; 3],
    before: [c_ushort; 3],
    addend: c_ushort,
    initialised: c_ushort,
    factor: u64,
}

/// As much as the C library's own table has \[bytes\].
const TABLE: usize = 128;
/// The seed of a process that names none.
const FIRST_SEED: c_uint = 1;

/// The state of a rank that has asked for a random number.
pub struct Random {
    additive: Additive,
    table: [i32; TABLE / 4],
    congruent: Congruent,
    /// Seed that `seed48` gives back.
    before: [c_ushort; 3],
}

impl Random {
    fn new() -> Box<Random> {
        let additive =
            Additive { places: [std::ptr::null_mut(); 3], kind: [0; 3], end: std::ptr::null_mut() };
        let (table, congruent) = ([0; TABLE / 4], Congruent::default());
        let mut random = Box::new(Random { additive, table, congruent, before: [0; 3] });
        let table = random.table.as_mut_ptr().cast();
        // SAFETY: the table lives as long as the state, in the same box, and is as long as said.
        unsafe { initstate_r(FIRST_SEED, table, TABLE, &raw mut random.additive) };
        random
    }
}

/// State of a rank: nothing until it asks.
pub type Lazy = RefCell<Option<Box<Random>>>;

/// The functions of this file, by the names that they stand for.
pub fn hooks() -> Vec<Hook> {
    vec![
        Hook::new("rand", additive as *const c_void),
        Hook::new("random", additive as *const c_void),
        Hook::new("srand", seed_additive as *const c_void),
        Hook::new("srandom", seed_additive as *const c_void),
        Hook::new("initstate", begin_table as *const c_void),
        Hook::new("setstate", change_table as *const c_void),
        Hook::new("drand48", drand48 as *const c_void),
        Hook::new("erand48", erand48 as *const c_void),
        Hook::new("lrand48", lrand48 as *const c_void),
        Hook::new("nrand48", nrand48 as *const c_void),
        Hook::new("mrand48", mrand48 as *const c_void),
        Hook::new("jrand48", jrand48 as *const c_void),
        Hook::new("srand48", srand48 as *const c_void),
        Hook::new("seed48", seed48 as *const c_void),
        Hook::new("lcong48", lcong48 as *const c_void),
    ]
}

thread_local! {
    /// For code that runs outside of all ranks: the ends of libraries.
    static NOBODY: Lazy = const { RefCell::new(None) };
}

fn with<R>(work: impl FnOnce(&mut Random) -> R) -> R {
    let with = |state: &Lazy| work(state.borrow_mut().get_or_insert_with(Random::new));
    match running() {
        Some(me) => with(&me.view().random),
        None => NOBODY.with(with),
    }
}

/// With the result of a function that writes it to a place.
fn result<T: Default>(make: impl FnOnce(&mut Random, *mut T) -> c_int) -> T {
    let mut value = T::default();
    with(|random| make(random, &raw mut value));
    value
}

extern "C" fn additive() -> c_long {
    // SAFETY: in this and the functions below, the state has been initialised, and the place is of the right
    // type; digits are three of the program's own.
    c_long::from(result(|random, place| unsafe { random_r(&raw mut random.additive, place) }))
}

extern "C" fn seed_additive(seed: c_uint) {
    // SAFETY: see `additive`.
    with(|random| unsafe { srandom_r(seed, &raw mut random.additive) });
}

unsafe extern "C" fn begin_table(seed: c_uint, buffer: *mut c_char, bytes: usize) -> *mut c_char {
    // SAFETY: see `additive`; the buffer is the program's, as long as it says.
    with(|random| unsafe {
        let before = table_of(&random.additive);
        let failed = initstate_r(seed, buffer, bytes, &raw mut random.additive) != 0;
        if failed { std::ptr::null_mut() } else { before }
    })
}

unsafe extern "C" fn change_table(buffer: *mut c_char) -> *mut c_char {
    // SAFETY: see `additive`; the buffer is one that the program has initialised.
    with(|random| unsafe {
        let before = table_of(&random.additive);
        let failed = setstate_r(buffer, &raw mut random.additive) != 0;
        if failed { std::ptr::null_mut() } else { before }
    })
}

/// The buffer of a table: its first word, before the table, says of which kind it is.
fn table_of(state: &Additive) -> *mut c_char {
    state.places[2].wrapping_sub(1).cast()
}

extern "C" fn drand48() -> f64 {
    // SAFETY: see `additive`.
    result(|random, place| unsafe { drand48_r(&raw mut random.congruent, place) })
}

extern "C" fn lrand48() -> c_long {
    // SAFETY: see `additive`.
    result(|random, place| unsafe { lrand48_r(&raw mut random.congruent, place) })
}

extern "C" fn mrand48() -> c_long {
    // SAFETY: see `additive`.
    result(|random, place| unsafe { mrand48_r(&raw mut random.congruent, place) })
}

unsafe extern "C" fn erand48(digits: *mut c_ushort) -> f64 {
    // SAFETY: see `additive`.
    result(|random, place| unsafe { erand48_r(digits, &raw mut random.congruent, place) })
}

unsafe extern "C" fn nrand48(digits: *mut c_ushort) -> c_long {
    // SAFETY: see `additive`.
    result(|random, place| unsafe { nrand48_r(digits, &raw mut random.congruent, place) })
}

unsafe extern "C" fn jrand48(digits: *mut c_ushort) -> c_long {
    // SAFETY: see `additive`.
    result(|random, place| unsafe { jrand48_r(digits, &raw mut random.congruent, place) })
}

extern "C" fn srand48(seed: c_long) {
    // SAFETY: see `additive`.
    with(|random| unsafe { srand48_r(seed, &raw mut random.congruent) });
}

unsafe extern "C" fn seed48(digits: *mut c_ushort) -> *mut c_ushort {
    // SAFETY: see `additive`. The place of the answer is the rank's own, in its box.
    with(|random| unsafe {
        seed48_r(digits, &raw mut random.congruent);
        random.before = random.congruent.before;
        random.before.as_mut_ptr()
    })
}

unsafe extern "C" fn lcong48(parameters: *mut c_ushort) {
    // SAFETY: see `additive`; there are seven parameters.
    with(|random| unsafe { lcong48_r(parameters, &raw mut random.congruent) });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_are_those_of_the_c_library() {
        // SAFETY: the functions of the C library, in one thread.
        unsafe {
            libc::srand(7);
            seed_additive(7);
            assert!((0..100).all(|_| c_long::from(libc::rand()) == additive()));
            libc::srand48(7);
            srand48(7);
            assert!((0..100).all(|_| libc::drand48() == drand48() && libc::mrand48() == mrand48()));
        }
    }
}
