//! Neighbour-exchange allgather: exchanges with the left and the right neighbour in turn, first of one
//! block, then of the two blocks that came last. Even p only.
//!
//! Ranks 2q and 2q + 1 are pair q. Even ranks get the pairs q, q − 1, q + 1, q − 2, …, odd ones
//! q, q + 1, q − 1, q + 2, …
//! Cost: `T(n) + (p/2 − 1) T(2n)`, that is `p/2 α + (p − 1) n β`. Good for medium and long blocks: half
//! the rounds of a ring.
//! Source: Chen, Zhang, Zhang, Yuan, "Performance evaluation of allgather algorithms on terascale Linux
//! cluster with fast Ethernet" (HPC Asia 2005).

use engine::registry::Entry;

use crate::collective::parts::{blocks, exchange};
use crate::collective::{Algorithm, Cost, Effect, Idle, Layout, Shape, Slots, Step};

/// The registry's entry.
pub const ENTRY: Entry<Algorithm> = Entry {
    name: "neighbor-exchange",
    summary: "p / 2 rounds, two blocks with the left and the right neighbour in turn (even p)",
    source: "Chen, Zhang, Zhang, Yuan 2005",
    parameters: &[],
    examples: &[""],
    build: Algorithm {
        kinds: super::KINDS,
        round,
        layout: |_| Layout::Blocks,
        cost,
        sends: None,
        fits: |shape| shape.size % 2 == 0,
    },
};

fn round(shape: &Shape, rank: u32, round: u32, steps: &mut Vec<Step>) -> bool {
    if round >= shape.size / 2 {
        return false;
    }
    // Even ranks turn right in even rounds, odd ranks in odd ones.
    let right = rank % 2 == round % 2;
    let peer = if right { shape.shifted(rank, 1) } else { shape.shifted_back(rank, 1) };
    let (give, get) = if round == 0 {
        (blocks(shape, rank, 1), blocks(shape, peer, 1))
    } else {
        (pair(shape, rank, round - 1), pair(shape, peer, round - 1))
    };
    exchange(steps, peer, give, get, Effect::Store);
    true
}

/// The pair that `rank` has got in `round`: its blocks.
fn pair(shape: &Shape, rank: u32, round: u32) -> (u64, Slots) {
    let (own, away) = (2 * (rank / 2), 2 * round.div_ceil(2));
    let ahead = (rank % 2 == 0) == (round % 2 == 0);
    let first = if ahead { shape.shifted(own, away) } else { shape.shifted_back(own, away) };
    blocks(shape, first, 2)
}

fn cost(shape: &Shape, idle: &Idle) -> Cost {
    let bytes = shape.largest_block();
    let seconds = idle.time(bytes) + f64::from(shape.size / 2 - 1) * idle.time(2 * bytes);
    Cost::exact_if(shape.even_blocks(), seconds)
}
