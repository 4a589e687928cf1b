//! Binomial gather: subtrees' blocks go up a binomial tree, from the smallest subtree first.
//!
//! Not for gatherv, where only the root knows the sizes.
//! Cost: `Σ_{j<log₂ p} T(2ʲ n)`, that is `log₂ p α + (p − 1) n β`, for powers of two, else an upper
//! bound. Good for short blocks.
//! Source: Thakur, Rabenseifner, Gropp 2005 (in scatter and gather of section 4); MPICH.

use engine::registry::Entry;

use crate::collective::parts::{blocks, doubled};
use crate::collective::step::{receive, send};
use crate::collective::tree::Binomial;
use crate::collective::{Algorithm, Cost, Effect, Idle, Kind, Layout, Shape, Step};

/// The registry's entry.
pub const ENTRY: Entry<Algorithm> = Entry {
    name: "binomial",
    summary: "up a binomial tree",
    source: "Thakur, Rabenseifner, Gropp 2005; MPICH",
    parameters: &[],
    examples: &[""],
    build: Algorithm {
        kinds: &[Kind::Gather],
        round,
        layout: |_| Layout::Blocks,
        cost,
        sends: None,
        fits: |_| true,
    },
};

/// Number of rounds of `rank` in a gather to `root`.
pub(in crate::collective) fn gather_rounds(shape: &Shape, root: u32, rank: u32) -> u32 {
    Binomial::new(shape.shifted_back(rank, root), shape.size).rounds()
}

/// One round of a gather to `root`.
pub(in crate::collective) fn gather_round(
    shape: &Shape,
    root: u32,
    rank: u32,
    round: u32,
    steps: &mut Vec<Step>,
) {
    let node = Binomial::new(shape.shifted_back(rank, root), shape.size);
    let absolute = |number| shape.shifted(number, root);
    if round < node.children() {
        let child = Binomial::new(node.child(round), shape.size);
        let from = absolute(child.number);
        let (bytes, slots) = blocks(shape, from, child.subtree());
        receive(steps, from, bytes, slots, Effect::Store);
    } else if let Some(parent) = node.parent() {
        let (bytes, slots) = blocks(shape, rank, node.subtree());
        send(steps, absolute(parent), bytes, slots);
    }
}

/// The time of a gather of blocks of `bytes`, exact for powers of two, else an upper bound.
pub(in crate::collective) fn gather_time(shape: &Shape, idle: &Idle, bytes: u64) -> f64 {
    doubled(shape.doublings(), bytes, |bytes| idle.time(bytes))
}

fn round(shape: &Shape, rank: u32, round: u32, steps: &mut Vec<Step>) -> bool {
    if round >= gather_rounds(shape, shape.call.root, rank) {
        return false;
    }
    gather_round(shape, shape.call.root, rank, round, steps);
    true
}

fn cost(shape: &Shape, idle: &Idle) -> Cost {
    Cost::exact_if(shape.power_of_two(), gather_time(shape, idle, shape.largest_block()))
}
