//! K-nomial broadcast: a binomial tree's generalization with three children in each level (radix 4).
//!
//! The parent of relative rank v is v without its lowest digit above zero in base 4; who has the vector
//! sends it to all its children at once, the largest subtrees first.
//! Cost: `log₄ p (T(n) + 2 B(n))` for powers of four, else at most `⌈log₄ p⌉ (T(n) + 2 B(n))`. Good for
//! short vectors where latency is more than the gap between messages: half the levels of a binomial tree.
//! Source: Open MPI coll/base, `bcast_intra_knomial` (its default radix is 4).

use engine::registry::Entry;

use crate::collective::parts::WHOLE;
use crate::collective::step::{Phases, receive, send};
use crate::collective::{Algorithm, Cost, Effect, Idle, Kind, Layout, Shape, Step};

/// The registry's entry.
pub const ENTRY: Entry<Algorithm> = Entry {
    name: "knomial",
    summary: "down a k-nomial tree of radix 4, whole vector",
    source: "Open MPI coll/base",
    parameters: &[],
    examples: &[""],
    build: Algorithm {
        kinds: &[Kind::Bcast],
        round,
        layout: |_| Layout::Chunks(1),
        cost,
        sends: None,
        fits: |_| true,
    },
};

const RADIX: u32 = 4;

/// Digits that the ranks' numbers have in base 4.
fn digits(shape: &Shape) -> u32 {
    shape.doublings().div_ceil(RADIX.ilog2())
}

fn round(shape: &Shape, rank: u32, round: u32, steps: &mut Vec<Step>) -> bool {
    let number = shape.relative(rank);
    // Children differ in the digits below the lowest one that is not zero.
    let free = if number == 0 { digits(shape) } else { number.trailing_zeros() / RADIX.ilog2() };
    let mut phases = Phases(round);
    if number > 0 && phases.take(1).is_some() {
        let digit = RADIX.pow(free);
        let parent = number - number / digit % RADIX * digit;
        receive(steps, shape.absolute(parent), shape.vector(), WHOLE, Effect::Store);
        return true;
    }
    if phases.take(1).is_none() {
        return false;
    }
    for place in (0..free).rev() {
        for digit in 1..u64::from(RADIX) {
            let child = u64::from(number) + digit * u64::from(RADIX).pow(place);
            if child < u64::from(shape.size) {
                send(steps, shape.absolute(child as u32), shape.vector(), WHOLE);
            }
        }
    }
    !steps.is_empty()
}

fn cost(shape: &Shape, idle: &Idle) -> Cost {
    let bytes = shape.vector();
    let level = idle.time(bytes) + f64::from(RADIX - 2) * idle.busy(bytes);
    let full = shape.power_of_two() && shape.doublings() % RADIX.ilog2() == 0;
    Cost::exact_if(full, f64::from(digits(shape)) * level)
}
