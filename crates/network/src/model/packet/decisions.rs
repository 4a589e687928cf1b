//! Choices on the way: packets that are first of their channel may change their way before they ask.
//!
//! They decide at the end of an instant, before the first allocation, channel after channel in ascending
//! order; each asks at once, so that the next one sees it. So nothing depends on the order of events.

use engine::Time;

use super::faults::FULL;
use super::index::PacketIndex;
use super::{NONE, Packet};
use crate::routing::around::trip_of_attempt;
use crate::routing::{Decision, Load, RoutingState};
use crate::topology::LinkId;

/// Load of outputs as a router sees it at an instant: bytes that wait for them here, and those for which the
/// buffers behind have no room now, on the wire or not. If buffers have no limit, the rest of the present transmission
/// stands for the latter.
struct Outputs<'a> {
    packet: &'a Packet,
    now: Time,
    /// Number of the first link of the packet's plane.
    plane: u32,
}

impl Load for Outputs<'_> {
    fn of(&self, link: LinkId) -> u64 {
        let link = LinkId(link.0 + self.plane);
        if self.packet.is_known_down(link.0) {
            return FULL;
        }
        self.waiting(link.0) + self.taken(link.0)
    }
}

impl Outputs<'_> {
    /// The bytes of the packets that ask for `link`.
    fn waiting(&self, link: u32) -> u64 {
        let Packet { ports, lanes, packets, .. } = self.packet;
        let (mut requester, mut bytes) = (ports[link as usize].requests, 0);
        while requester != NONE {
            // Processes ask for the links of hosts alone, about which nothing is decided.
            let lane = &lanes[requester as usize];
            bytes += u64::from(packets.all[lane.front.at()].size);
            requester = lane.next;
        }
        bytes
    }

    /// The bytes that the buffers behind `link` cannot take.
    fn taken(&self, link: u32) -> u64 {
        let Packet { ports, lanes, channels, credits, options, .. } = self.packet;
        let Some(buffer) = options.buffer else {
            let idle_at = ports[link as usize].idle_at;
            let rest = if idle_at > self.now { idle_at.since(self.now) } else { engine::Duration::ZERO };
            return self.packet.kind(link).sends_in(rest);
        };
        let lanes = &lanes[(link * channels) as usize..((link + 1) * channels) as usize];
        lanes.iter().map(|lane| buffer.0 - u64::from(credits.known(self.now, lane))).sum()
    }
}

impl Packet {
    /// True if the first packet of `lane` may still change its route, which it does at the end of the instant.
    pub(super) fn waits_to_decide(&mut self, lane: u32) -> bool {
        let front = self.lanes[lane as usize].front;
        if self.way(front).order > 0 {
            return false;
        }
        let packet = &self.packets.all[front.at()];
        let at_end = self.kind(self.link_of(packet.wants)).down;
        let waits = !at_end && self.paths.taken(packet.path) <= self.decisions;
        if waits {
            self.deciding.push(lane);
        }
        waits
    }

    /// The packets that may choose at this instant do so, and ask for their next links.
    pub(super) fn decide_all(&mut self, now: Time) {
        let mut deciding = std::mem::take(&mut self.deciding);
        deciding.sort_unstable();
        deciding.dedup();
        for lane in &deciding {
            let state = &self.lanes[*lane as usize];
            // Faults may have taken it, or have made it ask again.
            if state.front != PacketIndex::NONE && !state.asks() {
                self.decide(now, state.front);
                self.ask_onward(*lane);
            }
        }
        deciding.clear();
        self.deciding = deciding;
    }

    fn decide(&mut self, now: Time, packet: PacketIndex) {
        let (state, way) = (self.packets.all[packet.at()], self.way(packet));
        if way.order > 0 {
            return;
        }
        let slot = self.messages.get(state.message);
        let plane = self.alone.fabric.plane(slot.nics().from);
        let taken = self.paths.taken(state.path);
        let at = RoutingState {
            trip: trip_of_attempt(self.trip_of(state.message, state.number), way.attempt),
            course: self.courses[packet.at()],
            taken,
            links: self.paths.length(state.path),
            next: LinkId(self.link_of(state.wants) - plane),
        };
        let mut links = std::mem::take(&mut self.links);
        let fabric = &self.alone.fabric;
        let outputs = Outputs { packet: self, now, plane };
        let decision = fabric.routing.adapt(&*fabric.topology, &at, &outputs, &mut links);
        self.links = links;
        match decision {
            Decision::Stay => {}
            Decision::ParallelLink(link) => {
                let wants = (link.0 + plane) * self.channels + state.wants % self.channels;
                self.paths.set(state.path, wants);
                self.packets.all[packet.at()].wants = wants;
            }
            Decision::Course(_) if !self.is_open(&self.links[taken as usize..]) => {}
            Decision::Course(course) => {
                self.paths.remove(state.path);
                let path = self.keep_path(state.message) + taken;
                self.courses[packet.at()] = course;
                let wants = self.paths.lane(path);
                let state = &mut self.packets.all[packet.at()];
                (state.path, state.wants) = (path, wants);
            }
        }
    }
}
