//! Reduce, then scatter: up a binomial tree to rank 0, which sends each rank its block.
//!
//! The order of ranks is kept.
//! Cost: `log₂ p (T(p n) + R(p n)) + T(n) + (p − 2) B(n)` for blocks of n bytes and powers of two, else
//! at most that with ⌈log₂ p⌉. Good where nothing else fits.
//! Source: Open MPI coll/base, `reduce_scatter_intra_nonoverlapping`.

use engine::registry::Entry;

use crate::collective::parts::{serial, tree_rounds, tree_up};
use crate::collective::scatter::linear::scatter;
use crate::collective::step::Phases;
use crate::collective::{Algorithm, Cost, Idle, Layout, Shape, Slots, Step};

/// The registry's entry.
pub const ENTRY: Entry<Algorithm> = Entry {
    name: "reduce-scatterv",
    summary: "up a binomial tree to rank 0, which sends each rank its block",
    source: "Open MPI coll/base",
    parameters: &[],
    examples: &[""],
    build: Algorithm {
        kinds: super::KINDS,
        round,
        layout: |_| Layout::Blocks,
        cost,
        sends: None,
        fits: |_| true,
    },
};

fn round(shape: &Shape, rank: u32, round: u32, steps: &mut Vec<Step>) -> bool {
    let mut phases = Phases(round);
    if let Some(step) = phases.take(tree_rounds(shape, 0, rank)) {
        tree_up(shape, 0, rank, step, shape.vector(), Slots::range(0, shape.size), steps);
        return true;
    }
    phases.take(1).is_some() && scatter(shape, 0, rank, steps)
}

fn cost(shape: &Shape, idle: &Idle) -> Cost {
    let up = f64::from(shape.doublings()) * idle.time_reduced(shape.vector());
    let down = serial(idle, shape.size - 1, shape.largest_block());
    Cost::exact_if(shape.power_of_two() && shape.even_blocks(), up + down)
}
