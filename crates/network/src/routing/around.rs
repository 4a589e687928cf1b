//! Around faults: any routing on a network whose links and routers fail and return.
//!
//! A packet's way is drawn when it leaves its NIC, by what is known to have failed then:
//!
//! 1. the routing's own, if all of it is in service; for a link that is not, a parallel one will do;
//! 2. else another way that the routing might have drawn for this packet (another path up, another router or
//!    group in between): of [`TRIES`] further draws, the first that is in service;
//! 3. else a shortest way up*/down* through what is left ([`super::escape`]), in a virtual channel that only
//!    such packets use.
//!
//! At every router a packet takes a parallel link where its next one has failed; a packet without any is
//! dropped there, and its source sends it again. Adaptive routings see failed links as full ones, and
//! change to no way on which something has failed.
//!
//! Free of deadlock: 1 and 2 are ways that the routing itself may give, on the routing's channels, whose
//! dependencies have no cycles; a parallel link between the same routers is on the same channel, which stands
//! in the same place of that order. Packets of 3 stay on their own channel until they are at their host, where
//! they never block anybody, and no other packet waits for that channel; within it up*/down* has no cycles.
//!
//! Source: Schroeder et al., "Autonet: a high-speed, self-configuring local area network using
//! point-to-point links" (IEEE JSAC 9(8), 1991); Duato, "A new theory of deadlock-free adaptive routing in
//! wormhole networks" (IEEE TPDS 4(12), 1993) for channels to escape on, of which this is the simple case
//! without a way back.

use std::sync::Arc;

use super::{Decision, Load, Routing, RoutingState, Trip, Visibility};
use crate::faults::{Elements, Faults};
use crate::topology::Idle;
use crate::topology::{HostId, LinkId, Node, Topology};

/// Number of other ways of the routing that are tried.
pub const TRIES: u8 = 7;

/// The same trip with the random choices of draw number `attempt`; 0 is the routing's own.
pub fn trip_of_attempt(trip: Trip, attempt: u8) -> Trip {
    Trip { key: trip.key ^ u64::from(attempt) << 56, ..trip }
}

/// A routing on a network in which something may fail.
pub struct Around {
    inner: Box<dyn Routing>,
    elements: Arc<Elements>,
    arcs: Arc<Arcs>,
}

impl Around {
    /// Around the `faults` of `topology`, where `inner` knows none.
    pub fn new(inner: Box<dyn Routing>, topology: &dyn Topology, faults: Faults) -> Around {
        let elements = Arc::new(Elements::new(topology, faults));
        Around { inner, elements, arcs: Arc::new(Arcs::new(topology)) }
    }

    /// Elements that can fail.
    pub fn elements(&self) -> &Arc<Elements> {
        &self.elements
    }

    /// Neighbours of all routers.
    pub fn arcs(&self) -> &Arc<Arcs> {
        &self.arcs
    }

    /// The virtual channel that only ways of the third kind use.
    pub fn channel(&self) -> u8 {
        self.inner.channel_count()
    }
}

impl Routing for Around {
    fn route(&self, topology: &dyn Topology, trip: Trip, load: &dyn Load, path: &mut Vec<LinkId>) {
        self.inner.route(topology, trip, load, path);
    }
    fn channels(&self, topology: &dyn Topology, path: &[LinkId], channels: &mut Vec<u8>) {
        self.inner.channels(topology, path, channels);
    }
    fn channel_count(&self) -> u8 {
        self.inner.channel_count() + 1
    }
    fn longest(&self, topology: &dyn Topology) -> u32 {
        self.inner.longest(topology)
    }
    fn is_adaptive(&self) -> bool {
        self.inner.is_adaptive()
    }
    fn decisions(&self) -> u32 {
        self.inner.decisions()
    }
    fn visibility(&self) -> Visibility {
        self.inner.visibility()
    }
    fn adapt(
        &self,
        topology: &dyn Topology,
        state: &RoutingState,
        load: &dyn Load,
        path: &mut Vec<LinkId>,
    ) -> Decision {
        self.inner.adapt(topology, state, load, path)
    }
    fn course(&self, topology: &dyn Topology, trip: Trip, course: u32, path: &mut Vec<LinkId>) {
        self.inner.course(topology, trip, course, path);
    }
    fn idle(&self, topology: &dyn Topology, from: HostId, to: HostId) -> Idle {
        self.inner.idle(topology, from, to)
    }
    fn around(&self) -> Option<&Around> {
        Some(self)
    }
}

