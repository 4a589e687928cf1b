//! Message matching of one rank of a recording: unexpected messages and posted receives.
//!
//! The rule is the standard's: a message matches the first posted receive that accepts it, a receive matches the
//! first message of a sender that it accepts (no overtaking). A wildcard receive whose source the recording does not
//! know matches the message that arrived first here.

use std::collections::{BTreeMap, VecDeque};

use engine::Time;
use mpi::Rank;
use mpi::operation::{Peer, Receive, TagMatch};

use super::By;

/// Request number of a call that blocks.
pub const BLOCKING: u32 = u32::MAX;

/// A call of a rank, and its function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Rank.
    pub rank: Rank,
    /// Number of the call, from 1.
    pub number: u64,
    /// Function.
    pub call: &'static str,
    /// True if the number is that of a node of a graph, where 0 stands for none.
    pub of_graph: bool,
}

impl Place {
    /// Operation that the call begins under this request.
    pub fn beginning(self, request: u32) -> By {
        let request = (request != BLOCKING).then_some(request);
        By { rank: self.rank, number: self.number, request }
    }
}

/// A message that has been sent.
#[derive(Debug, Clone, Copy)]
pub struct Message {
    /// Call that sent it.
    pub by: Place,
    /// Logical clock of the sender.
    pub clock: u64,
    /// Begin of the call on the clock of its host.
    pub begin: Time,
    /// Length \[bytes\].
    pub bytes: u64,
    /// Request of the sender.
    pub request: u32,
    /// Request of the sender that completes when the message is received.
    pub answer: Option<u32>,
}

/// A posted receive.
#[derive(Debug, Clone, Copy)]
pub struct Posted {
    /// Arguments of the receive.
    pub receive: Receive,
    /// Request.
    pub request: u32,
    /// Call that posted it.
    pub by: Place,
    /// Logical clock of the receiver.
    pub clock: u64,
    /// Length of the expected message \[bytes\], if the trace states more than the size of the buffer.
    pub said: Option<u64>,
}

/// Communicator, rank of the sender in it, tag.
type Key = (u32, u32, u32);

/// Unexpected messages and posted receives of one rank.
#[derive(Default)]
pub struct Mailbox {
    /// Unexpected messages, numbered in the order of arrival.
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
    /// Delivers a message: returns the posted receive that it matches, or keeps it.
    pub fn deliver(&mut self, key: Key, message: Message) -> Option<Posted> {
        if let Some(at) = self.posted.iter().position(|posted| takes(&posted.receive, key)) {
            return Some(self.posted.remove(at));
        }
        self.count += 1;
        self.arrived.entry(key).or_default().push_back((self.count, message));
        None
    }

    /// Posts a receive: returns the message that it matches, or keeps it.
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

    /// Message that a receive would match.
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

    /// Cancels a receive. Returns true if it was still posted.
    pub fn cancel(&mut self, request: u32) -> bool {
        let at = self.posted.iter().position(|posted| posted.request == request);
        at.map(|at| self.posted.remove(at)).is_some()
    }

    /// Posted receives.
    pub fn posted(&self) -> &[Posted] {
        &self.posted
    }

    /// Unexpected messages, with communicator, sender's rank and tag.
    pub fn arrived(&self) -> impl Iterator<Item = (Key, &Message)> {
        self.arrived.iter().flat_map(|(key, waiting)| waiting.iter().map(|(_, message)| (*key, message)))
    }
}
