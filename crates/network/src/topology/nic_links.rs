//! A network whose NICs have several links each to their router, and back, which packets share.
//!
//! ```text
//! bandwidth of a link = B / K        link i ≥ 1 of NIC n of host h, up or down: L + ((i - 1) 2 N + 2 n + down) H + h
//! ```
//!
//! with B the bandwidth of a NIC, K its links in each direction, and the L links, H hosts and N NICs of each host of the network
//! with one link for each NIC. The first link of a NIC is that of the network itself. Routes begin and end with first
//! links; a model of packets lets each packet take one of the K ([`crate::model::Packet`]). That adds no dependency
//! between virtual channels: a link from a host follows none, and none follows a link to a host.
//!
//! Assumes that the links of a NIC are alike, and that they fail together.
//!
//! Source: Ahmed et al., "An integrated interconnection network model for large-scale performance prediction" (SIGSIM-PADS
//! 2016), section 4: a Gemini's router has eight links to the block of its NICs.

use std::ops::Range;
use std::sync::Arc;

use engine::Bandwidth;

use super::fat_tree::FatTree;
use super::grid::Grid;
use super::grouped::Grouped;
use super::{Formula, HostId, Link, LinkId, Node, Positions, RouterId, Topology};

/// A topology with several links for each NIC.
struct SharedLinks {
    base: Box<dyn Topology>,
    /// K.
    links: u8,
}

/// `base`, a network in one plane, with `links` links for each of its NICs: itself for one.
pub fn with_nic_links(base: Box<dyn Topology>, links: u8) -> Box<dyn Topology> {
    assert_eq!(base.planes(), 1, "links are shared within a plane");
    if links <= 1 { base } else { Box::new(SharedLinks { base, links }) }
}

impl SharedLinks {
    /// Number of first links: one up and one down for each NIC.
    fn firsts(&self) -> u32 {
        2 * self.base.hosts() * u32::from(self.base.nics())
    }

    /// All links but the base's.
    fn further(&self) -> u32 {
        self.firsts() * (u32::from(self.links) - 1)
    }
}

impl Topology for SharedLinks {
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
        let link = self.whole_link(id);
        if link.is_between_routers() || link.bandwidth == Bandwidth::INFINITE {
            return link;
        }
        Link { bandwidth: Bandwidth(link.bandwidth.0 / u64::from(self.links)), ..link }
    }
    fn whole_link(&self, id: LinkId) -> Link {
        self.base.link(self.first_nic_link(id))
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
        self.base.position(self.first_nic_link(id))
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
        self.base.nics()
    }
    fn nic_of(&self, id: LinkId) -> u8 {
        self.base.nic_of(self.first_nic_link(id))
    }
    fn nic_up(&self, host: HostId, nic: u8) -> LinkId {
        self.base.nic_up(host, nic)
    }
    fn nic_down(&self, host: HostId, nic: u8) -> LinkId {
        self.base.nic_down(host, nic)
    }
    fn nic_links(&self) -> u8 {
        self.links
    }
    fn nic_link(&self, first: LinkId, number: u8) -> LinkId {
        assert!(number < self.links, "link {number} of {}", self.links);
        if number == 0 {
            return first;
        }
        let (host, down) = match self.base.link(first) {
            Link { from: Node::Host(host), .. } => (host, 0),
            Link { to: Node::Host(host), .. } => (host, 1),
            link => panic!("{link:?} is no link of a NIC"),
        };
        let row = 2 * u32::from(self.base.nic_of(first)) + down;
        let hosts = self.base.hosts();
        LinkId(self.base.links() + (u32::from(number) - 1) * self.firsts() + row * hosts + host.0)
    }
    fn first_nic_link(&self, id: LinkId) -> LinkId {
        let Some(further) = id.0.checked_sub(self.base.links()) else { return id };
        let place = further % self.firsts();
        let (row, host) = (place / self.base.hosts(), HostId(place % self.base.hosts()));
        let nic = (row / 2) as u8;
        if row % 2 == 0 { self.base.nic_up(host, nic) } else { self.base.nic_down(host, nic) }
    }
}
