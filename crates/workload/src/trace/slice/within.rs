//! Calls of a rank among those that are kept: with the numbers that ranks have there.
//!
//! | what | what becomes of it |
//! | --- | --- |
//! | a rank of a communicator | its place among the members that are kept |
//! | sizes by rank | those of the members that are kept |
//! | a grid or a graph whose members are not all kept | a split into the same members, without the topology |
//! | an access to another rank's memory | a call that takes its recorded time |
//!
//! New communicators have the members of the recorded ones that are kept, in the same order.

use std::collections::BTreeMap;
use std::sync::Arc;

use mpi::collective::Kind;

use super::crossing;
use crate::trace::hct::shape::{
    Amount, Begun, Collected, Did, From, How, Made, Matched, Received, Sent, Shape,
};

/// A communicator of the rank.
#[derive(Clone)]
struct Comm {
    /// New rank of each old one; `None` if all members are kept.
    places: Option<Arc<[Option<u32>]>>,
    /// True if it keeps its topology, if it had one.
    whole: bool,
}

/// Translates a rank's calls to the numbers of the kept ranks.
pub struct Within {
    /// New rank of each old one.
    ranks: Arc<[Option<u32>]>,
    /// Communicators by number.
    comms: Vec<Option<Comm>>,
    /// Communicators of non-blocking receives, by request.
    of_requests: BTreeMap<u32, u32>,
}

impl Within {
    /// Begins with the world; `ranks` has the new number of each kept rank.
    pub fn new(ranks: Arc<[Option<u32>]>) -> Within {
        let all: Vec<u32> = (0..ranks.len() as u32).collect();
        let itself = Comm { places: None, whole: true };
        let mut within = Within { ranks, comms: Vec::new(), of_requests: BTreeMap::new() };
        let whole = within.ranks.iter().all(Option::is_some);
        within.comms = vec![Some(Comm { places: within.places(&all), whole }), Some(itself)];
        within
    }

    /// New rank of each of these members; `None` if all are kept.
    fn places(&self, members: &[u32]) -> Option<Arc<[Option<u32>]>> {
        let mut count = 0;
        let place = |member: &u32| {
            let kept = self.ranks.get(*member as usize).copied().flatten();
            kept.map(|_| {
                count += 1;
                count - 1
            })
        };
        let places: Arc<[Option<u32>]> = members.iter().map(place).collect();
        places.contains(&None).then_some(places)
    }

    /// New number of a rank of a communicator, if it is kept.
    fn peer(&self, comm: u32, rank: u32) -> Option<u32> {
        match self.comms.get(comm as usize)?.as_ref()?.places.as_ref() {
            None => Some(rank),
            Some(places) => places.get(rank as usize).copied().flatten(),
        }
    }

    /// Entries of a list by rank that belong to kept members.
    fn listed(&self, comm: u32, list: &[u64]) -> Vec<u64> {
        let kept = |place: &usize| self.peer(comm, *place as u32).is_some();
        (0..list.len()).filter(kept).map(|place| list[place]).collect()
    }

    /// New numbers of the kept ranks in a list.
    fn all(&self, comm: u32, ranks: &[u32]) -> Vec<u32> {
        ranks.iter().filter_map(|rank| self.peer(comm, *rank)).collect()
    }

    fn world(&self, ranks: &[u32]) -> Vec<u32> {
        ranks.iter().filter_map(|rank| self.ranks.get(*rank as usize).copied().flatten()).collect()
    }

