//! Values of the standard's interface in MPICH's convention, and back: constants, handles, codes and statuses.
//!
//! The functions are written by `build.rs` from `mpich/constants.txt`, the source of the values; that of the status is
//! MPICH's mpi.h (frozen since version 3.1).

#![allow(
    dead_code,
    reason = "a kind of constants is used once a function of the table that has one is simulated"
)]

pub mod callbacks;

use std::ffi::c_int;

use crate::abi::status::Status;

pub use crate::loader::interface::mpich_is_spoken as is_spoken;
pub use constants::*;

/// MPI_ERR_LASTCODE here and there: what a program adds is above it.
pub(crate) const LAST_CODE: c_int = 0x3fff;
pub(crate) const LAST_CODE_THERE: c_int = 0x3fff_ffff;
/// Numbers that are no code there, which a program may write into a status, are kept as so much less: no code here.
pub(crate) const UNKNOWN: c_int = c_int::MIN;
pub(crate) const LAST_UNKNOWN: c_int = UNKNOWN + LAST_CODE_THERE;
/// MPI_ERR_OTHER there, for classes that it does not have.
pub(crate) const ERR_OTHER: c_int = 15;

/// MPI_Status there.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Foreign {
    bytes_low: c_int,
    /// Bits 32 and more of the bytes, times two, plus whether it was cancelled.
    bytes_high_and_cancelled: c_int,
    source: c_int,
    tag: c_int,
    error: c_int,
}

pub(crate) fn status_in(status: Foreign) -> Status {
    let bytes =
        u64::from(status.bytes_low as u32) | u64::from(status.bytes_high_and_cancelled as u32 >> 1) << 32;
    let cancelled = status.bytes_high_and_cancelled & 1 != 0;
    Status::new(rank_in(status.source), tag_in(status.tag), error_in(status.error), bytes, cancelled)
}

pub(crate) fn status_out(status: Status) -> Foreign {
    let bytes = status.bytes();
    Foreign {
        bytes_low: bytes as c_int,
        bytes_high_and_cancelled: ((bytes >> 32) as c_int) << 1 | c_int::from(status.cancelled()),
        source: rank_out(status.source),
        tag: tag_out(status.tag),
        error: error_out(status.error),
    }
}

/// Makes an empty status: of one that is only written, the error counts, which calls with one status leave alone.
pub(crate) fn status_empty(status: Foreign) -> Status {
    let mut empty = Status::EMPTY;
    empty.error = error_in(status.error);
    empty
}

pub(crate) fn other_error_in(code: c_int) -> c_int {
    match code {
        LAST_CODE_THERE.. => code - LAST_CODE_THERE + LAST_CODE,
        1.. => code + UNKNOWN,
        code => code,
    }
}

pub(crate) fn other_error_out(code: c_int) -> c_int {
    match code {
        LAST_CODE.. => code - LAST_CODE + LAST_CODE_THERE,
        1.. => ERR_OTHER,
        ..=LAST_UNKNOWN => code - UNKNOWN,
        code => code,
    }
}

pub(crate) fn set_in(bits: &[(c_int, c_int)], value: c_int) -> c_int {
    let known = bits.iter().filter(|bit| value & bit.0 != 0);
    let rest = bits.iter().fold(value, |rest, bit| rest & !bit.0);
    // What is no constant stays none.
    if rest != 0 { -1 } else { known.fold(0, |set, bit| set | bit.1) }
}

pub(crate) fn set_out(bits: &[(c_int, c_int)], value: c_int) -> c_int {
    bits.iter().filter(|bit| value & bit.1 != 0).fold(0, |set, bit| set | bit.0)
}

/// Both directions of every constant.
#[allow(missing_docs, clippy::unnecessary_cast)]
mod constants {
    use std::ffi::c_int;

    use super::{other_error_in, other_error_out, set_in, set_out};

    include!(concat!(env!("OUT_DIR"), "/constants.rs"));
}
