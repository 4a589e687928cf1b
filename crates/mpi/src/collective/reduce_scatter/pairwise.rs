//! Pairwise reduce-scatter: in round k a rank sends r + k its block, and gets its own from r − k.
//!
//! Operands come in cyclic order: commutative operations only.
//! Cost: `(p − 1) (T(n) + R(n))` for blocks of n bytes. Good for long blocks.
//! Source: Thakur, Rabenseifner, Gropp 2005, section 4.4.

use engine::registry::Entry;

use crate::collective::parts::blocks;
use crate::collective::step::{receive, send};
use crate::collective::{Algorithm, Cost, Effect, Idle, Layout, Shape, Step};

/// The registry's entry.
pub const ENTRY: Entry<Algorithm> = Entry {
    name: "pairwise",
    summary: "p - 1 rounds, each rank's block straight to it (commutative)",
    source: "Thakur, Rabenseifner, Gropp 2005",
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
    let distance = round + 1;
    if distance >= shape.size {
        return false;
    }
    let to = shape.shifted(rank, distance);
    let (bytes, slots) = blocks(shape, to, 1);
    send(steps, to, bytes, slots);
    let (bytes, slots) = blocks(shape, rank, 1);
    receive(steps, shape.shifted_back(rank, distance), bytes, slots, Effect::CombineLeft);
    true
}

fn cost(shape: &Shape, idle: &Idle) -> Cost {
    let (even, bytes) = (shape.even_blocks(), shape.largest_block());
    let each = idle.time_in_step(even, bytes) + idle.reduce(bytes);
    Cost::exact_if(even, f64::from(shape.size - 1) * each)
}
