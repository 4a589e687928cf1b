//! Operations of reductions that a program has made.

use std::ffi::{c_int, c_void};

use crate::abi::handle::Datatype;

/// An operation that a program has made.
#[derive(Debug, Clone, Copy)]
pub struct Operation {
    pub(crate) function: Function,
    pub(crate) commutes: bool,
}

/// `MPI_User_function`
pub(crate) type Short = unsafe extern "C-unwind" fn(*mut c_void, *mut c_void, *mut c_int, *mut Datatype);

/// `MPI_User_function_c`
pub(crate) type Long = unsafe extern "C-unwind" fn(*mut c_void, *mut c_void, *mut i64, *mut Datatype);

#[derive(Debug, Clone, Copy)]
pub(crate) enum Function {
    Short(Short),
    Long(Long),
}
