//! Between languages: handles as integers, statuses as lists of integers, arithmetic of addresses.
//!
//! A handle is its number in every language: predefined ones and ours are below 2³¹. The three layouts of a status
//! are one: eight integers.

use std::ffi::c_int;
use std::ptr;

use crate::abi::arguments::StatusPlace;
use crate::abi::error::{Answer, Class, Error};
use crate::abi::handle::Handle;
use crate::live::process::Process;

/// MPI_Comm_c2f, MPI_Comm_toint, and those of all other handles.
pub fn to_number(_: &Process, handle: Handle) -> c_int {
    handle.0 as c_int
}

/// MPI_Comm_f2c, MPI_Comm_fromint, and those of all other handles.
pub fn from_number(_: &Process, number: c_int) -> Handle {
    Handle(number as usize)
}

/// MPI_Status_c2f and all others: from one layout to the same.
pub unsafe fn status(_: &Process, from: StatusPlace, to: StatusPlace) -> Answer {
    if from.0.is_null() || to.0.is_null() {
        return Err(Error::new(Class::ARG, "MPI_STATUS_IGNORE has no contents"));
    }
    // SAFETY: as the contract of `call` says, both are statuses; they do not overlap, or are the same.
    unsafe { ptr::copy(from.0, to.0, 1) };
    Ok(())
}

/// MPI_Aint_add
pub fn aint_add(_: &Process, base: isize, distance: isize) -> isize {
    base.wrapping_add(distance)
}

/// MPI_Aint_diff
pub fn aint_diff(_: &Process, one: isize, other: isize) -> isize {
    one.wrapping_sub(other)
}
