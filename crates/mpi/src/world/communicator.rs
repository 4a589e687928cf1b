//! Communicators: who is in them, and with which topology.

use std::sync::Arc;

use crate::group::Group;
use crate::operation::{CartGrid, CommId, Neighbours};

/// A communicator: an ordered group with contexts of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Communicator {
    /// Its number, the same on all members.
    pub id: CommId,
    members: Members,
    /// Its topology.
    pub topology: Topology,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Members {
    /// The rank that asks (MPI_COMM_SELF).
    Oneself,
    Group(Group),
}

/// The virtual topology of a communicator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Topology {
    /// None.
    Plain,
    /// A grid.
    Cart(Arc<CartGrid>),
    /// The neighbours of each member.
    Graph(Vec<Arc<Neighbours>>),
}

impl Communicator {
    pub(crate) fn new(id: CommId, group: Group, topology: Topology) -> Communicator {
        Communicator { id, members: Members::Group(group), topology }
    }

    /// How many members.
    pub fn size(&self) -> u32 {
        match &self.members {
            Members::Oneself => 1,
            Members::Group(group) => group.size(),
        }
    }

    /// The world rank of member `rank`, asked by `me`.
    pub fn member(&self, me: u32, rank: u32) -> Option<u32> {
        match &self.members {
            Members::Oneself => (rank == 0).then_some(me),
            Members::Group(group) => group.member(rank),
        }
    }

    /// The place of world rank `world`, asked by `me`.
    pub fn rank_of(&self, me: u32, world: u32) -> Option<u32> {
        match &self.members {
            Members::Oneself => (world == me).then_some(0),
            Members::Group(group) => group.rank_of(world),
        }
    }

    /// Its group, asked by `me`.
    pub fn group(&self, me: u32) -> Group {
        match &self.members {
            Members::Oneself => Group::new(vec![me]).expect("one member"),
            Members::Group(group) => group.clone(),
        }
    }

    /// The neighbours of member `rank` in its topology, if it has one.
    pub fn neighbours(&self, rank: u32) -> Option<Arc<Neighbours>> {
        match &self.topology {
            Topology::Plain => None,
            Topology::Cart(grid) => Some(Arc::new(grid.neighbours(rank))),
            Topology::Graph(neighbours) => Some(neighbours[rank as usize].clone()),
        }
    }

    /// What people call it.
    pub fn name(&self) -> String {
        name(self.id)
    }
}

/// What people call a communicator.
pub(crate) fn name(id: CommId) -> String {
    match id {
        CommId::WORLD => "world".into(),
        CommId::SELF => "self".into(),
        CommId::NULL => "null".into(),
        CommId(number) => format!("comm {number}"),
    }
}

/// All communicators of a run, by number.
#[derive(Debug)]
pub struct Communicators(Vec<Entry>);

#[derive(Debug)]
struct Entry {
    /// `None` once all members have freed it.
    communicator: Option<Arc<Communicator>>,
    freed: u32,
}

/// Numbers travel in 28 bits.
const LIMIT: usize = 1 << 28;

impl Communicators {
    pub(crate) fn new(ranks: u32) -> Communicators {
        let oneself = Communicator { id: CommId::SELF, members: Members::Oneself, topology: Topology::Plain };
        let mut all = Communicators(Vec::new());
        all.add(Group::world(ranks), Topology::Plain);
        all.0.push(Entry { communicator: Some(Arc::new(oneself)), freed: 0 });
        all
    }

    /// The communicator `id`, if there is one.
    pub fn get(&self, id: CommId) -> Option<&Arc<Communicator>> {
        self.0.get(id.0 as usize)?.communicator.as_ref()
    }

    pub(crate) fn add(&mut self, group: Group, topology: Topology) -> Arc<Communicator> {
        assert!(self.0.len() < LIMIT, "a run makes at most {LIMIT} communicators");
        let id = CommId(self.0.len() as u32);
        let communicator = Arc::new(Communicator::new(id, group, topology));
        self.0.push(Entry { communicator: Some(communicator.clone()), freed: 0 });
        communicator
    }

    /// One more member has freed it; with the last it is gone. Numbers are not used again.
    pub(crate) fn free(&mut self, id: CommId) {
        let entry = &mut self.0[id.0 as usize];
        entry.freed += 1;
        if entry.communicator.as_ref().is_some_and(|communicator| communicator.size() == entry.freed) {
            entry.communicator = None;
        }
    }
}
