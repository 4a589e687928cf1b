//! Dragonfly: groups of routers, and global links between all pairs of groups.
//!
//! g groups of a routers, p hosts and up to h global links on each router. Group i has `q = n (g - 1)`
//! global ports, n for each other group (`n = ⌊a h / (g - 1)⌋` unless told otherwise); port number
//! `s (g - 1) + k` belongs to copy s < n of slot k, and to router `⌊port a / q⌋` of its group. Where slot
//! k of group i leads is the arrangement:
//! - absolute: to group k, or k + 1 from k = i on;
//! - relative: to group `i + k + 1 mod g`;
//! - circulant: to groups `i + 1, i - 1, i + 2, i - 2, …`.
//!
//! The routers of a group are all connected, or stand in rows, as in a cabinet pair of Cray's Cascade (Aries):
//! router `r C + c` of a group of R rows and C = a / R columns has links to all others of row r (`local`) and to
//! all others of column c (`column`); between other routers a route takes one of each.
//!
//! Hosts `g a p`, routers `g a`; a minimal route is at most local, global, local, and in rows local, column,
//! global, local, column. With one group and one row it is a complete graph. At `g = a h + 1` all groups are one
//! global link apart and no port is left.
//!
//! Source: Kim, Dally, Scott, Abts, "Technology-driven, highly-scalable dragonfly topology" (ISCA 2008);
//! arrangements: Hastings et al., "Comparing global link arrangements for dragonfly networks" (CLUSTER 2015);
//! rows: Faanes et al., "Cray Cascade: a scalable HPC system based on a Dragonfly network" (SC 2012).

use std::ops::Range;
use std::sync::Arc;

use engine::registry::{Arguments, BuildError, Entry, Kind, Parameter};
use strength_reduce::StrengthReducedU32;

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
    name: "dragonfly",
    summary: "fully connected groups of routers, each fully connected or in rows and columns (Cascade)",
    source: "Kim, Dally, Scott, Abts 2008; Faanes et al. 2012; Hastings et al. 2015",
    parameters: &[
        GROUPS,
        Parameter {
            name: "routers_per_group",
            kind: COUNT,
            default: None,
            summary: "a, all connected to each other, or in rows",
        },
        Parameter {
            name: "rows",
            kind: COUNT,
            default: Some("1"),
            summary: "R, rows of a / R routers: those of a row and those of a column are connected",
        },
        Parameter { name: "hosts_per_router", kind: COUNT, default: None, summary: "p" },
        Parameter {
            name: "global_links_per_router",
            kind: COUNT,
            default: None,
            summary: "h, the most that a router has",
        },
        PER_PAIR,
        ARRANGEMENT,
        Parameter {
            name: "local_lanes",
            kind: Kind::Integer(1, 1 << 10),
            default: Some("1"),
            summary: "parallel links between two routers of a group, of a row where there are several",
        },
        Parameter {
            name: "column_lanes",
            kind: Kind::Integer(1, 1 << 10),
            default: Some("1"),
            summary: "parallel links between two routers of a column",
        },
        Parameter {
            name: "column_bandwidth",
            kind: Kind::Bandwidth,
            default: Some(""),
            summary: "of a link between routers of a column; missing: local_bandwidth",
        },
        Parameter {
            name: "column_latency",
            kind: Kind::Time,
            default: Some(""),
            summary: "of a link between routers of a column and the router behind it; missing: local_latency",
        },
        Parameter {
            name: "local_bandwidth",
            kind: Kind::Bandwidth,
            default: Some(""),
            summary: "of a link within a group; missing: [link]'s",
        },
        Parameter {
            name: "local_latency",
            kind: Kind::Time,
            default: Some(""),
            summary: "of a link within a group and the router behind it; missing: [link]'s",
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
        "routers_per_group = 4\nhosts_per_router = 2\nglobal_links_per_router = 2",
        "groups = 5\nrouters_per_group = 4\nhosts_per_router = 1\nglobal_links_per_router = 2\nlocal_lanes = 2\narrangement = \"relative\"",
        "groups = 4\nrouters_per_group = 6\nrows = 2\nhosts_per_router = 1\nglobal_links_per_router = 1\ncolumn_lanes = 2\ncolumn_latency = \"150 ns\"\narrangement = \"circulant\"\nglobal_latency = \"500 ns\"\nglobal_bandwidth = \"5 GB/s\"",
        "groups = 1\nrouters_per_group = 4\nhosts_per_router = 3\nglobal_links_per_router = 1",
    ],
    build,
};

