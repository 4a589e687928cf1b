//! The exported functions, `MPI_` and `PMPI_`, and how each calls the function that does its work.
//!
//! `build.rs` writes one for each line of the headers in `include/mpi`. Arguments are converted by `From`, so
//! that `int` and `MPI_Count` counts meet the same function.

use std::ffi::c_int;

use super::error;
use crate::abi::error::{Answer, Class, Error};
use crate::abi::handle::Handle;
use crate::live::process::Process;

/// Result of a function of ours, as C takes it.
pub trait Outcome {
    /// The C type.
    type C;
    /// The value for the program, or the error handler's word.
    fn answer(self, me: &Process, function: &str) -> Self::C;
}

impl Outcome for Answer {
    type C = c_int;
    #[inline]
    fn answer(self, me: &Process, function: &str) -> c_int {
        match self {
            Ok(()) => Class::SUCCESS.0,
            Err(error) => error::raise(me, function, &error),
        }
    }
}

macro_rules! values {
    ($($kind:ty)*) => {$(
        impl Outcome for $kind {
            type C = $kind;
            fn answer(self, _: &Process, _: &str) -> $kind {
                self
            }
        }
    )*};
}

values! { f64 isize c_int }

impl Outcome for Handle {
    type C = usize;
    fn answer(self, _: &Process, _: &str) -> usize {
        self.0
    }
}

/// Runs `body` for the rank that calls `function`, which is for the time between MPI_Init and MPI_Finalize.
#[inline]
pub(super) fn enter<T: Outcome>(function: &'static str, body: impl FnOnce(&Process) -> T) -> T::C {
    enter_as(function, function, body)
}

/// The same for a function that counts as a call of MPI's `counted`; its errors name `function`.
#[inline]
pub(super) fn enter_as<T: Outcome>(
    counted: &'static str,
    function: &'static str,
    body: impl FnOnce(&Process) -> T,
) -> T::C {
    match Process::running() {
        Some(me) if me.uses_mpi() => {
            let _inside = me.enter_call(counted);
            me.call(counted, || body(me).answer(me, function))
        }
        Some(me) => error::out_of_time(me, function),
        None => no_rank(function),
    }
}

/// Runs `body` for the rank that calls `function`, which is for any time.
#[inline]
pub(super) fn enter_at_any_time<T: Outcome>(
    function: &'static str,
    body: impl FnOnce(&Process) -> T,
) -> T::C {
    match Process::running() {
        Some(me) => {
            let _inside = me.enter_call(function);
            me.call(function, || body(me).answer(me, function))
        }
        None => no_rank(function),
    }
}

#[cold]
fn no_rank(function: &str) -> ! {
    eprintln!(
        "{function}: no simulation is running: start the program with 'hopcast run PLATFORM -n RANKS PROGRAM'"
    );
    std::process::exit(2)
}

/// A null pointer where an argument is wanted.
#[cold]
pub(super) fn no_place(name: &str) -> Error {
    Error::new(Class::ARG, format!("a null pointer for '{name}'"))
}

/// The exports.
#[allow(missing_docs, clippy::missing_safety_doc, clippy::useless_conversion, clippy::too_many_arguments)]
#[allow(unused_unsafe, clippy::undocumented_unsafe_blocks, clippy::unnecessary_cast)]
pub(crate) mod generated {
    use std::ffi::{c_char, c_int, c_void};

    use super::{enter, enter_at_any_time, no_place};
    use crate::abi::handle::*;
    use crate::abi::pointers::FromProgram;
    use crate::abi::status::Status;
    use crate::call;

    include!(concat!(env!("OUT_DIR"), "/exports.rs"));
}
