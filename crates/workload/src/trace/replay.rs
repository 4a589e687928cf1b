//! Replay: recorded calls become the operations of a simulated run.
//!
//! Each recorded call becomes exactly one operation (so that the n-th simulated call of a rank is the
//! n-th recorded one); what lies between calls depends on the mode:
//!
//! | mode | between two calls | what it answers |
//! | --- | --- | --- |
//! | `dependencies` | the recorded gap is computed, or what was counted in it (`computing.rs`); calls take their simulated time | how long on that machine |
//! | `timestamps` | the rank computes, and waits until the recorded start | how long each call takes there |
//! | `no-compute` | nothing: only calls that are simulated take time | what communication alone takes |
//! | `no-dependencies` | the recorded gap is computed; no call waits for anything | what ignoring dependencies gets wrong |
//! | `none` | nothing: all messages of the trace start at time zero | the same, of communication alone |
//!
//! Without computing, and without dependencies, calls of which a replay only has the recorded time take none.
//!
//! With timestamps, a rank first waits and then computes before a call, so that the call begins at its recorded time. If
//! the call before returns late, computing is cut short; with the time shift it is not, and the next call is as late.
//! Waiting less than in the recording makes up for that:
//!
//! ```text
//! timestamps           start = max(recorded start, end of the call before)
//! shifted timestamps   start = max(recorded start, end of the call before + recorded gap)
//! ```
//!
//! Waiting in tests and probes that found nothing is no computing: the call after them waits for what it found.
//!
//! MPI_Init takes its recorded time. In MPI_Finalize a rank is busy for the least recorded time of any rank there; waiting
//! for others is simulated.
//!
//! A receive from any source takes the message of the recorded source, or what comes first here
//! ([`Wildcards`]). With the recorded run's logical clocks ([`ReplayOptions::check`]) it is checked that
//! no message comes from a call that was not before the receiving one there, see `causality.rs`.
//! Source: Obaida and Liu et al., the Gemini model of PPT, section 7 (timestamps, shift); flow-level
//! simulation with logical clocks, Fig. 8 (none).

use std::sync::Arc;

use engine::{Duration, Time};
use mpi::operation::Work;
use mpi::{Completion, Issued, Op, Rank, Source};

use super::causality::{Causality, Check, Logical, SHORT};
use super::computing::{Computing, Gaps};
use super::error::TraceError;
use super::monotonic_clock::{self, MonotonicClock};
use super::outlook::Outlook;
use super::set::{Clocks, RankCalls, RecordedCall, Step, TraceSet};
use super::without_dependencies::WithoutDependencies;

/// Rule for the start of a recorded call.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The end of the call before, and the recorded computing between the two.
    #[default]
    Dependencies,
    /// Its recorded start, or the end of the previous call if that is later.
    Timestamps,
    /// Like `Timestamps`, but no computing is cut short: the call is later instead.
    ShiftedTimestamps,
    /// The end of the previous call, without computing.
    NoCompute,
    /// The recorded computing before it, without waiting for earlier calls.
    NoDependencies,
    /// Time zero, for all calls.
    None,
}

impl Mode {
    /// All modes, with their names on the command line.
    pub const ALL: &[(&str, Mode)] = &[
        ("dependencies", Mode::Dependencies),
        ("timestamps", Mode::Timestamps),
        ("shifted-timestamps", Mode::ShiftedTimestamps),
        ("no-compute", Mode::NoCompute),
        ("no-dependencies", Mode::NoDependencies),
        ("none", Mode::None),
    ];

    /// True if calls start at recorded times.
    fn goes_by_clock(self) -> bool {
        matches!(self, Mode::Timestamps | Mode::ShiftedTimestamps)
    }
}

/// Message that a wildcard receive matches.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Wildcards {
    /// The message of the recorded source.
    #[default]
    Recorded,
    /// The first message that arrives in the replay.
    Anew,
}

/// Options of a replay.
#[derive(Debug, Clone)]
pub struct ReplayOptions {
    /// Rule for the start of calls.
    pub mode: Mode,
    /// Alignment of the hosts' clocks.
    pub clocks: Clocks,
    /// Messages that wildcard receives match.
    pub wildcards: Wildcards,
    /// Check of the replay against the logical clocks of the recorded run.
    pub check: Check,
    /// Source of the computing times between calls.
    pub computing: Computing,
    /// Factor on all computing, 0 or more: on recorded times, and on counted operations.
    pub scale: f64,
}

