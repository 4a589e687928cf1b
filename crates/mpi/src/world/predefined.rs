//! Communicators that exist from the start: the world of each job, and each rank by itself.

use std::sync::Arc;

use crate::communicator::{Communicator, Topology};
use crate::group::Group;
use crate::operation::{CommId, Rank};

/// The communicators that no rank has made.
#[derive(Debug)]
pub(super) struct Predefined {
    /// The first rank of each job, ascending from 0.
    jobs: Arc<[u32]>,
    /// The world of each job.
    worlds: Vec<Arc<Communicator>>,
    oneself: Arc<Communicator>,
}

impl Predefined {
    /// Those of `ranks` ranks in jobs that begin at these ranks.
    pub fn new(ranks: u32, jobs: Arc<[u32]>) -> Predefined {
        let ascending = jobs.windows(2).all(|pair| pair[0] < pair[1]);
        assert!(jobs.first() == Some(&0) && ascending, "jobs have ranks, and rank 0 is in the first");
        let ends = jobs.iter().skip(1).copied().chain([ranks]);
        let groups = jobs.iter().zip(ends).map(|(first, end)| Group::consecutive(*first, end - first));
        let world = |group| Arc::new(Communicator::new(CommId::WORLD, group, Topology::Plain));
        Predefined { worlds: groups.map(world).collect(), jobs, oneself: Arc::new(Communicator::oneself()) }
    }

    /// The communicator that `rank` calls `comm`, if that is predefined.
    #[inline]
    pub fn get(&self, rank: Rank, comm: CommId) -> Option<&Arc<Communicator>> {
        match comm {
            CommId::WORLD => Some(self.world_of(rank)),
            CommId::SELF => Some(&self.oneself),
            _ => None,
        }
    }

    #[inline]
    fn world_of(&self, rank: Rank) -> &Arc<Communicator> {
        match &self.worlds[..] {
            [only] => only,
            worlds => &worlds[self.jobs.partition_point(|first| *first <= rank.0) - 1],
        }
    }
}
