//! Routes of packets: found when they set out, and changed on the way where a routing decides there.

mod paths;

use super::index::{ChannelIndex, Course, PacketIndex, PacketNumber, PathIndex};
use super::messages::Slot;
use super::packets::InTransit;
use super::switch::ChannelCount;
use crate::Fabric;
use crate::routing::{Decision, Load, RoutingState, Trip};
use crate::topology::LinkId;
use paths::Paths;

/// Paths of packets, and what they have decided.
#[derive(Debug)]
pub(super) struct Routes {
    paths: Paths,
    channel_count: ChannelCount,
    /// True if each packet finds its own route.
    route_each: bool,
    /// Number of routers, from its first on, at which a packet may change its route.
    decisions: u32,
    /// Course that each packet has decided on; empty where none does.
    courses: Vec<Course>,
    /// Channels whose first packets decide at the end of this instant.
    deciding: Vec<ChannelIndex>,
    /// Working memory: a route and its virtual channels.
    links: Vec<LinkId>,
    path_channels: Vec<u8>,
}

/// Outcome of a packet's decision.
#[derive(Debug, Clone, Copy)]
pub(super) enum Change {
    /// It stays on its path.
    Stay,
    /// It takes another channel next.
    Channel(ChannelIndex),
    /// It takes the rest of a course, the links of which are in [`Routes::links`].
    Course(Course),
}

impl Routes {
    /// No routes yet, on `fabric`. A packet finds its own if its routing is adaptive or `has_faults`.
    pub fn new(fabric: &Fabric, channel_count: ChannelCount, has_faults: bool) -> Routes {
        Routes {
            paths: Paths::default(),
            channel_count,
            route_each: fabric.routing.is_adaptive() || has_faults,
            decisions: fabric.routing.decisions(),
            courses: Vec::new(),
            deciding: Vec::new(),
            links: Vec::new(),
            path_channels: Vec::new(),
        }
    }

    /// True if each packet finds its own route, and gives it back when it has come.
    #[inline]
    pub fn each_packet(&self) -> bool {
        self.route_each
    }

    /// True if packets decide on their way.
    #[inline]
    pub fn has_decisions(&self) -> bool {
        self.decisions > 0
    }

    /// The channel at `place`.
    #[inline]
    pub fn channel(&self, place: PathIndex) -> ChannelIndex {
        self.paths.channel(place)
    }

    /// Asks for the channel at `place`, which will be needed soon.
    pub fn prefetch(&self, place: PathIndex) {
        self.paths.prefetch(place);
    }

    /// Replaces the channel at `place`.
    pub fn set(&mut self, place: PathIndex, channel: ChannelIndex) {
        self.paths.set(place, channel);
    }

    /// Place of the first channel of the path of `place`.
    pub fn first(&self, place: PathIndex) -> PathIndex {
        self.paths.first(place)
    }

    /// Number of channels of its path that stand before `place`.
    pub fn taken(&self, place: PathIndex) -> u32 {
        self.paths.taken(place)
    }

    /// Gives back the path that `place` is in, or just behind.
    pub fn remove(&mut self, place: PathIndex) {
        self.paths.remove(place);
    }

    /// Trip of packet `number` of `slot`.
    pub fn trip(&self, slot: &Slot, number: PacketNumber) -> Trip {
        let (from, to) = slot.ends();
        let number = if self.route_each { number.0 } else { 0 };
        Trip::new(from.host, to.host, u64::from(slot.id.0) << 32 | u64::from(number))
    }

    /// Puts the links of the routing's `course` of `trip` into [`Routes::links`].
    pub fn draw(&mut self, fabric: &Fabric, trip: Trip, course: Course) {
        self.links.clear();
        fabric.routing.course(&*fabric.topology, trip, course.0, &mut self.links);
    }

    /// Links that were drawn last.
    pub fn links(&self) -> &[LinkId] {
        &self.links
    }