/// Arcs from router to router: parallel links are one arc.
#[derive(Debug)]
pub struct Arcs {
    /// End of each arc.
    to: Vec<u32>,
    /// Arc back of each arc; [`NO_ARC`] without one.
    back: Vec<u32>,
    /// The links of each arc, one list behind the other, and where each begins.
    links: Vec<LinkId>,
    first_link: Vec<u32>,
    /// By router, where its arcs begin.
    first: Vec<u32>,
    /// By link; [`NO_ARC`] of a host's.
    of_link: Vec<u32>,
}

/// None.
pub const NO_ARC: u32 = u32::MAX;

impl Arcs {
    /// Arcs between all routers of `topology`.
    pub fn new(topology: &dyn Topology) -> Arcs {
        let mut all: Vec<(u32, u32, LinkId)> = Vec::new();
        for id in (2 * topology.hosts()..topology.links()).map(LinkId) {
            let link = topology.link(id);
            if let (Node::Router(from), Node::Router(to)) = (link.from, link.to) {
                all.push((from.0, to.0, id));
            }
        }
        all.sort_unstable();
        let routers = topology.routers() as usize;
        let (mut ends, mut first_link, mut first) = (Vec::new(), Vec::new(), vec![0; routers + 1]);
        let mut of_link = vec![NO_ARC; topology.links() as usize];
        for (place, (from, to, link)) in all.iter().enumerate() {
            if ends.last() != Some(&(*from, *to)) {
                ends.push((*from, *to));
                first_link.push(place as u32);
            }
            first[*from as usize + 1] = ends.len() as u32;
            of_link[link.0 as usize] = ends.len() as u32 - 1;
        }
        first_link.push(all.len() as u32);
        (1..first.len()).for_each(|router| first[router] = first[router].max(first[router - 1]));
        let back =
            |(from, to): &(u32, u32)| ends.binary_search(&(*to, *from)).map_or(NO_ARC, |arc| arc as u32);
        Arcs {
            back: ends.iter().map(back).collect(),
            to: ends.iter().map(|(_, to)| *to).collect(),
            links: all.into_iter().map(|(.., link)| link).collect(),
            first_link,
            first,
            of_link,
        }
    }

    /// Number of routers.
    pub fn routers(&self) -> u32 {
        self.first.len() as u32 - 1
    }
    /// Number of arcs.
    pub fn count(&self) -> u32 {
        self.to.len() as u32
    }
    /// The arcs that leave `router`.
    pub fn leaving(&self, router: u32) -> std::ops::Range<u32> {
        self.first[router as usize]..self.first[router as usize + 1]
    }
    /// The router at the end of `arc`.
    pub fn end(&self, arc: u32) -> u32 {
        self.to[arc as usize]
    }
    /// The arc back, if there is one.
    pub fn back(&self, arc: u32) -> Option<u32> {
        Some(self.back[arc as usize]).filter(|back| *back != NO_ARC)
    }
    /// The links of `arc`.
    pub fn links(&self, arc: u32) -> &[LinkId] {
        let arc = arc as usize;
        &self.links[self.first_link[arc] as usize..self.first_link[arc + 1] as usize]
    }
    /// The arc of a link between routers.
    pub fn of(&self, link: LinkId) -> Option<u32> {
        Some(self.of_link[link.0 as usize]).filter(|arc| *arc != NO_ARC)
    }
}
