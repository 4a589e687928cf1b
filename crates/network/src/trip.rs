//! A journey over the network: its two hosts, and the name of its random choices.

use crate::ids::HostId;

/// One journey from host to host, for which a routing finds a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trip {
    /// Host that the route starts at.
    pub from: HostId,
    /// Host that the route ends at, another one.
    pub to: HostId,
    /// Name of the random choices among those of the two hosts: the number of the message, or of the packet.
    pub key: u64,
}

impl Trip {
    /// The trip between two hosts whose random choices have the name `key`.
    #[inline]
    pub fn new(from: HostId, to: HostId, key: u64) -> Trip {
        Trip { from, to, key }
    }
}
