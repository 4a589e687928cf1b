//! Ring allgather: each rank hands on to its right what it got from its left.
//!
//! Cost: `(p − 1) T(n)` for blocks of n bytes. Good for long blocks: only neighbours talk.
//! Source: Thakur, Rabenseifner, Gropp 2005, section 4.1.

use engine::registry::Entry;

use crate::collective::parts::blocks;
use crate::collective::step::{receive, send};
use crate::collective::{Algorithm, Cost, Effect, Idle, Layout, Shape, Step};

/// The registry's entry.
pub const ENTRY: Entry<Algorithm> = Entry {
    name: "ring",
    summary: "p - 1 rounds, one block to the right in each",
    source: "Thakur, Rabenseifner, Gropp 2005",
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
    if round >= shape.size - 1 {
        return false;
    }
    let sent = shape.shifted_back(rank, round);
    let (bytes, slots) = blocks(shape, sent, 1);
    send(steps, shape.shifted(rank, 1), bytes, slots);
    let (bytes, slots) = blocks(shape, shape.shifted_back(sent, 1), 1);
    receive(steps, shape.shifted_back(rank, 1), bytes, slots, Effect::Store);
    true
}

fn cost(shape: &Shape, idle: &Idle) -> Cost {
    let seconds = f64::from(shape.size - 1) * idle.time(shape.largest_block());
    Cost::exact_if(shape.even_blocks(), seconds)
}
