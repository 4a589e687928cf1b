//! Collectives that move values as they are.

use std::ffi::{c_int, c_void};

use mpi::collective::{Kind, Sizes};

use super::{Blocks, Call, Values, communicator, equal, in_place, rooted};
use crate::abi::error::Answer;
use crate::abi::export::Numbers;
use crate::abi::handle::{Comm, Datatype, Request};
use crate::data::meeting::Given;
use crate::live::process::Process;

unsafe fn prepare_barrier(me: &Process, comm: Comm) -> Answer<Call> {
    Ok(Call::new(Kind::Barrier, communicator::find(me, comm)?, 0, equal(0), 1))
}

unsafe fn prepare_bcast(
    me: &Process,
    buffer: *mut c_void,
    count: i64,
    datatype: Datatype,
    root: c_int,
    comm: Comm,
) -> Answer<Call> {
    let (comm, root) = rooted(me, comm, root)?;
    let values = Values::new(me, buffer, count, datatype)?;
    let gives = comm.rank == root;
    let call = Call::new(Kind::Bcast, comm, root, equal(values.bytes()), values.layout.packed());
    if gives {
        // SAFETY: as the contract of `call` says.
        return Ok(call.giving(Given::whole(unsafe { values.pack() })));
    }
    // SAFETY: as the contract of `call` says.
    Ok(call.taking(move |open| unsafe { values.put(open.block(root as usize, 0)) }))
}

unsafe fn prepare_gather(
    me: &Process,
    from: *const c_void,
    send_count: i64,
    send_type: Datatype,
    into: *mut c_void,
    count: i64,
    datatype: Datatype,
    root: c_int,
    comm: Comm,
) -> Answer<Call> {
    let (comm, root) = rooted(me, comm, root)?;
    let mine = if comm.rank == root && in_place(from) {
        Values::new(me, into, count, datatype)?.part(i64::from(root) * count, count)
    } else {
        Values::new(me, from, send_count, send_type)?
    };
    // SAFETY: as the contract of `call` says.
    let given = Given::whole(unsafe { mine.pack() });
    let places = if comm.rank == root {
        Blocks::equal(Values::new(me, into, count, datatype)?, comm.size).values
    } else {
        Vec::new()
    };
    let call = Call::new(Kind::Gather, comm, root, equal(mine.bytes()), mine.layout.packed());
    Ok(call.giving(given).taking(move |open| {
        for (member, place) in places.iter().enumerate() {
            // SAFETY: as the contract of `call` says.
            unsafe { place.put(open.block(member, 0)) };
        }
    }))
}

unsafe fn prepare_gatherv(
    me: &Process,
    from: *const c_void,
    send_count: i64,
    send_type: Datatype,
    into: *mut c_void,
    counts: Numbers,
    distances: Numbers,
    datatype: Datatype,
    root: c_int,
    comm: Comm,
) -> Answer<Call> {
    let (comm, root) = rooted(me, comm, root)?;
    let here = comm.rank as usize;
    let places = if comm.rank == root {
        // SAFETY: as the contract of `call` says.
        unsafe { Blocks::own(me, into, counts, distances, datatype, comm.size) }?
    } else {
        Blocks { values: Vec::new() }
    };
    let mine = match places.values.get(here) {
        Some(place) if in_place(from) => place.clone(),
        _ => Values::new(me, from, send_count, send_type)?,
    };
    // The root knows all lengths, any other member its own: what the simulator asks of each.
    let lengths = if places.values.is_empty() {
        (0..comm.size as usize).map(|member| if member == here { mine.bytes() } else { 0 }).collect()
    } else {
        places.lengths()
    };
    // SAFETY: as the contract of `call` says.
    let given = Given::whole(unsafe { mine.pack() });
    let call = Call::new(Kind::Gatherv, comm, root, Sizes::ByRank(lengths), mine.layout.packed());
    Ok(call.giving(given).taking(move |open| {
        for (member, place) in places.values.iter().enumerate() {
            // SAFETY: as the contract of `call` says.
            unsafe { place.put(open.block(member, 0)) };
        }
    }))
}

