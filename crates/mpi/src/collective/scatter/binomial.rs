//! Binomial scatter: the blocks of a subtree go to its root together, the largest subtree first.
//!
//! Not for scatterv, where only the root knows the sizes.
//! Cost: `Σ_{j<log₂ p} T(2ʲ n)`, that is `log₂ p α + (p − 1) n β`, for powers of two, else an upper
//! bound. Good for short blocks.
//! Source: Thakur, Rabenseifner, Gropp 2005 (in the broadcast of section 4.2); MPICH.

use engine::registry::Entry;

use crate::collective::parts::{blocks, doubled};
use crate::collective::step::{receive, send};
use crate::collective::tree::Binomial;
use crate::collective::{Algorithm, Cost, Effect, Idle, Kind, Layout, Shape, Step};

/// The registry's entry.
pub const ENTRY: Entry<Algorithm> = Entry {
    name: "binomial",
    summary: "down a binomial tree",
    source: "Thakur, Rabenseifner, Gropp 2005; MPICH",
    parameters: &[],
    examples: &[""],
    build: Algorithm {
        kinds: &[Kind::Scatter],
        round,
        layout: |_| Layout::Blocks,
        cost,
        sends: None,
        fits: |_| true,
    },
};

fn round(shape: &Shape, rank: u32, round: u32, steps: &mut Vec<Step>) -> bool {
    let node = Binomial::new(shape.relative(rank), shape.size);
    if round >= node.rounds() {
        return false;
    }
    match node.parent() {
        Some(parent) if round == 0 => {
            let (bytes, slots) = blocks(shape, rank, node.subtree());
            receive(steps, shape.absolute(parent), bytes, slots, Effect::Store);
        }
        parent => {
            let sent = round - u32::from(parent.is_some());
            let child = Binomial::new(node.child(node.children() - 1 - sent), shape.size);
            let to = shape.absolute(child.number);
            let (bytes, slots) = blocks(shape, to, child.subtree());
            send(steps, to, bytes, slots);
        }
    }
    true
}

fn cost(shape: &Shape, idle: &Idle) -> Cost {
    let seconds = doubled(shape.doublings(), shape.largest_block(), |bytes| idle.time(bytes));
    Cost::exact_if(shape.power_of_two(), seconds)
}
