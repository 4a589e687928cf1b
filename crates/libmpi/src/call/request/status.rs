//! The fields of a status.

use std::ffi::c_int;

use crate::abi::error::Answer;
use crate::abi::status::Status;
use crate::live::process::Process;

macro_rules! fields {
    ($($(#[$doc:meta])* $get:ident $set:ident $field:ident;)*) => {$(
        #[doc = concat!("MPI_Status_", stringify!($get))]
        pub unsafe fn $get(_: &Process, status: *const Status, value: *mut c_int) -> Answer {
            // SAFETY: as the contract of `call` says.
            unsafe { *value = (*status).$field };
            Ok(())
        }

        #[doc = concat!("MPI_Status_", stringify!($set))]
        pub unsafe fn $set(_: &Process, status: *mut Status, value: c_int) -> Answer {
            // SAFETY: as the contract of `call` says.
            unsafe { (*status).$field = value };
            Ok(())
        }
    )*};
}

fields! {
    get_source set_source source;
    get_tag set_tag tag;
    get_error set_error error;
}

/// MPI_Status_set_cancelled
pub unsafe fn set_cancelled(_: &Process, status: *mut Status, flag: c_int) -> Answer {
    // SAFETY: as the contract of `call` says.
    unsafe { (*status).set_cancelled(flag != 0) };
    Ok(())
}
