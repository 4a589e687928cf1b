//! Ways around what has failed, and messages that wait for one (see [`super::rerouting`]).

use std::collections::BTreeSet;

use engine::{Queue, Time};

use super::Packet;
use super::index::{ChannelIndex, Course, MessageIndex, PacketIndex, PacketNumber, PathIndex, SenderIndex};
use super::packets::InTransit;
use super::rerouting::{Waiting, Way};
use super::transfers::{RdmaOp, Role};
use crate::faults::CutOff;
use crate::routing::Trip;
use crate::routing::around::{TRIES, trip_of_attempt};
use crate::topology::HostId;

impl Packet {
    /// The first packet of `channel` is about to ask. If nothing known is in its way, or something else will do,
    /// it can; else it is stranded.
    pub(super) fn can_go_on(&mut self, channel: ChannelIndex) -> bool {
        let Some(packet) = self.switch.front(channel) else { return false };
        let state = &mut self.packets[packet];
        let (topology, slot) = (&*self.alone.fabric.topology, self.messages.get(state.message));
        let rerouting = self.rerouting.as_mut().expect("only where something may fail");
        let (way, channels) = (rerouting.way(packet), self.switch.channel_count());
        let Some(wants) = rerouting.onward(topology, channels, way, channel, state, slot) else {
            rerouting.strand(channel, packet);
            return false;
        };
        // The way of a packet that goes around is its next link.
        let place = if way.order > 0 { self.routes.first(state.path) } else { state.path };
        self.routes.set(place, wants);
        (state.path, state.wants) = (place, wants);
        if self.switch.marks_packets() && way.order > 0 {
            self.switch.count_in(packet, &self.packets[packet]);
        }
        true
    }

    /// `packet` leaves its NIC: its way is drawn by what is known now.
    pub(super) fn set_out(&mut self, packet: PacketIndex) {
        let InTransit { message, number, path, .. } = self.packets[packet];
        let way = self.draw(message, number);
        self.routes.remove(path);
        let path = self.find_way(message, number, Course(0), way);
        let state = &mut self.packets[packet];
        (state.path, state.wants) = (path, self.routes.channel(path));
        self.rerouting().set_way(packet, way);
        if way != Way::default() {
            let slot = self.messages.get_mut(message);
            let is_first = !std::mem::replace(&mut slot.transfer.rerouted, true);
            let brings = matches!(slot.transfer.role, Role::Request(RdmaOp::Put | RdmaOp::Get));
            self.transfers().count(|losses| {
                losses.rerouted += 1;
                losses.rerouted_messages += u64::from(is_first && brings);
            });
        }
    }

    /// Way of packet `number` of `message`, see [`crate::routing::around`]. A packet without any way goes as if
    /// nothing had failed, until it is dropped.
    fn draw(&mut self, message: MessageIndex, number: PacketNumber) -> Way {
        let attempts = if self.alone.fabric.routing.is_adaptive() { 0..=TRIES } else { 0..=0 };
        for attempt in attempts {
            self.draw_links(message, number, Course(0), attempt);
            let rerouting = self.rerouting.as_ref().expect("only where something may fail");
            if rerouting.is_open(self.routes.links()) {
                return Way { attempt, order: 0 };
            }
        }
        let (from, to) = self.messages.get(message).ends();
        let rerouting = self.rerouting.as_ref().expect("only where something may fail");
        if rerouting.joins(&*self.alone.fabric.topology, from.host, to.host) {
            return Way { attempt: 0, order: rerouting.order() };
        }
        Way::default()
    }

    /// Path of packet `number` of `message` on its `way`.
    pub(super) fn find_way(
        &mut self,
        message: MessageIndex,
        number: PacketNumber,
        course: Course,
        way: Way,
    ) -> PathIndex {
        if way.order > 0 {
            return self.routes.keep_first_link(&self.alone.fabric, self.messages.get(message));
        }
        self.draw_links(message, number, course, way.attempt);
        self.routes.keep(&self.alone.fabric, self.messages.get(message))
    }

