//! The state of one rank. A million of them must fit, so sizes are watched.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::hash::{Digest, Map};
use engine::{Bytes, Duration, Time};
use network::{Arrival, NicPair};

use crate::cause::{Causes, Path};
use crate::communicator::Communicator;
use crate::operation::{CommId, Data, Neighbours, Op, Rank, Request, Tag};
use crate::source::Status;
use crate::world::causes::Handshake;
use crate::world::collective::{Awaited, Early, Instance};
use crate::world::index::{AccessHandle, CollectiveHandle, Numbered, ReceiveHandle, SendHandle};
use crate::world::matching::{Key, Lists};
use crate::world::progress::Unanswered;
use crate::world::protocol_message::{Ends, EnvelopeNumber, ProtocolMessage};
use crate::world::request::Slot;

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
    /// The critical path up to now; in a call, up to the time `counted`.
    pub path: Path,
    /// Collectives under way.
    pub instances: Numbered<CollectiveHandle, Instance>,
    /// Receives of collectives that wait for their message.
    pub awaited: Lists<Awaited>,
    /// Messages of collectives that came before their receives.
    pub early: Lists<Early>,
    pub call: Call,
    pub digest: Digest,
    /// The number of the next collective on the world communicator.
    pub world_sequence: u32,
    /// No communicator that is made from now on has a number below this one beyond the first.
    pub comms_made: u32,
    /// The call in which it stands.
    pub op: Option<Op>,
    pub requests: Vec<Slot>,
    pub posted: Lists<Posting>,
    pub unexpected: Lists<Envelope>,
    pub channels: Small<Channel>,
    /// Rendezvous sends whose data has not left, by the sender's handle.
    pub outgoing: Numbered<SendHandle, Outgoing>,
    /// Rendezvous receives whose data has not come, by the receiver's handle.
    pub incoming: Numbered<ReceiveHandle, Incoming>,
    pub memberships: Small<Membership>,
    pub rare: Option<Box<Rare>>,
}

/// State that few ranks need.
#[derive(Debug, Default)]
pub(crate) struct Rare {
    /// Envelopes that overtook others of the same sender, by sender and number.
    pub held: BTreeMap<(Rank, EnvelopeNumber), (ProtocolMessage, Arrival)>,
    /// Messages that a matched probe took, by number.
    pub matched: slab::Slab<(Key, Envelope)>,
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

/// A posted receive.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Posting {
    pub capacity: u64,
    pub target: Target,
}

/// A message that waits for its receive.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Envelope {
    pub bytes: u64,
    /// Its content, if it is eager.
    pub data: Data,
    /// Time at which it was handed to the network.
    pub injected: Time,
    pub arrived: Time,
    /// Time of the send's call.
    pub sent: Time,
    /// For a rendezvous, the sender's handle.
    pub handle: Option<SendHandle>,
    /// Its number between the two ranks.
    pub number: EnvelopeNumber,
    /// Its number among all messages of its sender.
    pub asked: u32,
}

/// A rendezvous send.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outgoing {
    pub dest: Rank,
    pub bytes: u64,
    pub data: Data,
    pub sent: Time,
    pub target: Target,
    /// Time at which its request was handed to the network.
    pub requested: Time,
    /// The course of the handshake, once its data is on its way.
    pub handshake: Option<Handshake>,
    /// True if it was sent in buffered mode.
    pub buffered: bool,
    /// Ranks that still have to copy it.
    pub copies: Copies,
    /// The NICs that it takes, if it says so.
    pub nics: Option<NicPair>,
}

/// Ranks that copy the data of a rendezvous between the user's memory and MPI's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Copies {
    /// Nobody: zero-copy.
    Neither,
    /// Its receiver; its sender has copied it into a buffer.
    Receiver,
    /// Both.
    Both,
}

