//! Creation of communicators from the contributions of their members.
//!
//! When all members have called, the new groups are computed. Their numbers follow the largest that any
//! member of the parent has used, as in MPICH, so that they do not depend on what other ranks do. The
//! ranks of a run may be in several worlds, its domains: what a rank puts down goes as a message to every
//! other world that has members of the parent, at once. It is there in time: whoever completes the
//! collective of the call has heard of all members, and a message takes longer than the window in which
//! these messages are delivered.

use std::sync::Arc;

use engine::Bytes;
use engine::hash::{Digest, Map};
use slab::Slab;

use crate::collective::{Collective, Kind, Sizes};
use crate::communicator::{Communicator, LATER, Topology};
use crate::group::Group;
use crate::operation::{CommId, Neighbours, NewComm, Rank};
use crate::world::create::drawn;
use crate::world::{DomainMessage, Setup, World};

/// Communicators that are being made.
#[derive(Debug, Default)]
pub(super) struct Creations {
    pending: Slab<Creation>,
    index: Map<Key, usize>,
    /// The collective of the last call: members of the same creation share it.
    shared: Option<Arc<Collective>>,
    /// Contributions that other worlds have to learn of.
    messages: Vec<DomainMessage>,
}

/// One creation in the whole run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    parent: CommId,
    /// The parent's first member: parents without a common member may share a number.
    first: Rank,
    /// The number of the collective on the parent.
    sequence: u32,
}

/// One call of all members of a communicator.
#[derive(Debug)]
struct Creation {
    key: Key,
    asked: Option<Asked>,
    deposits: Vec<Deposit>,
    /// The new communicator of each member of the parent, once all have called.
    made: Vec<Option<Arc<Communicator>>>,
    /// The number that the next communicator of each member has at least.
    next: u32,
    /// Members in this world that have not taken theirs yet.
    waiting: u32,
}

/// Request of the first caller in this world.
#[derive(Debug)]
struct Asked {
    parent: Arc<Communicator>,
    new: NewComm,
    /// True if members go on meanwhile, and may make others.
    later: bool,
    /// The other worlds with members.
    others: Vec<u32>,
}

/// Colour and key of a member.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wish {
    /// The group; `None` is MPI_UNDEFINED.
    pub colour: Option<i64>,
    pub key: i64,
}

#[derive(Debug, Clone)]
struct Deposit {
    world: Rank,
    /// Its place in the parent.
    rank: u32,
    wish: Wish,
    /// Hash of the arguments that must be the same on all members.
    agreement: u32,
    /// The member's next free number.
    next: u32,
    neighbours: Option<Arc<Neighbours>>,
}

impl Creations {
    /// The parent of a creation that a member in this world has asked for.
    pub fn parent(&self, parent: CommId, first: Rank, sequence: u32) -> Option<Arc<Communicator>> {
        let number = self.index.get(&Key { parent, first, sequence })?;
        self.pending[*number].asked.as_ref().map(|asked| asked.parent.clone())
    }

    /// Gives a member its parent, its new communicator, and the least number of its next one.
    pub fn take(&mut self, number: usize, rank: Rank) -> (CommId, Option<Arc<Communicator>>, u32) {
        let creation = &mut self.pending[number];
        let parent = creation.asked.as_ref().expect("a member has asked").parent.clone();
        let me = parent.place_of(rank, rank).expect("a member has a place");
        assert!(!creation.made.is_empty(), "a member returned before all had called");
        let made = creation.made[me as usize].take();
        let next = creation.next;
        creation.waiting -= 1;
        if creation.waiting == 0 {
            let key = creation.key;
            self.index.remove(&key);
            self.pending.remove(number);
        }
        (parent.id, made, next)
    }

    /// Takes in the contribution of a member in this world; the last one makes the communicators. Gives the creation's
    /// number.
    fn deposit(&mut self, key: Key, deposit: Deposit, asked: impl FnOnce() -> Asked, setup: &Setup) -> usize {
        let number = self.entry(key);
        let creation = &mut self.pending[number];
        creation.waiting += 1;
        let others = &creation.asked.get_or_insert_with(asked).others;
        if !others.is_empty() {
            let words: Arc<[u64]> = deposit.write(key).into();
            let message = |to: &u32| DomainMessage { to: *to, words: words.clone() };
            self.messages.extend(others.iter().map(message));
        }
        creation.deposits.push(deposit);
        self.make_if_complete(number, setup);
        number
    }