    /// Draws the links of the routing's draw number `attempt`.
    fn draw_links(&mut self, message: MessageIndex, number: PacketNumber, course: Course, attempt: u8) {
        let trip = trip_of_attempt(self.routes.trip(self.messages.get(message), number), attempt);
        self.routes.draw(&self.alone.fabric, trip, course);
    }

    /// The first messages of `process` to where no way leads wait for one. True if there is another.
    pub(super) fn has_message(&mut self, now: Time, process: SenderIndex) -> bool {
        loop {
            let message = self.host_interface.front(process);
            if message == MessageIndex::NONE || self.has_way(message) {
                return message != MessageIndex::NONE;
            }
            self.host_interface.take_first(now, process, &mut self.messages, &self.format);
            self.wait_anew(now, Waiting::Message { process, message });
        }
    }

    /// True if packet `number` of `message`, which is due to be sent again, waits for a way.
    pub(super) fn waits_for_way(&mut self, now: Time, message: MessageIndex, number: PacketNumber) -> bool {
        let waits = !self.has_way(message);
        if waits {
            self.wait_anew(now, Waiting::Again { message, number });
        }
        waits
    }

    /// Drops the response in the slot `message` if no way leads to its host; says so.
    pub(super) fn drops_response(&mut self, message: MessageIndex) -> bool {
        if self.has_way(message) {
            return false;
        }
        self.transfers().count(|losses| {
            losses.lost += 1;
            losses.broken += 1;
        });
        self.messages.get_mut(message).holds = 1;
        self.release(message);
        true
    }

    /// No way leads to where something wants to go.
    pub(super) fn wait_anew(&mut self, now: Time, waiting: Waiting) {
        self.wait(now, waiting);
        self.transfers().count(|losses| losses.waited += 1);
    }

    /// Something waits for a way, `since` then.
    fn wait(&mut self, since: Time, waiting: Waiting) {
        let (from, to) = self.messages.get(waiting.message()).ends();
        let rerouting = self.rerouting.as_mut().expect("only where something may fail");
        rerouting.wait(since, waiting, &*self.alone.fabric.topology, from.host, to.host);
    }

    /// True if packets of `message` find a way to their host, and answers one back: around, or by routes that
    /// are always the same.
    pub(super) fn has_way(&mut self, message: MessageIndex) -> bool {
        let (from, to) = self.messages.get(message).ends();
        let fabric = &*self.alone.fabric;
        let rerouting = self.rerouting.as_ref().expect("only where something may fail");
        if rerouting.joins(&*fabric.topology, from.host, to.host) {
            return true;
        }
        if fabric.routing.is_adaptive() {
            return false;
        }
        [(from, to), (to, from)].into_iter().all(|(from, to)| {
            self.routes.draw(fabric, Trip::new(from.host, to.host, 0), Course(0));
            rerouting.is_open(self.routes.links())
        })
    }

    /// Pairs of hosts that cannot reach each other, where something waits for that.
    pub fn cut_off(&self) -> Vec<CutOff> {
        let waits = self.rerouting.iter().flat_map(|rerouting| rerouting.waits());
        let cut_off = waits.map(|wait| {
            let (from, to) = self.messages.get(wait.waiting.message()).ends();
            (from.host, to.host, wait.since)
        });
        let all: BTreeSet<(HostId, HostId, Time)> = cut_off.collect();
        all.into_iter().map(|(from, to, since)| CutOff { from, to, since }).collect()
    }

    /// Way of `packet`.
    #[inline]
    pub(super) fn way(&self, packet: PacketIndex) -> Way {
        self.rerouting.as_ref().map_or(Way::default(), |rerouting| rerouting.way(packet))
    }

    /// Sends everything that waited for a way and now has one.
    pub(super) fn try_again(&mut self, now: Time, queue: &mut Queue) {
        for wait in self.rerouting().take_waits() {
            if !self.has_way(wait.waiting.message()) {
                self.wait(wait.since, wait.waiting);
                continue;
            }
            match wait.waiting {
                Waiting::Message { process, message } => self.line_up_message(now, process, message, queue),
                Waiting::Again { message, number } => self.send_again(now, message, number),
            }
        }
    }
}
