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

use std::ffi::c_int;
use std::rc::Rc;

use mpi::cartesian::NOBODY;

use super::communicator::{self, Communicator};
use crate::abi::UNDEFINED;
use crate::abi::error::{Answer, Class, Error};
use crate::abi::handle::Comm;
use crate::abi::pointers::{OutList, OutPtr};
use crate::live::process::Process;
pub use crate::objects::topology::{Around, Topology};
use crate::objects::topology::{Kind, Weights};

/// MPI_CART, MPI_GRAPH, MPI_DIST_GRAPH.
const STATUS: [c_int; 3] = [211, 212, 213];

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

/// Writes as many of these as the program has room for.
fn fill(at: OutList<c_int>, most: c_int, values: impl Iterator<Item = c_int>) {
    for (index, value) in values.take(usize::try_from(most).unwrap_or(0)).enumerate() {
        at.at(index).set(value);
    }
}

/// The rank that a map gives to this one: the same, in the first `count`.
fn mapped(found: &Communicator, count: u32) -> c_int {
    if found.rank < count { found.rank as c_int } else { UNDEFINED }
}

/// MPI_Topo_test
pub fn topo_test(me: &Process, comm: Comm, status: OutPtr<c_int>) -> Answer {
    let found = communicator::find(me, comm)?;
    let topology = found.topology.borrow().clone();
    let told = match topology.as_deref().map(|topology| &topology.kind) {
        Some(Kind::Cart(_)) => STATUS[0],
        Some(Kind::Graph) => STATUS[1],
        Some(Kind::Distributed(_)) => STATUS[2],
        None => UNDEFINED,
    };
    status.set(told);
    Ok(())
}

/// A rank as a program sees it.
fn seen(rank: u32) -> c_int {
    if rank == NOBODY { crate::abi::PROC_NULL } else { rank as c_int }
}
