//! The ranks of one world: all of a run, or those of one domain.

use std::ops::{Index, IndexMut};

use engine::Time;

use crate::operation::Rank;
use crate::world::process::Process;

/// Ranks by number. Those of a domain lie close together, whatever their numbers.
#[derive(Debug)]
pub(super) struct Processes {
    all: Vec<Process>,
    /// The rank of each; empty where all ranks of the run are here.
    ranks: Vec<u32>,
    /// The place of each rank of the run in `all`; empty where all are here.
    places: Vec<u32>,
}

const ELSEWHERE: u32 = u32::MAX;

impl Processes {
    /// Those of `ranks` ranks that `owns` says are here; what comes is `seen` from that time on.
    pub fn new(ranks: u32, seen: Time, owns: impl Fn(Rank) -> bool) -> Processes {
        let here: Vec<u32> = (0..ranks).filter(|rank| owns(Rank(*rank))).collect();
        let all = here.iter().map(|_| Process { seen, ..Process::default() }).collect();
        if here.len() as u32 == ranks {
            return Processes { all, ranks: Vec::new(), places: Vec::new() };
        }
        let mut places = vec![ELSEWHERE; ranks as usize];
        here.iter().zip(0..).for_each(|(rank, place)| places[*rank as usize] = place);
        Processes { all, ranks: here, places }
    }

    /// Number of ranks here.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// The number of the one at `place`.
    pub fn rank(&self, place: usize) -> Rank {
        Rank(if self.ranks.is_empty() { place as u32 } else { self.ranks[place] })
    }

    /// `rank`, if it is here.
    pub fn get(&self, rank: Rank) -> Option<&Process> {
        self.all.get(self.place(rank))
    }

    /// Those here with their numbers, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (Rank, &Process)> {
        self.all.iter().enumerate().map(|(place, process)| (self.rank(place), process))
    }

    fn place(&self, rank: Rank) -> usize {
        let rank = rank.0 as usize;
        if self.places.is_empty() { rank } else { self.places[rank] as usize }
    }
}

impl Index<Rank> for Processes {
    type Output = Process;
    fn index(&self, rank: Rank) -> &Process {
        &self.all[self.place(rank)]
    }
}

impl IndexMut<Rank> for Processes {
    fn index_mut(&mut self, rank: Rank) -> &mut Process {
        let place = self.place(rank);
        &mut self.all[place]
    }
}
