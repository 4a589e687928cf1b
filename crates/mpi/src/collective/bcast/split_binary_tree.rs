//! Split-binary broadcast: each half of the vector goes down one half of a binary tree in segments;
//! then each rank swaps halves with its mirror image in the other half of the tree.
//!
//! Slots: the two halves of the vector, each in S segments of at most `Shape::segment` bytes; s is a
//! segment, h a half, d the depth ⌊log₂ p⌋. In a tree with an even number of ranks the last one has no
//! mirror image and gets the other half from the root.
//! Cost: `d (T(s) + B(s)) + 2 (S − 1) B(s) + T(h)` for a full tree and even halves and segments, else
//! at most `B(s) + B(h)` more. Good for medium vectors: half the data in the tree phase of a binary tree.
//! Source: Pješivac-Grbić et al. 2007; Open MPI coll/base, `bcast_intra_split_bintree`.

use engine::registry::Entry;

use crate::collective::layout::chunk;
use crate::collective::parts::exchange;
use crate::collective::step::{Phases, receive, send};
use crate::collective::tree::Binary;
use crate::collective::{Algorithm, Cost, Effect, Idle, Kind, Layout, Shape, Slots, Step};

/// The registry's entry.
pub const ENTRY: Entry<Algorithm> = Entry {
    name: "split-binary-tree",
    summary: "half the vector down each side of a binary tree (pipelined), then the sides swap",
    source: "Pjesivac-Grbic et al. 2007; Open MPI coll/base",
    parameters: &[],
    examples: &[""],
    build: Algorithm { kinds: &[Kind::Bcast], round, layout, cost, sends: None, fits: |_| true },
};

fn layout(shape: &Shape) -> Layout {
    Layout::Segmented { chunks: 2, segments: segments(shape) }
}

fn half(shape: &Shape, side: u32) -> u64 {
    chunk(shape.vector(), shape.element(), 2, side, 1)
}

fn segments(shape: &Shape) -> u32 {
    shape.segments_of(half(shape, 0).max(half(shape, 1)))
}

fn round(shape: &Shape, rank: u32, round: u32, steps: &mut Vec<Step>) -> bool {
    let segments = segments(shape);
    let node = Binary { number: shape.relative(rank), size: shape.size };
    let segment = |side: u32, index: u32| {
        let bytes = chunk(half(shape, side), shape.element(), segments, index, 1);
        (bytes, Slots::one(side * segments + index))
    };
    // Odd numbers are in the left half of the tree, which carries the first half of the vector.
    let side = 1 - node.number % 2;
    let children = node.children();
    let tree_rounds = match node.parent() {
        None => {
            if children[0].is_some() {
                segments
            } else {
                0
            }
        }
        Some(_) => segments + u32::from(children[0].is_some()),
    };
    let mut phases = Phases(round);
    if let Some(step) = phases.take(tree_rounds) {
        if let Some(parent) = node.parent().filter(|_| step < segments) {
            let (bytes, slots) = segment(side, step);
            receive(steps, shape.absolute(parent), bytes, slots, Effect::Store);
        }
        let sent = if node.parent().is_none() { Some(step) } else { step.checked_sub(1) };
        for child in children.into_iter().flatten() {
            if let Some(index) = sent {
                let (bytes, slots) = segment(1 - child % 2, index);
                send(steps, shape.absolute(child), bytes, slots);
            }
        }
        return true;
    }
    phases.take(1).is_some() && swap(shape, node, segments, steps)
}

/// The halves change sides. False where the rank has nothing to do with it.
fn swap(shape: &Shape, node: Binary, segments: u32, steps: &mut Vec<Step>) -> bool {
    let whole = |side: u32| (half(shape, side), Slots::range(side * segments, segments));
    let unpaired = (shape.size % 2 == 0).then(|| shape.size - 1);
    let side = 1 - node.number % 2;
    if node.number == 0 {
        let (bytes, slots) = whole(1);
        unpaired.into_iter().for_each(|last| send(steps, shape.absolute(last), bytes, slots));
        return unpaired.is_some();
    }
    if Some(node.number) == unpaired {
        let (bytes, slots) = whole(1);
        receive(steps, shape.call.root, bytes, slots, Effect::Store);
    } else {
        let mirror = if node.number % 2 == 1 { node.number + 1 } else { node.number - 1 };
        exchange(steps, shape.absolute(mirror), whole(side), whole(1 - side), Effect::Store);
    }
    true
}

fn cost(shape: &Shape, idle: &Idle) -> Cost {
    if shape.size == 1 {
        return Cost::Exact(0.0);
    }
    let (half, segments) = (half(shape, 0).max(half(shape, 1)), segments(shape));
    let elements = half / shape.element();
    let bytes = elements.div_ceil(u64::from(segments)) * shape.element() + half % shape.element();
    let even = shape.vector() % (2 * shape.element() * u64::from(segments)) == 0;
    let exact = even && (shape.size + 1).is_power_of_two();
    let depth = f64::from(Binary::depth(shape.size));
    let (time, busy) = (idle.time(bytes), idle.busy(bytes));
    let tree = depth * (time + busy) + 2.0 * f64::from(segments - 1) * busy;
    let more = if exact { 0.0 } else { busy + idle.busy(half) };
    Cost::exact_if(exact, tree + idle.time(half) + more)
}
