//! Linear all-to-all: everything at once, to r + 1, r + 2, …, from r − 1, r − 2, …
//!
//! In the v- and w-variants empty blocks are not sent, as in MPICH and Open MPI; it is the only one of both
//! for alltoallw.
//! Cost: `T(n) + (p − 2) B(n)` for blocks of n bytes. Good for medium blocks: the network sorts it out.
//! Source: Thakur, Rabenseifner, Gropp 2005, section 4.3 (there "post all"); Open MPI coll/base.

use engine::registry::Entry;

use super::{received, sent};
use crate::collective::parts::serial;
use crate::collective::step::{receive, send};
use crate::collective::{Algorithm, Cost, Effect, Idle, Kind, Layout, Shape, Slots, Step};

/// The registry's entry.
pub const ENTRY: Entry<Algorithm> = Entry {
    name: "linear",
    summary: "all messages posted at once",
    source: "Thakur, Rabenseifner, Gropp 2005; Open MPI coll/base",
    parameters: &[],
    examples: &[""],
    build: Algorithm {
        kinds: &[Kind::Alltoall, Kind::Alltoallv, Kind::Alltoallw],
        round,
        layout: |_| Layout::Exchange,
        cost,
        sends: None,
        fits: |_| true,
    },
};

fn round(shape: &Shape, rank: u32, round: u32, steps: &mut Vec<Step>) -> bool {
    if shape.size == 1 || round > 0 {
        return false;
    }
    let skip_empty = shape.call.kind != Kind::Alltoall;
    for distance in 1..shape.size {
        let from = shape.shifted_back(rank, distance);
        let bytes = received(shape, from);
        if bytes > 0 || !skip_empty {
            receive(steps, from, bytes, Slots::one(shape.size + from), Effect::Store);
        }
    }
    for distance in 1..shape.size {
        let to = shape.shifted(rank, distance);
        let bytes = sent(shape, to);
        if bytes > 0 || !skip_empty {
            send(steps, to, bytes, Slots::one(to));
        }
    }
    true
}

fn cost(shape: &Shape, idle: &Idle) -> Cost {
    let even = shape.call.kind == Kind::Alltoall;
    Cost::exact_if(even, serial(idle, shape.size - 1, shape.largest_block()))
}
