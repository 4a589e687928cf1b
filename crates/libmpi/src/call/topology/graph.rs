//! Graphs of which every rank knows all.

use std::ffi::c_int;
use std::rc::Rc;
use std::sync::Arc;

use mpi::operation::{Neighbours, NewComm};

use super::{Kind, Topology, fill, mapped, refused, with_topology};
use crate::abi::error::{Answer, Class};
use crate::abi::handle::Comm;
use crate::abi::pointers::{InList, OutList, OutPtr};
use crate::call::communicator::{self, Communicator};
use crate::call::creation;
use crate::live::process::Process;

/// The communicator of a handle, which has a graph.
fn find(me: &Process, comm: Comm) -> Answer<Rc<Communicator>> {
    let (found, topology) = with_topology(me, comm)?;
    match &topology.kind {
        Kind::Graph => Ok(found),
        _ => refused(comm, Class::TOPOLOGY, "a communicator without a graph topology"),
    }
}

/// The neighbours of a member.
fn neighbours(found: &Communicator, rank: u32) -> Arc<Neighbours> {
    let group = found.group.as_ref().expect("predefined communicators have no topology");
    group.neighbours(rank).expect("the simulator knows the topology")
}

/// Ends of the edges of each node in the list of edges, and that as the program gives them for ranks of `comm`.
fn graph(
    me: &Process,
    comm: Comm,
    nodes: c_int,
    index: InList<c_int>,
    edges: InList<c_int>,
) -> Answer<(Rc<Communicator>, Vec<c_int>, Vec<c_int>)> {
    let found = communicator::find_intra(me, comm)?;
    let Some(count) = u32::try_from(nodes).ok().filter(|nodes| *nodes <= found.size) else {
        let reason = format!("0 to {} nodes, as many as there are ranks, not {nodes}", found.size);
        return refused(comm, Class::ARG, reason);
    };
    let index = index.values(count as usize).collect::<Vec<_>>();
    if index.first().is_some_and(|first| *first < 0) || index.windows(2).any(|pair| pair[0] > pair[1]) {
        return refused(comm, Class::ARG, format!("an index that does not fall, not {index:?}"));
    }
    let last = index.last().copied().unwrap_or(0);
    let edges = edges.values(last as usize).collect::<Vec<_>>();
    if let Some(edge) = edges.iter().find(|edge| !(0..nodes).contains(*edge)) {
        return refused(comm, Class::ARG, format!("edges to nodes below {nodes}, not to {edge}"));
    }
    Ok((found, index, edges))
}

/// MPI_Graph_create
pub fn graph_create(
    me: &Process,
    comm: Comm,
    nodes: c_int,
    index: InList<c_int>,
    edges: InList<c_int>,
    _reorder: c_int,
    new: OutPtr<Comm>,
) -> Answer {
    new.set(Comm::NULL);
    let (found, index, edges) = graph(me, comm, nodes, index, edges)?;
    if index.is_empty() {
        return Ok(());
    }
    let rank = found.rank as usize;
    let how = match index.get(rank) {
        Some(end) => {
            let begin = if rank == 0 { 0 } else { index[rank - 1] };
            let around: Vec<u32> =
                edges[begin as usize..*end as usize].iter().map(|edge| *edge as u32).collect();
            NewComm::Graph(Arc::new(Neighbours { sources: around.clone(), destinations: around }))
        }
        None => NewComm::OutsideGraph,
    };
    let made = creation::make(me, comm, how)?;
    if made != Comm::NULL {
        *communicator::find(me, made)?.topology.borrow_mut() = Some(Topology::new(Kind::Graph));
    }
    new.set(made);
    Ok(())
}

/// MPI_Graph_map
pub fn graph_map(
    me: &Process,
    comm: Comm,
    nodes: c_int,
    index: InList<c_int>,
    edges: InList<c_int>,
    rank: OutPtr<c_int>,
) -> Answer {
    let (found, index, _) = graph(me, comm, nodes, index, edges)?;
    rank.set(mapped(&found, index.len() as u32));
    Ok(())
}

/// MPI_Graphdims_get
pub fn graphdims_get(me: &Process, comm: Comm, nodes: OutPtr<c_int>, edges: OutPtr<c_int>) -> Answer {
    let found = find(me, comm)?;
    let count: usize = (0..found.size).map(|rank| neighbours(&found, rank).destinations.len()).sum();
    nodes.set(found.size as c_int);
    edges.set(count as c_int);
    Ok(())
}

/// MPI_Graph_get
pub fn graph_get(
    me: &Process,
    comm: Comm,
    most_index: c_int,
    most_edges: c_int,
    index: OutList<c_int>,
    edges: OutList<c_int>,
) -> Answer {
    let found = find(me, comm)?;
    let all: Vec<_> = (0..found.size).map(|rank| neighbours(&found, rank)).collect();
    let ends = all.iter().scan(0, |end, around| {
        *end += around.destinations.len() as c_int;
        Some(*end)
    });
    let heads = all.iter().flat_map(|around| around.destinations.iter().map(|rank| *rank as c_int));
    fill(index, most_index, ends);
    fill(edges, most_edges, heads);
    Ok(())
}

/// The neighbours of a rank that the program names.
fn of_rank(me: &Process, comm: Comm, rank: c_int) -> Answer<Arc<Neighbours>> {
    let found = find(me, comm)?;
    let rank = found.check_rank(rank, Class::RANK).map_err(|error| error.of(comm))?;
    Ok(neighbours(&found, rank))
}

/// MPI_Graph_neighbors_count
pub fn graph_neighbors_count(me: &Process, comm: Comm, rank: c_int, count: OutPtr<c_int>) -> Answer {
    let around = of_rank(me, comm, rank)?;
    count.set(around.destinations.len() as c_int);
    Ok(())
}

/// MPI_Graph_neighbors
pub fn graph_neighbors(me: &Process, comm: Comm, rank: c_int, most: c_int, ranks: OutList<c_int>) -> Answer {
    let around = of_rank(me, comm, rank)?;
    fill(ranks, most, around.destinations.iter().map(|rank| *rank as c_int));
    Ok(())
}
