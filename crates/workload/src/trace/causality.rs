//! Check that a replay keeps the order of the recorded run.
//!
//! ```text
//! a message of call s is received by call r:  clock(s) < clock(r)
//! ```
//!
//! with the logical clocks of the recorded run (`order`). Each message carries the number of its call to its receiver as
//! its content. In a replay that takes messages as recorded it holds by itself. Where a receive takes what comes first, because
//! the recording does not say what came or is not asked, a message may be one that in the recorded run was not there yet:
//! then the calls after that receive are those of another run. So the clocks, for which the whole trace is read once more, are
//! found when the first such receive comes, if that is soon enough for the strictness that is asked.
//!
//! A persistent send carries the number of the call that made its request, so later starts are checked less strictly.
//! Collectives carry nothing: the replay lets their members wait for each other by the same rules.
//! Source: Lamport, "Time, clocks, and the ordering of events in a distributed system" (CACM 21(7), 1978).

use std::sync::{Arc, OnceLock};

use mpi::operation::Peer;
use mpi::source::Status;
use mpi::{Completion, Op, Rank};

use super::error::TraceError;
use super::order::{Finding, Kind, order_first};
use super::set::{RecordedCall, TraceSet};

/// Strictness with which a replay is held to the order of the recorded run.
#[derive(Debug, Default, Clone)]
pub enum Check {
    /// No check.
    #[default]
    Off,
    /// Checks from the first receive of whatever comes, if the run has an order, has no more than [`SHORT`] calls, and the
    /// replay can be checked.
    Short(Arc<Logical>),
    /// Checks always; an error says why that is impossible.
    On(Arc<Logical>),
}

/// Largest number of calls, of all ranks together, for which the order of a recorded run is found without a request.
pub const SHORT: u64 = 1_000_000;

/// Order of a recorded run, found on first use; `None` if the run is too long.
#[derive(Debug, Default)]
pub struct Logical(OnceLock<Option<Recorded>>);

#[derive(Debug)]
struct Recorded {
    /// The logical clock of each call, by rank.
    clocks: Vec<Vec<u64>>,
    /// Number of messages that were received before they were sent, by the clocks of the hosts, and the first of them.
    inversions: Option<(u64, Finding)>,
}

impl Logical {
    /// Reads all of `set` to find the clocks, unless that is done or it has more than `most` calls. Returns true if
    /// the clocks are known.
    pub fn find(&self, set: &dyn TraceSet, most: u64) -> Result<bool, TraceError> {
        if !self.is_looked_for() {
            let mut clocks = vec![Vec::new(); set.ranks() as usize];
            let found = order_first(set, most, &mut |rank: Rank, clock| clocks[rank.0 as usize].push(clock))?;
            let found = found.map(|findings| {
                let mut all = findings.first.iter();
                let first = all.find(|finding| finding.kind == Kind::ClockInversion).cloned();
                let inversions = first.map(|first| (findings.count(Kind::ClockInversion), first));
                Recorded { clocks, inversions }
            });
            // Another thread that was faster has found the same.
            let _ = self.0.set(found);
        }
        Ok(self.0.get().is_some_and(Option::is_some))
    }

    /// True if the clocks are known, or known to be too many.
    pub fn is_looked_for(&self) -> bool {
        self.0.get().is_some()
    }

    /// Warning that recorded times of different ranks contradict the order of the run, if they do.
    pub fn inversions(&self) -> Option<String> {
        let (count, first) = self.0.get()?.as_ref()?.inversions.as_ref()?;
        let Finding { rank, number, call, cause, .. } = first;
        Some(format!(
            "{count} messages were received before they were sent, by the clocks of the hosts (first call #{number} \
             {call} of rank {}: {cause}): mode timestamps goes by those clocks, so its waiting times are not the \
             program's ('hopcast trace lint' lists such calls)",
            rank.0
        ))
    }

    /// Logical clock of a rank's call, counted from 1; `None` for a call that the order does not reach.
    fn of(&self, rank: Rank, number: u64) -> Option<u64> {
        self.0.get()?.as_ref()?.clocks.get(rank.0 as usize)?.get(number.checked_sub(1)? as usize).copied()
    }
}

/// Order that one rank is held to.
pub struct Causality {
    set: Arc<dyn TraceSet>,
    recorded: Arc<Logical>,
    rank: Rank,
    contradicted: bool,
}

/// Bits of a call's number in the content of its message; the rank is above them.
const NUMBER_BITS: u32 = 40;

impl Causality {
    /// Makes the state of a rank of `set` before its first call.
    pub fn new(set: Arc<dyn TraceSet>, recorded: Arc<Logical>, rank: Rank) -> Causality {
        Causality { set, recorded, rank, contradicted: false }
    }

    /// Lets the message of a call carry the call's number. If the call receives whatever comes, messages are checked
    /// from now on.
    pub fn mark(&self, op: &mut Op, number: u64) {
        if let Op::Send(send, _) | Op::SendReceive(send, _) = op {
            send.data = u64::from(self.rank.0) << NUMBER_BITS | number;
        }
        if takes_whatever_comes(op) {
            // An error in the trace is left to the replay, which finds it itself.
            let _ = self.recorded.find(&*self.set, SHORT);
        }
    }

    /// Checks what a call has received. Describes the first contradiction to the recorded order on this rank.
    pub fn check(&mut self, call: &RecordedCall, number: u64, done: &Completion) -> Option<String> {
        let clock = self.recorded.of(self.rank, number)?;
        let sent = |status: &Status| {
            let (rank, number) = (status.data >> NUMBER_BITS, status.data & ((1 << NUMBER_BITS) - 1));
            self.recorded.of(Rank(rank as u32), number).unwrap_or(0)
        };
        let contradicts = |status: &&Status| status.source != u32::MAX && sent(status) >= clock;
        let mut received = std::iter::once(&done.status).chain(done.done.iter().map(|(_, status)| status));
        let status = received.find(contradicts).filter(|_| !self.contradicted)?;
        let (source, before) = (status.source, sent(status));
        self.contradicted = true;
        Some(format!(
            "call #{number} {} of rank {}, with logical clock {clock}, received what rank {source} of its \
             communicator sent with logical clock {before}: the recorded run was in another order",
            call.name, self.rank.0
        ))
    }
}

/// True if `op` takes, or asks for, a message of any source.
fn takes_whatever_comes(op: &Op) -> bool {
    match op {
        Op::Receive(receive, _)
        | Op::SendReceive(_, receive)
        | Op::Probe(receive)
        | Op::ProbeNow(receive)
        | Op::ProbeMatched(receive, _) => receive.from == Peer::Any,
        _ => false,
    }
}
