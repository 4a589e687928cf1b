//! From processes to the network: messages are cut into packets, and processes take turns at the NIC.

use engine::{Bytes, Queue, Time};

use super::index::{MessageIndex, PacketIndex, PacketNumber, SenderIndex};
use super::messages::Slot;
use super::transfer::Role;
use super::waits::Resource;
use super::{NONE, Packet, Step, token};
use crate::Fabric;
use crate::message::Message;
use crate::routing::Trip;

impl Packet {
    /// A message to another host.
    pub(super) fn begin(&mut self, now: Time, message: &Message, queue: &mut Queue) {
        let packets = self.options.packets(message.size);
        let number = &mut self.sent[message.from.host.0 as usize];
        let index = self.messages.insert(now, message, *number, packets);
        *number = number.wrapping_add(1);
        self.enqueue(now, index, queue);
    }

    /// Gives the message at `index` to its NIC, behind others.
    pub(super) fn enqueue(&mut self, now: Time, index: MessageIndex, queue: &mut Queue) {
        let slot = self.messages.get_mut(index);
        let (from, own) = (slot.ends().0, slot.nics().from);
        let nic = self.alone.nic(from.host, own) as usize;
        if let Some(prepared) = self.prepared.get_mut(nic) {
            slot.waits.add(Resource::NIC, (*prepared).max(now).since(now));
            *prepared = now.max(*prepared) + self.alone.hosts.nics.setup;
            (slot.prepared, slot.since) = (*prepared, *prepared);
        }
        if let Some(waiting) = self.waiting.get_mut(nic) {
            *waiting += slot.carried(slot.left).0;
        }
        let process = self.process_at(from, own);
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
        if self.line_up_behind(now, process, index)
            && let Some(link) = self.fill(now, process, queue)
        {
            self.mark(link);
        }
    }

    /// The next packet of `process` comes over the process's own path; when all of it is at the NIC by
    /// the time it is needed, it asks for the host's link. The link, if that is now.
    pub(super) fn fill(&mut self, now: Time, process: SenderIndex, queue: &mut Queue) -> Option<u32> {
        if self.faults.is_some() && !self.has_message(now, process) {
            return None;
        }
        let front = self.senders[process].message();
        let slot = self.messages.get(front);
        let payload = slot.carried(slot.left.min(self.options.payload));
        let regime = &self.alone.hosts.regimes[usize::from(slot.message.regime)];
        let on_path = regime.process_rate.transfer(payload);
        // The links of a host's NICs are alike; the first's has the number of the host.
        let on_link = self.kind(slot.ends().0.host.0).transfer(self.next_size(slot));
        let on_link = on_link.max(regime.nic_rate.transfer(payload));
        let begin = if slot.number == PacketNumber(0) { now.max(slot.prepared) } else { now };
        let begin = if self.congestion.is_none() { begin } else { begin.max(self.paced(process, front)) };
        let filled_at = &mut self.senders[process].filled_at;
        *filled_at = begin.max(*filled_at) + on_path;
        // The packet may begin to leave when the rest of it will not be late.
        let ready = begin.max(Time(filled_at.0.saturating_sub(on_link.0)));
        if ready == now {
            return Some(self.request_injection(now, process));
        }
        queue.push(ready, self.inner(), token(Step::Filled, process.0, 0));
        None
    }

    /// The next packet of `process` asks for its host's link, which this gives.
    pub(super) fn request_injection(&mut self, now: Time, process: SenderIndex) -> u32 {
        let message = self.senders[process].message();
        let first = self.route(message);
        let size = self.next_size(self.messages.get(message));
        self.ask(now, process, first, size)
    }

    /// The next packet of `slot` on the wire \[bytes\].
    pub(super) fn next_size(&self, slot: &Slot) -> u32 {
        self.wire_of(slot.role, slot.left.min(self.options.payload))
    }

    /// A packet of `size` bytes, the first of `sender`, asks for channel `wants` of its host's link: that.
    pub(super) fn ask(&mut self, now: Time, sender: SenderIndex, wants: u32, size: u32) -> u32 {
        if let Some(recorder) = &mut self.recorder {
            recorder.ask(now, sender);
        }
        let link = self.link_of(wants);
        let requests = &mut self.ports[link as usize].requests;
        let next = std::mem::replace(requests, self.lanes.len() as u32 + sender.0);
        let state = &mut self.senders[sender];
        (state.wants, state.size, state.next) = (wants, size, next);
        link
    }

