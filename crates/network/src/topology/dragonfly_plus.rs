//! Dragonfly+, or Megafly: groups of leaf and spine routers, and global links between the spines of all pairs of groups.
//!
//! g groups of l leaves and s spines. Each leaf has p hosts and a link to each spine of its group; each spine has up to h
//! global links, which are numbered and arranged as those of a dragonfly with `a = s`. Router `i (l + s) + j` is
//! leaf j of group i, or spine `j - l`.
//!
//! ```text
//! hosts g l p     routers g (l + s)     directed links 2 g l p + 2 g l s lanes + g (g - 1) n
//! hops between leaves: 2 within a group, 3 between groups
//! ```
//!
//! With a router's ports split in halves, `p = s = l = h`, a group has l² global links, as many as hosts: minimal routes carry
//! uniform traffic at up to the full rate of the hosts.
//!
//! Minimal routes go up to a random spine of those with a link to the other group, across, and down. Detours go by a third
//! group: from a leaf to any, from a spine (where a packet may still change its mind) to those that the spine itself has links
//! to; where they come and leave by different spines of the third group, by a random leaf of it. Within a group they go by
//! another random spine. Within a virtual channel links go up, across, down: one channel for minimal routes, two with a detour.
//!
//! Source: Shpiner, Haramaty, Eliad, Zdornov, Gafni, Zahavi, "Dragonfly+: low cost topology for scaling datacenters" (HiPINEB
//! 2017); Flajslik, Borch, Parker, "Megafly: a topology for exascale systems" (ISC 2018).

use std::ops::Range;
use std::sync::Arc;

use engine::registry::{Arguments, BuildError, Entry, Kind, Parameter};

use super::global_links::{ARRANGEMENT, Counts, GROUPS, GlobalLinks, PER_PAIR, rates};
use super::grouped::{Aside, Grouped, Reach, Walk, other_than};
use super::{
    Build, Formula, HOST_CLASSES, HostId, Link, LinkDefaults, LinkId, Node, Positions, Rates, RouterId,
    Topology,
};
use crate::choice::Choice;

const COUNT: Kind = Kind::Integer(1, 1 << 20);

/// The registry's line.
pub const ENTRY: Entry<Build> = Entry {
    name: "dragonfly-plus",
    summary: "fully connected groups, each a two-level tree of leaves and spines (Dragonfly+, Megafly)",
    source: "Shpiner et al. 2017; Flajslik, Borch, Parker 2018",
    parameters: &[
        GROUPS,
        Parameter { name: "leaves_per_group", kind: COUNT, default: None, summary: "l, routers with hosts" },
        Parameter {
            name: "spines_per_group",
            kind: COUNT,
            default: None,
            summary: "s, routers with global links; each is connected to all leaves of its group",
        },
        Parameter { name: "hosts_per_leaf", kind: COUNT, default: None, summary: "p" },
        Parameter {
            name: "global_links_per_spine",
            kind: COUNT,
            default: None,
            summary: "h, the most that a spine has",
        },
        PER_PAIR,
        ARRANGEMENT,
        Parameter {
            name: "local_lanes",
            kind: Kind::Integer(1, 1 << 10),
            default: Some("1"),
            summary: "parallel links between a leaf and a spine",
        },
        Parameter {
            name: "local_bandwidth",
            kind: Kind::Bandwidth,
            default: Some(""),
            summary: "of a link between leaf and spine; missing: [link]'s",
        },
        Parameter {
            name: "local_latency",
            kind: Kind::Time,
            default: Some(""),
            summary: "of a link between leaf and spine and the router behind it; missing: [link]'s",
        },
        Parameter {
            name: "global_bandwidth",
            kind: Kind::Bandwidth,
            default: Some(""),
            summary: "of a link between groups; missing: [link]'s",
        },
        Parameter {
            name: "global_latency",
            kind: Kind::Time,
            default: Some(""),
            summary: "of a link between groups and the router behind it; missing: [link]'s",
        },
    ],
    examples: &[
        "groups = 5\nleaves_per_group = 2\nspines_per_group = 2\nhosts_per_leaf = 2\nglobal_links_per_spine = 2",
        "groups = 3\nleaves_per_group = 3\nspines_per_group = 2\nhosts_per_leaf = 1\nglobal_links_per_spine = 2\n\
         local_lanes = 2\nglobal_latency = \"500 ns\"\nglobal_bandwidth = \"5 GB/s\"",
        "groups = 4\nleaves_per_group = 1\nspines_per_group = 3\nhosts_per_leaf = 2\nglobal_links_per_spine = 3\n\
         arrangement = \"circulant\"",
        "groups = 1\nleaves_per_group = 4\nspines_per_group = 2\nhosts_per_leaf = 2\nglobal_links_per_spine = 1",
    ],
    build,
};

