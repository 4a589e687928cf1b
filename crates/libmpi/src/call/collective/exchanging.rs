//! Collectives of all with all that move values as they are.

use std::rc::Rc;

use mpi::collective::{Kind, Sizes};

use super::values::Blocks;
use super::{Call, distinct, equal, in_place, not_in_place, of_others, others};
use crate::abi::arguments::Numbers;
use crate::abi::error::{Answer, Class, Error};
use crate::abi::handle::{Comm, Datatype, Info, Request};
use crate::abi::pointers::{Address, InList};
use crate::call::communicator::{self, Communicator};
use crate::call::user_buffer::UserBuffer;
use crate::data::meeting::Given;
use crate::live::process::Process;

fn prepare_barrier(me: &Process, comm: Comm) -> Answer<Call> {
    Ok(Call::new(Kind::Barrier, communicator::find(me, comm)?, equal(0)))
}

/// This rank gives `mine`, and takes what all give.
fn gathered(call: Call, mine: UserBuffer, places: Blocks) -> Call {
    let call = call.giving(move || Given::whole(mine.pack()));
    let first = others(&call.comm).start;
    call.taking(move |open| places.put(open, first, 0))
}

/// Contribution of a member to an allgather: of one group, its own block may be in place already.
fn given(
    me: &Process,
    comm: &Communicator,
    (from, count, datatype): (Address, i64, Datatype),
    places: &Blocks,
) -> Answer<UserBuffer> {
    if in_place(from) && !comm.is_inter() {
        return Ok(places.get(comm.rank as usize));
    }
    not_in_place(from, "the send buffer between two groups")?;
    let mine = UserBuffer::new(me, from, count, datatype)?;
    if !comm.is_inter() {
        distinct(from, places.get(0).at(), mine.bytes())?;
        distinct(from, places.get(comm.rank as usize).at(), mine.bytes())?;
    }
    Ok(mine)
}

/// Between two groups, everybody knows what it sends and what comes.
fn between(comm: &Communicator, sent: u64, places: &Blocks) -> Sizes {
    let send = of_others(comm, &vec![sent; places.len()].into());
    Sizes::Own { send, receive: of_others(comm, &places.lengths()) }
}

fn prepare_allgather(
    me: &Process,
    from: Address,
    send_count: i64,
    send_type: Datatype,
    into: Address,
    count: i64,
    datatype: Datatype,
    comm: Comm,
) -> Answer<Call> {
    let comm = communicator::find(me, comm)?;
    not_in_place(into, "the receive buffer")?;
    let places = Blocks::equal(UserBuffer::new(me, into, count, datatype)?, comm.peers as usize);
    let mine = given(me, &comm, (from, send_count, send_type), &places)?;
    let sizes = if comm.is_inter() { between(&comm, mine.bytes(), &places) } else { equal(mine.bytes()) };
    Ok(gathered(Call::new(Kind::Allgather, comm, sizes), mine, places))
}

fn prepare_allgatherv(
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
    let comm = communicator::find(me, comm)?;
    not_in_place(into, "the receive buffer")?;
    let places = Blocks::own(me, into, counts, distances, datatype, comm.peers as usize)?;
    let mine = given(me, &comm, (from, send_count, send_type), &places)?;
    if comm.is_inter() {
        let sizes = between(&comm, mine.bytes(), &places);
        return Ok(gathered(Call::new(Kind::Allgatherv, comm, sizes), mine, places));
    }
    let (sent, expected) = (mine.bytes(), places.get(comm.rank as usize).bytes());
    if sent > expected {
        let reason = format!("rank {} sends {sent} bytes, but its block has {expected} bytes", comm.rank);
        return Err(Error::new(Class::TRUNCATE, reason));
    }
    Ok(gathered(Call::new(Kind::Allgatherv, comm, Sizes::ByRank(places.lengths())), mine, places))
}

/// This rank gives each member a block, and takes one of each.
fn exchanged(call: Call, blocks: Blocks, places: Blocks) -> Call {
    let (rank, first) = (call.comm.rank as usize, others(&call.comm).start);
    let call = call.giving(move || blocks.pack());
    call.taking(move |open| places.put(open, first, rank))
}

