//! Functions of the C library that keep something between two calls: each rank has its own.

use std::cell::{Cell, RefCell};
use std::ffi::{c_char, c_int, c_void};
use std::ptr;

use super::rank::running;
use crate::loader::Hook;

unsafe extern "C" {
    static mut optind: c_int;
    static mut opterr: c_int;
    static mut optopt: c_int;
    static mut optarg: *mut c_char;
    fn getopt_long_only(
        argc: c_int,
        argv: *const *mut c_char,
        short: *const c_char,
        long: *const libc::option,
        index: *mut c_int,
    ) -> c_int;
    fn asctime_r(time: *const libc::tm, text: *mut c_char) -> *mut c_char;
    fn ctime_r(time: *const libc::time_t, text: *mut c_char) -> *mut c_char;
}

/// Long enough for `asctime`, with a year of any length \[bytes\].
const DATE: usize = 64;

/// Results that a rank's C library has kept for it.
pub struct Statics {
    token: Cell<*mut c_char>,
    date: RefCell<(libc::tm, [c_char; DATE])>,
    options: Cell<Options>,
}

impl Default for Statics {
    fn default() -> Statics {
        // SAFETY: numbers, and a pointer to the name of a zone, of which none is a valid one.
        let date = unsafe { std::mem::zeroed() };
        let date = RefCell::new((date, [0; DATE]));
        Statics { token: Cell::new(ptr::null_mut()), date, options: Cell::new(Options::FIRST) }
    }
}

/// The variables of getopt(3).
#[derive(Clone, Copy)]
struct Options {
    index: c_int,
    says: c_int,
    wrong: c_int,
    argument: *mut c_char,
}

impl Options {
    const FIRST: Options = Options { index: 1, says: 1, wrong: b'?' as c_int, argument: ptr::null_mut() };
}

impl Statics {
    /// The rank is about to run: a program without copies of the variables of getopt(3) reads the C library's.
    pub fn enter(&self) {
        let now = self.options.get();
        // SAFETY: the variables of the C library, which no other thread looks at.
        unsafe { (optind, opterr, optopt, optarg) = (now.index, now.says, now.wrong, now.argument) };
    }
}

/// Places at which a program keeps its own copies of the variables of getopt(3), relative to its base.
#[derive(Debug, Clone, Copy, Default)]
pub struct OwnOptions {
    /// `optind`, `opterr`, `optopt`, `optarg`.
    pub places: [Option<usize>; 4],
}

/// The names of [`OwnOptions::places`].
pub const OPTIONS: [&str; 4] = ["optind", "opterr", "optopt", "optarg"];

/// The functions of this file, by the names that they stand for.
pub fn hooks() -> Vec<Hook> {
    vec![
        Hook::new("strtok", strtok as *const c_void),
        Hook::new("localtime", localtime as *const c_void),
        Hook::new("gmtime", gmtime as *const c_void),
        Hook::new("asctime", asctime as *const c_void),
        Hook::new("ctime", ctime as *const c_void),
        Hook::new("getopt", short_option as *const c_void),
        Hook::new("__posix_getopt", short_option as *const c_void),
        Hook::new("getopt_long", long_option as *const c_void),
        Hook::new("getopt_long_only", only_long_option as *const c_void),
    ]
}

fn with<R>(work: impl FnOnce(&Statics) -> R) -> R {
    thread_local! {
        /// For code that runs outside of all ranks.
        static NOBODY: Statics = Statics::default();
    }
    match running() {
        Some(me) => work(me.view().statics.get_or_init(Box::default)),
        None => NOBODY.with(work),
    }
}

unsafe extern "C" fn strtok(text: *mut c_char, separators: *const c_char) -> *mut c_char {
    // SAFETY: texts of the program; the place holds what the last call has put there.
    with(|mine| unsafe { libc::strtok_r(text, separators, mine.token.as_ptr()) })
}

unsafe extern "C" fn localtime(time: *const libc::time_t) -> *mut libc::tm {
    // SAFETY: in this function and the next three, times of the program; the places are the rank's own, and
    // stay where they are.
    with(|mine| unsafe { libc::localtime_r(time, &raw mut (*mine.date.as_ptr()).0) })
}

unsafe extern "C" fn gmtime(time: *const libc::time_t) -> *mut libc::tm {
    // SAFETY: see `localtime`.
    with(|mine| unsafe { libc::gmtime_r(time, &raw mut (*mine.date.as_ptr()).0) })
}

unsafe extern "C" fn asctime(time: *const libc::tm) -> *mut c_char {
    // SAFETY: see `localtime`.
    with(|mine| unsafe { asctime_r(time, (&raw mut (*mine.date.as_ptr()).1).cast()) })
}

unsafe extern "C" fn ctime(time: *const libc::time_t) -> *mut c_char {
    // SAFETY: see `localtime`.
    with(|mine| unsafe { ctime_r(time, (&raw mut (*mine.date.as_ptr()).1).cast()) })
}

thread_local! {
    /// The rank whose arguments the C library has looked at last.
    static LOOKED_AT: Cell<Option<u32>> = const { Cell::new(None) };
}

/// Runs a function of getopt(3) with the variables of the rank that runs. What the C library keeps beside them
/// (where it is within a word of several letters) is forgotten when another rank has asked in between.
fn options(ask: impl FnOnce() -> c_int) -> c_int {
    let Some(me) = running() else { return ask() };
    let own = me.own_options();
    let place = |index: usize| own.places[index].map(|at| me.program().base() + at);
    let number = |index: usize| place(index).map(|at| at as *mut c_int);
    with(|mine| {
        let mut now = mine.options.get();
        // SAFETY: copies of the variables in the rank's own program, and the C library's, which no other
        // thread looks at; the words that the dummy call is given are texts that outlive it.
        unsafe {
            now.index = number(0).map_or(now.index, |at| *at);
            now.says = number(1).map_or(now.says, |at| *at);
            if LOOKED_AT.replace(Some(me.number())) != Some(me.number()) {
                optind = 0;
                let words = [c"".as_ptr().cast_mut(), ptr::null_mut()];
                libc::getopt(1, words.as_ptr(), c"".as_ptr());
            }
            (optind, opterr, optopt, optarg) = (now.index, now.says, now.wrong, now.argument);
            let answer = ask();
            now = Options { index: optind, says: opterr, wrong: optopt, argument: optarg };
            mine.options.set(now);
            if let Some(at) = number(0) {
                *at = now.index;
            }
            if let Some(at) = number(2) {
                *at = now.wrong;
            }
            if let Some(at) = place(3) {
                *(at as *mut *mut c_char) = now.argument;
            }
            answer
        }
    })
}

unsafe extern "C" fn short_option(argc: c_int, argv: *const *mut c_char, short: *const c_char) -> c_int {
    // SAFETY: in this function and the next two, the program's own arguments.
    options(|| unsafe { libc::getopt(argc, argv, short) })
}

unsafe extern "C" fn long_option(
    argc: c_int,
    argv: *const *mut c_char,
    short: *const c_char,
    long: *const libc::option,
    index: *mut c_int,
) -> c_int {
    // SAFETY: see `short_option`.
    options(|| unsafe { libc::getopt_long(argc, argv, short, long, index) })
}

unsafe extern "C" fn only_long_option(
    argc: c_int,
    argv: *const *mut c_char,
    short: *const c_char,
    long: *const libc::option,
    index: *mut c_int,
) -> c_int {
    // SAFETY: see `short_option`.
    options(|| unsafe { getopt_long_only(argc, argv, short, long, index) })
}
