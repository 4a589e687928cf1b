//! Fat tree: an extended generalized fat tree XGFT(h; m_1..m_h; w_1..w_h), and the k-ary n-tree.
//!
//! Hosts are level 0. A node of level l has `m_l` children and, below the top, `w_{l+1}` parents.
//! With `M_l = m_1 … m_l` and `W_l = w_1 … w_l` there are `M_h` hosts and `W_l M_h / M_l` routers on
//! level l; router `a W_l + b` of a level has subtree a (hosts `a M_l .. (a + 1) M_l`) and place b in it.
//! It is linked to the routers of level l + 1 with subtree `a / m_{l+1}` and place `b + W_l c` for every
//! `c < w_{l+1}`. Hosts have one link each (`w_1 = 1`). A k-ary n-tree is XGFT(n; k,…,k; 1,k,…,k).
//! Two hosts whose nearest common ancestor is on level l are `2 (l - 1)` router hops apart.
//!
//! Tapering: fewer parents (`w`, `uplinks`), or narrower links (`bandwidth` or `taper` per level).
//!
//! Source: Öhring, Ibel, Das, Kumar, "On generalized fat trees" (IPPS 1995); Petrini and Vanneschi,
//! "k-ary n-trees" (IPPS 1997); parallel links as in Zahavi, "D-Mod-K routing" (CCIT report 776, 2010).

use std::ops::Range;

use engine::Bandwidth;
use engine::registry::{Arguments, BuildError, Entry, Kind, Parameter};
use strength_reduce::StrengthReducedU32;

use super::{
    Build, Formula, HOST_CLASSES, HostId, Link, LinkDefaults, LinkId, Node, Positions, Rates, RouterId,
    Topology,
};
use crate::topology::Idle;

const LEVEL_LIST: Kind = Kind::List(&Kind::Integer(1, 1 << 20));

/// The registry's line.
pub const ENTRY: Entry<Build> = Entry {
    name: "fat-tree",
    summary: "XGFT(h; m; w), or a k-ary n-tree; full or tapered",
    source: "Öhring, Ibel, Das, Kumar 1995; Petrini and Vanneschi 1997",
    parameters: &[
        Parameter {
            name: "m",
            kind: LEVEL_LIST,
            default: Some(""),
            summary: "children of a router on each level, from the hosts up; h is the length of the list",
        },
        Parameter {
            name: "w",
            kind: LEVEL_LIST,
            default: Some(""),
            summary: "parents of a node below each level, from the hosts up; the first is 1",
        },
        Parameter {
            name: "k",
            kind: Kind::Integer(1, 1 << 20),
            default: Some(""),
            summary: "instead of m and w: ports down (and up) of a router of the k-ary n-tree",
        },
        Parameter {
            name: "levels",
            kind: Kind::Integer(1, 20),
            default: Some(""),
            summary: "with k: n, the levels of routers",
        },
        Parameter {
            name: "uplinks",
            kind: Kind::Integer(1, 1 << 20),
            default: Some(""),
            summary: "with k: parents of a router, fewer than k in a tapered tree; missing: k",
        },
        Parameter {
            name: "lanes",
            kind: LEVEL_LIST,
            default: Some(""),
            summary: "parallel links between two routers: one value, or one per level of links; missing: 1",
        },
        Parameter {
            name: "bandwidth",
            kind: Kind::List(&Kind::Bandwidth),
            default: Some(""),
            summary: "of links between routers: one value, or one per level of links; missing: [link]'s",
        },
        Parameter {
            name: "latency",
            kind: Kind::List(&Kind::Time),
            default: Some(""),
            summary: "of links between routers: one value, or one per level of links; missing: [link]'s",
        },
        Parameter {
            name: "taper",
            kind: Kind::List(&Kind::Number(1.0, 1e6)),
            default: Some(""),
            summary: "by what the bandwidth is divided: one value, or one per level of links; missing: 1",
        },
    ],
    examples: &[
        "k = 4\nlevels = 2",
        "k = 2\nlevels = 3\nuplinks = 1",
        "m = [3, 2, 4]\nw = [1, 2, 3]\nlanes = [2, 1]\ntaper = [1, 2]",
        "m = [3, 2]\nw = [1, 2]",
        "m = [2, 2, 2, 2]\nw = [1, 1, 3, 2]",
    ],
    build,
};

/// The links between one level of routers and the next.
#[derive(Debug, Clone, Copy)]
pub struct LevelLinks {
    /// Parents of a router: w of the level above.
    pub parents: StrengthReducedU32,
    /// Parallel links to each.
    pub lanes: StrengthReducedU32,
    /// Rates of each, either way.
    pub rates: Rates,
    /// The first link up; as many down follow the last.
    base: u32,
    /// Links up, and links down.
    count: u32,
}

