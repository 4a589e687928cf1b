//! Recursive-doubling scan: partial results of groups are exchanged with the rank that differs in bit k.
//!
//! Slot 0 is the result, slot 1 what the rank's group of 2ᵏ has, combined. What a lower rank sends goes
//! into both, in one pass that counts once; what a higher rank sends goes into slot 1.
//! Cost: `log₂ p (T(n) + R(n))` for powers of two, else at most `⌈log₂ p⌉ (T(n) + R(n) + B(n))`.
//! Good for many ranks.
//! Source: Thakur, Rabenseifner, Gropp 2005 (the pattern); MPICH and Open MPI, `scan`.

use engine::registry::Entry;

use crate::collective::step::{receive, send};
use crate::collective::{Algorithm, Cost, Effect, Idle, Layout, Shape, Slots, Step};

/// The registry's entry.
pub const ENTRY: Entry<Algorithm> = Entry {
    name: "recursive-doubling",
    summary: "exchange groups' partial results with the rank that differs in bit k",
    source: "MPICH; Open MPI coll/base",
    parameters: &[],
    examples: &[""],
    build: Algorithm {
        kinds: super::KINDS,
        round,
        layout: |_| Layout::Twice,
        cost,
        sends: None,
        fits: |_| true,
    },
};

fn round(shape: &Shape, rank: u32, round: u32, steps: &mut Vec<Step>) -> bool {
    if round >= shape.doublings() {
        return false;
    }
    let peer = rank ^ 1 << round;
    // Without a peer the rank pauses: its group is the last one.
    if peer < shape.size {
        let bytes = shape.vector();
        send(steps, peer, bytes, Slots::one(1));
        if peer < rank {
            receive(steps, peer, bytes, Slots::range(0, 2), Effect::CombineLeft);
        } else {
            receive(steps, peer, bytes, Slots::one(1), Effect::CombineRight);
        }
    }
    true
}

fn cost(shape: &Shape, idle: &Idle) -> Cost {
    let (even, bytes) = (shape.power_of_two(), shape.vector());
    let each = idle.time_in_step(even, bytes) + idle.reduce(bytes);
    Cost::exact_if(even, f64::from(shape.doublings()) * each)
}
