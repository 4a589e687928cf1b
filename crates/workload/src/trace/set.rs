//! Interface of recorded runs of all formats.

use engine::{Bytes, Duration, FlopRate, Time};
use mpi::operation::CommId;
use mpi::{Completion, Op, Rank};

use super::SharedSet;
use super::error::TraceError;
use super::graph::Graph;
use super::hct::gaps::{Count, MOST_COUNTS};
use super::hct::rank::{Clock, Event, Head, Standing};
use super::hct::write::{Listed, Translated};

/// Alignment of the clocks of different hosts.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Clocks {
    /// The clock of each host is moved so that the first call in which all ranks wait for each other
    /// (a barrier, an allreduce, …) ends at the same time everywhere. Hosts count from their own boot,
    /// or differ by a second: without this, messages seem to arrive before they are sent.
    #[default]
    Aligned,
    /// Unchanged from the trace.
    Recorded,
}

/// An MPI call as recorded. Times count from the first call of any rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordedCall {
    /// MPI function, such as "MPI_Waitall".
    pub name: &'static str,
    /// Begin of the call.
    pub begin: Time,
    /// End of the call.
    pub end: Time,
}

/// A recorded call and its operation in a simulation.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Recorded call.
    pub call: RecordedCall,
    /// Operation that stands for the call, exactly one.
    pub op: Op,
}

impl Step {
    /// True for a call of MPI, false for computing between calls.
    pub fn is_call(&self) -> bool {
        !matches!(self.op, Op::Compute(_))
    }
}

/// Facts about the gap between two recorded calls, besides its length.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Before {
    /// Tests and probes that found nothing; these do not count as calls.
    pub polls: u64,
    /// Part of the gap that was waited in tests and probes that found nothing; the rest was computing.
    pub waited: Duration,
    /// Counts, in the order of [`TraceSet::counts`].
    pub counts: [u64; MOST_COUNTS],
}

/// Node of a graph that a call begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Begun {
    /// Number of the node on its rank, from 1.
    pub number: u64,
    /// Length of a receive's message, if the trace states it.
    pub bytes: Option<Bytes>,
}

/// The calls of one rank, in order, translated as they are read.
pub trait RankCalls: Send {
    /// Next call; `None` at the end. The previous operation has been simulated by then.
    fn next(&mut self) -> Result<Option<Step>, TraceError>;
    /// Facts about the gap before the call that [`RankCalls::next`] returned last. Most formats have none: all of the
    /// gap was computing.
    fn before(&self) -> Before {
        Before::default()
    }
    /// Node that the call which [`RankCalls::next`] returned last begins, for traces of graphs. Calls that wait for
    /// nodes, or test them, begin none.
    fn begun(&self) -> Option<Begun> {
        None
    }
    /// Receives the communicator that the [`Op::NewComm`] of the last [`RankCalls::next`] has created.
    fn made(&mut self, comm: CommId);
    /// Receives the result of the operation that [`RankCalls::next`] returned last, for formats whose next call
    /// depends on it. Without this call, they assume that everything waited for is complete.
    fn returned(&mut self, done: &Completion) {
        let _ = done;
    }
    /// Warning that the clock had been set back to before the run at the call that [`RankCalls::next`] returned last,
    /// which the times of the run cannot show.
    fn set_back(&self) -> Option<String> {
        None
    }
    /// Warnings to check before trusting the prediction, as far as they have shown up.
    fn warnings(&self) -> Vec<String>;
    /// Fraction of the rank's trace that has been read \[0..1\].
    fn share_read(&self) -> f64;
    /// Error in the call that [`RankCalls::next`] returned last, with its place for formats whose computing can be
    /// invalid.
    fn error(&self, reason: String) -> TraceError {
        TraceError::new("trace", reason)
    }
}

/// Summary of one rank's recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankSummary {
    /// Name of its host; empty if the trace lacks it.
    pub host: String,
    /// Begin of its first call.
    pub first_call: Time,
    /// End of its last call.
    pub last_return: Time,
    /// Time in all of its calls.
    pub in_mpi: Duration,
    /// Number of its calls.
    pub calls: u64,
    /// Number of messages that it sent itself, without those of collectives.
    pub messages: u64,
    /// Total length of these messages \[bytes\].
    pub bytes: u64,
    /// Tests and probes that found nothing, in formats that do not list them as calls.
    pub polls: u64,
    /// Time that it waited in these tests and probes; it counts neither as calls nor as computing.
    pub waited: Duration,
    /// Totals of the counts between its calls, in the order of [`TraceSet::counts`].
    pub counts: Vec<u64>,
}

