//! The fields of a status.

use std::ffi::c_int;

use crate::abi::error::Answer;
use crate::abi::pointers::{InOutPtr, InPtr, OutPtr};
use crate::abi::status::Status;
use crate::live::process::Process;

macro_rules! fields {
    ($($(#[$doc:meta])* $get:ident $set:ident $field:ident;)*) => {$(
        #[doc = concat!("MPI_Status_", stringify!($get))]
        pub fn $get(_: &Process, status: InPtr<Status>, value: OutPtr<c_int>) -> Answer {
            value.set(status.$field);
            Ok(())
        }

        #[doc = concat!("MPI_Status_", stringify!($set))]
        pub fn $set(_: &Process, mut status: InOutPtr<Status>, value: c_int) -> Answer {
            status.$field = value;
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
pub fn set_cancelled(_: &Process, mut status: InOutPtr<Status>, flag: c_int) -> Answer {
    status.set_cancelled(flag != 0);
    Ok(())
}
