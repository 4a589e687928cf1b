//! One call of a collective by all of its members, and the cases that all properties are tried on.

use std::sync::Arc;

use engine::Bytes;
use mpi::collective::{Collective, Kind, Shape, Sizes};
use mpi::operation::{CommId, Neighbours};
use proptest::prelude::*;

/// A call: of one rank for all, or of each where sizes differ between ranks.
pub struct Case {
    pub size: u32,
    pub calls: Vec<Collective>,
    pub neighbours: Vec<Neighbours>,
    pub segment: Bytes,
}

/// Parameters of the calls of all kinds.
#[derive(Debug, Clone)]
pub struct Parameters {
    pub size: u32,
    pub root: u32,
    /// Size of the vector, or of each block.
    pub bytes: u64,
    pub element: u32,
    pub commutative: bool,
    pub segment: u64,
    /// Spreads the sizes of blocks; 0 makes them all even.
    pub uneven: u64,
}

impl Case {
    pub fn new(kind: Kind, given: &Parameters) -> Case {
        let call = |sizes| Collective {
            kind,
            comm: CommId::WORLD,
            root: if kind.rooted() { given.root } else { 0 },
            sizes,
            element: given.element,
            commutative: given.commutative || !kind.reduces(),
            algorithm: None,
        };
        let neighbours = neighbours(kind, given);
        let calls = match kind {
            Kind::Gatherv | Kind::Scatterv | Kind::Allgatherv | Kind::ReduceScatter => {
                vec![call(Sizes::ByRank((0..given.size).map(|rank| block(given, rank, 0)).collect()))]
            }
            Kind::Alltoallv | Kind::Alltoallw => (0..given.size)
                .map(|rank| {
                    let send: Arc<[u64]> = (0..given.size).map(|peer| block(given, rank, peer)).collect();
                    let receive = (0..given.size).map(|peer| block(given, peer, rank)).collect();
                    call(Sizes::Own { send, receive })
                })
                .collect(),
            Kind::NeighborAllgatherv | Kind::NeighborAlltoallv | Kind::NeighborAlltoallw => neighbours
                .iter()
                .enumerate()
                .map(|(rank, list)| {
                    let to = |peer: &u32| block_to(kind, given, rank as u32, *peer);
                    let from = |peer: &u32| block_to(kind, given, *peer, rank as u32);
                    call(Sizes::Own {
                        send: list.destinations.iter().map(to).collect(),
                        receive: list.sources.iter().map(from).collect(),
                    })
                })
                .collect(),
            Kind::Barrier => vec![call(Sizes::Equal(Bytes(0)))],
            _ => vec![call(Sizes::Equal(Bytes(given.bytes)))],
        };
        Case { size: given.size, calls, neighbours, segment: Bytes(given.segment) }
    }

    pub fn shape(&self, rank: u32) -> Shape<'_> {
        Shape {
            size: self.size,
            call: &self.calls[rank as usize % self.calls.len()],
            neighbours: self.neighbours.get(rank as usize),
            segment: self.segment,
            halves: None,
        }
    }
}

/// The size of the block of `from` for `to`.
fn block(given: &Parameters, from: u32, to: u32) -> u64 {
    if given.uneven == 0 {
        return given.bytes;
    }
    // A third of the blocks is empty.
    let mixed = (u64::from(from) * 7 + u64::from(to) * 13) % 11;
    if mixed % 3 == 0 { 0 } else { given.bytes / given.uneven * mixed }
}

fn block_to(kind: Kind, given: &Parameters, from: u32, to: u32) -> u64 {
    // In an allgather all neighbours get the same block.
    block(given, from, if kind == Kind::NeighborAllgatherv { 0 } else { to })
}

/// Each rank sends to the ones 0, 1 and 3 ahead (0: itself): directed, with repeated neighbours where
/// the ring is short.
fn neighbours(kind: Kind, given: &Parameters) -> Vec<Neighbours> {
    if !kind.among_neighbours() {
        return Vec::new();
    }
    let ahead = |rank: u32, by: u32| (rank + by) % given.size;
    let behind = |rank: u32, by: u32| (rank + given.size * by - by) % given.size;
    (0..given.size)
        .map(|rank| Neighbours {
            sources: [0, 1, 3].iter().map(|by| behind(rank, *by)).collect(),
            destinations: [0, 1, 3].iter().map(|by| ahead(rank, *by)).collect(),
        })
        .collect()
}

/// Cases that cover every number of ranks from 1 to 40, and a few larger ones.
pub fn sweep() -> impl Iterator<Item = Parameters> {
    (1..=40).chain([64, 100, 127]).flat_map(|size| {
        let even = Parameters {
            size,
            root: 0,
            bytes: 24 * u64::from(size) * 16,
            element: 8,
            commutative: true,
            segment: 24 * 8,
            uneven: 0,
        };
        let odd = Parameters {
            root: size / 2,
            bytes: 1_003,
            commutative: false,
            uneven: 7,
            segment: 100,
            ..even.clone()
        };
        let empty = Parameters { bytes: 0, segment: 0, root: size - 1, ..even.clone() };
        [even, odd, empty]
    })
}

/// More ranks than a byte counts.
pub fn many() -> Parameters {
    let (bytes, element, segment) = (1_003, 8, 100);
    Parameters { size: 257, root: 128, bytes, element, commutative: true, segment, uneven: 7 }
}

/// Cases at random.
pub fn parameters() -> impl Strategy<Value = Parameters> {
    let element = prop_oneof![Just(1u32), Just(4), Just(8), Just(24)];
    let segment = prop_oneof![Just(0u64), Just(1), Just(64), Just(1_000)];
    (1u32..=40, any::<u32>(), 0u64..2_000, element, any::<bool>(), segment, 0u64..4).prop_map(
        |(size, root, bytes, element, commutative, segment, uneven)| {
            // One segment per byte is slow, not hard.
            let segment = if segment == 1 { bytes / 50 + 1 } else { segment };
            Parameters { size, root: root % size, bytes, element, commutative, segment, uneven }
        },
    )
}
