//! Dissemination allreduce: in every round a partial result goes to a rank further ahead.
//!
//! A rank holds two partial results: of the m + 1 ranks up to and with itself (slot 0), and of the m
//! ranks before it (slot 1). The bits of p − 1 are taken from the highest: for a 0 the m ranks' result
//! goes m ahead, for a 1 the m + 1 ranks' result goes m + 1 ahead, so that m grows to 2m or 2m + 1 and
//! ends as p − 1. For powers of two all bits are 1: distances 1, 2, 4, …, as in the barrier.
//! Operands come in cyclic order: commutative operations only. Both partial results are reduced in one
//! pass over the message, which counts once.
//! Cost: `⌈log₂ p⌉ (T(n) + R(n))`, for any p: no fold. Good for short vectors on any number of ranks.
//! Source: Bar-Noy, Kipnis, Schieber, "An optimal algorithm for computing census functions in
//! message-passing systems" (Parallel Processing Letters 3(1), 1993); Hensgen, Finkel, Manber 1988.

use engine::registry::Entry;

use crate::collective::step::{receive, send};
use crate::collective::{Algorithm, Cost, Effect, Idle, Kind, Layout, Shape, Slots, Step};

/// The registry's entry.
pub const ENTRY: Entry<Algorithm> = Entry {
    name: "dissemination",
    summary: "log2(p) rounds for any p, whole vector (commutative)",
    source: "Bar-Noy, Kipnis, Schieber 1993; Hensgen, Finkel, Manber 1988",
    parameters: &[],
    examples: &[""],
    build: Algorithm {
        kinds: &[Kind::Allreduce],
        round,
        layout: |_| Layout::Twice,
        cost,
        sends: Some(|shape, _| shape.doublings().into()),
        fits: |shape| shape.call.commutative,
    },
};

fn round(shape: &Shape, rank: u32, round: u32, steps: &mut Vec<Step>) -> bool {
    let rounds = shape.doublings();
    if round >= rounds {
        return false;
    }
    let bits = (shape.size - 1) >> (rounds - 1 - round);
    let (before, own) = (bits >> 1, bits & 1);
    let distance = before + own;
    send(steps, shape.shifted(rank, distance), shape.vector(), Slots::one(1 - own));
    let both = Slots::range(0, 2);
    receive(steps, shape.shifted_back(rank, distance), shape.vector(), both, Effect::CombineLeft);
    true
}

fn cost(shape: &Shape, idle: &Idle) -> Cost {
    Cost::Exact(f64::from(shape.doublings()) * idle.time_reduced(shape.vector()))
}
