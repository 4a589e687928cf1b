//! Messages on their way.

use engine::{Bytes, Key, Time};

use super::index::{MessageIndex, MessageNumber, PacketNumber, PathIndex};
use super::steps::NOTHING;
use super::transfers::Role;
use super::waits::Waits;
use crate::message::Message;

/// One message.
#[derive(Debug, Clone)]
pub(super) struct Slot {
    pub message: Message,
    pub injected: Time,
    /// Time at which its NIC is ready for its first byte.
    pub prepared: Time,
    /// Bytes that have not been sent.
    pub left: Bytes,
    /// The number of its next packet.
    pub number: PacketNumber,
    /// Its number among those of its host.
    pub id: MessageNumber,
    /// Packets that have neither arrived nor left for another part of the network.
    pub missing: u64,
    /// The message that has the next turn at its process.
    pub next: MessageIndex,
    /// The next message of its connection, if connections share the NIC.
    pub behind: MessageIndex,
    /// The route of all its packets, or of the next one, where each has its own.
    pub path: PathIndex,
    /// Is it told that it has been sent, or does nobody want to know?
    pub told: bool,
    /// Begin of the wait of its next packet: hand-over and preparation, or the end of the last packet's transmission.
    pub since: Time,
    /// Waits of its packets at its NIC; of a message that has come, also those of its last packet after that.
    pub waits: Waits,
    /// Transfer that its packets belong to.
    pub transfer: TransferState,
    /// Number of things that still need the slot: reports to come; for a transfer also packets on their way, and
    /// timeouts.
    pub holds: u32,
}

/// Transfer of a slot; plain messages have none.
#[derive(Debug, Clone)]
pub(super) struct TransferState {
    /// Role of its packets.
    pub role: Role,
    /// Slot of the transfer at the host where it began.
    pub origin: MessageIndex,
    /// True while not all of the transfer has been answered there.
    pub open: bool,
    /// Bits of the transactions of the transfer that have come, or have been answered; only where packets get lost.
    pub seen: Box<[u64]>,
    /// True if one of its packets has gone around a fault.
    pub rerouted: bool,
}

impl TransferState {
    fn plain() -> TransferState {
        let (role, origin) = (Role::Plain, MessageIndex::NONE);
        TransferState { role, origin, open: false, seen: Box::default(), rerouted: false }
    }
}

impl Slot {
    /// Takes its route.
    pub fn take_path(&mut self) -> PathIndex {
        std::mem::replace(&mut self.path, PathIndex::NONE)
    }

    /// Notes that transaction `number` has come, or been answered, where packets get lost. True if that was known before.
    pub fn note_seen(&mut self, number: PacketNumber) -> bool {
        let seen = &mut self.transfer.seen[number.at() / 64];
        let bit = 1 << (number.0 % 64);
        let known = *seen & bit != 0;
        *seen |= bit;
        known
    }

    /// True if transaction `number` has come, or been answered; none where no packets get lost.
    pub fn has_seen(&self, number: PacketNumber) -> Option<bool> {
        self.transfer.seen.get(number.at() / 64).map(|seen| seen >> (number.0 % 64) & 1 == 1)
    }

    /// Place of its packet among those that arrive at the same time, if it is a single plain packet of at most `payload`.
    pub fn key_of_only_packet(&self, payload: Bytes) -> Option<Key> {
        (self.transfer.role == Role::Plain && self.message.size <= payload).then_some(self.message.key)
    }
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Messages {
    slots: Vec<Slot>,
    free: Vec<MessageIndex>,
}

impl Messages {
    /// Takes `message` in, number `id` of its host, which goes in `packets` packets.
    pub fn insert(&mut self, now: Time, message: &Message, id: MessageNumber, packets: u64) -> MessageIndex {
        let slot = Slot {
            message: *message,
            injected: now,
            prepared: Time::ZERO,
            left: message.size,
            number: PacketNumber(0),
            id,
            missing: packets,
            next: MessageIndex::NONE,
            behind: MessageIndex::NONE,
            path: PathIndex::NONE,
            told: !message.notify_sent,
            since: now,
            waits: Waits::default(),
            transfer: TransferState::plain(),
            holds: 1 + u32::from(message.notify_sent),
        };
        if let Some(index) = self.free.pop() {
            self.slots[index.at()] = slot;
            return index;
        }
        self.slots.push(slot);
        let index = MessageIndex(self.slots.len() as u32 - 1);
        assert!(index.0 < NOTHING, "fewer than 2^30 messages are on their way");
        index
    }

    /// Takes a message in that stays within its host.
    pub fn insert_copy(&mut self, now: Time, message: &Message) -> MessageIndex {
        self.insert(now, message, MessageNumber(0), 0)
    }

    /// Takes a message in for which a transfer of so many `transactions` begins.
    pub fn insert_transfer(&mut self, now: Time, message: &Message, transactions: u64) -> MessageIndex {
        self.insert(now, message, MessageNumber(0), transactions)
    }

    pub fn get(&self, index: MessageIndex) -> &Slot {
        &self.slots[index.at()]
    }

    pub fn get_mut(&mut self, index: MessageIndex) -> &mut Slot {
        &mut self.slots[index.at()]
    }

    /// It is here for one packet only, and its sender tells when it is sent.
    pub fn take_over(&mut self, index: MessageIndex) {
        let slot = &mut self.slots[index.at()];
        (slot.holds, slot.told) = (1, true);
    }

    /// One thing less needs it. Is it free now?
    pub fn release(&mut self, index: MessageIndex) -> bool {
        let slot = &mut self.slots[index.at()];
        slot.holds -= 1;
        if slot.holds == 0 {
            self.free.push(index);
        }
        slot.holds == 0
    }
}
