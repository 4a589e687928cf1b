//! Routings: from host to host over existing links, and with which virtual channels without deadlock.
//!
//! A routing gives a whole way at once. An adaptive one may change its mind at routers on the way, by what
//! is known there (see [`Routing::adapt`]): models that move packets ask it at every router, those that move
//! whole messages when a message starts.
//!
//! Adding one is a file here and a line in [`ROUTINGS`].

pub mod around;
mod d_mod_k;
mod detour;
mod dimension_order;
pub mod escape;
mod grid_channels;
mod groups;
mod least_loaded_up;
mod minimal;
mod progressive_adaptive;
mod random_up;
mod s_mod_k;
mod shortest_path;
mod ugal_g;
mod ugal_l;
mod up_down;
mod valiant;

use engine::registry::{Arguments, BuildError, Entry};

use crate::topology::Idle;
use crate::topology::{HostId, LinkId, Topology};
pub use crate::trip::Trip;

/// Load of links, as far as the asking router may know: flows or bytes waiting for it.
pub trait Load {
    /// Any unit, as long as it is one; 0 is idle.
    fn of(&self, link: LinkId) -> u64;
}

/// A network without load, for routings that do not look at it.
pub struct Unloaded;

impl Load for Unloaded {
    fn of(&self, _link: LinkId) -> u64 {
        0
    }
}

/// A packet at a router, about to ask for its next link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoutingState {
    /// Trip of the packet.
    pub trip: Trip,
    /// Course that it has decided on before, see [`Routing::course`].
    pub course: u32,
    /// Number of links that it has taken: 1 at its first router.
    pub taken: u32,
    /// Number of links on its whole route, the hosts' own included.
    pub links: u32,
    /// Next link on its route.
    pub next: LinkId,
}

impl RoutingState {
    /// Number of links between routers that are still ahead of it.
    pub fn hops_left(&self) -> u32 {
        self.links - 1 - self.taken
    }
}

/// Decision of a packet at a router.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// It goes on along its route.
    Stay,
    /// It takes this link, parallel to its next one.
    ParallelLink(LinkId),
    /// It goes on along this course.
    Course(u32),
}

/// Outputs whose queues a decision reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visibility {
    /// The outputs of the router at which a packet is.
    Router,
    /// The outputs of all routers of its group: of the same [`Topology::unit`].
    Group,
    /// All outputs.
    Network,
}

/// A routing algorithm, made for one topology.
pub trait Routing: Send + Sync {
    /// Appends the links of `trip` to `path`, the hosts' own links included.
    ///
    /// Random choices are drawn from the stream that the trip names.
    fn route(&self, topology: &dyn Topology, trip: Trip, load: &dyn Load, path: &mut Vec<LinkId>);

    /// The virtual channel that a message on `path` (one that this routing gave) uses on each link. That of
    /// a link does not depend on the links after it.
    fn channels(&self, topology: &dyn Topology, path: &[LinkId], channels: &mut Vec<u8>);

    /// Number of virtual channels that keep it free of deadlock.
    fn channel_count(&self) -> u8;

    /// The most links between routers on a route \[hops\]: an upper bound.
    fn longest(&self, topology: &dyn Topology) -> u32;

    /// True if routes of equal ends may differ (random or by load).
    fn is_adaptive(&self) -> bool;

    /// At how many routers, from its first on, a packet may change its way. Only where
    /// [`Routing::is_adaptive`] says so.
    fn decisions(&self) -> u32 {
        0
    }

    /// Outputs that [`Routing::adapt`] reads.
    fn visibility(&self) -> Visibility {
        Visibility::Router
    }

    /// Decision of a packet at one of its first [`Routing::decisions`] routers, by the `load` there. The
    /// links of a new course are written into `path`, in which anything may stand.
    fn adapt(
        &self,
        topology: &dyn Topology,
        state: &RoutingState,
        load: &dyn Load,
        path: &mut Vec<LinkId>,
    ) -> Decision {
        let _ = (topology, state, load, path);
        Decision::Stay
    }

    /// Appends the links of a course: the route of packets of the same trip that have decided the same. Course 0 is that
    /// of a packet that has decided nothing: the route without load.
    fn course(&self, topology: &dyn Topology, trip: Trip, course: u32, path: &mut Vec<LinkId>) {
        assert_eq!(course, 0, "this routing knows no other course");
        self.route(topology, trip, &Unloaded, path);
    }

    /// The routing around faults that it is, if it knows of any.
    fn around(&self) -> Option<&around::Around> {
        None
    }

    /// Latency and narrowest bandwidth on the path that key 0 takes through an idle network, the links of a NIC taken
    /// together; a closed form where there is one, and never an allocation.
    fn idle(&self, topology: &dyn Topology, from: HostId, to: HostId) -> Idle;
}

/// The way of a message that decides everything when it starts, by the `load` then: a packet's over a
/// network whose load does not change.
fn decide_ahead(
    routing: &dyn Routing,
    topology: &dyn Topology,
    trip: Trip,
    load: &dyn Load,
    path: &mut Vec<LinkId>,
) {
    routing.course(topology, trip, 0, path);
    let (mut course, mut other) = (0, Vec::new());
    for taken in 1..=routing.decisions() {
        let links = path.len() as u32;
        if taken + 1 >= links {
            return;
        }
        let next = path[taken as usize];
        let state = RoutingState { trip, course, taken, links, next };
        match routing.adapt(topology, &state, load, &mut other) {
            Decision::Stay => {}
            Decision::ParallelLink(link) => path[taken as usize] = link,
            Decision::Course(new) => {
                course = new;
                path.truncate(taken as usize);
                path.extend_from_slice(&other[taken as usize..]);
            }
        }
    }
}

/// Makes a routing for a topology that it fits, or says which topologies it fits.
pub type Build = fn(&Arguments, &dyn Topology, seed: u64) -> Result<Box<dyn Routing>, BuildError>;

/// Every routing that a platform file can name.
pub const ROUTINGS: &[Entry<Build>] = &[
    dimension_order::ENTRY,
    shortest_path::ENTRY,
    d_mod_k::ENTRY,
    s_mod_k::ENTRY,
    random_up::ENTRY,
    least_loaded_up::ENTRY,
    minimal::ENTRY,
    valiant::ENTRY,
    ugal_l::ENTRY,
    ugal_g::ENTRY,
    progressive_adaptive::ENTRY,
];
