//! Checks of a call's arguments: communicator, root, peer, tag and grid must exist and fit.
//!
//! A replay ends with an error at a call that fails them. The rules are those of the simulation (`mpi::world`).

use mpi::Rank;
use mpi::collective::{Collective, Sizes};
use mpi::group::Group;
use mpi::operation::{CartGrid, CommId, NewComm, Tag};

use super::Order;
use super::communicators::Comm;
use super::meeting::What;

/// Largest tag.
const LARGEST_TAG: Tag = i32::MAX as Tag;

/// Error in the peer or the tag of a message that `rank` sends or receives.
pub fn of_message(
    order: &Order,
    rank: Rank,
    comm: CommId,
    peer: Option<u32>,
    tag: Option<Tag>,
) -> Option<String> {
    if order.rank_of(rank, comm).is_none() {
        return Some(no_member(comm));
    }
    match (peer.filter(|peer| order.peer(rank, comm, *peer).is_none()), tag) {
        (Some(peer), _) => Some(format!("names rank {peer} of {}", sized(comm, order.peers(rank, comm)))),
        (None, Some(tag)) if tag > LARGEST_TAG => {
            Some(format!("has tag {tag}, above the largest, {LARGEST_TAG}"))
        }
        _ => None,
    }
}

/// Error in the arguments of a collective of `comm` that `rank` calls.
pub fn of_meeting(order: &Order, rank: Rank, comm: CommId, what: &What) -> Option<String> {
    let alone;
    let of = if comm == CommId::SELF {
        alone = Comm::of(vec![rank.0]);
        Some(&alone)
    } else {
        order.comms.get(comm.0 as usize)
    };
    let Some((of, place)) = of.and_then(|of| Some((of, of.place_of(rank.0)?))) else {
        return Some(no_member(comm));
    };
    match what {
        What::Finalize => None,
        What::Collective(call) => of_collective(call, of, place),
        What::Make(NewComm::Inter(groups, _)) => {
            let mut all = groups.local.members().chain(groups.remote.members());
            let unknown = all.find(|member| *member as usize >= order.ranks.len());
            let both = groups.local.intersection(&groups.remote).member(0);
            match (unknown, both) {
                (Some(unknown), _) => {
                    Some(format!("names rank {unknown} of a run of {} ranks", order.ranks.len()))
                }
                (None, Some(both)) => Some(format!("has rank {both} in both groups")),
                (None, None) if groups.local.rank_of(rank.0).is_none() => Some("is in neither group".into()),
                (None, None) => (groups.remote.size() == 0).then(|| "has an empty group".into()),
            }
        }
        What::Make(how) => of_new(how, comm, of, place as u32),
    }
}

fn no_member(comm: CommId) -> String {
    format!("names communicator {}, of which its rank is no member", comm.0)
}

fn sized(comm: CommId, ranks: usize) -> String {
    format!("communicator {}, which has {ranks} rank{}", comm.0, if ranks == 1 { "" } else { "s" })
}

fn of_collective(call: &Collective, of: &Comm, place: usize) -> Option<String> {
    let (members, root) = (of.members().len(), call.root);
    let of_comm = || sized(call.comm, members);
    if root as usize >= members {
        return Some(format!("has root {root} in {}", of_comm()));
    }
    let around = call.kind.among_neighbours().then(|| of.around(place));
    let (to, from) = match &around {
        None => (members, members),
        Some(None) => {
            return Some(format!("is among neighbours, but communicator {} has no topology", call.comm.0));
        }
        Some(Some(around)) => (around.destinations.len(), around.sources.len()),
    };
    let wrong = match &call.sizes {
        Sizes::Equal(_) => None,
        Sizes::ByRank(list) => Some(list.len()).filter(|given| around.is_some() || *given != members),
        Sizes::Own { send, .. } if send.len() != to => Some(send.len()),
        Sizes::Own { receive, .. } => Some(receive.len()).filter(|given| *given != from),
    };
    let for_whom = || match &around {
        None => of_comm(),
        Some(_) => format!("a rank with {to} neighbours to send to and {from} to receive from"),
    };
    wrong.map(|given| format!("has a list of {given} sizes for {}", for_whom()))
}

/// Error in the arguments of a new communicator that is made out of `comm`.
fn of_new(how: &NewComm, comm: CommId, of: &Comm, place: u32) -> Option<String> {
    let members = of.members().len();
    let unknown = |list: &[u32]| {
        let unknown = list.iter().find(|member| **member as usize >= members)?;
        Some(format!("names rank {unknown} of {}", sized(comm, members)))
    };
    match how {
        NewComm::Merge { .. } if !of.is_inter() => Some("merges a single group".into()),
        NewComm::Merge { .. } | NewComm::Dup => None,
        _ if of.is_inter() => Some("makes a part of an inter-communicator, which is not followed".into()),
        NewComm::Create(list) | NewComm::CreateGroup(list, _) => {
            let twice = || Group::new(list.to_vec()).err();
            let absent = matches!(how, NewComm::CreateGroup(..)) && !list.contains(&place);
            unknown(list)
                .or_else(|| twice().map(|twice| format!("names rank {twice} twice")))
                .or_else(|| absent.then(|| "is not in the group that it makes".into()))
        }
        NewComm::Cart(grid) => of_grid(grid, comm, members),
        NewComm::CartSub(keep) => match of.grid() {
            None => Some("takes a part of a grid, but this communicator is none".into()),
            Some(grid) if grid.sizes.len() != keep.len() => {
                Some(format!("chooses among {} dimensions of a grid of {}", keep.len(), grid.sizes.len()))
            }
            Some(_) => None,
        },
        NewComm::Graph(around) => unknown(&around.sources).or_else(|| unknown(&around.destinations)),
        NewComm::Split { .. } | NewComm::SplitHost { .. } | NewComm::OutsideGraph | NewComm::Inter(..) => {
            None
        }
    }
}

fn of_grid(grid: &CartGrid, comm: CommId, members: usize) -> Option<String> {
    let (sizes, periods) = (grid.sizes.len(), grid.periodic.len());
    if sizes != periods {
        return Some(format!("asks for a grid with {sizes} sizes and {periods} periods"));
    }
    if grid.size().is_some_and(|size| size as usize <= members) {
        return None;
    }
    let sizes: Vec<_> = grid.sizes.iter().map(u32::to_string).collect();
    Some(format!("asks for a grid of {} ranks in {}", sizes.join(" x "), sized(comm, members)))
}
