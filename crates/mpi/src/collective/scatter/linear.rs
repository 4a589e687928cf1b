//! Linear scatter: the root sends each rank its block.
//!
//! Cost: `T(n) + (p − 2) B(n)`. Good for long blocks. For scatterv it is all that MPICH and Open MPI have:
//! only the root knows the sizes, and a tree would have to spread them first.
//! Source: Open MPI coll/base, `scatter_intra_basic_linear`; MPICH, `scatterv`.

use engine::registry::Entry;

use crate::collective::parts::{blocks, serial};
use crate::collective::step::{receive, send};
use crate::collective::{Algorithm, Cost, Effect, Idle, Kind, Layout, Shape, Step};

/// The registry's entry.
pub const ENTRY: Entry<Algorithm> = Entry {
    name: "linear",
    summary: "the root sends each rank its block",
    source: "Open MPI coll/base; MPICH",
    parameters: &[],
    examples: &[""],
    build: Algorithm {
        kinds: &[Kind::Scatter, Kind::Scatterv],
        round,
        layout: |_| Layout::Blocks,
        cost,
        sends: None,
        fits: |_| true,
    },
};

fn round(shape: &Shape, rank: u32, round: u32, steps: &mut Vec<Step>) -> bool {
    round == 0 && scatter(shape, shape.call.root, rank, steps)
}

/// The only round of a scatter from `root`; false where nobody is to be sent to.
pub(in crate::collective) fn scatter(shape: &Shape, root: u32, rank: u32, steps: &mut Vec<Step>) -> bool {
    if rank != root {
        let (bytes, slots) = blocks(shape, rank, 1);
        receive(steps, root, bytes, slots, Effect::Store);
    } else {
        for peer in (0..shape.size).filter(|peer| *peer != root) {
            let (bytes, slots) = blocks(shape, peer, 1);
            send(steps, peer, bytes, slots);
        }
    }
    shape.size > 1
}

fn cost(shape: &Shape, idle: &Idle) -> Cost {
    Cost::exact_if(shape.even_blocks(), serial(idle, shape.size - 1, shape.largest_block()))
}