impl RankSummary {
    /// Summary in a format without times and hosts.
    pub fn untimed(calls: u64, messages: u64, bytes: u64) -> RankSummary {
        RankSummary {
            host: String::new(),
            first_call: Time::ZERO,
            last_return: Time::ZERO,
            in_mpi: Duration::ZERO,
            calls,
            messages,
            bytes,
            polls: 0,
            waited: Duration::ZERO,
            counts: Vec::new(),
        }
    }

    /// Begins the summary of a rank on `host`.
    pub fn begin(host: String) -> RankSummary {
        RankSummary { host, first_call: Time::NEVER, ..RankSummary::untimed(0, 0, 0) }
    }

    /// Time from its first call to the end of its last one.
    pub fn wall(&self) -> Duration {
        self.last_return.since(self.first_call)
    }
}

/// Summary of a whole recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// Summaries by rank.
    pub ranks: Vec<RankSummary>,
    /// Number of calls of each function, in the order of the names.
    pub calls: Vec<(&'static str, u64)>,
}

impl Summary {
    /// Time from the first call of any rank to the last return of any.
    pub fn total(&self) -> Duration {
        let first = self.ranks.iter().map(|rank| rank.first_call).min().unwrap_or(Time::ZERO);
        self.ranks.iter().map(|rank| rank.last_return).max().unwrap_or(Time::ZERO).since(first)
    }

    /// Longest time of any rank on its own clock: the run time of the program, for its users.
    pub fn longest(&self) -> Duration {
        self.ranks.iter().map(RankSummary::wall).max().unwrap_or(Duration::ZERO)
    }
}

/// Recording that ends before the rank's MPI_Finalize, as the program was killed or ended without it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndsEarly {
    /// Call that the rank was in at the end, if known. The recording does not count it.
    pub standing: Option<Standing>,
}

/// The file of one rank of a larger run, without those of the others. Its set has one rank, 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alone {
    /// Rank in the run.
    pub rank: u32,
    /// Lower bound of the number of ranks of the run.
    pub ranks: u32,
}

impl Alone {
    /// Error with which a replay is refused.
    pub fn refused(self, file: &str) -> TraceError {
        let Alone { rank, ranks } = self;
        TraceError::new(
            file,
            format!("is rank {rank} of {ranks}, and the files of the other ranks are not beside it"),
        )
    }
}

/// The recorded calls of one rank, in order. Ends after an error.
pub type RecordedCalls = Box<dyn Iterator<Item = Result<RecordedCall, TraceError>> + Send>;

/// Calls of one rank as events of hopcast's own format.
pub type Events = Box<dyn Iterator<Item = Result<Event, TraceError>> + Send>;

/// Calls of one rank, like [`Events`], and the computing between them in formats that list it as actions of its own.
pub type Listing = Box<dyn Iterator<Item = Result<Listed, TraceError>> + Send>;

/// Iterates over the results of `read` to the end or the first error.
pub fn until_error<T>(
    mut read: impl FnMut() -> Result<Option<T>, TraceError>,
) -> impl Iterator<Item = Result<T, TraceError>> {
    let mut ended = false;
    std::iter::from_fn(move || {
        let next = if ended { None } else { read().transpose() };
        ended = !matches!(next, Some(Ok(_)));
        next
    })
}

