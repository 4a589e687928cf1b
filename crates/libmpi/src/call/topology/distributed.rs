//! Graphs of which every rank knows a part.

use std::ffi::c_int;
use std::rc::Rc;
use std::sync::Arc;

use mpi::collective::Kind as Collective;
use mpi::operation::{Neighbours, NewComm};

use super::{Kind, Topology, Weights, fill, refused, with_topology};
use crate::abi::error::{Answer, Class};
use crate::abi::handle::{Comm, Info};
use crate::abi::pointers::{InList, OutList, OutPtr};
use crate::call::collective;
use crate::call::communicator::{self, Communicator};
use crate::call::creation;
use crate::call::datatype::truth;
use crate::data::meeting::{Given, Open};
use crate::live::process::Process;

/// MPI_UNWEIGHTED, as an address.
const UNWEIGHTED: usize = 10;

/// Counts the edges: a word for those that come, and one for those that leave.
const COUNTS_BYTES: u64 = 8;

/// One edge: from, to, weight.
type Edge = [c_int; 3];

/// A list of ranks of the program.
fn ranks(found: &Communicator, comm: Comm, at: InList<c_int>, count: c_int) -> Answer<Vec<u32>> {
    let Ok(count) = usize::try_from(count) else {
        return refused(comm, Class::ARG, format!("a number of neighbours of 0 or more, not {count}"));
    };
    let list = at.values(count).collect::<Vec<_>>();
    let check = |rank: &c_int| found.check_rank(*rank, Class::RANK).map_err(|error| error.of(comm));
    list.iter().map(check).collect()
}

/// A list of weights of the program, unless there are none.
fn weights(comm: Comm, at: InList<c_int>, count: usize) -> Answer<Option<Vec<c_int>>> {
    if at.address() == UNWEIGHTED {
        return Ok(None);
    }
    if at.is_null() && count > 0 {
        return refused(comm, Class::ARG, "weights, or MPI_UNWEIGHTED, not a null pointer");
    }
    let list = at.values(count).collect::<Vec<_>>();
    match list.iter().find(|weight| **weight < 0) {
        Some(weight) => refused(comm, Class::ARG, format!("weights of 0 or more, not {weight}")),
        None => Ok(Some(list)),
    }
}

/// Makes the communicator with these neighbours of the calling rank.
fn make(me: &Process, comm: Comm, around: Neighbours, weights: Option<Weights>) -> Answer<Comm> {
    let made = creation::make(me, comm, NewComm::Graph(Arc::new(around)))?;
    let topology = Topology::new(Kind::Distributed(weights));
    *communicator::find(me, made)?.topology.borrow_mut() = Some(topology);
    Ok(made)
}

/// MPI_Dist_graph_create_adjacent
pub fn dist_graph_create_adjacent(
    me: &Process,
    comm: Comm,
    in_degree: c_int,
    sources: InList<c_int>,
    source_weights: InList<c_int>,
    out_degree: c_int,
    destinations: InList<c_int>,
    destination_weights: InList<c_int>,
    _hints: Info,
    _reorder: c_int,
    new: OutPtr<Comm>,
) -> Answer {
    let found = communicator::find_intra(me, comm)?;
    let sources = ranks(&found, comm, sources, in_degree)?;
    let destinations = ranks(&found, comm, destinations, out_degree)?;
    let comes = weights(comm, source_weights, sources.len())?;
    let leaves = weights(comm, destination_weights, destinations.len())?;
    let weights = match (comes, leaves) {
        (Some(sources), Some(destinations)) => Some(Weights { sources, destinations }),
        (None, None) => None,
        _ => return refused(comm, Class::ARG, "MPI_UNWEIGHTED for both directions, or for none"),
    };
    new.set(make(me, comm, Neighbours { sources, destinations }, weights)?);
    Ok(())
}

/// The edges that a rank names.
fn edges(
    found: &Communicator,
    comm: Comm,
    (count, sources): (c_int, InList<c_int>),
    degrees: InList<c_int>,
    destinations: InList<c_int>,
    weighing: InList<c_int>,
) -> Answer<(Vec<Edge>, bool)> {
    let sources = ranks(found, comm, sources, count)?;
    let degrees = degrees.values(sources.len()).collect::<Vec<_>>();
    if let Some(degree) = degrees.iter().find(|degree| **degree < 0) {
        return refused(comm, Class::ARG, format!("degrees of 0 or more, not {degree}"));
    }
    let total: c_int = degrees.iter().sum();
    let destinations = ranks(found, comm, destinations, total)?;
    let weights = weights(comm, weighing, destinations.len())?;
    let from = sources
        .iter()
        .zip(&degrees)
        .flat_map(|(source, degree)| std::iter::repeat_n(*source as c_int, *degree as usize));
    let to = from.zip(&destinations).enumerate();
    let weight = |index: usize| weights.as_ref().map_or(0, |list| list[index]);
    let edges = to.map(|(index, (from, to))| [from, *to as c_int, weight(index)]).collect();
    Ok((edges, weights.is_some()))
}

