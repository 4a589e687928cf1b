//! A call as an algorithm sees it, and the arithmetic that all of them share.

use engine::Bytes;

use super::{Collective, Sizes};

/// A call as an algorithm sees it: everything is relative to the communicator.
#[derive(Debug, Clone, Copy)]
pub struct Shape<'a> {
    /// Members of the communicator, 1 or more.
    pub size: u32,
    /// The call.
    pub call: &'a Collective,
    /// For neighbourhood collectives: this rank's neighbours.
    pub neighbours: Option<&'a crate::cartesian::Neighbours>,
    /// Bytes of a segment for pipelined algorithms; 0 means that nothing is cut.
    pub segment: Bytes,
    /// Members of an inter-communicator's first group; `None` in other communicators.
    pub halves: Option<u32>,
}

impl Shape<'_> {
    /// Bytes of the whole vector (bcast, reduce, allreduce, scan, and reduce_scatter's input).
    pub fn vector(&self) -> u64 {
        match &self.call.sizes {
            Sizes::Equal(bytes) if self.call.kind == super::Kind::ReduceScatterBlock => {
                bytes.0 * u64::from(self.size)
            }
            Sizes::Equal(bytes) => bytes.0,
            Sizes::ByRank(list) => list.iter().sum(),
            Sizes::Own { send, .. } => send.iter().sum(),
        }
    }

    /// Bytes of the block of `rank`.
    pub fn block(&self, rank: u32) -> u64 {
        match &self.call.sizes {
            Sizes::Equal(bytes) => bytes.0,
            Sizes::ByRank(list) => list[rank as usize],
            Sizes::Own { send, .. } => send[rank as usize],
        }
    }

    /// Bytes of `count` blocks from that of `first`, cyclically. With sizes by rank this takes
    /// `count` additions.
    pub fn blocks(&self, first: u32, count: u32) -> u64 {
        match &self.call.sizes {
            Sizes::Equal(bytes) => bytes.0 * u64::from(count),
            _ => (0..count).map(|i| self.block((first + i) % self.size)).sum(),
        }
    }

    /// The largest block.
    pub fn largest_block(&self) -> u64 {
        match &self.call.sizes {
            Sizes::Equal(bytes) => bytes.0,
            Sizes::ByRank(list) => list.iter().copied().max().unwrap_or(0),
            Sizes::Own { send, receive } => send.iter().chain(receive.iter()).copied().max().unwrap_or(0),
        }
    }

    /// True if all blocks have the same size.
    pub fn even_blocks(&self) -> bool {
        match &self.call.sizes {
            Sizes::Equal(_) => true,
            Sizes::ByRank(list) => list.windows(2).all(|pair| pair[0] == pair[1]),
            Sizes::Own { send, receive } => {
                let first = send.first().or(receive.first());
                send.iter().chain(receive.iter()).all(|size| Some(size) == first)
            }
        }
    }

    /// Bytes of one element, at least 1.
    pub fn element(&self) -> u64 {
        u64::from(self.call.element.max(1))
    }

    /// Segments of the vector: at least one, each of `segment` bytes rounded down to whole elements.
    pub fn segments(&self) -> u32 {
        self.segments_of(self.vector())
    }

    /// Segments that a part of `bytes` needs, at least one.
    pub(super) fn segments_of(&self, bytes: u64) -> u32 {
        let segments = bytes.div_ceil(self.whole_segment()).max(1);
        u32::try_from(segments).expect("a vector has fewer than 2^32 segments")
    }

    /// True if all segments have the same size.
    pub(super) fn even_segments(&self) -> bool {
        self.segments() == 1 || self.vector() % self.whole_segment() == 0
    }

    /// Bytes of segment `index`.
    pub fn segment_bytes(&self, index: u32) -> u64 {
        let begin = self.whole_segment() * u64::from(index);
        self.vector().saturating_sub(begin).min(self.whole_segment())
    }

    fn whole_segment(&self) -> u64 {
        let segment = if self.segment.0 == 0 { self.vector() } else { self.segment.0 };
        (segment / self.element()).max(1) * self.element()
    }

    /// The number of `rank` when the root is number 0.
    pub fn relative(&self, rank: u32) -> u32 {
        if rank >= self.call.root { rank - self.call.root } else { rank + self.size - self.call.root }
    }

    /// The rank with number `relative` when the root is number 0.
    pub fn absolute(&self, relative: u32) -> u32 {
        self.shifted(self.call.root, relative)
    }

    /// `rank + by`, cyclically; `by` is at most the size.
    pub fn shifted(&self, rank: u32, by: u32) -> u32 {
        let sum = u64::from(rank) + u64::from(by);
        let size = u64::from(self.size);
        (if sum >= size { sum - size } else { sum }) as u32
    }

    /// `rank - by`, cyclically; `by` is at most the size.
    pub fn shifted_back(&self, rank: u32, by: u32) -> u32 {
        self.shifted(rank, self.size - by)
    }

    /// The least k with 2ᵏ ≥ size.
    pub fn doublings(&self) -> u32 {
        ceil_log2(self.size)
    }

    /// True if the size is a power of two.
    pub fn power_of_two(&self) -> bool {
        self.size.is_power_of_two()
    }
}

/// The least k with 2ᵏ ≥ n; 0 for n ≤ 1.
pub(super) fn ceil_log2(n: u32) -> u32 {
    if n <= 1 { 0 } else { u32::BITS - (n - 1).leading_zeros() }
}
