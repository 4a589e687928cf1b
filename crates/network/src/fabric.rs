//! A topology with the routing that was chosen for it: what a network model sees of the network.

use crate::message::NicPair;
use crate::routing::{Load, Routing, Trip, Visibility};
use crate::topology::{HostId, Idle, LinkId, Topology};

/// A network that messages can be routed over.
pub struct Fabric {
    /// Hosts, routers and links.
    pub topology: Box<dyn Topology>,
    /// The way through them.
    pub routing: Box<dyn Routing>,
}

/// Load of the links of a plane, under their numbers in the first.
struct InPlane<'a> {
    load: &'a dyn Load,
    offset: u32,
}

impl Load for InPlane<'_> {
    fn of(&self, link: LinkId) -> u64 {
        self.load.of(LinkId(link.0 + self.offset))
    }
}

impl Fabric {
    /// Writes the links of `trip`, those of the first NICs included, into `path`.
    ///
    /// Random routings draw from the stream that the trip names, so a route does not depend on anything else.
    pub fn route(&self, trip: Trip, load: &dyn Load, path: &mut Vec<LinkId>) {
        path.clear();
        self.routing.route(&*self.topology, trip, load, path);
    }

    /// The same for a message that takes `nics`, by the load in their plane.
    pub fn route_by(&self, nics: NicPair, trip: Trip, load: &dyn Load, path: &mut Vec<LinkId>) {
        match self.plane(nics.from) {
            0 => self.route(trip, load, path),
            offset => self.route(trip, &InPlane { load, offset }, path),
        }
        self.take_nics(nics, trip.from, trip.to, path);
    }

    /// Offset of the numbers of links in the plane of `nic` from those in the first.
    #[inline]
    pub fn plane(&self, nic: u8) -> u32 {
        if nic == 0 {
            return 0;
        }
        let planes = self.topology.planes();
        if planes == 1 { 0 } else { self.topology.links() / planes * u32::from(nic) }
    }

    /// Lets `path`, a route from `from` to `to`, begin and end at these NICs.
    pub fn take_nics(&self, nics: NicPair, from: HostId, to: HostId, path: &mut [LinkId]) {
        if nics == NicPair::FIRST {
            return;
        }
        let offset = self.plane(nics.from);
        if offset > 0 {
            return path.iter_mut().for_each(|link| link.0 += offset);
        }
        let [first, .., last] = path else { panic!("a route has the links of both hosts: {path:?}") };
        *first = self.topology.nic_up(from, nics.from);
        *last = self.topology.nic_down(to, nics.to);
    }

    /// Into how many parts a model that simulates routers can cut it, or why into none: adaptive routings
    /// read queues, and no part knows those of another.
    pub fn most_parts(&self) -> Result<u32, &'static str> {
        match self.routing.visibility() {
            Visibility::Router => Ok(u32::MAX),
            Visibility::Group => Ok(self.topology.routers() / self.topology.planes() / self.topology.unit()),
            Visibility::Network => Err("its routing reads the queues of all routers at once"),
        }
    }

    /// Latency and bandwidth of the idle path from `from` to `to`.
    ///
    /// Closed forms of regular topologies answer without walking the path.
    pub fn idle(&self, from: HostId, to: HostId) -> Idle {
        self.routing.idle(&*self.topology, from, to)
    }
}
