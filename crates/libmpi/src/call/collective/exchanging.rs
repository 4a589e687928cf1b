//! Collectives of all with all that move values as they are.

use std::ffi::c_void;

use mpi::collective::{Kind, Sizes};

use super::values::{Blocks, Values};
use super::{Call, equal, in_place, not_in_place};
use crate::abi::error::{Answer, Class, Error};
use crate::abi::export::Numbers;
use crate::abi::handle::{Comm, Datatype, Info, Request};
use crate::call::communicator;
use crate::data::meeting::Given;
use crate::live::process::Process;

unsafe fn prepare_barrier(me: &Process, comm: Comm) -> Answer<Call> {
    Ok(Call::new(Kind::Barrier, communicator::find(me, comm)?, equal(0)))
}

/// This rank gives `mine`, and takes what all give.
fn gathered(call: Call, mine: Values, places: Blocks) -> Call {
    // SAFETY: as the contract of `call` says.
    let call = call.giving(move || Given::whole(unsafe { mine.pack() }));
    // SAFETY: as the contract of `call` says.
    call.taking(move |open| unsafe { places.put(open, 0, 0) })
}

unsafe fn prepare_allgather(
    me: &Process,
    from: *const c_void,
    send_count: i64,
    send_type: Datatype,
    into: *mut c_void,
    count: i64,
    datatype: Datatype,
    comm: Comm,
) -> Answer<Call> {
    let comm = communicator::find(me, comm)?;
    not_in_place(into, "the receive buffer")?;
    let places = Blocks::equal(Values::new(me, into, count, datatype)?, comm.size as usize);
    let mine = if in_place(from) {
        places.get(comm.rank as usize)
    } else {
        Values::new(me, from, send_count, send_type)?
    };
    Ok(gathered(Call::new(Kind::Allgather, comm, equal(mine.bytes())), mine, places))
}

unsafe fn prepare_allgatherv(
    me: &Process,
    from: *const c_void,
    send_count: i64,
    send_type: Datatype,
    into: *mut c_void,
    counts: Numbers,
    distances: Numbers,
    datatype: Datatype,
    comm: Comm,
) -> Answer<Call> {
    let comm = communicator::find(me, comm)?;
    not_in_place(into, "the receive buffer")?;
    let here = comm.rank as usize;
    // SAFETY: as the contract of `call` says.
    let places = unsafe { Blocks::own(me, into, counts, distances, datatype, comm.size as usize) }?;
    let mine = if in_place(from) { places.get(here) } else { Values::new(me, from, send_count, send_type)? };
    let (sent, expected) = (mine.bytes(), places.get(here).bytes());
    if sent > expected {
        let reason = format!("rank {here} sends {sent} bytes, but its block has {expected} bytes");
        return Err(Error::new(Class::TRUNCATE, reason));
    }
    Ok(gathered(Call::new(Kind::Allgatherv, comm, Sizes::ByRank(places.lengths())), mine, places))
}

/// This rank gives each member a block, and takes one of each.
fn exchanged(call: Call, blocks: Blocks, places: Blocks) -> Call {
    let rank = call.comm.rank as usize;
    // SAFETY: as the contract of `call` says.
    let call = call.giving(move || unsafe { blocks.pack() });
    // SAFETY: as the contract of `call` says.
    call.taking(move |open| unsafe { places.put(open, 0, rank) })
}

unsafe fn prepare_alltoall(
    me: &Process,
    from: *const c_void,
    send_count: i64,
    send_type: Datatype,
    into: *mut c_void,
    count: i64,
    datatype: Datatype,
    comm: Comm,
) -> Answer<Call> {
    let comm = communicator::find(me, comm)?;
    not_in_place(into, "the receive buffer")?;
    let size = comm.size as usize;
    let each = Values::new(me, into, count, datatype)?;
    let sent = if in_place(from) { each.clone() } else { Values::new(me, from, send_count, send_type)? };
    let call = Call::new(Kind::Alltoall, comm, equal(sent.bytes()));
    Ok(exchanged(call, Blocks::equal(sent, size), Blocks::equal(each, size)))
}

