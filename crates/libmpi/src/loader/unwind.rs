//! Unwinding tables of copies: exceptions of C++ ask for them by the address of an instruction.
//!
//! The unwinder asks `_dl_find_object` of the C library (since version 2.35), which knows what it has loaded, the
//! template among it, but not the copies. The launcher, whose functions are found before those of
//! libraries, defines that function and asks here first.
//!
//! A program may have an unwinder of its own (`-static-libgcc`), which asks frames of this library in turn; they ask the
//! shared one, whose tables are empty until it has unwound something.

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

/// The copies of the program, as one row of equal pieces of address space.
#[derive(Debug)]
pub struct Copies {
    /// Begin of the first.
    pub start: usize,
    /// From one to the next \[bytes\].
    pub each: usize,
    /// Number of them.
    pub count: usize,
    /// Parts: the place of each within a copy, its length, and the header of its table
    /// (PT_GNU_EH_FRAME), if there is one, relative to the part.
    pub tables: Vec<(usize, usize, Option<usize>)>,
}

static COPIES: OnceLock<Copies> = OnceLock::new();

/// Makes the copies known. A process runs one program.
pub fn set(copies: Copies) {
    extern "C" fn enough(_frame: *mut c_void, _: *mut c_void) -> c_int {
        END_OF_STACK
    }
    // SAFETY: looks at this function's own frame, and has enough.
    unsafe { _Unwind_Backtrace(enough, std::ptr::null_mut()) };
    let known = COPIES.set(copies);
    assert!(known.is_ok(), "a process runs one program");
}

/// `_URC_END_OF_STACK`: look no further.
const END_OF_STACK: c_int = 5;

unsafe extern "C" {
    fn _Unwind_Backtrace(
        see: extern "C" fn(*mut c_void, *mut c_void) -> c_int,
        argument: *mut c_void,
    ) -> c_int;
}

/// `struct dl_find_object` of the C library on x86-64 (dlfcn.h).
#[repr(C)]
pub struct Found {
    flags: u64,
    start: usize,
    end: usize,
    link_map: usize,
    table: usize,
    reserved: [u64; 7],
}

/// As `_dl_find_object`: 0 if `instruction` is of a copy, whose table is then in `found`; −1 if not.
///
/// # Safety
/// `found` is the unwinder's place for the answer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hopcast_find_object(instruction: *const c_void, found: *mut Found) -> c_int {
    let answer = || {
        let copies = COPIES.get()?;
        let distance = (instruction as usize).checked_sub(copies.start)?;
        let index = distance / copies.each;
        let within = distance % copies.each;
        let holds = |part: &&(usize, usize, Option<usize>)| (part.0..part.0 + part.1).contains(&within);
        let (offset, bytes, table) = copies.tables.iter().find(holds).filter(|_| index < copies.count)?;
        let start = copies.start + index * copies.each + offset;
        let (end, table) = (start + bytes, (*table)?);
        Some(Found { flags: 0, start, end, link_map: 0, table: start + table, reserved: [0; 7] })
    };
    match answer() {
        Some(answer) => {
            // SAFETY: the caller says so.
            unsafe { *found = answer };
            0
        }
        None => -1,
    }
}
