//! Arguments and results of functions of the program, in its convention.
//!
//! A handle is handed on as a word, of which a program with MPICH's convention reads the lower half.

use std::ffi::c_int;

use super::{Foreign, is_spoken, status_in, status_out};
use crate::abi::handle::{Comm, Datatype, File, Object, Session, Win};
use crate::abi::status::Status;

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident($kind:ident) = $out:ident;)*) => {$(
        $(#[$doc])*
        pub fn $name(handle: $kind) -> usize {
            if is_spoken() { super::$out(handle.0) as usize } else { handle.0 }
        }
    )*};
}

handles! {
    /// A communicator.
    comm(Comm) = comm_out;
    /// A datatype.
    datatype(Datatype) = datatype_out;
    /// A window.
    win(Win) = win_out;
    /// A file.
    file(File) = file_out;
    /// A session.
    session(Session) = session_out;
}

/// Any of them.
pub fn object(object: Object) -> usize {
    match object {
        Object::Comm(handle) => comm(handle),
        Object::Datatype(handle) => datatype(handle),
        Object::Win(handle) => win(handle),
        Object::File(handle) => file(handle),
        Object::Session(handle) => session(handle),
    }
}

/// An error code for the program.
pub fn error(code: c_int) -> c_int {
    if is_spoken() { super::error_out(code) } else { code }
}

/// An error code from the program.
pub fn heard_error(code: c_int) -> c_int {
    if is_spoken() { super::error_in(code) } else { code }
}

/// Lets `function` of the program fill a status.
pub fn status<R>(status: &mut Status, function: impl FnOnce(*mut Status) -> R) -> R {
    if !is_spoken() {
        return function(status);
    }
    let mut theirs: Foreign = status_out(*status);
    let answer = function((&raw mut theirs).cast());
    *status = status_in(theirs);
    answer
}
