//! Linear barrier: all tell rank 0, which then tells all.
//!
//! Cost: `2 (T(0) + (p − 2) B(0))`. Good for two or three ranks.
//! Source: Open MPI, coll/base, `barrier_intra_basic_linear`.

use engine::registry::Entry;

use crate::collective::parts::serial;
use crate::collective::step::{receive, send};
use crate::collective::{Algorithm, Cost, Effect, Idle, Kind, Layout, Shape, Slots, Step};

/// The registry's entry.
pub const ENTRY: Entry<Algorithm> = Entry {
    name: "linear",
    summary: "all tell rank 0, which tells all",
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
    if shape.size == 1 || round >= 2 {
        return false;
    }
    match (rank, round) {
        (0, 0) => (1..shape.size).for_each(|peer| receive(steps, peer, 0, Slots::None, Effect::Store)),
        (0, _) => (1..shape.size).for_each(|peer| send(steps, peer, 0, Slots::None)),
        (_, 0) => send(steps, 0, 0, Slots::None),
        _ => receive(steps, 0, 0, Slots::None, Effect::Store),
    }
    true
}

fn cost(shape: &Shape, idle: &Idle) -> Cost {
    Cost::Exact(2.0 * serial(idle, shape.size - 1, 0))
}