/// A dragonfly. Routers are numbered group by group.
#[derive(Debug, Clone)]
pub struct Dragonfly {
    /// a
    group_size: StrengthReducedU32,
    /// p
    hosts_per_router: StrengthReducedU32,
    /// C
    columns: u32,
    local_lanes: u32,
    column_lanes: u32,
    /// Within a group, or a row of it.
    pub local: Rates,
    /// Within a column of a group.
    pub column: Rates,
    /// Between groups.
    pub global: Rates,
    /// Links of the hosts.
    pub host: Rates,
    first_local: u32,
    globals: GlobalLinks,
    /// Row and column of each router of a group.
    cells: Arc<[(u32, u32)]>,
    links: u32,
}

impl Dragonfly {
    /// R
    fn rows(&self) -> u32 {
        self.group_size.get() / self.columns
    }
    /// Most links between two routers of a group \[hops\].
    fn local_diameter(&self) -> u32 {
        u32::from(self.columns > 1) + u32::from(self.rows() > 1)
    }
    /// Row and column of a router in its group.
    fn cell(&self, router: u32) -> (u32, u32) {
        self.cells[self.place(router).1 as usize]
    }
    /// The next router on the way to another one of the group, and whether the link to it is one of a row: along
    /// the row first, then along the column, so that links of one channel never wait in a circle.
    fn local_step(&self, from: u32, to: u32) -> (u32, bool) {
        let ((row, column), (to_row, to_column)) = (self.cell(from), self.cell(to));
        if column == to_column || row == to_row {
            return (to, row == to_row);
        }
        (from - column + to_column, true)
    }
    /// Links of a router within its group.
    fn local_ports(&self) -> u32 {
        (self.columns - 1) * self.local_lanes + (self.rows() - 1) * self.column_lanes
    }
    /// True if a local link is one of a row.
    fn is_row(&self, link: LinkId) -> bool {
        let port = (link.0 - self.first_local) % self.local_ports();
        port < (self.columns - 1) * self.local_lanes
    }
    /// Group of a router, and its number there.
    fn place(&self, router: u32) -> (u32, u32) {
        StrengthReducedU32::div_rem(router, self.group_size)
    }
    /// The link from router `from` to router `to` of the same row or column.
    fn local_link(&self, from: u32, to: u32, lane: u32) -> LinkId {
        let ((row, column), (to_row, to_column)) = (self.cell(from), self.cell(to));
        let port = if row == to_row {
            (to_column - u32::from(to_column > column)) * self.local_lanes + lane
        } else {
            let slot = to_row - u32::from(to_row > row);
            (self.columns - 1) * self.local_lanes + slot * self.column_lanes + lane
        };
        LinkId(self.first_local + from * self.local_ports() + port)
    }

    /// Global link number `copy` from `group` to `target`, with the routers at its ends.
    fn global_link(&self, group: u32, target: u32, copy: u32) -> (LinkId, u32, u32) {
        let (link, from, to) = self.globals.link(group, target, copy);
        let size = self.group_size.get();
        (link, group * size + from, target * size + to)
    }

    /// The routers at the ends of a link between routers.
    fn ends(&self, id: LinkId) -> (u32, u32) {
        if self.globals.holds(id) {
            let [from, to] = self.globals.ends(id);
            let router = |(group, number)| group * self.group_size.get() + number;
            return (router(from), router(to));
        }
        let index = id.0 - self.first_local;
        let (from, port) = (index / self.local_ports(), index % self.local_ports());
        let (row, column) = self.cell(from);
        let in_row = (self.columns - 1) * self.local_lanes;
        if port < in_row {
            let slot = port / self.local_lanes;
            return (from, from - column + slot + u32::from(slot >= column));
        }
        let slot = (port - in_row) / self.column_lanes;
        let to_row = slot + u32::from(slot >= row);
        (from, from - row * self.columns + to_row * self.columns)
    }

    /// Goes to a third group, if `end` is in another group and there is a third.
    fn through_group(&self, at: u32, end: u32, choice: &mut Choice, walk: &mut Walk) -> u32 {
        let (group, target) = (self.group_of(at), self.group_of(end));
        if group == target || self.groups() < 3 {
            return at;
        }
        let between = other_than([group, target], self.groups(), choice);
        self.cross(at, between, None, choice, walk)
    }

    /// Goes to a third router of the group, if there is one.
    fn through_router(&self, at: u32, end: u32, choice: &mut Choice, walk: &mut Walk) -> u32 {
        let ((_, number), (_, target)) = (self.place(at), self.place(end));
        let size = self.group_size.get();
        if number == target || size < 3 {
            return at;
        }
        let router = at - number + other_than([number, target], size, choice);
        self.local_way(at, router, choice, walk);
        router
    }

