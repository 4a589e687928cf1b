//! Bytes by what they pass: links, routers and NICs.
//!
//! Models that know the load of links report it, with headers, handshakes and what was sent again. For the others each
//! delivered message is taken along the route of the idle network, with its headers.

use std::sync::Arc;

use engine::{Observer, Time};
use mpi::Record;
use network::routing::{Trip, Unloaded};
use network::{Endpoint, Fabric, HostParameters, LinkId, Network, NetworkRecord, Node};
use serde::{Deserialize, Serialize};

/// Bytes on the wire, once for each link, router and NIC that they pass.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    /// Through links \[bytes\].
    pub links: u128,
    /// Through routers \[bytes\].
    pub routers: u128,
    /// Through NICs \[bytes\].
    pub nics: u128,
}

impl Moved {
    /// Adds `bytes` that have passed `link`, and the router or NIC behind it; a NIC before it, too.
    pub fn add(&mut self, fabric: &Fabric, link: LinkId, bytes: u64) {
        let (link, bytes) = (fabric.topology.link(link), u128::from(bytes));
        self.links += bytes;
        match link.to {
            Node::Router(_) => self.routers += bytes,
            Node::Host(_) => self.nics += bytes,
        }
        if let Node::Host(_) = link.from {
            self.nics += bytes;
        }
    }

    fn and(self, other: Moved) -> Moved {
        Moved {
            links: self.links + other.links,
            routers: self.routers + other.routers,
            nics: self.nics + other.nics,
        }
    }
}

/// Counts the bytes of delivered messages along their routes.
pub struct RouteBytes {
    fabric: Arc<Fabric>,
    hosts: Arc<HostParameters>,
    placement: Arc<[Endpoint]>,
    path: Vec<LinkId>,
    moved: Moved,
}

impl RouteBytes {
    /// Counts messages of ranks in these places.
    pub fn new(fabric: Arc<Fabric>, hosts: Arc<HostParameters>, placement: Arc<[Endpoint]>) -> RouteBytes {
        RouteBytes { fabric, hosts, placement, path: Vec::new(), moved: Moved::default() }
    }

    /// Bytes so far.
    pub fn moved(&self) -> Moved {
        self.moved
    }

    /// Replaces the count by one that another process has saved.
    pub fn with(&self, moved: Moved) -> RouteBytes {
        let (fabric, hosts) = (self.fabric.clone(), self.hosts.clone());
        RouteBytes { moved, ..RouteBytes::new(fabric, hosts, self.placement.clone()) }
    }

    /// Adds the count of another domain.
    pub fn absorb(&mut self, other: &RouteBytes) {
        self.moved = self.moved.and(other.moved);
    }
}

impl Observer<Record> for RouteBytes {
    fn record(&mut self, _now: Time, record: &Record) {
        let Record::Message { from, to, bytes, .. } = *record else { return };
        let [from, to] = [from, to].map(|rank| self.placement[rank.0 as usize].host);
        if from == to {
            return;
        }
        self.fabric.route(Trip::new(from, to, 0), &Unloaded, &mut self.path);
        let wire = self.hosts.wire_bytes(bytes).0;
        self.path.iter().for_each(|link| self.moved.add(&self.fabric, *link, wire));
    }
}

/// True if the network reports the use of links.
pub fn knows_links(network: &dyn Network) -> bool {
    struct Seen(bool);
    impl Observer<NetworkRecord<'_>> for Seen {
        fn record(&mut self, _now: Time, record: &NetworkRecord) {
            self.0 |= matches!(record, NetworkRecord::LinkUse(_));
        }
    }
    let mut seen = Seen(false);
    network.report(Time::ZERO, &mut seen);
    seen.0
}
