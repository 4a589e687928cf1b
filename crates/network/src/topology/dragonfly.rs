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

use super::{
    Build, Formula, HOST_CLASSES, HostId, Link, LinkDefaults, LinkId, Node, Positions, Rates, RouterId,
    Topology,
};

const COUNT: Kind = Kind::Integer(1, 1 << 20);

/// The registry's line.
pub const ENTRY: Entry<Build> = Entry {
    name: "dragonfly",
    summary: "fully connected groups of routers, each fully connected or in rows and columns (Cascade)",
    source: "Kim, Dally, Scott, Abts 2008; Faanes et al. 2012; Hastings et al. 2015",
    parameters: &[
        Parameter {
            name: "groups",
            kind: COUNT,
            default: Some(""),
            summary: "g; missing: as many as one global link to each allows, a h + 1",
        },
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
        Parameter {
            name: "global_links_per_pair",
            kind: COUNT,
            default: Some(""),
            summary: "n, parallel links between two groups; missing: as many as the ports allow",
        },
        Parameter {
            name: "arrangement",
            kind: Kind::Choice(&["absolute", "relative", "circulant"]),
            default: Some("\"absolute\""),
            summary: "which global port leads to which group",
        },
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
    build,
};

/// Which global port leads to which group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Arrangement {
    Absolute,
    Relative,
    Circulant,
}

/// A dragonfly. Routers are numbered group by group.
#[derive(Debug, Clone)]
pub struct Dragonfly {
    groups: u32,
    /// a
    group_size: StrengthReducedU32,
    /// p
    hosts_per_router: StrengthReducedU32,
    /// n
    copies: u32,
    /// Number within its group of the router that has each global port; q of them.
    gates: Arc<[u32]>,
    arrangement: Arrangement,
    /// C
    columns: StrengthReducedU32,
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
    first_global: u32,
    links: u32,
}

impl Dragonfly {
    /// g
    pub fn groups(&self) -> u32 {
        self.groups
    }
    /// a
    pub fn group_size(&self) -> u32 {
        self.group_size.get()
    }
    /// n, parallel links between two groups.
    pub fn copies(&self) -> u32 {
        self.copies
    }
    /// Parallel links between two routers of a row (`is_row`) or column.
    pub fn lanes(&self, is_row: bool) -> u32 {
        if is_row { self.local_lanes } else { self.column_lanes }
    }
    /// R
    fn rows(&self) -> u32 {
        self.group_size.get() / self.columns.get()
    }
    /// Most links between two routers of a group \[hops\].
    pub fn local_diameter(&self) -> u32 {
        u32::from(self.columns.get() > 1) + u32::from(self.rows() > 1)
    }
    /// Row and column of a router in its group.
    fn cell(&self, router: u32) -> (u32, u32) {
        StrengthReducedU32::div_rem(self.place(router).1, self.columns)
    }
    /// Links between two routers of a group \[hops\].
    pub fn local_hops(&self, from: u32, to: u32) -> u32 {
        let (from, to) = (self.cell(from), self.cell(to));
        u32::from(from.0 != to.0) + u32::from(from.1 != to.1)
    }
    /// The next router on the way to another one of the group, and whether the link to it is one of a row: along
    /// the row first, then along the column, so that links of one channel never wait in a circle.
    pub fn local_step(&self, from: u32, to: u32) -> (u32, bool) {
        let ((row, column), (to_row, to_column)) = (self.cell(from), self.cell(to));
        if column == to_column || row == to_row {
            return (to, row == to_row);
        }
        (from - column + to_column, true)
    }
    /// The order of a link within a channel: rows, then columns, then global ones.
    pub fn order_of(&self, link: LinkId) -> u8 {
        if self.is_global(link) { 2 } else { u8::from(!self.is_row(link)) }
    }
    /// Links of a router within its group.
    fn local_ports(&self) -> u32 {
        (self.columns.get() - 1) * self.local_lanes + (self.rows() - 1) * self.column_lanes
    }
    /// True if a local link is one of a row.
    fn is_row(&self, link: LinkId) -> bool {
        let port = (link.0 - self.first_local) % self.local_ports();
        port < (self.columns.get() - 1) * self.local_lanes
    }
    /// The number of the router of a host.
    pub fn router_number(&self, host: HostId) -> u32 {
        host.0 / self.hosts_per_router
    }
    /// Group of a router, and its number there.
    pub fn place(&self, router: u32) -> (u32, u32) {
        StrengthReducedU32::div_rem(router, self.group_size)
    }
    /// True if a link between routers is a global one.
    pub fn is_global(&self, link: LinkId) -> bool {
        link.0 >= self.first_global
    }