impl Default for ReplayOptions {
    /// Replays the run as it was recorded.
    fn default() -> ReplayOptions {
        ReplayOptions {
            mode: Mode::default(),
            clocks: Clocks::default(),
            wildcards: Wildcards::default(),
            check: Check::default(),
            computing: Computing::default(),
            scale: 1.0,
        }
    }
}

/// A source that replays a recorded run.
pub struct Replay {
    set: Arc<dyn TraceSet>,
    options: ReplayOptions,
    gaps: Gaps,
    ranks: Vec<RankReplay>,
    error: Option<TraceError>,
    outlook: Outlook,
    /// Time that every rank spends in MPI_Finalize without waiting.
    shutdown: Duration,
    /// Warning about the recorded times of different ranks, until it is reported with those of rank 0.
    clocks: Option<String>,
    /// Warnings of the lowest ranks, ascending by rank.
    warnings: Vec<(Rank, String)>,
}

/// Largest number of warnings that a replay reports.
const WARNINGS: usize = 8;

/// State of one rank.
struct RankReplay {
    calls: Calls,
    /// Operations up to and including the next call, in reverse order.
    held: Vec<Op>,
    /// Current or last call of the rank, and its number from 1.
    call: Option<RecordedCall>,
    number: u64,
    /// True if the previous operation creates a communicator.
    makes_comm: bool,
    /// Delay of its clock's start after the first one of its host.
    starts_after: Duration,
    /// State of the check against the recorded run's logical clocks.
    causality: Option<Box<Causality>>,
    time: MonotonicClock,
    /// Warning about its first call that shows that its clock runs backwards.
    backwards: Option<String>,
}

/// A rank's trace is open from its first operation to its last.
enum Calls {
    Closed,
    InOrder(Box<dyn RankCalls>),
    WithoutDependencies(Box<WithoutDependencies>),
}

/// Makes a source that replays `set`.
pub fn replay(set: Arc<dyn TraceSet>, options: ReplayOptions) -> Result<Replay, TraceError> {
    set.replayable()?;
    if !set.timed() && options.mode.goes_by_clock() {
        let reason = format!(
            "the format {} has no times: mode timestamps cannot replay it; use dependencies or none",
            set.format()
        );
        return Err(TraceError::new("--mode", reason));
    }
    if !set.common_time() && options.mode.goes_by_clock() {
        let reason = "the ranks have no common time, as when recorded with --clock cpu: mode timestamps cannot replay it; \
                      use dependencies or none";
        return Err(TraceError::new("--mode", reason));
    }
    let gaps = Gaps::of(&*set, &options.computing, options.mode)?;
    let logical = logical(&*set, &options)?;
    let rank = |number| RankReplay {
        calls: Calls::Closed,
        held: Vec::new(),
        call: None,
        number: 0,
        makes_comm: false,
        starts_after: set.starts_after(Rank(number)),
        causality: logical
            .clone()
            .map(|recorded| Box::new(Causality::new(set.clone(), recorded, Rank(number)))),
        time: MonotonicClock::default(),
        backwards: None,
    };
    let ranks = (0..set.ranks()).map(rank).collect();
    let clocks = logical.filter(|_| options.mode.goes_by_clock()).and_then(|logical| logical.inversions());
    let shutdown = if options.mode == Mode::NoCompute { Duration::ZERO } else { set.shutdown() };
    let (outlook, warnings) = (Outlook::new(set.ranks()), Vec::new());
    Ok(Replay { set, options, gaps, ranks, error: None, outlook, shutdown, clocks, warnings })
}

/// Logical clocks of the recorded run, if the replay is checked against them.
fn logical(set: &dyn TraceSet, options: &ReplayOptions) -> Result<Option<Arc<Logical>>, TraceError> {
    let has_order = !matches!(options.mode, Mode::None | Mode::NoDependencies);
    match &options.check {
        Check::On(_) if !has_order => {
            let reason = "a replay without dependencies has no order that could agree with the recorded one";
            Err(TraceError::new("--check-clocks", reason))
        }
        Check::On(logical) => Ok(logical.find(set, u64::MAX)?.then(|| logical.clone())),
        // Errors in the trace are left to the replay, which finds them itself.
        Check::Short(logical) if has_order && set.ordered() => {
            let is_needed = options.mode.goes_by_clock();
            let has_clocks = !is_needed || logical.find(set, SHORT).unwrap_or(false);
            Ok(has_clocks.then(|| logical.clone()))
        }
        Check::Short(_) | Check::Off => Ok(None),
    }
}

impl Replay {
    /// Error in the trace, if that is why the replay ended with [`Op::Abort`].
    pub fn take_error(&mut self) -> Option<TraceError> {
        self.error.take()
    }

