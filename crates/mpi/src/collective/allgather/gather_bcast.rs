//! Gather-broadcast allgather: up a binomial tree to rank 0, then all of it down again.
//!
//! Cost: `Σ_{j<log₂ p} T(2ʲ n) + log₂ p T(p n)` for powers of two, else an upper bound. Good where
//! messages are dear and blocks short.
//! Source: Open MPI coll/base, `allgather_intra_basic_linear` (there with any gather and broadcast).

use engine::registry::Entry;

use crate::collective::gather::binomial::{gather_round, gather_rounds, gather_time};
use crate::collective::parts::{tree_down, tree_rounds};
use crate::collective::step::Phases;
use crate::collective::{Algorithm, Cost, Idle, Layout, Shape, Slots, Step};

/// The registry's entry.
pub const ENTRY: Entry<Algorithm> = Entry {
    name: "gather-bcast",
    summary: "gather to rank 0, then broadcast, both by binomial trees",
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
    if let Some(step) = phases.take(gather_rounds(shape, 0, rank)) {
        gather_round(shape, 0, rank, step, steps);
    } else if let Some(step) = phases.take(tree_rounds(shape, 0, rank)) {
        let all = shape.blocks(0, shape.size);
        tree_down(shape, 0, rank, step, all, Slots::range(0, shape.size), steps);
    } else {
        return false;
    }
    true
}

fn cost(shape: &Shape, idle: &Idle) -> Cost {
    let bytes = shape.largest_block();
    let all = f64::from(shape.doublings()) * idle.time(u64::from(shape.size) * bytes);
    Cost::exact_if(shape.even_blocks() && shape.power_of_two(), gather_time(shape, idle, bytes) + all)
}
