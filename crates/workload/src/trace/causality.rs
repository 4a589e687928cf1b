//! Check that a replay keeps the order of the recorded run.
//!
//! ```text
//! a message of call s is received by call r:  clock(s) < clock(r)
//! ```
//!
//! with the logical clocks of the recorded run (`order`), which each message carries to its receiver as its content. In
//! a replay that takes messages as recorded it holds by itself. Where a receive takes what comes first, because the
//! recording does not say what came or is not asked, a message may be one that in the recorded run was not there yet:
//! then the calls after that receive are those of another run.
//!
//! A persistent send carries the clock of the call that made its request, so later starts are checked less strictly.
//! Collectives carry nothing: the replay lets their members wait for each other by the same rules.
//! Source: Lamport, "Time, clocks, and the ordering of events in a distributed system" (CACM 21(7), 1978).

use std::sync::{Arc, OnceLock};

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
    /// Checks if the run has an order, has no more than [`SHORT`] calls, and the replay can be checked.
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
        if self.0.get().is_none() {
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
    recorded: Arc<Logical>,
    rank: Rank,
    contradicted: bool,
}

impl Causality {
    /// Makes the state of a rank before its first call.
    pub fn new(recorded: Arc<Logical>, rank: Rank) -> Causality {
        Causality { recorded, rank, contradicted: false }
    }

    /// Lets the message of a call carry the call's clock.
    pub fn mark(&self, op: &mut Op, number: u64) {
        if let Op::Send(send, _) | Op::SendReceive(send, _) = op {
            send.data = self.recorded.of(self.rank, number).unwrap_or(0);
        }
    }

    /// Checks what a call has received. Describes the first contradiction to the recorded order on this rank.
    pub fn check(&mut self, call: &RecordedCall, number: u64, done: &Completion) -> Option<String> {
        let clock = self.recorded.of(self.rank, number)?;
        let contradicts = |status: &&Status| status.source != u32::MAX && status.data >= clock;
        let mut received = std::iter::once(&done.status).chain(done.done.iter().map(|(_, status)| status));
        let Status { source, data, .. } = received.find(contradicts).filter(|_| !self.contradicted)?;
        self.contradicted = true;
        Some(format!(
            "call #{number} {} of rank {}, with logical clock {clock}, received what rank {source} of its \
             communicator sent with logical clock {data}: the recorded run was in another order",
            call.name, self.rank.0
        ))
    }
}
