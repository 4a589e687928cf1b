//! The C library as a rank sees it: as if the rank were a process of its own.

pub mod exit;
pub mod stdio;

use std::ffi::{CString, c_char};

use crate::loader::{Hook, entry, tls};

unsafe extern "C" {
    static mut program_invocation_name: *mut c_char;
    static mut program_invocation_short_name: *mut c_char;
}

/// The C library's own messages (assert, perror, error) name this program, whose path it is, from now on.
pub fn set_name(path: &str) {
    let text = CString::new(path.replace('\0', "")).expect("zeros are taken out").into_raw();
    let short = path.rfind('/').map_or(0, |slash| slash + 1);
    // SAFETY: the text is never freed; no other thread reads the variables of the C library.
    unsafe {
        program_invocation_name = text;
        program_invocation_short_name = text.add(short);
    }
}

/// Everything that is hooked in a program.
pub fn hooks() -> Vec<Hook> {
    let mut hooks = vec![entry::hook(), tls::hook()];
    hooks.extend(exit::hooks());
    hooks
}
