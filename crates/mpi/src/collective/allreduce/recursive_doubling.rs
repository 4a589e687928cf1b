//! Recursive-doubling allreduce: whole vectors are exchanged with the rank that differs in bit k.
//!
//! Where p is not a power of two, ranks fold into their neighbours first and get the result last. The
//! order of ranks is kept.
//! Cost: `log₂ p (T(n) + R(n))` for powers of two; else at most
//! `(⌊log₂ p⌋ + 1) (T(n) + R(n)) + T(n)`. Good for short vectors, and any operation.
//! Source: Thakur, Rabenseifner, Gropp 2005, section 4.5.

use engine::registry::Entry;

use crate::collective::parts::{WHOLE, exchange_reduced};
use crate::collective::step::{Phases, in_order, receive, send};
use crate::collective::tree::{Fold, Role};
use crate::collective::{Algorithm, Cost, Effect, Idle, Kind, Layout, Shape, Step};

/// The registry's entry.
pub const ENTRY: Entry<Algorithm> = Entry {
    name: "recursive-doubling",
    summary: "exchange whole vectors with the rank that differs in bit k; folds to a power of two",
    source: "Thakur, Rabenseifner, Gropp 2005",
    parameters: &[],
    examples: &[""],
    build: Algorithm {
        kinds: &[Kind::Allreduce],
        round,
        layout: |_| Layout::Chunks(1),
        cost,
        sends: Some(|shape, rank| Fold::new(shape.size).sends(rank)),
        fits: |_| true,
    },
};

fn round(shape: &Shape, rank: u32, round: u32, steps: &mut Vec<Step>) -> bool {
    let fold = Fold::new(shape.size);
    let bytes = shape.vector();
    let (number, absorbs) = match fold.role(rank) {
        Role::Leaves { to } => {
            match round {
                0 => send(steps, to, bytes, WHOLE),
                1 => receive(steps, to, bytes, WHOLE, Effect::Store),
                _ => return false,
            }
            return true;
        }
        Role::Stays { number, absorbs } => (number, absorbs),
    };
    let folded = u32::from(absorbs.is_some());
    let mut phases = Phases(round);
    if phases.take(folded).is_some() {
        absorbs.into_iter().for_each(|peer| receive(steps, peer, bytes, WHOLE, in_order(peer, rank)));
    } else if let Some(step) = phases.take(fold.doublings()) {
        let peer = fold.rank(number ^ 1 << step);
        exchange_reduced(steps, rank, peer, (bytes, WHOLE), (bytes, WHOLE));
    } else if phases.take(folded).is_some() {
        absorbs.into_iter().for_each(|peer| send(steps, peer, bytes, WHOLE));
    } else {
        return false;
    }
    true
}

fn cost(shape: &Shape, idle: &Idle) -> Cost {
    let fold = Fold::new(shape.size);
    let bytes = shape.vector();
    let doubling = f64::from(fold.doublings()) * idle.time_reduced(bytes);
    if fold.extra == 0 {
        Cost::Exact(doubling)
    } else {
        Cost::AtMost(doubling + idle.time_reduced(bytes) + idle.time(bytes))
    }
}
