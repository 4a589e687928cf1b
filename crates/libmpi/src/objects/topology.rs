//! Virtual topologies of communicators: grids and graphs.

use std::cell::OnceCell;
use std::ffi::c_int;
use std::rc::Rc;
use std::sync::Arc;

use mpi::communicator::{self as simulated, Topology as Simulated};
use mpi::operation::{CartGrid, Neighbours};

use super::communicator::Communicator;

/// The topology of a communicator.
#[derive(Debug)]
pub struct Topology {
    pub(crate) kind: Kind,
    /// Answers for neighbourhood collectives, found when the first asks.
    pub(crate) around: OnceCell<Around>,
}

#[derive(Debug)]
pub(crate) enum Kind {
    Cart(Arc<CartGrid>),
    Graph,
    Distributed(Option<Weights>),
}

/// Weights of the edges that come to this rank and that leave it.
#[derive(Debug, Clone)]
pub(crate) struct Weights {
    pub(crate) sources: Vec<c_int>,
    pub(crate) destinations: Vec<c_int>,
}

/// This rank's neighbours.
#[derive(Debug, Clone)]
pub struct Around {
    /// The neighbours; [`NOBODY`] beyond a border.
    pub neighbours: Arc<Neighbours>,
    /// Number of the block of each source that is for this rank, and for this edge.
    pub blocks: Rc<[usize]>,
}

impl Topology {
    pub(crate) fn new(kind: Kind) -> Rc<Topology> {
        Rc::new(Topology { kind, around: OnceCell::new() })
    }

    /// Topology of a communicator that has just been made: that of the one it is a copy of, or its grid.
    pub fn of(made: &simulated::Communicator, copied: Option<&Communicator>) -> Option<Rc<Topology>> {
        match (copied, &made.topology) {
            (Some(original), _) => original.topology.borrow().clone(),
            (None, Simulated::Cart(grid)) => Some(Topology::new(Kind::Cart(grid.clone()))),
            (None, _) => None,
        }
    }

    /// The neighbours of the member of `comm` that asks.
    pub fn around(&self, comm: &Communicator) -> Around {
        self.around.get_or_init(|| self.find_around(comm)).clone()
    }

    pub(crate) fn find_around(&self, comm: &Communicator) -> Around {
        let group = comm.group.as_ref().expect("predefined communicators have no topology");
        let of = |rank| group.neighbours(rank).expect("the simulator knows the topology");
        let neighbours = of(comm.rank);
        let sources = neighbours.sources.iter().enumerate();
        let blocks = sources.map(|(edge, source)| match &self.kind {
            // What is sent downwards comes from above (MPI 5.0, 8.6).
            Kind::Cart(_) => edge ^ 1,
            // The edges between two ranks are in the same order on both.
            _ => {
                let before = neighbours.sources[..edge].iter().filter(|other| *other == source).count();
                let theirs = of(*source);
                let to_me = theirs.destinations.iter().enumerate().filter(|(_, rank)| **rank == comm.rank);
                to_me.map(|(block, _)| block).nth(before).unwrap_or(usize::MAX)
            }
        });
        Around { blocks: blocks.collect(), neighbours: neighbours.clone() }
    }
}
