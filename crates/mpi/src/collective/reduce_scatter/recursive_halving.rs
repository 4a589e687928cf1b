//! Recursive-halving reduce-scatter: in each round a rank exchanges half of what is left with the rank
//! p/2, p/4, … away.
//!
//! Where p is not a power of two, ranks fold into their neighbours first and get their block last.
//! Far ranks combine first, so operands are out of order: commutative operations only.
//! Cost: `Σ_{j<log₂ p} (T(2ʲ n) + R(2ʲ n))` for blocks of n bytes, that is
//! `log₂ p α + (p − 1) n (β + γ)`, for powers of two; else at most `Σ (T + R + B)(2ʲ⁺¹ n)` over ⌊log₂ p⌋
//! rounds, with `T(p n) + R(p n) + T(n)`. Good for short and medium blocks.
//! Source: Thakur, Rabenseifner, Gropp 2005, section 4.4.

use engine::registry::Entry;

use crate::collective::parts::{blocks, doubled, exchange};
use crate::collective::step::{Phases, receive, send};
use crate::collective::tree::{Fold, Role};
use crate::collective::{Algorithm, Cost, Effect, Idle, Layout, Shape, Slots, Step};

/// The registry's entry.
pub const ENTRY: Entry<Algorithm> = Entry {
    name: "recursive-halving",
    summary: "exchange half of what is left with the rank p/2, p/4, … away (commutative)",
    source: "Thakur, Rabenseifner, Gropp 2005",
    parameters: &[],
    examples: &[""],
    build: Algorithm {
        kinds: super::KINDS,
        round,
        layout: |_| Layout::Blocks,
        cost,
        sends: None,
        fits: |shape| shape.call.commutative,
    },
};

fn round(shape: &Shape, rank: u32, round: u32, steps: &mut Vec<Step>) -> bool {
    let fold = Fold::new(shape.size);
    let (number, step) = match fold_round(shape, fold, rank, round, steps) {
        Folded::Done(more) => return more,
        Folded::Middle { number, round } => (number, round),
    };
    let bit = fold.doublings() - 1 - step;
    let peer = number ^ 1 << bit;
    let part = |number: u32| {
        let (first, count) = fold.ranks(number >> bit << bit, 1 << bit);
        blocks(shape, first, count)
    };
    exchange(steps, fold.rank(peer), part(peer), part(number), Effect::CombineLeft);
    true
}

/// Purpose of a round: one of the fold, or one of the `doublings` rounds between.
pub(super) enum Folded {
    /// All is said; whether the rank has this round.
    Done(bool),
    /// Round `round` of the rank that takes part as `number`.
    Middle { number: u32, round: u32 },
}

/// The rounds before and after: whole vectors are folded in, blocks handed back.
pub(super) fn fold_round(shape: &Shape, fold: Fold, rank: u32, round: u32, steps: &mut Vec<Step>) -> Folded {
    let (all, whole) = (shape.vector(), Slots::range(0, shape.size));
    let (number, absorbs) = match fold.role(rank) {
        Role::Leaves { to } => {
            let (bytes, slots) = blocks(shape, rank, 1);
            match round {
                0 => send(steps, to, all, whole),
                1 => receive(steps, to, bytes, slots, Effect::Store),
                _ => return Folded::Done(false),
            }
            return Folded::Done(true);
        }
        Role::Stays { number, absorbs } => (number, absorbs),
    };
    let folded = u32::from(absorbs.is_some());
    let mut phases = Phases(round);
    if phases.take(folded).is_some() {
        absorbs.into_iter().for_each(|peer| receive(steps, peer, all, whole, Effect::CombineLeft));
    } else if let Some(round) = phases.take(fold.doublings()) {
        return Folded::Middle { number, round };
    } else if phases.take(folded).is_some() {
        if let Some(peer) = absorbs {
            let (bytes, slots) = blocks(shape, peer, 1);
            send(steps, peer, bytes, slots);
        }
    } else {
        return Folded::Done(false);
    }
    Folded::Done(true)
}

fn cost(shape: &Shape, idle: &Idle) -> Cost {
    let fold = Fold::new(shape.size);
    let block = shape.largest_block();
    let in_step = fold.extra == 0 && shape.even_blocks();
    let each = |bytes| idle.time_in_step(in_step, bytes) + idle.reduce(bytes);
    let halving = |bytes| doubled(fold.doublings(), bytes, each);
    if fold.extra == 0 {
        return Cost::exact_if(in_step, halving(block));
    }
    let folded = idle.time_reduced(shape.vector()) + idle.time(block);
    Cost::AtMost(halving(2 * block) + folded)
}
