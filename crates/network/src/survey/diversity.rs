//! Path diversity: edge-disjoint shortest paths between two routers.
//!
//! Their number is the maximum flow through the links that lie on a shortest path, one unit each
//! (Menger's theorem). Parallel links count each.
//!
//! Source: Menger 1927; Edmonds-Karp through petgraph.

use std::collections::BTreeMap;

use petgraph::algo::ford_fulkerson;
use petgraph::graph::{DiGraph, NodeIndex};

use super::Diversity;
use crate::topology::adjacency::Adjacency;

const PAIRS_MOST: u64 = 64;

/// Over a sample of pairs that costs at most about `work` steps; `None` with a single router of hosts.
pub(super) fn sample(adjacency: &Adjacency, work: u64) -> Option<Diversity> {
    let with_hosts: Vec<u32> =
        (0..adjacency.routers()).filter(|router| adjacency.has_hosts(*router)).collect();
    let count = with_hosts.len() as u64;
    if count < 2 {
        return None;
    }
    let links: u64 = (0..adjacency.routers()).map(|router| adjacency.leaving(router).len() as u64).sum();
    let all = count * (count - 1);
    let pairs = (work / (20 * links.max(1))).clamp(4, PAIRS_MOST).min(all);
    let (mut least, mut sum) = (u32::MAX, 0.0);
    for number in 0..pairs {
        // From everywhere, to ever farther partners.
        let from = number * count / pairs;
        let to = (from + 1 + number * (count - 1) / pairs) % count;
        let ways = disjoint_ways(adjacency, with_hosts[from as usize], with_hosts[to as usize]);
        least = least.min(ways);
        sum += f64::from(ways);
    }
    Some(Diversity { least, mean: sum / pairs as f64, pairs: pairs as u32 })
}

/// Edge-disjoint shortest paths from one router to another.
fn disjoint_ways(adjacency: &Adjacency, from: u32, to: u32) -> u32 {
    let order = adjacency.backwards(to);
    let mut graph: DiGraph<(), u32> = DiGraph::new();
    let mut nodes: BTreeMap<u32, NodeIndex> = BTreeMap::from([(from, graph.add_node(()))]);
    // Forward from the start, over links that come nearer: the shortest paths and nothing else.
    let mut next = vec![from];
    while let Some(router) = next.pop() {
        let mut lanes: BTreeMap<u32, u32> = BTreeMap::new();
        for port in adjacency.leaving(router) {
            if order.distance(port.to) + 1 == order.distance(router) {
                *lanes.entry(port.to).or_default() += 1;
            }
        }
        for (neighbour, lanes) in lanes {
            let known = nodes.get(&neighbour).copied();
            let node = known.unwrap_or_else(|| {
                next.push(neighbour);
                *nodes.entry(neighbour).or_insert(graph.add_node(()))
            });
            graph.add_edge(nodes[&router], node, lanes);
        }
    }
    ford_fulkerson(&graph, nodes[&from], nodes[&to]).0
}
