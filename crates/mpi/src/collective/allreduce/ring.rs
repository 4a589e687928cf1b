//! Ring allreduce: p chunks go round the ring once to be reduced and once to be handed out.
//!
//! Slot i is chunk i, c = n/p bytes; it is complete at rank i − 1. Operands come in cyclic order:
//! commutative operations only.
//! Cost: `(p − 1) (2 T(c) + R(c))`, that is `2 (p − 1) α + 2 n β (p − 1)/p + n γ (p − 1)/p`, exact where
//! p divides n. Good for long vectors: only neighbours talk.
//! Source: Patarasuk, Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations"
//! (JPDC 69(2), 2009); Open MPI coll/base, `allreduce_intra_ring`.

use engine::registry::Entry;

use crate::collective::parts::{chunks, largest_chunk};
use crate::collective::step::{receive, send};
use crate::collective::{Algorithm, Cost, Effect, Idle, Kind, Layout, Shape, Step};

/// The registry's entry.
pub const ENTRY: Entry<Algorithm> = Entry {
    name: "ring",
    summary: "chunks round a ring, reduced first, then handed out (commutative)",
    source: "Patarasuk, Yuan 2009; Open MPI coll/base",
    parameters: &[],
    examples: &[""],
    build: Algorithm {
        kinds: &[Kind::Allreduce],
        round,
        layout: |shape| Layout::Chunks(shape.size),
        cost,
        sends: None,
        fits: |shape| shape.call.commutative,
    },
};

fn round(shape: &Shape, rank: u32, round: u32, steps: &mut Vec<Step>) -> bool {
    let size = shape.size;
    if round / 2 >= size - 1 {
        return false;
    }
    // A rank sends what it got in the round before. After p - 1 rounds that is the chunk which it has
    // completed, so the second half goes on in the same way.
    let sent = shape.shifted_back(rank, round % size);
    let effect = if round < size - 1 { Effect::CombineLeft } else { Effect::Store };
    let (bytes, slots) = chunks(shape, size, sent, 1);
    send(steps, shape.shifted(rank, 1), bytes, slots);
    let (bytes, slots) = chunks(shape, size, shape.shifted_back(sent, 1), 1);
    receive(steps, shape.shifted_back(rank, 1), bytes, slots, effect);
    true
}

fn cost(shape: &Shape, idle: &Idle) -> Cost {
    let (bytes, even) = largest_chunk(shape, shape.size);
    let each = idle.time_reduced(bytes) + idle.time(bytes);
    Cost::exact_if(even, f64::from(shape.size - 1) * each)
}
