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

/// How loaded a link is, as far as the asking router may know: flows or bytes waiting for it.
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
pub struct Stop {
    /// Where it comes from.
    pub from: HostId,
    /// Where it goes.
    pub to: HostId,
    /// Names its random choices, as for [`Routing::route`].
    pub key: u64,
    /// What it has decided before, see [`Routing::course`].
    pub course: u32,
    /// How many links it has taken: 1 at its first router.
    pub taken: u32,
    /// How many links its way has in all, the hosts' own included.
    pub links: u32,
    /// The link that is next on its way.
    pub next: LinkId,
}

impl Stop {
    /// How many links between routers are before it.
    pub fn hops_left(&self) -> u32 {
        self.links - 1 - self.taken
    }
}

/// What a packet does at a router.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// It goes on as it would have.
    Stay,
    /// It takes this link, parallel to its next one.
    Lane(LinkId),
    /// It goes on as this course says.
    Course(u32),
}

/// What choices on the way read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sight {
    /// The outputs of the router at which a packet is.
    Router,
    /// The outputs of all routers of its group: of the same [`Topology::unit`].
    Group,
    /// All outputs.
    Network,
}

/// A routing algorithm, made for one topology.
pub trait Routing: Send + Sync {
    /// Appends the links from `from` to `to` to `path`, the hosts' own links included.
    ///
    /// `from != to`. Random choices are drawn from the stream that `(from, to, key)` names.
    fn route(
        &self,
        topology: &dyn Topology,
        from: HostId,
        to: HostId,
        key: u64,
        load: &dyn Load,
        path: &mut Vec<LinkId>,
    );

    /// The virtual channel that a message on `path` (one that this routing gave) uses on each link. That of
    /// a link does not depend on the links after it.
    fn channels(&self, topology: &dyn Topology, path: &[LinkId], channels: &mut Vec<u8>);

    /// How many virtual channels keep it free of deadlock.
    fn channel_count(&self) -> u8;

    /// The most links between routers on a route \[hops\]: an upper bound.
    fn longest(&self, topology: &dyn Topology) -> u32;

    /// Whether routes of equal ends may differ (random or by load).
    fn is_adaptive(&self) -> bool;

    /// At how many routers, from its first on, a packet may change its way. Only where
    /// [`Routing::is_adaptive`] says so.
    fn decisions(&self) -> u32 {
        0
    }

    /// What [`Routing::adapt`] reads.
    fn sight(&self) -> Sight {
        Sight::Router
    }

    /// What a packet decides at one of its first [`Routing::decisions`] routers, by the `load` there. The
    /// links of a new course are written into `path`, in which anything may stand.
    fn adapt(&self, topology: &dyn Topology, stop: &Stop, load: &dyn Load, path: &mut Vec<LinkId>) -> Turn {
        let _ = (topology, stop, load, path);
        Turn::Stay
    }

    /// Appends the links of a course: the way that packets between the same ends with the same key go who
    /// have decided the same. Course 0 is that of who has not decided anything: `route`'s without load.
    fn course(
        &self,
        topology: &dyn Topology,
        from: HostId,
        to: HostId,
        key: u64,
        course: u32,
        path: &mut Vec<LinkId>,
    ) {
        assert_eq!(course, 0, "this routing knows no other course");
        self.route(topology, from, to, key, &Unloaded, path);
    }

    /// What it knows of faults, if it knows of any.
    fn around(&self) -> Option<&around::Around> {
        None
    }

    /// Latency and narrowest bandwidth on the path that key 0 takes through an idle network; a closed
    /// form where there is one, and never an allocation.
    fn idle(&self, topology: &dyn Topology, from: HostId, to: HostId) -> Idle;
}

/// The way of a message that decides everything when it starts, by the `load` then: a packet's over a
/// network whose load does not change.
fn decide_ahead(
    routing: &dyn Routing,
    topology: &dyn Topology,
    (from, to, key): (HostId, HostId, u64),
    load: &dyn Load,
    path: &mut Vec<LinkId>,
) {
    routing.course(topology, from, to, key, 0, path);
    let (mut course, mut other) = (0, Vec::new());
    for taken in 1..=routing.decisions() {
        let links = path.len() as u32;
        if taken + 1 >= links {
            return;
        }
        let next = path[taken as usize];
        let stop = Stop { from, to, key, course, taken, links, next };
        match routing.adapt(topology, &stop, load, &mut other) {
            Turn::Stay => {}
            Turn::Lane(link) => path[taken as usize] = link,
            Turn::Course(new) => {
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
