//! Planes: n parallel copies of a network, none of them connected to another, with one NIC of each host in each.
//!
//! ```text
//! link l of plane i:    i L + l        router r of plane i:    i R + r
//! ```
//!
//! with L the links and R the routers of one. NIC i of a host is in plane i, so a message stays in the plane of the NIC by
//! which it leaves, and comes by the NIC of the same number. n planes carry up to n times what one does, if messages are
//! spread evenly over the NICs.
//!
//! Routes are found in the first plane; [`crate::Fabric`] takes them to that of the message's NIC. Planes share no link, so
//! each is as free of deadlock as the network itself.
//!
//! Assumes planes that are all alike, and messages that are not split over NICs.
//!
//! Source: Wolfe, Mubarak, Jain, Domke, Bhatele, Carothers, Ross, "Preliminary performance analysis of multi-rail fat-tree
//! networks" (CCGRID 2017), with planes of a rail each; Jain et al., "Predicting the performance impact of different fat-tree
//! configurations" (SC 2017).

use std::ops::Range;
use std::sync::Arc;

use engine::registry::Entry;

use super::fat_tree::FatTree;
use super::grid::Grid;
use super::grouped::Grouped;
use super::{Attach, Formula, HostId, Link, LinkId, Node, Positions, RouterId, Topology};

/// The registry's line.
pub const ENTRY: Entry<Attach> = Entry {
    name: "planes",
    summary: "each NIC of a host is in a network of its own, all of them alike",
    source: "Wolfe et al. 2017; Jain et al. 2017",
    parameters: &[],
    examples: &[""],
    build: with_planes,
};

/// `count` copies of a network.
struct MultiPlane {
    plane: Box<dyn Topology>,
    count: u8,
}

/// `count` planes like `plane`, whose hosts have one NIC: itself for one.
pub fn with_planes(plane: Box<dyn Topology>, count: u8) -> Box<dyn Topology> {
    assert_eq!(plane.nics(), 1, "a host has one NIC in each plane");
    if count <= 1 { plane } else { Box::new(MultiPlane { plane, count }) }
}

impl MultiPlane {
    /// The plane of a link, and its number there.
    fn place(&self, id: LinkId) -> (u32, LinkId) {
        (id.0 / self.plane.links(), LinkId(id.0 % self.plane.links()))
    }
    /// The plane of a router, and its number there.
    fn router_place(&self, router: RouterId) -> (u32, RouterId) {
        (router.0 / self.plane.routers(), RouterId(router.0 % self.plane.routers()))
    }
}

impl Topology for MultiPlane {
    fn hosts(&self) -> u32 {
        self.plane.hosts()
    }
    fn routers(&self) -> u32 {
        self.plane.routers() * u32::from(self.count)
    }
    fn links(&self) -> u32 {
        self.plane.links() * u32::from(self.count)
    }
    fn link(&self, id: LinkId) -> Link {
        let (plane, id) = self.place(id);
        let link = self.plane.link(id);
        let there = |node| match node {
            Node::Router(router) => Node::Router(RouterId(plane * self.plane.routers() + router.0)),
            host => host,
        };
        Link { from: there(link.from), to: there(link.to), ..link }
    }
    fn classes(&self) -> Vec<String> {
        self.plane.classes()
    }
    /// The one in the first plane.
    fn router_of(&self, host: HostId) -> RouterId {
        self.plane.router_of(host)
    }
    fn hosts_of(&self, router: RouterId) -> Range<u32> {
        match self.router_place(router) {
            (0, router) => self.plane.hosts_of(router),
            _ => 0..0,
        }
    }
    fn ports(&self, router: RouterId, ports: &mut Vec<LinkId>) {
        let ((plane, router), first) = (self.router_place(router), ports.len());
        self.plane.ports(router, ports);
        ports[first..].iter_mut().for_each(|link| link.0 += plane * self.plane.links());
    }
    fn formula(&self) -> Formula {
        let (formula, count) = (self.plane.formula(), self.count);
        Formula {
            routers: formula.routers * u64::from(count),
            links: formula.links * u64::from(count),
            bisection: formula.bisection.map(|each| each.scaled(count.into())),
            ..formula
        }
    }
    fn router_name(&self, router: RouterId) -> String {
        let (plane, router) = self.router_place(router);
        format!("plane {plane} {}", self.plane.router_name(router))
    }
    fn default_routing(&self) -> &'static str {
        self.plane.default_routing()
    }
    fn unit(&self) -> u32 {
        self.plane.unit()
    }
    fn positions(&self, class: u16) -> Positions {
        self.plane.positions(class)
    }
    fn position(&self, id: LinkId) -> u32 {
        self.plane.position(self.place(id).1)
    }
    fn cartesian(&self) -> Option<&Grid> {
        self.plane.cartesian()
    }
    fn levelled(&self) -> Option<&FatTree> {
        self.plane.levelled()
    }
    fn grouped(&self) -> Option<Arc<dyn Grouped>> {
        self.plane.grouped()
    }
    fn planes(&self) -> u32 {
        self.count.into()
    }
    fn host_name(&self, host: HostId) -> String {
        self.plane.host_name(host)
    }
    fn nics(&self) -> u8 {
        self.count
    }
    fn nic_of(&self, id: LinkId) -> u8 {
        let (plane, id) = self.place(id);
        if self.plane.first_nic_link(id).0 < 2 * self.plane.hosts() { plane as u8 } else { 0 }
    }
    fn nic_up(&self, host: HostId, nic: u8) -> LinkId {
        assert!(nic < self.count, "NIC {nic} of {}", self.count);
        LinkId(u32::from(nic) * self.plane.links() + self.plane.up(host).0)
    }
    fn nic_down(&self, host: HostId, nic: u8) -> LinkId {
        assert!(nic < self.count, "NIC {nic} of {}", self.count);
        LinkId(u32::from(nic) * self.plane.links() + self.plane.down(host).0)
    }
    fn nic_links(&self) -> u8 {
        self.plane.nic_links()
    }
    fn nic_link(&self, first: LinkId, number: u8) -> LinkId {
        let (plane, first) = self.place(first);
        LinkId(plane * self.plane.links() + self.plane.nic_link(first, number).0)
    }
    fn first_nic_link(&self, id: LinkId) -> LinkId {
        let (plane, id) = self.place(id);
        LinkId(plane * self.plane.links() + self.plane.first_nic_link(id).0)
    }
    fn whole_link(&self, id: LinkId) -> Link {
        let whole = self.plane.whole_link(self.place(id).1);
        Link { bandwidth: whole.bandwidth, ..self.link(id) }
    }
}
