//! Pairwise all-to-all: in each round one exchange, with rank r XOR k for powers of two, else to r + k
//! and from r − k.
//!
//! Cost: `(p − 1) T(n)` for blocks of n bytes. Good for long blocks: each port has one message at a time.
//! Source: Thakur, Rabenseifner, Gropp 2005, section 4.3.

use engine::registry::Entry;

use super::{received, sent};
use crate::collective::step::{receive, send};
use crate::collective::{Algorithm, Cost, Effect, Idle, Kind, Layout, Shape, Slots, Step};

/// The registry's entry.
pub const ENTRY: Entry<Algorithm> = Entry {
    name: "pairwise",
    summary: "p - 1 rounds, one exchange in each",
    source: "Thakur, Rabenseifner, Gropp 2005",
    parameters: &[],
    examples: &[""],
    build: Algorithm {
        kinds: &[Kind::Alltoall, Kind::Alltoallv],
        round,
        layout: |_| Layout::Exchange,
        cost,
        sends: Some(|shape, _| u64::from(shape.size) - 1),
        fits: |_| true,
    },
};

fn round(shape: &Shape, rank: u32, round: u32, steps: &mut Vec<Step>) -> bool {
    let distance = round + 1;
    if distance >= shape.size {
        return false;
    }
    let (to, from) = if shape.power_of_two() {
        (rank ^ distance, rank ^ distance)
    } else {
        (shape.shifted(rank, distance), shape.shifted_back(rank, distance))
    };
    receive(steps, from, received(shape, from), Slots::one(shape.size + from), Effect::Store);
    send(steps, to, sent(shape, to), Slots::one(to));
    true
}

fn cost(shape: &Shape, idle: &Idle) -> Cost {
    let even = shape.call.kind == Kind::Alltoall;
    Cost::exact_if(even, f64::from(shape.size - 1) * idle.time_in_step(even, shape.largest_block()))
}