/// One level of routers.
#[derive(Debug, Clone, Copy)]
pub struct Level {
    /// Hosts below one router: M_l.
    pub hosts_below: StrengthReducedU32,
    /// Routers with the same hosts below: W_l.
    pub places: StrengthReducedU32,
    /// The number of its first router.
    pub first: u32,
    /// Children: m_l.
    pub children: StrengthReducedU32,
    /// Links to the level above; `None` at the top.
    pub above: Option<LevelLinks>,
    /// The idle path between two hosts that meet here.
    pub idle: Idle,
}

/// An extended generalized fat tree.
#[derive(Debug, Clone)]
pub struct FatTree {
    /// From the hosts' routers up.
    levels: Vec<Level>,
    hosts: u32,
    routers: u32,
    links: u32,
    host_rates: Rates,
}

impl FatTree {
    /// Its levels of routers, from the hosts up.
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// The index of the level on which the nearest common ancestors of two hosts are.
    pub fn meeting_level(&self, from: HostId, to: HostId) -> usize {
        let meet = |level: &Level| from.0 / level.hosts_below == to.0 / level.hosts_below;
        self.levels.iter().position(meet).expect("the top level covers all hosts")
    }

    /// The link, between level `level` and the next, of the child router with `subtree` and `place`
    /// and its parent number `parent`.
    pub fn up_link(&self, level: usize, subtree: u32, place: u32, parent: u32, lane: u32) -> LinkId {
        let this = &self.levels[level];
        let above = this.above.as_ref().expect("there is a level above");
        let node = subtree * this.places.get() + place;
        LinkId(above.base + (node * above.parents.get() + parent) * above.lanes.get() + lane)
    }

    /// The way back of a link that [`FatTree::up_link`] gave.
    pub fn reversed(&self, level: usize, up: LinkId) -> LinkId {
        let above = self.levels[level].above.as_ref().expect("there is a level above");
        LinkId(up.0 + above.count)
    }

    /// Half of the subtrees of a level are cut off by their links up; the cheapest level counts.
    fn bisection(&self) -> Option<Bandwidth> {
        let cut = |level: &Level| {
            let (above, subtrees) = (level.above?, self.hosts / level.hosts_below.get());
            let ports = [level.places, above.parents, above.lanes].map(|count| f64::from(count.get()));
            let each = ports.iter().product::<f64>() * above.rates.bandwidth.as_f64();
            Some((f64::from(subtrees) / 2.0 * each, subtrees % 2 == 0))
        };
        let cuts = self.levels.iter().filter_map(cut);
        let (cheapest, even) = cuts.min_by(|one, other| one.0.total_cmp(&other.0))?;
        even.then(|| Bandwidth::from_f64(cheapest))
    }

    /// Level and number within the level of a router.
    pub fn place_of(&self, router: RouterId) -> (usize, u32) {
        let level = self.levels.partition_point(|level| level.first <= router.0) - 1;
        (level, router.0 - self.levels[level].first)
    }
}

