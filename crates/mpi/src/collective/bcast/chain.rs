//! Chain broadcast: the vector goes from rank to rank in segments, all links at work at once.
//!
//! Slots are segments of s = `Shape::segment` bytes, S of them.
//! Cost: `(p − 1) T(s) + (S − 1) B(s)` if s divides n. Good for long vectors on few ranks: near the
//! full bandwidth, but p − 1 latencies.
//! Source: Pješivac-Grbić et al., "Performance analysis of MPI collective operations" (Cluster
//! Computing 10(2), 2007), there "pipeline"; Träff, Ripke, "Optimal broadcast for fully connected
//! processor-node networks" (JPDC 68(7), 2008).

use engine::registry::Entry;

use crate::collective::step::{receive, send};
use crate::collective::{Algorithm, Cost, Effect, Idle, Kind, Layout, Shape, Slots, Step};

/// The registry's entry.
pub const ENTRY: Entry<Algorithm> = Entry {
    name: "chain",
    summary: "segments down a chain of all ranks (pipelined)",
    source: "Pjesivac-Grbic et al. 2007",
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
    let number = shape.relative(rank);
    let (first, last) = (number == 0, number == shape.size - 1);
    let rounds = match (first, last) {
        (true, true) => 0,
        (false, false) => segments + 1,
        _ => segments,
    };
    if round >= rounds {
        return false;
    }
    if !first && round < segments {
        let (from, bytes) = (shape.shifted_back(rank, 1), shape.segment_bytes(round));
        receive(steps, from, bytes, Slots::one(round), Effect::Store);
    }
    // The root sends segment k in round k, the others in the round after they have got it.
    let sent = if first { Some(round) } else { round.checked_sub(1) };
    if let Some(segment) = sent.filter(|_| !last) {
        send(steps, shape.shifted(rank, 1), shape.segment_bytes(segment), Slots::one(segment));
    }
    true
}

fn cost(shape: &Shape, idle: &Idle) -> Cost {
    let (segments, bytes) = (shape.segments(), shape.segment_bytes(0));
    if shape.size == 1 {
        return Cost::Exact(0.0);
    }
    let seconds = f64::from(shape.size - 1) * idle.time(bytes) + f64::from(segments - 1) * idle.busy(bytes);
    Cost::exact_if(shape.even_segments(), seconds)
}
