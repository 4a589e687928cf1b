//! Rabenseifner's reduce: a reduce-scatter by halving vectors and doubling distances, then a gather up
//! a binomial tree.
//!
//! Where p is not a power of two, ranks fold into their neighbours first (the root always stays).
//! Slots are P chunks of c = n/P bytes, P being the power of two; the order of ranks is kept.
//! Cost: `Σ_{j<log₂ P} (2 T(2ʲ c) + R(2ʲ c))`, that is `2 log₂ p α + 2 n β (p − 1)/p + n γ (p − 1)/p`,
//! exact where p is a power of two and divides n; else at most that and `T(n) + R(n) + 2 Σ B(2ʲ c)`.
//! Good for long vectors.
//! Source: Rabenseifner, "Optimization of collective reduction operations" (ICCS 2004).

use engine::registry::Entry;

use crate::collective::parts::{chunks, doubled, exchange_reduced, halved, largest_chunk};
use crate::collective::step::{Phases, in_order, receive, send};
use crate::collective::tree::{Fold, Role};
use crate::collective::{Algorithm, Cost, Effect, Idle, Kind, Layout, Shape, Slots, Step};

/// The registry's entry.
pub const ENTRY: Entry<Algorithm> = Entry {
    name: "rabenseifner",
    summary: "reduce-scatter by halving, then gather up a binomial tree",
    source: "Rabenseifner 2004; Thakur, Rabenseifner, Gropp 2005",
    parameters: &[],
    examples: &[""],
    build: Algorithm {
        kinds: &[Kind::Reduce],
        round,
        layout: |shape| Layout::Chunks(Fold::new(shape.size).power),
        cost,
        sends: None,
        fits: |_| true,
    },
};

fn round(shape: &Shape, rank: u32, round: u32, steps: &mut Vec<Step>) -> bool {
    let fold = Fold::keeping(shape.size, shape.call.root);
    let all = Slots::range(0, fold.power);
    let (number, absorbs) = match fold.role(rank) {
        Role::Leaves { to } => {
            if round == 0 {
                send(steps, to, shape.vector(), all);
            }
            return round == 0;
        }
        Role::Stays { number, absorbs } => (number, absorbs),
    };
    let mut phases = Phases(round);
    if phases.take(u32::from(absorbs.is_some())).is_some() {
        if let Some(peer) = absorbs {
            receive(steps, peer, shape.vector(), all, in_order(peer, rank));
        }
        return true;
    }
    if let Some(step) = phases.take(fold.doublings()) {
        halve(shape, fold, number, step, steps);
        return true;
    }
    let Role::Stays { number: root, .. } = fold.role(shape.call.root) else {
        unreachable!("the fold keeps the root")
    };
    gather(shape, fold, number, root, phases.0, steps)
}

/// Exchange `step` of the reduce-scatter, with the number that differs in bit `step`.
pub(in crate::collective) fn halve(shape: &Shape, fold: Fold, number: u32, step: u32, steps: &mut Vec<Step>) {
    let peer = number ^ 1 << step;
    let part = |number: u32| {
        let (first, count) = halved(number, fold.doublings(), step + 1);
        chunks(shape, fold.power, first, count)
    };
    exchange_reduced(steps, fold.rank(number), fold.rank(peer), part(peer), part(number));
}

/// Round `round` of the gather: the halvings backwards, towards `root` only.
fn gather(shape: &Shape, fold: Fold, number: u32, root: u32, round: u32, steps: &mut Vec<Step>) -> bool {
    let Some(bit) = (fold.doublings()).checked_sub(round + 1) else { return false };
    // A rank takes part until the bit in which it differs from the root has been handled.
    if (number ^ root) >> bit > 1 {
        return false;
    }
    let peer = number ^ 1 << bit;
    let part = |number: u32| {
        let (first, count) = halved(number, fold.doublings(), bit + 1);
        chunks(shape, fold.power, first, count)
    };
    if (number ^ root) >> bit == 1 {
        let (bytes, slots) = part(number);
        send(steps, fold.rank(peer), bytes, slots);
    } else {
        let (bytes, slots) = part(peer);
        receive(steps, fold.rank(peer), bytes, slots, Effect::Store);
    }
    true
}

/// The most that folding in and uneven chunks add: the whole vector, if ranks fold, and with every later
/// message the wait at the port behind one of a rank that had less to do and is ahead.
pub(in crate::collective) fn fold_in_time(shape: &Shape, fold: Fold, idle: &Idle) -> f64 {
    let (bytes, even) = largest_chunk(shape, fold.power);
    if fold.extra == 0 && even {
        return 0.0;
    }
    let folded = if fold.extra == 0 { 0.0 } else { idle.time_reduced(shape.vector()) };
    folded + doubled(fold.doublings(), bytes, |bytes| 2.0 * idle.busy(bytes))
}

fn cost(shape: &Shape, idle: &Idle) -> Cost {
    let fold = Fold::new(shape.size);
    let (bytes, even) = largest_chunk(shape, fold.power);
    let both = |bytes| idle.time(bytes) + idle.time_reduced(bytes);
    let halving = doubled(fold.doublings(), bytes, both);
    Cost::exact_if(even && fold.extra == 0, halving + fold_in_time(shape, fold, idle))
}
