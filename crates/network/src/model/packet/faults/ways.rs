//! Ways around what has failed, and messages that wait for one.

use std::collections::BTreeSet;

use engine::{Queue, Time};

use super::super::Packet;
use super::super::index::{MessageIndex, PacketIndex, PacketNumber, SenderIndex};
use super::super::transfer::{Kind, Role};
use super::super::transit::InTransit;
use super::{Waiting, Way};
use crate::Fabric;
use crate::faults::CutOff;
use crate::routing::Trip;
use crate::routing::around::{TRIES, trip_of_attempt};
use crate::topology::{HostId, LinkId};

impl Packet {
    /// The first packet of `lane` is about to ask. If nothing known is in its way, or something else will do,
    /// it can; else it is stranded.
    pub(in super::super) fn can_go_on(&mut self, lane: u32) -> bool {
        let packet = self.lanes[lane as usize].front;
        let state = self.packets.all[packet.at()];
        let topology = &*self.alone.fabric.topology;
        let faults = self.faults.as_mut().expect("only where something may fail");
        let Way { order, .. } = faults.ways[packet.at()];
        let next = if order == 0 {
            let parallel = faults.known.parallel(LinkId(state.wants / self.channels));
            parallel.map(|link| link.0 * self.channels + state.wants % self.channels)
        } else if order == faults.known.order() {
            let slot = self.messages.get(state.message);
            let (to, nic) = (slot.ends().1.host, slot.nics().to);
            let key = u64::from(slot.id) << 32 | u64::from(state.number.0);
            let last = LinkId(lane / self.channels);
            let next = faults.known.next_link(topology, last, to, key);
            next.map(|link| match link == topology.down(to) {
                true => topology.nic_down(to, nic).0 * self.channels,
                false => link.0 * self.channels + self.channels - 1,
            })
        } else {
            None
        };
        let Some(wants) = next else {
            faults.stranded.push((lane, packet));
            return false;
        };
        // The way of a packet that goes around is its next link.
        let place = if order > 0 { state.path - self.paths.taken(state.path) } else { state.path };
        self.paths.set(place, wants);
        let state = &mut self.packets.all[packet.at()];
        (state.path, state.wants) = (place, wants);
        true
    }

    /// `packet` leaves its NIC: its way is drawn by what is known now.
    pub(in super::super) fn set_out(&mut self, packet: PacketIndex) {
        let InTransit { message, number, path, .. } = self.packets.all[packet.at()];
        let way = self.draw(message, number);
        self.paths.remove(path);
        let path = self.find_way(message, number, 0, way);
        let wants = self.paths.lane(path);
        let state = &mut self.packets.all[packet.at()];
        (state.path, state.wants) = (path, wants);
        self.set_way(packet, way);
        if way != Way::default() {
            let slot = self.messages.get_mut(message);
            let first = !std::mem::replace(&mut slot.rerouted, true);
            let brings = matches!(slot.role, Role::Request(Kind::Put | Kind::Get));
            let losses = &mut self.transfers.as_mut().expect("messages go by transfers").losses;
            losses.rerouted += 1;
            losses.rerouted_messages += u64::from(first && brings);
        }
    }

    /// Notes how `packet` goes.
    pub(in super::super) fn set_way(&mut self, packet: PacketIndex, way: Way) {
        let faults = self.faults.as_mut().expect("only where something may fail");
        if packet.at() >= faults.ways.len() {
            faults.ways.resize(packet.at() + 1, Way::default());
        }
        faults.ways[packet.at()] = way;
    }

    /// Way of packet `number` of `message`, see [`crate::routing::around`]. A packet without any way goes as if
    /// nothing had failed, until it is dropped.
    fn draw(&mut self, message: MessageIndex, number: PacketNumber) -> Way {
        let attempts = if self.alone.fabric.routing.is_adaptive() { 0..=TRIES } else { 0..=0 };
        for attempt in attempts {
            let way = Way { attempt, order: 0 };
            self.draw_links(message, number, 0, attempt);
            if self.is_open(&self.links) {
                return way;
            }
        }
        let (from, to) = self.messages.get(message).ends();
        let faults = self.faults.as_ref().expect("only where something may fail");
        if faults.known.joins(&*self.alone.fabric.topology, from.host, to.host) {
            return Way { attempt: 0, order: faults.known.order() };
        }
        Way::default()
    }

    /// Place among the paths of the path of a packet on its `way`.
    pub(in super::super) fn find_way(
        &mut self,
        message: MessageIndex,
        number: PacketNumber,
        course: u32,
        way: Way,
    ) -> u32 {
        if way.order > 0 {
            let slot = self.messages.get(message);
            let up = self.alone.fabric.topology.nic_up(slot.ends().0.host, slot.nics().from);
            return self.paths.insert(std::iter::once(up.0 * self.channels));
        }
        self.draw_links(message, number, course, way.attempt);
        self.keep_path(message)
    }