    /// Keeps the path of the links that were drawn, for packets of `slot`, by its NICs and with its channels.
    pub fn keep(&mut self, fabric: &Fabric, slot: &Slot) -> PathIndex {
        let ((from, to), nics) = (slot.ends(), slot.nics());
        let (links, channels) = (&mut self.links, &mut self.path_channels);
        fabric.routing.channels(&*fabric.topology, links, channels);
        fabric.take_nics(nics, from.host, to.host, links);
        let count = self.channel_count;
        self.paths.insert(links.iter().zip(channels).map(|(link, number)| count.channel(*link, *number)))
    }

    /// Keeps a path of nothing but the link by which packets of `slot` leave their host.
    pub fn keep_first_link(&mut self, fabric: &Fabric, slot: &Slot) -> PathIndex {
        let up = fabric.topology.nic_up(slot.ends().0.host, slot.nics().from);
        self.paths.insert(std::iter::once(self.channel_count.channel(up, 0)))
    }

    /// The route that packet `number` of `slot` takes: the one of all, where they share one that is known.
    pub fn path_of(&mut self, fabric: &Fabric, slot: &Slot, number: PacketNumber) -> PathIndex {
        if slot.path != PathIndex::NONE && !self.route_each {
            return slot.path;
        }
        self.find(fabric, slot, number, Course(0))
    }

    /// The route of packet `number` of `slot` on its `course`.
    pub fn find(&mut self, fabric: &Fabric, slot: &Slot, number: PacketNumber, course: Course) -> PathIndex {
        let trip = self.trip(slot, number);
        self.draw(fabric, trip, course);
        self.keep(fabric, slot)
    }

    /// A packet begins on its `course`.
    #[inline]
    pub fn begin(&mut self, packet: PacketIndex, course: Course) {
        if self.decisions > 0 {
            if packet.at() >= self.courses.len() {
                self.courses.resize(packet.at() + 1, Course(0));
            }
            self.courses[packet.at()] = course;
        }
    }

    /// Course of a packet.
    pub fn course(&self, packet: PacketIndex) -> Course {
        self.courses.get(packet.at()).copied().unwrap_or_default()
    }

    /// Sets the course of a packet that has decided.
    pub fn set_course(&mut self, packet: PacketIndex, course: Course) {
        self.courses[packet.at()] = course;
    }

    /// True if a packet, which is first of `channel` and next at `place`, may still change its route: then it does so at the
    /// end of the instant.
    pub fn defer(&mut self, channel: ChannelIndex, place: PathIndex) -> bool {
        let waits = self.decisions == u32::MAX || self.paths.taken(place) <= self.decisions;
        if waits {
            self.deciding.push(channel);
        }
        waits
    }

    /// True if packets decide at the end of this instant.
    #[inline]
    pub fn are_deciding(&self) -> bool {
        !self.deciding.is_empty()
    }

    /// Takes the channels whose first packets decide, in ascending order; [`Routes::end_decisions`] takes the list back.
    pub fn begin_decisions(&mut self) -> Vec<ChannelIndex> {
        let mut deciding = std::mem::take(&mut self.deciding);
        deciding.sort_unstable();
        deciding.dedup();
        deciding
    }

    /// All have decided.
    pub fn end_decisions(&mut self, mut deciding: Vec<ChannelIndex>) {
        deciding.clear();
        self.deciding = deciding;
    }

    /// Decision of `packet`, which has this `index`, on its `trip`, by the `load` of outputs; `plane` is the number of the first link of its plane.
    pub fn decide(
        &mut self,
        fabric: &Fabric,
        trip: Trip,
        index: PacketIndex,
        packet: &InTransit,
        plane: LinkId,
        load: &dyn Load,
    ) -> Change {
        let (taken, links) = self.paths.position(packet.path);
        let at = RoutingState {
            trip,
            course: self.courses[index.at()].0,
            taken,
            links,
            next: LinkId(self.channel_count.link_of(packet.wants).0 - plane.0),
        };
        match fabric.routing.adapt(&*fabric.topology, &at, load, &mut self.links) {
            Decision::Stay => Change::Stay,
            Decision::ParallelLink(link) => {
                Change::Channel(self.channel_count.same_on(LinkId(link.0 + plane.0), packet.wants))
            }
            Decision::Course(course) => Change::Course(Course(course)),
        }
    }
}
