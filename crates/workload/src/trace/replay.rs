//! Replay: recorded calls become the operations of a simulated run.
//!
//! Each recorded call becomes exactly one operation (so that the n-th simulated call of a rank is the
//! n-th recorded one); what lies between calls depends on the mode:
//!
//! | mode | between two calls | what it answers |
//! | --- | --- | --- |
//! | `dependencies` | the recorded gap is computed, calls take their simulated time | how long on that machine |
//! | `timestamps` | the rank sleeps until the recorded start | how long each call takes there |
//! | `none` | nothing: all messages of the trace start at time zero | what ignoring dependencies gets wrong |
//!
//! With the time shift of `timestamps`, a rank that comes late to a recorded start moves all of its
//! later starts by the delay, so that one slow call does not lengthen those after it.
//! Source: Obaida and Liu et al., the Gemini model of PPT, section 7 (timestamps, shift); flow-level
//! simulation with logical clocks, Fig. 8 (none).

use std::sync::Arc;

use engine::{Duration, Time};
use mpi::operation::Work;
use mpi::{Completion, Op, Rank, Source};

use super::at_once::AtOnce;
use super::error::TraceError;
use super::set::{Clocks, RankCalls, RecordedCall, TraceSet};

/// What decides when a recorded call starts.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The end of the call before, and the recorded computing between the two.
    #[default]
    Dependencies,
    /// Its recorded start, or the end of the call before if that is later.
    Timestamps,
    /// As `Timestamps`, but a delay moves all later starts of the rank.
    ShiftedTimestamps,
    /// Nothing: all at time zero.
    None,
}

impl Mode {
    /// Every mode with its name on the command line.
    pub const ALL: &[(&str, Mode)] = &[
        ("dependencies", Mode::Dependencies),
        ("timestamps", Mode::Timestamps),
        ("shifted-timestamps", Mode::ShiftedTimestamps),
        ("none", Mode::None),
    ];
}

/// How to replay.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct ReplayOptions {
    /// When calls start.
    pub mode: Mode,
    /// How the hosts' clocks are read.
    pub clocks: Clocks,
}

/// A source that replays a recorded run.
pub struct Replay {
    set: Arc<dyn TraceSet>,
    options: ReplayOptions,
    ranks: Vec<RankReplay>,
    error: Option<TraceError>,
    /// Of the lowest ranks, with the rank, ascending.
    warnings: Vec<(Rank, String)>,
}

/// More warnings of the same replay than this say no more.
const WARNINGS: usize = 8;

/// Where one rank stands.
struct RankReplay {
    calls: Calls,
    /// The operation of the call whose start is being waited for.
    held: Option<Op>,
    /// The call that the rank stands in, or stood in last, and its number from 1.
    call: Option<RecordedCall>,
    number: u64,
    /// What the rank's recorded starts are moved by.
    shift: Duration,
    /// Whether the operation before makes a communicator.
    makes_comm: bool,
}

/// A rank's trace is open from its first operation to its last.
enum Calls {
    Closed,
    InOrder(Box<dyn RankCalls>),
    AtOnce(AtOnce),
}

/// A source that replays `set`.
pub fn replay(set: Arc<dyn TraceSet>, options: ReplayOptions) -> Result<Replay, TraceError> {
    set.replayable()?;
    if !set.timed() && matches!(options.mode, Mode::Timestamps | Mode::ShiftedTimestamps) {
        let reason = format!(
            "the format {} has no times: mode timestamps cannot replay it; use dependencies or none",
            set.format()
        );
        return Err(TraceError::new("--mode", reason));
    }
    let rank = || RankReplay {
        calls: Calls::Closed,
        held: None,
        call: None,
        number: 0,
        shift: Duration::ZERO,
        makes_comm: false,
    };
    let ranks = (0..set.ranks()).map(|_| rank()).collect();
    Ok(Replay { set, options, ranks, error: None, warnings: Vec::new() })
}

impl Replay {
    /// What is wrong with the trace, if that is why the replay ended with [`Op::Abort`].
    pub fn take_error(&mut self) -> Option<TraceError> {
        self.error.take()
    }

