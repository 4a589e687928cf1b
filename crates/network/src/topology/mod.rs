//! Topologies: hosts, routers and directed links, numbered densely, mostly computed and not stored.
//!
//! Adding one is a file here and a line in [`TOPOLOGIES`]. Routings, placements and drawings never ask which topology it
//! is, but what it offers: coordinates ([`Topology::cartesian`]), levels ([`Topology::levelled`]), groups with minimal
//! ways and detours ([`Topology::grouped`]). One that offers none of them has shortest ways by tables.

pub mod adjacency;
pub mod crossbar;
pub mod dragonfly;
pub mod dragonfly_plus;
pub mod drawing;
pub mod fat_tree;
mod global_links;
pub mod graph;
pub mod grid;
pub mod grouped;
pub mod hypercube;
pub mod hyperx;
pub mod link_classes;
pub mod mesh;
pub mod nic_links;
pub mod planes;
pub mod ring;
pub mod several_nics;
pub mod slim_fly;
pub mod torus;

use std::ops::Range;
use std::sync::Arc;

use engine::registry::{Arguments, BuildError, Entry};
use engine::{Bandwidth, Duration};
use fat_tree::FatTree;
use grid::Grid;
use grouped::Grouped;

pub use crate::ids::{HostId, LinkId, RouterId};
/// One end of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Node {
    /// A host.
    Host(HostId),
    /// A router.
    Router(RouterId),
}

/// One directed link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// Node that it starts at.
    pub from: Node,
    /// Node that it ends at.
    pub to: Node,
    /// Bandwidth of the link.
    pub bandwidth: Bandwidth,
    /// From its start to its end, the router behind it included.
    pub latency: Duration,
    /// Its class, an index into [`Topology::classes`] ("x+", "up 2", "global", …).
    pub class: u16,
}

impl Link {
    /// Does it run between two routers, not to or from a host?
    pub fn is_between_routers(&self) -> bool {
        matches!((self.from, self.to), (Node::Router(_), Node::Router(_)))
    }
}

/// Latency and bandwidth of an unloaded path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Idle {
    /// Latency, summed over the links of the path.
    pub latency: Duration,
    /// Bandwidth of the narrowest link of the path.
    pub bandwidth: Bandwidth,
}

/// Bandwidth and latency of a kind of link where the topology's own parameters are silent
/// (`[link]`, and for the links of hosts `[nic]`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkDefaults {
    /// Bandwidth of links between routers.
    pub bandwidth: Bandwidth,
    /// Latency of links between routers: cable and the router behind it.
    pub latency: Duration,
    /// Bandwidth of the links between host and router, each direction.
    pub host_bandwidth: Bandwidth,
    /// Latency of the links between host and router, each direction.
    pub host_latency: Duration,
}

impl LinkDefaults {
    /// Rates of links between routers.
    pub fn between(&self) -> Rates {
        Rates { bandwidth: self.bandwidth, latency: self.latency }
    }
    /// Rates of the links of hosts.
    pub fn host(&self) -> Rates {
        Rates { bandwidth: self.host_bandwidth, latency: self.host_latency }
    }
}

/// Bandwidth and latency of a kind of link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rates {
    /// See [`Link::bandwidth`].
    pub bandwidth: Bandwidth,
    /// See [`Link::latency`].
    pub latency: Duration,
}

/// Positions that tell the links of one class apart, coarser than by number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Positions {
    /// Name of a position: "x", "group", "router", …
    pub of: String,
    /// Number of positions.
    pub count: u32,
}

/// The first two link classes of every topology.
pub const HOST_CLASSES: [&str; 2] = ["host up", "host down"];

/// Closed formulas of a topology; tests count the graph and compare. Bisections they count completely up to ten routers;
/// larger ones must not be above the best cut that a search finds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Formula {
    /// Number of hosts.
    pub hosts: u64,
    /// Number of routers.
    pub routers: u64,
    /// Number of directed links, those of the hosts included.
    pub links: u64,
    /// Most hops between routers on a shortest path between two hosts' routers, if a formula is known.
    pub diameter: Option<u32>,
    /// Mean hops between routers on shortest paths, over all ordered pairs of different hosts, if known.
    pub mean_hops: Option<f64>,
    /// The least bandwidth, in one direction, of links between routers that connect two halves of the
    /// hosts, if known. Hosts of one router stay together.
    pub bisection: Option<Bandwidth>,
}

impl Formula {
    /// Counts alone: nothing else is known.
    pub fn counts(hosts: u64, routers: u64, links: u64) -> Formula {
        Formula { hosts, routers, links, diameter: None, mean_hops: None, bisection: None }
    }
}

/// Hosts, routers and links. Object-safe; numbering is dense and fixed.
pub trait Topology: Send + Sync {
    /// Number of hosts.
    fn hosts(&self) -> u32;
    /// Number of routers.
    fn routers(&self) -> u32;
    /// Number of directed links, those of the hosts included.
    fn links(&self) -> u32;
    /// One link. For each there is one that leads back; `graph` alone takes cables of one direction.
    fn link(&self, id: LinkId) -> Link;
    /// The names of the link classes.
    fn classes(&self) -> Vec<String>;
    /// The router of a host.
    fn router_of(&self, host: HostId) -> RouterId;
    /// The hosts of a router; numbered consecutively.
    fn hosts_of(&self, router: RouterId) -> Range<u32>;
    /// Writes the links that leave `router` towards other routers, in port order.
    fn ports(&self, router: RouterId, ports: &mut Vec<LinkId>);
    /// Values of the formulas.
    fn formula(&self) -> Formula;
    /// The name of a router for people: coordinates, level and number, group and number.
    fn router_name(&self, router: RouterId) -> String;
    /// The routing that fits best where the platform names none.
    fn default_routing(&self) -> &'static str;
    /// Number of routers, from the first on, that hang together closer than others (a slab of a grid, a group, a
    /// subtree's routers with hosts): cuts keep them whole where they can.
    fn unit(&self) -> u32 {
        1
    }
    /// The positions of the links of `class`: coordinates along their dimension on grids, groups on
    /// dragonflies, routers where nothing else is said.
    fn positions(&self, _class: u16) -> Positions {
        Positions { of: "router".to_string(), count: self.routers() }
    }
    /// The position of a link among those of its class.
    fn position(&self, id: LinkId) -> u32 {
        match self.link(id).from {
            Node::Host(host) => self.router_of(host).0,
            Node::Router(router) => router.0,
        }
    }

