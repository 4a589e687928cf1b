//! An estimate of the bisection: the best of several balanced cuts, each improved step by step.
//!
//! Starts: routers in order of their numbers, and halves grown breadth-first from far-apart routers. Each is
//! refined by passes of Fiduccia and Mattheyses: the router whose change of side saves most moves,
//! whether it helps or not, each once; the best balanced state of the pass stays. The least cut is at most
//! what this finds, so the estimate is an upper bound.
//!
//! Source: Fiduccia and Mattheyses, "A linear-time heuristic for improving network partitions" (DAC 1982).

use std::collections::BinaryHeap;

use crate::topology::adjacency::Adjacency;
use crate::topology::{RouterId, Topology};

/// Routers with their hosts and the bandwidth between them.
struct Routers<'a> {
    adjacency: &'a Adjacency,
    /// Hosts on each router.
    weights: Vec<i64>,
    /// Bandwidth of the links of `adjacency`, in its order; links of both directions \[B/s\].
    bandwidths: Vec<Vec<f64>>,
}

/// A cut into two sides.
#[derive(Clone)]
struct Cut {
    sides: Vec<bool>,
    /// Hosts on the `true` side less those on the other.
    lean: i64,
}

const STARTS: u32 = 8;
const PASSES: u64 = 12;
/// Looks at a link that refinement may cost in all.
const WORK: u64 = 2_000_000_000;

/// The best balanced cut found: its bandwidth one way \[B/s\], and the hosts on its smaller side. The best one leaves each
/// of these least. `None` where one router has all hosts.
pub(super) fn estimate(topology: &dyn Topology, adjacency: &Adjacency) -> Option<(f64, u64)> {
    let routers = adjacency.routers();
    let weight = |router| i64::from(topology.hosts_of(RouterId(router)).len() as u32);
    let weights: Vec<i64> = (0..routers).map(weight).collect();
    let heaviest = weights.iter().copied().max()?;
    if weights.iter().filter(|weight| **weight > 0).count() < 2 {
        return None;
    }
    let rate = |router| {
        let leaving = adjacency.leaving(router).iter();
        leaving.map(|port| topology.link(port.link).bandwidth.as_f64()).collect()
    };
    let network = Routers { adjacency, weights, bandwidths: (0..routers).map(rate).collect() };
    let total: i64 = network.weights.iter().sum();
    // Whole routers may not come out even.
    let tolerance = if total % (2 * heaviest) == 0 { 0 } else { heaviest };
    // A move looks at the links of all neighbours.
    let degrees = (0..routers).map(|router| adjacency.leaving(router).len() as u64);
    let pass: u64 = degrees.map(|degree| degree * degree).sum();
    let passes = (WORK / (u64::from(STARTS) * pass.max(1))).min(PASSES);
    let mut best: Option<(f64, u64)> = None;
    let mut from = 0;
    for start in 0..STARTS {
        let order: Vec<u32> = match start {
            0 => (0..routers).collect(),
            _ => {
                let order: Vec<u32> = adjacency.backwards(from).nearest_first().collect();
                from = *order.last().expect("a network has a router");
                if start % 2 == 0 {
                    from = order[order.len() * start as usize / STARTS as usize];
                }
                order
            }
        };
        let mut cut = network.halves(&order, total);
        for _ in 0..passes {
            if !network.improve(&mut cut, tolerance, heaviest) {
                break;
            }
        }
        if cut.lean.abs() <= tolerance {
            let found = (network.rate(&cut.sides), ((total - cut.lean.abs()) / 2) as u64);
            let each = |(rate, hosts): (f64, u64)| rate / hosts as f64;
            best = Some(best.filter(|best| each(*best) <= each(found)).unwrap_or(found));
        }
    }
    best
}

