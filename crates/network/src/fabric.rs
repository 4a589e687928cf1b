//! A topology with the routing that was chosen for it: what a network model sees of the network.

use engine::{Bandwidth, Duration};

use crate::routing::{Load, Routing};
use crate::topology::{HostId, LinkId, Topology};

/// A network that messages can be routed over.
pub struct Fabric {
    /// Hosts, routers and links.
    pub topology: Box<dyn Topology>,
    /// The way through them.
    pub routing: Box<dyn Routing>,
}

/// What an unloaded path offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Idle {
    /// Sum over the links of the path.
    pub latency: Duration,
    /// Of the narrowest link of the path.
    pub bandwidth: Bandwidth,
}

impl Fabric {
    /// Writes the links from `from` to `to`, injection and ejection link included, into `path`.
    ///
    /// `from != to`. `key` is the message's number at its sender: random routings draw from the
    /// stream that it names, so a route does not depend on anything else.
    pub fn route(&self, from: HostId, to: HostId, key: u64, load: &dyn Load, path: &mut Vec<LinkId>) {
        path.clear();
        self.routing.route(&*self.topology, from, to, key, load, path);
    }

    /// Latency and bandwidth of the idle path from `from` to `to`.
    ///
    /// Closed forms of regular topologies answer without walking the path.
    pub fn idle(&self, from: HostId, to: HostId) -> Idle {
        self.routing.idle(&*self.topology, from, to)
    }
}
