//! Binomial reduce: partial results go up a binomial tree, from the smallest subtree first.
//!
//! If the operation does not commute the tree has root 0, whose subtrees are ranges of ranks; the
//! result then goes on to the root.
//! Cost: `log₂ p (T(n) + R(n))` for powers of two, else at most `⌈log₂ p⌉ (T(n) + R(n))`; `T(n)` more
//! for an operation that does not commute and another root than 0. Good for short vectors.
//! Source: Thakur, Rabenseifner, Gropp 2005, section 4.4.

use engine::registry::Entry;

use crate::collective::parts::{WHOLE, tree_rounds, tree_up};
use crate::collective::step::{Phases, receive, send};
use crate::collective::{Algorithm, Cost, Effect, Idle, Kind, Layout, Shape, Step};

/// The registry's entry.
pub const ENTRY: Entry<Algorithm> = Entry {
    name: "binomial",
    summary: "up a binomial tree, whole vector",
    source: "Thakur, Rabenseifner, Gropp 2005",
    parameters: &[],
    examples: &[""],
    build: Algorithm {
        kinds: &[Kind::Reduce],
        round,
        layout: |_| Layout::Chunks(1),
        cost,
        sends: None,
        fits: |_| true,
    },
};

fn tree_root(shape: &Shape) -> u32 {
    if shape.call.commutative { shape.call.root } else { 0 }
}

fn round(shape: &Shape, rank: u32, round: u32, steps: &mut Vec<Step>) -> bool {
    let (top, root, bytes) = (tree_root(shape), shape.call.root, shape.vector());
    let mut phases = Phases(round);
    if let Some(step) = phases.take(tree_rounds(shape, top, rank)) {
        tree_up(shape, top, rank, step, bytes, WHOLE, steps);
    } else if top != root && rank == top && phases.take(1).is_some() {
        send(steps, root, bytes, WHOLE);
    } else if top != root && rank == root && phases.take(1).is_some() {
        receive(steps, top, bytes, WHOLE, Effect::Store);
    } else {
        return false;
    }
    true
}

fn cost(shape: &Shape, idle: &Idle) -> Cost {
    let bytes = shape.vector();
    let tree = f64::from(shape.doublings()) * idle.time_reduced(bytes);
    let moved = if tree_root(shape) == shape.call.root { 0.0 } else { idle.time(bytes) };
    Cost::exact_if(shape.power_of_two(), tree + moved)
}