    /// Puts the links of the routing's draw number `attempt` into [`Packet::links`].
    fn draw_links(&mut self, message: MessageIndex, number: PacketNumber, course: u32, attempt: u8) {
        let trip = trip_of_attempt(self.trip_of(message, number), attempt);
        let Fabric { topology, routing } = &*self.alone.fabric;
        self.links.clear();
        routing.course(&**topology, trip, course, &mut self.links);
    }

    /// The first messages of `process` to where no way leads wait for one. Is there another?
    pub(in super::super) fn has_message(&mut self, now: Time, process: SenderIndex) -> bool {
        loop {
            let message = self.senders[process].message();
            if message == MessageIndex::NONE || self.has_way(message) {
                return message != MessageIndex::NONE;
            }
            self.take_first(now, process);
            self.wait_anew(now, Waiting::Message { process, message });
        }
    }

    /// The next packet of `process` is ready, and asks for its link.
    pub(in super::super) fn filled(&mut self, now: Time, process: SenderIndex, queue: &mut Queue) {
        self.watch(queue);
        let front = self.senders[process].message();
        if self.has_way(front) {
            let link = self.request_injection(now, process);
            self.mark(link);
        } else if let Some(link) = self.fill(now, process, queue) {
            self.mark(link);
        }
    }

    /// True if packet `number` of `message`, which is due to be sent again, waits for a way.
    pub(in super::super) fn waits_for_way(
        &mut self,
        now: Time,
        message: MessageIndex,
        number: PacketNumber,
    ) -> bool {
        let waits = !self.has_way(message);
        if waits {
            self.wait_anew(now, Waiting::Again { message, number });
        }
        waits
    }

    /// Drops the response in the slot `message` if no way leads to its host; says so.
    pub(in super::super) fn drops_response(&mut self, message: MessageIndex) -> bool {
        if self.has_way(message) {
            return false;
        }
        let losses = &mut self.transfers.as_mut().expect("messages go by transfers").losses;
        losses.lost += 1;
        losses.broken += 1;
        self.messages.get_mut(message).holds = 1;
        self.release(message);
        true
    }

    /// No way leads to where something wants to go.
    pub(super) fn wait_anew(&mut self, now: Time, waiting: Waiting) {
        self.wait(now, waiting);
        self.transfers.as_mut().expect("messages go by transfers").losses.waited += 1;
    }

    /// Something waits for a way, `since` then.
    fn wait(&mut self, since: Time, waiting: Waiting) {
        let (from, to) = self.messages.get(waiting.message()).ends();
        let faults = self.faults.as_mut().expect("only where something may fail");
        let hope = faults.known.will_join(&*self.alone.fabric.topology, from.host, to.host);
        faults.waiting.push((since, waiting, hope));
    }

    /// True if packets of `message` find a way to their host, and answers one back: around, or by routes that
    /// are always the same.
    fn has_way(&mut self, message: MessageIndex) -> bool {
        let (from, to) = self.messages.get(message).ends();
        let Fabric { topology, routing } = &*self.alone.fabric;
        let known = &self.faults.as_ref().expect("only where something may fail").known;
        if known.joins(&**topology, from.host, to.host) {
            return true;
        }
        if routing.is_adaptive() {
            return false;
        }
        [(from, to), (to, from)].into_iter().all(|(from, to)| {
            self.links.clear();
            routing.course(&**topology, Trip::new(from.host, to.host, 0), 0, &mut self.links);
            known.is_open(&self.links)
        })
    }

    /// Pairs of hosts that cannot reach each other, where something waits for that.
    pub(in super::super) fn waits_in_vain(&self) -> Vec<CutOff> {
        let waiting = self.faults.iter().flat_map(|faults| &faults.waiting);
        let cut_off = waiting.map(|(since, waiting, _)| {
            let (from, to) = self.messages.get(waiting.message()).ends();
            (from.host, to.host, *since)
        });
        let all: BTreeSet<(HostId, HostId, Time)> = cut_off.collect();
        all.into_iter().map(|(from, to, since)| CutOff { from, to, since }).collect()
    }

    /// Is `link` known to be down?
    pub(in super::super) fn is_known_down(&self, link: u32) -> bool {
        self.faults.as_ref().is_some_and(|faults| faults.known.is_down(LinkId(link)))
    }

    /// Are all of `links` in service, as far as is known?
    pub(in super::super) fn is_open(&self, links: &[LinkId]) -> bool {
        self.faults.as_ref().is_none_or(|faults| faults.known.is_open(links))
    }

    /// Way of `packet`.
    pub(in super::super) fn way(&self, packet: PacketIndex) -> Way {
        self.faults.as_ref().map_or(Way::default(), |faults| faults.ways[packet.at()])
    }

    /// Sends everything that waited for a way and now has one.
    pub(super) fn try_again(&mut self, now: Time, queue: &mut Queue) {
        for (since, waiting, _) in std::mem::take(&mut self.fault().waiting) {
            if !self.has_way(waiting.message()) {
                self.wait(since, waiting);
                continue;
            }
            match waiting {
                Waiting::Message { process, message } => self.line_up_message(now, process, message, queue),
                Waiting::Again { message, number } => self.send_again(now, message, number),
            }
        }
    }
}
