//! Scatter-ring-allgather broadcast: p chunks are scattered down a binomial tree, then go round a ring.
//!
//! Slot v is the chunk of relative rank v; c is the largest chunk, n/p.
//! Cost: `Σ_{j<log₂ p} T(2ʲ c) + (p − 1) T(c)`, that is `(log₂ p + p − 1) α + 2 n β (p − 1)/p`, exact
//! for powers of two that divide n, else an upper bound. Good for long vectors.
//! Source: Thakur, Rabenseifner, Gropp 2005, section 4.2 (there after van de Geijn).

use engine::registry::Entry;

use super::scatter_recursive_doubling_allgather::{scatter_round, scatter_rounds, scatter_time};
use crate::collective::parts::{chunks, largest_chunk};
use crate::collective::step::{Phases, receive, send};
use crate::collective::{Algorithm, Cost, Effect, Idle, Kind, Layout, Shape, Step};

/// The registry's entry.
pub const ENTRY: Entry<Algorithm> = Entry {
    name: "scatter-ring-allgather",
    summary: "chunks down a binomial tree, then round a ring",
    source: "Thakur, Rabenseifner, Gropp 2005",
    parameters: &[],
    examples: &[""],
    build: Algorithm {
        kinds: &[Kind::Bcast],
        round,
        layout: |shape| Layout::Chunks(shape.size),
        cost,
        sends: None,
        fits: |_| true,
    },
};

fn round(shape: &Shape, rank: u32, round: u32, steps: &mut Vec<Step>) -> bool {
    let mut phases = Phases(round);
    if let Some(step) = phases.take(scatter_rounds(shape, rank)) {
        scatter_round(shape, rank, step, steps);
        return true;
    }
    let Some(step) = phases.take(shape.size - 1) else { return false };
    let number = shape.relative(rank);
    let (bytes, slots) = chunks(shape, shape.size, shape.shifted_back(number, step), 1);
    send(steps, shape.shifted(rank, 1), bytes, slots);
    let (bytes, slots) = chunks(shape, shape.size, shape.shifted_back(number, step + 1), 1);
    receive(steps, shape.shifted_back(rank, 1), bytes, slots, Effect::Store);
    true
}

fn cost(shape: &Shape, idle: &Idle) -> Cost {
    let (bytes, even) = largest_chunk(shape, shape.size);
    let ring = f64::from(shape.size - 1) * idle.time(bytes);
    Cost::exact_if(even && shape.power_of_two(), scatter_time(shape, idle, bytes) + ring)
}
