//! The clock of what a rank computes between two MPI calls: the processor time of the simulator's thread.
//!
//! Time in which the thread waits for a core does not count. If the wall clock advances further than the thread's,
//! something else ran on the core meanwhile and left cold caches behind: the stretch is *interrupted*. The library's own
//! work from the entry of an MPI call on, and reading the clocks, are no computing of the program: both are subtracted.
//! `computing` turns these times into simulated ones.
//!
//! The thread's clock is the kernel's, and asking for it takes longer than the simulation of a message. Between two
//! questions, both clocks advance with the processor's time stamp counter, for up to 20 us: so long may an interruption
//! count as computing. Where the counter is not steady, the kernel is asked each time.
//!
//! Source: F. Cappello et al., and every on-line simulator since; Cornebize's thesis (see `mpi::compute::kernel`), 2.3.

use std::cell::Cell;

use crate::loader::callers;

/// Time for which something else must run to interrupt a stretch \[ns\].
const INTERRUPTION_NS: u64 = 20_000;
/// Time after which the kernel is asked again \[ns\].
const FRESH_NS: u64 = 20_000;
/// Time for which the counter is watched before it is trusted \[ns\].
const WATCHED_NS: u64 = 200_000;

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

/// The kernel's last answer, and the counter's rate.
#[derive(Debug, Clone, Copy)]
struct Anchor {
    /// The first reading: the rate is that since then.
    first: Reading,
    last: Reading,
    ns_per_tick: f64,
    /// Time for which it lasts; none if the counter is not steady.
    fresh_ticks: u64,
    /// Cost of an empty measurement.
    overhead_ns: u64,
}

thread_local! {
    static SINCE: Cell<Option<Since>> = const { Cell::new(None) };
    static ANCHOR: Cell<Option<Anchor>> = const { Cell::new(None) };
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
            SINCE.set(Some(Since::now()));
        }
    }

    /// A rank has stopped: gives its computing since `start`.
    #[inline]
    pub fn stop(self) -> Measured {
        if self == Clock::Stopped {
            Measured::default()
        } else {
            SINCE.take().map_or_else(Measured::default, |since| since.until(callers::stamp()))
        }
    }
}

impl Since {
    #[inline]
    fn now() -> Since {
        let stamp = callers::stamp();
        let began = match ANCHOR.get() {
            Some(anchor) if anchor.is_fresh(stamp) => anchor.at(stamp),
            known => renewed(known).at(callers::stamp()),
        };
        Since { began, paused: Reading::default() }
    }

    /// Computing until the counter was at `stamp`.
    #[inline]
    fn until(&self, stamp: u64) -> Measured {
        let anchor = anchor(stamp);
        let entered = callers::entry_stamp();
        let in_library = (self.began.stamp..stamp).contains(&entered);
        let now = anchor.at(if in_library { entered } else { stamp });
        let ns = now.thread.saturating_sub(self.began.thread).saturating_sub(self.paused.thread);
        let wall_ns = now.wall.saturating_sub(self.began.wall).saturating_sub(self.paused.wall);
        Measured { ns: ns.saturating_sub(anchor.overhead_ns), interrupted: wall_ns > ns + INTERRUPTION_NS }
    }
}

impl Anchor {
    /// That of a thread that has none yet.
    fn new() -> Anchor {
        let first = ask(u64::MAX);
        let mut anchor = Anchor { first, last: first, ns_per_tick: 0.0, fresh_ticks: 0, overhead_ns: 0 };
        while anchor.last.wall - first.wall < WATCHED_NS {
            anchor.renew();
        }
        if counter_is_steady() {
            anchor.fresh_ticks = (FRESH_NS as f64 / anchor.ns_per_tick) as u64;
        }
        anchor.renew();
        ANCHOR.set(Some(anchor));
        Anchor { overhead_ns: overhead_ns(), ..anchor }
    }

    fn renew(&mut self) {
        self.last = ask(if self.fresh_ticks > 0 { self.fresh_ticks } else { u64::MAX });
        let ticks = self.last.stamp.saturating_sub(self.first.stamp).max(1);
        self.ns_per_tick = (self.last.wall - self.first.wall) as f64 / ticks as f64;
    }

    #[inline]
    fn is_fresh(&self, stamp: u64) -> bool {
        stamp.wrapping_sub(self.last.stamp) < self.fresh_ticks
    }

