//! Slots of a working buffer, and the one rule by which vectors are cut into chunks.

use engine::Bytes;

use super::Shape;

/// Meaning of the slots of an algorithm's working buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// No data (barrier).
    Nothing,
    /// Slot i is the block of rank i (gather, scatter, allgather, reduce_scatter).
    Blocks,
    /// The vector, cut into this many chunks by [`chunk_offset`].
    Chunks(u32),
    /// The vector, cut into `chunks` and each of them into `segments`; slot `c * segments + s`.
    Segmented {
        /// Chunks of the vector.
        chunks: u32,
        /// Segments of each chunk.
        segments: u32,
    },
    /// The vector, cut into segments of `Shape::segment` bytes, the last one shorter.
    Segments,
    /// Two copies of the vector: slot 0 becomes the result, slot 1 is a partial result. Slot 1 starts
    /// with the rank's own vector in scans, empty otherwise; slot 0 starts empty in exclusive scans.
    Twice,
    /// Slot i < p is the block for rank i, slot p + i the block from rank i (all-to-all; for
    /// neighbourhoods: destinations, then sources).
    Exchange,
    /// Slot i is at first the block for rank r + i, at last the block from rank r − i (Bruck).
    Rotated,
}

impl Layout {
    /// The number of slots.
    pub fn slots(self, shape: &Shape) -> u32 {
        match self {
            Layout::Nothing => 0,
            Layout::Blocks | Layout::Rotated => shape.size,
            Layout::Chunks(chunks) => chunks,
            Layout::Segmented { chunks, segments } => chunks * segments,
            Layout::Segments => shape.segments(),
            Layout::Twice => 2,
            Layout::Exchange => match shape.neighbours {
                Some(neighbours) => (neighbours.destinations.len() + neighbours.sources.len()) as u32,
                None => 2 * shape.size,
            },
        }
    }

    /// The size of one slot. Not for [`Layout::Exchange`] with sizes of each rank's own.
    pub fn bytes(self, shape: &Shape, slot: u32) -> Bytes {
        Bytes(match self {
            Layout::Nothing => 0,
            Layout::Blocks | Layout::Rotated => shape.block(slot),
            Layout::Chunks(chunks) => chunk(shape.vector(), shape.element(), chunks, slot, 1),
            Layout::Segmented { chunks, segments } => {
                let whole = chunk(shape.vector(), shape.element(), chunks, slot / segments, 1);
                chunk(whole, shape.element(), segments, slot % segments, 1)
            }
            Layout::Segments => shape.segment_bytes(slot),
            Layout::Twice => shape.vector(),
            Layout::Exchange => shape.block(slot % shape.size),
        })
    }
}

/// Offset of chunk `index` of `chunks` in a vector of `total` bytes \[bytes from its start\].
///
/// Elements are shared out evenly, the first chunks get one more; what is left of `total` after the
/// last whole element belongs to the last chunk.
pub fn chunk_offset(total: u64, element: u64, chunks: u32, index: u32) -> u64 {
    if index >= chunks {
        return total;
    }
    let elements = total / element;
    let (each, more) = (elements / u64::from(chunks), elements % u64::from(chunks));
    (each * u64::from(index) + more.min(u64::from(index))) * element
}

/// The size of `count` chunks from `first`, cyclically.
pub(super) fn chunk(total: u64, element: u64, chunks: u32, first: u32, count: u32) -> u64 {
    let at = |index| chunk_offset(total, element, chunks, index);
    let end = first + count;
    if end <= chunks { at(end) - at(first) } else { total - at(first) + at(end - chunks) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_whole_elements_that_differ_by_one_and_sum_up() {
        for (total, element, chunks) in [(100, 8, 3), (0, 8, 5), (7, 8, 2), (64, 4, 16), (1_000, 1, 7)] {
            let sizes: Vec<u64> = (0..chunks).map(|i| chunk(total, element, chunks, i, 1)).collect();
            assert_eq!(sizes.iter().sum::<u64>(), total);
            let (last, rest) = sizes.split_last().unwrap();
            let whole = |size: &u64| size / element;
            assert!(rest.iter().all(|size| size % element == 0));
            assert!(sizes.iter().map(whole).max().unwrap() - whole(last) <= 1);
        }
    }

    #[test]
    fn a_cyclic_range_is_the_sum_of_its_chunks() {
        for (first, count) in [(0, 7), (5, 4), (6, 1), (3, 7)] {
            let sum: u64 = (0..count).map(|i| chunk(101, 4, 7, (first + i) % 7, 1)).sum();
            assert_eq!(chunk(101, 4, 7, first, count), sum);
        }
    }
}
