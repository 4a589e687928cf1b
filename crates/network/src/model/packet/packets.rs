//! Packets on their way from router to router, and into hosts.

use std::ops::{Index, IndexMut};

use engine::{Time, prefetch};

use super::index::{ChannelIndex, MessageIndex, PacketIndex, PacketNumber, PathIndex};
use super::size::WireSize;
use super::steps::NOTHING;
use super::waits::Waits;

/// One packet.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct InTransit {
    /// Time at which its tail is at the end of its present link.
    pub tail: Time,
    pub message: MessageIndex,
    /// Place of its next channel among the paths.
    pub path: PathIndex,
    /// Next channel of its path.
    pub wants: ChannelIndex,
    /// Bytes on the wire.
    pub size: WireSize,
    /// The packet behind it in its queue.
    pub next: PacketIndex,
    pub number: PacketNumber,
    /// Begin of its wait where it is.
    pub ready: Time,
    /// Waits of its message before it left, and its own since.
    pub waits: Waits,
}

/// Number of packets from which on memory is prefetched: each comes with some 150 bytes of links and channels.
const MANY: usize = 1 << 12;

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Packets {
    all: Vec<InTransit>,
    free: Vec<PacketIndex>,
}

impl Packets {
    /// Takes a packet of `size` in, which takes channel `wants` next, at `path`.
    pub fn insert(
        &mut self,
        message: MessageIndex,
        number: PacketNumber,
        size: WireSize,
        path: PathIndex,
        wants: ChannelIndex,
    ) -> PacketIndex {
        let (tail, ready, waits) = (Time::ZERO, Time::ZERO, Waits::default());
        let packet =
            InTransit { tail, message, path, wants, size, next: PacketIndex::NONE, number, ready, waits };
        if let Some(index) = self.free.pop() {
            self.all[index.at()] = packet;
            return index;
        }
        self.all.push(packet);
        let index = PacketIndex(self.all.len() as u32 - 1);
        assert!(index.0 < NOTHING, "fewer than 2^30 packets are on their way");
        index
    }

    pub fn remove(&mut self, index: PacketIndex) {
        self.free.push(index);
    }

    /// Number of them.
    pub fn count(&self) -> usize {
        self.all.len() - self.free.len()
    }

    /// True if there have been so many at a time that they and their links do not fit into a core's own caches.
    #[inline]
    pub fn are_many(&self) -> bool {
        self.all.len() > MANY
    }

    /// Asks for the packet at `index`.
    pub fn prefetch(&self, index: PacketIndex) {
        prefetch(&self.all, index.at());
    }
}

impl Index<PacketIndex> for Packets {
    type Output = InTransit;
    #[inline]
    fn index(&self, index: PacketIndex) -> &InTransit {
        &self.all[index.at()]
    }
}

impl IndexMut<PacketIndex> for Packets {
    #[inline]
    fn index_mut(&mut self, index: PacketIndex) -> &mut InTransit {
        &mut self.all[index.at()]
    }
}
