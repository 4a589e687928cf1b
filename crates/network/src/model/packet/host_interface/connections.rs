//! The order in which the messages of a process leave a NIC.
//!
//! In turn, a message waits for all before it. Shared, it waits only for those of its connection: the process takes
//! turns among its connections packet by packet, and a NIC sends no packet of a message that it has not prepared.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use engine::Time;
use engine::hash::Map;

use super::super::format::Format;
use super::super::index::{MessageIndex, PacketNumber, SenderIndex};
use super::super::messages::{Messages, Slot};
use super::HostInterface;

/// Ends of a connection: a process at a NIC, and its partner at one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Ends {
    process: SenderIndex,
    partner: u64,
}

impl Ends {
    /// Connection of `process` that `slot` belongs to.
    pub fn of(process: SenderIndex, slot: &Slot) -> Ends {
        let (to, nic) = (slot.ends().1, slot.nics().to);
        let partner = u64::from(to.host.0) << 32 | u64::from(to.process) << 8 | u64::from(nic);
        Ends { process, partner }
    }
}

/// Connections that have messages, of processes that share their NICs.
#[derive(Debug, Default)]
pub(super) struct Connections {
    /// The last message of each connection.
    last: Map<Ends, MessageIndex>,
    /// Messages of each process at a NIC that the NIC still prepares, and that wait for nothing else.
    preparing: Map<SenderIndex, BinaryHeap<Reverse<(Time, MessageIndex)>>>,
}

impl HostInterface {
    /// Queues `message` behind all messages of its process, or behind those of its connection. True if the process had
    /// nothing to send, and has now.
    pub fn line_up(
        &mut self,
        now: Time,
        process: SenderIndex,
        message: MessageIndex,
        messages: &mut Messages,
        format: &Format,
    ) -> bool {
        // The first use of a process makes its record, which needs a mutable borrow.
        let sender = &mut self.senders[process];
        let was_idle = sender.is_idle();
        let Some(connections) = &mut self.connections else {
            self.push_back(process, message, messages);
            return was_idle;
        };
        let ends = Ends::of(process, messages.get(message));
        match connections.last.insert(ends, message) {
            Some(last) => messages.get_mut(last).behind = message,
            None => {
                self.admit(now, process, message, messages, format);
                self.choose_next(now, process, messages, format);
            }
        }
        was_idle && !self.is_idle(process)
    }

    /// Removes the first message of `process`, which has no more to send or gives up its place.
    pub fn take_first(
        &mut self,
        now: Time,
        process: SenderIndex,
        messages: &mut Messages,
        format: &Format,
    ) -> MessageIndex {
        let message = self.pop_front(process, messages);
        let Some(connections) = &mut self.connections else { return message };
        let behind = std::mem::replace(&mut messages.get_mut(message).behind, MessageIndex::NONE);
        if behind == MessageIndex::NONE {
            connections.last.remove(&Ends::of(process, messages.get(message)));
        } else {
            self.admit(now, process, behind, messages, format);
        }
        self.choose_next(now, process, messages, format);
        message
    }

    /// Gives the turn to another connection of `process`, whose first message has sent a packet and has more.
    pub fn rotate(&mut self, now: Time, process: SenderIndex, messages: &mut Messages, format: &Format) {
        if self.connections.is_some() {
            let message = self.pop_front(process, messages);
            self.push_or_park(process, message, messages, format);
            self.choose_next(now, process, messages, format);
        }
    }

    /// Lets `message`, the first of its connection, take part in the turns of its process.
    fn admit(
        &mut self,
        now: Time,
        process: SenderIndex,
        message: MessageIndex,
        messages: &mut Messages,
        format: &Format,
    ) {
        let slot = messages.get(message);
        let prepared = slot.prepared;
        if slot.number == PacketNumber(0) && prepared > now {
            let connections = self.connections.as_mut().expect("messages share the NIC");
            connections.preparing.entry(process).or_default().push(Reverse((prepared, message)));
        } else {
            self.push_or_park(process, message, messages, format);
        }
    }

    /// Lets the messages that are prepared by `now` take part in the turns; if the process has none, the next one to be
    /// prepared.
    fn choose_next(&mut self, now: Time, process: SenderIndex, messages: &mut Messages, format: &Format) {
        let connections = self.connections.as_mut().expect("messages share the NIC");
        let Some(preparing) = connections.preparing.get_mut(&process) else { return };
        let mut admitted = Vec::new();
        let mut is_idle = self.senders[process].is_idle();
        while preparing.peek().is_some_and(|Reverse((prepared, _))| *prepared <= now || is_idle) {
            admitted.extend(preparing.pop().map(|Reverse((_, message))| message));
            is_idle = false;
        }
        admitted.into_iter().for_each(|message| self.push_or_park(process, message, messages, format));
    }
}
