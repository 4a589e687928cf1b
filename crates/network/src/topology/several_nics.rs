//! A network whose hosts have several NICs, all at the same router: the links of the first NIC of each host
//! are those of the network itself, those of the others are like them and numbered behind all its links.
//!
//! Routes run between hosts; they begin and end with the links of the first NICs, and
//! [`crate::Fabric::take_nics`] puts those of others in their place. That adds no dependency between virtual
//! channels: a link from a host follows none, and none follows a link to a host.

use std::ops::Range;
use std::sync::Arc;

use engine::registry::Entry;

use super::fat_tree::FatTree;
use super::grid::Grid;
use super::grouped::Grouped;
use super::{Attach, Formula, HostId, Link, LinkId, Positions, RouterId, Topology};

/// The registry's line.
pub const ENTRY: Entry<Attach> = Entry {
    name: "router",
    summary: "all NICs of a host are at the same router",
    source: "Miwa et al., NSIM, 2011",
    parameters: &[],
    examples: &[""],
    build: with_nics,
};

/// A topology with `count` NICs on each host.
struct SeveralNics {
    base: Box<dyn Topology>,
    count: u8,
}

/// `base` with `count` NICs on each host: itself for one.
pub fn with_nics(base: Box<dyn Topology>, count: u8) -> Box<dyn Topology> {
    if count <= 1 { base } else { Box::new(SeveralNics { base, count }) }
}

impl SeveralNics {
    /// The links of the further NICs: those up of the second NICs, those down, those of the third …
    fn further(&self) -> u32 {
        2 * self.base.hosts() * (u32::from(self.count) - 1)
    }

    /// The link `id`, or that of its host's first NIC in the same direction.
    fn first_of(&self, id: LinkId) -> LinkId {
        let further = id.0.checked_sub(self.base.links());
        further.map_or(id, |further| LinkId(further % (2 * self.base.hosts())))
    }

    fn link_of(&self, host: HostId, nic: u8, down: u32) -> LinkId {
        assert!(nic < self.count, "NIC {nic} of {}", self.count);
        let hosts = self.base.hosts();
        match nic.checked_sub(1) {
            None => LinkId(down * hosts + host.0),
            Some(further) => LinkId(self.base.links() + (2 * u32::from(further) + down) * hosts + host.0),
        }
    }
}

impl Topology for SeveralNics {
    fn hosts(&self) -> u32 {
        self.base.hosts()
    }
    fn routers(&self) -> u32 {
        self.base.routers()
    }
    fn links(&self) -> u32 {
        self.base.links() + self.further()
    }
    fn link(&self, id: LinkId) -> Link {
        self.base.link(self.first_of(id))
    }
    fn classes(&self) -> Vec<String> {
        self.base.classes()
    }
    fn router_of(&self, host: HostId) -> RouterId {
        self.base.router_of(host)
    }
    fn hosts_of(&self, router: RouterId) -> Range<u32> {
        self.base.hosts_of(router)
    }
    fn ports(&self, router: RouterId, ports: &mut Vec<LinkId>) {
        self.base.ports(router, ports);
    }
    fn formula(&self) -> Formula {
        let formula = self.base.formula();
        Formula { links: formula.links + u64::from(self.further()), ..formula }
    }
    fn router_name(&self, router: RouterId) -> String {
        self.base.router_name(router)
    }
    fn default_routing(&self) -> &'static str {
        self.base.default_routing()
    }
    fn unit(&self) -> u32 {
        self.base.unit()
    }
    fn positions(&self, class: u16) -> Positions {
        self.base.positions(class)
    }
    fn position(&self, id: LinkId) -> u32 {
        self.base.position(self.first_of(id))
    }
    fn cartesian(&self) -> Option<&Grid> {
        self.base.cartesian()
    }
    fn levelled(&self) -> Option<&FatTree> {
        self.base.levelled()
    }
    fn grouped(&self) -> Option<Arc<dyn Grouped>> {
        self.base.grouped()
    }
    fn host_name(&self, host: HostId) -> String {
        self.base.host_name(host)
    }
    fn nics(&self) -> u8 {
        self.count
    }
    fn nic_of(&self, id: LinkId) -> u8 {
        let further = id.0.checked_sub(self.base.links());
        further.map_or(0, |further| 1 + (further / (2 * self.base.hosts())) as u8)
    }
    fn nic_up(&self, host: HostId, nic: u8) -> LinkId {
        self.link_of(host, nic, 0)
    }
    fn nic_down(&self, host: HostId, nic: u8) -> LinkId {
        self.link_of(host, nic, 1)
    }
}
