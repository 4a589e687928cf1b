//! Packets that stayed in a buffer for longer than a threshold: how many, and the slowest of them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use engine::{Duration, Time};
use serde::{Deserialize, Serialize};

use crate::topology::{HostId, LinkId};

/// A packet that stayed long in a buffer. The order is that of residence, then of the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SlowPacket {
    /// From its head's arrival at the router (its tail's, where routers store and forward) until its tail
    /// has left.
    pub residence: Duration,
    /// Earliest time at which it could have asked for its next link: after the router's pipeline.
    pub ready: Time,
    /// For how long of that it waited for its next link.
    pub waited: Duration,
    /// The link at whose end it stood,
    pub link: LinkId,
    /// and the virtual channel.
    pub channel: u8,
    /// The link that it waited for.
    pub next: LinkId,
    /// The host that sent it,
    pub from: HostId,
    /// and the host that it goes to.
    pub to: HostId,
    /// Its number within its message.
    pub number: u32,
}

/// The slowest so many, and the count of all.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SlowPackets {
    threshold: Duration,
    most: usize,
    count: u64,
    slowest: BinaryHeap<Reverse<SlowPacket>>,
}

impl SlowPackets {
    /// Keeps `most` of those that stay for longer than `threshold`.
    pub fn new(threshold: Duration, most: u32) -> SlowPackets {
        SlowPackets { threshold, most: most as usize, count: 0, slowest: BinaryHeap::new() }
    }

    /// Is so long a residence too long?
    pub fn is_slow(&self, residence: Duration) -> bool {
        residence > self.threshold
    }

    /// The threshold.
    pub fn threshold(&self) -> Duration {
        self.threshold
    }

    /// Number of slow packets in all.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The slowest of them, slowest first.
    pub fn slowest(&self) -> Vec<SlowPacket> {
        let mut all: Vec<_> = self.slowest.iter().map(|Reverse(packet)| *packet).collect();
        all.sort_unstable_by(|one, other| other.cmp(one));
        all
    }

    pub(crate) fn note(&mut self, packet: SlowPacket) {
        self.count += 1;
        self.keep(packet);
    }

    pub(crate) fn absorb(&mut self, other: SlowPackets) {
        self.count += other.count;
        other.slowest.into_iter().for_each(|Reverse(packet)| self.keep(packet));
    }

    fn keep(&mut self, packet: SlowPacket) {
        if self.slowest.len() < self.most {
            self.slowest.push(Reverse(packet));
        } else if self.slowest.peek().is_some_and(|Reverse(least)| packet > *least) {
            self.slowest.pop();
            self.slowest.push(Reverse(packet));
        }
    }
}
