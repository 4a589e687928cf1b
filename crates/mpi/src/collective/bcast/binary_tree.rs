//! Binary-tree broadcast: segments down a balanced binary tree, each sent to both children.
//!
//! Slots are segments of s = `Shape::segment` bytes, S of them; d is the depth, ⌊log₂ p⌋.
//! Cost: `d (T(s) + B(s)) + 2 (S − 1) B(s)` for a full tree (p = 2ᵈ⁺¹ − 1) if s divides n, else at most
//! that. Good between binomial and chain: half the bandwidth at a logarithm of latencies.
//! Source: Pješivac-Grbić et al. 2007; Open MPI coll/base, `bcast_intra_bintree`.

use engine::registry::Entry;

use crate::collective::step::{receive, send};
use crate::collective::tree::Binary;
use crate::collective::{Algorithm, Cost, Effect, Idle, Kind, Layout, Shape, Slots, Step};

/// The registry's entry.
pub const ENTRY: Entry<Algorithm> = Entry {
    name: "binary-tree",
    summary: "segments down a balanced binary tree (pipelined)",
    source: "Pjesivac-Grbic et al. 2007; Open MPI coll/base",
    parameters: &[],
    examples: &[""],
    build: Algorithm {
        kinds: &[Kind::Bcast],
        round,
        layout: |_| Layout::Segments,
        cost,
        sends: None,
        fits: |_| true,
    },
};

fn round(shape: &Shape, rank: u32, round: u32, steps: &mut Vec<Step>) -> bool {
    let segments = shape.segments();
    let node = Binary { number: shape.relative(rank), size: shape.size };
    let children = node.children();
    let leaf = children[0].is_none();
    let rounds = match node.parent() {
        None if leaf => 0,
        Some(_) if !leaf => segments + 1,
        _ => segments,
    };
    if round >= rounds {
        return false;
    }
    if let Some(parent) = node.parent().filter(|_| round < segments) {
        receive(steps, shape.absolute(parent), shape.segment_bytes(round), Slots::one(round), Effect::Store);
    }
    let sent = if node.parent().is_none() { Some(round) } else { round.checked_sub(1) };
    if let Some(segment) = sent {
        for child in children.into_iter().flatten() {
            send(steps, shape.absolute(child), shape.segment_bytes(segment), Slots::one(segment));
        }
    }
    true
}

fn cost(shape: &Shape, idle: &Idle) -> Cost {
    let (segments, bytes) = (shape.segments(), shape.segment_bytes(0));
    if shape.size == 1 {
        return Cost::Exact(0.0);
    }
    let depth = f64::from(Binary::depth(shape.size));
    let (time, busy) = (idle.time(bytes), idle.busy(bytes));
    let full = (shape.size + 1).is_power_of_two();
    let seconds = depth * (time + busy) + 2.0 * f64::from(segments - 1) * busy;
    Cost::exact_if(full && shape.even_segments(), seconds)
}