    /// Warnings of the lowest ranks, to check before trusting the prediction, as far as these ranks have finished.
    pub fn warnings(&self) -> &[(Rank, String)] {
        &self.warnings
    }

    /// First warnings out of `all` those of several replays that share the ranks of a run.
    pub fn first(mut all: Vec<(u32, String)>) -> impl Iterator<Item = String> {
        all.sort_by_key(|(rank, _)| *rank);
        monotonic_clock::said_once(&mut all, |(_, text)| text);
        all.into_iter().take(WARNINGS).map(|(_, warning)| warning)
    }

    /// Reads the next operation of a rank. If it computes before its next call, that stays in `held`.
    fn read(&mut self, rank: Rank, done: &Completion) -> Result<Op, TraceError> {
        let state = &mut self.ranks[rank.0 as usize];
        if let Calls::Closed = state.calls {
            let about_clocks = if rank == Rank(0) { self.clocks.take() } else { None };
            self.warnings.extend(about_clocks.map(|warning| (rank, warning)));
            let open = opening(&self.set, rank, &self.options, self.gaps);
            state.calls = match self.options.mode {
                Mode::None | Mode::NoDependencies => {
                    Calls::WithoutDependencies(Box::new(WithoutDependencies::new(open)?))
                }
                _ => Calls::InOrder(open.calls()?),
            };
        }
        if let Calls::WithoutDependencies(calls) = &mut state.calls {
            return calls.next(done);
        }
        if let Some(warning) = state.contradiction(done) {
            self.warnings.push((rank, warning));
        }
        state.next(rank, self.options.mode, self.gaps, done)
    }

    /// Closes the trace of a rank that is done.
    #[cold]
    fn close(&mut self, rank: Rank) {
        let state = &mut self.ranks[rank.0 as usize];
        let backwards = state.backwards.take();
        let warnings = match std::mem::replace(&mut state.calls, Calls::Closed) {
            Calls::InOrder(calls) => calls.warnings(),
            Calls::WithoutDependencies(calls) => calls.warnings(),
            Calls::Closed => Vec::new(),
        };
        self.warnings.extend(backwards.into_iter().chain(warnings).map(|warning| (rank, warning)));
        self.warnings.sort_by_key(|(rank, _)| *rank);
        monotonic_clock::said_once(&mut self.warnings, |(_, text)| text);
        self.warnings.truncate(WARNINGS);
    }
}

/// Everything needed to open the trace of a rank.
pub(super) struct Opening {
    set: Arc<dyn TraceSet>,
    pub(super) rank: Rank,
    /// Options of the replay.
    pub(super) options: ReplayOptions,
    pub(super) gaps: Gaps,
}

/// Makes the [`Opening`] of a rank.
fn opening(set: &Arc<dyn TraceSet>, rank: Rank, options: &ReplayOptions, gaps: Gaps) -> Opening {
    Opening { set: set.clone(), rank, options: options.clone(), gaps }
}

impl Opening {
    /// Begin of its first call in the replay, on the rank's own clock; `begin` is the recorded one.
    pub(super) fn first(&self, begin: Time) -> Time {
        Time(begin.0.saturating_sub(self.set.starts_after(self.rank).0))
    }

    /// Opens its calls, from the first one on.
    pub(super) fn calls(&self) -> Result<Box<dyn RankCalls>, TraceError> {
        match self.options.wildcards {
            Wildcards::Recorded => self.set.calls(self.rank, self.options.clocks),
            Wildcards::Anew => self.set.calls_matched_anew(self.rank, self.options.clocks),
        }
    }
}

impl Source for Replay {
    fn next(&mut self, rank: Rank, done: &Completion) -> Op {
        let held = self.ranks[rank.0 as usize].held.pop();
        let mut op = match held.map_or_else(|| self.read(rank, done), Ok) {
            Ok(op) => op,
            Err(error) => {
                self.error.get_or_insert(error);
                return Op::Abort(1);
            }
        };
        if rank == Rank(0) {
            self.outlook.give(&op);
        }
        match &mut op {
            Op::Compute(work) if self.options.scale != 1.0 => *work = work.scaled(self.options.scale),
            Op::Finalize(own) => *own = self.shutdown,
            Op::Finish => self.close(rank),
            _ => {}
        }
        op
    }

    fn place(&self, rank: Rank) -> Option<String> {
        let state = &self.ranks[rank.0 as usize];
        if let Calls::WithoutDependencies(calls) = &state.calls {
            return Some(calls.place());
        }
        let call = state.call?;
        Some(format!("call #{} {} at {:.6} s of the trace", state.number, call.name, call.begin.seconds()))
    }

