//! Parts that several algorithms are made of: trees up and down, rings, halving and doubling. Each
//! appends the messages of one round of its own.

use super::layout::chunk;
use super::step::{in_order, receive, send};
use super::tree::Binomial;
use super::{Effect, Idle, Shape, Slots, Step};

/// Slots of a whole vector: slot 0 of one.
pub(super) const WHOLE: Slots = Slots::Range { first: 0, count: 1 };

/// One round of handing `bytes` down the binomial tree from `root`, the largest subtree first.
pub(super) fn tree_down(
    shape: &Shape,
    root: u32,
    rank: u32,
    round: u32,
    bytes: u64,
    slots: Slots,
    steps: &mut Vec<Step>,
) {
    let node = Binomial::new(shape.shifted_back(rank, root), shape.size);
    let absolute = |number| shape.shifted(number, root);
    match node.parent() {
        Some(parent) if round == 0 => receive(steps, absolute(parent), bytes, slots, Effect::Store),
        parent => {
            let sent = round - u32::from(parent.is_some());
            send(steps, absolute(node.child(node.children() - 1 - sent)), bytes, slots);
        }
    }
}

/// One round of reducing vectors of `bytes` up the binomial tree to `root`, the smallest subtree first.
pub(super) fn tree_up(
    shape: &Shape,
    root: u32,
    rank: u32,
    round: u32,
    bytes: u64,
    slots: Slots,
    steps: &mut Vec<Step>,
) {
    let node = Binomial::new(shape.shifted_back(rank, root), shape.size);
    let absolute = |number| shape.shifted(number, root);
    if round < node.children() {
        receive(steps, absolute(node.child(round)), bytes, slots, Effect::CombineRight);
    } else if let Some(parent) = node.parent() {
        send(steps, absolute(parent), bytes, slots);
    }
}

/// The rounds of `rank` in a binomial tree with `root`.
pub(super) fn tree_rounds(shape: &Shape, root: u32, rank: u32) -> u32 {
    Binomial::new(shape.shifted_back(rank, root), shape.size).rounds()
}

/// The slots and bytes of `count` ranks' blocks from that of `first`.
pub(super) fn blocks(shape: &Shape, first: u32, count: u32) -> (u64, Slots) {
    (shape.blocks(first, count), Slots::range(first, count))
}

/// The slots and bytes of `count` of `chunks` chunks of the vector.
pub(super) fn chunks(shape: &Shape, chunks: u32, first: u32, count: u32) -> (u64, Slots) {
    (chunk(shape.vector(), shape.element(), chunks, first, count), Slots::range(first, count))
}

/// The largest of `chunks` chunks of the vector \[bytes\], and whether all are equal.
pub(super) fn largest_chunk(shape: &Shape, chunks: u32) -> (u64, bool) {
    let largest = shape.vector().div_ceil(shape.element()).div_ceil(u64::from(chunks)) * shape.element();
    (largest, largest * u64::from(chunks) == shape.vector())
}

/// Chunks of the vector of one of 2ˡ numbers after `level` halvings by distances 1, 2, 4, …: the first
/// of the 2ˡ chunks and how many.
pub(super) fn halved(number: u32, doublings: u32, level: u32) -> (u32, u32) {
    let low = u64::from(number) & ((1 << level) - 1);
    let first = (low as u32).reverse_bits().checked_shr(u32::BITS - doublings).unwrap_or(0);
    (first, 1 << (doublings - level))
}

/// One exchange of recursive doubling or halving between `rank` and `peer`: what `rank` gives and gets.
pub(super) fn exchange(
    steps: &mut Vec<Step>,
    peer: u32,
    give: (u64, Slots),
    get: (u64, Slots),
    effect: Effect,
) {
    send(steps, peer, give.0, give.1);
    receive(steps, peer, get.0, get.1, effect);
}

/// An exchange in which both reduce what they get, keeping the order of ranks.
pub(super) fn exchange_reduced(
    steps: &mut Vec<Step>,
    rank: u32,
    peer: u32,
    give: (u64, Slots),
    get: (u64, Slots),
) {
    exchange(steps, peer, give, get, in_order(peer, rank));
}

/// The time of `messages` messages of n bytes, one after another through one port: T + (m − 1) B.
pub(super) fn serial(idle: &Idle, messages: u32, bytes: u64) -> f64 {
    if messages == 0 { 0.0 } else { idle.time(bytes) + f64::from(messages - 1) * idle.busy(bytes) }
}

/// The time until a binomial tree over `size` has handed n bytes to all: each level costs T, but for
/// one that costs only B where `size` is not a power of two, since no number below it is all ones.
pub(super) fn tree_time(idle: &Idle, size: u32, bytes: u64) -> f64 {
    let levels = super::shape::ceil_log2(size);
    if size.is_power_of_two() {
        f64::from(levels) * idle.time(bytes)
    } else {
        f64::from(levels - 1) * idle.time(bytes) + idle.busy(bytes)
    }
}

/// Σ cost(2ʲ n) for j below `levels`.
pub(super) fn doubled(levels: u32, bytes: u64, cost: impl Fn(u64) -> f64) -> f64 {
    (0..levels).map(|level| cost(bytes << level)).sum()
}
