//! Bruck's all-to-all: in round k all blocks whose remaining way has bit k go 2ᵏ ahead together.
//!
//! Slot i holds at first the block for rank r + i, at last the one from rank r − i.
//! Cost: `Σ_{k<⌈log₂ p⌉} T(n · #{i < p: bit k of i})`, that is `log₂ p α + n p/2 log₂ p β` for powers of
//! two. Good for short blocks. The rotations in memory are not counted.
//! Source: Bruck, Ho, Kipnis, Upfal, Weathersby (IEEE TPDS 8(11), 1997).

use engine::registry::Entry;

use crate::collective::step::{receive, send};
use crate::collective::{Algorithm, Cost, Effect, Idle, Kind, Layout, Shape, Slots, Step};

/// The registry's entry.
pub const ENTRY: Entry<Algorithm> = Entry {
    name: "bruck",
    summary: "log2(p) rounds for any p, half of all blocks 2^k ahead in each",
    source: "Bruck, Ho, Kipnis, Upfal, Weathersby 1997",
    parameters: &[],
    examples: &[""],
    build: Algorithm {
        kinds: &[Kind::Alltoall],
        round,
        layout: |_| Layout::Rotated,
        cost,
        sends: None,
        fits: |_| true,
    },
};

fn round(shape: &Shape, rank: u32, round: u32, steps: &mut Vec<Step>) -> bool {
    if round >= shape.doublings() {
        return false;
    }
    let bytes = with_bit(shape.size, round) * shape.block(0);
    let slots = Slots::Bit { bit: round as u8 };
    send(steps, shape.shifted(rank, 1 << round), bytes, slots);
    receive(steps, shape.shifted_back(rank, 1 << round), bytes, slots, Effect::Store);
    true
}

/// Counts the numbers below `size` that have bit `bit` set.
fn with_bit(size: u32, bit: u32) -> u64 {
    let (size, half) = (u64::from(size), 1u64 << bit);
    size / (2 * half) * half + (size % (2 * half)).saturating_sub(half)
}

fn cost(shape: &Shape, idle: &Idle) -> Cost {
    let bytes = |round| with_bit(shape.size, round) * shape.block(0);
    Cost::Exact((0..shape.doublings()).map(|round| idle.time(bytes(round))).sum())
}
