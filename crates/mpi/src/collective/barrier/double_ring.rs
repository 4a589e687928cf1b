//! Double-ring barrier: a token goes round the ring twice; after the first time rank 0 knows that all
//! have come, the second time it tells them.
//!
//! Cost: `2 p T(0)`. Never the fastest; the fewest messages under way, one.
//! Source: Open MPI, coll/base, `barrier_intra_doublering`.

use engine::registry::Entry;

use crate::collective::step::{receive, send};
use crate::collective::{Algorithm, Cost, Effect, Idle, Kind, Layout, Shape, Slots, Step};

/// The registry's entry.
pub const ENTRY: Entry<Algorithm> = Entry {
    name: "double-ring",
    summary: "a token passes all ranks twice",
    source: "Open MPI coll/base",
    parameters: &[],
    examples: &[""],
    build: Algorithm {
        kinds: &[Kind::Barrier],
        round,
        layout: |_| Layout::Nothing,
        cost,
        sends: None,
        fits: |_| true,
    },
};

fn round(shape: &Shape, rank: u32, round: u32, steps: &mut Vec<Step>) -> bool {
    if shape.size == 1 || round >= 4 {
        return false;
    }
    // Rank 0 begins by sending, the others by receiving.
    if (round % 2 == 0) == (rank == 0) {
        send(steps, shape.shifted(rank, 1), 0, Slots::None);
    } else {
        receive(steps, shape.shifted_back(rank, 1), 0, Slots::None, Effect::Store);
    }
    true
}

fn cost(shape: &Shape, idle: &Idle) -> Cost {
    Cost::Exact(if shape.size == 1 { 0.0 } else { 2.0 * f64::from(shape.size) * idle.time(0) })
}
