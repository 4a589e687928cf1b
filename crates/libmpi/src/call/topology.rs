//! Virtual topologies: grids and graphs.
//!
//! The simulator knows who is whose neighbour; here are the questions that programs ask, and weights. Ranks are
//! not reordered: where a rank is on the machine, the placement of the run says.
//!
//! Assumption: MPI_Dist_graph_create takes the time of a reduce_scatter_block of two integers of every rank, by which
//! libraries count the edges, beside that of a new communicator; the messages with the edges themselves take none.

mod cart;
mod distributed;
mod graph;

pub use cart::*;
pub use distributed::*;
pub use graph::*;

use std::cell::OnceCell;
use std::ffi::c_int;
use std::rc::Rc;
use std::sync::Arc;

use mpi::cartesian::NOBODY;
use mpi::communicator::{self as simulated, Topology as Simulated};
use mpi::operation::{CartGrid, Neighbours};

use super::communicator::{self, Communicator};
use crate::abi::UNDEFINED;
use crate::abi::error::{Answer, Class, Error};
use crate::abi::handle::Comm;
use crate::live::process::Process;

/// MPI_CART, MPI_GRAPH, MPI_DIST_GRAPH.
const STATUS: [c_int; 3] = [211, 212, 213];

/// The topology of a communicator.
#[derive(Debug)]
pub struct Topology {
    kind: Kind,
    /// What neighbourhood collectives ask, found when the first does.
    around: OnceCell<Around>,
}

#[derive(Debug)]
enum Kind {
    Cart(Arc<CartGrid>),
    Graph,
    Distributed(Option<Weights>),
}

/// Of the edges that come to this rank and that leave it.
#[derive(Debug, Clone)]
struct Weights {
    sources: Vec<c_int>,
    destinations: Vec<c_int>,
}

/// This rank's neighbours.
#[derive(Debug, Clone)]
pub struct Around {
    /// Who they are; [`NOBODY`] beyond a border.
    pub neighbours: Arc<Neighbours>,
    /// Which of the blocks of each source is for this rank, and for this edge.
    pub blocks: Rc<[usize]>,
}

impl Topology {
    fn new(kind: Kind) -> Rc<Topology> {
        Rc::new(Topology { kind, around: OnceCell::new() })
    }

    /// Of a communicator that has just been made: that of the one it is a copy of, or its grid.
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

    fn find_around(&self, comm: &Communicator) -> Around {
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

/// The communicator of a handle with its topology.
pub(super) fn with_topology(me: &Process, comm: Comm) -> Answer<(Rc<Communicator>, Rc<Topology>)> {
    let found = communicator::find(me, comm)?;
    let topology = found.topology.borrow().clone();
    match topology {
        Some(topology) => Ok((found, topology)),
        None => Err(Error::new(Class::TOPOLOGY, "a communicator without a topology").of(comm)),
    }
}

fn refused<T>(comm: Comm, class: Class, reason: impl Into<String>) -> Answer<T> {
    Err(Error::new(class, reason).of(comm))
}

/// A list of `int` of the program.
///
/// # Safety
/// The list has so many.
unsafe fn list(at: *const c_int, count: usize) -> Vec<c_int> {
    // SAFETY: the caller says so.
    (0..count).map(|index| unsafe { *at.add(index) }).collect()
}

/// Writes as many of these as the program has room for.
///
/// # Safety
/// There is room for `most`.
unsafe fn fill(at: *mut c_int, most: c_int, values: impl Iterator<Item = c_int>) {
    for (index, value) in values.take(usize::try_from(most).unwrap_or(0)).enumerate() {
        // SAFETY: the caller says so.
        unsafe { *at.add(index) = value };
    }
}

/// The rank that a map gives to this one: the same, in the first `count`.
fn mapped(found: &Communicator, count: u32) -> c_int {
    if found.rank < count { found.rank as c_int } else { UNDEFINED }
}

/// MPI_Topo_test
pub unsafe fn topo_test(me: &Process, comm: Comm, status: *mut c_int) -> Answer {
    let found = communicator::find(me, comm)?;
    let topology = found.topology.borrow().clone();
    let told = match topology.as_deref().map(|topology| &topology.kind) {
        Some(Kind::Cart(_)) => STATUS[0],
        Some(Kind::Graph) => STATUS[1],
        Some(Kind::Distributed(_)) => STATUS[2],
        None => UNDEFINED,
    };
    // SAFETY: as the contract of `call` says.
    unsafe { *status = told };
    Ok(())
}

/// A rank as a program sees it.
fn seen(rank: u32) -> c_int {
    if rank == NOBODY { crate::abi::PROC_NULL } else { rank as c_int }
}