/// A recorded run.
pub trait TraceSet: Send + Sync {
    /// Name of its format.
    fn format(&self) -> &'static str;
    /// Number of ranks.
    fn ranks(&self) -> u32;
    /// Name of each rank's host; empty if the trace lacks it.
    fn hosts(&self) -> Vec<String>;
    /// Warnings to check before trusting a prediction from it, as far as known without reading all of it.
    fn warnings(&self) -> Vec<String>;
    /// True if its calls have recorded times. If not, all times are 0, and computing is listed as operations.
    fn timed(&self) -> bool {
        true
    }
    /// True if the times of different ranks can be compared; processor times cannot.
    fn common_time(&self) -> bool {
        true
    }
    /// Quantities counted between calls, the same for all ranks.
    fn counts(&self) -> Vec<Count> {
        Vec::new()
    }
    /// True if the order of a rank's calls is recorded. If not, the replay derives an order from their dependencies.
    fn ordered(&self) -> bool {
        true
    }
    /// Graph of `rank`, for traces without an order of calls. Communicators have the numbers of the groups in it,
    /// from 2.
    fn graph(&self, rank: Rank) -> Result<Option<Graph>, TraceError> {
        let _ = rank;
        Ok(None)
    }
    /// Name in the trace of a node of `rank`, given by the number of [`Begun`]: a label, a line, or a number.
    fn node_name(&self, rank: Rank, number: u64) -> Result<Option<String>, TraceError> {
        let _ = (rank, number);
        Ok(None)
    }
    /// Same run with computing at this rate (more than 0), for formats that count operations; `None` for formats that
    /// record times.
    fn at_rate(&self, rate: FlopRate) -> Option<SharedSet> {
        let _ = rate;
        None
    }
    /// Rank, if this is the file of one rank alone. Such a set cannot be replayed.
    fn alone(&self) -> Option<Alone> {
        None
    }
    /// Error if it cannot be replayed, as far as known without reading all of it: calls that have no counterpart.
    fn replayable(&self) -> Result<(), TraceError>;
    /// Reads the whole trace and summarizes it.
    fn summary(&self, clocks: Clocks) -> Result<Summary, TraceError>;
    /// Recorded calls of `rank`: those that [`TraceSet::calls`] translates, one for one.
    fn recorded_calls(&self, rank: Rank, clocks: Clocks) -> Result<RecordedCalls, TraceError>;
    /// Calls of `rank` for a replay.
    fn calls(&self, rank: Rank, clocks: Clocks) -> Result<Box<dyn RankCalls>, TraceError>;

    /// Like [`TraceSet::calls`], with wildcard receives as the program posted them instead of their recorded matches.
    /// Formats that do not record wildcards return the same calls.
    fn calls_matched_anew(&self, rank: Rank, clocks: Clocks) -> Result<Box<dyn RankCalls>, TraceError> {
        self.calls(rank, clocks)
    }

    /// Delay of the start of `rank`'s clock after the first one of its host, which aligned times contain in addition
    /// to its own clock. Zero for formats without a clock for each rank.
    fn starts_after(&self, rank: Rank) -> Duration {
        let _ = rank;
        Duration::ZERO
    }

    /// Least time of any rank in MPI_Finalize, which is the cost of shutting down: the last rank to arrive waits for
    /// no other. Zero if it was not recorded, or if ranks do not wait there.
    fn shutdown(&self) -> Duration {
        Duration::ZERO
    }

    /// End of the recording of `rank`, if its last operations may be missing. `None` in formats that cannot tell.
    fn ends_early(&self, rank: Rank) -> Option<EndsEarly> {
        let _ = rank;
        None
    }

    /// True if the recording of any rank may be incomplete.
    fn is_partial(&self) -> bool {
        (0..self.ranks()).any(|rank| self.ends_early(Rank(rank)).is_some())
    }

    /// Calls of `rank` as events of hopcast's own format. Ends after an error.
    fn events(&self, rank: Rank, clocks: Clocks) -> Result<Events, TraceError> {
        let mut calls = Translated::new(self.calls(rank, clocks)?);
        Ok(Box::new(until_error(move || calls.read())))
    }
    /// Calls like those of [`TraceSet::events`], and the computing between them that the format lists as actions.
    fn listing(&self, rank: Rank, clocks: Clocks) -> Result<Listing, TraceError> {
        Ok(Box::new(self.events(rank, clocks)?.map(|event| event.map(Listed::Call))))
    }
    /// Calls of [`TraceSet::events`] on the rank's own clock, which is that of [`TraceSet::head`].
    fn events_on_own_clock(&self, rank: Rank) -> Result<Events, TraceError> {
        let after_ns = self.starts_after(rank).0 / 1000;
        let own = move |event: Event| Event {
            begin_ns: event.begin_ns.saturating_sub(after_ns),
            end_ns: event.end_ns.saturating_sub(after_ns),
            ..event
        };
        Ok(Box::new(self.events(rank, Clocks::Aligned)?.map(move |event| event.map(own))))
    }
    /// Head of the recording of a rank on `host` in hopcast's own format, with a time for each call.
    fn head(&self, rank: Rank, host: &str) -> Head {
        Head {
            rank: rank.0,
            ranks: self.ranks(),
            host: host.to_string(),
            start_unix_ns: 0,
            program: String::new(),
            library: format!("converted from {}", self.format()),
            tallied: false,
            clock: Clock::Wall,
            counts: Vec::new(),
        }
    }
}