/// A Dragonfly+.
#[derive(Debug, Clone)]
pub struct DragonflyPlus {
    /// l
    leaves: u32,
    /// s
    spines: u32,
    /// p
    hosts_per_leaf: u32,
    lanes: u32,
    local: Rates,
    global: Rates,
    host: Rates,
    first_down: u32,
    globals: GlobalLinks,
    links: u32,
}

impl DragonflyPlus {
    fn group_size(&self) -> u32 {
        self.leaves + self.spines
    }
    /// Group of a router, and its number there.
    fn place(&self, router: u32) -> (u32, u32) {
        (router / self.group_size(), router % self.group_size())
    }
    fn is_leaf(&self, router: u32) -> bool {
        self.place(router).1 < self.leaves
    }
    fn leaf(&self, group: u32, number: u32) -> u32 {
        group * self.group_size() + number
    }
    fn spine(&self, group: u32, number: u32) -> u32 {
        self.leaf(group, self.leaves + number)
    }
    /// The first link up.
    fn first_up(&self) -> u32 {
        2 * self.hosts()
    }
    /// The number of the link from a leaf to a spine, among those of one direction.
    fn local_number(&self, leaf: u32, spine: u32, lane: u32) -> u32 {
        let ((group, leaf), (_, spine)) = (self.place(leaf), self.place(spine));
        ((group * self.leaves + leaf) * self.spines + spine - self.leaves) * self.lanes + lane
    }
    fn up_link(&self, leaf: u32, spine: u32, lane: u32) -> LinkId {
        LinkId(self.first_up() + self.local_number(leaf, spine, lane))
    }
    fn down_link(&self, leaf: u32, spine: u32, lane: u32) -> LinkId {
        LinkId(self.first_down + self.local_number(leaf, spine, lane))
    }

    /// The routers at the ends of a link between routers.
    fn ends(&self, id: LinkId) -> (u32, u32) {
        if self.globals.holds(id) {
            let [from, to] = self.globals.ends(id);
            return (self.spine(from.0, from.1), self.spine(to.0, to.1));
        }
        let up = id.0 < self.first_down;
        let number = (id.0 - if up { self.first_up() } else { self.first_down }) / self.lanes;
        let (leaf, spine) = (number / self.spines, number % self.spines);
        let (group, leaf) = (leaf / self.leaves, leaf % self.leaves);
        let (leaf, spine) = (self.leaf(group, leaf), self.spine(group, spine));
        if up { (leaf, spine) } else { (spine, leaf) }
    }

    fn up(&self, leaf: u32, spine: u32, choice: &mut Choice, walk: &mut Walk) {
        walk.link(self.up_link(leaf, spine, choice.below(self.lanes)), self.local);
    }
    fn down(&self, spine: u32, leaf: u32, choice: &mut Choice, walk: &mut Walk) {
        walk.link(self.down_link(leaf, spine, choice.below(self.lanes)), self.local);
    }

    /// Goes from a spine, or leaf, to a spine of group `target`, with as few hops as there can be; gives that spine.
    fn cross(&self, at: u32, target: u32, choice: &mut Choice, walk: &mut Walk) -> u32 {
        let (group, copies) = (self.place(at).0, self.globals.copies());
        let gate = |copy: u32| self.spine(group, self.globals.link(group, target, copy).1);
        let own = (0..copies).filter(|copy| gate(*copy) == at);
        let count = own.clone().count() as u32;
        let copy = if count > 0 {
            let chosen = choice.below(count) as usize;
            own.clone().nth(chosen).expect("it was counted")
        } else {
            choice.below(copies)
        };
        let (link, _, landing) = self.globals.link(group, target, copy);
        if gate(copy) != at {
            let leaf = if self.is_leaf(at) {
                at
            } else {
                let leaf = self.leaf(group, choice.below(self.leaves));
                self.down(at, leaf, choice, walk);
                leaf
            };
            self.up(leaf, gate(copy), choice, walk);
        }
        walk.link(link, self.global);
        self.spine(target, landing)
    }

