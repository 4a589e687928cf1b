//! Events of the packet model.

use engine::{Lane, Token};

/// Event of this model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// A packet may ask for its next link: the packet, the channel that it has come by.
    Ready,
    /// A transmission has ended: the output that may choose again, the link whose line is idle.
    Idle,
    /// The tail of a packet is at its host.
    Arrived,
    /// A process has its next packet ready.
    Filled,
    /// A message is sent.
    Sent,
    /// A message is delivered.
    Delivered,
    /// A packet should have been answered: its slot, its number.
    TimedOut,
    /// Something may have failed or returned.
    Changed,
}

const STEPS: [Step; 8] = [
    Step::Ready,
    Step::Idle,
    Step::Arrived,
    Step::Filled,
    Step::Sent,
    Step::Delivered,
    Step::TimedOut,
    Step::Changed,
];
const STEP_BITS: u32 = 3;
const INDEX_BITS: u32 = 30;
/// No index in a token.
pub(super) const NOTHING: u32 = (1 << INDEX_BITS) - 1;

/// The token of `step` with two indices.
pub(super) fn token(step: Step, first: u32, second: u32) -> Token {
    debug_assert!(first <= NOTHING && second <= NOTHING);
    let payload = (u64::from(first) << INDEX_BITS | u64::from(second)) << STEP_BITS | step as u64;
    Token::new(Lane::Network, payload)
}

/// The step and the indices that [`token`] was made of.
pub(super) fn open(token: Token) -> (Step, u32, u32) {
    let payload = token.payload();
    let step = STEPS[(payload & ((1 << STEP_BITS) - 1)) as usize];
    let index = |shift: u32| (payload >> shift) as u32 & NOTHING;
    (step, index(STEP_BITS + INDEX_BITS), index(STEP_BITS))
}
