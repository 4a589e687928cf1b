//! Reduce-broadcast allreduce: up a binomial tree to rank 0 and down again.
//!
//! The order of ranks is kept.
//! Cost: `log₂ p (2 T(n) + R(n))` for powers of two, else at most `⌈log₂ p⌉ (2 T(n) + R(n))`. Good
//! where messages are dear: 2 (p − 1) of them, against p log₂ p.
//! Source: Open MPI coll/base, `allreduce_intra_nonoverlapping`; Thakur, Rabenseifner, Gropp 2005.

use engine::registry::Entry;

use crate::collective::parts::{WHOLE, tree_down, tree_rounds, tree_up};
use crate::collective::step::Phases;
use crate::collective::{Algorithm, Cost, Idle, Kind, Layout, Shape, Step};

/// The registry's entry.
pub const ENTRY: Entry<Algorithm> = Entry {
    name: "reduce-bcast",
    summary: "up a binomial tree and down again, whole vector",
    source: "Open MPI coll/base; Thakur, Rabenseifner, Gropp 2005",
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
    let (rounds, bytes) = (tree_rounds(shape, 0, rank), shape.vector());
    let mut phases = Phases(round);
    if let Some(step) = phases.take(rounds) {
        tree_up(shape, 0, rank, step, bytes, WHOLE, steps);
    } else if let Some(step) = phases.take(rounds) {
        tree_down(shape, 0, rank, step, bytes, WHOLE, steps);
    } else {
        return false;
    }
    true
}

fn cost(shape: &Shape, idle: &Idle) -> Cost {
    let bytes = shape.vector();
    let each = idle.time_reduced(bytes) + idle.time(bytes);
    Cost::exact_if(shape.power_of_two(), f64::from(shape.doublings()) * each)
}
