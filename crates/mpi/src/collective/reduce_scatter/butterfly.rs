//! Butterfly reduce-scatter: in round k a rank exchanges half of what is left with the rank that differs in
//! bit k, and keeps the blocks of the ranks that agree with it in the lowest k + 1 bits.
//!
//! Near ranks combine first, so that the order of ranks is kept: for operations that do not commute. For
//! powers of two and blocks of one size, as in MPICH (there "noncommutative").
//! Cost: `Σ_{j<log₂ p} (T(2ʲ n) + R(2ʲ n))` for blocks of n bytes, that is `log₂ p α + (p − 1) n (β + γ)`.
//! Source: Träff, "An improved algorithm for (non-commutative) reduce-scatter with an application"
//! (EuroPVM/MPI 2005).

use engine::registry::Entry;

use crate::collective::parts::{doubled, exchange_reduced};
use crate::collective::{Algorithm, Cost, Idle, Layout, Shape, Slots, Step};

/// The registry's entry.
pub const ENTRY: Entry<Algorithm> = Entry {
    name: "butterfly",
    summary: "exchange half of what is left with the rank 1, 2, 4, … away, in order (powers of two)",
    source: "Träff 2005; MPICH; Open MPI coll/base",
    parameters: &[],
    examples: &[""],
    build: Algorithm {
        kinds: super::KINDS,
        round,
        layout: |_| Layout::Blocks,
        cost,
        sends: None,
        fits: |shape| shape.power_of_two() && shape.even_blocks(),
    },
};

fn round(shape: &Shape, rank: u32, round: u32, steps: &mut Vec<Step>) -> bool {
    if round >= shape.doublings() {
        return false;
    }
    let peer = rank ^ 1 << round;
    let bits = round + 1;
    let bytes = u64::from(shape.size >> bits) * shape.block(0);
    let blocks_of = |rank: u32| (bytes, Slots::Residue { bits: bits as u8, of: rank & ((1 << bits) - 1) });
    exchange_reduced(steps, rank, peer, blocks_of(peer), blocks_of(rank));
    true
}

fn cost(shape: &Shape, idle: &Idle) -> Cost {
    Cost::Exact(doubled(shape.doublings(), shape.block(0), |bytes| idle.time_reduced(bytes)))
}
