//! What is computed between two calls of a replay: as long as was recorded, or as much as was counted.
//!
//! ```text
//! recorded   time = what lies between the calls, without what was waited in polls
//! counted    time = count / rate
//! ```
//!
//! The count is of what the program itself did there, so the time holds neither what others did on the recorded machine
//! meanwhile, nor how fast that machine was. Valid where a rank's work is in proportion to what is counted: where memory
//! limits it, instructions at a fixed rate are not.

use engine::{Bytes, Duration, EventRate};
use mpi::operation::Work;

use super::error::TraceError;
use super::replay::Mode;
use super::set::{Before, TraceSet};

/// What is computed between calls.
#[derive(Debug, Default, Clone, PartialEq)]
pub enum Computing {
    /// What was recorded there, in time.
    #[default]
    Recorded,
    /// How often this was counted there, by name, over a rate.
    Counted(String, Rate),
}

/// How fast what is counted goes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rate {
    /// So fast, more than 0.
    Given(EventRate),
    /// As the platform computes: for floating-point operations.
    Platform,
}

/// The same of a recording that has it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Gaps {
    Recorded,
    Counted(usize, Rate),
}

impl Gaps {
    /// Those of a replay of `set` in this mode, or why they cannot be.
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

    /// What is computed in `gap` between two calls, of which this is known.
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