impl Topology for FatTree {
    fn hosts(&self) -> u32 {
        self.hosts
    }
    fn routers(&self) -> u32 {
        self.routers
    }
    fn links(&self) -> u32 {
        self.links
    }
    fn link(&self, id: LinkId) -> Link {
        if let Some(link) = self.host_link(id, self.host_rates) {
            return link;
        }
        let holds = |level: &Level| level.above.is_some_and(|above| id.0 < above.base + 2 * above.count);
        let number = self.levels.iter().position(holds).expect("the link exists");
        let (level, next) = (&self.levels[number], &self.levels[number + 1]);
        let above = level.above.expect("only levels with links hold one");
        let up = id.0 < above.base + above.count;
        let index = (id.0 - above.base - if up { 0 } else { above.count }) / above.lanes;
        let (node, parent) = StrengthReducedU32::div_rem(index, above.parents);
        let (subtree, place) = StrengthReducedU32::div_rem(node, level.places);
        let high = (subtree / next.children) * next.places.get() + place + level.places.get() * parent;
        let low = Node::Router(RouterId(level.first + node));
        let high = Node::Router(RouterId(next.first + high));
        let class = (HOST_CLASSES.len() + 2 * number + usize::from(!up)) as u16;
        let (from, to) = if up { (low, high) } else { (high, low) };
        Link { from, to, bandwidth: above.rates.bandwidth, latency: above.rates.latency, class }
    }
    fn classes(&self) -> Vec<String> {
        let mut classes: Vec<String> = HOST_CLASSES.map(String::from).to_vec();
        for level in 2..=self.levels.len() {
            classes.extend([format!("up {level}"), format!("down {level}")]);
        }
        classes
    }
    fn router_of(&self, host: HostId) -> RouterId {
        RouterId(host.0 / self.levels[0].hosts_below)
    }
    fn hosts_of(&self, router: RouterId) -> Range<u32> {
        let each = self.levels[0].hosts_below.get();
        let leaves = self.hosts / each;
        if router.0 < leaves { router.0 * each..(router.0 + 1) * each } else { 0..0 }
    }
    fn ports(&self, router: RouterId, ports: &mut Vec<LinkId>) {
        let (number, node) = self.place_of(router);
        let level = &self.levels[number];
        let (subtree, place) = StrengthReducedU32::div_rem(node, level.places);
        // Down first, as the level below sees its parent number, then up.
        if let Some(below) = number.checked_sub(1) {
            let (parent, low) = StrengthReducedU32::div_rem(place, self.levels[below].places);
            let lanes = self.levels[below].above.map_or(0, |above| above.lanes.get());
            for child in 0..level.children.get() {
                let child = subtree * level.children.get() + child;
                ports.extend(
                    (0..lanes)
                        .map(|lane| self.reversed(below, self.up_link(below, child, low, parent, lane))),
                );
            }
        }
        if let Some(above) = level.above {
            for parent in 0..above.parents.get() {
                ports.extend(
                    (0..above.lanes.get()).map(|lane| self.up_link(number, subtree, place, parent, lane)),
                );
            }
        }
    }
    fn formula(&self) -> Formula {
        let hosts = self.levels.iter().map(|level| u64::from(level.children.get())).product::<u64>();
        let routers_of =
            |level: &Level| hosts / u64::from(level.hosts_below.get()) * u64::from(level.places.get());
        let links = self.levels.iter().filter_map(|level| {
            let above = level.above?;
            Some(routers_of(level) * u64::from(above.parents.get()) * u64::from(above.lanes.get()))
        });
        let top = self.levels.iter().rposition(|level| level.children.get() > 1).unwrap_or(0);
        // Of a host's partners, those below its ancestor on a level but not below the one before.
        let mut nearer = 1;
        let hops = self.levels.iter().enumerate().map(|(number, level)| {
            let partners = level.hosts_below.get() - nearer;
            nearer = level.hosts_below.get();
            2.0 * number as f64 * f64::from(partners)
        });
        let hops: f64 = hops.sum();
        Formula {
            diameter: Some(2 * top as u32),
            mean_hops: (hosts > 1).then(|| hops / (hosts - 1) as f64),
            bisection: self.bisection(),
            ..Formula::counts(
                hosts,
                self.levels.iter().map(routers_of).sum(),
                2 * (hosts + links.sum::<u64>()),
            )
        }
    }
    fn router_name(&self, router: RouterId) -> String {
        let (level, number) = self.place_of(router);
        format!("level {} router {number}", level + 1)
    }
    fn default_routing(&self) -> &'static str {
        "d-mod-k"
    }
    fn unit(&self) -> u32 {
        let below_top = &self.levels[self.levels.len().saturating_sub(2)];
        below_top.hosts_below.get() / self.levels[0].hosts_below.get()
    }
    /// The routers at the lower ends of the links.
    fn positions(&self, class: u16) -> Positions {
        let number = usize::from(class).saturating_sub(HOST_CLASSES.len()) / 2;
        let next = self.levels.get(number + 1).map_or(self.routers, |next| next.first);
        Positions { of: format!("level {} router", number + 1), count: next - self.levels[number].first }
    }
    fn position(&self, id: LinkId) -> u32 {
        let numbers = match self.link(id) {
            Link { from: Node::Router(from), to: Node::Router(to), .. } => (from, to),
            Link { from: Node::Host(host), .. } | Link { to: Node::Host(host), .. } => {
                return self.router_of(host).0;
            }
        };
        self.place_of(numbers.0.min(numbers.1)).1
    }
    fn levelled(&self) -> Option<&FatTree> {
        Some(self)
    }
}

fn build(arguments: &Arguments, links: &LinkDefaults) -> Result<Box<dyn Topology>, BuildError> {
    let (m, w) = shape(arguments)?;
    let steps = m.len() - 1;
    let lanes = per_level("lanes", &arguments.integers("lanes"), 1, steps)?;
    let bandwidths = per_level("bandwidth", &arguments.bandwidths("bandwidth"), links.bandwidth, steps)?;
    let latencies = per_level("latency", &arguments.times("latency"), links.latency, steps)?;
    let tapers = per_level("taper", &arguments.numbers("taper"), 1.0, steps)?;
    let rates: Vec<Rates> = (0..steps)
        .map(|step| Rates {
            bandwidth: bandwidths[step].scaled(1.0 / tapers[step]),
            latency: latencies[step],
        })
        .collect();
    if let Some(step) = rates.iter().position(|rates| rates.bandwidth == Bandwidth(0)) {
        let reason = format!("{} on level {} carries nothing; write more", bandwidths[step], step + 1);
        return Err(BuildError::new("bandwidth", reason));
    }
    Ok(Box::new(tree(&m, &w, &lanes, &rates, links)?))
}

