//! Arrival: packets leave the network, and messages are told of.

use engine::{Queue, Time};

use super::Packet;
use super::index::{MessageIndex, PacketIndex, PacketNumber, PathIndex};
use super::messages::Slot;
use super::packets::InTransit;
use super::steps::Step;
use super::transfers::Role;
use super::waits::{Resource, Waits};
use crate::message::{Arrival, Happening, Message};

impl Packet {
    /// True if nothing happens when a packet of `slot` comes whose transmission to its host has begun: others come after it,
    /// by the same link, and nobody else counts them.
    #[inline]
    pub(super) fn comes_unnoticed(&self, slot: &Slot) -> bool {
        slot.missing > 1
            && self.transfers.is_none()
            && self.switch.links_of_nics() == 1
            && !self.host_interface.takes_time()
            && !self.border.is_open()
    }

    /// `packet` has left this part of the network, for a host or for another part. Gives the number of
    /// packets of its message that have not.
    pub(super) fn let_go(&mut self, packet: PacketIndex) -> u64 {
        if self.transfers.is_some() {
            self.drop_packet(packet);
            return 1;
        }
        let InTransit { message, path, .. } = self.packets[packet];
        self.packets.remove(packet);
        let slot = self.messages.get_mut(message);
        slot.missing -= 1;
        if self.routes.each_packet() || slot.missing == 0 {
            self.routes.remove(path);
        }
        slot.missing
    }

    /// `packet` is not in this part of the network any more.
    pub(super) fn drop_packet(&mut self, packet: PacketIndex) {
        let InTransit { message, path, .. } = self.packets[packet];
        if self.switch.marks_packets() {
            self.count_out(packet, false);
        }
        self.packets.remove(packet);
        if self.routes.each_packet() {
            self.routes.remove(path);
        }
        self.release(message);
    }

    /// One thing less needs the slot of a transfer.
    pub(super) fn release(&mut self, index: MessageIndex) {
        if self.messages.release(index) {
            let slot = self.messages.get_mut(index);
            let path = slot.take_path();
            slot.transfer.seen = Box::default();
            if path != PathIndex::NONE {
                self.routes.remove(path);
            }
        }
    }

    /// The tail of `packet` is at its host.
    pub(super) fn arrived(
        &mut self,
        now: Time,
        packet: PacketIndex,
        queue: &mut Queue,
        arrivals: &mut Vec<Arrival>,
    ) {
        if self.transfers.is_some() {
            return self.transaction_arrived(now, packet, queue, arrivals);
        }
        let InTransit { message: index, number, mut waits, .. } = self.packets[packet];
        let here = self.let_go(packet);
        let missing = self.missing_in_all(index, here);
        let message = self.messages.get(index).message;
        let at = self.take_in_payload(now, &message, number, &mut waits);
        if missing > 0 {
            if here == 0 {
                self.messages.release(index);
            }
            return;
        }
        self.messages.get_mut(index).waits = waits;
        if at == now {
            self.deliver(index, arrivals);
        } else {
            queue.place(at, message.key, Step::Delivered(index).token());
        }
    }

    /// The process that receives `message` takes in packet `number`: when the message would be delivered
    /// if that were its last. Adds to its `waits`.
    pub(super) fn take_in_payload(
        &mut self,
        now: Time,
        message: &Message,
        number: PacketNumber,
        waits: &mut Waits,
    ) -> Time {
        let regime = &self.alone.hosts.regimes[usize::from(message.regime)];
        let process = self.host_interface.process(message.to, message.nic_pair().to);
        let transfer = || regime.process_rate.transfer(self.format.payload_of(message, number));
        let taken = self.host_interface.take_in(now, process, transfer);
        if let Some(at) = taken {
            waits.add(Resource::NIC, at.since(now));
        }
        taken.unwrap_or(now) + regime.latency
    }

    /// The event of the end of the sending of `index`.
    pub(super) fn tell_sent(&mut self, index: MessageIndex, arrivals: &mut Vec<Arrival>) {
        self.tell_once(index, arrivals);
        self.messages.release(index);
    }

    /// The message at `index` is delivered.
    pub(super) fn deliver(&mut self, index: MessageIndex, arrivals: &mut Vec<Arrival>) {
        if self.messages.get(index).transfer.role != Role::Plain {
            return self.deliver_transferred(index, arrivals);
        }
        // Over links without latency both may happen at the same time.
        self.tell_once(index, arrivals);
        self.report_slot(Happening::Delivered, index, arrivals);
        self.messages.release(index);
    }

    /// Tells that the message has been sent, if somebody wants to know and does not.
    fn tell_once(&mut self, index: MessageIndex, arrivals: &mut Vec<Arrival>) {
        let slot = self.messages.get_mut(index);
        if !std::mem::replace(&mut slot.told, true) {
            self.report_slot(Happening::Sent, index, arrivals);
        }
    }

    /// Tells of the message at `index`.
    pub(super) fn report_slot(
        &mut self,
        happening: Happening,
        index: MessageIndex,
        arrivals: &mut Vec<Arrival>,
    ) {
        let Slot { injected, ref message, waits, .. } = *self.messages.get(index);
        self.told = waits;
        arrivals.push(self.arrival(happening, injected, message));
    }
}
