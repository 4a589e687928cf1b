//! Error handlers, and the error classes and codes that a program has added.

use std::ffi::{c_int, c_void};

/// A function of the program that hears of errors.
#[derive(Debug, Clone, Copy)]
pub struct Handler {
    pub(crate) kind: Kind,
    pub(crate) function: *mut c_void,
    /// Handles and objects that have it.
    pub(crate) references: u32,
}

/// Kind of objects that it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Comm,
    Win,
    File,
    Session,
}

/// Classes and codes that a program has added; the first is the number after MPI_ERR_LASTCODE.
#[derive(Debug, Default)]
pub struct Added(pub(crate) Vec<Option<Entry>>);

#[derive(Debug, Default)]
pub(crate) struct Entry {
    /// Class of a code.
    pub(crate) class: Option<c_int>,
    pub(crate) text: Option<String>,
}
