//! From processes to the network: messages are cut into packets, and processes take turns at the NIC.

use engine::{Queue, Time};

use super::index::{Course, MessageIndex, PacketIndex, PacketNumber, PathIndex, SenderIndex};
use super::packets::InTransit;
use super::steps::Step;
use super::switch::Request;
use super::transfers::Role;
use super::{Packet, owner};
use crate::message::Message;
use crate::topology::LinkId;

impl Packet {
    /// A message within a host.
    pub(super) fn copy(&mut self, now: Time, message: &Message, queue: &mut Queue) {
        let (costs, memory) = (*self.alone.memory(message), self.alone.shared_memory(message));
        let done = self.host_interface.copy(now, message.from, message.size, (&costs, memory));
        let index = self.messages.insert_copy(now, message);
        if message.notify_sent {
            queue.push(done, owner(message.from.host), Step::Sent(index).token());
        }
        queue.place(done + costs.latency, message.key, Step::Delivered(index).token());
    }

    /// A message to another host.
    pub(super) fn begin(&mut self, now: Time, message: &Message, queue: &mut Queue) {
        let packets = self.format.options.packets(message.size);
        let number = self.host_interface.next_number(message.from.host);
        let index = self.messages.insert(now, message, number, packets);
        self.enqueue(now, index, queue);
    }

    /// Gives the message at `index` to its NIC, behind others.
    pub(super) fn enqueue(&mut self, now: Time, index: MessageIndex, queue: &mut Queue) {
        let process = self.host_interface.prepare(now, self.messages.get_mut(index));
        self.line_up_message(now, process, index, queue);
    }

    /// The same for one that its NIC knows.
    pub(super) fn line_up_message(
        &mut self,
        now: Time,
        process: SenderIndex,
        index: MessageIndex,
        queue: &mut Queue,
    ) {
        if self.host_interface.line_up(now, process, index, &mut self.messages, &self.format) {
            self.begin_to_send(now, process, queue);
        }
    }

    /// `process` has something to send, and had not before.
    pub(super) fn begin_to_send(&mut self, now: Time, process: SenderIndex, queue: &mut Queue) {
        if let Some(link) = self.fill(now, process, queue) {
            self.switch.mark(link);
        }
    }

    /// The next packet of `process` comes over the process's own path; when all of it is at the NIC by
    /// the time it is needed, it asks for the host's link. The link, if that is now.
    fn fill(&mut self, now: Time, process: SenderIndex, queue: &mut Queue) -> Option<LinkId> {
        if self.rerouting.is_some() && !self.has_message(now, process) {
            return None;
        }
        let slot = self.messages.get(self.host_interface.front(process));
        let payload = slot.carried(slot.left.min(self.format.options.payload));
        let regime = &self.alone.hosts.regimes[usize::from(slot.message.regime)];
        let on_path = regime.process_rate.transfer(payload);
        // The links of a host's NICs are alike; the first's has the number of the host.
        let kind = self.switch.kind(LinkId(slot.ends().0.host.0));
        let by_nic = regime.nic_rate.transfer(payload) * self.switch.links_of_nics();
        let on_link = kind.transfer(self.format.next_size(slot)).max(by_nic);
        let begin = if slot.number == PacketNumber(0) { now.max(slot.prepared) } else { now };
        let begin = begin.max(self.host_interface.paced(process, slot));
        let filled_at = self.host_interface.fill(process, begin, on_path);
        // The packet may begin to leave when the rest of it will not be late.
        let ready = begin.max(Time(filled_at.0.saturating_sub(on_link.0)));
        if ready == now {
            return Some(self.request_injection(now, process));
        }
        queue.push(ready, self.switch.owner(), Step::Filled(process).token());
        None
    }

    /// The next packet of `process` is ready, and asks for its host's link.
    pub(super) fn filled(&mut self, now: Time, process: SenderIndex, queue: &mut Queue) {
        if self.rerouting.is_some() {
            self.watch(queue);
            let front = self.host_interface.front(process);
            if !self.has_way(front) {
                return self.begin_to_send(now, process, queue);
            }
        }
        let link = self.request_injection(now, process);
        self.switch.mark(link);
    }

