//! A front for programs that were compiled against MPICH, whose handles are integers and whose constants and
//! statuses differ from the standard's.
//!
//! ```text
//!   program ── MPI_Send ──► libmpi.so.12 (a jump for each name) ──► hopcast_mpich_Send, here
//!                                                                     │ arguments in, results out
//!                                                                     ▼
//!                                                                   MPI_Send of the standard's interface
//! ```
//!
//! The functions are written by `build/front.rs`, from the same table as the standard's. Handles of our own
//! making fit into an integer and are the same in both; only what is predefined is translated. A process has
//! one convention ([`is_spoken`](crate::translation::is_spoken)): what the library passes to functions of the program goes
//! through [`callbacks`](crate::translation::callbacks).
//!
//! Source of the values: `mpich/constants.txt`; of the status, MPICH's mpi.h (frozen since version 3.1).

#![allow(
    dead_code,
    reason = "a kind of constants is used once a function of the table that has one is simulated"
)]

mod special;

use std::ffi::c_int;
use std::ptr;

use crate::abi::handle::Comm;
use crate::abi::status::Status;
use crate::call::export::generated;
use crate::translation::*;

/// MPI_IN_PLACE and MPI_BUFFER_AUTOMATIC there.
const IN_PLACE: usize = usize::MAX;
const BUFFER_AUTOMATIC: usize = usize::MAX - 1;
/// MPI_STATUS_IGNORE there.
const STATUS_IGNORE: usize = 1;
/// Place of a status; null if it is to be ignored.
fn status_place(place: *mut Foreign) -> *mut Foreign {
    if place as usize == STATUS_IGNORE { ptr::null_mut() } else { place }
}

fn buffer_in(address: usize) -> usize {
    match address {
        IN_PLACE => crate::abi::IN_PLACE,
        BUFFER_AUTOMATIC => 2,
        other => other,
    }
}

unsafe fn automatic_out(place: *mut usize) {
    // SAFETY: as the contract of `call` says, it has been written.
    unsafe {
        if !place.is_null() && *place == 2 {
            *place = BUFFER_AUTOMATIC;
        }
    }
}

/// A value of the program's that a function takes by its address, in our form while it runs. It goes back when the call
/// is over, if by an exception that an error handler of the program throws, too.
struct One<F: Copy, N: Copy> {
    theirs: *mut F,
    ours: Option<N>,
    back: Option<fn(N) -> F>,
}

/// A list of such values.
struct Many<F: Copy, N: Copy> {
    theirs: *mut F,
    ours: Vec<N>,
    back: Option<fn(N) -> F>,
}

impl<F: Copy, N: Copy> One<F, N> {
    /// # Safety
    /// `theirs` is null or points to a value of the program.
    #[inline]
    unsafe fn new(theirs: *mut F, forth: fn(F) -> N, back: fn(N) -> F) -> One<F, N> {
        // SAFETY: the caller says so.
        let ours = (!theirs.is_null()).then(|| forth(unsafe { theirs.read_unaligned() }));
        One { theirs, ours, back: Some(back) }
    }

    /// One that the function does not write.
    #[inline]
    fn only_read(mut self) -> One<F, N> {
        self.back = None;
        self
    }

    #[inline]
    fn pass(&mut self) -> *mut N {
        self.ours.as_mut().map_or(ptr::null_mut(), ptr::from_mut)
    }
}

impl<F: Copy, N: Copy> Drop for One<F, N> {
    #[inline]
    fn drop(&mut self) {
        if let (Some(ours), Some(back)) = (self.ours, self.back) {
            // SAFETY: the place that was read.
            unsafe { self.theirs.write_unaligned(back(ours)) };
        }
    }
}

impl<F: Copy, N: Copy> Many<F, N> {
    /// # Safety
    /// `theirs` is null or points to `length` values of the program.
    unsafe fn new(
        theirs: *mut F,
        length: impl TryInto<usize>,
        forth: fn(F) -> N,
        back: fn(N) -> F,
    ) -> Many<F, N> {
        let length = if theirs.is_null() { 0 } else { length.try_into().unwrap_or(0) };
        // SAFETY: the caller says so.
        let ours = (0..length).map(|index| forth(unsafe { *theirs.add(index) })).collect();
        Many { theirs, ours, back: Some(back) }
    }

    /// Marks a list that the function does not write.
    fn only_read(mut self) -> Many<F, N> {
        self.back = None;
        self
    }

    fn pass(&mut self) -> *mut N {
        if self.theirs.is_null() { ptr::null_mut() } else { self.ours.as_mut_ptr() }
    }
}

impl<F: Copy, N: Copy> Drop for Many<F, N> {
    fn drop(&mut self) {
        let Some(back) = self.back else { return };
        for (index, value) in self.ours.iter().enumerate() {
            // SAFETY: as many as were read.
            unsafe { *self.theirs.add(index) = back(*value) };
        }
    }
}

/// Number of datatypes that MPI_Alltoallw and its kin take: one for each member, or for each neighbour.
fn peers(comm: c_int, neighbors: bool, sends: bool) -> c_int {
    let comm = Comm(comm_in(comm));
    // SAFETY: the functions write numbers.
    let (receives, gives) =
        unsafe { if neighbors { special::neighbors(comm) } else { special::others(comm) } };
    if sends { gives } else { receives }
}

/// The functions.
#[allow(missing_docs, clippy::missing_safety_doc, clippy::too_many_arguments, clippy::unnecessary_cast)]
#[allow(clippy::undocumented_unsafe_blocks, clippy::useless_conversion, clippy::let_and_return)]
#[allow(unused_mut, unused_parens)]
mod front {
    use std::ffi::{c_char, c_int, c_void};

    use super::*;
    use crate::abi::handle::*;

    include!(concat!(env!("OUT_DIR"), "/front.rs"));
}
