//! Hops of packets one by one, for tests and for looking closely: each packet on each link, with its times.

use engine::Time;

use super::Packet;
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

impl Packet {
    /// Keeps every hop from now on.
    pub fn keep_hops(&mut self) {
        self.hops.get_or_insert_default();
        self.is_watched = true;
    }

    /// Takes the hops kept so far.
    pub fn take_hops(&mut self) -> Vec<Hop> {
        self.hops.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Room in buffers that the starts of their links do not know of at `now` \[bytes\]: none, when nothing has been on
    /// its way for a while.
    pub fn missing_credit(&self, now: Time) -> u64 {
        let Some(buffer) = self.options.buffer else { return 0 };
        self.lanes.iter().map(|lane| buffer.0 - u64::from(self.credits.known(now, lane))).sum()
    }
}
