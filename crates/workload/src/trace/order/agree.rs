//! Agreement of calls that meet: the same collective, the same root, and equal sizes on both sides of each transfer
//! between two members.
//!
//! | collective | what must agree |
//! | --- | --- |
//! | with blocks of one size | the size, on all members |
//! | allgatherv, reduce_scatter | all sizes, on all members |
//! | gatherv, scatterv | of each member, its own size with the root's for it |
//! | alltoallv, alltoallw | what each sends to each with what that one receives from it |
//! | over neighbours | the same, between neighbours |
//! | making a communicator | how; of a grid, its sizes and periods, or the dimensions that are kept |
//!
//! Bytes are compared, not types: a type has as many on both sides if it has the same signature. Collectives of
//! inter-communicators are compared by kind and root only.
//!
//! Source: MPI 5.0, 6.4 to 6.12 and 8.5.

use std::mem::discriminant;

use mpi::collective::{Collective, Kind, Sizes};
use mpi::operation::NewComm;

use super::mail::Place;
use super::meeting::{Entry, What};

/// Difference of a call from the first one of its meeting, if they do not agree; `inter` for an inter-communicator.
pub fn differs(entry: &Entry, first: &Entry, inter: bool) -> Option<String> {
    let by = first.by;
    match (&entry.what, &first.what) {
        (What::Collective(one), What::Collective(other)) if one.kind == other.kind => {
            if one.root != other.root {
                return Some(format!("has root {}, and {by} has root {}", one.root, other.root));
            }
            if inter { None } else { sizes_differ(one, other, by) }
        }
        (What::Make(one), What::Make(other)) => how_differs(one, other, by),
        (What::Finalize, What::Finalize) => None,
        _ => Some(format!("does not go with {by}")),
    }
}

fn sizes_differ(one: &Collective, other: &Collective, by: Place) -> Option<String> {
    let of_root = matches!(one.kind, Kind::Gatherv | Kind::Scatterv);
    match (&one.sizes, &other.sizes) {
        _ if one.kind.among_neighbours() => None,
        (Sizes::Equal(own), Sizes::Equal(others)) => {
            (own != others).then(|| format!("has {} bytes, and {by} has {}", own.0, others.0))
        }
        (Sizes::ByRank(_), Sizes::ByRank(_)) if of_root => None,
        (Sizes::ByRank(own), Sizes::ByRank(others)) => {
            let mut all = (0..).zip(own.iter().zip(&**others));
            let (place, (own, others)) = all.find(|(_, (own, others))| own != others)?;
            Some(format!("has {own} bytes for rank {place}, and {by} has {others}"))
        }
        (Sizes::Own { .. }, Sizes::Own { .. }) => None,
        _ => Some(format!("has sizes of another sort than {by}")),
    }
}

fn how_differs(one: &NewComm, other: &NewComm, by: Place) -> Option<String> {
    let topology = |how: &NewComm| matches!(how, NewComm::Graph(_) | NewComm::OutsideGraph);
    let splits = |how: &NewComm| matches!(how, NewComm::Split { .. } | NewComm::SplitHost { .. });
    match (one, other) {
        (NewComm::Cart(own), NewComm::Cart(others)) if own != others => Some(
            format!("asks for a grid of {:?}, and {by} for one of {:?}", own.sizes, others.sizes)
                + if own.sizes == others.sizes { ", with other periods" } else { "" },
        ),
        (NewComm::CartSub(own), NewComm::CartSub(others)) if own != others => {
            Some(format!("keeps other dimensions of the grid than {by}"))
        }
        _ if topology(one) && topology(other) || splits(one) && splits(other) => None,
        _ => (discriminant(one) != discriminant(other)).then(|| format!("does not go with {by}")),
    }
}

/// First call whose transfers do not agree with those of another member, once all have arrived.
pub fn in_all(entries: &[Option<Entry>]) -> Option<(Place, String)> {
    let What::Collective(call) = &entries.first()?.as_ref()?.what else { return None };
    let (kind, root) = (call.kind, call.root as usize);
    match call.sizes {
        Sizes::ByRank(_) if matches!(kind, Kind::Gatherv | Kind::Scatterv) => {
            (0..entries.len()).filter(|place| *place != root).find_map(|place| {
                let (entry, at_root) = (entries.get(place)?.as_ref()?, entries.get(root)?.as_ref()?);
                let (own, roots) = (block(entry, place)?, block(at_root, place)?);
                let cause = || format!("has {own} bytes, for which {} has {roots}", at_root.by);
                (own != roots).then(|| (entry.by, cause()))
            })
        }
        _ if kind.among_neighbours() || matches!(call.sizes, Sizes::Own { .. }) => {
            (0..entries.len()).find_map(|place| received_differs(entries, place))
        }
        _ => None,
    }
}

/// Size in the list of a collective with sizes by rank, for the member at `place`.
fn block(entry: &Entry, place: usize) -> Option<u64> {
    let What::Collective(call) = &entry.what else { return None };
    let Sizes::ByRank(list) = &call.sizes else { return None };
    list.get(place).copied()
}

/// Place of a member at `place` whose receive sizes differ from what the senders send, and the difference.
fn received_differs(entries: &[Option<Entry>], place: usize) -> Option<(Place, String)> {
    let own = entries.get(place)?.as_ref()?;
    let differs = |sender: &Entry, sent: &str, wanted: &str| {
        (own.by, format!("takes {wanted} bytes of {}, which sends {sent}", sender.by))
    };
    let Some(around) = &own.around else {
        return (0..entries.len()).filter(|source| *source != place).find_map(|source| {
            let sender = entries[source].as_ref()?;
            let (sent, wanted) = (size(sender, place, Side::Sent)?, size(own, source, Side::Received)?);
            (sent != wanted).then(|| differs(sender, &sent.to_string(), &wanted.to_string()))
        });
    };
    around.sources.iter().map(|source| *source as usize).find_map(|source| {
        let sender = entries.get(source)?.as_ref()?;
        let (sent, wanted) = (between(sender, place, Side::Sent)?, between(own, source, Side::Received)?);
        (sent != wanted).then(|| differs(sender, &sum(&sent), &sum(&wanted)))
    })
}

fn sum(sizes: &[u64]) -> String {
    let sizes: Vec<_> = sizes.iter().map(u64::to_string).collect();
    if sizes.is_empty() { "0".to_string() } else { sizes.join(" + ") }
}

#[derive(Clone, Copy)]
enum Side {
    Sent,
    Received,
}

/// Size of a block in a member's list.
fn size(entry: &Entry, at: usize, side: Side) -> Option<u64> {
    let What::Collective(call) = &entry.what else { return None };
    match (&call.sizes, side) {
        (Sizes::Equal(bytes), _) => Some(bytes.0),
        (Sizes::Own { send: list, .. }, Side::Sent) | (Sizes::Own { receive: list, .. }, Side::Received) => {
            list.get(at).copied()
        }
        (Sizes::ByRank(_), _) => None,
    }
}

/// Sizes of all transfers between a member and its neighbour at `other`, in ascending order; a neighbour may be one
/// on several sides.
fn between(entry: &Entry, other: usize, side: Side) -> Option<Vec<u64>> {
    let around = entry.around.as_ref()?;
    let peers = if let Side::Sent = side { &around.destinations } else { &around.sources };
    let at = (0..peers.len()).filter(|at| peers[*at] as usize == other);
    let mut sizes: Vec<u64> = at.map(|at| size(entry, at, side)).collect::<Option<_>>()?;
    sizes.sort_unstable();
    Some(sizes)
}
