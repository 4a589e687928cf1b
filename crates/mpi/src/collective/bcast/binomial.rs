//! Binomial broadcast: who has the vector sends it on, to the largest subtree first.
//!
//! Cost: `log₂ p T(n)` for powers of two, else `⌊log₂ p⌋ T(n) + B(n)`, since no rank is then reached
//! through a message in every level. Good for short vectors: the least rounds.
//! Where messages do not overlap (B = T) it is as fast as can be; the less B is against T, the more do
//! trees with more children win (the bound: Karp et al. 1993, [`bounds`](crate::collective::bounds)).
//! Source: Thakur, Rabenseifner, Gropp 2005, section 4.2.

use engine::registry::Entry;

use crate::collective::parts::{WHOLE, tree_down, tree_rounds, tree_time};
use crate::collective::{Algorithm, Cost, Idle, Kind, Layout, Shape, Step};

/// The registry's entry.
pub const ENTRY: Entry<Algorithm> = Entry {
    name: "binomial",
    summary: "down a binomial tree, whole vector",
    source: "Thakur, Rabenseifner, Gropp 2005",
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

fn round(shape: &Shape, rank: u32, round: u32, steps: &mut Vec<Step>) -> bool {
    let root = shape.call.root;
    if round >= tree_rounds(shape, root, rank) {
        return false;
    }
    tree_down(shape, root, rank, round, shape.vector(), WHOLE, steps);
    true
}

fn cost(shape: &Shape, idle: &Idle) -> Cost {
    Cost::Exact(tree_time(idle, shape.size, shape.vector()))
}
