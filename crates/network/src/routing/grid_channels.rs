//! Virtual channels on grids, read off a path: segments in dimension order, and datelines on rings.
//!
//! A segment visits dimensions in ascending order, one direction in each, one hop where the dimension
//! is a complete graph, and closes a ring at most once. A hop that does not fit begins the next
//! segment. Within a segment the only cycles are those of a ring, which the dateline cuts: from the
//! link that closes the ring on, a message is on the second channel of its segment. Channels of
//! segments ascend, so the channel dependency graph is acyclic.
//!
//! Source: Dally and Seitz, "Deadlock-free message routing in multiprocessor interconnection networks"
//! (IEEE ToC C-36(5), 1987).

use crate::topology::grid::{Connection, Grid, Hop};
use crate::topology::{LinkId, Topology};

/// True if a ring is long enough for a message to wait for itself, if routes may take `hops` along it.
pub fn needs_dateline(grid: &Grid, hops: impl Fn(u32) -> u32) -> bool {
    let long = |size, connection| connection == Connection::Ring && size > 1 && hops(size) > 1;
    grid.dimensions().iter().any(|dimension| long(dimension.shape.size, dimension.shape.connection))
}

/// Writes the virtual channel of each link of `path`.
pub fn channels(grid: &Grid, dateline: bool, path: &[LinkId], channels: &mut Vec<u8>) {
    channels.clear();
    let (mut segment, mut crossed) = (0u8, false);
    let mut before: Option<Hop> = None;
    for link in path {
        if link.0 < 2 * grid.hosts() {
            channels.push(0);
            continue;
        }
        let hop = grid.hop(*link);
        if let Some(before) = before {
            let full = grid.dimensions()[hop.dimension].shape.connection == Connection::Full;
            let turned = hop.dimension == before.dimension && (full || hop.up != before.up);
            if hop.dimension != before.dimension {
                segment += u8::from(hop.dimension < before.dimension);
                crossed = false;
            } else if turned || (crossed && hop.wraps) {
                segment += 1;
                crossed = false;
            }
        }
        crossed |= hop.wraps;
        channels.push(if dateline { 2 * segment + u8::from(crossed) } else { segment });
        before = Some(hop);
    }
}