/// All edges, ordered by where they come from and by where they go; of equal ones, the order in which ranks
/// named them.
struct Index {
    by_source: Vec<Edge>,
    by_destination: Vec<Edge>,
}

impl Index {
    fn new(open: &Open, members: usize) -> Index {
        let word = |bytes: &[u8]| c_int::from_le_bytes(bytes.try_into().expect("four bytes"));
        let all: Vec<Edge> = (0..members)
            .flat_map(|member| open.block(member, 0).chunks_exact(12))
            .map(|edge| [word(&edge[..4]), word(&edge[4..8]), word(&edge[8..])])
            .collect();
        let sorted = |end: usize| {
            let mut list = all.clone();
            list.sort_by_key(|edge| edge[end]);
            list
        };
        Index { by_source: sorted(0), by_destination: sorted(1) }
    }

    /// The edges that have `rank` at this end.
    fn of(list: &[Edge], end: usize, rank: c_int) -> &[Edge] {
        let begin = list.partition_point(|edge| edge[end] < rank);
        &list[begin..begin + list[begin..].partition_point(|edge| edge[end] == rank)]
    }
}

/// MPI_Dist_graph_create
pub fn dist_graph_create(
    me: &Process,
    comm: Comm,
    count: c_int,
    sources: InList<c_int>,
    degrees: InList<c_int>,
    destinations: InList<c_int>,
    weighing: InList<c_int>,
    _hints: Info,
    _reorder: c_int,
    new: OutPtr<Comm>,
) -> Answer {
    let found = communicator::find_intra(me, comm)?;
    let (edges, weighted) = edges(&found, comm, (count, sources), degrees, destinations, weighing)?;
    let bytes: Box<[u8]> = edges.iter().flatten().flat_map(|word| word.to_le_bytes()).collect();
    let (members, rank) = (found.size as usize, found.rank as c_int);
    let (comes, leaves) = collective::ask(
        me,
        found,
        (Collective::ReduceScatterBlock, COUNTS_BYTES),
        Given::whole(bytes),
        move |open| {
            let index: Rc<Index> = open.once(|open| Index::new(open, members));
            (
                Index::of(&index.by_destination, 1, rank).to_vec(),
                Index::of(&index.by_source, 0, rank).to_vec(),
            )
        },
    )?;
    let column = |edges: &[Edge], at: usize| edges.iter().map(|edge| edge[at]).collect::<Vec<c_int>>();
    let ends = |edges: &[Edge], at: usize| edges.iter().map(|edge| edge[at] as u32).collect();
    let around = Neighbours { sources: ends(&comes, 0), destinations: ends(&leaves, 1) };
    let weights = Weights { sources: column(&comes, 2), destinations: column(&leaves, 2) };
    let made = make(me, comm, around, weighted.then_some(weights))?;
    new.set(made);
    Ok(())
}

/// The neighbours and weights of a distributed graph.
fn find(me: &Process, comm: Comm) -> Answer<(Arc<Neighbours>, Option<Weights>)> {
    let (found, topology) = with_topology(me, comm)?;
    match &topology.kind {
        Kind::Distributed(weights) => Ok((topology.around(&found).neighbours, weights.clone())),
        _ => refused(comm, Class::TOPOLOGY, "a communicator without a distributed graph topology"),
    }
}

/// MPI_Dist_graph_neighbors_count
pub fn dist_graph_neighbors_count(
    me: &Process,
    comm: Comm,
    in_degree: OutPtr<c_int>,
    out_degree: OutPtr<c_int>,
    weighted: OutPtr<c_int>,
) -> Answer {
    let (around, weights) = find(me, comm)?;
    in_degree.set(around.sources.len() as c_int);
    out_degree.set(around.destinations.len() as c_int);
    weighted.set(truth(weights.is_some()));
    Ok(())
}

/// MPI_Dist_graph_neighbors
pub fn dist_graph_neighbors(
    me: &Process,
    comm: Comm,
    most_in: c_int,
    sources: OutList<c_int>,
    source_weights: OutList<c_int>,
    most_out: c_int,
    destinations: OutList<c_int>,
    destination_weights: OutList<c_int>,
) -> Answer {
    let (around, weights) = find(me, comm)?;
    fill(sources, most_in, around.sources.iter().map(|rank| *rank as c_int));
    fill(destinations, most_out, around.destinations.iter().map(|rank| *rank as c_int));
    if let Some(Weights { sources, destinations }) = weights {
        if source_weights.address() != UNWEIGHTED {
            fill(source_weights, most_in, sources.into_iter());
        }
        if destination_weights.address() != UNWEIGHTED {
            fill(destination_weights, most_out, destinations.into_iter());
        }
    }
    Ok(())
}