    /// Goes to group `target`, over one of the links that make the way to `end` shortest; says where it lands.
    fn cross(&self, at: u32, target: u32, end: Option<u32>, choice: &mut Choice, walk: &mut Walk) -> u32 {
        let group = self.group_of(at);
        let (start, last) = (self.cell(at), end.map(|end| self.cell(end)));
        let hops = |(gate, landing): (u32, u32)| {
            let before = hops_between(start, self.cells[gate as usize]);
            before + last.map_or(0, |last| hops_between(self.cells[landing as usize], last))
        };
        let mut copy = 0;
        if self.globals.copies() > 1 {
            let all = self.globals.between(group, target).map(hops);
            let (mut least, mut equals) = (u32::MAX, 0);
            for hops in all.clone() {
                equals = if hops < least { 1 } else { equals + u32::from(hops == least) };
                least = least.min(hops);
            }
            let chosen = choice.below(equals);
            let mut equal = (0..).zip(all).filter(|(_, hops)| *hops == least);
            copy = equal.nth(chosen as usize).expect("it was counted").0;
        }
        let (link, gate, landing) = self.global_link(group, target, copy);
        self.local_way(at, gate, choice, walk);
        walk.link(link, self.global);
        landing
    }

    fn local_way(&self, mut at: u32, end: u32, choice: &mut Choice, walk: &mut Walk) {
        while at != end {
            let (next, is_row) = self.local_step(at, end);
            let (lanes, rates) =
                if is_row { (self.local_lanes, self.local) } else { (self.column_lanes, self.column) };
            let lane = choice.below(lanes);
            walk.link(self.local_link(at, next, lane), rates);
            at = next;
        }
    }
}

/// Links between two routers of a group, by their rows and columns \[hops\].
fn hops_between(from: (u32, u32), to: (u32, u32)) -> u32 {
    u32::from(from.0 != to.0) + u32::from(from.1 != to.1)
}

/// Minimal: local, global, local, over one of the global links between the two groups with the fewest hops (a shorter way
/// through a third group is not taken). Detours: by a third group, within a group by a third router (on Cray's Aries as in
/// Faanes et al., SC 2012).
///
/// Within a channel: rows, columns, global links. That makes 2 channels for minimal routes, 3 for those with a detour, and
/// one more where a detour may begin at a later router.
impl Grouped for Dragonfly {
    fn groups(&self) -> u32 {
        self.globals.groups()
    }
    fn group_of(&self, router: u32) -> u32 {
        router / self.group_size
    }
    fn router_number(&self, host: HostId) -> u32 {
        host.0 / self.hosts_per_router
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
        if self.is_global(link) { 2 } else { u8::from(!self.is_row(link)) }
    }
    fn reach(&self) -> Reach {
        let local = self.local_diameter();
        Reach { hops: [2 * local + 1, 3 * local + 2], channels: [2, 3, 4], later: local }
    }
    fn spreads(&self) -> bool {
        self.globals.copies() > 1 || self.local_lanes.max(self.column_lanes) > 1
    }
    fn minimal(&self, mut at: u32, end: u32, choice: &mut Choice, walk: &mut Walk) {
        let target = self.group_of(end);
        if self.group_of(at) != target {
            at = self.cross(at, target, Some(end), choice, walk);
        }
        self.local_way(at, end, choice, walk);
    }
    fn aside(&self, at: u32, end: u32, place: Aside, choice: &mut Choice, walk: &mut Walk) -> u32 {
        match place {
            Aside::Group => self.through_group(at, end, choice, walk),
            Aside::Router => self.through_router(at, end, choice, walk),
        }
    }
}

