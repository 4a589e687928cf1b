//! Shortest path: tables of next hops, fewest hops first; any topology.
//!
//! For each destination router that has hosts, a breadth-first search backwards gives the next hop from
//! every router; among equals one is taken by a hash of the two routers (`spread`), or the first in
//! port order. A table is made when its destination is first asked for, takes 2 B per router, and
//! stays. Should all tables together exceed `memory`, building fails and says so.
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
            summary: "which of equally short ways: by a hash of router and destination, or the first port",
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

struct ShortestPath {
    adjacency: Adjacency,
    /// True if equals are spread, not taken in port order.
    spread: bool,
    seed: u64,
    /// Place in the total order: links to a lower rank are up.
    ranks: Vec<u32>,
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
    Ok(Box::new(ShortestPath {
        ranks: ranks(&adjacency),
        spread: arguments.text("equals").as_deref() != Some("first"),
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

    /// Tells `step` every link between two routers on the way.
    fn walk(&self, from: u32, to: u32, mut step: impl FnMut(LinkId)) {
        let table = self.table(to);
        let mut at = from;
        while at != to {
            let port = self.adjacency.leaving(at)[usize::from(table[at as usize])];
            step(port.link);
            at = port.to;
        }
    }
}

impl Routing for ShortestPath {
    fn route(&self, topology: &dyn Topology, trip: Trip, _load: &dyn Load, path: &mut Vec<LinkId>) {
        let Trip { from, to, .. } = trip;
        path.push(topology.up(from));
        self.walk(topology.router_of(from).0, topology.router_of(to).0, |link| path.push(link));
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
        let (up, down) = (topology.link(topology.up(from)), topology.link(topology.down(to)));
        let mut idle =
            Idle { latency: up.latency + down.latency, bandwidth: up.bandwidth.min(down.bandwidth) };
        self.walk(topology.router_of(from).0, topology.router_of(to).0, |id| {
            let link = topology.link(id);
            idle.latency += link.latency;
            idle.bandwidth = idle.bandwidth.min(link.bandwidth);
        });
        idle
    }
}
