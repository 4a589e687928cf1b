//! Packets that NICs send by themselves: responses, and packets that are sent again. Each NIC has a queue of packets,
//! which takes turns with its host's processes. A response leaves by the NIC that the request has come by.

use engine::Time;

use super::Packet;
use super::index::{MessageIndex, PacketIndex, PacketNumber, SenderIndex};
use super::transit::InTransit;

impl Packet {
    /// The NIC of the host where packets of `message` start sends number `number` of them: the packet.
    pub(super) fn send_by_nic(
        &mut self,
        now: Time,
        message: MessageIndex,
        number: PacketNumber,
    ) -> PacketIndex {
        let slot = self.messages.get(message);
        let (role, host, own) = (slot.role, slot.ends().0.host, slot.nics().from);
        let payload = self.options.payload_of(slot.message.size, u64::from(number.0));
        let size = self.wire_of(role, payload);
        let path = self.path_of(message, number);
        let slot = self.messages.get_mut(message);
        slot.holds += 1;
        if !self.route_each {
            slot.path = path;
        }
        let waits = slot.waits;
        let packet = self.begin_packet(message, number, size, path, 0);
        let state = &mut self.packets.all[packet.at()];
        (state.ready, state.waits) = (now, waits);
        let nic = SenderIndex(self.processes + self.alone.nic(host, own));
        let sender = &mut self.senders[nic];
        if sender.is_idle() {
            sender.set_packets([packet, packet]);
            let link = self.ask(now, nic, self.paths.lane(path), size);
            self.mark(link);
        } else {
            let [front, back] = sender.packets();
            sender.set_packets([front, packet]);
            self.packets.all[back.at()].next = packet;
        }
        packet
    }

    /// Takes the first packet from the queue of a NIC, which has been granted its link.
    pub(super) fn leave_nic(&mut self, nic: SenderIndex) -> PacketIndex {
        let sender = &mut self.senders[nic];
        let [packet, back] = sender.packets();
        let next = std::mem::replace(&mut self.packets.all[packet.at()].next, PacketIndex::NONE);
        sender.set_packets([next, back]);
        packet
    }

    /// The next packet of a NIC asks for its link, if there is one.
    pub(super) fn ask_again(&mut self, now: Time, nic: SenderIndex) {
        let [front, _] = self.senders[nic].packets();
        if front != PacketIndex::NONE {
            let InTransit { wants, size, .. } = self.packets.all[front.at()];
            self.ask(now, nic, wants, size);
        }
    }

    /// The message of the first packet of `sender`.
    pub(super) fn message_of(&self, sender: SenderIndex) -> MessageIndex {
        let state = &self.senders[sender];
        if sender.0 < self.processes {
            state.message()
        } else {
            self.packets.all[state.packets()[0].at()].message
        }
    }
}
