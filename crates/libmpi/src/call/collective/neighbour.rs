//! Collectives among the neighbours of a virtual topology.
//!
//! A block is for one edge. Of a neighbour that is not there (beyond the border of a grid) nothing comes: its block
//! stays as it is.

use std::rc::Rc;

use mpi::cartesian::NOBODY;
use mpi::collective::{Kind, Sizes};

use super::values::Blocks;
use super::{Call, equal, not_in_place};
use crate::abi::arguments::Numbers;
use crate::abi::error::Answer;
use crate::abi::handle::{Comm, Datatype, Info, Request};
use crate::abi::pointers::{Address, InList};
use crate::call::communicator::Communicator;
use crate::call::topology::{self, Around};
use crate::call::user_buffer::UserBuffer;
use crate::data::meeting::Given;
use crate::live::process::Process;

/// The communicator of a handle and this rank's neighbours.
fn find(me: &Process, comm: Comm, from: Address, into: Address) -> Answer<(Rc<Communicator>, Around)> {
    let (found, topology) = topology::with_topology(me, comm)?;
    not_in_place(from, "the send buffer of a neighbourhood")?;
    not_in_place(into, "the receive buffer of a neighbourhood")?;
    let around = topology.around(&found);
    Ok((found, around))
}

/// This rank takes of each source the whole of what it gives, or a block.
fn taken(call: Call, places: Blocks, around: Around, whole: bool) -> Call {
    call.taking(move |open| {
        let edges = around.neighbours.sources.iter().zip(around.blocks.iter()).enumerate();
        edges.filter(|(_, (source, _))| **source != NOBODY).try_for_each(|(edge, (source, block))| {
            let contents = match (whole, *block) {
                (true, _) => open.block(*source as usize, 0),
                // An edge that its source does not know: the simulated messages do not fit either.
                (false, usize::MAX) => &[],
                (false, block) => open.block(*source as usize, block),
            };
            places.get(edge).put(contents, *source as usize)
        })
    })
}

fn prepare_neighbor_allgather(
    me: &Process,
    from: Address,
    send_count: i64,
    send_type: Datatype,
    into: Address,
    count: i64,
    datatype: Datatype,
    comm: Comm,
) -> Answer<Call> {
    let (comm, around) = find(me, comm, from, into)?;
    let places = Blocks::equal(UserBuffer::new(me, into, count, datatype)?, around.neighbours.sources.len());
    let mine = UserBuffer::new(me, from, send_count, send_type)?;
    let call = Call::new(Kind::NeighborAllgather, comm, equal(mine.bytes()));
    let call = call.giving(move || Given::whole(mine.pack()));
    Ok(taken(call, places, around, true))
}

fn prepare_neighbor_allgatherv(
    me: &Process,
    from: Address,
    send_count: i64,
    send_type: Datatype,
    into: Address,
    counts: Numbers,
    distances: Numbers,
    datatype: Datatype,
    comm: Comm,
) -> Answer<Call> {
    let (comm, around) = find(me, comm, from, into)?;
    let (sources, destinations) = (around.neighbours.sources.len(), around.neighbours.destinations.len());
    let places = Blocks::own(me, into, counts, distances, datatype, sources)?;
    let mine = UserBuffer::new(me, from, send_count, send_type)?;
    let sizes = Sizes::Own { send: vec![mine.bytes(); destinations].into(), receive: places.lengths() };
    let call = Call::new(Kind::NeighborAllgatherv, comm, sizes).giving(move || Given::whole(mine.pack()));
    Ok(taken(call, places, around, true))
}

fn prepare_neighbor_alltoall(
    me: &Process,
    from: Address,
    send_count: i64,
    send_type: Datatype,
    into: Address,
    count: i64,
    datatype: Datatype,
    comm: Comm,
) -> Answer<Call> {
    let (comm, around) = find(me, comm, from, into)?;
    let places = Blocks::equal(UserBuffer::new(me, into, count, datatype)?, around.neighbours.sources.len());
    let each = UserBuffer::new(me, from, send_count, send_type)?;
    let call = Call::new(Kind::NeighborAlltoall, comm, equal(each.bytes()));
    let blocks = Blocks::equal(each, around.neighbours.destinations.len());
    Ok(taken(call.giving(move || blocks.pack()), places, around, false))
}

