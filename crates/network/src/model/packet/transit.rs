//! Packets on their way from router to router, and into hosts.

use engine::{Queue, Time};

use super::faults::Way;
use super::index::{MessageIndex, PacketIndex, PacketNumber};
use super::ports::link_of;
use super::waits::{Resource, Waits};
use super::{NONE, NOTHING, Packet, Step, token};
use crate::message::{Arrival, Message};

/// One packet.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct InTransit {
    /// Time at which its tail is at the end of its present link.
    pub tail: Time,
    pub message: MessageIndex,
    /// Place of its next channel among the paths.
    pub path: u32,
    /// Next channel of its path.
    pub wants: u32,
    /// Bytes on the wire.
    pub size: u32,
    /// The packet behind it in its queue.
    pub next: PacketIndex,
    pub number: PacketNumber,
    /// Begin of its wait where it is.
    pub ready: Time,
    /// Waits of its message before it left, and its own since.
    pub waits: Waits,
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Packets {
    pub all: Vec<InTransit>,
    free: Vec<PacketIndex>,
}

impl Packets {
    pub fn insert(
        &mut self,
        message: MessageIndex,
        number: PacketNumber,
        size: u32,
        path: u32,
        wants: u32,
    ) -> PacketIndex {
        let (tail, ready, waits) = (Time::ZERO, Time::ZERO, Waits::default());
        let packet =
            InTransit { tail, message, path, wants, size, next: PacketIndex::NONE, number, ready, waits };
        if let Some(index) = self.free.pop() {
            self.all[index.at()] = packet;
            return index;
        }
        self.all.push(packet);
        let index = PacketIndex(self.all.len() as u32 - 1);
        assert!(index.0 < NOTHING, "fewer than 2^30 packets are on their way");
        index
    }

    pub fn remove(&mut self, index: PacketIndex) {
        self.free.push(index);
    }

    /// Number of them.
    pub fn count(&self) -> usize {
        self.all.len() - self.free.len()
    }
}

impl Packet {
    /// A packet of `size` bytes on its `course`, next at `path`.
    pub(super) fn begin_packet(
        &mut self,
        message: MessageIndex,
        number: PacketNumber,
        size: u32,
        path: u32,
        course: u32,
    ) -> PacketIndex {
        let packet = self.packets.insert(message, number, size, path, self.paths.lane(path));
        if self.decisions > 0 {
            self.courses.resize(self.packets.all.len(), 0);
            self.courses[packet.at()] = course;
        }
        if self.faults.is_some() {
            self.set_way(packet, Way::default());
        }
        self.set_mark(packet, false);
        packet
    }

    /// `packet` has passed the pipeline of the router that it has reached by channel `lane`.
    pub(super) fn ready(&mut self, now: Time, packet: PacketIndex, lane: u32, queue: &mut Queue) {
        if self.faults.is_some() && self.is_lost_in_router(now, packet, lane, queue) {
            return;
        }
        if self.congestion.is_some() {
            self.count_in(packet);
        }
        self.line_up(now, packet, lane, queue);
        if self.recorder.is_some() {
            self.note_arrival(now, packet, lane);
        }
    }

    /// It takes its place in the queue of `lane`.
    fn line_up(&mut self, now: Time, packet: PacketIndex, lane: u32, queue: &mut Queue) {
        let state = &mut self.lanes[lane as usize];
        if state.front != PacketIndex::NONE {
            self.packets.all[state.back.at()].next = packet;
            state.back = packet;
            return;
        }
        (state.front, state.back) = (packet, packet);
        self.call_front(now, lane, queue);
    }

    /// The new first packet of `lane`, if there is one, asks for its next channel as soon as it can.
    #[inline]
    pub(super) fn call_front(&mut self, now: Time, lane: u32, queue: &mut Queue) {
        if self.lanes[lane as usize].front == PacketIndex::NONE {
            return;
        }
        let link = self.link_of(lane);
        let port = &mut self.ports[link as usize];
        if port.line_idle_at <= now {
            self.request(lane);
        } else if !port.line_told {
            port.line_told = true;
            let at = port.line_idle_at;
            queue.push(at, self.inner(), token(Step::Idle, NOTHING, link));
        }
    }

    /// The first packet of `lane` asks for its next channel: at the end of the instant, if it chooses one.
    #[inline]
    fn request(&mut self, lane: u32) {
        if self.decisions == 0 || !self.waits_to_decide(lane) {
            self.ask_onward(lane);
        }
    }

    /// The first packet of `lane` asks for the channel that is next on its way.
    #[inline]
    pub(super) fn ask_onward(&mut self, lane: u32) {
        if self.faults.is_some() && !self.can_go_on(lane) {
            return;
        }
        let state = &mut self.lanes[lane as usize];
        let link = link_of(self.channels, self.packets.all[state.front.at()].wants);
        state.next = std::mem::replace(&mut self.ports[link as usize].requests, lane);
        self.mark(link);
    }

    /// The output `output` may choose again, and the crossbar's line of link `line` is idle.
    pub(super) fn idle(&mut self, now: Time, output: u32, line: u32) {
        if output != NOTHING {
            let port = &mut self.ports[output as usize];
            if port.looks_at == now {
                port.looks_at = Time::NEVER;
            }
            if port.requests != NONE {
                self.mark(output);
            }
        }
        if line != NOTHING {
            self.ports[line as usize].line_told = false;
            for lane in line * self.channels..(line + 1) * self.channels {
                let state = &self.lanes[lane as usize];
                if state.front == PacketIndex::NONE {
                    continue;
                }
                if state.asks() {
                    let link = self.link_of(self.wants(state));
                    self.mark(link);
                } else {
                    self.request(lane);
                }
            }
        }
    }

    /// `packet` has left this part of the network, for a host or for another part. Says of how many
    /// packets of its message that has not happened.
    pub(super) fn let_go(&mut self, packet: PacketIndex) -> u64 {
        let InTransit { message, path, .. } = self.packets.all[packet.at()];
        if self.transfers.is_some() {
            self.drop_packet(packet);
            return 1;
        }
        self.packets.remove(packet);
        let slot = self.messages.get_mut(message);
        slot.missing -= 1;
        if self.route_each || slot.missing == 0 {
            self.paths.remove(path);
        }
        slot.missing
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
        let InTransit { message, number, mut waits, .. } = self.packets.all[packet.at()];
        let here = self.let_go(packet);
        let missing = self.missing_in_all(message, here);
        let slot = self.messages.get(message);
        let message_is = slot.message;
        let at = self.take_in_payload(now, &message_is, number, &mut waits);
        if missing > 0 {
            if here == 0 {
                self.messages.release(message);
            }
            return;
        }
        self.messages.get_mut(message).waits = waits;
        if at == now {
            self.deliver(message, arrivals);
        } else {
            queue.place(at, message_is.key, token(Step::Delivered, message.0, 0));
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
        let regime = self.alone.hosts.regimes[usize::from(message.regime)];
        let process = self.process_at(message.to, message.nic_pair().to);
        let mut at = now;
        if let Some(taken) = self.taken.get_mut(process.at()) {
            let payload = self.options.payload_of(message.size, u64::from(number.0));
            let transfer = regime.process_rate.transfer(payload);
            *taken = now.max(*taken + transfer);
            at = *taken;
            waits.add(Resource::NIC, at.since(now));
        }
        at + regime.latency
    }
}
