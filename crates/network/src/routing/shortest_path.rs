//! Shortest path: tables of next hops, fewest hops first; any topology.
//!
//! For each destination router that has hosts, a breadth-first search backwards gives the next hop from
//! every router; among equals one is taken by a hash of the two routers (`spread`), or the first in
//! port order. A table is made when its destination is first asked for, takes 2 B per router, and
//! stays. Should all tables together exceed `memory`, building fails and says so.
//!
//! Parallel links to the next router are taken by the destination host, `spread` as before: its number
//! modulo their count. So consecutive hosts of a router use them in turns, and every message to a host
//! the same ones, as with forwarding tables of InfiniBand, which have a port for each local identifier.
//!
//! Free of deadlock by up*/down* layers: routers have a total order (farther from the hosts first, then
//! nearer to a root, then by number); a link to a router earlier in it is up, else down. A route that
//! turns from down to up goes on in the next virtual channel: within one channel every route climbs,
//! then descends, so nothing waits in a circle.
//!
//! Source: Schroeder et al., "Autonet: a high-speed, self-configuring local area network using
//! point-to-point links" (IEEE JSAC 9(8), 1991) for up*/down*; layers as in Skeie, Lysne, Theiss,
//! "Layered shortest path (LASH) routing in irregular system area networks" (IPDPS 2002).

use std::sync::OnceLock;

use engine::Bytes;
use engine::registry::{Arguments, BuildError, Entry, Kind, Parameter};

use super::{Build, Load, Routing, Trip};
use crate::choice::Choice;
use crate::topology::Idle;
use crate::topology::adjacency::Adjacency;
use crate::topology::{HostId, LinkId, RouterId, Topology};

/// The registry's line.
pub const ENTRY: Entry<Build> = Entry {
    name: "shortest-path",
    summary: "fewest hops by tables, up*/down* channels; any topology",
    source: "Schroeder et al. 1991; Skeie, Lysne, Theiss 2002",
    parameters: &[
        Parameter {
            name: "equals",
            kind: Kind::Choice(&["spread", "first"]),
            default: Some("\"spread\""),
            summary: "which of equally short ways: by a hash of router and destination, parallel links by the \
                      destination host, or the first port",
        },
        Parameter {
            name: "memory",
            kind: Kind::Size,
            default: Some("\"1 GiB\""),
            summary: "the most that the tables may take",
        },
    ],
    examples: &["", "equals = \"first\"", "memory = \"1 MiB\""],
    build,
};

/// No way, or already there.
const NOWHERE: u16 = u16::MAX;

/// Ports of each router by the router that they lead to.
struct Bundles {
    /// First port of each router in the two lists.
    first: Vec<u32>,
    /// Ports of a router, those to the same neighbour beside each other.
    ports: Vec<u16>,
    /// Bundle of each port: place of its first port in `ports` of the router, and their count.
    ranges: Vec<(u16, u16)>,
}

impl Bundles {
    /// Bundles of a network; none where all links have neighbours of their own.
    fn of(adjacency: &Adjacency) -> Option<Bundles> {
        let mut found = Bundles { first: Vec::new(), ports: Vec::new(), ranges: Vec::new() };
        let mut widest = 1;
        for router in 0..adjacency.routers() {
            let leaving = adjacency.leaving(router);
            let first = found.ports.len();
            found.first.push(first as u32);
            found.ports.extend(0..leaving.len() as u16);
            found.ports[first..].sort_by_key(|port| leaving[usize::from(*port)].to);
            found.ranges.resize(first + leaving.len(), (0, 0));
            let mut start = 0;
            let same =
                |one: &u16, other: &u16| leaving[usize::from(*one)].to == leaving[usize::from(*other)].to;
            for bundle in found.ports[first..].chunk_by(same) {
                for port in bundle {
                    found.ranges[first + usize::from(*port)] = (start, bundle.len() as u16);
                }
                start += bundle.len() as u16;
                widest = widest.max(bundle.len());
            }
        }
        (widest > 1).then_some(found)
    }