fn exchange(me: &Process, kind: Kind, comm: Comm, blocks: Option<Blocks>, places: Blocks) -> Answer<Call> {
    let blocks = blocks.unwrap_or_else(|| places.clone());
    let sizes = Sizes::Own { send: blocks.lengths(), receive: places.lengths() };
    Ok(exchanged(Call::new(kind, communicator::find(me, comm)?, sizes), blocks, places))
}

unsafe fn prepare_alltoallv(
    me: &Process,
    from: *const c_void,
    send_counts: Numbers,
    send_distances: Numbers,
    send_type: Datatype,
    into: *mut c_void,
    counts: Numbers,
    distances: Numbers,
    datatype: Datatype,
    comm: Comm,
) -> Answer<Call> {
    let size = communicator::find(me, comm)?.size as usize;
    not_in_place(into, "the receive buffer")?;
    // SAFETY: as the contract of `call` says.
    let places = unsafe { Blocks::own(me, into, counts, distances, datatype, size) }?;
    let blocks = if in_place(from) {
        None
    } else {
        // SAFETY: as the contract of `call` says.
        Some(unsafe { Blocks::own(me, from, send_counts, send_distances, send_type, size) }?)
    };
    exchange(me, Kind::Alltoallv, comm, blocks, places)
}

unsafe fn prepare_alltoallw(
    me: &Process,
    from: *const c_void,
    send_counts: Numbers,
    send_distances: Numbers,
    send_types: *const Datatype,
    into: *mut c_void,
    counts: Numbers,
    distances: Numbers,
    datatypes: *const Datatype,
    comm: Comm,
) -> Answer<Call> {
    let size = communicator::find(me, comm)?.size as usize;
    not_in_place(into, "the receive buffer")?;
    // SAFETY: as the contract of `call` says.
    let places = unsafe { Blocks::typed(me, into, counts, distances, datatypes, size) }?;
    let blocks = if in_place(from) {
        None
    } else {
        // SAFETY: as the contract of `call` says.
        Some(unsafe { Blocks::typed(me, from, send_counts, send_distances, send_types, size) }?)
    };
    exchange(me, Kind::Alltoallw, comm, blocks, places)
}

super::forms! {
    /// MPI_Barrier
    barrier ibarrier barrier_init prepare_barrier on comm (comm: Comm);
    /// MPI_Allgather
    allgather iallgather allgather_init prepare_allgather on comm (
        from: *const c_void, send_count: i64, send_type: Datatype,
        into: *mut c_void, count: i64, datatype: Datatype, comm: Comm);
    /// MPI_Allgatherv
    allgatherv iallgatherv allgatherv_init prepare_allgatherv on comm (
        from: *const c_void, send_count: i64, send_type: Datatype,
        into: *mut c_void, counts: Numbers, distances: Numbers, datatype: Datatype, comm: Comm);
    /// MPI_Alltoall
    alltoall ialltoall alltoall_init prepare_alltoall on comm (
        from: *const c_void, send_count: i64, send_type: Datatype,
        into: *mut c_void, count: i64, datatype: Datatype, comm: Comm);
    /// MPI_Alltoallv
    alltoallv ialltoallv alltoallv_init prepare_alltoallv on comm (
        from: *const c_void, send_counts: Numbers, send_distances: Numbers, send_type: Datatype,
        into: *mut c_void, counts: Numbers, distances: Numbers, datatype: Datatype, comm: Comm);
    /// MPI_Alltoallw
    alltoallw ialltoallw alltoallw_init prepare_alltoallw on comm (
        from: *const c_void, send_counts: Numbers, send_distances: Numbers, send_types: *const Datatype,
        into: *mut c_void, counts: Numbers, distances: Numbers, datatypes: *const Datatype, comm: Comm);
}