impl Topology for Dragonfly {
    fn hosts(&self) -> u32 {
        self.routers() * self.hosts_per_router.get()
    }
    fn routers(&self) -> u32 {
        self.groups() * self.group_size.get()
    }
    fn links(&self) -> u32 {
        self.links
    }
    fn link(&self, id: LinkId) -> Link {
        if let Some(link) = self.host_link(id, self.host) {
            return link;
        }
        let (order, is_grid) = (self.order_of(id), self.rows() > 1);
        let class = (HOST_CLASSES.len() + usize::from(if is_grid { order } else { order / 2 })) as u16;
        let (from, to) = self.ends(id);
        let rates = [self.local, self.column, self.global][usize::from(order)];
        let (from, to) = (Node::Router(RouterId(from)), Node::Router(RouterId(to)));
        Link { from, to, bandwidth: rates.bandwidth, latency: rates.latency, class }
    }
    fn classes(&self) -> Vec<String> {
        let inner: &[&str] = if self.rows() > 1 { &["local", "column"] } else { &["local"] };
        HOST_CLASSES.iter().chain(inner).chain(&["global"]).map(|name| name.to_string()).collect()
    }
    fn router_of(&self, host: HostId) -> RouterId {
        RouterId(self.router_number(host))
    }
    fn hosts_of(&self, router: RouterId) -> Range<u32> {
        let each = self.hosts_per_router.get();
        router.0 * each..(router.0 + 1) * each
    }
    fn ports(&self, router: RouterId, ports: &mut Vec<LinkId>) {
        let (group, number) = self.place(router.0);
        let local = self.first_local + router.0 * self.local_ports();
        ports.extend((local..local + self.local_ports()).map(LinkId));
        ports.extend(self.globals.leaving(group, number).map(LinkId));
    }
    fn formula(&self) -> Formula {
        let [g, a, n] = [self.groups(), self.group_size.get(), self.globals.copies()].map(u64::from);
        let hosts = g * a * u64::from(self.hosts_per_router.get());
        let links = 2 * hosts + g * a * u64::from(self.local_ports()) + g * (g - 1) * n;
        // Two hops reach at most these routers; where they are not all, some pair needs three.
        let h = (n * (g - 1)).div_ceil(a);
        let near = 1 + (a - 1) + h + 2 * (a - 1) * h + h * h.saturating_sub(1);
        let diameter = match (g, a) {
            (1, _) => Some(self.local_diameter()),
            _ if self.rows() > 1 => None,
            (_, 1) => Some(1),
            _ if near < g * a => Some(3),
            _ => None,
        };
        Formula { diameter, ..Formula::counts(hosts, g * a, links) }
    }
    fn router_name(&self, router: RouterId) -> String {
        let (group, number) = self.place(router.0);
        if self.rows() > 1 {
            let (row, column) = self.cell(router.0);
            return format!("group {group} row {row} column {column}");
        }
        format!("group {group} router {number}")
    }
    fn default_routing(&self) -> &'static str {
        "minimal"
    }
    fn unit(&self) -> u32 {
        self.group_size.get()
    }
    fn positions(&self, _class: u16) -> Positions {
        Positions { of: "group".to_string(), count: self.groups() }
    }
    fn position(&self, id: LinkId) -> u32 {
        let router = match self.link(id).from {
            Node::Host(host) => self.router_number(host),
            Node::Router(router) => router.0,
        };
        router / self.group_size
    }
    fn grouped(&self) -> Option<Arc<dyn Grouped>> {
        Some(Arc::new(self.clone()))
    }
}

fn build(arguments: &Arguments, links: &LinkDefaults) -> Result<Box<dyn Topology>, BuildError> {
    let count = |name| arguments.integer(name).map(|value| value as u64);
    let required = |name| count(name).expect("a required parameter is there");
    let (a, p) = (required("routers_per_group"), required("hosts_per_router"));
    let h = required("global_links_per_router");
    let rows = required("rows");
    if a % rows != 0 {
        let reason = format!("{rows} rows do not divide the {a} routers of a group; known: divisors of {a}");
        return Err(BuildError::new("rows", reason));
    }
    let counts = Counts::read(arguments, a, h)?;
    let (g, n) = (counts.groups, counts.copies);
    let (local_lanes, column_lanes) = (required("local_lanes"), required("column_lanes"));
    let local_ports = (a / rows - 1) * local_lanes + (rows - 1) * column_lanes;
    let [groups, routers, ports, copies] = [g, g * a, local_ports, n].map(u128::from);
    let total = routers * (2 * u128::from(p) + ports) + groups * (groups - 1) * copies;
    let links_total = u32::try_from(total).map_err(|_| {
        let reason =
            format!("{g} groups of {a} routers need {total} links, at most {}; make it smaller", u32::MAX);
        BuildError::new("groups", reason)
    })?;
    let first_local = (2 * g * a * p) as u32;
    let columns = (a / rows) as u32;
    let local = rates(arguments, "local_bandwidth", "local_latency", links.between())?;
    Ok(Box::new(Dragonfly {
        group_size: StrengthReducedU32::new(a as u32),
        hosts_per_router: StrengthReducedU32::new(p as u32),
        columns,
        cells: (0..a as u32).map(|number| (number / columns, number % columns)).collect(),
        local_lanes: local_lanes as u32,
        column_lanes: column_lanes as u32,
        local,
        column: rates(arguments, "column_bandwidth", "column_latency", local)?,
        global: rates(arguments, "global_bandwidth", "global_latency", links.between())?,
        host: links.host(),
        first_local,
        globals: GlobalLinks::new(arguments, counts, a, first_local + (g * a * local_ports) as u32),
        links: links_total,
    }))
}
