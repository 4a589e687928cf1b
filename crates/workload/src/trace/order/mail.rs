//! Messages of a recording on their way to one rank: those that have arrived, and receives that wait.
//!
//! The rule is the standard's: a message goes to the first receive that takes it, a receive takes the first message of
//! a sender that it may (no overtaking). A receive from anyone whose sender the recording does not know takes the
//! message that arrived first here.

use std::collections::{BTreeMap, VecDeque};

use engine::Time;
use mpi::Rank;
use mpi::operation::{Peer, Receive, TagMatch};

use super::By;

/// The request of a call that blocks.
pub const BLOCKING: u32 = u32::MAX;

/// A call of a rank: its number from 1, and its function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Whose.
    pub rank: Rank,
    /// Which.
    pub number: u64,
    /// The function.
    pub call: &'static str,
    /// Whether the number is that of a node of a graph; then 0 is that of none.
    pub of_graph: bool,
}

impl Place {
    /// The operation that the call begins under this request.
    pub fn beginning(self, request: u32) -> By {
        let request = (request != BLOCKING).then_some(request);
        By { rank: self.rank, number: self.number, request }
    }
}

/// A message that was sent.
#[derive(Debug, Clone, Copy)]
pub struct Message {
    /// By which call.
    pub by: Place,
    /// The logical clock of the sender.
    pub clock: u64,
    /// When the call began, on the clock of its host.
    pub begin: Time,
    /// Its length \[bytes\].
    pub bytes: u64,
    /// The sender's request.
    pub request: u32,
    /// The sender's request that is complete when the message is received.
    pub answer: Option<u32>,
}

/// A receive that waits.
#[derive(Debug, Clone, Copy)]
pub struct Posted {
    /// What it takes.
    pub receive: Receive,
    /// Its request.
    pub request: u32,
    /// By which call.
    pub by: Place,
    /// The logical clock of the receiver.
    pub clock: u64,
    /// How long the message is said to be \[bytes\], where the trace says more than how much room there is.
    pub said: Option<u64>,
}

/// Communicator, sender's rank in it, tag.
type Key = (u32, u32, u32);

/// What is on its way to one rank.
#[derive(Default)]
pub struct Mailbox {
    /// With the order of arrival.
    arrived: BTreeMap<Key, VecDeque<(u64, Message)>>,
    count: u64,
    posted: Vec<Posted>,
}

fn takes(receive: &Receive, (comm, from, tag): Key) -> bool {
    receive.comm.0 == comm
        && matches!(receive.from, Peer::Any | Peer::Rank(_))
        && (receive.from == Peer::Any || receive.from == Peer::Rank(from))
        && (receive.tag == TagMatch::Any || receive.tag == TagMatch::Tag(tag))
}

impl Mailbox {
    /// A message comes: the receive that takes it, or none yet.
    pub fn deliver(&mut self, key: Key, message: Message) -> Option<Posted> {
        if let Some(at) = self.posted.iter().position(|posted| takes(&posted.receive, key)) {
            return Some(self.posted.remove(at));
        }
        self.count += 1;
        self.arrived.entry(key).or_default().push_back((self.count, message));
        None
    }

    /// A receive is posted: the message that it takes, or none yet.
    pub fn post(&mut self, posted: Posted) -> Option<Message> {
        let Some(key) = self.find(&posted.receive) else {
            self.posted.push(posted);
            return None;
        };
        let waiting = self.arrived.get_mut(&key)?;
        let (_, message) = waiting.pop_front()?;
        if waiting.is_empty() {
            self.arrived.remove(&key);
        }
        Some(message)
    }

    /// The message that a receive would take.
    pub fn look(&self, receive: &Receive) -> Option<&Message> {
        self.arrived.get(&self.find(receive)?)?.front().map(|(_, message)| message)
    }

    fn find(&self, receive: &Receive) -> Option<Key> {
        if let (Peer::Rank(from), TagMatch::Tag(tag)) = (receive.from, receive.tag) {
            let key = (receive.comm.0, from, tag);
            return self.arrived.contains_key(&key).then_some(key);
        }
        let of_comm = self.arrived.range((receive.comm.0, 0, 0)..=(receive.comm.0, u32::MAX, u32::MAX));
        let may = of_comm.filter(|(key, _)| takes(receive, **key));
        may.min_by_key(|(_, waiting)| waiting.front().map(|(order, _)| *order)).map(|(key, _)| *key)
    }

    /// Takes a receive back; whether it still waited.
    pub fn cancel(&mut self, request: u32) -> bool {
        let at = self.posted.iter().position(|posted| posted.request == request);
        at.map(|at| self.posted.remove(at)).is_some()
    }

    /// Receives that wait.
    pub fn posted(&self) -> &[Posted] {
        &self.posted
    }

    /// Messages that nobody has received, with communicator, sender's rank and tag.
    pub fn arrived(&self) -> impl Iterator<Item = (Key, &Message)> {
        self.arrived.iter().flat_map(|(key, waiting)| waiting.iter().map(|(_, message)| (*key, message)))
    }
}
