//! Cuts: which domain of a run each router and each host belongs to.
//!
//! Domains are ranges of routers in the order of their numbers, which follows the topology: slabs of a
//! grid's slowest dimension, whole groups of a dragonfly, subtrees of a fat tree. Each gets about the same
//! weight of hosts. A router without hosts goes with its group, if it is in one; else with its neighbours if they agree
//! (the upper switches of a subtree), and is dealt to the part among theirs that has the fewest of them if they do not.
//! A model that simulates no routers can be cut through them, by hosts alone.

use std::sync::Arc;

use engine::Duration;

use crate::topology::{HostId, LinkId, Node, RouterId, Topology};

/// A network in parts, numbered from 0.
#[derive(Debug, Clone)]
pub struct Cut {
    parts: u32,
    /// By host and by router; empty where there is one part.
    of_host: Vec<u16>,
    of_router: Vec<u16>,
    least_path: Duration,
    least_border: Duration,
}

/// Places at which a network may be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grain {
    /// Between any two hosts.
    Hosts,
    /// Between routers: the hosts of one stay together.
    Routers,
}

/// Nothing ever crosses: what the latencies of a network in one part are.
const FOREVER: Duration = Duration(u64::MAX);

const MOST_PARTS: u32 = 1 << 16;

impl Cut {
    /// All in one part.
    pub fn whole() -> Cut {
        let (of_host, of_router) = (Vec::new(), Vec::new());
        Cut { parts: 1, of_host, of_router, least_path: FOREVER, least_border: FOREVER }
    }

    /// `parts` parts (or as many as there are hosts or routers to deal) of about the same weight; `weights`
    /// says that of each host.
    pub fn new(topology: &dyn Topology, grain: Grain, parts: u32, weights: &[u32]) -> Cut {
        assert_eq!(weights.len(), topology.hosts() as usize, "each host has a weight");
        assert!((1..MOST_PARTS).contains(&parts), "a cut has 1 to {} parts, not {parts}", MOST_PARTS - 1);
        let mut cut = Cut::whole();
        match grain {
            Grain::Hosts => {
                cut.of_host = deal_hosts(topology, parts, weights);
                let first = |router| topology.hosts_of(RouterId(router)).next();
                let part = |router| first(router).map_or(0, |host: u32| cut.of_host[host as usize]);
                cut.of_router = (0..topology.routers() / topology.planes()).map(part).collect();
            }
            Grain::Routers => {
                cut.of_router = deal_routers(topology, parts, weights);
                let part = |host| cut.of_router[topology.router_of(HostId(host)).0 as usize];
                cut.of_host = (0..topology.hosts()).map(part).collect();
            }
        }
        // Planes are cut alike.
        cut.of_router = cut.of_router.repeat(topology.planes() as usize);
        cut.parts = u32::from(cut.of_host.iter().copied().max().unwrap_or(0)) + 1;
        if cut.parts == 1 {
            return Cut::whole();
        }
        cut.measure(topology);
        cut
    }

    /// Number of parts.
    pub fn parts(&self) -> u32 {
        self.parts
    }

    /// The part of a host.
    pub fn of_host(&self, host: HostId) -> u32 {
        if self.parts == 1 { 0 } else { self.of_host[host.0 as usize].into() }
    }

    /// The part of a router.
    pub fn of_router(&self, router: RouterId) -> u32 {
        if self.parts == 1 { 0 } else { self.of_router[router.0 as usize].into() }
    }

    /// The part of one end of a link.
    pub fn of_node(&self, node: Node) -> u32 {
        match node {
            Node::Host(host) => self.of_host(host),
            Node::Router(router) => self.of_router(router),
        }
    }

    /// No path between hosts of different parts has less latency: the sum over its links.
    pub fn least_path(&self) -> Duration {
        self.least_path
    }

    /// No link between routers of different parts has less latency.
    pub fn least_border(&self) -> Duration {
        self.least_border
    }

    /// Finds the least latencies between parts.
    fn measure(&mut self, topology: &dyn Topology) {
        let hosts = topology.hosts();
        let least = |links: std::ops::Range<u32>| {
            links.map(|id| topology.link(LinkId(id)).latency).min().unwrap_or(Duration::ZERO)
        };
        let ends = least(0..hosts) + least(hosts..2 * hosts);
        let crossing = |id: &u32| {
            let link = topology.link(LinkId(*id));
            link.is_between_routers() && self.of_node(link.from) != self.of_node(link.to)
        };
        let border = (2 * hosts..topology.links()).filter(crossing);
        let border = border.map(|id| topology.link(LinkId(id)).latency).min().unwrap_or(FOREVER);
        let is_split = |router: u32| {
            let mut parts = topology.hosts_of(RouterId(router)).map(|host| self.of_host[host as usize]);
            parts.next().is_some_and(|first| parts.any(|part| part != first))
        };
        let split = (0..topology.routers()).any(is_split);
        self.least_border = border;
        self.least_path = if split { ends } else { ends + border };
    }
}

