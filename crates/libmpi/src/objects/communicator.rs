//! Communicators: their members, and what a rank counts on them.

use std::cell::{Cell, OnceCell, RefCell};
use std::ffi::c_int;
use std::rc::Rc;
use std::sync::Arc;

use mpi::communicator::Communicator as Made;
use mpi::group::Group;
use mpi::operation::{CommId, Rank, Via};

use super::topology::Topology;
use crate::abi::error::{Answer, Class, Error};
use crate::data::meeting::Key;

/// A communicator that the simulator has made.
pub type Created = Option<Arc<Made>>;

/// A communicator as one of its members has it.
#[derive(Debug)]
pub struct Communicator {
    /// The simulator's number.
    pub id: CommId,
    /// This rank's number in its group.
    pub rank: u32,
    /// Number of members of its group.
    pub size: u32,
    /// Number of ranks that a message can name: the members, or those of an inter-communicator's other group.
    pub peers: u32,
    /// This rank's place among all who take part in a collective, those of both groups.
    pub place: u32,
    /// Number of all members, of both groups where there are two.
    pub everybody: u32,
    /// The world rank of the first of them.
    pub(crate) first: u32,
    /// Members; `None` for the predefined ones.
    pub group: Created,
    /// Its virtual topology.
    pub topology: RefCell<Option<Rc<Topology>>>,
    /// Way between hosts of what this rank sends on it, but for collectives.
    pub via: Cell<Via>,
    /// Other processes that have members, once they were looked for.
    pub(crate) others: OnceCell<Box<[u32]>>,
    /// Collectives that this rank has called on it.
    pub(crate) collectives: Cell<u64>,
    /// Persistent collectives that this rank has made on it.
    pub(crate) series: Cell<u64>,
}

impl Communicator {
    /// MPI_COMM_WORLD.
    pub fn world(rank: u32, size: u32) -> Communicator {
        Communicator::predefined(CommId::WORLD, rank, size, 0)
    }

    /// MPI_COMM_SELF of `world_rank`.
    pub fn oneself(world_rank: u32) -> Communicator {
        Communicator::predefined(CommId::SELF, 0, 1, world_rank)
    }

    /// One that is being made: nobody is in it yet.
    pub fn nobody(world_rank: u32) -> Communicator {
        Communicator::predefined(CommId::NULL, 0, 1, world_rank)
    }

    pub(crate) fn predefined(id: CommId, rank: u32, size: u32, first: u32) -> Communicator {
        Communicator {
            id,
            rank,
            size,
            peers: size,
            place: rank,
            everybody: size,
            first,
            group: None,
            topology: RefCell::default(),
            via: Cell::new(Via::PLATFORM),
            others: OnceCell::new(),
            collectives: Cell::new(0),
            series: Cell::new(0),
        }
    }

    /// Communicator that the simulator has made, for the member `me`; perhaps as a copy.
    pub fn of(made: &Arc<Made>, me: u32, copied: Option<&Communicator>) -> Communicator {
        let member = "a member of what it has made";
        Communicator {
            id: made.id,
            rank: made.rank_of(Rank(me), Rank(me)).expect(member),
            size: made.size(),
            peers: made.peers(),
            place: made.place_of(Rank(me), Rank(me)).expect(member),
            everybody: made.everybody(),
            first: made.at_place(Rank(me), 0).expect(member).0,
            group: Some(made.clone()),
            topology: RefCell::new(Topology::of(made, copied)),
            via: Cell::new(Via::PLATFORM),
            others: OnceCell::new(),
            collectives: Cell::new(0),
            series: Cell::new(0),
        }
    }

    /// The world rank of its first member.
    pub fn first(&self) -> u32 {
        self.first
    }

    /// The next collective on it.
    pub fn next_collective(&self) -> Key {
        let number = self.collectives.get();
        self.collectives.set(number + 1);
        Key { number, ..self.key() }
    }

    /// The numbers of the starts of the next persistent collective on it: those from here on.
    pub fn next_series(&self) -> u64 {
        let series = self.series.get();
        self.series.set(series + 1);
        1 << 63 | series << 32
    }

    /// Properties that all its collectives have in common.
    pub fn key(&self) -> Key {
        Key { comm: self.id, first: self.first, number: 0 }
    }

    /// True if it has two groups.
    pub fn is_inter(&self) -> bool {
        self.everybody > self.size
    }

    /// Its group, the local one.
    pub fn group(&self, me: u32) -> Group {
        match &self.group {
            Some(made) => made.group(Rank(me)),
            None if self.id == CommId::SELF => Group::new(vec![me]).expect("one member"),
            None => Group::world(self.size),
        }
    }

    /// The other group of an inter-communicator.
    pub fn remote(&self) -> Option<Group> {
        self.group.as_ref()?.remote().cloned()
    }

    /// The world rank whom a message means by `rank`.
    pub fn peer(&self, me: u32, rank: u32) -> Option<u32> {
        match &self.group {
            Some(made) => made.peer(Rank(me), rank).map(|peer| peer.0),
            None if self.id == CommId::SELF => Some(me),
            None => Some(rank),
        }
    }

    /// Refuses what is not the number of a member, or of one of the other group.
    pub fn check_rank(&self, rank: c_int, class: Class) -> Answer<u32> {
        match u32::try_from(rank) {
            Ok(rank) if rank < self.peers => Ok(rank),
            _ => {
                let most = self.peers - 1;
                Err(Error::new(class, format!("a rank from 0 to {most}, not {rank}")))
            }
        }
    }
}
