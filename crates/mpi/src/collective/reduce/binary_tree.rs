//! Binary-tree reduce: segments up a balanced binary tree whose subtrees are ranges of ranks.
//!
//! A node combines left ⊕ right ⊕ own, so the order of ranks is kept. The tree ends at the last rank
//! (counted so that this is the root, or, if the operation does not commute, as they are; the result
//! then goes on to the root). Slots are segments of s = `Shape::segment` bytes, S of them; d is the
//! depth ⌊log₂ p⌋ and M = max(B(s), R(s)).
//! Cost: `d (T(s) + M + R(s)) + 2 (S − 1) M` for a full tree (p = 2ᵈ⁺¹ − 1) if s divides n, else at most
//! that, with `T(n)` more where the result moves. Good for medium vectors.
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
    build: Algorithm { kinds: &[Kind::Reduce], round, layout: |_| Layout::Segments, cost, fits: |_| true },
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
    let (time, reduce) = (idle.time(bytes), idle.reduce(bytes));
    let most = idle.busy(bytes).max(reduce);
    let fill = f64::from(shape.size.ilog2()) * (time + most + reduce);
    let moved = if top(shape) == shape.call.root { 0.0 } else { idle.time(shape.vector()) };
    let full = (shape.size + 1).is_power_of_two();
    let seconds = fill + 2.0 * f64::from(segments - 1) * most + moved;
    Cost::exact_if(full && shape.even_segments(), seconds)
}
