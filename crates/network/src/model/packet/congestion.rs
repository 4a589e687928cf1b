//! Congestion control: windows of connections, and marks by routers.
//!
//! A router marks a data packet that leaves it if, at that instant, the packets there that go the same way out have more than
//! K bytes, this one included. That is asked at the end of an instant, so it does not depend on the order of what happens
//! within one. The answer to a marked packet is marked, too, and tells the sender.
//!
//! A connection (see [`super::connections`]) whose window is full has no part in the turns of its process, and comes back with
//! an acknowledgement. Paced packets are ready no sooner than their connection's rate allows.

use engine::hash::Map;
use engine::{Bandwidth, Bytes, Queue, Time};

use super::connections::Ends;
use super::index::{MessageIndex, PacketIndex, PacketNumber, SenderIndex};
use super::messages::Slot;
use super::transfer::{Kind, Role};
use super::{NONE, Packet};
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

/// Congestion mark of a packet.
#[derive(Debug, Clone, Copy)]
struct Mark {
    is_marked: bool,
    /// The output at which it is counted.
    counted: u32,
}

const UNMARKED: Mark = Mark { is_marked: false, counted: NONE };

/// All connections, and the queues of outputs.
pub(super) struct Congestion {
    control: Control,
    /// K \[bytes\]
    threshold: u64,
    connections: Map<Ends, Connection>,
    marks: Vec<Mark>,
    /// Bytes that wait for each output of a router.
    queued: Vec<u64>,
}

impl Congestion {
    pub fn new(control: Control, threshold: Bytes, links: u32) -> Congestion {
        let queued = vec![0; links as usize];
        Congestion { control, threshold: threshold.0, connections: Map::default(), marks: Vec::new(), queued }
    }

    fn mark(&mut self, packet: PacketIndex) -> &mut Mark {
        let packet = packet.at();
        if packet >= self.marks.len() {
            self.marks.resize(packet + 1, UNMARKED);
        }
        &mut self.marks[packet]
    }
}

impl Packet {
    /// The bytes that wait in routers for `link`, where congestion is controlled.
    pub fn queued(&self, link: crate::LinkId) -> Bytes {
        Bytes(self.congestion.as_ref().map_or(0, |congestion| congestion.queued[link.0 as usize]))
    }

    /// A packet begins, marked if it answers a marked one.
    pub(super) fn set_mark(&mut self, packet: PacketIndex, is_marked: bool) {
        if let Some(congestion) = &mut self.congestion {
            *congestion.mark(packet) = Mark { is_marked, counted: NONE };
        }
    }

    /// Says if a packet has been marked.
    pub(super) fn is_marked(&self, packet: PacketIndex) -> bool {
        let marks = self.congestion.as_ref().map(|congestion| &congestion.marks);
        marks.and_then(|marks| marks.get(packet.at())).is_some_and(|mark| mark.is_marked)
    }

    /// `packet` waits in a router from now on.
    pub(super) fn count_in(&mut self, packet: PacketIndex) {
        let state = self.packets.all[packet.at()];
        let output = self.link_of(state.wants);
        let Some(congestion) = &mut self.congestion else { return };
        congestion.queued[output as usize] += u64::from(state.size);
        congestion.mark(packet).counted = output;
    }

    /// `packet` leaves the router in which it waits, if it is in one: by an output, and then it may be marked.
    pub(super) fn count_out(&mut self, packet: PacketIndex, by_output: bool) {
        let state = self.packets.all[packet.at()];
        let is_data = self.messages.get(state.message).role == Role::Request(Kind::Put);
        let Some(congestion) = &mut self.congestion else { return };
        let output = std::mem::replace(&mut congestion.mark(packet).counted, NONE);
        if output == NONE {
            return;
        }
        let queued = &mut congestion.queued[output as usize];
        let exceeds = *queued > congestion.threshold;
        *queued -= u64::from(state.size);
        if by_output && is_data && exceeds {
            congestion.mark(packet).is_marked = true;
        }
    }

    /// Lets `message`, the first of its connection, take part in the turns of its process, unless its window is full.
    pub(super) fn push_or_park(&mut self, process: SenderIndex, message: MessageIndex) {
        if self.congestion.is_some() && !self.may_send(process, message) {
            self.connection(process, message).parked = message;
        } else {
            self.push_back(process, message);
        }
    }

    fn may_send(&mut self, process: SenderIndex, message: MessageIndex) -> bool {
        let size = u64::from(self.next_size(self.messages.get(message)));
        let connection = self.connection(process, message);
        connection.in_flight == 0 || connection.in_flight + size <= connection.controller.window().0
    }

    fn connection(&mut self, process: SenderIndex, message: MessageIndex) -> &mut Connection {
        let ends = self.ends_of(process, message);
        let congestion = self.congestion.as_mut().expect("congestion is controlled");
        let control = &congestion.control;
        congestion.connections.entry(ends).or_insert_with(|| Connection {
            controller: control(),
            in_flight: 0,
            parked: MessageIndex::NONE,
            paced: Time::ZERO,
        })
    }

    /// Earliest time at which the next packet of `message` may leave.
    pub(super) fn paced(&mut self, process: SenderIndex, message: MessageIndex) -> Time {
        if self.congestion.is_none() { Time::ZERO } else { self.connection(process, message).paced }
    }

    /// A packet of `message` of so many bytes begins to leave.
    pub(super) fn note_sent(&mut self, now: Time, process: SenderIndex, message: MessageIndex, size: u32) {
        if self.congestion.is_none() {
            return;
        }
        let connection = self.connection(process, message);
        connection.in_flight += u64::from(size);
        connection.controller.on_send(now, Bytes(size.into()));
        let rate = connection.controller.pacing().unwrap_or(Bandwidth::INFINITE);
        connection.paced = now + rate.transfer(Bytes(size.into()));
    }

    /// Packet `number` of the message in slot `index`, which has begun here, is acknowledged.
    pub(super) fn acknowledged(
        &mut self,
        now: Time,
        index: MessageIndex,
        number: PacketNumber,
        is_marked: bool,
        queue: &mut Queue,
    ) {
        if self.congestion.is_none() {
            return;
        }
        let slot = self.messages.get(index);
        let process = self.process_at(slot.message.from, slot.nics().from);
        let bytes = self.bytes_of(slot, number);
        let connection = self.connection(process, index);
        connection.in_flight -= bytes.0;
        if is_marked {
            connection.controller.on_mark(now, bytes);
        }
        connection.controller.on_acknowledgement(now, bytes);
        let parked = connection.parked;
        if parked == MessageIndex::NONE || !self.may_send(process, parked) {
            return;
        }
        self.connection(process, parked).parked = MessageIndex::NONE;
        let was_idle = self.senders[process].is_idle();
        self.push_back(process, parked);
        if was_idle && let Some(link) = self.fill(now, process, queue) {
            self.mark(link);
        }
    }

    /// Packet `number` of the message in slot `index` is sent again.
    pub(super) fn note_loss(&mut self, now: Time, index: MessageIndex, number: PacketNumber) {
        if self.congestion.is_none() {
            return;
        }
        let slot = self.messages.get(index);
        let process = self.process_at(slot.message.from, slot.nics().from);
        let bytes = self.bytes_of(slot, number);
        self.connection(process, index).controller.on_loss(now, bytes);
    }

    /// Packet `number` of `slot` on the wire.
    fn bytes_of(&self, slot: &Slot, number: PacketNumber) -> Bytes {
        let payload = self.options.payload_of(slot.message.size, u64::from(number.0));
        Bytes(self.wire_of(slot.role, payload).into())
    }
}
