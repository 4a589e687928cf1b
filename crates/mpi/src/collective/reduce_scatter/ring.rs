//! Ring reduce-scatter: the block of each rank goes once round the ring, collecting on its way to it.
//!
//! Operands come in cyclic order: commutative operations only.
//! Cost: `(p − 1) (T(n) + R(n))` for blocks of n bytes. Good for long blocks: only neighbours talk.
//! Source: Open MPI coll/base, `reduce_scatter_intra_ring`; Chan, Heimlich, Purkayastha, van de Geijn,
//! "Collective communication: theory, practice, and experience" (CCPE 19(13), 2007), "bucket".

use engine::registry::Entry;

use crate::collective::parts::blocks;
use crate::collective::step::{receive, send};
use crate::collective::{Algorithm, Cost, Effect, Idle, Layout, Shape, Step};

/// The registry's entry.
pub const ENTRY: Entry<Algorithm> = Entry {
    name: "ring",
    summary: "each block once round the ring to its rank (commutative)",
    source: "Chan, Heimlich, Purkayastha, van de Geijn 2007; Open MPI coll/base",
    parameters: &[],
    examples: &[""],
    build: Algorithm {
        kinds: super::KINDS,
        round,
        layout: |_| Layout::Blocks,
        cost,
        sends: None,
        fits: |shape| shape.call.commutative,
    },
};

fn round(shape: &Shape, rank: u32, round: u32, steps: &mut Vec<Step>) -> bool {
    if round >= shape.size - 1 {
        return false;
    }
    let sent = shape.shifted_back(rank, round + 1);
    let (bytes, slots) = blocks(shape, sent, 1);
    send(steps, shape.shifted(rank, 1), bytes, slots);
    let (bytes, slots) = blocks(shape, shape.shifted_back(sent, 1), 1);
    receive(steps, shape.shifted_back(rank, 1), bytes, slots, Effect::CombineLeft);
    true
}

fn cost(shape: &Shape, idle: &Idle) -> Cost {
    let seconds = f64::from(shape.size - 1) * idle.time_reduced(shape.largest_block());
    Cost::exact_if(shape.even_blocks(), seconds)
}
