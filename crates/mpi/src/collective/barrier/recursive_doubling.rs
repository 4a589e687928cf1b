//! Recursive-doubling barrier: in round k a rank exchanges with the one whose number differs in bit k.
//!
//! Where p is not a power of two, the ranks beyond one fold into their neighbours first.
//! Cost: `log₂ p T(0)` for powers of two, else at most `(⌊log₂ p⌋ + 2) T(0)`. Good for powers of two.
//! Source: Thakur, Rabenseifner, Gropp 2005, section 4.5 (the pattern); Open MPI coll/base.

use engine::registry::Entry;

use crate::collective::parts::exchange;
use crate::collective::step::{Phases, receive, send};
use crate::collective::tree::{Fold, Role};
use crate::collective::{Algorithm, Cost, Effect, Idle, Kind, Layout, Shape, Slots, Step};

/// The registry's entry.
pub const ENTRY: Entry<Algorithm> = Entry {
    name: "recursive-doubling",
    summary: "exchange with the rank that differs in bit k; folds to a power of two",
    source: "Open MPI coll/base; Thakur, Rabenseifner, Gropp 2005",
    parameters: &[],
    examples: &[""],
    build: Algorithm {
        kinds: &[Kind::Barrier],
        round,
        layout: |_| Layout::Nothing,
        cost,
        sends: None,
        fits: |_| true,
    },
};

fn round(shape: &Shape, rank: u32, round: u32, steps: &mut Vec<Step>) -> bool {
    let fold = Fold::new(shape.size);
    match fold.role(rank) {
        Role::Leaves { to } => match round {
            0 => send(steps, to, 0, Slots::None),
            1 => receive(steps, to, 0, Slots::None, Effect::Store),
            _ => return false,
        },
        Role::Stays { number, absorbs } => {
            let folded = u32::from(absorbs.is_some());
            let mut phases = Phases(round);
            if phases.take(folded).is_some() {
                absorbs.into_iter().for_each(|peer| receive(steps, peer, 0, Slots::None, Effect::Store));
            } else if let Some(step) = phases.take(fold.doublings()) {
                let nothing = (0, Slots::None);
                exchange(steps, fold.rank(number ^ 1 << step), nothing, nothing, Effect::Store);
            } else if phases.take(folded).is_some() {
                absorbs.into_iter().for_each(|peer| send(steps, peer, 0, Slots::None));
            } else {
                return false;
            }
        }
    }
    true
}

fn cost(shape: &Shape, idle: &Idle) -> Cost {
    let fold = Fold::new(shape.size);
    let rounds = fold.doublings() + if fold.extra > 0 { 2 } else { 0 };
    Cost::exact_if(fold.extra == 0, f64::from(rounds) * idle.time(0))
}
