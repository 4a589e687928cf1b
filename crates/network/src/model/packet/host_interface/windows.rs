//! Congestion control: windows of connections, and their pace.
//!
//! The answer to a marked packet is marked, too, and tells the sender (see [`crate::congestion`]). A connection (see
//! [`super::connections`]) whose window is full has no part in the turns of its process, and comes back with an
//! acknowledgement. Paced packets are ready no sooner than their connection's rate allows.

use engine::hash::Map;
use engine::{Bandwidth, Bytes, Time};

use super::super::format::Format;
use super::super::index::{MessageIndex, PacketNumber, SenderIndex};
use super::super::messages::{Messages, Slot};
use super::super::size::WireSize;
use super::HostInterface;
use super::connections::Ends;
use crate::congestion::{Control, Controller};

/// A connection.
#[derive(Debug)]
struct Connection {
    controller: Box<dyn Controller>,
    /// Bytes on the wire that have left and are not acknowledged.
    in_flight: u64,
    /// Its first message, while the window is full.
    parked: MessageIndex,
    /// Earliest time at which the next packet may leave, where packets are paced.
    paced: Time,
}

/// Windows of all connections.
pub(super) struct Windows {
    control: Control,
    connections: Map<Ends, Connection>,
}

impl Windows {
    pub fn new(control: Control) -> Windows {
        Windows { control, connections: Map::default() }
    }

    fn of(&mut self, ends: Ends) -> &mut Connection {
        let control = &self.control;
        self.connections.entry(ends).or_insert_with(|| Connection {
            controller: control(),
            in_flight: 0,
            parked: MessageIndex::NONE,
            paced: Time::ZERO,
        })
    }
}

impl Connection {
    fn may_send(&self, size: WireSize) -> bool {
        self.in_flight == 0 || self.in_flight + size.wide() <= self.controller.window().0
    }
}

impl HostInterface {
    /// Lets `message`, the first of its connection, take part in the turns of its process, unless its window is full.
    pub(super) fn push_or_park(
        &mut self,
        process: SenderIndex,
        message: MessageIndex,
        messages: &mut Messages,
        format: &Format,
    ) {
        if let Some(windows) = &mut self.windows {
            let slot = messages.get(message);
            let connection = windows.of(Ends::of(process, slot));
            if !connection.may_send(format.next_size(slot)) {
                connection.parked = message;
                return;
            }
        }
        self.push_back(process, message, messages);
    }

    /// Earliest time at which the next packet of `slot` may leave.
    #[inline]
    pub fn paced(&mut self, process: SenderIndex, slot: &Slot) -> Time {
        match &mut self.windows {
            None => Time::ZERO,
            Some(windows) => windows.of(Ends::of(process, slot)).paced,
        }
    }

    /// A packet of `size` of `slot` begins to leave.
    #[inline]
    pub fn note_sent(&mut self, now: Time, process: SenderIndex, slot: &Slot, size: WireSize) {
        let Some(windows) = &mut self.windows else { return };
        let connection = windows.of(Ends::of(process, slot));
        connection.in_flight += size.wide();
        connection.controller.on_send(now, size.into());
        let rate = connection.controller.pacing().unwrap_or(Bandwidth::INFINITE);
        connection.paced = now + rate.transfer(size.into());
    }

    /// Packet `number` of the message at `index`, which has begun here, is acknowledged. Gives the process that has
    /// something to send now, and had not before.
    pub fn acknowledge(
        &mut self,
        now: Time,
        index: MessageIndex,
        number: PacketNumber,
        is_marked: bool,
        messages: &mut Messages,
        format: &Format,
    ) -> Option<SenderIndex> {
        self.windows.as_ref()?;
        let slot = messages.get(index);
        let process = self.process(slot.message.from, slot.nics().from);
        let bytes = Bytes::from(format.size_of(slot, number));
        let connection = self.windows.as_mut()?.of(Ends::of(process, slot));
        connection.in_flight -= bytes.0;
        if is_marked {
            connection.controller.on_mark(now, bytes);
        }
        connection.controller.on_acknowledgement(now, bytes);
        let parked = connection.parked;
        if parked == MessageIndex::NONE || !connection.may_send(format.next_size(messages.get(parked))) {
            return None;
        }
        connection.parked = MessageIndex::NONE;
        let was_idle = self.is_idle(process);
        self.push_back(process, parked, messages);
        was_idle.then_some(process)
    }

    /// Packet `number` of `slot` is sent again.
    pub fn note_loss(&mut self, now: Time, slot: &Slot, number: PacketNumber, format: &Format) {
        let process = self.process(slot.message.from, slot.nics().from);
        let Some(windows) = &mut self.windows else { return };
        let bytes = format.size_of(slot, number);
        windows.of(Ends::of(process, slot)).controller.on_loss(now, bytes.into());
    }
}
