//! Identity of a rank: a process number of its own, and the simulated host's name.

use std::ffi::{c_char, c_int, c_void};

use super::rank::running;
use crate::loader::Hook;

/// The process number of rank 0; the same in every run, as all that a program may print.
const FIRST_PROCESS: c_int = 1000;

/// The functions of this file, by the names that they stand for.
pub fn hooks() -> Vec<Hook> {
    vec![
        Hook::new("getpid", process_number as *const c_void),
        Hook::new("gethostname", get_host_name as *const c_void),
        Hook::new("uname", name_system as *const c_void),
    ]
}

/// The process number of a rank.
pub fn number_of(rank: u32) -> c_int {
    FIRST_PROCESS + rank as c_int
}

extern "C" fn process_number() -> c_int {
    // SAFETY: the call has no argument.
    running().map_or_else(|| unsafe { libc::getpid() }, |me| number_of(me.number()))
}

unsafe extern "C" fn get_host_name(text: *mut c_char, room: usize) -> c_int {
    let Some(me) = running() else {
        // SAFETY: the program's own call.
        return unsafe { libc::gethostname(text, room) };
    };
    let name = host_name(me.host());
    if name.len() >= room {
        // SAFETY: the place of this thread's error number.
        unsafe { *libc::__errno_location() = libc::ENAMETOOLONG };
        return -1;
    }
    // SAFETY: the program's place is long enough, as checked.
    unsafe { put(&name, text) };
    0
}

/// Name of a simulated host.
pub fn host_name(host: u32) -> String {
    format!("host{host}")
}

/// Writes a name and its end.
///
/// # Safety
/// There is room for both.
unsafe fn put(name: &str, text: *mut c_char) {
    // SAFETY: the caller says so.
    unsafe {
        std::ptr::copy_nonoverlapping(name.as_ptr(), text.cast(), name.len());
        *text.add(name.len()) = 0;
    }
}

unsafe extern "C" fn name_system(place: *mut libc::utsname) -> c_int {
    // SAFETY: the program's place; the host's name is shorter than the field of 65 bytes.
    unsafe {
        let result = libc::uname(place);
        if let (0, Some(me)) = (result, running()) {
            put(&host_name(me.host()), (&raw mut (*place).nodename).cast());
        }
        result
    }
}