    /// Takes in what a member in another world has put down.
    pub fn deliver(&mut self, words: &[u64], setup: &Setup) {
        let (key, deposit) = Deposit::read(words);
        let number = self.entry(key);
        self.pending[number].deposits.push(deposit);
        self.make_if_complete(number, setup);
    }

    /// Contributions that other worlds have to learn of, since the last time.
    pub fn take_messages(&mut self) -> Vec<DomainMessage> {
        std::mem::take(&mut self.messages)
    }

    /// The collective of a creation, shared by its members where they call one after the other.
    pub fn agreement_collective(&mut self, comm: CommId, kind: Kind, bytes: Bytes) -> Arc<Collective> {
        match &self.shared {
            Some(call) if call.comm == comm && call.kind == kind => call.clone(),
            _ => {
                let call = Arc::new(Collective {
                    kind,
                    comm,
                    root: 0,
                    sizes: Sizes::Equal(bytes),
                    element: 4,
                    commutative: true,
                    algorithm: None,
                });
                self.shared = Some(call.clone());
                call
            }
        }
    }

    fn entry(&mut self, key: Key) -> usize {
        *self.index.entry(key).or_insert_with(|| {
            self.pending.insert(Creation {
                key,
                asked: None,
                deposits: Vec::new(),
                made: Vec::new(),
                next: 0,
                waiting: 0,
            })
        })
    }

    /// Makes the communicators of a creation for which all members have called: one for each colour, in
    /// the order of colours. Members that ask for different things get nothing; messages of their
    /// collective will say so.
    fn make_if_complete(&mut self, number: usize, setup: &Setup) {
        let creation = &mut self.pending[number];
        let Some(Asked { parent, new, later, .. }) = &creation.asked else { return };
        if creation.deposits.len() < parent.everybody() as usize {
            return;
        }
        let mut deposits = std::mem::take(&mut creation.deposits);
        creation.made = vec![None; deposits.len()];
        let base = deposits.iter().map(|deposit| deposit.next).max().expect("a parent has a member");
        creation.next = base;
        if deposits.iter().any(|deposit| deposit.agreement != deposits[0].agreement) {
            return;
        }
        // Of an inter-communicator come inter-communicators, but where both groups become one.
        let inter = parent.remote().is_some() && !matches!(new, NewComm::Merge { .. });
        let half = parent.first_half();
        let second = |deposit: &Deposit| inter && deposit.rank >= half;
        let place =
            |deposit: &Deposit| (deposit.wish.colour, second(deposit), deposit.wish.key, deposit.rank);
        deposits.sort_unstable_by_key(place);
        let parts = deposits.chunk_by(|a, b| a.wish.colour == b.wish.colour);
        for (part, number) in parts.filter(|part| part[0].wish.colour.is_some()).zip(0..) {
            let id = if *later {
                drawn_id(creation.key, number)
            } else {
                creation.next += 1;
                CommId(creation.next - 1)
            };
            if !part.iter().any(|deposit| setup.owns(deposit.world)) {
                continue;
            }
            let mut give = |part: &[Deposit], made: Communicator| {
                let made = Arc::new(made);
                part.iter().for_each(|deposit| creation.made[deposit.rank as usize] = Some(made.clone()));
            };
            if inter {
                let (one, other) = part.split_at(part.partition_point(|deposit| !second(deposit)));
                if !one.is_empty() && !other.is_empty() {
                    give(one, Communicator::inter(id, group(one), group(other)));
                    give(other, Communicator::inter(id, group(other), group(one)));
                }
            } else {
                give(part, Communicator::new(id, group(part), topology(parent, new, part)));
            }
        }
    }
}

impl World {
    /// Puts down what `rank` wants; the last one makes the communicators. Gives the creation's number.
    pub(super) fn deposit(
        &mut self,
        rank: Rank,
        parent: &Arc<Communicator>,
        new: &NewComm,
        later: bool,
        agreement: u32,
    ) -> usize {
        let me = parent.rank_of(rank, rank).expect("a member has a rank");
        let place = parent.place_of(rank, rank).expect("a member has a place");
        let process = &self.processes[rank];
        let first = parent.at_place(rank, 0).expect("a parent has a member");
        let key = Key { parent: parent.id, first, sequence: process.memberships.peek_collective(parent.id) };
        let neighbours = if let NewComm::Graph(around) = new { Some(around.clone()) } else { None };
        let (wish, next) = (self.wish(rank, me, parent, new), process.memberships.next_made());
        let deposit = Deposit { world: rank, rank: place, wish, agreement, next, neighbours };
        let others = || self.setup.others_of(rank, parent);
        let asked = || Asked { parent: parent.clone(), new: new.clone(), later, others: others() };
        self.creations.deposit(key, deposit, asked, &self.setup)
    }
}