    /// The link from router `from` to router `to` of the same row or column.
    pub fn local_link(&self, from: u32, to: u32, lane: u32) -> LinkId {
        let ((row, column), (to_row, to_column)) = (self.cell(from), self.cell(to));
        let port = if row == to_row {
            (to_column - u32::from(to_column > column)) * self.local_lanes + lane
        } else {
            let slot = to_row - u32::from(to_row > row);
            (self.columns.get() - 1) * self.local_lanes + slot * self.column_lanes + lane
        };
        LinkId(self.first_local + from * self.local_ports() + port)
    }

    /// Global link number `copy` from `group` to `target`, with the routers at its ends.
    pub fn global_link(&self, group: u32, target: u32, copy: u32) -> (LinkId, u32, u32) {
        let start = copy * (self.groups - 1);
        let port = start + self.slot(group, target);
        let back = start + self.slot(target, group);
        let link = LinkId(self.first_global + group * self.group_ports() + port);
        (link, self.port_router(group, port), self.port_router(target, back))
    }

    /// The router at the end of a link between routers.
    pub fn end_of(&self, id: LinkId) -> u32 {
        self.ends(id).1
    }

    /// The routers at the ends of a link between routers.
    fn ends(&self, id: LinkId) -> (u32, u32) {
        if self.is_global(id) {
            let index = id.0 - self.first_global;
            let (group, port) = (index / self.group_ports(), index % self.group_ports());
            let (copy, slot) = (port / (self.groups - 1), port % (self.groups - 1));
            let (link, from, to) = self.global_link(group, self.target(group, slot), copy);
            debug_assert_eq!(link, id);
            return (from, to);
        }
        let index = id.0 - self.first_local;
        let (from, port) = (index / self.local_ports(), index % self.local_ports());
        let (row, column) = self.cell(from);
        let in_row = (self.columns.get() - 1) * self.local_lanes;
        if port < in_row {
            let slot = port / self.local_lanes;
            return (from, from - column + slot + u32::from(slot >= column));
        }
        let slot = (port - in_row) / self.column_lanes;
        let to_row = slot + u32::from(slot >= row);
        (from, from - row * self.columns.get() + to_row * self.columns.get())
    }

    /// The slot of `group` that leads to `target`.
    fn slot(&self, group: u32, target: u32) -> u32 {
        let ahead = if target > group { target - group } else { target + self.groups - group };
        match self.arrangement {
            Arrangement::Absolute => target - u32::from(target > group),
            Arrangement::Relative => ahead - 1,
            Arrangement::Circulant if ahead * 2 <= self.groups => 2 * (ahead - 1),
            Arrangement::Circulant => 2 * (self.groups - ahead) - 1,
        }
    }

    /// The group to which slot `slot` of `group` leads.
    fn target(&self, group: u32, slot: u32) -> u32 {
        let ahead = match self.arrangement {
            Arrangement::Absolute => return slot + u32::from(slot >= group),
            Arrangement::Relative => slot + 1,
            Arrangement::Circulant if slot % 2 == 0 => slot / 2 + 1,
            Arrangement::Circulant => self.groups - slot.div_ceil(2),
        };
        (group + ahead) % self.groups
    }

    /// The router that has global port `port` of `group`.
    fn port_router(&self, group: u32, port: u32) -> u32 {
        group * self.group_size.get() + self.gates[port as usize]
    }

    /// q, the global ports of a group.
    fn group_ports(&self) -> u32 {
        self.gates.len() as u32
    }