unsafe fn prepare_scatter(
    me: &Process,
    from: *const c_void,
    send_count: i64,
    send_type: Datatype,
    into: *mut c_void,
    count: i64,
    datatype: Datatype,
    root: c_int,
    comm: Comm,
) -> Answer<Call> {
    let (comm, root) = rooted(me, comm, root)?;
    if comm.rank == root {
        let each = Values::new(me, from, send_count, send_type)?;
        let blocks = Blocks::equal(each.clone(), comm.size);
        let mine = if in_place(into) { None } else { Some(Values::new(me, into, count, datatype)?) };
        let call = Call::new(Kind::Scatter, comm, root, equal(each.bytes()), each.layout.packed());
        // SAFETY: as the contract of `call` says.
        return Ok(call.giving(unsafe { blocks.pack() }).taking(move |open| {
            if let Some(mine) = mine {
                // SAFETY: as the contract of `call` says.
                unsafe { mine.put(open.block(root as usize, root as usize)) };
            }
        }));
    }
    let (mine, rank) = (Values::new(me, into, count, datatype)?, comm.rank as usize);
    let call = Call::new(Kind::Scatter, comm, root, equal(mine.bytes()), mine.layout.packed());
    // SAFETY: as the contract of `call` says.
    Ok(call.taking(move |open| unsafe { mine.put(open.block(root as usize, rank)) }))
}

unsafe fn prepare_scatterv(
    me: &Process,
    from: *const c_void,
    counts: Numbers,
    distances: Numbers,
    send_type: Datatype,
    into: *mut c_void,
    count: i64,
    datatype: Datatype,
    root: c_int,
    comm: Comm,
) -> Answer<Call> {
    let (comm, root) = rooted(me, comm, root)?;
    let here = comm.rank as usize;
    let mine = if in_place(into) { None } else { Some(Values::new(me, into, count, datatype)?) };
    let (given, lengths) = if comm.rank == root {
        // SAFETY: as the contract of `call` says.
        let blocks = unsafe { Blocks::own(me, from, counts, distances, send_type, comm.size) }?;
        // SAFETY: as the contract of `call` says.
        (unsafe { blocks.pack() }, blocks.lengths())
    } else {
        let own = mine.as_ref().map_or(0, Values::bytes);
        let lengths = (0..comm.size as usize).map(|member| if member == here { own } else { 0 }).collect();
        (Given::default(), lengths)
    };
    let element = mine.as_ref().map_or(1, |mine| mine.layout.packed());
    let call = Call::new(Kind::Scatterv, comm, root, Sizes::ByRank(lengths), element);
    Ok(call.giving(given).taking(move |open| {
        if let Some(mine) = mine {
            // SAFETY: as the contract of `call` says.
            unsafe { mine.put(open.block(root as usize, here)) };
        }
    }))
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
    let places = Blocks::equal(Values::new(me, into, count, datatype)?, comm.size);
    let mine = if in_place(from) {
        places.values[comm.rank as usize].clone()
    } else {
        Values::new(me, from, send_count, send_type)?
    };
    // SAFETY: as the contract of `call` says.
    let given = Given::whole(unsafe { mine.pack() });
    let call = Call::new(Kind::Allgather, comm, 0, equal(mine.bytes()), mine.layout.packed());
    Ok(call.giving(given).taking(move |open| {
        for (member, place) in places.values.iter().enumerate() {
            // SAFETY: as the contract of `call` says.
            unsafe { place.put(open.block(member, 0)) };
        }
    }))
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
    // SAFETY: as the contract of `call` says.
    let places = unsafe { Blocks::own(me, into, counts, distances, datatype, comm.size) }?;
    let mine = if in_place(from) {
        places.values[comm.rank as usize].clone()
    } else {
        Values::new(me, from, send_count, send_type)?
    };
    // SAFETY: as the contract of `call` says.
    let given = Given::whole(unsafe { mine.pack() });
    let sizes = Sizes::ByRank(places.lengths());
    let call = Call::new(Kind::Allgatherv, comm, 0, sizes, mine.layout.packed());
    Ok(call.giving(given).taking(move |open| {
        for (member, place) in places.values.iter().enumerate() {
            // SAFETY: as the contract of `call` says.
            unsafe { place.put(open.block(member, 0)) };
        }
    }))
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
    let places = Blocks::equal(Values::new(me, into, count, datatype)?, comm.size);
    let blocks = if in_place(from) {
        places.clone()
    } else {
        Blocks::equal(Values::new(me, from, send_count, send_type)?, comm.size)
    };
    let (each, rank) = (blocks.values[0].clone(), comm.rank as usize);
    let call = Call::new(Kind::Alltoall, comm, 0, equal(each.bytes()), each.layout.packed());
    // SAFETY: as the contract of `call` says.
    Ok(call.giving(unsafe { blocks.pack() }).taking(move |open| {
        for (member, place) in places.values.iter().enumerate() {
            // SAFETY: as the contract of `call` says.
            unsafe { place.put(open.block(member, rank)) };
        }
    }))
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
    let comm = communicator::find(me, comm)?;
    // SAFETY: as the contract of `call` says.
    let places = unsafe { Blocks::own(me, into, counts, distances, datatype, comm.size) }?;
    let blocks = if in_place(from) {
        places.clone()
    } else {
        // SAFETY: as the contract of `call` says.
        unsafe { Blocks::own(me, from, send_counts, send_distances, send_type, comm.size) }?
    };
    let sizes = Sizes::Own { send: blocks.lengths(), receive: places.lengths() };
    let rank = comm.rank as usize;
    let call = Call::new(Kind::Alltoallv, comm, 0, sizes, places.values[0].layout.packed());
    // SAFETY: as the contract of `call` says.
    Ok(call.giving(unsafe { blocks.pack() }).taking(move |open| {
        for (member, place) in places.values.iter().enumerate() {
            // SAFETY: as the contract of `call` says.
            unsafe { place.put(open.block(member, rank)) };
        }
    }))
}