/// Blocks of their own lengths.
fn exchanged(kind: Kind, comm: Rc<Communicator>, blocks: Blocks, places: Blocks, around: Around) -> Call {
    let sizes = Sizes::Own { send: blocks.lengths(), receive: places.lengths() };
    taken(Call::new(kind, comm, sizes).giving(move || blocks.pack()), places, around, false)
}

fn prepare_neighbor_alltoallv(
    me: &Process,
    from: Address,
    send_counts: Numbers,
    send_distances: Numbers,
    send_type: Datatype,
    into: Address,
    counts: Numbers,
    distances: Numbers,
    datatype: Datatype,
    comm: Comm,
) -> Answer<Call> {
    let (comm, around) = find(me, comm, from, into)?;
    let (sources, destinations) = (around.neighbours.sources.len(), around.neighbours.destinations.len());
    let (blocks, places) = (
        Blocks::own(me, from, send_counts, send_distances, send_type, destinations)?,
        Blocks::own(me, into, counts, distances, datatype, sources)?,
    );
    Ok(exchanged(Kind::NeighborAlltoallv, comm, blocks, places, around))
}

fn prepare_neighbor_alltoallw(
    me: &Process,
    from: Address,
    send_counts: Numbers,
    send_distances: Numbers,
    send_types: InList<Datatype>,
    into: Address,
    counts: Numbers,
    distances: Numbers,
    datatypes: InList<Datatype>,
    comm: Comm,
) -> Answer<Call> {
    let (comm, around) = find(me, comm, from, into)?;
    let (sources, destinations) = (around.neighbours.sources.len(), around.neighbours.destinations.len());
    let (blocks, places) = (
        Blocks::typed(me, from, send_counts, send_distances, send_types, destinations)?,
        Blocks::typed(me, into, counts, distances, datatypes, sources)?,
    );
    Ok(exchanged(Kind::NeighborAlltoallw, comm, blocks, places, around))
}

super::forms! {
    /// MPI_Neighbor_allgather
    neighbor_allgather ineighbor_allgather neighbor_allgather_init prepare_neighbor_allgather on comm (
        from: Address, send_count: i64, send_type: Datatype,
        into: Address, count: i64, datatype: Datatype, comm: Comm);
    /// MPI_Neighbor_allgatherv
    neighbor_allgatherv ineighbor_allgatherv neighbor_allgatherv_init prepare_neighbor_allgatherv on comm (
        from: Address, send_count: i64, send_type: Datatype,
        into: Address, counts: Numbers, distances: Numbers, datatype: Datatype, comm: Comm);
    /// MPI_Neighbor_alltoall
    neighbor_alltoall ineighbor_alltoall neighbor_alltoall_init prepare_neighbor_alltoall on comm (
        from: Address, send_count: i64, send_type: Datatype,
        into: Address, count: i64, datatype: Datatype, comm: Comm);
    /// MPI_Neighbor_alltoallv
    neighbor_alltoallv ineighbor_alltoallv neighbor_alltoallv_init prepare_neighbor_alltoallv on comm (
        from: Address, send_counts: Numbers, send_distances: Numbers, send_type: Datatype,
        into: Address, counts: Numbers, distances: Numbers, datatype: Datatype, comm: Comm);
    /// MPI_Neighbor_alltoallw
    neighbor_alltoallw ineighbor_alltoallw neighbor_alltoallw_init prepare_neighbor_alltoallw on comm (
        from: Address, send_counts: Numbers, send_distances: Numbers, send_types: InList<Datatype>,
        into: Address, counts: Numbers, distances: Numbers, datatypes: InList<Datatype>, comm: Comm);
}