impl Copies {
    /// Copies of a message that is two-copy, or not, and that its sender has in a buffer, or not.
    pub fn of(copied: bool, buffered: bool) -> Copies {
        match (copied, buffered) {
            (false, _) => Copies::Neither,
            (true, true) => Copies::Receiver,
            (true, false) => Copies::Both,
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

/// A rendezvous receive that has matched.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Incoming {
    pub source: Rank,
    pub context: CommId,
    pub tag: Tag,
    pub target: Target,
    /// Time of the send's call.
    pub sent: Time,
    /// Time at which the request was handed to the network.
    pub requested: Time,
    /// Time at which the request arrived.
    pub arrived: Time,
    /// Time at which it matched its receive.
    pub matched: Time,
    /// Time at which the answer was handed to the network.
    pub answered: Time,
    /// Time that the handshake waited here, because the rank was outside MPI.
    pub stalled: Duration,
    /// For a collective: whether the data is reduced into what is there.
    pub combine: bool,
    /// The number of the request among all messages of its sender.
    pub asked: u32,
}

/// Numbers of the envelopes to and from one other rank.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Channel {
    /// The next to send.
    pub sent: EnvelopeNumber,
    /// The next to take.
    pub taken: EnvelopeNumber,
}

impl Channel {
    /// Number of the next envelope to send.
    #[inline]
    pub fn next_to_send(&mut self) -> EnvelopeNumber {
        let number = self.sent;
        self.sent = number.next();
        number
    }
}

/// State of a rank in a communicator other than the world.
#[derive(Debug, Default, Clone)]
pub(crate) struct Membership {
    /// The number of the next collective.
    pub sequence: u32,
    /// Persistent collectives made on it.
    pub series: u32,
    pub freed: bool,
    /// The communicator, until it is freed and nothing is under way on it.
    pub communicator: Option<Arc<Communicator>>,
    /// Its neighbours in the topology, once asked for.
    pub neighbours: Option<Arc<Neighbours>>,
}

/// A map from numbers that is a plain list while it is short.
#[derive(Debug)]
pub(crate) struct Small<V> {
    entries: Vec<(u32, V)>,
    index: Option<Box<Map<u32, u32>>>,
}

impl<V> Default for Small<V> {
    fn default() -> Small<V> {
        Small { entries: Vec::new(), index: None }
    }
}

/// Up to here a linear search is the quickest.
const SMALL: usize = 16;

impl<V: Default> Small<V> {
    /// The entry of `number`, made where it is not there.
    #[inline]
    pub fn entry(&mut self, number: u32) -> &mut V {
        let at = match &self.index {
            None => self.entries.iter().position(|(key, _)| *key == number),
            Some(index) => index.get(&number).map(|at| *at as usize),
        };
        let at = at.unwrap_or_else(|| self.insert(number));
        &mut self.entries[at].1
    }

    /// The entry of `number`, if it is there.
    pub fn get(&self, number: u32) -> Option<&V> {
        let at = match &self.index {
            None => self.entries.iter().position(|(key, _)| *key == number)?,
            Some(index) => *index.get(&number)? as usize,
        };
        Some(&self.entries[at].1)
    }

    fn insert(&mut self, number: u32) -> usize {
        let at = self.entries.len();
        self.entries.push((number, V::default()));
        if let Some(index) = &mut self.index {
            index.insert(number, at as u32);
        } else if self.entries.len() > SMALL {
            let numbers = self.entries.iter().map(|(key, _)| *key);
            self.index = Some(Box::new(numbers.zip(0..).collect()));
        }
        at
    }
}

/// The number of the first communicator that a program makes.
const FIRST_MADE: u32 = 2;

/// Numbers of persistent collectives begin here.
const PERSISTENT: u32 = 1 << 31;

impl Process {
    /// From now on the numbers of new communicators begin at `number`.
    pub fn made_comms_below(&mut self, number: u32) {
        self.comms_made = self.comms_made.max(number - FIRST_MADE);
    }

    /// The number of the next collective on `comm`; the world's has a place of its own.
    pub fn peek_collective(&self, comm: CommId) -> u32 {
        if comm == CommId::WORLD {
            return self.world_sequence;
        }
        self.memberships.get(comm.0).map_or(0, |membership| membership.sequence)
    }

    /// Takes that number.
    pub fn next_collective(&mut self, comm: CommId) -> u32 {
        let sequence = self.peek_collective(comm);
        let next = sequence.wrapping_add(1);
        if comm == CommId::WORLD {
            self.world_sequence = next;
        } else {
            self.memberships.entry(comm.0).sequence = next;
        }
        sequence
    }

    /// Takes the number of all starts of the next persistent collective on `comm`. Members may start several in any
    /// order, so they have numbers of their own, by the order in which they were made (MPI 5.0, 6.13).
    pub fn next_series(&mut self, comm: CommId) -> u32 {
        let series = &mut self.memberships.entry(comm.0).series;
        *series += 1;
        PERSISTENT | (*series - 1)
    }

    /// The number of the next communicator that it is a member of.
    pub fn next_comm(&self) -> u32 {
        FIRST_MADE + self.comms_made
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A million ranks are to fit in about a gigabyte, with what hangs on them.
    #[test]
    fn a_rank_is_small() {
        assert!(std::mem::size_of::<Process>() <= 656, "{}", std::mem::size_of::<Process>());
        assert!(std::mem::size_of::<Slot>() <= 64, "{}", std::mem::size_of::<Slot>());
        assert!(std::mem::size_of::<Instance>() <= 128, "{}", std::mem::size_of::<Instance>());
        assert!(std::mem::size_of::<Envelope>() <= 56, "{}", std::mem::size_of::<Envelope>());
    }

    #[test]
    fn a_small_map_finds_what_was_put_short_and_long() {
        let mut small: Small<u32> = Small::default();
        for number in 0..100 {
            *small.entry(number * 7) = number;
            assert!((0..=number).all(|earlier| small.get(earlier * 7) == Some(&earlier)));
            assert_eq!(small.get(number * 7 + 1), None);
        }
    }
}
