//! How much simulated time the program's own computing takes.
//!
//!   t = scale × (CPU time of the simulator's thread between two MPI calls)
//!
//! Assumptions: the program does the same work here as there, and the target's core is `scale` times slower
//! than this one. The thread's clock does not count time in which the thread waits for a core; caches and
//! memory that other programs use slow it all the same, so two runs differ. Source: F. Cappello et al.,
//! and every on-line simulator since; `seeds/hpl-prediction-thesis.txt`, 2.3.

use std::cell::Cell;

use engine::Duration;

/// What the computing between MPI calls costs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Clock {
    /// Nothing.
    Stopped,
    /// The time of this thread, times this (> 0).
    Measured(f64),
}

/// When a rank began to run: thread time \[ns\].
pub type Began = Option<u64>;

thread_local! {
    static SINCE: Cell<Option<(u64, f64)>> = const { Cell::new(None) };
}

impl Clock {
    /// "none", "measured", "measured=1.7".
    pub fn parse(text: &str) -> Result<Clock, String> {
        let scale = match text.split_once('=') {
            None if text == "none" => return Ok(Clock::Stopped),
            None if text == "measured" => return Ok(Clock::Measured(1.0)),
            Some(("measured", scale)) => scale.parse().ok(),
            _ => None,
        };
        match scale {
            Some(scale) if f64::is_finite(scale) && scale > 0.0 => Ok(Clock::Measured(scale)),
            _ => Err(format!("compute: none, measured or measured=SCALE (above 0), not '{text}'")),
        }
    }

    /// A rank begins to run.
    pub fn start(self) -> Began {
        let Clock::Measured(scale) = self else { return None };
        let now = thread_ns();
        SINCE.set(Some((now, scale)));
        Some(now)
    }

    /// It has stopped: what its computing takes on the target.
    pub fn stop(self, began: Began) -> Duration {
        SINCE.set(None);
        match (self, began) {
            (Clock::Measured(scale), Some(began)) => scaled(thread_ns() - began, scale),
            _ => Duration::ZERO,
        }
    }
}

/// What the rank that runs has computed since its last operation.
pub fn computing() -> Duration {
    SINCE.get().map_or(Duration::ZERO, |(began, scale)| scaled(thread_ns() - began, scale))
}

fn scaled(ns: u64, scale: f64) -> Duration {
    Duration((ns as f64 * 1e3 * scale) as u64)
}

fn thread_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: fills the structure.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_the_clock_and_what_is_none() {
        assert_eq!(Clock::parse("none"), Ok(Clock::Stopped));
        assert_eq!(Clock::parse("measured"), Ok(Clock::Measured(1.0)));
        assert_eq!(Clock::parse("measured=1.7"), Ok(Clock::Measured(1.7)));
        for wrong in ["measured=0", "measured=-1", "measured=inf", "fast", "none=2", ""] {
            assert!(Clock::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_scale_of_two_takes_twice_as_long() {
        assert_eq!(scaled(1500, 2.0), Duration(3_000_000));
        let clock = Clock::Measured(1.0);
        let began = clock.start();
        let sum: u64 = (0..2_000_000).map(std::hint::black_box).sum();
        assert!(sum > 0 && clock.stop(began) > Duration::ZERO);
        assert_eq!(Clock::Stopped.stop(Clock::Stopped.start()), Duration::ZERO);
    }
}