    /// A third group that a detour from `at` can go by, if there is one: from a spine one of those next to it.
    fn third_group(&self, at: u32, target: u32, choice: &mut Choice) -> Option<u32> {
        let (group, number) = self.place(at);
        if self.groups() < 3 || group == target {
            return None;
        }
        if self.is_leaf(at) {
            return Some(other_than([group, target], self.groups(), choice));
        }
        let next = self.globals.leaving(group, number - self.leaves);
        let next = next.map(|link| self.globals.ends(LinkId(link))[1].0).filter(|group| *group != target);
        let count = next.clone().count() as u32;
        (count > 0).then(|| next.clone().nth(choice.below(count) as usize).expect("it was counted"))
    }
}

impl Grouped for DragonflyPlus {
    fn groups(&self) -> u32 {
        self.globals.groups()
    }
    fn group_of(&self, router: u32) -> u32 {
        self.place(router).0
    }
    fn router_number(&self, host: HostId) -> u32 {
        let leaf = host.0 / self.hosts_per_leaf;
        self.leaf(leaf / self.leaves, leaf % self.leaves)
    }
    fn host_rates(&self) -> Rates {
        self.host
    }
    fn is_global(&self, link: LinkId) -> bool {
        self.globals.holds(link)
    }
    fn end_of(&self, link: LinkId) -> u32 {
        self.ends(link).1
    }
    fn order_of(&self, link: LinkId) -> u8 {
        match link.0 {
            _ if self.globals.holds(link) => 1,
            number if number < self.first_down => 0,
            _ => 2,
        }
    }
    fn reach(&self) -> Reach {
        // Up, across, down; with a detour up, across, down, up, across, down, whose second and third links a spine takes.
        Reach { hops: [3, 6], channels: [1, 2, 2], later: 1 }
    }
    fn spreads(&self) -> bool {
        self.spines > 1 || self.lanes > 1
    }
    fn minimal(&self, mut at: u32, end: u32, choice: &mut Choice, walk: &mut Walk) {
        let (group, target) = (self.group_of(at), self.group_of(end));
        if at == end {
            return;
        }
        if group != target {
            at = self.cross(at, target, choice, walk);
        } else if self.is_leaf(at) {
            let spine = self.spine(group, choice.below(self.spines));
            self.up(at, spine, choice, walk);
            at = spine;
        }
        self.down(at, end, choice, walk);
    }
    fn aside(&self, at: u32, end: u32, place: Aside, choice: &mut Choice, walk: &mut Walk) -> u32 {
        if place == Aside::Group {
            let between = self.third_group(at, self.group_of(end), choice);
            return between.map_or(at, |group| self.cross(at, group, choice, walk));
        }
        if !self.is_leaf(at) {
            return at;
        }
        let spine = self.spine(self.group_of(at), choice.below(self.spines));
        self.up(at, spine, choice, walk);
        spine
    }
}

