//! Threads of a rank that is a process of its own.
//!
//! A new thread has a pad of its own for the thread-local variables of the program (`loader::tls`), which is zero: it
//! begins by filling it.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::OnceLock;

use crate::loader::Hook;

/// The thread-local variables of the program: how far they are from the thread pointer \[bytes\], and how they begin.
static VARIABLES: OnceLock<(isize, Box<[u8]>)> = OnceLock::new();

/// Threads begin with these variables, which are at `place` in this one.
pub fn set(place: usize, image: Box<[u8]>) {
    let known = VARIABLES.set((place.wrapping_sub(thread_pointer()) as isize, image));
    assert!(known.is_ok(), "a process runs one program");
}

/// The function of this file, by the name that it stands for.
pub fn hook() -> Hook {
    Hook::new("pthread_create", create as *const c_void)
}

fn thread_pointer() -> usize {
    let pointer: usize;
    // SAFETY: the first word at the thread pointer is the thread pointer (System V ABI, AMD64).
    unsafe { std::arch::asm!("mov {}, fs:0", out(reg) pointer, options(nostack, readonly)) };
    pointer
}

type Routine = extern "C" fn(*mut c_void) -> *mut c_void;

struct Begin {
    routine: Routine,
    argument: *mut c_void,
}

extern "C" fn create(
    thread: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    routine: Routine,
    argument: *mut c_void,
) -> c_int {
    let begin = Box::into_raw(Box::new(Begin { routine, argument }));
    // SAFETY: what the program passes; the thread takes what it begins with.
    let code = unsafe { libc::pthread_create(thread, attributes, first, begin.cast()) };
    if code != 0 {
        // SAFETY: there is no thread to take it.
        drop(unsafe { Box::from_raw(begin) });
    }
    code
}

extern "C" fn first(begin: *mut c_void) -> *mut c_void {
    // SAFETY: made by `create` for this thread.
    let begin = unsafe { Box::from_raw(begin.cast::<Begin>()) };
    if let Some((distance, image)) = VARIABLES.get() {
        let place = thread_pointer().wrapping_add_signed(*distance) as *mut u8;
        // SAFETY: the pad of this thread, which is as long as that of any other.
        unsafe { ptr::copy_nonoverlapping(image.as_ptr(), place, image.len()) };
    }
    let Begin { routine, argument } = *begin;
    routine(argument)
}