impl Routers<'_> {
    /// The first half of the hosts in `order` against the rest.
    fn halves(&self, order: &[u32], total: i64) -> Cut {
        let (mut sides, mut taken) = (vec![false; order.len()], 0);
        for router in order {
            let weight = self.weights[*router as usize];
            if 2 * (taken + weight) <= total {
                taken += weight;
                sides[*router as usize] = true;
            }
        }
        Cut { sides, lean: 2 * taken - total }
    }

    /// The lesser of the bandwidths across the cut, one way and the other.
    fn rate(&self, sides: &[bool]) -> f64 {
        let mut rates = [0.0; 2];
        for (router, bandwidths) in self.bandwidths.iter().enumerate() {
            for (port, bandwidth) in self.adjacency.leaving(router as u32).iter().zip(bandwidths) {
                if sides[router] != sides[port.to as usize] {
                    rates[usize::from(sides[router])] += bandwidth;
                }
            }
        }
        rates[0].min(rates[1])
    }

    /// Bandwidth that the cut loses if `router` changes sides.
    fn gain(&self, router: u32, sides: &[bool]) -> f64 {
        let ports = self.adjacency.leaving(router).iter().zip(&self.bandwidths[router as usize]);
        let signed = ports.map(|(port, bandwidth)| {
            // An infinite link must not be cut, and must not make the sums meaningless.
            let bandwidth = bandwidth.min(1e18);
            if sides[port.to as usize] == sides[router as usize] { -bandwidth } else { bandwidth }
        });
        signed.sum()
    }

    /// One pass; whether the cut has become better.
    fn improve(&self, cut: &mut Cut, tolerance: i64, heaviest: i64) -> bool {
        let routers = cut.sides.len();
        let mut state = cut.clone();
        let mut moved = vec![false; routers];
        let mut gains: Vec<f64> = (0..routers as u32).map(|router| self.gain(router, &state.sides)).collect();
        // Ordered by gain through the order of whole numbers; a stale entry is recognized by its gain.
        let key = |gain: f64| gain as i64;
        let mut queues = [BinaryHeap::new(), BinaryHeap::new()];
        for router in 0..routers {
            queues[usize::from(state.sides[router])].push((key(gains[router]), router));
        }
        let (mut saved, mut best) =
            (0.0, (if cut.lean.abs() <= tolerance { 0.0 } else { f64::NEG_INFINITY }, 0));
        let mut moves = Vec::new();
        // Long runs without a better state do not come back.
        while moves.len() < best.1 + routers.min(20_000) {
            let fresh = |queue: &mut BinaryHeap<(i64, usize)>, side: bool| loop {
                let (gain, router) = *queue.peek()?;
                if moved[router] || state.sides[router] != side || gain != key(gains[router]) {
                    queue.pop();
                } else {
                    return Some((gain, router));
                }
            };
            let [none, all] = &mut queues;
            let fits = |router: usize, lean: i64| {
                lean.abs() <= tolerance.max(2 * heaviest) || self.weights[router] == 0
            };
            let up = fresh(none, false)
                .filter(|(_, router)| fits(*router, state.lean + 2 * self.weights[*router]));
            let down =
                fresh(all, true).filter(|(_, router)| fits(*router, state.lean - 2 * self.weights[*router]));
            let chosen = match (up, down) {
                (Some(up), Some(down)) if state.lean == 0 => up.max(down),
                (Some(up), _) if state.lean < 0 => up,
                (_, Some(down)) if state.lean > 0 => down,
                (Some(only), _) | (_, Some(only)) => only,
                (None, None) => break,
            };
            let router = chosen.1;
            saved += gains[router];
            state.lean += if state.sides[router] { -2 } else { 2 } * self.weights[router];
            state.sides[router] = !state.sides[router];
            moved[router] = true;
            moves.push(router);
            for port in self.adjacency.leaving(router as u32) {
                let neighbour = port.to as usize;
                if !moved[neighbour] {
                    gains[neighbour] = self.gain(port.to, &state.sides);
                    queues[usize::from(state.sides[neighbour])].push((key(gains[neighbour]), neighbour));
                }
            }
            if state.lean.abs() <= tolerance && saved > best.0 + 1.0 {
                best = (saved, moves.len());
            }
        }
        for router in &moves[..best.1] {
            cut.lean += if cut.sides[*router] { -2 } else { 2 } * self.weights[*router];
            cut.sides[*router] = !cut.sides[*router];
        }
        best.1 > 0
    }
}
