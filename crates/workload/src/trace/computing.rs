//! Computation between two calls of a replay: the recorded time, or a counted amount at a rate.
//!
//! ```text
//! recorded   time = gap between the calls, without the time waited in polls
//! counted    time = count / rate
//! ```
//!
//! The count covers only the program itself, so the time holds neither the interference of other processes on the
//! recorded machine, nor the speed of that machine. Valid for ranks whose time is proportional to the count: where
//! memory bandwidth limits a rank, instructions at a fixed rate do not predict its time.

use engine::{Bytes, Duration, EventRate};
use mpi::operation::Work;

use super::error::TraceError;
use super::replay::Mode;
use super::set::{Before, TraceSet};

/// Source of the computing times between calls.
#[derive(Debug, Default, Clone, PartialEq)]
pub enum Computing {
    /// Recorded times.
    #[default]
    Recorded,
    /// Recorded count with this name, divided by a rate.
    Counted(String, Rate),
}

/// Rate at which a counted amount is processed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rate {
    /// A given rate, more than 0.
    Given(EventRate),
    /// The platform's rate, for counts of floating-point operations.
    Platform,
}

/// A [`Computing`] whose counts have been looked up in a recording.
#[derive(Debug, Clone, Copy)]
pub(super) enum Gaps {
    Recorded,
    Counted(usize, Rate),
}

impl Gaps {
    /// Looks up the counts that `computing` names in `set`; fails if the recording or the mode does not offer them.
    pub fn of(set: &dyn TraceSet, computing: &Computing, mode: Mode) -> Result<Gaps, TraceError> {
        let Computing::Counted(name, rate) = computing else { return Ok(Gaps::Recorded) };
        let error = |reason: String| Err(TraceError::new("--compute-by", reason));
        if !matches!(mode, Mode::Dependencies | Mode::NoDependencies) {
            return error("is for the mode dependencies, with computing".into());
        }
        let counts = set.counts();
        if let Some(at) = counts.iter().position(|count| count.name == *name) {
            return Ok(Gaps::Counted(at, *rate));
        }
        let known: Vec<_> = counts.into_iter().map(|count| count.name).collect();
        let known = if known.is_empty() { "nothing".to_string() } else { known.join(", ") };
        error(format!(
            "the recording does not say how many {name} there were (hopcast trace record --count): it counts {known}"
        ))
    }

    /// Work that a rank does in `gap` between two calls; `before` is what the recording knows of the gap.
    pub fn work(self, gap: Duration, before: &Before) -> Option<Work> {
        let polled = before.polls > 0;
        let time = match self {
            Gaps::Recorded => gap.saturating_sub(before.waited),
            Gaps::Counted(at, Rate::Given(rate)) => rate.time(before.counts[at]),
            Gaps::Counted(at, Rate::Platform) => {
                let flops = before.counts[at] as f64;
                let work =
                    if polled { Work::PolledFlops(flops) } else { Work::Flops { flops, bytes: Bytes(0) } };
                return (flops > 0.0).then_some(work);
            }
        };
        let work = if polled { Work::Polled(time) } else { Work::Time(time) };
        (time > Duration::ZERO).then_some(work)
    }
}