/// m and w, of the lists or of k and levels.
fn shape(arguments: &Arguments) -> Result<(Vec<i64>, Vec<i64>), BuildError> {
    let (m, w) = (arguments.integers("m"), arguments.integers("w"));
    let (k, levels) = (arguments.integer("k"), arguments.integer("levels"));
    let uplinks = arguments.integer("uplinks");
    if let Some(k) = k {
        if !m.is_empty() || !w.is_empty() {
            return Err(BuildError::new("k", format!("{k} and the lists m and w exclude each other")));
        }
        let levels = levels.ok_or_else(|| BuildError::new("levels", "missing; a k-ary n-tree needs n"))?;
        let mut parents = vec![uplinks.unwrap_or(k); levels as usize];
        parents[0] = 1;
        return Ok((vec![k; levels as usize], parents));
    }
    for (name, given) in [("levels", levels), ("uplinks", uplinks)] {
        if let Some(given) = given {
            return Err(BuildError::new(name, format!("{given} has a meaning only together with k")));
        }
    }
    if m.is_empty() {
        return Err(BuildError::new("m", "missing; write m and w, or k and levels"));
    }
    if w.len() != m.len() {
        let reason = format!("{} values, but m has {}; write as many", w.len(), m.len());
        return Err(BuildError::new("w", reason));
    }
    if w[0] != 1 {
        return Err(BuildError::new(
            "w",
            format!("{} parents for each host; a host has one link: write 1", w[0]),
        ));
    }
    Ok((m, w))
}

fn per_level<T: Copy>(
    name: &'static str,
    values: &[T],
    default: T,
    steps: usize,
) -> Result<Vec<T>, BuildError> {
    match values.len() {
        0 => Ok(vec![default; steps]),
        1 => Ok(vec![values[0]; steps]),
        n if n == steps => Ok(values.to_vec()),
        n => Err(BuildError::new(
            name,
            format!("{n} values for {steps} levels of links between routers; write one for all, or {steps}"),
        )),
    }
}

fn tree(
    m: &[i64],
    w: &[i64],
    lanes: &[i64],
    rates: &[Rates],
    links: &LinkDefaults,
) -> Result<FatTree, BuildError> {
    let too_large = || {
        let parameter = if m.len() > 1 && m.windows(2).all(|pair| pair[0] == pair[1]) { "k" } else { "m" };
        BuildError::new(
            parameter,
            format!("m = {m:?}, w = {w:?} need more than {} links; make it smaller", u32::MAX),
        )
    };
    let product = |values: &[i64]| {
        values.iter().try_fold(1u32, |product, value| product.checked_mul(u32::try_from(*value).ok()?))
    };
    let hosts = product(m).ok_or_else(too_large)?;
    let host_rates = links.host();
    let mut next = hosts.checked_mul(2).ok_or_else(too_large)?;
    let (mut levels, mut first) = (Vec::with_capacity(m.len()), 0u32);
    let mut idle = Idle { latency: host_rates.latency * 2, bandwidth: host_rates.bandwidth };
    for number in 0..m.len() {
        let hosts_below = product(&m[..=number]).ok_or_else(too_large)?;
        let places = product(&w[..=number]).ok_or_else(too_large)?;
        let routers = (hosts / hosts_below).checked_mul(places).ok_or_else(too_large)?;
        let mut level = Level {
            hosts_below: StrengthReducedU32::new(hosts_below),
            places: StrengthReducedU32::new(places),
            first,
            children: StrengthReducedU32::new(m[number] as u32),
            above: None,
            idle,
        };
        if number + 1 < m.len() {
            let (parents, lanes) = (w[number + 1] as u32, lanes[number] as u32);
            let count = routers.checked_mul(parents).and_then(|count| count.checked_mul(lanes));
            let count = count.ok_or_else(too_large)?;
            level.above = Some(LevelLinks {
                parents: StrengthReducedU32::new(parents),
                lanes: StrengthReducedU32::new(lanes),
                rates: rates[number],
                base: next,
                count,
            });
            next = count.checked_mul(2).and_then(|both| next.checked_add(both)).ok_or_else(too_large)?;
            idle.latency += rates[number].latency * 2;
            idle.bandwidth = idle.bandwidth.min(rates[number].bandwidth);
        }
        levels.push(level);
        first = first.checked_add(routers).ok_or_else(too_large)?;
    }
    Ok(FatTree { levels, hosts, routers: first, links: next, host_rates })
}