    /// Finds the route of the next packet of `message`, if it has none, and gives its first channel.
    fn route(&mut self, message: MessageIndex) -> u32 {
        let path = self.path_of(message, self.messages.get(message).number);
        self.messages.get_mut(message).path = path;
        self.paths.lane(path)
    }

    /// The route that packet `number` of `message` takes: the one of all, where they share one that is known.
    pub(super) fn path_of(&mut self, message: MessageIndex, number: PacketNumber) -> u32 {
        let path = self.messages.get(message).path;
        if path != NONE && !self.route_each { path } else { self.find_path(message, number, 0) }
    }

    /// The route of packet `number` of `message` on its `course`: its place among the paths.
    pub(super) fn find_path(&mut self, message: MessageIndex, number: PacketNumber, course: u32) -> u32 {
        let trip = self.trip_of(message, number);
        let Fabric { topology, routing } = &*self.alone.fabric;
        self.links.clear();
        routing.course(&**topology, trip, course, &mut self.links);
        self.keep_path(message)
    }

    /// Trip of packet `number` of `message`.
    pub(super) fn trip_of(&self, message: MessageIndex, number: PacketNumber) -> Trip {
        let slot = self.messages.get(message);
        let (from, to) = slot.ends();
        let number = if self.route_each { number.0 } else { 0 };
        Trip::new(from.host, to.host, u64::from(slot.id) << 32 | u64::from(number))
    }

    /// Keeps the path of the links in [`Packet::links`], a route of `message`, by its NICs and with its channels.
    pub(super) fn keep_path(&mut self, message: MessageIndex) -> u32 {
        let slot = self.messages.get(message);
        let ((from, to), nics) = (slot.ends(), slot.nics());
        let fabric = &*self.alone.fabric;
        let (links, channels) = (&mut self.links, &mut self.path_channels);
        fabric.routing.channels(&*fabric.topology, links, channels);
        fabric.take_nics(nics, from.host, to.host, links);
        let count = self.channels;
        let path = links.iter().zip(channels).map(|(link, channel)| link.0 * count + u32::from(*channel));
        self.paths.insert(path)
    }

    /// Takes the packet that has been granted its host's link from its sender.
    pub(super) fn take_from(&mut self, sender: SenderIndex) -> PacketIndex {
        let packet = if sender.0 < self.processes { self.cut_packet(sender) } else { self.leave_nic(sender) };
        if self.faults.is_some() {
            self.set_out(packet);
        }
        packet
    }

    /// Cuts the next packet off the first message of `process`.
    fn cut_packet(&mut self, process: SenderIndex) -> PacketIndex {
        let (message, size) = (self.senders[process].message(), self.senders[process].size);
        let most = self.options.payload;
        let slot = self.messages.get_mut(message);
        let payload = slot.left.min(most);
        let (path, number) = (slot.path, slot.number);
        if !self.waiting.is_empty() {
            let nic = self.alone.nic(slot.ends().0.host, slot.nics().from);
            self.waiting[nic as usize] -= slot.carried(payload).0;
        }
        slot.left = Bytes(slot.left.0 - payload.0);
        slot.number.0 += 1;
        if self.route_each {
            slot.path = NONE;
        }
        if slot.role != Role::Plain {
            slot.holds += 1;
        }
        self.begin_packet(message, number, size, path, 0)
    }

    /// A packet of `sender` has been granted its host's link, and has left at `end`.
    pub(super) fn injected(&mut self, now: Time, sender: SenderIndex, end: Time, queue: &mut Queue) {
        if sender.0 >= self.processes {
            return self.ask_again(now, sender);
        }
        let process = sender;
        let (message, size) = (self.senders[process].message(), self.senders[process].size);
        self.note_sent(now, process, message, size);
        let slot = self.messages.get(message);
        if slot.left.0 == 0 {
            if slot.role == Role::Plain && slot.message.notify_sent {
                queue.push(end, super::owner(slot.message.from.host), token(Step::Sent, message.0, 0));
            }
            self.take_first(now, process);
            if self.senders[process].is_idle() {
                return;
            }
        } else {
            self.rotate(now, process);
            if self.senders[process].is_idle() {
                return;
            }
        }
        // Nothing is marked for that: the link is busy now, and looks again when it is not.
        self.fill(now, process, queue);
    }
}
