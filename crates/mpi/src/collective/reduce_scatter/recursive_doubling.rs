//! Recursive-doubling reduce-scatter: in round k a rank exchanges all blocks but those of its own group
//! of 2ᵏ with the rank that differs in bit k.
//!
//! The order of ranks is kept: for operations that do not commute. Where p is not a power of two,
//! ranks fold into their neighbours first and get their block last.
//! Cost: `Σ_{j<log₂ p} (T + R)((p − 2ʲ) n)` for blocks of n bytes, that is
//! `log₂ p α + (p log₂ p − p + 1) n (β + γ)`, for powers of two; else at most
//! `⌊log₂ p⌋ (T + R + B)(p n) + (T + R)(p n) + T(n)`. Good for short blocks.
//! Source: Thakur, Rabenseifner, Gropp 2005, section 4.4.

use engine::registry::Entry;

use super::recursive_halving::{Folded, fold_round};
use crate::collective::parts::{blocks, exchange_reduced};
use crate::collective::tree::Fold;
use crate::collective::{Algorithm, Cost, Idle, Layout, Shape, Step};

/// The registry's entry.
pub const ENTRY: Entry<Algorithm> = Entry {
    name: "recursive-doubling",
    summary: "exchange the blocks of all others with the rank that differs in bit k, in order",
    source: "Thakur, Rabenseifner, Gropp 2005",
    parameters: &[],
    examples: &[""],
    build: Algorithm {
        kinds: super::KINDS,
        round,
        layout: |_| Layout::Blocks,
        cost,
        sends: None,
        fits: |_| true,
    },
};

fn round(shape: &Shape, rank: u32, round: u32, steps: &mut Vec<Step>) -> bool {
    let fold = Fold::new(shape.size);
    let (number, bit) = match fold_round(shape, fold, rank, round, steps) {
        Folded::Done(more) => return more,
        Folded::Middle { number, round } => (number, round),
    };
    let peer = number ^ 1 << bit;
    // What the group of the sender will get, the receiver's group has no use for.
    let all_but_group = |number: u32| {
        let (first, count) = fold.ranks(number >> bit << bit, 1 << bit);
        blocks(shape, shape.shifted(first, count), shape.size - count)
    };
    let (give, get) = (all_but_group(number), all_but_group(peer));
    exchange_reduced(steps, fold.rank(number), fold.rank(peer), give, get);
    true
}

fn cost(shape: &Shape, idle: &Idle) -> Cost {
    let fold = Fold::new(shape.size);
    let block = shape.largest_block();
    let in_step = fold.extra == 0 && shape.even_blocks();
    let each = |bytes| idle.time_in_step(in_step, bytes) + idle.reduce(bytes);
    if fold.extra == 0 {
        let others = |round: u32| u64::from(shape.size - (1 << round)) * block;
        return Cost::exact_if(in_step, (0..fold.doublings()).map(|round| each(others(round))).sum());
    }
    let whole = shape.vector();
    let doubling = f64::from(fold.doublings()) * each(whole);
    Cost::AtMost(idle.time_reduced(whole) + doubling + idle.time(block))
}