/// Those who have put these down, in order.
fn group(part: &[Deposit]) -> Group {
    Group::new(part.iter().map(|deposit| deposit.world.0).collect()).expect("each member deposits once")
}

/// The number of a communicator whose members make others meanwhile: drawn from what names its creation, for
/// the next number of each is not known yet.
fn drawn_id(key: Key, number: u32) -> CommId {
    let mut name = Digest::default();
    name.fold(3);
    name.fold(u64::from(key.parent.0) << 32 | u64::from(key.first.0));
    name.fold(u64::from(key.sequence) << 32 | u64::from(number));
    CommId(LATER | drawn(&name, LATER / 2))
}

/// The topology of the communicator of these members.
fn topology(parent: &Communicator, new: &NewComm, part: &[Deposit]) -> Topology {
    match (new, &parent.topology) {
        (NewComm::Dup, topology) => topology.clone(),
        (NewComm::Cart(grid), _) => Topology::Cart(grid.clone()),
        (NewComm::CartSub(remain), Topology::Cart(grid)) => {
            Topology::Cart(Arc::new(grid.sub(part[0].rank, remain).0))
        }
        (NewComm::Graph(_) | NewComm::OutsideGraph, _) => {
            let around = part.iter().map(|deposit| deposit.neighbours.clone());
            Topology::Graph(around.map(|around| around.expect("all gave neighbours")).collect())
        }
        _ => Topology::Plain,
    }
}

impl Deposit {
    /// The words of a message between worlds.
    fn write(&self, key: Key) -> Vec<u64> {
        let mut words = vec![
            u64::from(key.parent.0) << 32 | u64::from(key.first.0),
            u64::from(key.sequence) << 32 | u64::from(self.world.0),
            u64::from(self.rank) << 32 | u64::from(self.next),
            u64::from(self.agreement) << 2
                | u64::from(self.wish.colour.is_some()) << 1
                | u64::from(self.neighbours.is_some()),
            self.wish.colour.unwrap_or(0) as u64,
            self.wish.key as u64,
        ];
        if let Some(around) = &self.neighbours {
            words.push(around.sources.len() as u64);
            words.extend(around.sources.iter().chain(&around.destinations).map(|rank| u64::from(*rank)));
        }
        words
    }

    /// Reads the words of [`Deposit::write`].
    fn read(words: &[u64]) -> (Key, Deposit) {
        let [first, second, third, flags, colour, key, lists @ ..] = words else {
            panic!("a message between worlds has at least six words, not {}", words.len());
        };
        let neighbours = lists.split_first().map(|(sources, lists)| {
            let (sources, destinations) = lists.split_at(*sources as usize);
            let ranks = |list: &[u64]| list.iter().map(|rank| *rank as u32).collect();
            Arc::new(Neighbours { sources: ranks(sources), destinations: ranks(destinations) })
        });
        let deposit = Deposit {
            world: Rank(*second as u32),
            rank: (third >> 32) as u32,
            wish: Wish { colour: (flags & 2 != 0).then_some(*colour as i64), key: *key as i64 },
            agreement: (flags >> 2) as u32,
            next: *third as u32,
            neighbours,
        };
        let key = Key {
            parent: CommId((first >> 32) as u32),
            first: Rank(*first as u32),
            sequence: (second >> 32) as u32,
        };
        (key, deposit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let around = Neighbours { sources: vec![3, u32::MAX], destinations: vec![] };
        for neighbours in [None, Some(Arc::new(around))] {
            for colour in [None, Some(-7), Some(i64::MAX)] {
                let wish = Wish { colour, key: i64::MIN };
                let deposit = Deposit {
                    world: Rank(1),
                    rank: u32::MAX - 2,
                    wish,
                    agreement: 0xFF_FFFE,
                    next: u32::MAX - 4,
                    neighbours: neighbours.clone(),
                };
                let key = Key { parent: CommId(u32::MAX - 5), first: Rank(6), sequence: u32::MAX - 7 };
                let (read_key, read) = Deposit::read(&deposit.write(key));
                assert_eq!((read_key, format!("{read:?}")), (key, format!("{deposit:?}")));
            }
        }
    }
}
