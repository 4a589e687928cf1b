//! Choices on the way: packets that are first of their channel may change their way before they ask.
//!
//! They decide at the end of an instant, before the first allocation, channel after channel in ascending
//! order; each asks at once, so that the next one sees it. So nothing depends on the order of events.

use engine::Time;

use super::Packet;
use super::index::{ChannelIndex, PacketIndex, PathIndex};
use super::packets::Packets;
use super::rerouting::{FULL, Rerouting};
use super::routes::Change;
use super::switch::Switch;
use crate::routing::Load;
use crate::routing::around::trip_of_attempt;
use crate::topology::LinkId;

/// Load of outputs as a router sees it at an instant: bytes that wait for them here, and those for which the
/// buffers behind have no room now, on the wire or not. If buffers have no limit, the rest of the present transmission
/// stands for the latter.
struct Outputs<'a> {
    switch: &'a Switch,
    packets: &'a Packets,
    rerouting: Option<&'a Rerouting>,
    now: Time,
    /// First link of the packet's plane.
    plane: LinkId,
}

impl Load for Outputs<'_> {
    fn of(&self, link: LinkId) -> u64 {
        let link = LinkId(link.0 + self.plane.0);
        if self.rerouting.is_some_and(|rerouting| rerouting.is_known_down(link)) {
            return FULL;
        }
        self.switch.waiting(self.now, link, self.packets).0 + self.switch.taken(self.now, link).0
    }
}

impl Packet {
    /// True if the first packet of `channel` may still change its route, which it does at the end of the instant.
    pub(super) fn waits_to_decide(&mut self, channel: ChannelIndex) -> bool {
        let Some(front) = self.switch.front(channel) else { return false };
        if self.way(front).order > 0 {
            return false;
        }
        let packet = &self.packets[front];
        let is_at_end = self.switch.kind(self.switch.link_of(packet.wants)).down;
        !is_at_end && self.routes.defer(channel, packet.path)
    }

    /// The packets that may choose at this instant do so, and ask for their next links.
    pub(super) fn decide_all(&mut self, now: Time) {
        let deciding = self.routes.begin_decisions();
        for channel in &deciding {
            // Faults may have taken it, or have made it ask again.
            if let Some(front) = self.switch.front(*channel)
                && !self.switch.asks(*channel)
            {
                self.decide(now, front);
                self.ask_onward(*channel);
            }
        }
        self.routes.end_decisions(deciding);
    }

    fn decide(&mut self, now: Time, packet: PacketIndex) {
        let (state, way) = (self.packets[packet], self.way(packet));
        if way.order > 0 {
            return;
        }
        let (slot, fabric) = (self.messages.get(state.message), &*self.alone.fabric);
        let plane = LinkId(fabric.plane(slot.nics().from));
        let trip = trip_of_attempt(self.routes.trip(slot, state.number), way.attempt);
        let outputs = Outputs {
            switch: &self.switch,
            packets: &self.packets,
            rerouting: self.rerouting.as_deref(),
            now,
            plane,
        };
        match self.routes.decide(fabric, trip, packet, &state, plane, &outputs) {
            Change::Stay => {}
            Change::Channel(wants) => {
                self.routes.set(state.path, wants);
                self.packets[packet].wants = wants;
            }
            Change::Course(course) => {
                let taken = self.routes.taken(state.path);
                if !self.is_open(&self.routes.links()[taken as usize..]) {
                    return;
                }
                self.routes.remove(state.path);
                let first = self.routes.keep(fabric, slot);
                self.routes.set_course(packet, course);
                let path = PathIndex(first.0 + taken);
                let state = &mut self.packets[packet];
                (state.path, state.wants) = (path, self.routes.channel(path));
            }
        }
    }

    /// True if all of `links` are in service, as far as is known.
    fn is_open(&self, links: &[LinkId]) -> bool {
        self.rerouting.as_ref().is_none_or(|rerouting| rerouting.is_open(links))
    }
}
