//! Communicators of one rank: those that it is a member of, and the numbers of its collectives on them.

use std::sync::Arc;

use crate::communicator::Communicator;
use crate::operation::{CommId, Neighbours};
use crate::world::small_map::SmallMap;

/// Communicators of one rank.
#[derive(Debug, Default)]
pub(crate) struct Memberships {
    /// The number of the next collective on the world communicator.
    world_sequence: u32,
    /// No communicator that is made from now on has a number below this one beyond the first.
    made: u32,
    /// Those other than the world.
    others: SmallMap<Membership>,
}

/// State of a rank in a communicator other than the world.
#[derive(Debug, Default, Clone)]
struct Membership {
    /// The number of the next collective.
    sequence: u32,
    /// Persistent collectives made on it.
    series: u32,
    freed: bool,
    /// The communicator, until it is freed and nothing is under way on it.
    communicator: Option<Arc<Communicator>>,
    /// Its neighbours in the topology, once asked for.
    neighbours: Option<Arc<Neighbours>>,
}

/// The number of the first communicator that a program makes.
const FIRST_MADE: u32 = 2;

/// Numbers of persistent collectives begin here.
const PERSISTENT: u32 = 1 << 31;

impl Memberships {
    /// The communicator of this number, also while what is under way on it outlives it.
    #[inline]
    pub fn get(&self, comm: CommId) -> Option<&Arc<Communicator>> {
        self.others.get(comm.0)?.communicator.as_ref()
    }

    /// The communicator of this number, if it is not freed.
    #[inline]
    pub fn get_valid(&self, comm: CommId) -> Option<&Arc<Communicator>> {
        let membership = self.others.get(comm.0).filter(|membership| !membership.freed);
        membership?.communicator.as_ref()
    }

    /// The rank is a member of `communicator` now.
    pub fn join(&mut self, communicator: Arc<Communicator>) {
        let comm = communicator.id;
        self.others.entry(comm.0).communicator = Some(communicator);
    }

    /// Drops a communicator that was there only for its members to agree.
    pub fn leave(&mut self, comm: CommId) {
        self.others.entry(comm.0).communicator = None;
    }

    /// Frees a communicator; while it is `busy`, it stays known.
    pub fn free(&mut self, comm: CommId, busy: bool) {
        let membership = self.others.entry(comm.0);
        membership.freed = true;
        if !busy {
            membership.communicator = None;
        }
    }

    /// Neighbours of the rank, at place `me` of the communicator called `comm`, in its topology.
    pub fn neighbours(
        &mut self,
        comm: CommId,
        me: u32,
        communicator: &Communicator,
    ) -> Option<Arc<Neighbours>> {
        let membership = self.others.entry(comm.0);
        if membership.neighbours.is_none() {
            membership.neighbours = communicator.neighbours(me);
        }
        membership.neighbours.clone()
    }

    /// From now on the numbers of new communicators begin at `number`.
    pub fn made_below(&mut self, number: u32) {
        self.made = self.made.max(number - FIRST_MADE);
    }

    /// The number of the next communicator that the rank is a member of.
    pub fn next_made(&self) -> u32 {
        FIRST_MADE + self.made
    }

    /// The number of the next collective on `comm`; the world's has a place of its own.
    pub fn peek_collective(&self, comm: CommId) -> u32 {
        if comm == CommId::WORLD {
            return self.world_sequence;
        }
        self.others.get(comm.0).map_or(0, |membership| membership.sequence)
    }

    /// Takes that number.
    pub fn next_collective(&mut self, comm: CommId) -> u32 {
        let sequence = self.peek_collective(comm);
        let next = sequence.wrapping_add(1);
        if comm == CommId::WORLD {
            self.world_sequence = next;
        } else {
            self.others.entry(comm.0).sequence = next;
        }
        sequence
    }

    /// Takes the number of all starts of the next persistent collective on `comm`. Members may start several in any
    /// order, so they have numbers of their own, by the order in which they were made (MPI 5.0, 6.13).
    pub fn next_series(&mut self, comm: CommId) -> u32 {
        let series = &mut self.others.entry(comm.0).series;
        *series += 1;
        PERSISTENT | (*series - 1)
    }
}
