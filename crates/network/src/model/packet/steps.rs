//! Events of the packet model.

use engine::{Lane, Token};

use super::index::{ChannelIndex, MessageIndex, PacketIndex, PacketNumber, SenderIndex};
use crate::topology::LinkId;

/// Event of this model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// A packet may ask for its next link; it has come by this channel.
    Ready(PacketIndex, ChannelIndex),
    /// A transmission has ended.
    Idle {
        /// Output that may choose again.
        output: Option<LinkId>,
        /// Link whose crossbar line is idle.
        line: Option<LinkId>,
    },
    /// The tail of a packet is at its host.
    Arrived(PacketIndex),
    /// A process has its next packet ready.
    Filled(SenderIndex),
    /// A message is sent.
    Sent(MessageIndex),
    /// A message is delivered.
    Delivered(MessageIndex),
    /// A packet should have been answered.
    TimedOut(MessageIndex, PacketNumber),
    /// Something may have failed or returned.
    Changed,
}

const STEP_BITS: u32 = 3;
const INDEX_BITS: u32 = 30;
/// No index in a token; all indices are below.
pub(super) const NOTHING: u32 = (1 << INDEX_BITS) - 1;

impl Step {
    /// The event's token.
    #[inline]
    pub fn token(self) -> Token {
        let link = |link: Option<LinkId>| link.map_or(NOTHING, |link| link.0);
        let (step, first, second) = match self {
            Step::Ready(packet, channel) => (0, packet.0, channel.0),
            Step::Idle { output, line } => (1, link(output), link(line)),
            Step::Arrived(packet) => (2, packet.0, 0),
            Step::Filled(sender) => (3, sender.0, 0),
            Step::Sent(message) => (4, message.0, 0),
            Step::Delivered(message) => (5, message.0, 0),
            Step::TimedOut(message, number) => (6, message.0, number.0),
            Step::Changed => (7, NOTHING, NOTHING),
        };
        debug_assert!(first <= NOTHING && second <= NOTHING);
        let payload = (u64::from(first) << INDEX_BITS | u64::from(second)) << STEP_BITS | step;
        Token::new(Lane::Network, payload)
    }

    /// The event of `token`, one of [`Step::token`].
    #[inline]
    pub fn of(token: Token) -> Step {
        let payload = token.payload();
        let index = |shift| (payload >> shift) as u32 & NOTHING;
        let (first, second) = (index(STEP_BITS + INDEX_BITS), index(STEP_BITS));
        let link = |link| (link != NOTHING).then_some(LinkId(link));
        match payload & ((1 << STEP_BITS) - 1) {
            0 => Step::Ready(PacketIndex(first), ChannelIndex(second)),
            1 => Step::Idle { output: link(first), line: link(second) },
            2 => Step::Arrived(PacketIndex(first)),
            3 => Step::Filled(SenderIndex(first)),
            4 => Step::Sent(MessageIndex(first)),
            5 => Step::Delivered(MessageIndex(first)),
            6 => Step::TimedOut(MessageIndex(first), PacketNumber(second)),
            _ => Step::Changed,
        }
    }
}
