//! Chain reduce: segments go down a chain that ends at the root, each rank adding its part.
//!
//! The chain is root + p − 1, …, root + 1, root (cyclically), so an operation that does not commute
//! needs root 0. Slots are segments of s = `Shape::segment` bytes, S of them.
//! Cost: `(p − 1) (T(s) + R(s)) + (S − 1) max(B(s), R(s))` if s divides n. Good for long vectors on few
//! ranks.
//! Source: Pješivac-Grbić et al. 2007, there "pipeline"; Open MPI coll/base, `reduce_intra_pipeline`.

use engine::registry::Entry;

use crate::collective::step::{receive, send};
use crate::collective::{Algorithm, Cost, Effect, Idle, Kind, Layout, Shape, Slots, Step};

/// The registry's entry.
pub const ENTRY: Entry<Algorithm> = Entry {
    name: "chain",
    summary: "segments down a chain that ends at the root (pipelined)",
    source: "Pjesivac-Grbic et al. 2007",
    parameters: &[],
    examples: &[""],
    build: Algorithm {
        kinds: &[Kind::Reduce],
        round,
        layout: |_| Layout::Segments,
        cost,
        sends: None,
        fits: |shape| shape.call.commutative || shape.call.root == 0,
    },
};

fn round(shape: &Shape, rank: u32, round: u32, steps: &mut Vec<Step>) -> bool {
    let segments = shape.segments();
    let number = shape.relative(rank);
    let (starts, ends) = (number == shape.size - 1, number == 0);
    let rounds = match (starts, ends) {
        (true, true) => 0,
        (false, false) => segments + 1,
        _ => segments,
    };
    if round >= rounds {
        return false;
    }
    if !starts && round < segments {
        let (from, bytes) = (shape.shifted(rank, 1), shape.segment_bytes(round));
        receive(steps, from, bytes, Slots::one(round), Effect::CombineRight);
    }
    let sent = if starts { Some(round) } else { round.checked_sub(1) };
    if let Some(segment) = sent.filter(|_| !ends) {
        send(steps, shape.shifted_back(rank, 1), shape.segment_bytes(segment), Slots::one(segment));
    }
    true
}

fn cost(shape: &Shape, idle: &Idle) -> Cost {
    let (segments, bytes) = (shape.segments(), shape.segment_bytes(0));
    if shape.size == 1 {
        return Cost::Exact(0.0);
    }
    let fill = f64::from(shape.size - 1) * idle.time_reduced(bytes);
    let rest = f64::from(segments - 1) * idle.busy(bytes).max(idle.reduce(bytes));
    Cost::exact_if(shape.even_segments(), fill + rest)
}