    /// What to check before trusting the prediction, as far as ranks have come to their end: what the
    /// lowest of them say.
    pub fn warnings(&self) -> &[(Rank, String)] {
        &self.warnings
    }

    /// The same of replays that share the ranks of a run, whose warnings are `all`.
    pub fn first(mut all: Vec<(u32, String)>) -> impl Iterator<Item = String> {
        all.sort_by_key(|(rank, _)| *rank);
        all.into_iter().take(WARNINGS).map(|(_, warning)| warning)
    }

    fn step(&mut self, rank: Rank, done: &Completion) -> Result<Op, TraceError> {
        let state = &mut self.ranks[rank.0 as usize];
        if let Calls::Closed = state.calls {
            let (set, clocks) = (&self.set, self.options.clocks);
            state.calls = match self.options.mode {
                Mode::None => Calls::AtOnce(AtOnce::new(set.clone(), rank, clocks)?),
                _ => Calls::InOrder(set.calls(rank, clocks)?),
            };
        }
        let op = match &mut state.calls {
            Calls::AtOnce(calls) => calls.next(done)?,
            _ => state.next(self.options.mode, done)?,
        };
        if matches!(op, Op::Finish) {
            let warnings = match std::mem::replace(&mut state.calls, Calls::Closed) {
                Calls::InOrder(calls) => calls.warnings(),
                Calls::AtOnce(calls) => calls.warnings(),
                Calls::Closed => Vec::new(),
            };
            self.warnings.extend(warnings.into_iter().map(|warning| (rank, warning)));
            self.warnings.sort_by_key(|(rank, _)| *rank);
            self.warnings.truncate(WARNINGS);
        }
        Ok(op)
    }
}

impl Source for Replay {
    fn next(&mut self, rank: Rank, done: &Completion) -> Op {
        self.step(rank, done).unwrap_or_else(|error| {
            self.error.get_or_insert(error);
            Op::Abort(1)
        })
    }

    fn place(&self, rank: Rank) -> Option<String> {
        let state = &self.ranks[rank.0 as usize];
        if let Calls::AtOnce(calls) = &state.calls {
            return Some(calls.place());
        }
        let call = state.call?;
        Some(format!("call #{} {} at {:.6} s of the trace", state.number, call.name, call.begin.seconds()))
    }

    /// Of rank 0: the ranks of one run advance together.
    fn share_done(&self) -> Option<f64> {
        let first = self.ranks.first()?;
        match &first.calls {
            Calls::InOrder(calls) => Some(calls.share_read()),
            Calls::Closed if first.call.is_some() => Some(1.0),
            Calls::Closed | Calls::AtOnce(_) => None,
        }
    }

    fn take_error(&mut self) -> Option<String> {
        Replay::take_error(self).map(|error| error.to_string())
    }
}

impl RankReplay {
    fn next(&mut self, mode: Mode, done: &Completion) -> Result<Op, TraceError> {
        if let Some(op) = self.held.take() {
            return Ok(op);
        }
        let Calls::InOrder(calls) = &mut self.calls else { unreachable!("only called in order") };
        if self.makes_comm {
            calls.made(done.comm);
        }
        calls.returned(done);
        let Some(step) = calls.next()? else { return Ok(Op::Finish) };
        self.makes_comm = matches!(step.op, Op::NewComm(..));
        let before = self.call.replace(step.call);
        self.number += 1;
        let pause = match (mode, before) {
            // The ranks of a run do not start at the same time: that is no computing to be scaled.
            (Mode::Dependencies, None) => sleep(step.call.begin, done.now),
            (Mode::Dependencies, Some(before)) => {
                let gap = step.call.begin.since(before.end);
                (gap > Duration::ZERO).then_some(Op::Compute(Work::Recorded(gap)))
            }
            _ => {
                let start = Time(step.call.begin.0.saturating_add(self.shift.0));
                if mode == Mode::ShiftedTimestamps {
                    self.shift += done.now.since(start);
                }
                sleep(start, done.now)
            }
        };
        Ok(match pause {
            Some(pause) => {
                self.held = Some(step.op);
                pause
            }
            None => step.op,
        })
    }
}

fn sleep(until: Time, now: Time) -> Option<Op> {
    (until > now).then_some(Op::SleepUntil(until))
}
