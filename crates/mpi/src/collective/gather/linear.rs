//! Linear gather: each rank sends its block straight to the root.
//!
//! Cost: `T(n) + (p − 2) B(n)`. Good for long blocks. For gatherv it is all that MPICH and Open MPI have:
//! only the root knows the sizes, and a tree would have to spread them first.
//! Source: Open MPI coll/base, `gather_intra_basic_linear`; MPICH, `gatherv`.

use engine::registry::Entry;

use crate::collective::parts::{blocks, serial};
use crate::collective::step::{receive, send};
use crate::collective::{Algorithm, Cost, Effect, Idle, Kind, Layout, Shape, Step};

/// The registry's entry.
pub const ENTRY: Entry<Algorithm> = Entry {
    name: "linear",
    summary: "each rank sends its block straight to the root",
    source: "Open MPI coll/base; MPICH",
    parameters: &[],
    examples: &[""],
    build: Algorithm {
        kinds: &[Kind::Gather, Kind::Gatherv],
        round,
        layout: |_| Layout::Blocks,
        cost,
        sends: None,
        fits: |_| true,
    },
};

fn round(shape: &Shape, rank: u32, round: u32, steps: &mut Vec<Step>) -> bool {
    if shape.size == 1 || round > 0 {
        return false;
    }
    let root = shape.call.root;
    if rank != root {
        let (bytes, slots) = blocks(shape, rank, 1);
        send(steps, root, bytes, slots);
    } else {
        for peer in (0..shape.size).filter(|peer| *peer != root) {
            let (bytes, slots) = blocks(shape, peer, 1);
            receive(steps, peer, bytes, slots, Effect::Store);
        }
    }
    true
}

fn cost(shape: &Shape, idle: &Idle) -> Cost {
    Cost::exact_if(shape.even_blocks(), serial(idle, shape.size - 1, shape.largest_block()))
}
