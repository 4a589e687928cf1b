//! Attributes of objects: values under keys, with functions of the program that copy and delete them.

use std::ffi::{c_int, c_void};

/// A value under a key.
#[derive(Debug, Clone, Copy)]
pub struct Attribute {
    pub(crate) key: c_int,
    pub(crate) value: *mut c_void,
}

/// A key: what is done when an object with it is copied or freed.
#[derive(Debug, Clone, Copy)]
pub struct Keyval {
    pub(crate) kind: Kind,
    pub(crate) copy: *mut c_void,
    pub(crate) delete: *mut c_void,
    pub(crate) state: *mut c_void,
    /// Attributes that have it, and one for the program.
    pub(crate) references: u32,
    /// True if the program has freed it.
    pub(crate) freed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Comm,
    Datatype,
    Win,
}
