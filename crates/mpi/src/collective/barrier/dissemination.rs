//! Dissemination barrier: in round k a rank tells r + 2ᵏ and hears from r − 2ᵏ (cyclically).
//!
//! After round k it has heard, directly or not, from the 2ᵏ⁺¹ ranks behind it.
//! Cost: `⌈log₂ p⌉ T(0)`, for any p. Good always; the least rounds that are possible.
//! Source: Hensgen, Finkel, Manber, "Two algorithms for barrier synchronization" (Int. J. Parallel
//! Programming 17(1), 1988).

use engine::registry::Entry;

use crate::collective::step::{receive, send};
use crate::collective::{Algorithm, Cost, Effect, Idle, Kind, Layout, Shape, Slots, Step};

/// The registry's entry.
pub const ENTRY: Entry<Algorithm> = Entry {
    name: "dissemination",
    summary: "log2(p) rounds, in each a message to the rank 2^k ahead",
    source: "Hensgen, Finkel, Manber 1988",
    parameters: &[],
    examples: &[""],
    build: Algorithm {
        kinds: &[Kind::Barrier],
        round,
        layout: |_| Layout::Nothing,
        cost,
        sends: Some(|shape, _| shape.doublings().into()),
        fits: |_| true,
    },
};

fn round(shape: &Shape, rank: u32, round: u32, steps: &mut Vec<Step>) -> bool {
    if round >= shape.doublings() {
        return false;
    }
    send(steps, shape.shifted(rank, 1 << round), 0, Slots::None);
    receive(steps, shape.shifted_back(rank, 1 << round), 0, Slots::None, Effect::Store);
    true
}

fn cost(shape: &Shape, idle: &Idle) -> Cost {
    Cost::Exact(f64::from(shape.doublings()) * idle.time(0))
}
