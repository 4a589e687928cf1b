//! The order in which the messages of a process leave a NIC.
//!
//! In turn, a message waits for all before it. Shared, it waits only for those of its connection: the process takes
//! turns among its connections packet by packet, and a NIC sends no packet of a message that it has not prepared.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use engine::Time;
use engine::hash::Map;

use super::Packet;
use super::index::{MessageIndex, PacketNumber, SenderIndex};

/// A process at a NIC, and its partner at one.
pub(super) type Ends = (SenderIndex, u64);

/// Connections that have messages, of processes that share their NICs.
#[derive(Debug, Default)]
pub(super) struct Connections {
    /// The last message of each connection.
    last: Map<Ends, MessageIndex>,
    /// Messages of each process at a NIC that the NIC still prepares, and that wait for nothing else.
    preparing: Map<SenderIndex, BinaryHeap<Reverse<(Time, MessageIndex)>>>,
}

impl Packet {
    pub(super) fn ends_of(&self, process: SenderIndex, message: MessageIndex) -> Ends {
        let slot = self.messages.get(message);
        let (to, nic) = (slot.ends().1, slot.nics().to);
        (process, u64::from(to.host.0) << 32 | u64::from(to.process) << 8 | u64::from(nic))
    }

    /// Queues `message` behind all messages of its process, or behind those of its connection. True if the process had
    /// nothing to send.
    pub(super) fn line_up_behind(&mut self, now: Time, process: SenderIndex, message: MessageIndex) -> bool {
        let sender = &mut self.senders[process];
        let was_idle = sender.is_idle();
        if self.connections.is_none() {
            self.push_back(process, message);
            return was_idle;
        }
        let ends = self.ends_of(process, message);
        match self.connections.as_mut().and_then(|all| all.last.insert(ends, message)) {
            Some(last) => self.messages.get_mut(last).behind = message,
            None => {
                self.admit(now, process, message);
                self.choose_next(now, process);
            }
        }
        was_idle && !self.senders[process].is_idle()
    }

    /// Removes the first message of `process`, which has no more to send or gives up its place.
    pub(super) fn take_first(&mut self, now: Time, process: SenderIndex) -> MessageIndex {
        let message = self.pop_front(process);
        if self.connections.is_none() {
            return message;
        }
        let behind = std::mem::replace(&mut self.messages.get_mut(message).behind, MessageIndex::NONE);
        if behind == MessageIndex::NONE {
            let ends = self.ends_of(process, message);
            self.connections.as_mut().and_then(|all| all.last.remove(&ends));
        } else {
            self.admit(now, process, behind);
        }
        self.choose_next(now, process);
        message
    }

    /// Gives the turn to another connection of `process`, whose first message has sent a packet and has more.
    pub(super) fn rotate(&mut self, now: Time, process: SenderIndex) {
        if self.connections.is_some() {
            let message = self.pop_front(process);
            self.push_or_park(process, message);
            self.choose_next(now, process);
        }
    }

    /// Lets `message`, the first of its connection, take part in the turns of its process.
    fn admit(&mut self, now: Time, process: SenderIndex, message: MessageIndex) {
        let slot = self.messages.get(message);
        let prepared = slot.prepared;
        if slot.number == PacketNumber(0) && prepared > now {
            let connections = self.connections.as_mut().expect("messages share the NIC");
            connections.preparing.entry(process).or_default().push(Reverse((prepared, message)));
        } else {
            self.push_or_park(process, message);
        }
    }

    /// Lets the messages that are prepared by `now` take part in the turns; if the process has none, the next one to be
    /// prepared.
    fn choose_next(&mut self, now: Time, process: SenderIndex) {
        let connections = self.connections.as_mut().expect("messages share the NIC");
        let Some(preparing) = connections.preparing.get_mut(&process) else { return };
        let mut admitted = Vec::new();
        let mut is_idle = self.senders[process].is_idle();
        while preparing.peek().is_some_and(|Reverse((prepared, _))| *prepared <= now || is_idle) {
            admitted.extend(preparing.pop().map(|Reverse((_, message))| message));
            is_idle = false;
        }
        admitted.into_iter().for_each(|message| self.push_or_park(process, message));
    }

    pub(super) fn push_back(&mut self, process: SenderIndex, message: MessageIndex) {
        let sender = &mut self.senders[process];
        if sender.is_idle() {
            sender.set_messages([message, message]);
        } else {
            let [front, back] = sender.messages();
            self.messages.get_mut(back).next = message;
            sender.set_messages([front, message]);
        }
    }

    fn pop_front(&mut self, process: SenderIndex) -> MessageIndex {
        let sender = &mut self.senders[process];
        let [message, back] = sender.messages();
        let next = std::mem::replace(&mut self.messages.get_mut(message).next, MessageIndex::NONE);
        sender.set_messages([next, if next == MessageIndex::NONE { next } else { back }]);
        message
    }
}
