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

/// How the clocks of different hosts are brought together.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Clocks {
    /// The clock of each host is moved so that the first call in which all ranks wait for each other
    /// (a barrier, an allreduce, …) ends at the same time everywhere. Hosts count from their own boot,
    /// or differ by a second: without this, messages seem to arrive before they are sent.
    #[default]
    Aligned,
    /// As the trace has them.
    Recorded,
}

/// One MPI call as it was recorded. Times count from the first call of any rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordedCall {
    /// The MPI function, such as "MPI_Waitall".
    pub name: &'static str,
    /// Time of its call.
    pub begin: Time,
    /// Time of its return.
    pub end: Time,
}

/// One recorded call as the simulation can do it.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Recorded call.
    pub call: RecordedCall,
    /// Operation that it asks of MPI: exactly one for each call.
    pub op: Op,
}

impl Step {
    /// True if it is a call of MPI, and not computing that stands between calls.
    pub fn is_call(&self) -> bool {
        !matches!(self.op, Op::Compute(_))
    }
}

/// Facts about the time between two recorded calls, besides how long it was.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Before {
    /// Tests and probes that found nothing, and are no calls.
    pub polls: u64,
    /// How much of it was waiting, in tests and probes that found nothing: all else was computing.
    pub waited: Duration,
    /// Counts, in the order of [`TraceSet::counts`].
    pub counts: [u64; MOST_COUNTS],
}

/// The node of a graph that a call begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Begun {
    /// Which of the rank's nodes, from 1.
    pub number: u64,
    /// Length of the message of a receive, as the trace has it.
    pub bytes: Option<Bytes>,
}

/// The calls of one rank, in order, translated as they are read.
pub trait RankCalls: Send {
    /// The next call; `None` at the end. The operation before has been done.
    fn next(&mut self) -> Result<Option<Step>, TraceError>;
    /// Facts about the time before the call that [`RankCalls::next`] gave last. Most formats have none: all of
    /// it was computing.
    fn before(&self) -> Before {
        Before::default()
    }
    /// The node that the call which [`RankCalls::next`] gave last begins, where calls stand in no order. Calls that wait
    /// for nodes, or ask for them, begin none.
    fn begun(&self) -> Option<Begun> {
        None
    }
    /// Takes the communicator that the [`Op::NewComm`] of the last [`RankCalls::next`] has made.
    fn made(&mut self, comm: CommId);
    /// Takes the result of the operation that [`RankCalls::next`] gave last. For those whose next call depends on it;
    /// one that is not told assumes that all it waited for is done.
    fn returned(&mut self, done: &Completion) {
        let _ = done;
    }
    /// Why the clock had been set back to before the run when [`RankCalls::next`] gave what it gave last, if it had:
    /// a time of the run cannot tell.
    fn set_back(&self) -> Option<String> {
        None
    }
    /// Warnings to check before trusting the prediction, as far as they have shown up.
    fn warnings(&self) -> Vec<String>;
    /// How much of the rank's trace has been read \[0..1\].
    fn share_read(&self) -> f64;
    /// Fault of what [`RankCalls::next`] gave last: with its place, where the format has computing that can
    /// be wrong.
    fn error(&self, reason: String) -> TraceError {
        TraceError::new("trace", reason)
    }
}

/// Recording of one rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankSummary {
    /// The name of its host; empty where the trace does not tell.
    pub host: String,
    /// Time at which its first call began.
    pub first_call: Time,
    /// Time at which its last call returned.
    pub last_return: Time,
    /// The time in all of its calls together.
    pub in_mpi: Duration,
    /// How many calls it made.
    pub calls: u64,
    /// How many messages it sent itself, not by collectives.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Tests and probes that found nothing, where they are not among its calls.
    pub polls: u64,
    /// How long it waited in those: neither in its calls nor computing.
    pub waited: Duration,
    /// How much was counted between its calls, in the order of [`TraceSet::counts`].
    pub counts: Vec<u64>,
}

impl RankSummary {
    /// Recording of a format that has no times and no hosts.
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

    /// Recording of a rank on `host`, before its first call.
    pub fn begin(host: String) -> RankSummary {
        RankSummary { host, first_call: Time::NEVER, ..RankSummary::untimed(0, 0, 0) }
    }

    /// From its first call to the return of its last.
    pub fn wall(&self) -> Duration {
        self.last_return.since(self.first_call)
    }
}

/// Recording of a whole run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// By rank.
    pub ranks: Vec<RankSummary>,
    /// How often each function was called, in the order of the names.
    pub calls: Vec<(&'static str, u64)>,
}

impl Summary {
    /// From the first call of any rank to the last return of any.
    pub fn total(&self) -> Duration {
        let first = self.ranks.iter().map(|rank| rank.first_call).min().unwrap_or(Time::ZERO);
        self.ranks.iter().map(|rank| rank.last_return).max().unwrap_or(Time::ZERO).since(first)
    }

    /// The time of the rank that ran longest on its own clock: what a user calls the run time.
    pub fn longest(&self) -> Duration {
        self.ranks.iter().map(RankSummary::wall).max().unwrap_or(Duration::ZERO)
    }
}

/// A rank whose recording ends before its MPI_Finalize, as the program was killed or ended without it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndsEarly {
    /// In which call it stood then, which is not among those of the recording, if that is known.
    pub standing: Option<Standing>,
}

/// The file of one rank of a run that had several, without the files of the others. The set has one rank, 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alone {
    /// Its rank in the run.
    pub rank: u32,
    /// Number of ranks of the run, at least.
    pub ranks: u32,
}

