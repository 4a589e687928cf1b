//! Routings: from host to host over existing links, and with which virtual channels without deadlock.
//!
//! Adding one is a file here and a line in [`ROUTINGS`].

mod choice;
mod d_mod_k;
mod dimension_order;
mod grid_channels;
mod groups;
mod least_loaded_up;
mod minimal;
mod random_up;
mod s_mod_k;
mod shortest_path;
mod up_down;
mod valiant;

use engine::registry::{Arguments, BuildError, Entry};

use crate::fabric::Idle;
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

    /// The virtual channel that a message on `path` (one that `route` gave) uses on each link.
    fn channels(&self, topology: &dyn Topology, path: &[LinkId], channels: &mut Vec<u8>);

    /// How many virtual channels keep it free of deadlock.
    fn channel_count(&self) -> u8;

    /// The most links between routers on a route \[hops\]: an upper bound.
    fn longest(&self, topology: &dyn Topology) -> u32;

    /// Whether routes of equal ends may differ (random or by load).
    fn is_adaptive(&self) -> bool;

    /// Latency and narrowest bandwidth on the path that key 0 takes through an idle network; a closed
    /// form where there is one, and never an allocation.
    fn idle(&self, topology: &dyn Topology, from: HostId, to: HostId) -> Idle;
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
];