    /// The port to `host` among those that are parallel to `port`.
    fn port(&self, router: u32, port: u16, host: HostId) -> u16 {
        let first = self.first[router as usize] as usize;
        let (start, count) = self.ranges[first + usize::from(port)];
        if count == 1 {
            return port;
        }
        self.ports[first + usize::from(start) + (host.0 % u32::from(count)) as usize]
    }
}

struct ShortestPath {
    adjacency: Adjacency,
    /// True if equals are spread, not taken in port order.
    spread: bool,
    seed: u64,
    /// Place in the total order: links to a lower rank are up.
    ranks: Vec<u32>,
    /// Parallel links, where there are any and equals are spread.
    bundles: Option<Bundles>,
    /// Next port from each router, by destination router; made on demand.
    tables: Vec<OnceLock<Box<[u16]>>>,
    /// Most hops, and channels, of all routes; found on demand.
    extremes: OnceLock<(u32, u8)>,
}

fn build(arguments: &Arguments, topology: &dyn Topology, seed: u64) -> Result<Box<dyn Routing>, BuildError> {
    let adjacency = Adjacency::of(topology);
    let routers = adjacency.routers();
    let memory = arguments.size("memory").expect("has a default");
    let ends = (0..routers).filter(|router| adjacency.has_hosts(*router)).count();
    let needed = Bytes(2 * u64::from(routers) * ends as u64);
    if needed > memory {
        let reason = format!(
            "{memory} do not hold the tables of {routers} routers for {ends} destinations; they take up to {needed}, \
             or take a routing without tables ({} fits this topology)",
            topology.default_routing()
        );
        return Err(BuildError::new("memory", reason));
    }
    if let Some(router) = (0..routers).find(|router| adjacency.leaving(*router).len() >= usize::from(NOWHERE))
    {
        let reason = format!("{} has more than {NOWHERE} ports", topology.router_name(RouterId(router)));
        return Err(BuildError::new("kind", reason));
    }
    let spread = arguments.text("equals").as_deref() != Some("first");
    Ok(Box::new(ShortestPath {
        ranks: ranks(&adjacency),
        bundles: if spread { Bundles::of(&adjacency) } else { None },
        spread,
        seed,
        tables: (0..routers).map(|_| OnceLock::new()).collect(),
        extremes: OnceLock::new(),
        adjacency,
    }))
}

/// The total order of routers, see the head of this file.
fn ranks(adjacency: &Adjacency) -> Vec<u32> {
    let routers = adjacency.routers();
    let levels = adjacency.distances((0..routers).filter(|router| adjacency.has_hosts(*router)));
    // The root is the first of those farthest from the hosts: a top switch where there are levels.
    let root = (0..routers).max_by_key(|router| (levels[*router as usize], u32::MAX - router)).unwrap_or(0);
    let depths = adjacency.distances([root]);
    let mut order: Vec<u32> = (0..routers).collect();
    let key = |router: &u32| (u32::MAX - levels[*router as usize], depths[*router as usize], *router);
    order.sort_by_key(key);
    let mut ranks = vec![0; order.len()];
    for (rank, router) in order.into_iter().enumerate() {
        ranks[router as usize] = rank as u32;
    }
    ranks
}

impl ShortestPath {
    /// The next ports towards router `to`.
    fn table(&self, to: u32) -> &[u16] {
        self.tables[to as usize].get_or_init(|| self.search(to).0)
    }

