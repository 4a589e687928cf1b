//! The clock of what a rank computes between two MPI calls: the processor time of the simulator's thread.
//!
//! Time in which the thread waits for a core does not count. If the wall clock advances further than the thread's,
//! something else ran on the core meanwhile and left cold caches behind: the stretch is *interrupted*. The library's own
//! work from the entry of an MPI call on, and reading the clocks, are no computing of the program: both are subtracted.
//! `computing` turns these times into simulated ones. Source: F. Cappello et al., and every on-line simulator since;
//! Cornebize's thesis (see `mpi::compute::kernel`), 2.3.

use std::cell::Cell;

use crate::loader::callers;

/// Time for which something else must run to interrupt a stretch \[ns\].
const INTERRUPTION_NS: u64 = 20_000;

/// A stretch as it was measured.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Measured {
    /// Processor time of the thread \[ns\].
    pub ns: u64,
    /// True if something else ran meanwhile.
    pub interrupted: bool,
}

/// Readings of both clocks \[ns\].
#[derive(Debug, Default, Clone, Copy)]
struct Reading {
    thread: u64,
    wall: u64,
    stamp: u64,
}

/// Start of a rank's computing, and the time since then that does not count, by both clocks.
#[derive(Debug, Clone, Copy)]
struct Since {
    began: Reading,
    paused: Reading,
}

thread_local! {
    static SINCE: Cell<Option<Since>> = const { Cell::new(None) };
    static OVERHEAD_NS: Cell<Option<u64>> = const { Cell::new(None) };
    static FIRST: Cell<Option<Reading>> = const { Cell::new(None) };
}

/// True if the clock runs while ranks do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// Never.
    Stopped,
    /// While they compute.
    Runs,
}

impl Clock {
    /// A rank begins to run.
    #[inline]
    pub fn start(self) {
        if self == Clock::Runs {
            SINCE.set(Some(Since { began: read(), paused: Reading::default() }));
        }
    }

    /// A rank has stopped: gives its computing since `start`.
    #[inline]
    pub fn stop(self) -> Measured {
        if self == Clock::Stopped {
            Measured::default()
        } else {
            SINCE.take().map_or_else(Measured::default, measured)
        }
    }
}

/// Computing of the running rank since its last operation, or since the last call of this.
pub fn split() -> Measured {
    let Some(since) = SINCE.get() else { return Measured::default() };
    Clock::Runs.start();
    measured(since)
}

/// A pause of the clock.
pub struct Paused(Reading);

/// Stops counting until [`go_on`] is called with the result.
pub fn pause() -> Option<Paused> {
    SINCE.get().map(|_| Paused(read()))
}

/// Counts again after a pause.
pub fn go_on(paused: Option<Paused>) {
    if let (Some(Paused(from)), Some(since)) = (paused, SINCE.get()) {
        let (now, before) = (read(), since.paused);
        // The clock may have been split since.
        let (thread, wall) = (from.thread.max(since.began.thread), from.wall.max(since.began.wall));
        let (thread, wall) = (before.thread + (now.thread - thread), before.wall + (now.wall - wall));
        let paused = Reading { thread, wall, stamp: 0 };
        SINCE.set(Some(Since { paused, ..since }));
    }
}

/// True if the computing of the running rank is measured.
pub fn runs() -> bool {
    SINCE.get().is_some()
}

fn measured(since: Since) -> Measured {
    let now = read();
    let ns = (now.thread - since.began.thread).saturating_sub(since.paused.thread);
    let wall_ns = (now.wall - since.began.wall).saturating_sub(since.paused.wall);
    let aside_ns = in_library_ns(&since.began, &now) + overhead_ns();
    Measured { ns: ns.saturating_sub(aside_ns), interrupted: wall_ns > ns + INTERRUPTION_NS }
}

/// Time that the library has worked for the MPI call that ends a stretch \[ns\].
fn in_library_ns(began: &Reading, now: &Reading) -> u64 {
    let entered = callers::entry_stamp();
    let first = FIRST.get().unwrap_or(*began);
    if !(began.stamp..now.stamp).contains(&entered) || now.stamp <= first.stamp {
        return 0;
    }
    let ns_per_tick = (now.wall - first.wall) as f64 / (now.stamp - first.stamp) as f64;
    ((now.stamp - entered) as f64 * ns_per_tick) as u64
}

/// Cost of an empty measurement \[ns\]: the least of several tries.
fn overhead_ns() -> u64 {
    OVERHEAD_NS.get().unwrap_or_else(|| {
        FIRST.set(Some(read()));
        let tries = (0..TRIES).map(|_| {
            let (began, ended) = (read(), read());
            ended.thread - began.thread
        });
        let least = tries.min().unwrap_or(0);
        OVERHEAD_NS.set(Some(least));
        least
    })
}

/// Tries for the time of reading the clocks.
const TRIES: u32 = 100;

fn read() -> Reading {
    Reading { thread: thread_ns(), wall: wall_ns(), stamp: callers::stamp() }
}

/// The time of this thread \[ns\].
pub fn thread_ns() -> u64 {
    clock_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// The time of the machine \[ns\]; may be called in signal handlers.
pub fn wall_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC)
}

fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: fills the structure.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work() {
        let sum: u64 = (0..2_000_000).map(std::hint::black_box).sum();
        assert!(sum > 0);
    }

    #[test]
    fn computing_counts_and_a_pause_does_not() {
        Clock::Runs.start();
        work();
        let first = split();
        let paused = pause();
        let since = thread_ns();
        work();
        let aside_ns = thread_ns() - since;
        go_on(paused);
        let rest = Clock::Runs.stop();
        assert!(first.ns > 0 && rest.ns < aside_ns, "{first:?} {rest:?} {aside_ns}");
        Clock::Stopped.start();
        assert_eq!((runs(), Clock::Stopped.stop()), (false, Measured::default()));
    }

    #[test]
    fn sleep_is_an_interruption_and_takes_no_time_of_the_thread() {
        Clock::Runs.start();
        // SAFETY: sleeps.
        unsafe { libc::usleep(5_000) };
        let slept = Clock::Runs.stop();
        assert!(slept.interrupted && slept.ns < 5_000_000);
    }
}