    /// The first global port of router `number` of a group.
    fn first_port(&self, number: u32) -> u32 {
        (u64::from(number) * self.gates.len() as u64).div_ceil(self.group_size.get().into()) as u32
    }
}

impl Topology for Dragonfly {
    fn hosts(&self) -> u32 {
        self.routers() * self.hosts_per_router.get()
    }
    fn routers(&self) -> u32 {
        self.groups * self.group_size.get()
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
        let first = self.first_global + group * self.group_ports();
        ports.extend((self.first_port(number)..self.first_port(number + 1)).map(|port| LinkId(first + port)));
    }
    fn formula(&self) -> Formula {
        let [g, a, n] = [self.groups, self.group_size.get(), self.copies].map(u64::from);
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
        Positions { of: "group".to_string(), count: self.groups }
    }
    fn position(&self, id: LinkId) -> u32 {
        let router = match self.link(id).from {
            Node::Host(host) => self.router_number(host),
            Node::Router(router) => router.0,
        };
        router / self.group_size
    }
    fn as_any(&self) -> &dyn std::any::Any {
        self
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
    let g = count("groups").unwrap_or(a * h + 1);
    if g > a * h + 1 {
        let reason = format!(
            "{g} groups, but a group has {a} x {h} = {} global links; at most {} groups can be connected",
            a * h,
            a * h + 1
        );
        return Err(BuildError::new("groups", reason));
    }
    let most = if g == 1 { 1 } else { a * h / (g - 1) };
    let n = count("global_links_per_pair").unwrap_or(most);
    if n > most {
        let reason =
            format!("{n} links to each of {} groups need more ports than {a} x {h}; at most {most}", g - 1);
        return Err(BuildError::new("global_links_per_pair", reason));
    }
    let rates = |bandwidth, latency, missing: Rates| -> Result<Rates, BuildError> {
        let given = Rates {
            bandwidth: arguments.bandwidth(bandwidth).unwrap_or(missing.bandwidth),
            latency: arguments.time(latency).unwrap_or(missing.latency),
        };
        if given.bandwidth.0 == 0 {
            return Err(BuildError::new(bandwidth, "0 B/s carries nothing; write more, or \"infinite\""));
        }
        Ok(given)
    };
    let (local_lanes, column_lanes) = (required("local_lanes"), required("column_lanes"));
    let local_ports = (a / rows - 1) * local_lanes + (rows - 1) * column_lanes;
    let [groups, routers, ports, copies] = [g, g * a, local_ports, n].map(u128::from);
    let total = routers * (2 * u128::from(p) + ports) + groups * (groups - 1) * copies;
    let links_total = u32::try_from(total).map_err(|_| {
        let reason =
            format!("{g} groups of {a} routers need {total} links, at most {}; make it smaller", u32::MAX);
        BuildError::new("groups", reason)
    })?;
    // Ports are spread evenly over the routers of a group.
    let ports = n * (g - 1);
    let first_local = (2 * g * a * p) as u32;
    let links_of = Rates { bandwidth: links.bandwidth, latency: links.latency };
    let local = rates("local_bandwidth", "local_latency", links_of)?;
    Ok(Box::new(Dragonfly {
        groups: g as u32,
        group_size: StrengthReducedU32::new(a as u32),
        hosts_per_router: StrengthReducedU32::new(p as u32),
        copies: n as u32,
        gates: (0..ports).map(|port| (port * a / ports) as u32).collect(),
        arrangement: match arguments.text("arrangement").as_deref() {
            Some("relative") => Arrangement::Relative,
            Some("circulant") => Arrangement::Circulant,
            _ => Arrangement::Absolute,
        },
        columns: StrengthReducedU32::new((a / rows) as u32),
        local_lanes: local_lanes as u32,
        column_lanes: column_lanes as u32,
        local,
        column: rates("column_bandwidth", "column_latency", local)?,
        global: rates("global_bandwidth", "global_latency", links_of)?,
        host: links.host(),
        first_local,
        first_global: first_local + (g * a * local_ports) as u32,
        links: links_total,
    }))
}
