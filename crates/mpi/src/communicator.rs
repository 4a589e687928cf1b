//! Communicators: who is in them, and with which topology.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::cartesian::{CartGrid, Neighbours};
use crate::group::Group;
use crate::rank::Rank;

/// Number of a communicator. It is the same on all of its members, and communicators without a common
/// member may share one; `WORLD` and `SELF` always exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CommId(pub u32);

impl CommId {
    /// All ranks of the job.
    pub const WORLD: CommId = CommId(0);
    /// The rank alone.
    pub const SELF: CommId = CommId(1);
    /// Not a communicator: what a split with an undefined colour gives.
    pub const NULL: CommId = CommId(u32::MAX);

    /// Set in the number of a communicator's second context.
    const SIDE: u32 = 1 << 25;

    /// Its second context, with the same members: messages in it and in the first do not match each other.
    /// For messages that are the MPI library's own, such as those of partitioned communication.
    pub const fn side(self) -> CommId {
        CommId(self.0 | CommId::SIDE)
    }

    /// The communicator that a context belongs to.
    pub(crate) const fn communicator(self) -> CommId {
        if self.0 < 4 * CommId::SIDE { CommId(self.0 & !CommId::SIDE) } else { self }
    }
}

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
    Inter(Box<Sides>),
}

/// Both groups of an inter-communicator, as one of them sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Sides {
    local: Group,
    remote: Group,
    /// True if the local group comes first where both stand in one row.
    first: bool,
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

/// Numbers travel in 28 bits; the upper half is for groups that are about to become communicators, and half of
/// the rest for second contexts.
const LIMIT: u32 = 1 << 28;
pub(crate) const NASCENT: u32 = LIMIT / 2;
/// From here to there are those that are made while their members do something else.
pub(crate) const LATER: u32 = LIMIT / 4;

impl Communicator {
    pub(crate) fn new(id: CommId, group: Group, topology: Topology) -> Communicator {
        let first_context = id == id.communicator();
        assert!(id.0 < LIMIT && first_context, "a rank makes at most {} communicators", LATER / 2);
        Communicator { id, members: Members::Group(group), topology }
    }

    /// MPI_COMM_SELF, the same for all ranks.
    pub(crate) fn oneself() -> Communicator {
        Communicator { id: CommId::SELF, members: Members::Oneself, topology: Topology::Plain }
    }

    /// An inter-communicator as the group `local` sees it; neither group is empty.
    pub(crate) fn inter(id: CommId, local: Group, remote: Group) -> Communicator {
        let first = local.member(0) < remote.member(0);
        let members = Members::Inter(Box::new(Sides { local, remote, first }));
        Communicator { members, ..Communicator::new(id, Group::world(0), Topology::Plain) }
    }

    /// Number of members; of an inter-communicator, those of the local group.
    pub fn size(&self) -> u32 {
        match &self.members {
            Members::Oneself => 1,
            Members::Group(group) => group.size(),
            Members::Inter(sides) => sides.local.size(),
        }
    }

    /// Member `number` of the local group, asked by `me`.
    pub fn member(&self, me: Rank, number: u32) -> Option<Rank> {
        match &self.members {
            Members::Oneself => (number == 0).then_some(me),
            Members::Group(group) => group.member(number).map(Rank),
            Members::Inter(sides) => sides.local.member(number).map(Rank),
        }
    }

    /// The number of `rank` in the local group, asked by `me`.
    pub fn rank_of(&self, me: Rank, rank: Rank) -> Option<u32> {
        match &self.members {
            Members::Oneself => (rank == me).then_some(0),
            Members::Group(group) => group.rank_of(rank.0),
            Members::Inter(sides) => sides.local.rank_of(rank.0),
        }
    }

    /// Its local group, asked by `me`.
    pub fn group(&self, me: Rank) -> Group {
        match &self.members {
            Members::Oneself => Group::new(vec![me.0]).expect("one member"),
            Members::Group(group) => group.clone(),
            Members::Inter(sides) => sides.local.clone(),
        }
    }

    /// The other group of an inter-communicator.
    pub fn remote(&self) -> Option<&Group> {
        match &self.members {
            Members::Inter(sides) => Some(&sides.remote),
            _ => None,
        }
    }

    /// Number of ranks that a message can name: the members, or the other group.
    pub fn peers(&self) -> u32 {
        self.remote().map_or_else(|| self.size(), Group::size)
    }

    /// The rank that a message of `me` means by `number`.
    pub fn peer(&self, me: Rank, number: u32) -> Option<Rank> {
        self.remote().map_or_else(|| self.member(me, number), |remote| remote.member(number).map(Rank))
    }

    /// The number by which a message of `me` names `rank`.
    pub fn peer_rank_of(&self, me: Rank, rank: Rank) -> Option<u32> {
        self.remote().map_or_else(|| self.rank_of(me, rank), |remote| remote.rank_of(rank.0))
    }

    /// Number of ranks that take part in a collective: both groups.
    pub fn everybody(&self) -> u32 {
        self.size() + self.remote().map_or(0, Group::size)
    }

    /// Number of them in the group that comes first.
    pub fn first_half(&self) -> u32 {
        match &self.members {
            Members::Inter(sides) if !sides.first => sides.remote.size(),
            _ => self.size(),
        }
    }

    /// The same, where there are two groups.
    pub fn halves(&self) -> Option<u32> {
        self.remote().map(|_| self.first_half())
    }

    /// The rank at `place` among [`Communicator::everybody`], asked by `me`.
    pub fn at_place(&self, me: Rank, place: u32) -> Option<Rank> {
        let Members::Inter(sides) = &self.members else { return self.member(me, place) };
        let (first, second) =
            if sides.first { (&sides.local, &sides.remote) } else { (&sides.remote, &sides.local) };
        first.member(place).or_else(|| second.member(place - first.size())).map(Rank)
    }

    /// The place of `rank` among [`Communicator::everybody`], asked by `me`.
    pub fn place_of(&self, me: Rank, rank: Rank) -> Option<u32> {
        let Members::Inter(sides) = &self.members else { return self.rank_of(me, rank) };
        let (before_local, before_remote) =
            if sides.first { (0, sides.local.size()) } else { (sides.remote.size(), 0) };
        let local = sides.local.rank_of(rank.0).map(|number| before_local + number);
        local.or_else(|| sides.remote.rank_of(rank.0).map(|number| before_remote + number))
    }

    /// The neighbours of member `rank` in its topology, if it has one.
    pub fn neighbours(&self, rank: u32) -> Option<Arc<Neighbours>> {
        match &self.topology {
            Topology::Plain => None,
            Topology::Cart(grid) => Some(Arc::new(grid.neighbours(rank))),
            Topology::Graph(neighbours) => Some(neighbours[rank as usize].clone()),
        }
    }

    /// Name for people.
    pub fn name(&self) -> String {
        name(self.id)
    }
}

/// Name of a communicator for people.
pub(crate) fn name(id: CommId) -> String {
    match id.communicator() {
        CommId::WORLD => "world".into(),
        CommId::SELF => "self".into(),
        CommId::NULL => "null".into(),
        CommId(number) => format!("comm {number}"),
    }
}
