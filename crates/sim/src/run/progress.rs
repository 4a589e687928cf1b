//! Progress of a run, its monitors, and what may end it before its time.

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
    /// Simulated work that is done, of all that the workload is \[0..1\], where it can tell.
    pub share_done: Option<f64>,
    /// More, once after a monitor has asked for it with [`Control::Look`].
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
    /// Ranks that are not done.
    pub unfinished: u32,
    /// Messages that were sent and have not come yet, those of collectives included.
    pub in_flight: u64,
    /// Rank that is furthest behind of those that are not done, and how far it has come.
    pub behind: Option<(Time, Rank)>,
}

/// Wish of a monitor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// Go on.
    Continue,
    /// Go on, and tell more: the monitors of all processes get a [`Look`] soon.
    Look,
    /// Stop here, with a partial result.
    Stop,
}

/// Is told now and then where the run stands, and may stop it.
pub trait Monitor {
    /// Called about every 2¹⁴ events or messages, however long they take; must not touch the simulation.
    fn poll(&mut self, progress: Progress) -> Control;

    /// Flag that lets the monitor be polled after each event while it is set: for workloads that compute between events.
    fn bell(&self) -> &'static AtomicBool {
        static SILENT: AtomicBool = AtomicBool::new(false);
        &SILENT
    }
}

/// Next step of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heed {
    /// Goes on.
    GoOn,
    /// Handles the other events of the present time, and stops then.
    EndInstant,
    /// Stops at once, in the middle of the present time.
    Leave,
}

/// Real time at which a monitor has asked to stop, if it has.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Stopping(Option<Instant>);

/// Real time that a run which is asked to stop has to end its instant or window.
const PATIENCE: std::time::Duration = std::time::Duration::from_millis(300);

impl Stopping {
    /// Notes that a monitor asks to stop, unless one has before.
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
    pub fn heed(&self) -> Heed {
        match self.0 {
            None => Heed::GoOn,
            Some(asked) if asked.elapsed() < PATIENCE => Heed::EndInstant,
            Some(_) => Heed::Leave,
        }
    }
}

/// Lets every run go on.
pub struct Unwatched;

impl Monitor for Unwatched {
    fn poll(&mut self, _progress: Progress) -> Control {
        Control::Continue
    }
}

/// Why a run was stopped before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// A monitor asked for it.
    Asked,
    /// It has come to the time up to which it was to go.
    At(Time),
    /// The ranks have done what was recorded of them, or wait for what was not.
    Recorded,
}

/// Up to when a run goes that has ranks which are not done; `None` for no such time. What is due at that
/// time itself still happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Until(pub Option<Time>);

impl Until {
    /// Only what is due before that may happen now.
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
