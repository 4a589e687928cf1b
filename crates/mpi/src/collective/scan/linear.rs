//! Linear scan: the result of each rank goes on to the next.
//!
//! Slot 0 is the result, slot 1 what goes on. The message is reduced into both in one pass, which
//! counts once.
//! Cost: `(p − 1) (T(n) + R(n))`, for the exclusive scan `R(n)` less: the last rank only stores. Good
//! for few ranks.
//! Source: Open MPI coll/base, `scan_intra_linear` and `exscan_intra_linear`.

use engine::registry::Entry;

use crate::collective::step::{receive, send};
use crate::collective::{Algorithm, Cost, Effect, Idle, Kind, Layout, Shape, Slots, Step};

/// The registry's entry.
pub const ENTRY: Entry<Algorithm> = Entry {
    name: "linear",
    summary: "each rank's result goes on to the next",
    source: "Open MPI coll/base",
    parameters: &[],
    examples: &[""],
    build: Algorithm {
        kinds: super::KINDS,
        round,
        layout: |_| Layout::Twice,
        cost,
        sends: None,
        fits: |_| true,
    },
};

fn round(shape: &Shape, rank: u32, round: u32, steps: &mut Vec<Step>) -> bool {
    let last = rank == shape.size - 1;
    // Rank 0 has no round of receiving.
    match round + u32::from(rank == 0) {
        0 if last && shape.call.kind == Kind::Exscan => {
            receive(steps, rank - 1, shape.vector(), Slots::one(0), Effect::Store);
        }
        0 => receive(steps, rank - 1, shape.vector(), Slots::range(0, 2), Effect::CombineLeft),
        1 if !last => send(steps, rank + 1, shape.vector(), Slots::one(1)),
        _ => return false,
    }
    true
}

fn cost(shape: &Shape, idle: &Idle) -> Cost {
    let others = shape.size - 1;
    let reductions = if shape.call.kind == Kind::Exscan { others.saturating_sub(1) } else { others };
    let bytes = shape.vector();
    Cost::Exact(f64::from(others) * idle.time(bytes) + f64::from(reductions) * idle.reduce(bytes))
}
