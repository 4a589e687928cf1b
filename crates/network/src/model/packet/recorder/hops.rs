//! Hops of packets one by one, for tests and for looking closely: each packet on each link, with its times.

use engine::Time;

use crate::message::Cargo;
use crate::topology::LinkId;

/// One packet on one link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hop {
    /// Message of the packet.
    pub message: Cargo,
    /// Number of the packet within the message.
    pub number: u32,
    /// The link.
    pub link: LinkId,
    /// The virtual channel.
    pub channel: u8,
    /// Time at which the packet's head began to leave.
    pub begin: Time,
    /// Time at which the packet's tail had left.
    pub end: Time,
}
