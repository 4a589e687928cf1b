//! The state of one rank. A million of them must fit, so sizes are watched.

use std::collections::BTreeMap;

use engine::hash::Digest;
use engine::{Bytes, Duration, Time};

use crate::cause::{Causes, Path};
use crate::operation::{Data, Op, Rank, Request};
use crate::source::Status;
use crate::world::index::{AccessHandle, CollectiveHandle, Numbered};
use crate::world::matching::Matching;
use crate::world::memberships::Memberships;
use crate::world::progress::Unanswered;
use crate::world::protocol_message::Ends;
use crate::world::rendezvous::Rendezvous;
use crate::world::request::Slot;
use crate::world::rounds::Rounds;

/// One rank. What each message of a collective needs comes first, so that few cache lines hold it.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Process {
    /// Until then MPI's work on this rank is busy with what was begun.
    pub free: Time,
    /// Up to when it has seen what has come, under [`Progress::Calls`]; `NEVER` while it makes progress.
    ///
    /// [`Progress::Calls`]: crate::world::Progress::Calls
    pub seen: Time,
    /// The number of its next message, of any kind.
    pub next_message: u32,
    /// State of the rank between and in its calls.
    pub standing: Standing,
    /// True if something has come since its last poll looked.
    pub has_news: bool,
    /// The critical path up to now; in a call, up to the time `counted`.
    pub path: Path,
    /// Collectives under way.
    pub rounds: Rounds,
    pub call: Call,
    pub digest: Digest,
    pub memberships: Memberships,
    /// The call in which it stands.
    pub op: Option<Op>,
    pub requests: Vec<Slot>,
    pub matching: Matching,
    pub rendezvous: Rendezvous,
    pub rare: Option<Box<Rare>>,
}

/// State that few ranks need.
#[derive(Debug, Default)]
pub(crate) struct Rare {
    /// One-sided operations whose answer has not come, by number.
    pub accesses: Numbered<AccessHandle, Pending>,
    /// At the target: operations that are to be answered later, by content.
    pub unanswered_accesses: BTreeMap<Data, UnansweredAccess>,
    /// Messages that it answers when it makes progress, in order of arrival.
    pub unanswered: Vec<Unanswered>,
}

impl Process {
    /// Bytes that a message of a collective needs: up to the causes of the call.
    pub const HOT: usize = std::mem::offset_of!(Process, call) + std::mem::offset_of!(Call, status);

    /// Occupies MPI's share of the CPU for `cost` from `earliest` or when it is free; gives the end.
    pub fn engage(&mut self, earliest: Time, cost: Duration) -> Time {
        self.free = self.free.max(earliest) + cost;
        self.free
    }

    pub fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }
}

/// State of a rank between and in its calls.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Its next operation is being handled.
    #[default]
    Issuing,
    /// In a call, until something comes.
    Blocked,
    /// In a loop of tests, until a message comes or for as long as it said.
    Lingering,
    /// In a call (or computing) whose return is scheduled.
    Returning,
    /// Done.
    Finished,
}

/// The call in which a rank stands.
#[derive(Debug, Clone)]
#[repr(C)]
pub(crate) struct Call {
    /// Time up to which its causes are known.
    pub counted: Time,
    /// Time at which the latest completed operation is complete.
    pub at: Time,
    pub begin: Time,
    /// Number of operations still to complete.
    pub outstanding: u32,
    /// Waits and tests: which requests; creations: their number.
    pub number: u32,
    /// Causes of its time up to `counted`.
    pub causes: Causes,
    /// Status of the message received by the call.
    pub status: Status,
    pub matched: u64,
    pub flag: bool,
}

impl Default for Call {
    fn default() -> Call {
        Call::FIRST
    }
}

impl Call {
    /// A call that begins at time zero.
    const FIRST: Call = Call {
        begin: Time::ZERO,
        at: Time::ZERO,
        outstanding: 0,
        number: 0,
        status: Status::EMPTY,
        counted: Time::ZERO,
        causes: Causes::NONE,
        flag: false,
        matched: 0,
    };

    /// Begins the next call. Most calls take no time and leave the causes at zero, which then stay untouched.
    #[inline]
    pub fn open(&mut self, begin: Time) {
        if self.counted > self.begin {
            self.causes = Causes::NONE;
        }
        (self.begin, self.at, self.counted) = (begin, begin, begin);
        (self.outstanding, self.number) = (0, 0);
        self.status = Status::EMPTY;
        (self.flag, self.matched) = (false, 0);
    }
}

/// Waiter for the completion of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// The call in which the rank stands.
    Call,
    /// A request.
    Request(Request),
    /// The round of a collective.
    Round(CollectiveHandle),
    /// Nobody: a freed request, or a buffered send.
    Nobody,
}

impl Target {
    /// Nobody waits for `request` any more.
    pub fn forget(&mut self, request: Request) {
        if *self == Target::Request(request) {
            *self = Target::Nobody;
        }
    }
}

/// A one-sided operation of a rank.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pending {
    pub target: Target,
    /// Rank of whose memory it is.
    pub to: Rank,
    /// Time of the call.
    pub sent: Time,
    /// Time at which it was handed to the network.
    pub handed: Time,
    /// Bytes that it carries to the target.
    pub bytes: Bytes,
}

/// A one-sided operation at its target, to be answered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UnansweredAccess {
    /// The ends of the answer.
    pub ends: Ends,
    /// The origin's handle.
    pub access: AccessHandle,
    /// Length of the answer.
    pub answer: Bytes,
    /// Time at which the operation came.
    pub arrived: Time,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::matching::Envelope;
    use crate::world::rounds::Instance;

    /// A million ranks are to fit in about a gigabyte, with what hangs on them.
    #[test]
    fn a_rank_is_small() {
        assert!(std::mem::size_of::<Process>() <= 656, "{}", std::mem::size_of::<Process>());
        assert!(std::mem::size_of::<Slot>() <= 64, "{}", std::mem::size_of::<Slot>());
        assert!(std::mem::size_of::<Instance>() <= 128, "{}", std::mem::size_of::<Instance>());
        assert!(std::mem::size_of::<Envelope>() <= 56, "{}", std::mem::size_of::<Envelope>());
    }
}
