//! Transfers: requests from one host to another, each of which is answered (see [`super::transport`]).
//!
//! A message that is put is one transfer; one that is got is a notice to its destination, a transfer that
//! the destination begins, and word to the source that all is there. What is requested of a host it keeps
//! under the transfer's number among those between the two hosts; what it has begun, in a slot that its
//! packets name, so that responses find it.

use engine::Bytes;
use engine::hash::Map;

use super::index::{MessageIndex, MessageNumber, PacketNumber};
use super::messages::Slot;
use super::reliability::Finished;
use crate::Endpoint;
use crate::message::{Losses, Message, NicPair};

/// Operation of remote memory access that a transfer performs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RdmaOp {
    /// Brings a message to its destination.
    Put,
    /// Tells the destination that there is a message.
    ReadyToGet,
    /// The destination fetches the message.
    Get,
    /// Tells the source that it has.
    GetDone,
}

/// Role of the packets of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// A message's, and nothing answers them.
    Plain,
    /// Requests, of a transfer that has begun here or that is passing by.
    Request(RdmaOp),
    /// Responses.
    Response(RdmaOp),
    /// None: the transfer is being received here.
    Receiving(RdmaOp),
}

const OPS: [RdmaOp; 4] = [RdmaOp::Put, RdmaOp::ReadyToGet, RdmaOp::Get, RdmaOp::GetDone];

impl Role {
    /// In a number below 2⁸.
    pub fn word(self) -> u64 {
        match self {
            Role::Plain => 0,
            Role::Request(op) => 1 << 2 | op as u64,
            Role::Response(op) => 2 << 2 | op as u64,
            Role::Receiving(op) => 3 << 2 | op as u64,
        }
    }

    /// The role of which `word` is the [`Role::word`].
    pub fn of_word(word: u64) -> Role {
        let op = OPS[(word & 3) as usize];
        match word >> 2 {
            0 => Role::Plain,
            1 => Role::Request(op),
            2 => Role::Response(op),
            _ => Role::Receiving(op),
        }
    }

    /// True if its packets go from the message's destination to its source.
    fn is_backwards(self) -> bool {
        let begins_there = |op| matches!(op, RdmaOp::Get | RdmaOp::GetDone);
        match self {
            Role::Plain => false,
            Role::Request(op) | Role::Receiving(op) => begins_there(op),
            Role::Response(op) => !begins_there(op),
        }
    }

    /// True if its packets carry the message's data.
    fn carries_data(self) -> bool {
        matches!(self, Role::Plain | Role::Request(RdmaOp::Put) | Role::Response(RdmaOp::Get))
    }
}

impl Slot {
    /// Processes at which its packets start, and to which they go.
    pub fn ends(&self) -> (Endpoint, Endpoint) {
        let Message { from, to, .. } = self.message;
        if self.transfer.role.is_backwards() { (to, from) } else { (from, to) }
    }

    /// The NICs by which its packets leave and come.
    pub fn nics(&self) -> NicPair {
        let nics = self.message.nic_pair();
        if self.transfer.role.is_backwards() { nics.reversed() } else { nics }
    }

    /// Bytes of `payload` that its packets carry.
    pub fn carried(&self, payload: Bytes) -> Bytes {
        if self.transfer.role.carries_data() { payload } else { Bytes(0) }
    }
}

/// Pair of hosts, in a word: the one that begins transfers, and the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct HostPair(u64);

impl HostPair {
    /// The hosts of two processes.
    pub fn of(from: Endpoint, to: Endpoint) -> HostPair {
        HostPair(u64::from(from.host.0) << 32 | u64::from(to.host.0))
    }
}

/// A transfer: the host that began it and the other one, and its number among theirs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct TransferKey {
    pub hosts: HostPair,
    pub number: MessageNumber,
}

/// All transfers, and what has been lost of them.
#[derive(Debug, Default)]
pub(super) struct Transfers {
    /// Number of transfers that have begun, of each pair of hosts.
    begun: Map<HostPair, MessageNumber>,
    /// Slots of the transfers that are being received.
    receiving: Map<TransferKey, MessageIndex>,
    /// Those that have been; only where packets get lost.
    finished: Map<HostPair, Finished>,
    /// Number of times that each unanswered transaction has been sent again.
    resent: Map<(MessageIndex, PacketNumber), u32>,
    losses: Losses,
}

impl Transfers {
    /// Number of a transfer that begins between `hosts`.
    pub fn begin(&mut self, hosts: HostPair) -> MessageNumber {
        let begun = self.begun.entry(hosts).or_default();
        let number = *begun;
        *begun = begun.next();
        number
    }

    /// True if all of a transfer has come before; then what comes of it is a duplicate.
    pub fn is_finished(&mut self, key: TransferKey) -> bool {
        let is_finished = self.finished.get(&key.hosts).is_some_and(|finished| finished.has(key.number));
        self.losses.duplicates += u64::from(is_finished);
        is_finished
    }

    /// Slot of a transfer that is being received.
    pub fn receiving(&self, key: TransferKey) -> Option<MessageIndex> {
        self.receiving.get(&key).copied()
    }

    /// A transfer is being received in `slot`.
    pub fn receive(&mut self, key: TransferKey, slot: MessageIndex) {
        self.receiving.insert(key, slot);
    }

    /// All of a transfer has come, which is kept in mind if packets may come twice.
    pub fn finish(&mut self, key: TransferKey, is_lossy: bool) {
        self.receiving.remove(&key);
        if is_lossy {
            self.finished.entry(key.hosts).or_default().add(key.number);
        }
    }

    /// Transaction `number` of the transfer in `slot` has come for the first time, or been answered.
    pub fn answer(&mut self, slot: MessageIndex, number: PacketNumber) {
        self.resent.remove(&(slot, number));
    }

    /// Transaction `number` of the transfer in `slot` is sent again.
    pub fn resend(&mut self, slot: MessageIndex, number: PacketNumber) {
        *self.resent.entry((slot, number)).or_insert(0) += 1;
        self.losses.resent += 1;
    }

    /// Number of times that transaction `number` of the transfer in `slot` has been sent again.
    pub fn resent(&self, slot: MessageIndex, number: PacketNumber) -> u32 {
        self.resent.get(&(slot, number)).copied().unwrap_or(0)
    }

    /// Losses so far.
    pub fn losses(&self) -> Losses {
        self.losses
    }

    /// Counts losses.
    pub fn count(&mut self, count: impl FnOnce(&mut Losses)) {
        count(&mut self.losses);
    }
}