super::forms! {
    /// MPI_Barrier
    barrier ibarrier prepare_barrier(comm: Comm);
    /// MPI_Bcast
    bcast ibcast prepare_bcast(buffer: *mut c_void, count: i64, datatype: Datatype, root: c_int, comm: Comm);
    /// MPI_Gather
    gather igather prepare_gather(
        from: *const c_void, send_count: i64, send_type: Datatype,
        into: *mut c_void, count: i64, datatype: Datatype, root: c_int, comm: Comm);
    /// MPI_Gatherv
    gatherv igatherv prepare_gatherv(
        from: *const c_void, send_count: i64, send_type: Datatype,
        into: *mut c_void, counts: Numbers, distances: Numbers, datatype: Datatype, root: c_int, comm: Comm);
    /// MPI_Scatter
    scatter iscatter prepare_scatter(
        from: *const c_void, send_count: i64, send_type: Datatype,
        into: *mut c_void, count: i64, datatype: Datatype, root: c_int, comm: Comm);
    /// MPI_Scatterv
    scatterv iscatterv prepare_scatterv(
        from: *const c_void, counts: Numbers, distances: Numbers, send_type: Datatype,
        into: *mut c_void, count: i64, datatype: Datatype, root: c_int, comm: Comm);
    /// MPI_Allgather
    allgather iallgather prepare_allgather(
        from: *const c_void, send_count: i64, send_type: Datatype,
        into: *mut c_void, count: i64, datatype: Datatype, comm: Comm);
    /// MPI_Allgatherv
    allgatherv iallgatherv prepare_allgatherv(
        from: *const c_void, send_count: i64, send_type: Datatype,
        into: *mut c_void, counts: Numbers, distances: Numbers, datatype: Datatype, comm: Comm);
    /// MPI_Alltoall
    alltoall ialltoall prepare_alltoall(
        from: *const c_void, send_count: i64, send_type: Datatype,
        into: *mut c_void, count: i64, datatype: Datatype, comm: Comm);
    /// MPI_Alltoallv
    alltoallv ialltoallv prepare_alltoallv(
        from: *const c_void, send_counts: Numbers, send_distances: Numbers, send_type: Datatype,
        into: *mut c_void, counts: Numbers, distances: Numbers, datatype: Datatype, comm: Comm);
}
