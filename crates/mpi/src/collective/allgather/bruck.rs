//! Bruck's allgather: in round k a rank gets the next 2ᵏ blocks from the rank 2ᵏ ahead (cyclically).
//!
//! Cost: `Σ_{j<L−1} T(2ʲ n) + T((p − 2ᴸ⁻¹) n)` with L = ⌈log₂ p⌉, that is `L α + (p − 1) n β`, for any p.
//! Good for short blocks where p is not a power of two. The final rotation in memory is not counted.
//! Source: Bruck, Ho, Kipnis, Upfal, Weathersby, "Efficient algorithms for all-to-all communications in
//! multiport message-passing systems" (IEEE TPDS 8(11), 1997).

use engine::registry::Entry;

use crate::collective::parts::{blocks, doubled};
use crate::collective::step::{receive, send};
use crate::collective::{Algorithm, Cost, Effect, Idle, Layout, Shape, Step};

/// The registry's entry.
pub const ENTRY: Entry<Algorithm> = Entry {
    name: "bruck",
    summary: "log2(p) rounds for any p, up to 2^k blocks from the rank 2^k ahead",
    source: "Bruck, Ho, Kipnis, Upfal, Weathersby 1997",
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
    if round >= shape.doublings() {
        return false;
    }
    let distance = 1 << round;
    let count = distance.min(shape.size - distance);
    let (bytes, slots) = blocks(shape, rank, count);
    send(steps, shape.shifted_back(rank, distance), bytes, slots);
    let ahead = shape.shifted(rank, distance);
    let (bytes, slots) = blocks(shape, ahead, count);
    receive(steps, ahead, bytes, slots, Effect::Store);
    true
}

fn cost(shape: &Shape, idle: &Idle) -> Cost {
    let (rounds, bytes) = (shape.doublings(), shape.largest_block());
    let Some(before_last) = rounds.checked_sub(1) else { return Cost::Exact(0.0) };
    let last = u64::from(shape.size - (1 << before_last)) * bytes;
    let even = shape.even_blocks();
    let time = |bytes| idle.time_in_step(even, bytes);
    Cost::exact_if(even, doubled(before_last, bytes, time) + time(last))
}