fn prepare_alltoall(
    me: &Process,
    from: Address,
    send_count: i64,
    send_type: Datatype,
    into: Address,
    count: i64,
    datatype: Datatype,
    comm: Comm,
) -> Answer<Call> {
    let comm = communicator::find(me, comm)?;
    not_in_place(into, "the receive buffer")?;
    let peers = comm.peers as usize;
    let each = UserBuffer::new(me, into, count, datatype)?;
    let sent = if own_block(&comm, from)? {
        each.clone()
    } else {
        UserBuffer::new(me, from, send_count, send_type)?
    };
    distinct(from, into, sent.bytes())?;
    let (bytes, places) = (sent.bytes(), Blocks::equal(each, peers));
    let sizes = if comm.is_inter() { between(&comm, bytes, &places) } else { equal(bytes) };
    Ok(exchanged(Call::new(Kind::Alltoall, comm, sizes), Blocks::equal(sent, peers), places))
}

/// True if what is sent lies where what comes will be: of one group alone.
fn own_block(comm: &Communicator, from: Address) -> Answer<bool> {
    if comm.is_inter() {
        not_in_place(from, "the send buffer between two groups")?;
    }
    Ok(in_place(from))
}

fn exchange(kind: Kind, comm: Rc<Communicator>, blocks: Option<Blocks>, places: Blocks) -> Call {
    let blocks = blocks.unwrap_or_else(|| places.clone());
    let send = of_others(&comm, &blocks.lengths());
    let sizes = Sizes::Own { send, receive: of_others(&comm, &places.lengths()) };
    exchanged(Call::new(kind, comm, sizes), blocks, places)
}

fn prepare_alltoallv(
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
    let comm = communicator::find(me, comm)?;
    let peers = comm.peers as usize;
    not_in_place(into, "the receive buffer")?;
    let places = Blocks::own(me, into, counts, distances, datatype, peers)?;
    let blocks = if own_block(&comm, from)? {
        None
    } else {
        Some(Blocks::own(me, from, send_counts, send_distances, send_type, peers)?)
    };
    distinct(from, into, places.bytes())?;
    Ok(exchange(Kind::Alltoallv, comm, blocks, places))
}

fn prepare_alltoallw(
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
    let comm = communicator::find(me, comm)?;
    let peers = comm.peers as usize;
    not_in_place(into, "the receive buffer")?;
    let places = Blocks::typed(me, into, counts, distances, datatypes, peers)?;
    let blocks = if own_block(&comm, from)? {
        None
    } else {
        Some(Blocks::typed(me, from, send_counts, send_distances, send_types, peers)?)
    };
    distinct(from, into, places.bytes())?;
    Ok(exchange(Kind::Alltoallw, comm, blocks, places))
}

super::forms! {
    /// MPI_Barrier
    barrier ibarrier barrier_init prepare_barrier on comm (comm: Comm);
    /// MPI_Allgather
    allgather iallgather allgather_init prepare_allgather on comm (
        from: Address, send_count: i64, send_type: Datatype,
        into: Address, count: i64, datatype: Datatype, comm: Comm);
    /// MPI_Allgatherv
    allgatherv iallgatherv allgatherv_init prepare_allgatherv on comm (
        from: Address, send_count: i64, send_type: Datatype,
        into: Address, counts: Numbers, distances: Numbers, datatype: Datatype, comm: Comm);
    /// MPI_Alltoall
    alltoall ialltoall alltoall_init prepare_alltoall on comm (
        from: Address, send_count: i64, send_type: Datatype,
        into: Address, count: i64, datatype: Datatype, comm: Comm);
    /// MPI_Alltoallv
    alltoallv ialltoallv alltoallv_init prepare_alltoallv on comm (
        from: Address, send_counts: Numbers, send_distances: Numbers, send_type: Datatype,
        into: Address, counts: Numbers, distances: Numbers, datatype: Datatype, comm: Comm);
    /// MPI_Alltoallw
    alltoallw ialltoallw alltoallw_init prepare_alltoallw on comm (
        from: Address, send_counts: Numbers, send_distances: Numbers, send_types: InList<Datatype>,
        into: Address, counts: Numbers, distances: Numbers, datatypes: InList<Datatype>, comm: Comm);
}
