//! Rabenseifner's allreduce: a reduce-scatter by halving vectors and doubling distances, then an
//! allgather by the same exchanges backwards.
//!
//! Where p is not a power of two, ranks fold into their neighbours first and get the result last.
//! Slots are P chunks of c = n/P bytes, P being the power of two; the order of ranks is kept.
//! Cost: `Σ_{j<log₂ P} (2 T(2ʲ c) + R(2ʲ c))`, that is `2 log₂ p α + 2 n β (p − 1)/p + n γ (p − 1)/p`,
//! exact where p is a power of two and divides n; else at most that and
//! `2 T(n) + R(n) + 2 Σ B(2ʲ c)`. Good for long vectors.
//! Source: Rabenseifner, "Optimization of collective reduction operations" (ICCS 2004).

use engine::registry::Entry;

use crate::collective::parts::{chunks, doubled, exchange, halved, largest_chunk};
use crate::collective::reduce::rabenseifner::{fold_in_time, halve};
use crate::collective::step::{Phases, in_order, receive, send};
use crate::collective::tree::{Fold, Role};
use crate::collective::{Algorithm, Cost, Effect, Idle, Kind, Layout, Shape, Slots, Step};

/// The registry's entry.
pub const ENTRY: Entry<Algorithm> = Entry {
    name: "rabenseifner",
    summary: "reduce-scatter by halving, then allgather by doubling",
    source: "Rabenseifner 2004; Thakur, Rabenseifner, Gropp 2005",
    parameters: &[],
    examples: &[""],
    build: Algorithm {
        kinds: &[Kind::Allreduce],
        round,
        layout: |shape| Layout::Chunks(Fold::new(shape.size).power),
        cost,
        sends: None,
        fits: |_| true,
    },
};

fn round(shape: &Shape, rank: u32, round: u32, steps: &mut Vec<Step>) -> bool {
    let fold = Fold::new(shape.size);
    let (bytes, all) = (shape.vector(), Slots::range(0, fold.power));
    let (number, absorbs) = match fold.role(rank) {
        Role::Leaves { to } => {
            match round {
                0 => send(steps, to, bytes, all),
                1 => receive(steps, to, bytes, all, Effect::Store),
                _ => return false,
            }
            return true;
        }
        Role::Stays { number, absorbs } => (number, absorbs),
    };
    let folded = u32::from(absorbs.is_some());
    let mut phases = Phases(round);
    if phases.take(folded).is_some() {
        absorbs.into_iter().for_each(|peer| receive(steps, peer, bytes, all, in_order(peer, rank)));
    } else if let Some(step) = phases.take(fold.doublings()) {
        halve(shape, fold, number, step, steps);
    } else if let Some(step) = phases.take(fold.doublings()) {
        let bit = fold.doublings() - 1 - step;
        let peer = number ^ 1 << bit;
        let part = |number: u32| {
            let (first, count) = halved(number, fold.doublings(), bit + 1);
            chunks(shape, fold.power, first, count)
        };
        exchange(steps, fold.rank(peer), part(number), part(peer), Effect::Store);
    } else if phases.take(folded).is_some() {
        absorbs.into_iter().for_each(|peer| send(steps, peer, bytes, all));
    } else {
        return false;
    }
    true
}

fn cost(shape: &Shape, idle: &Idle) -> Cost {
    let fold = Fold::new(shape.size);
    let (bytes, even) = largest_chunk(shape, fold.power);
    let both = |bytes| idle.time(bytes) + idle.time_reduced(bytes);
    let exchanges = doubled(fold.doublings(), bytes, both);
    if fold.extra == 0 {
        return Cost::exact_if(even, exchanges + fold_in_time(shape, fold, idle));
    }
    Cost::AtMost(exchanges + fold_in_time(shape, fold, idle) + idle.time(shape.vector()))
}