/// Deals blocks to parts, in order, so that parts have about the same weight; numbers parts without gaps.
fn deal(blocks: &[u64], parts: u32) -> Vec<u16> {
    let plain = blocks.iter().all(|weight| *weight == 0);
    let weight = |block: &u64| if plain { 2 } else { 2 * *block };
    let total: u64 = blocks.iter().map(weight).sum();
    let (mut before, mut last, mut number) = (0, None, 0);
    let part = |block: &u64| {
        let middle = before + weight(block) / 2;
        before += weight(block);
        let wanted = (u128::from(middle) * u128::from(parts) / u128::from(total.max(1))) as u32;
        let wanted = wanted.min(parts - 1);
        // What weighs nothing is no part by itself.
        if weight(block) > 0 {
            number += u16::from(last.is_some_and(|last| wanted > last));
            last = last.max(Some(wanted));
        }
        number
    };
    blocks.iter().map(part).collect()
}

/// The hosts of a router stay together where there are enough routers: paths between parts are longer then.
fn deal_hosts(topology: &dyn Topology, parts: u32, weights: &[u32]) -> Vec<u16> {
    let routers: Vec<u32> = (0..topology.hosts()).map(|host| topology.router_of(HostId(host)).0).collect();
    let weight_of = |hosts: &[u32]| -> u64 { hosts.iter().map(|weight| u64::from(*weight)).sum() };
    let mut at = 0;
    let blocks = routers.chunk_by(|one, other| one == other).map(|block| {
        at += block.len();
        (block.len(), weight_of(&weights[at - block.len()..at]))
    });
    let (sizes, blocks): (Vec<usize>, Vec<u64>) = blocks.unzip();
    let used = blocks.iter().filter(|weight| **weight > 0).count();
    if used < ENOUGH * parts as usize {
        let hosts: Vec<u64> = weights.iter().map(|weight| u64::from(*weight)).collect();
        return deal(&hosts, parts);
    }
    let dealt = deal(&blocks, parts);
    sizes.iter().zip(dealt).flat_map(|(size, part)| std::iter::repeat_n(part, *size)).collect()
}

/// Number of blocks for each part from which on they balance well.
const ENOUGH: usize = 8;

fn deal_routers(topology: &dyn Topology, parts: u32, weights: &[u32]) -> Vec<u16> {
    let routers = topology.routers() / topology.planes();
    let has_hosts = |router: u32| !topology.hosts_of(RouterId(router)).is_empty();
    let leaves: Vec<u32> = (0..routers).filter(|router| has_hosts(*router)).collect();
    let unit = topology.unit().max(1);
    let units = leaves.chunk_by(|one, other| one / unit == other / unit).count();
    let unit = if units < parts as usize { 1 } else { unit };
    let weight_of = |router: u32| -> u64 {
        topology.hosts_of(RouterId(router)).map(|host| u64::from(weights[host as usize])).sum()
    };
    let blocks: Vec<u64> = leaves
        .chunk_by(|one, other| one / unit == other / unit)
        .map(|block| block.iter().map(|router| weight_of(*router)).sum())
        .collect();
    let dealt = deal(&blocks, parts);
    let mut of_router = vec![NOBODY; routers as usize];
    for (block, part) in leaves.chunk_by(|one, other| one / unit == other / unit).zip(dealt) {
        block.iter().for_each(|router| of_router[*router as usize] = part);
    }
    deal_upper(topology, &mut of_router);
    of_router
}

const NOBODY: u16 = u16::MAX;

/// Gives the routers without hosts to parts.
fn deal_upper(topology: &dyn Topology, of_router: &mut [u16]) {
    let parts = of_router.iter().filter(|part| **part != NOBODY).max().map_or(1, |part| part + 1);
    let mut dealt = vec![0u32; usize::from(parts)];
    let mut ports = Vec::new();
    let groups = topology.grouped();
    for router in 0..of_router.len() as u32 {
        if of_router[router as usize] != NOBODY {
            continue;
        }
        if let Some(groups) = &groups {
            let first = groups.group_of(router) * topology.unit();
            let mut group = of_router[first as usize..(first + topology.unit()) as usize].iter();
            if let Some(part) = group.find(|part| **part != NOBODY) {
                of_router[router as usize] = *part;
                continue;
            }
        }
        ports.clear();
        topology.ports(RouterId(router), &mut ports);
        let mut around: Vec<u16> = (ports.iter())
            .filter_map(|link| match topology.link(*link).to {
                Node::Router(other) => Some(of_router[other.0 as usize]),
                Node::Host(_) => None,
            })
            .filter(|part| *part != NOBODY)
            .collect();
        around.sort_unstable();
        around.dedup();
        if around.is_empty() {
            around.extend(0..parts);
        }
        let part = *around.iter().min_by_key(|part| dealt[usize::from(**part)]).expect("there is a part");
        if around.len() > 1 {
            dealt[usize::from(part)] += 1;
        }
        of_router[router as usize] = part;
    }
}

/// One part of a network: what a model is built for.
#[derive(Debug, Clone)]
pub struct Part {
    /// The cut of the network.
    pub cut: Arc<Cut>,
    /// Number of this part in it.
    pub me: u32,
}

impl Part {
    /// The only part of a network that is not cut.
    pub fn whole() -> Part {
        Part { cut: Arc::new(Cut::whole()), me: 0 }
    }

    /// Is there no other part?
    pub fn is_whole(&self) -> bool {
        self.cut.parts() == 1
    }

    /// Does the host belong to this part?
    pub fn owns_host(&self, host: HostId) -> bool {
        self.cut.of_host(host) == self.me
    }

    /// Does the router belong to this part?
    pub fn owns_router(&self, router: RouterId) -> bool {
        self.cut.of_router(router) == self.me
    }
}
