//! Linear broadcast: the root sends the vector to one rank after another.
//!
//! Cost: `T(n) + (p − 2) B(n)`. Good for very few ranks.
//! Source: Open MPI coll/base, `bcast_intra_basic_linear`.

use engine::registry::Entry;

use crate::collective::parts::{WHOLE, serial};
use crate::collective::step::{receive, send};
use crate::collective::{Algorithm, Cost, Effect, Idle, Kind, Layout, Shape, Step};

/// The registry's entry.
pub const ENTRY: Entry<Algorithm> = Entry {
    name: "linear",
    summary: "the root sends to one rank after another",
    source: "Open MPI coll/base",
    parameters: &[],
    examples: &[""],
    build: Algorithm {
        kinds: &[Kind::Bcast],
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
        let others = (0..shape.size).filter(|peer| *peer != root);
        others.for_each(|peer| send(steps, peer, shape.vector(), WHOLE));
    } else {
        receive(steps, root, shape.vector(), WHOLE, Effect::Store);
    }
    true
}

fn cost(shape: &Shape, idle: &Idle) -> Cost {
    Cost::Exact(serial(idle, shape.size - 1, shape.vector()))
}