    /// Translates a call; `made` is the communicator that it has created. The error says why a call cannot be kept.
    pub fn shape(&mut self, shape: Arc<Shape>, made: Option<&crossing::Made>) -> Result<Arc<Shape>, String> {
        let did = match &shape.did {
            Did::Send(send) => Did::Send(self.sent(send)),
            Did::Receive(receive) => Did::Receive(self.received(receive)),
            Did::Probe(receive) => Did::Probe(self.received(receive)),
            Did::SendReceive { send, receive } => {
                Did::SendReceive { send: self.sent(send), receive: self.received(receive) }
            }
            Did::Complete { requests, matched } => {
                let matched = matched.iter().filter_map(|(request, came)| {
                    Some((*request, self.matched(*self.of_requests.get(request)?, *came)?))
                });
                Did::Complete { requests: requests.clone(), matched: matched.collect() }
            }
            Did::Access { .. } => Did::Overhead,
            Did::Collective(collected) => Did::Collective(self.collected(collected)?),
            Did::NewComm(new) => Did::NewComm(self.made(new, made)),
            _ => return Ok(shape),
        };
        Ok(Arc::new(Shape { call: shape.call, did }))
    }

    fn sent(&self, send: &Sent) -> Sent {
        Sent { to: send.to.and_then(|to| self.peer(send.comm, to)), ..send.clone() }
    }

    fn received(&mut self, receive: &Received) -> Received {
        if let Some(Begun::Active(request) | Begun::Persistent(request)) = receive.request {
            self.of_requests.insert(request, receive.comm);
        }
        let from = match receive.from {
            From::Rank(rank) => self.peer(receive.comm, rank).map_or(From::Null, From::Rank),
            other => other,
        };
        let matched = receive.matched.and_then(|came| self.matched(receive.comm, came));
        Received { from, matched, ..receive.clone() }
    }

    fn matched(&self, comm: u32, came: Matched) -> Option<Matched> {
        Some(Matched { source: self.peer(comm, came.source)?, ..came })
    }

    fn collected(&self, collected: &Collected) -> Result<Collected, String> {
        let of = self.comms.get(collected.comm as usize).and_then(Option::as_ref);
        let around = Kind::named(&collected.kind)?.among_neighbours();
        if around && of.is_none_or(|of| !of.whole) {
            return Err("is among the neighbours of a grid or graph that is not kept".into());
        }
        let list = |list: &[u64]| self.listed(collected.comm, list);
        let sizes = match &collected.sizes {
            Amount::ByRank(sizes) => Amount::ByRank(list(sizes)),
            // Lists over neighbours stay, since all neighbours are kept.
            Amount::Own { send, receive } if !around => {
                Amount::Own { send: list(send), receive: list(receive) }
            }
            sizes => sizes.clone(),
        };
        let root = self.peer(collected.comm, collected.root).unwrap_or(0);
        Ok(Collected { root, sizes, ..collected.clone() })
    }

    fn made(&mut self, new: &Made, made: Option<&crossing::Made>) -> Made {
        let members: &[u32] =
            made.and_then(|made| made.members.as_ref()).map_or(&new.members[..], |members| &members.ranks);
        let parent = self.comms.get(new.parent as usize).and_then(Option::as_ref);
        let parent_whole = parent.is_some_and(|parent| parent.whole);
        let whole = match &new.how {
            How::Dup => parent_whole,
            How::CartSub { .. } => parent_whole && made.is_none_or(|made| made.by_kept),
            _ => made.is_none_or(|made| made.of_kept),
        };
        let how = match &new.how {
            How::Create { members } => How::Create { members: self.all(new.parent, members) },
            How::CreateGroup { members, tag } => {
                How::CreateGroup { members: self.all(new.parent, members), tag: *tag }
            }
            How::Inter { local, remote, tag } => {
                How::Inter { local: self.world(local), remote: self.world(remote), tag: *tag }
            }
            How::Cart { .. } | How::CartSub { .. } | How::Graph { .. } | How::OutsideGraph if !whole => {
                let own = new.comm.and(members.first());
                How::Split { colour: own.map(|first| i64::from(*first)), key: 0 }
            }
            how => how.clone(),
        };
        let (places, listed) = (self.places(members), self.world(&new.members));
        if let Some(number) = new.comm {
            let number = number as usize;
            self.comms.resize(self.comms.len().max(number + 1), None);
            self.comms[number] = Some(Comm { places, whole });
        }
        Made { how, members: listed, ..new.clone() }
    }
}
