//! Linear reduce: all send to the root, which combines in the order of ranks, outwards from its own.
//!
//! Cost, with M = max(B(n), R(n)): `T(n) + (p − 2) M + R(n)` for root 0, else at most
//! `T(n) + (p − 2) B(n) + (p − 1) R(n)`, since messages come in another order than they are taken.
//! Good for very few ranks; any operation.
//! Source: Open MPI coll/base, `reduce_intra_basic_linear`.

use engine::registry::Entry;

use crate::collective::parts::{WHOLE, serial};
use crate::collective::step::{in_order, receive, send};
use crate::collective::{Algorithm, Cost, Idle, Kind, Layout, Shape, Step};

/// The registry's entry.
pub const ENTRY: Entry<Algorithm> = Entry {
    name: "linear",
    summary: "all send to the root, which combines",
    source: "Open MPI coll/base",
    parameters: &[],
    examples: &[""],
    build: Algorithm {
        kinds: &[Kind::Reduce],
        round,
        layout: |_| Layout::Chunks(1),
        cost,
        sends: None,
        fits: |_| true,
    },
};

pub(in crate::collective) fn round(shape: &Shape, rank: u32, round: u32, steps: &mut Vec<Step>) -> bool {
    if shape.size == 1 || round > 0 {
        return false;
    }
    let root = shape.call.root;
    if rank == root {
        for peer in (root + 1..shape.size).chain((0..root).rev()) {
            receive(steps, peer, shape.vector(), WHOLE, in_order(peer, root));
        }
    } else {
        send(steps, root, shape.vector(), WHOLE);
    }
    true
}

pub(in crate::collective) fn cost(shape: &Shape, idle: &Idle) -> Cost {
    let (others, bytes) = (f64::from(shape.size - 1), shape.vector());
    let reduce = idle.reduce(bytes);
    if shape.size == 1 {
        Cost::Exact(0.0)
    } else if shape.call.root == 0 {
        Cost::Exact(idle.time(bytes) + (others - 1.0) * idle.busy(bytes).max(reduce) + reduce)
    } else {
        Cost::AtMost(serial(idle, shape.size - 1, bytes) + others * reduce)
    }
}
