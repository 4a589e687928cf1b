//! Tree barrier: up a binomial tree to rank 0, and down again.
//!
//! Cost: `2 log₂ p T(0)` for powers of two, else at most `2 ⌈log₂ p⌉ T(0)`. Good where messages, not
//! rounds, are dear: 2 (p − 1) messages.
//! Source: Open MPI coll/base, `barrier_intra_tree`; Mellor-Crummey, Scott 1991.

use engine::registry::Entry;

use crate::collective::parts::{tree_down, tree_rounds, tree_up};
use crate::collective::step::Phases;
use crate::collective::{Algorithm, Cost, Idle, Kind, Layout, Shape, Slots, Step};

/// The registry's entry.
pub const ENTRY: Entry<Algorithm> = Entry {
    name: "tree",
    summary: "up and down a binomial tree",
    source: "Open MPI coll/base; Mellor-Crummey, Scott 1991",
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
    let mut phases = Phases(round);
    let rounds = tree_rounds(shape, 0, rank);
    if let Some(step) = phases.take(rounds) {
        tree_up(shape, 0, rank, step, 0, Slots::None, steps);
    } else if let Some(step) = phases.take(rounds) {
        tree_down(shape, 0, rank, step, 0, Slots::None, steps);
    } else {
        return false;
    }
    true
}

fn cost(shape: &Shape, idle: &Idle) -> Cost {
    Cost::exact_if(shape.power_of_two(), 2.0 * f64::from(shape.doublings()) * idle.time(0))
}
