//! Progress of a run, its monitors, and reasons to end it early.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use engine::{Duration, Time};
use mpi::{Issued, Rank};

/// Progress of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Simulated time.
    pub now: Time,
    /// Events handled so far.
    pub events: u64,
    /// Fraction of the simulated work that is done \[0..1\], if the workload can tell.
    pub share_done: Option<f64>,
    /// A closer look, once after a monitor has asked for it with [`Control::Look`].
    pub look: Option<Look>,
}

/// Simulated work that is done, of all \[0..1\]:
///
/// ```text
/// share = operations given / all operations · (messages sent + messages delivered) / 2 messages of the operations given
/// ```
///
/// Assumes that the operations that are still to be given are as much work for their weight as those before.
pub(super) fn share_done(issued: Option<Issued>, announced: u64, moved: u64) -> Option<f64> {
    let Issued { given, all } = issued.filter(|issued| issued.all > 0.0)?;
    let share = if announced > 0 { moved as f64 / (2.0 * announced as f64) } else { 1.0 };
    Some((given / all * share).min(1.0))
}

/// A closer look at all ranks of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Number of ranks that have not finished.
    pub unfinished: u32,
    /// Messages that have been sent and not received, with those of collectives.
    pub in_flight: u64,
    /// Rank that is furthest behind of those that have not finished, and the time that it has reached.
    pub behind: Option<(Time, Rank)>,
}

/// Answer of a monitor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// Go on.
    Continue,
    /// Go on with more detail: the monitors of all processes get a [`Look`] soon.
    Look,
    /// Stop here, with a partial result.
    Stop,
}

/// Observes the progress of a run now and then, and may stop it.
pub trait Monitor {
    /// Called about every 2¹⁴ events or messages, whatever time they take; must not touch the simulation.
    fn poll(&mut self, progress: Progress) -> Control;

    /// Flag that lets the monitor be polled after each event while it is set: for workloads that compute between events.
    fn bell(&self) -> &'static AtomicBool {
        static SILENT: AtomicBool = AtomicBool::new(false);
        &SILENT
    }
}

/// Decision about the next step of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NextStep {
    /// Goes on.
    GoOn,
    /// Handles the other events of the current time, and then stops.
    EndInstant,
    /// Stops at once, in the middle of the current time.
    Leave,
}

/// Real time at which a monitor has asked to stop, if it has.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Stopping(Option<Instant>);

/// Real time in which a run that is asked to stop may end its instant or window.
const PATIENCE: std::time::Duration = std::time::Duration::from_millis(300);

impl Stopping {
    /// Records that a monitor asks to stop, unless one has before.
    pub fn begin(&mut self) {
        #[expect(
            clippy::disallowed_methods,
            reason = "how long a person waits is no part of the simulation"
        )]
        self.0.get_or_insert_with(Instant::now);
    }

    /// True if a monitor has asked to stop.
    pub fn has_begun(&self) -> bool {
        self.0.is_some()
    }

    /// Next step of the run.
    pub fn next_step(&self) -> NextStep {
        match self.0 {
            None => NextStep::GoOn,
            Some(asked) if asked.elapsed() < PATIENCE => NextStep::EndInstant,
            Some(_) => NextStep::Leave,
        }
    }
}

/// Monitor that lets every run go on.
pub struct Unwatched;

impl Monitor for Unwatched {
    fn poll(&mut self, _progress: Progress) -> Control {
        Control::Continue
    }
}

/// Reason why a run was stopped early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// A monitor asked for it.
    Asked,
    /// It has reached its requested end.
    At(Time),
    /// The ranks have finished the recorded operations, or wait for operations that were not recorded.
    Recorded,
}

/// Time up to which a run goes while ranks have not finished; `None` for no limit. Events at that time itself still
/// happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Until(pub Option<Time>);

impl Until {
    /// Exclusive end of the events that may happen now.
    pub(super) fn end(self, unfinished: u32) -> Time {
        match self.0 {
            Some(at) if unfinished > 0 => at + Duration(1),
            _ => Time::LAST,
        }
    }

    /// Reason to stop before the next event, which is due at `next`.
    pub(super) fn stop(self, next: Time, unfinished: u32) -> Option<Stop> {
        let at = self.0.filter(|at| unfinished > 0 && *at < next && next < Time::NEVER)?;
        Some(Stop::At(at))
    }
}