impl Alone {
    /// The error with which a replay is refused.
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

/// The calls of one rank as hopcast's own format has them.
pub type Events = Box<dyn Iterator<Item = Result<Event, TraceError>> + Send>;

/// The same, and what is computed between them where a format has that as actions of its own.
pub type Listing = Box<dyn Iterator<Item = Result<Listed, TraceError>> + Send>;

/// Results of `read`, to the end or the first error.
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
    /// The name of its format.
    fn format(&self) -> &'static str;
    /// How many ranks it has.
    fn ranks(&self) -> u32;
    /// The name of each rank's host; empty where the trace does not tell.
    fn hosts(&self) -> Vec<String>;
    /// Warnings to check before trusting a prediction from it, as far as they are known without reading all.
    fn warnings(&self) -> Vec<String>;
    /// True if its calls have recorded times. Where they have none, all are 0, and computing is operations of its own.
    fn timed(&self) -> bool {
        true
    }
    /// True if the times of different ranks can be compared: a processor's time for each cannot.
    fn common_time(&self) -> bool {
        true
    }
    /// Kinds of counts between calls, besides time; the same for all ranks.
    fn counts(&self) -> Vec<Count> {
        Vec::new()
    }
    /// True if the calls of a rank are made in the order in which they stand. Where they are not, the replay finds
    /// the order by what each depends on.
    fn ordered(&self) -> bool {
        true
    }
    /// The graph of `rank`, where calls stand in no order. Communicators have the numbers of the groups in it, from 2.
    fn graph(&self, rank: Rank) -> Result<Option<Graph>, TraceError> {
        let _ = rank;
        Ok(None)
    }
    /// How the trace itself names a node of `rank`, whose number is that of [`Begun`]: by a label, its line, its own
    /// number.
    fn node_name(&self, rank: Rank, number: u64) -> Result<Option<String>, TraceError> {
        let _ = (rank, number);
        Ok(None)
    }
    /// The same run whose operations, where it computes by their number, take time at this rate (more than 0); none of a
    /// format that has computing in time only.
    fn at_rate(&self, rate: FlopRate) -> Option<SharedSet> {
        let _ = rate;
        None
    }
    /// The rank, if this is the file of one rank alone. Such a set cannot be replayed.
    fn alone(&self) -> Option<Alone> {
        None
    }
    /// Why it cannot be replayed, if that is known without reading all: calls that have no counterpart.
    fn replayable(&self) -> Result<(), TraceError>;
    /// Reads the whole trace and sums it up.
    fn summary(&self, clocks: Clocks) -> Result<Summary, TraceError>;
    /// Recording of `rank`: the calls that [`TraceSet::calls`] translates, one for one.
    fn recorded_calls(&self, rank: Rank, clocks: Clocks) -> Result<RecordedCalls, TraceError>;
    /// The calls of `rank`, for replay.
    fn calls(&self, rank: Rank, clocks: Clocks) -> Result<Box<dyn RankCalls>, TraceError>;

    /// The same, with receives that take whatever comes, as the program made them, instead of what the recorded run
    /// received. Formats that do not know which those were have none.
    fn calls_matched_anew(&self, rank: Rank, clocks: Clocks) -> Result<Box<dyn RankCalls>, TraceError> {
        self.calls(rank, clocks)
    }

    /// How much later the clock of `rank` starts than the first one of its host: what its times have besides those of
    /// its own clock, if clocks are aligned. Only of a format whose ranks have clocks of their own.
    fn starts_after(&self, rank: Rank) -> Duration {
        let _ = rank;
        Duration::ZERO
    }

    /// The least time of any rank in MPI_Finalize, which is the cost of ending the library: the last rank to arrive there
    /// waits for no other. Zero if it was not recorded, or if ranks do not wait there.
    fn shutdown(&self) -> Duration {
        Duration::ZERO
    }

    /// True if what `rank` did last may not be in it. Formats that cannot tell say no.
    fn ends_early(&self, rank: Rank) -> Option<EndsEarly> {
        let _ = rank;
        None
    }

    /// True if that holds for any rank.
    fn is_partial(&self) -> bool {
        (0..self.ranks()).any(|rank| self.ends_early(Rank(rank)).is_some())
    }

    /// The calls of `rank` as hopcast's own format has them. Ends after an error.
    fn events(&self, rank: Rank, clocks: Clocks) -> Result<Events, TraceError> {
        let mut calls = Translated::new(self.calls(rank, clocks)?);
        Ok(Box::new(until_error(move || calls.read())))
    }
    /// The same, and computing that stands between them as actions of its own.
    fn listing(&self, rank: Rank, clocks: Clocks) -> Result<Listing, TraceError> {
        Ok(Box::new(self.events(rank, clocks)?.map(|event| event.map(Listed::Call))))
    }
    /// The calls of [`TraceSet::events`] on the rank's own clock, which is that of [`TraceSet::head`].
    fn events_on_own_clock(&self, rank: Rank) -> Result<Events, TraceError> {
        let after_ns = self.starts_after(rank).0 / 1000;
        let own = move |event: Event| Event {
            begin_ns: event.begin_ns.saturating_sub(after_ns),
            end_ns: event.end_ns.saturating_sub(after_ns),
            ..event
        };
        Ok(Box::new(self.events(rank, Clocks::Aligned)?.map(move |event| event.map(own))))
    }
    /// Recording of hopcast's own format of a rank on `host`, with times of each call.
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
