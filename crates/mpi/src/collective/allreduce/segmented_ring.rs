//! Segmented-ring allreduce: the ring, but reduced in phases of one segment of every chunk.
//!
//! Slots: p chunks of c = n/p bytes, each in S segments of s = c/S (at most `Shape::segment`) bytes.
//! A phase takes one segment of all chunks once round the ring; then whole chunks are handed out.
//! Operands come in cyclic order: commutative operations only.
//! Cost: `S (p − 1) (T(s) + R(s)) + (p − 1) T(c)`, exact where all are even. Good for vectors whose
//! chunks are longer than a segment: what is reduced stays in the cache.
//! Source: Open MPI coll/base, `allreduce_intra_ring_segmented`.

use engine::registry::Entry;

use crate::collective::layout::chunk;
use crate::collective::parts::largest_chunk;
use crate::collective::step::{receive, send};
use crate::collective::{Algorithm, Cost, Effect, Idle, Kind, Layout, Shape, Slots, Step};

/// The registry's entry.
pub const ENTRY: Entry<Algorithm> = Entry {
    name: "segmented-ring",
    summary: "the ring, reduced one segment of each chunk at a time (commutative)",
    source: "Open MPI coll/base",
    parameters: &[],
    examples: &[""],
    build: Algorithm {
        kinds: &[Kind::Allreduce],
        round,
        layout: |shape| Layout::Segmented { chunks: shape.size, segments: segments(shape) },
        cost,
        sends: None,
        fits: |shape| shape.call.commutative,
    },
};

fn segments(shape: &Shape) -> u32 {
    shape.segments_of(largest_chunk(shape, shape.size).0)
}

fn round(shape: &Shape, rank: u32, round: u32, steps: &mut Vec<Step>) -> bool {
    let (size, segments) = (shape.size, segments(shape));
    let around = size - 1;
    if u64::from(round) >= u64::from(around) * (u64::from(segments) + 1) {
        return false;
    }
    let (phase, step) = (round / around, round % around);
    let element = shape.element();
    let part = |index: u32| {
        let whole = chunk(shape.vector(), element, size, index, 1);
        if phase < segments {
            let bytes = chunk(whole, element, segments, phase, 1);
            (bytes, Slots::one(index * segments + phase))
        } else {
            (whole, Slots::range(index * segments, segments))
        }
    };
    // Reducing begins with the rank's own chunk, handing out with the next, which it has completed.
    let effect = if phase < segments { Effect::CombineLeft } else { Effect::Store };
    let first = shape.shifted(rank, u32::from(phase == segments));
    let sent = shape.shifted_back(first, step);
    let (bytes, slots) = part(sent);
    send(steps, shape.shifted(rank, 1), bytes, slots);
    let (bytes, slots) = part(shape.shifted_back(sent, 1));
    receive(steps, shape.shifted_back(rank, 1), bytes, slots, effect);
    true
}

fn cost(shape: &Shape, idle: &Idle) -> Cost {
    let (whole, even) = largest_chunk(shape, shape.size);
    let segments = segments(shape);
    let elements = (whole / shape.element()).div_ceil(u64::from(segments));
    let bytes = elements * shape.element();
    let reducing = f64::from(segments) * idle.time_reduced(bytes);
    let seconds = f64::from(shape.size - 1) * (reducing + idle.time(whole));
    Cost::exact_if(even && bytes * u64::from(segments) == whole, seconds)
}
