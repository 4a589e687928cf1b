//! Steps of an algorithm: messages, the slots that they carry, and the effect at the receiver.

use engine::Bytes;

use super::Shape;
use crate::cartesian::NOBODY;

/// Slots of the working buffer that a message carries or goes to; what a slot is, the algorithm's
/// [`Layout`](super::Layout) says. Timing needs no slots; the property tests move real data by them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slots {
    /// No data: only the message counts.
    None,
    /// `count` slots from `first`, cyclically modulo the number of slots.
    Range {
        /// The first slot.
        first: u32,
        /// Number of slots.
        count: u32,
    },
    /// The slots whose number has bit `bit` set, ascending (Bruck's all-to-all).
    Bit {
        /// Number of the bit.
        bit: u8,
    },
    /// The slots whose number has `of` in its lowest `bits` bits, ascending (butterfly).
    Residue {
        /// Number of bits, 1 to 31.
        bits: u8,
        /// Value of these bits.
        of: u32,
    },
}

/// Effect of a message on the slots of its receiver.
///
/// All sends of a round read the buffer as it was before the round. Receives take effect in the order
/// of their steps. A message of one slot that is received into several goes into each of them.
/// Reducing into an empty slot stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// The slots of the message replace those of the receiver.
    Store,
    /// Reduces the slots of the message into those of the receiver, as left operands.
    CombineLeft,
    /// Reduces the slots of the message into those of the receiver, as right operands.
    CombineRight,
}

/// One message of one round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// To a rank of the communicator.
    Send {
        /// The receiver.
        to: u32,
        /// Payload.
        bytes: Bytes,
        /// Slots that it carries.
        slots: Slots,
    },
    /// From a rank of the communicator.
    Receive {
        /// The sender.
        from: u32,
        /// Payload: must equal what the sender sends.
        bytes: Bytes,
        /// Slots that it goes to.
        slots: Slots,
        /// Effect on these slots.
        effect: Effect,
    },
}

/// The round function of an algorithm.
///
/// Appends the messages of `rank` in `round` to `steps`; `false` when the rank has no round with this
/// number or after it. A round may be empty (the rank pauses). Two messages of one algorithm between
/// the same pair match in order of rounds, and of their places within a round. Only in neighbourhood
/// collectives can a rank send to itself.
pub type Round = fn(shape: &Shape, rank: u32, round: u32, steps: &mut Vec<Step>) -> bool;

impl Slots {
    /// `count` slots from `first`.
    pub(super) fn range(first: u32, count: u32) -> Slots {
        Slots::Range { first, count }
    }
    /// One slot.
    pub(super) fn one(slot: u32) -> Slots {
        Slots::Range { first: slot, count: 1 }
    }
}

pub(super) fn send(steps: &mut Vec<Step>, to: u32, bytes: u64, slots: Slots) {
    steps.push(Step::Send { to, bytes: Bytes(bytes), slots });
}

pub(super) fn receive(steps: &mut Vec<Step>, from: u32, bytes: u64, slots: Slots, effect: Effect) {
    steps.push(Step::Receive { from, bytes: Bytes(bytes), slots, effect });
}

/// The effect that keeps operands in the order of ranks: what `from` sends stands left of `rank`'s.
pub(super) fn in_order(from: u32, rank: u32) -> Effect {
    if from < rank { Effect::CombineLeft } else { Effect::CombineRight }
}

/// The rounds of an algorithm that consists of phases, each with a number of rounds of its own.
pub(super) struct Phases(pub u32);

impl Phases {
    /// The round within this phase of `rounds` rounds, or `None` when it lies in a later one.
    pub fn take(&mut self, rounds: u32) -> Option<u32> {
        if self.0 < rounds {
            return Some(self.0);
        }
        self.0 -= rounds;
        None
    }
}

/// Messages that `me` sends in all rounds of an algorithm. Leaves those of the last in `steps`.
pub(crate) fn sent(round: Round, shape: &Shape, me: u32, steps: &mut Vec<Step>) -> u64 {
    let is_sent = |step: &&Step| matches!(step, Step::Send { to, .. } if *to != NOBODY);
    let mut sent = 0;
    for number in 0.. {
        steps.clear();
        if !round(shape, me, number, steps) {
            break;
        }
        sent += steps.iter().filter(is_sent).count() as u64;
    }
    sent
}
