//! Scatter-recursive-doubling-allgather broadcast: p chunks are scattered down a binomial tree, then
//! collected in exchanges that double. Powers of two only.
//!
//! Slot v is the chunk of relative rank v; c is the largest chunk, n/p.
//! Cost: `2 Σ_{j<log₂ p} T(2ʲ c)`, that is `2 log₂ p α + 2 n β (p − 1)/p`, exact where p divides n.
//! Good for medium vectors.
//! Source: Thakur, Rabenseifner, Gropp 2005, section 4.2.

use engine::registry::Entry;

use crate::collective::parts::{chunks, doubled, exchange, largest_chunk};
use crate::collective::step::{Phases, receive, send};
use crate::collective::tree::Binomial;
use crate::collective::{Algorithm, Cost, Effect, Idle, Kind, Layout, Shape, Step};

/// The registry's entry.
pub const ENTRY: Entry<Algorithm> = Entry {
    name: "scatter-recursive-doubling-allgather",
    summary: "chunks down a binomial tree, then exchanges that double (powers of two)",
    source: "Thakur, Rabenseifner, Gropp 2005",
    parameters: &[],
    examples: &[""],
    build: Algorithm {
        kinds: &[Kind::Bcast],
        round,
        layout: |shape| Layout::Chunks(shape.size),
        cost,
        sends: None,
        fits: |shape| shape.power_of_two(),
    },
};

/// Number of rounds of `rank` in the scatter of chunks.
pub(super) fn scatter_rounds(shape: &Shape, rank: u32) -> u32 {
    Binomial::new(shape.relative(rank), shape.size).rounds()
}

/// One round of the scatter: each subtree's chunks go to its root, the largest subtree's first.
pub(super) fn scatter_round(shape: &Shape, rank: u32, round: u32, steps: &mut Vec<Step>) {
    let node = Binomial::new(shape.relative(rank), shape.size);
    let below = |node: Binomial| chunks(shape, shape.size, node.number, node.subtree());
    match node.parent() {
        Some(parent) if round == 0 => {
            let (bytes, slots) = below(node);
            receive(steps, shape.absolute(parent), bytes, slots, Effect::Store);
        }
        parent => {
            let sent = round - u32::from(parent.is_some());
            let child = Binomial::new(node.child(node.children() - 1 - sent), shape.size);
            let (bytes, slots) = below(child);
            send(steps, shape.absolute(child.number), bytes, slots);
        }
    }
}

/// The time of the scatter with chunks of `bytes`, exact for powers of two, else an upper bound.
pub(super) fn scatter_time(shape: &Shape, idle: &Idle, bytes: u64) -> f64 {
    doubled(shape.doublings(), bytes, |bytes| idle.time(bytes))
}

fn round(shape: &Shape, rank: u32, round: u32, steps: &mut Vec<Step>) -> bool {
    let mut phases = Phases(round);
    if let Some(step) = phases.take(scatter_rounds(shape, rank)) {
        scatter_round(shape, rank, step, steps);
        return true;
    }
    let Some(step) = phases.take(shape.doublings()) else { return false };
    let number = shape.relative(rank);
    let peer = number ^ 1 << step;
    let group = |number: u32| chunks(shape, shape.size, number >> step << step, 1 << step);
    exchange(steps, shape.absolute(peer), group(number), group(peer), Effect::Store);
    true
}

fn cost(shape: &Shape, idle: &Idle) -> Cost {
    let (bytes, even) = largest_chunk(shape, shape.size);
    Cost::exact_if(even, 2.0 * scatter_time(shape, idle, bytes))
}
