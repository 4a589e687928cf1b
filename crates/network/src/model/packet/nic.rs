//! Packets that NICs send by themselves: responses, and packets that are sent again. Each NIC has a queue of packets,
//! which takes turns with its host's processes. A response leaves by the NIC that the request has come by.

use engine::Time;

use super::senders::Sender;
use super::transit::InTransit;
use super::{NONE, Packet};

impl Packet {
    /// The NIC of the host where packets of `message` start sends number `number` of them: the packet.
    pub(super) fn send_by_nic(&mut self, now: Time, message: u32, number: u32) -> u32 {
        let slot = self.messages.get(message);
        let (role, host, own) = (slot.role, slot.ends().0.host, slot.nics().from);
        let payload = self.options.payload_of(slot.message.size, u64::from(number));
        let size = self.wire_of(role, payload);
        let path = self.path_of(message, number);
        let slot = self.messages.get_mut(message);
        slot.holds += 1;
        if !self.route_each {
            slot.path = path;
        }
        let waits = slot.waits;
        let packet = self.begin_packet(message, number, size, path, 0);
        let state = &mut self.packets.all[packet as usize];
        (state.ready, state.waits) = (now, waits);
        let nic = self.processes + self.alone.nic(host, own);
        let sender = &mut self.senders[nic];
        if sender.front == NONE {
            (sender.front, sender.back) = (packet, packet);
            let link = self.ask(now, nic, self.paths.lane(path), size);
            self.mark(link);
        } else {
            self.packets.all[sender.back as usize].next = packet;
            sender.back = packet;
        }
        packet
    }

    /// Takes the first packet from the queue of a NIC, which has been granted its link.
    pub(super) fn leave_nic(&mut self, nic: u32) -> u32 {
        let sender = &mut self.senders[nic];
        let packet = sender.front;
        sender.front = std::mem::replace(&mut self.packets.all[packet as usize].next, NONE);
        packet
    }

    /// The next packet of a NIC asks for its link, if there is one.
    pub(super) fn ask_again(&mut self, now: Time, nic: u32) {
        let Sender { front, .. } = self.senders[nic];
        if front != NONE {
            let InTransit { wants, size, .. } = self.packets.all[front as usize];
            self.ask(now, nic, wants, size);
        }
    }

    /// The message of the first packet of `sender`.
    pub(super) fn message_of(&self, sender: u32) -> u32 {
        let front = self.senders[sender].front;
        if sender < self.processes { front } else { self.packets.all[front as usize].message }
    }
}