    /// The next packet of `process` asks for its host's link, which this gives.
    fn request_injection(&mut self, now: Time, process: SenderIndex) -> LinkId {
        let message = self.host_interface.front(process);
        let slot = self.messages.get_mut(message);
        slot.path = self.routes.path_of(&self.alone.fabric, slot, slot.number);
        let request = Request {
            wants: self.routes.channel(slot.path),
            size: self.format.next_size(slot),
            injected: slot.injected,
            asked: now,
        };
        self.switch.ask_from_host(process, request)
    }

    /// Takes the packet that has been granted its host's link from its sender.
    pub(super) fn take_from(&mut self, sender: SenderIndex) -> PacketIndex {
        let packet = if self.host_interface.is_process(sender) {
            self.cut_packet(sender)
        } else {
            self.host_interface.pop_packet(sender, &mut self.packets)
        };
        if self.rerouting.is_some() {
            self.set_out(packet);
        }
        packet
    }

    /// Cuts the next packet off the first message of `process`.
    fn cut_packet(&mut self, process: SenderIndex) -> PacketIndex {
        let (message, size) = (self.host_interface.front(process), self.switch.asked(process).size);
        let slot = self.messages.get_mut(message);
        let (path, number) = (slot.path, slot.number);
        self.host_interface.cut_packet(slot, self.format.options.payload);
        if self.routes.each_packet() {
            slot.path = PathIndex::NONE;
        }
        self.begin_packet(message, number, size, path, Course(0))
    }

    /// A packet of `sender` has been granted its host's link.
    pub(super) fn injected(&mut self, now: Time, sender: SenderIndex, queue: &mut Queue) {
        if !self.host_interface.is_process(sender) {
            return self.ask_again(now, sender);
        }
        let (process, size) = (sender, self.switch.asked(sender).size);
        let message = self.host_interface.front(process);
        let slot = self.messages.get(message);
        self.host_interface.note_sent(now, process, slot, size);
        if slot.left.0 == 0 {
            if slot.transfer.role == Role::Plain && slot.message.notify_sent {
                queue.push(slot.since, owner(slot.message.from.host), Step::Sent(message).token());
            }
            self.host_interface.take_first(now, process, &mut self.messages, &self.format);
        } else {
            self.host_interface.rotate(now, process, &mut self.messages, &self.format);
        }
        if !self.host_interface.is_idle(process) {
            // Nothing is marked for that: the link is busy now, and looks again when it is not. Where a NIC has several, they
            // go on to choose.
            self.fill(now, process, queue);
        }
    }

    /// The NIC of the host where packets of `message` start sends number `number` of them: the packet.
    pub(super) fn send_by_nic(
        &mut self,
        now: Time,
        message: MessageIndex,
        number: PacketNumber,
    ) -> PacketIndex {
        let slot = self.messages.get_mut(message);
        let (host, own) = (slot.ends().0.host, slot.nics().from);
        let size = self.format.size_of(slot, number);
        let path = self.routes.path_of(&self.alone.fabric, slot, number);
        slot.holds += 1;
        if !self.routes.each_packet() {
            slot.path = path;
        }
        let waits = slot.waits;
        let packet = self.begin_packet(message, number, size, path, Course(0));
        let state = &mut self.packets[packet];
        (state.ready, state.waits) = (now, waits);
        let nic = self.host_interface.sending_nic(host, own);
        if self.host_interface.push_packet(nic, packet, &mut self.packets) {
            let link = self.ask_for(now, nic, packet);
            self.switch.mark(link);
        }
        packet
    }

    /// The next packet of a NIC asks for its link, if there is one.
    fn ask_again(&mut self, now: Time, nic: SenderIndex) {
        let front = self.host_interface.first_packet(nic);
        if front != PacketIndex::NONE {
            self.ask_for(now, nic, front);
        }
    }

    /// `packet`, the first of a NIC, asks for its link, which this gives.
    fn ask_for(&mut self, now: Time, nic: SenderIndex, packet: PacketIndex) -> LinkId {
        let InTransit { wants, size, message, .. } = self.packets[packet];
        let injected = self.messages.get(message).injected;
        self.switch.ask_from_host(nic, Request { wants, size, injected, asked: now })
    }
}
