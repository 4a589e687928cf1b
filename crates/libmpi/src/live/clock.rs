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
    /// The same, until the mean of what is computed between two places is known with this relative standard error
    /// (> 0); then that. See `live::sampling`.
    Sampled(f64, f64),
}

thread_local! {
    static SINCE: Cell<Option<(u64, f64)>> = const { Cell::new(None) };
}

impl Clock {
    /// "none", "measured", "measured=1.7", "sampled=5%"; times are multiplied by `scale`, too.
    pub fn parse(text: &str, scale: f64) -> Result<Clock, String> {
        let positive = |text: &str| text.parse().ok().filter(|value: &f64| value.is_finite() && *value > 0.0);
        let clock = match text.split_once('=') {
            None if text == "none" => Some(Clock::Stopped),
            None if text == "measured" => Some(Clock::Measured(scale)),
            Some(("measured", factor)) => positive(factor).map(|factor| Clock::Measured(factor * scale)),
            Some(("sampled", error)) => error
                .strip_suffix('%')
                .and_then(positive)
                .map(|percent| Clock::Sampled(scale, percent / 100.0)),
            _ => None,
        };
        clock.ok_or_else(|| {
            format!("none, measured, measured=SCALE or sampled=ERROR% (above 0), not '{text}'")
        })
    }

    /// The error to which compute times are sampled, if they are.
    pub fn sampled(self) -> Option<f64> {
        if let Clock::Sampled(_, error) = self { Some(error) } else { None }
    }

    /// A rank begins to run.
    pub fn start(self) {
        if let Clock::Measured(scale) | Clock::Sampled(scale, _) = self {
            SINCE.set(Some((thread_ns(), scale)));
        }
    }

    /// It has stopped: what its computing takes on the target.
    pub fn stop(self) -> Duration {
        if self == Clock::Stopped {
            return Duration::ZERO;
        }
        let computed = computing();
        SINCE.set(None);
        computed
    }
}

/// What the rank that runs has computed since its last operation.
pub fn computing() -> Duration {
    SINCE.get().map_or(Duration::ZERO, |(began, scale)| scaled(thread_ns().saturating_sub(began), scale))
}

/// What follows does not count, until [`go_on`] with what this gives.
pub fn pause() -> Option<u64> {
    SINCE.get().map(|_| thread_ns())
}

/// What follows counts again.
pub fn go_on(paused: Option<u64>) {
    if let (Some(paused), Some((began, scale))) = (paused, SINCE.get()) {
        SINCE.set(Some((began + (thread_ns() - paused.max(began)), scale)));
    }
}

/// Whether what the rank that runs computes takes time.
pub fn runs() -> bool {
    SINCE.get().is_some()
}

/// The factor on its time.
pub fn scale() -> f64 {
    SINCE.get().map_or(1.0, |since| since.1)
}

/// So much of this CPU's time on the target.
pub fn scaled(ns: u64, scale: f64) -> Duration {
    Duration((ns as f64 * 1e3 * scale) as u64)
}

/// The time of this thread \[ns\].
pub fn thread_ns() -> u64 {
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
        assert_eq!(Clock::parse("none", 2.0), Ok(Clock::Stopped));
        assert_eq!(Clock::parse("measured", 1.0), Ok(Clock::Measured(1.0)));
        assert_eq!(Clock::parse("measured=1.5", 2.0), Ok(Clock::Measured(3.0)));
        assert_eq!(Clock::parse("sampled=50%", 2.0), Ok(Clock::Sampled(2.0, 0.5)));
        for wrong in
            ["measured=0", "measured=-1", "measured=inf", "sampled", "sampled=5", "fast", "none=2", ""]
        {
            assert!(Clock::parse(wrong, 1.0).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_scale_of_two_takes_twice_as_long() {
        assert_eq!(scaled(1500, 2.0), Duration(3_000_000));
        let clock = Clock::Measured(1.0);
        clock.start();
        let sum: u64 = (0..2_000_000).map(std::hint::black_box).sum();
        assert!(sum > 0 && clock.stop() > Duration::ZERO);
        Clock::Stopped.start();
        assert_eq!(Clock::Stopped.stop(), Duration::ZERO);
    }
}