    /// Both clocks, with the counter at `stamp`, which may be before the kernel was asked.
    #[inline]
    fn at(&self, stamp: u64) -> Reading {
        let ns = (stamp.wrapping_sub(self.last.stamp) as i64 as f64 * self.ns_per_tick) as i64;
        let Reading { thread, wall, .. } = self.last;
        Reading { thread: thread.saturating_add_signed(ns), wall: wall.saturating_add_signed(ns), stamp }
    }
}

/// The kernel's answer as of `stamp`, or less than 20 us before.
#[inline]
fn anchor(stamp: u64) -> Anchor {
    match ANCHOR.get() {
        Some(anchor) if anchor.is_fresh(stamp) => anchor,
        known => renewed(known),
    }
}

#[cold]
fn renewed(known: Option<Anchor>) -> Anchor {
    let mut anchor = known.unwrap_or_else(Anchor::new);
    anchor.renew();
    ANCHOR.set(Some(anchor));
    anchor
}

/// Computing of the running rank since its last operation, or since the last call of this.
pub fn split() -> Measured {
    let Some(since) = SINCE.get() else { return Measured::default() };
    let measured = since.until(callers::stamp());
    SINCE.set(Some(Since::now()));
    measured
}

/// A pause of the clock.
pub struct Paused(Reading);

/// Stops counting until [`go_on`] is called with the result.
pub fn pause() -> Option<Paused> {
    let stamp = callers::stamp();
    SINCE.get().map(|_| Paused(anchor(stamp).at(stamp)))
}

/// Counts again after a pause.
pub fn go_on(paused: Option<Paused>) {
    if let (Some(Paused(from)), Some(since)) = (paused, SINCE.get()) {
        let (now, before) = (Since::now().began, since.paused);
        // The clock may have been split since.
        let (thread, wall) = (from.thread.max(since.began.thread), from.wall.max(since.began.wall));
        let thread = before.thread + now.thread.saturating_sub(thread);
        let wall = before.wall + now.wall.saturating_sub(wall);
        let paused = Reading { thread, wall, stamp: 0 };
        SINCE.set(Some(Since { paused, ..since }));
    }
}

/// True if the computing of the running rank is measured.
pub fn runs() -> bool {
    SINCE.get().is_some()
}

/// Cost of an empty measurement \[ns\]: the least of several tries.
fn overhead_ns() -> u64 {
    let tries = (0..TRIES).map(|_| Since::now().until(callers::stamp()).ns);
    tries.min().unwrap_or(0)
}

/// Tries for the time of reading the clocks.
const TRIES: u32 = 100;
/// Tries to ask the kernel within a moment.
const ASKED: u32 = 3;

/// Asks the kernel, again if that took as long as `interrupted` ticks. The stamp is that of the middle of the question
/// for the thread's time.
fn ask(interrupted: u64) -> Reading {
    let mut reading = Reading::default();
    for _ in 0..ASKED {
        let before = callers::stamp();
        let thread = thread_ns();
        let after = callers::stamp();
        reading = Reading { thread, wall: wall_ns(), stamp: u64::midpoint(before, after) };
        if after.wrapping_sub(before) < interrupted {
            break;
        }
    }
    reading
}

/// True if the processor's counter advances at the same rate at all times, on all cores.
fn counter_is_steady() -> bool {
    const POWER_MANAGEMENT: u32 = 0x8000_0007;
    #[allow(unused_unsafe, reason = "older compilers call it unsafe")]
    // SAFETY: every processor of this architecture has the instruction.
    let leaf = |number| unsafe { std::arch::x86_64::__cpuid(number) };
    leaf(0x8000_0000).eax >= POWER_MANAGEMENT && leaf(POWER_MANAGEMENT).edx & 1 << 8 != 0
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
        let mut first = split();
        // Others may have this core for so long that nothing is left of a stretch.
        while first.interrupted {
            work();
            first = split();
        }
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

    /// The kernel is asked every 20 us, and what others do on this core meanwhile counts as computing.
    #[test]
    fn short_stretches_add_up_to_the_time_of_the_thread() {
        Clock::Runs.start();
        Clock::Runs.stop();
        let (mut sum, mut all) = (0, 0);
        for _ in 0..200 {
            let since = thread_ns();
            for _ in 0..100 {
                Clock::Runs.start();
                (0..2_000).for_each(|number: u64| _ = std::hint::black_box(number));
                sum += Clock::Runs.stop().ns;
            }
            all += thread_ns() - since;
        }
        assert!((all / 2..all * 5 / 4).contains(&sum), "{sum} of {all}");
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
