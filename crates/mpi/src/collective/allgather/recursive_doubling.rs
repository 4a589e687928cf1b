//! Recursive-doubling allgather: in round k all that is held goes to the rank that differs in bit k.
//! Powers of two only.
//!
//! Cost: `Σ_{j<log₂ p} T(2ʲ n)`, that is `log₂ p α + (p − 1) n β`. Good for short and medium blocks.
//! Source: Thakur, Rabenseifner, Gropp 2005, section 4.1.

use engine::registry::Entry;

use crate::collective::parts::{blocks, doubled, exchange};
use crate::collective::{Algorithm, Cost, Effect, Idle, Layout, Shape, Step};

/// The registry's entry.
pub const ENTRY: Entry<Algorithm> = Entry {
    name: "recursive-doubling",
    summary: "exchange all that is held with the rank that differs in bit k (powers of two)",
    source: "Thakur, Rabenseifner, Gropp 2005",
    parameters: &[],
    examples: &[""],
    build: Algorithm {
        kinds: super::KINDS,
        round,
        layout: |_| Layout::Blocks,
        cost,
        sends: None,
        fits: |shape| shape.power_of_two(),
    },
};

fn round(shape: &Shape, rank: u32, round: u32, steps: &mut Vec<Step>) -> bool {
    if round >= shape.doublings() {
        return false;
    }
    let peer = rank ^ 1 << round;
    let group = |member: u32| blocks(shape, member >> round << round, 1 << round);
    exchange(steps, peer, group(rank), group(peer), Effect::Store);
    true
}

fn cost(shape: &Shape, idle: &Idle) -> Cost {
    let even = shape.even_blocks();
    let time = |bytes| idle.time_in_step(even, bytes);
    Cost::exact_if(even, doubled(shape.doublings(), shape.largest_block(), time))
}
