//! The rank whose code runs, as far as its C library asks for it. The layer of the ranks implements it.

use std::cell::Cell;

use engine::{Duration, Time};

use super::View;
use super::statics::OwnOptions;
use crate::loader::ProgramCopy;

/// A rank as a process of the operating system.
pub trait Rank {
    /// Its state in the C library.
    fn view(&self) -> &View;
    /// Its number in the world.
    fn number(&self) -> u32;
    /// Number of ranks of the run.
    fn ranks(&self) -> u32;
    /// Number of its simulated host.
    fn host(&self) -> u32;
    /// Number of the socket of that host.
    fn socket(&self) -> u32;
    /// Its copy of the program.
    fn program(&self) -> &ProgramCopy;
    /// Place of the program's own `environ`, relative to its base.
    fn own_environ(&self) -> Option<usize>;
    /// Places of the program's own variables of getopt(3).
    fn own_options(&self) -> OwnOptions;
    /// Performs what it has deferred, so that simulated time is that of the program.
    fn catch_up(&self);
    /// True if it has gone on from operations that are not performed.
    fn is_ahead(&self) -> bool;
    /// Hands on what it has written.
    fn flush(&self);
    /// Simulated time, for a program that asks for it.
    fn look_at_clock(&self) -> Time;
    /// Simulated time at which its computing up to now has ended.
    fn end_of_computing(&self) -> Time;
    /// Waits until a simulated time.
    fn sleep_until(&self, until: Time);
    /// Lets time pass before its next operation.
    fn let_pass(&self, time: Duration);
    /// Keeps the code that it has passed to `exit`.
    fn set_exit_code(&self, code: i32);
    /// Keeps its place in the program, for the message about its end.
    fn note_place(&self);
    /// Ends it here, in the middle of whatever it calls.
    fn end(&self) -> !;
}

struct Running(Cell<Option<&'static dyn Rank>>);

// SAFETY: written by the simulator's thread alone, while no code of a rank runs.
unsafe impl Sync for Running {}

static RUNNING: Running = Running(Cell::new(None));

/// The rank whose code runs, if any does.
#[inline]
pub fn running<'a>() -> Option<&'a dyn Rank> {
    RUNNING.0.get().map(|rank| rank as &dyn Rank)
}

/// From now on the code of `rank` runs.
///
/// # Safety
/// The rank lives until another call of this, or of [`none_runs`].
#[inline]
pub unsafe fn runs(rank: &dyn Rank) {
    // SAFETY: the caller says so.
    RUNNING.0.set(Some(unsafe { std::mem::transmute::<&dyn Rank, &'static dyn Rank>(rank) }));
}

/// From now on no rank's code runs.
#[inline]
pub fn none_runs() {
    RUNNING.0.set(None);
}