    /// Function of the recorded call, since an MPI_Waitsome, for example, is replayed as a wait for the requests that
    /// it completed.
    fn function(&self, rank: Rank) -> Option<&'static str> {
        let state = &self.ranks[rank.0 as usize];
        matches!(state.calls, Calls::InOrder(_)).then_some(state.call?.name)
    }

    /// Issued operations of rank 0, as the ranks of a run advance together.
    fn issued(&self) -> Option<Issued> {
        let first = self.ranks.first()?;
        match &first.calls {
            Calls::WithoutDependencies(_) => None,
            Calls::Closed if first.call.is_none() => Some(Issued::default()),
            Calls::InOrder(calls) if !self.set.ordered() => {
                let ranks = self.ranks.len() as f64;
                Some(Issued { given: ranks * calls.share_read(), all: ranks })
            }
            _ => self.outlook.issued(|| opening(&self.set, Rank(0), &self.options, self.gaps).calls()),
        }
    }

    fn take_error(&mut self) -> Option<String> {
        Replay::take_error(self).map(|error| error.to_string())
    }
}

impl RankReplay {
    /// Converts a time of the recorded run to the rank's own clock.
    fn on_own_clock(&self, time: Time) -> Time {
        Time(time.0.saturating_sub(self.starts_after.0))
    }

    /// Contradiction between the call that has returned and the recorded order, if there is one.
    fn contradiction(&mut self, done: &Completion) -> Option<String> {
        self.causality.as_mut()?.check(&self.call?, self.number, done)
    }

    fn next(&mut self, rank: Rank, mode: Mode, gaps: Gaps, done: &Completion) -> Result<Op, TraceError> {
        let Calls::InOrder(calls) = &mut self.calls else { unreachable!("only called in order") };
        if self.makes_comm {
            calls.made(done.comm);
        }
        calls.returned(done);
        let Step { call: recorded, mut op } = loop {
            match calls.next()? {
                None => return Ok(Op::Finish),
                Some(Step { op: Op::Compute(_), .. }) if mode == Mode::NoCompute => {}
                Some(step) => break step,
            }
        };
        self.makes_comm = matches!(op, Op::NewComm(..));
        self.number += u64::from(!matches!(op, Op::Compute(_)));
        let (call, cause) = self.time.call(recorded);
        if let (Some(cause), None) = (cause.or_else(|| calls.set_back()), &self.backwards) {
            self.backwards = Some(monotonic_clock::warning(&recorded, rank.0, &cause));
        }
        let before = self.call.replace(call);
        if let (Op::Call(_, time), Mode::NoCompute) = (&mut op, mode) {
            // The call is not simulated, and its recorded time is no communication.
            *time = Duration::ZERO;
        }
        if let Some(causality) = &self.causality {
            causality.mark(&mut op, self.number);
        }
        let [wait, compute] = match (mode, before) {
            (Mode::NoCompute, _) => [None, None],
            // A call starts by the rank's own clock. The delay of its start is the time of MPI_Init there, which is
            // neither computing nor a property of the simulated machine.
            (Mode::Dependencies, None) => [sleep(self.on_own_clock(call.begin), done.now), None],
            (Mode::Dependencies, Some(before)) => {
                [None, gaps.work(call.begin.since(before.end), &calls.before()).map(Op::Compute)]
            }
            (_, None) => [sleep(call.begin, done.now), None],
            (_, Some(before)) => {
                let (gap, known) = (call.begin.since(before.end), calls.before());
                let computed = gap.saturating_sub(known.waited);
                let shifted = if mode == Mode::ShiftedTimestamps { done.now + gap } else { done.now };
                let start = call.begin.max(shifted);
                let computed = computed.min(start.since(done.now));
                let work = if known.polls > 0 { Work::Polled(computed) } else { Work::Time(computed) };
                let compute = (computed > Duration::ZERO).then_some(Op::Compute(work));
                [sleep(Time(start.0 - computed.0), done.now), compute]
            }
        };
        let (first, second) = match (wait, compute) {
            (None, None) => return Ok(op),
            (Some(first), second) => (first, second),
            (None, Some(first)) => (first, None),
        };
        self.held.push(op);
        self.held.extend(second);
        Ok(first)
    }
}

/// Sleeps until then; `None` if that time has passed.
pub(super) fn sleep(until: Time, now: Time) -> Option<Op> {
    (until > now).then_some(Op::SleepUntil(until))
}