    /// Next ports towards `to`; the most hops from a router with hosts, and the most turns on the way.
    fn search(&self, to: u32) -> (Box<[u16]>, u32, u32) {
        let adjacency = &self.adjacency;
        let routers = adjacency.routers() as usize;
        let mut table = vec![NOWHERE; routers].into_boxed_slice();
        let order = adjacency.backwards(to);
        // Turns from down to up on the way from each router, and whether it starts downwards.
        let mut turns = vec![(0u32, false); routers];
        let (mut most_hops, mut most_turns) = (0, 0);
        for router in order.nearest_first().skip(1) {
            let leaving = adjacency.leaving(router);
            let nearer = |port: &usize| order.distance(leaving[*port].to) + 1 == order.distance(router);
            let mut equals = (0..leaving.len()).filter(nearer);
            let port = if self.spread {
                let count = equals.clone().count() as u32;
                let mut choice = Choice::new(self.seed, Trip::new(HostId(router), HostId(to), 0));
                equals.nth(choice.below(count) as usize)
            } else {
                equals.next()
            };
            let port = port.expect("a router at a distance has a neighbour that is nearer");
            table[router as usize] = port as u16;
            let next = leaving[port].to;
            let down = self.ranks[next as usize] > self.ranks[router as usize];
            let (ahead, ahead_down) = turns[next as usize];
            let turn = down && next != to && !ahead_down;
            turns[router as usize] = (ahead + u32::from(turn), down);
            if adjacency.has_hosts(router) {
                most_hops = most_hops.max(order.distance(router));
                most_turns = most_turns.max(turns[router as usize].0);
            }
        }
        (table, most_hops, most_turns)
    }

    /// Most hops and channels over all destinations.
    fn extremes(&self) -> (u32, u8) {
        *self.extremes.get_or_init(|| {
            let ends = (0..self.adjacency.routers()).filter(|router| self.adjacency.has_hosts(*router));
            let (hops, turns) = ends.fold((0, 0), |(hops, turns), to| {
                let (_, most_hops, most_turns) = self.search(to);
                (most_hops.max(hops), most_turns.max(turns))
            });
            (hops, u8::try_from(turns + 1).expect("a route turns less than 255 times from down to up"))
        })
    }

    /// Tells `step` every link between two routers on the way to a host.
    fn walk(&self, topology: &dyn Topology, from: HostId, host: HostId, mut step: impl FnMut(LinkId)) {
        let (mut at, to) = (topology.router_of(from).0, topology.router_of(host).0);
        let table = self.table(to);
        while at != to {
            let port = table[at as usize];
            let port = self.bundles.as_ref().map_or(port, |bundles| bundles.port(at, port, host));
            let port = self.adjacency.leaving(at)[usize::from(port)];
            step(port.link);
            at = port.to;
        }
    }
}

impl Routing for ShortestPath {
    fn route(&self, topology: &dyn Topology, trip: Trip, _load: &dyn Load, path: &mut Vec<LinkId>) {
        let Trip { from, to, .. } = trip;
        path.push(topology.up(from));
        self.walk(topology, from, to, |link| path.push(link));
        path.push(topology.down(to));
    }
    fn channels(&self, topology: &dyn Topology, path: &[LinkId], channels: &mut Vec<u8>) {
        channels.clear();
        let (mut layer, mut was_down) = (0, false);
        for id in path {
            let link = topology.link(*id);
            let (crate::topology::Node::Router(from), crate::topology::Node::Router(to)) =
                (link.from, link.to)
            else {
                channels.push(0);
                continue;
            };
            let down = self.ranks[to.0 as usize] > self.ranks[from.0 as usize];
            layer += u8::from(was_down && !down);
            was_down = down;
            channels.push(layer);
        }
    }
    fn channel_count(&self) -> u8 {
        self.extremes().1
    }
    fn longest(&self, _topology: &dyn Topology) -> u32 {
        self.extremes().0
    }
    fn is_adaptive(&self) -> bool {
        false
    }
    fn idle(&self, topology: &dyn Topology, from: HostId, to: HostId) -> Idle {
        let (up, down) = (topology.whole_link(topology.up(from)), topology.whole_link(topology.down(to)));
        let mut idle =
            Idle { latency: up.latency + down.latency, bandwidth: up.bandwidth.min(down.bandwidth) };
        self.walk(topology, from, to, |id| {
            let link = topology.link(id);
            idle.latency += link.latency;
            idle.bandwidth = idle.bandwidth.min(link.bandwidth);
        });
        idle
    }
}
