//! Binary-tree reduce: segments up a balanced binary tree whose subtrees are ranges of ranks.
//!
//! A node combines left ⊕ right ⊕ own, so the order of ranks is kept. The tree ends at the last rank
//! (counted so that this is the root, or, if the operation does not commute, as they are; the result
//! then goes on to the root). Slots are segments of s = `Shape::segment` bytes, S of them; d is the
//! depth ⌊log₂ p⌋ and M = max(B(s), R(s)).
//! Cost: at most `d (T(s) + 2 B(s) + 2 R(s)) + 2 (S − 1) M`, and `T(n)` more where the result moves: the
//! right operand goes first, but may come last, behind the next segment from the left. In a tree that
//! is not full 3 stands for 2, since a leaf beside a subtree runs ahead and fills the port. Good for medium vectors.
//! Source: Open MPI coll/base, `reduce_intra_binary` and `reduce_intra_in_order_binary`;
//! Pješivac-Grbić et al. 2007.

use engine::registry::Entry;

use crate::collective::step::{Phases, receive, send};
use crate::collective::tree::Ordered;
use crate::collective::{Algorithm, Cost, Effect, Idle, Kind, Layout, Shape, Slots, Step};

/// The registry's entry.
pub const ENTRY: Entry<Algorithm> = Entry {
    name: "binary-tree",
    summary: "segments up a balanced binary tree, in the order of ranks (pipelined)",
    source: "Pjesivac-Grbic et al. 2007; Open MPI coll/base",
    parameters: &[],
    examples: &[""],
    build: Algorithm {
        kinds: &[Kind::Reduce],
        round,
        layout: |_| Layout::Segments,
        cost,
        sends: None,
        fits: |_| true,
    },
};

/// The rank where the tree ends.
fn top(shape: &Shape) -> u32 {
    if shape.call.commutative { shape.call.root } else { shape.size - 1 }
}

fn round(shape: &Shape, rank: u32, round: u32, steps: &mut Vec<Step>) -> bool {
    let (top, root, segments) = (top(shape), shape.call.root, shape.segments());
    let first = shape.shifted(top, 1);
    let node = Ordered::new(shape.shifted_back(rank, first), shape.size);
    let absolute = |number| shape.shifted(first, number);
    let leaf = node.right.is_none();
    let rounds = match node.parent {
        None if leaf => 0,
        Some(_) if !leaf => segments + 1,
        _ => segments,
    };
    let mut phases = Phases(round);
    if let Some(step) = phases.take(rounds) {
        if step < segments {
            // The right operand first: left ⊕ (right ⊕ own).
            for child in [node.right, node.left].into_iter().flatten() {
                let bytes = shape.segment_bytes(step);
                receive(steps, absolute(child), bytes, Slots::one(step), Effect::CombineLeft);
            }
        }
        let sent = if leaf { Some(step) } else { step.checked_sub(1) };
        if let (Some(parent), Some(segment)) = (node.parent, sent) {
            send(steps, absolute(parent), shape.segment_bytes(segment), Slots::one(segment));
        }
        return true;
    }
    if top == root || phases.take(1).is_none() {
        return false;
    }
    let all = Slots::range(0, segments);
    if rank == top {
        send(steps, root, shape.vector(), all);
    } else if rank == root {
        receive(steps, top, shape.vector(), all, Effect::Store);
    }
    rank == top || rank == root
}

fn cost(shape: &Shape, idle: &Idle) -> Cost {
    let (segments, bytes) = (shape.segments(), shape.segment_bytes(0));
    if shape.size == 1 {
        return Cost::Exact(0.0);
    }
    let (busy, reduce) = (idle.busy(bytes), idle.reduce(bytes));
    let level = idle.time_reduced(bytes) + 2.0 * busy + reduce;
    let fill = f64::from(shape.size.ilog2()) * level;
    let moved = if top(shape) == shape.call.root { 0.0 } else { idle.time(shape.vector()) };
    let each = if (shape.size + 1).is_power_of_two() { 2.0 } else { 3.0 };
    Cost::AtMost(fill + each * f64::from(segments - 1) * busy.max(reduce) + moved)
}