    /// Its coordinates, if routers have any: for routings in order of dimensions, compact placements, drawings. The links
    /// of the grid are those of the topology.
    fn cartesian(&self) -> Option<&Grid> {
        None
    }
    /// Its levels, if routers stand in some: for routings up and down, drawings. The links of the tree are those of the
    /// topology.
    fn levelled(&self) -> Option<&FatTree> {
        None
    }
    /// Its groups, with minimal ways and places for detours: for routings with detours, cuts, drawings.
    fn grouped(&self) -> Option<Arc<dyn Grouped>> {
        None
    }

    /// The name of a host for people and placements.
    fn host_name(&self, host: HostId) -> String {
        format!("host {}", host.0)
    }

    /// The link `id` where it is one of a host, with `rates`; `None` between routers.
    fn host_link(&self, id: LinkId, rates: Rates) -> Option<Link> {
        let hosts = self.hosts();
        if id.0 >= hosts * 2 {
            return None;
        }
        let host = HostId(if id.0 < hosts { id.0 } else { id.0 - hosts });
        let (host, router) = (Node::Host(host), Node::Router(self.router_of(host)));
        let Rates { bandwidth, latency } = rates;
        Some(if id.0 < hosts {
            Link { from: host, to: router, bandwidth, latency, class: 0 }
        } else {
            Link { from: router, to: host, bandwidth, latency, class: 1 }
        })
    }

    /// Number of copies of one network that it is, with a NIC of each host in each: routers and links of plane i are numbered
    /// behind those of the planes before it, in the same order. Routes, coordinates, levels and groups are those of the
    /// first plane; [`crate::Fabric`] takes routes to others.
    fn planes(&self) -> u32 {
        1
    }
    /// The routers at both ends of a link; of a link of a host, its router twice.
    fn routers_of(&self, id: LinkId) -> [RouterId; 2] {
        match self.link(id) {
            Link { from: Node::Router(from), to: Node::Router(to), .. } => [from, to],
            Link { from: Node::Router(router), .. } | Link { to: Node::Router(router), .. } => [router; 2],
            _ => unreachable!("a link has a router at one of its ends"),
        }
    }

    /// Number of NICs of each host.
    fn nics(&self) -> u8 {
        1
    }
    /// The NIC of its host, from 0, at which the link `id` begins or ends; 0 between routers.
    fn nic_of(&self, id: LinkId) -> u8 {
        let _ = id;
        0
    }
    /// The link up from `nic` of `host`, below [`Topology::nics`].
    fn nic_up(&self, host: HostId, nic: u8) -> LinkId {
        assert_eq!(nic, 0, "a host of this topology has one NIC");
        self.up(host)
    }
    /// The link down to `nic` of `host`, below [`Topology::nics`].
    fn nic_down(&self, host: HostId, nic: u8) -> LinkId {
        assert_eq!(nic, 0, "a host of this topology has one NIC");
        self.down(host)
    }

    /// Number of links of each NIC in each direction, which packets share.
    fn nic_links(&self) -> u8 {
        1
    }
    /// Link `number`, below [`Topology::nic_links`], of the NIC and the direction whose first is `first`.
    fn nic_link(&self, first: LinkId, number: u8) -> LinkId {
        assert_eq!(number, 0, "a NIC of this topology has one link");
        first
    }
    /// The first of the links of the same NIC in the same direction as `id`; `id` itself between routers.
    fn first_nic_link(&self, id: LinkId) -> LinkId {
        id
    }
    /// The link `id`; if it is one of a NIC's, with the bandwidth of all of these in its direction.
    fn whole_link(&self, id: LinkId) -> Link {
        self.link(id)
    }

    /// The link from `host` up to its router: that of its first NIC.
    fn up(&self, host: HostId) -> LinkId {
        LinkId(host.0)
    }
    /// The link from its router down to `host`: that of its first NIC.
    fn down(&self, host: HostId) -> LinkId {
        LinkId(self.hosts() + host.0)
    }
}

/// Makes a network whose hosts have several NICs of one whose hosts have one.
pub type Attach = fn(Box<dyn Topology>, u8) -> Box<dyn Topology>;

/// Every way to attach several NICs of a host, as `[nic] attachment` names it.
pub const ATTACHMENTS: &[Entry<Attach>] = &[several_nics::ENTRY, planes::ENTRY];

/// Makes a topology from its arguments and the links' defaults.
pub type Build = fn(&Arguments, &LinkDefaults) -> Result<Box<dyn Topology>, BuildError>;

/// Every topology that a platform file can name.
pub const TOPOLOGIES: &[Entry<Build>] = &[
    torus::ENTRY,
    mesh::ENTRY,
    fat_tree::ENTRY,
    dragonfly::ENTRY,
    dragonfly_plus::ENTRY,
    slim_fly::ENTRY,
    hyperx::ENTRY,
    hypercube::ENTRY,
    crossbar::ENTRY,
    ring::ENTRY,
    graph::ENTRY,
];
