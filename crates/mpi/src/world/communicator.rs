//! Communicators: who is in them, and with which topology.

use std::sync::Arc;

use crate::group::Group;
use crate::operation::{CartGrid, CommId, Neighbours};

/// A communicator: an ordered group with contexts of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Communicator {
    /// Its number, the same on all members, and of one communicator only on each of them.
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

/// Numbers travel in 28 bits; the upper half is for groups that are about to become communicators.
const LIMIT: u32 = 1 << 28;
pub(crate) const NASCENT: u32 = LIMIT / 2;

impl Communicator {
    pub(crate) fn new(id: CommId, group: Group, topology: Topology) -> Communicator {
        assert!(id.0 < LIMIT, "a rank makes at most {} communicators", LIMIT / 2);
        Communicator { id, members: Members::Group(group), topology }
    }

    /// MPI_COMM_SELF, the same for all ranks.
    pub(crate) fn oneself() -> Communicator {
        Communicator { id: CommId::SELF, members: Members::Oneself, topology: Topology::Plain }
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