impl Topology for DragonflyPlus {
    fn hosts(&self) -> u32 {
        self.groups() * self.leaves * self.hosts_per_leaf
    }
    fn routers(&self) -> u32 {
        self.groups() * self.group_size()
    }
    fn links(&self) -> u32 {
        self.links
    }
    fn link(&self, id: LinkId) -> Link {
        if let Some(link) = self.host_link(id, self.host) {
            return link;
        }
        let order = u16::from(self.order_of(id));
        let (from, to) = self.ends(id);
        let Rates { bandwidth, latency } = if order == 1 { self.global } else { self.local };
        let (from, to) = (Node::Router(RouterId(from)), Node::Router(RouterId(to)));
        // Up, down, global.
        let class = HOST_CLASSES.len() as u16 + [0, 2, 1][usize::from(order)];
        Link { from, to, bandwidth, latency, class }
    }
    fn classes(&self) -> Vec<String> {
        HOST_CLASSES.iter().chain(&["up 2", "down 2", "global"]).map(|name| name.to_string()).collect()
    }
    fn router_of(&self, host: HostId) -> RouterId {
        RouterId(self.router_number(host))
    }
    fn hosts_of(&self, router: RouterId) -> Range<u32> {
        let (group, number) = self.place(router.0);
        if number >= self.leaves {
            return 0..0;
        }
        let first = (group * self.leaves + number) * self.hosts_per_leaf;
        first..first + self.hosts_per_leaf
    }
    fn ports(&self, router: RouterId, ports: &mut Vec<LinkId>) {
        let (group, number) = self.place(router.0);
        let lanes = 0..self.lanes;
        let Some(spine) = number.checked_sub(self.leaves) else {
            let spines = (0..self.spines).map(|spine| self.spine(group, spine));
            ports.extend(
                spines.flat_map(|spine| lanes.clone().map(move |lane| self.up_link(router.0, spine, lane))),
            );
            return;
        };
        let leaves = (0..self.leaves).map(|leaf| self.leaf(group, leaf));
        ports.extend(
            leaves.flat_map(|leaf| lanes.clone().map(move |lane| self.down_link(leaf, router.0, lane))),
        );
        ports.extend(self.globals.leaving(group, spine).map(LinkId));
    }
    fn formula(&self) -> Formula {
        let [g, l, s, p] = [self.groups(), self.leaves, self.spines, self.hosts_per_leaf].map(u64::from);
        let hosts = g * l * p;
        let local = 2 * g * l * s * u64::from(self.lanes);
        let links = 2 * hosts + local + g * (g - 1) * u64::from(self.globals.copies());
        let hops = (2 * (l - 1) * p + 3 * (g - 1) * l * p) as f64;
        Formula {
            diameter: Some(if g > 1 { 3 } else { 2 * u32::from(l > 1) }),
            mean_hops: (hosts > 1).then(|| hops / (hosts - 1) as f64),
            ..Formula::counts(hosts, g * (l + s), links)
        }
    }
    fn router_name(&self, router: RouterId) -> String {
        let (group, number) = self.place(router.0);
        match number.checked_sub(self.leaves) {
            None => format!("group {group} leaf {number}"),
            Some(spine) => format!("group {group} spine {spine}"),
        }
    }
    fn default_routing(&self) -> &'static str {
        "minimal"
    }
    fn unit(&self) -> u32 {
        self.group_size()
    }
    fn positions(&self, _class: u16) -> Positions {
        Positions { of: "group".to_string(), count: self.groups() }
    }
    fn position(&self, id: LinkId) -> u32 {
        match self.link(id).from {
            Node::Host(host) => self.group_of(self.router_number(host)),
            Node::Router(router) => self.group_of(router.0),
        }
    }
    fn grouped(&self) -> Option<Arc<dyn Grouped>> {
        Some(Arc::new(self.clone()))
    }
}

fn build(arguments: &Arguments, links: &LinkDefaults) -> Result<Box<dyn Topology>, BuildError> {
    let required = |name| arguments.integer(name).expect("a required parameter is there") as u64;
    let (l, s, p) = (required("leaves_per_group"), required("spines_per_group"), required("hosts_per_leaf"));
    let lanes = required("local_lanes");
    let counts = Counts::read(arguments, s, required("global_links_per_spine"))?;
    let [g, n] = [counts.groups, counts.copies].map(u128::from);
    let [hosts, up] = [u128::from(l * p), u128::from(l * s) * u128::from(lanes)].map(|each| g * each);
    let total = 2 * (hosts + up) + g * (g - 1) * n;
    let links_total = u32::try_from(total).map_err(|_| {
        let reason =
            format!("{g} groups of {l} leaves and {s} spines need {total} links, at most {}", u32::MAX);
        BuildError::new("groups", reason)
    })?;
    let first_down = (2 * hosts + up) as u32;
    Ok(Box::new(DragonflyPlus {
        leaves: l as u32,
        spines: s as u32,
        hosts_per_leaf: p as u32,
        lanes: lanes as u32,
        local: rates(arguments, "local_bandwidth", "local_latency", links.between())?,
        global: rates(arguments, "global_bandwidth", "global_latency", links.between())?,
        host: links.host(),
        first_down,
        globals: GlobalLinks::new(arguments, counts, s, first_down + up as u32),
        links: links_total,
    }))
}
