//! Linear allreduce: all send to rank 0, which combines in the order of ranks and sends to all.
//!
//! Cost, with M = max(B(n), R(n)): `2 T(n) + (p − 2) (M + B(n)) + R(n)`. Good for two or three ranks.
//! Source: Open MPI coll/base, `allreduce_intra_basic_linear`.

use engine::registry::Entry;

use crate::collective::parts::serial;
use crate::collective::step::Phases;
use crate::collective::{Algorithm, Cost, Idle, Kind, Layout, Shape, Step, bcast, reduce};

/// The registry's entry.
pub const ENTRY: Entry<Algorithm> = Entry {
    name: "linear",
    summary: "all send to rank 0, which combines and sends to all",
    source: "Open MPI coll/base",
    parameters: &[],
    examples: &[""],
    build: Algorithm {
        kinds: &[Kind::Allreduce],
        round,
        layout: |_| Layout::Chunks(1),
        cost,
        sends: None,
        fits: |_| true,
    },
};

fn round(shape: &Shape, rank: u32, round: u32, steps: &mut Vec<Step>) -> bool {
    let mut phases = Phases(round);
    if phases.take(1).is_some() {
        return reduce::linear::round(shape, rank, 0, steps);
    }
    bcast::linear::round(shape, rank, phases.0, steps)
}

fn cost(shape: &Shape, idle: &Idle) -> Cost {
    let down = serial(idle, shape.size - 1, shape.vector());
    match reduce::linear::cost(shape, idle) {
        Cost::Exact(up) => Cost::Exact(up + down),
        Cost::AtMost(up) => Cost::AtMost(up + down),
    }
}
