//! Linear neighbourhood collective: all messages posted at once, in the order of the neighbours.
//!
//! Slots are one for each destination, then one for each source; in the allgathers all destinations
//! get the same block.
//! Cost, with d neighbours on every rank and blocks of n bytes: at most `T(n) + 2 (d − 1) B(n)`, since
//! up to d messages can meet at their receiver after each has waited at its sender.
//! Source: MPICH and Open MPI (the default of both).

use engine::registry::Entry;

use crate::collective::parts::serial;
use crate::collective::step::{receive, send};
use crate::collective::{Algorithm, Cost, Effect, Idle, Kind, Layout, Shape, Sizes, Slots, Step};

/// The registry's entry.
pub const ENTRY: Entry<Algorithm> = Entry {
    name: "linear",
    summary: "all messages posted at once",
    source: "MPICH; Open MPI",
    parameters: &[],
    examples: &[""],
    build: Algorithm {
        kinds: &[
            Kind::NeighborAllgather,
            Kind::NeighborAllgatherv,
            Kind::NeighborAlltoall,
            Kind::NeighborAlltoallv,
            Kind::NeighborAlltoallw,
        ],
        round,
        layout: |_| Layout::Exchange,
        cost,
        sends: None,
        fits: |shape| shape.neighbours.is_some(),
    },
};

fn round(shape: &Shape, _rank: u32, round: u32, steps: &mut Vec<Step>) -> bool {
    let Some(neighbours) = shape.neighbours else { return false };
    let (sources, destinations) = (&neighbours.sources, &neighbours.destinations);
    if round > 0 || sources.is_empty() && destinations.is_empty() {
        return false;
    }
    let (sent, received) = match &shape.call.sizes {
        Sizes::Own { send, receive } => (Some(send), Some(receive)),
        _ => (None, None),
    };
    let size = |list: Option<&std::sync::Arc<[u64]>>, index: usize| match list {
        Some(list) => list[index],
        None => shape.block(0),
    };
    for (index, from) in sources.iter().enumerate() {
        let slot = Slots::one((destinations.len() + index) as u32);
        receive(steps, *from, size(received, index), slot, Effect::Store);
    }
    for (index, to) in destinations.iter().enumerate() {
        send(steps, *to, size(sent, index), Slots::one(index as u32));
    }
    true
}

fn cost(shape: &Shape, idle: &Idle) -> Cost {
    let most = shape.neighbours.map_or(0, |list| list.sources.len().max(list.destinations.len()) as u32);
    let bytes = shape.largest_block();
    Cost::AtMost(serial(idle, most, bytes) + f64::from(most.saturating_sub(1)) * idle.busy(bytes))
}
