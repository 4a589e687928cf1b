//! Numbers of hosts, routers and links.

use serde::{Deserialize, Serialize};

/// A host, numbered from 0.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct HostId(pub u32);

/// A router (or switch), numbered from 0.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RouterId(pub u32);

/// A directed link, numbered from 0: for h hosts, links `0..h` go up from the hosts to their
/// routers, `h..2h` down to them, the rest run between routers; behind those are the links of further NICs.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LinkId(pub u32);

impl LinkId {
    /// The number as an index of a slice.
    #[inline]
    pub(crate) fn at(self) -> usize {
        self.0 as usize
    }
}
