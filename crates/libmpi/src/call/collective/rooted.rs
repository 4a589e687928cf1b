//! Collectives from one member to all, or from all to one, that move values as they are.

use std::ffi::{c_int, c_void};
use std::rc::Rc;

use mpi::collective::{Kind, Sizes};

use super::values::{Blocks, Values};
use super::{Call, equal, in_place, not_in_place};
use crate::abi::error::{Answer, Class};
use crate::abi::export::Numbers;
use crate::abi::handle::{Comm, Datatype, Info, Request};
use crate::call::communicator::{self, Communicator};
use crate::data::meeting::Given;
use crate::live::process::Process;

/// The communicator of a collective, and its root.
pub(super) fn with_root(me: &Process, comm: Comm, root: c_int) -> Answer<(Rc<Communicator>, u32)> {
    let found = communicator::find(me, comm)?;
    let root = found.check_rank(root, Class::ROOT)?;
    Ok((found, root))
}

unsafe fn prepare_bcast(
    me: &Process,
    buffer: *mut c_void,
    count: i64,
    datatype: Datatype,
    root: c_int,
    comm: Comm,
) -> Answer<Call> {
    let (comm, root) = with_root(me, comm, root)?;
    not_in_place(buffer, "the buffer")?;
    let values = Values::new(me, buffer, count, datatype)?;
    let gives = comm.rank == root;
    let call = Call::new(Kind::Bcast, comm, equal(values.bytes())).rooted(root);
    if gives {
        // SAFETY: as the contract of `call` says.
        return Ok(call.giving(move || Given::whole(unsafe { values.pack() })));
    }
    let root = root as usize;
    // SAFETY: as the contract of `call` says.
    Ok(call.taking(move |open| unsafe { values.put(open.block(root, 0), root) }))
}

/// What this rank gives to a gather, and where the root wants everything.
struct Gathered {
    mine: Values,
    places: Option<Blocks>,
}

impl Gathered {
    fn new(
        me: &Process,
        (from, count, datatype): (*const c_void, i64, Datatype),
        here: u32,
        places: Option<Blocks>,
    ) -> Answer<Gathered> {
        let mine = match &places {
            Some(places) if in_place(from) => places.get(here as usize),
            _ => {
                not_in_place(from, "the send buffer, but at the root")?;
                Values::new(me, from, count, datatype)?
            }
        };
        Ok(Gathered { mine, places })
    }

    fn call(self, call: Call) -> Call {
        let Gathered { mine, places } = self;
        // SAFETY: as the contract of `call` says.
        let call = call.giving(move || Given::whole(unsafe { mine.pack() }));
        match places {
            // SAFETY: as the contract of `call` says.
            Some(places) => call.taking(move |open| unsafe { places.put(open, 0, 0) }),
            None => call,
        }
    }
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
    let (comm, root) = with_root(me, comm, root)?;
    let size = comm.size as usize;
    let places = if comm.rank == root {
        not_in_place(into, "the receive buffer")?;
        Some(Blocks::equal(Values::new(me, into, count, datatype)?, size))
    } else {
        None
    };
    let gathered = Gathered::new(me, (from, send_count, send_type), comm.rank, places)?;
    let call = Call::new(Kind::Gather, comm, equal(gathered.mine.bytes())).rooted(root);
    Ok(gathered.call(call))
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
    let (comm, root) = with_root(me, comm, root)?;
    let size = comm.size as usize;
    let places = if comm.rank == root {
        not_in_place(into, "the receive buffer")?;
        // SAFETY: as the contract of `call` says.
        Some(unsafe { Blocks::own(me, into, counts, distances, datatype, size) }?)
    } else {
        None
    };
    let gathered = Gathered::new(me, (from, send_count, send_type), comm.rank, places)?;
    // The root knows all lengths, any other member its own: what the simulator asks of each.
    let lengths = match &gathered.places {
        Some(places) => Sizes::ByRank(places.lengths()),
        None => only(size, comm.rank, gathered.mine.bytes()),
    };
    let call = Call::new(Kind::Gatherv, comm, lengths).rooted(root);
    Ok(gathered.call(call))
}

/// Lengths of which a member knows its own alone.
fn only(size: usize, rank: u32, bytes: u64) -> Sizes {
    let mut lengths = vec![0; size];
    lengths[rank as usize] = bytes;
    Sizes::ByRank(lengths.into())
}

/// What the root gives to a scatter, and where this rank wants its block.
fn scattered(call: Call, blocks: Option<Blocks>, mine: Option<Values>, root: u32) -> Call {
    let (root, rank) = (root as usize, call.comm.rank as usize);
    let call = match blocks {
        // SAFETY: as the contract of `call` says.
        Some(blocks) => call.giving(move || unsafe { blocks.pack() }),
        None => call,
    };
    match mine {
        // SAFETY: as the contract of `call` says.
        Some(mine) => call.taking(move |open| unsafe { mine.put(open.block(root, rank), root) }),
        None => call,
    }
}

/// Where a member wants its block: nowhere, if it is the root and the block stays in place.
fn own_place(
    me: &Process,
    (into, count, datatype): (*mut c_void, i64, Datatype),
    is_root: bool,
) -> Answer<Option<Values>> {
    if is_root && in_place(into) {
        return Ok(None);
    }
    not_in_place(into, "the receive buffer, but at the root")?;
    Ok(Some(Values::new(me, into, count, datatype)?))
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
    let (comm, root) = with_root(me, comm, root)?;
    let is_root = comm.rank == root;
    let mine = own_place(me, (into, count, datatype), is_root)?;
    let (blocks, bytes) = if is_root {
        not_in_place(from, "the send buffer")?;
        let each = Values::new(me, from, send_count, send_type)?;
        (Some(Blocks::equal(each.clone(), comm.size as usize)), each.bytes())
    } else {
        (None, mine.as_ref().map_or(0, Values::bytes))
    };
    let call = Call::new(Kind::Scatter, comm, equal(bytes)).rooted(root);
    Ok(scattered(call, blocks, mine, root))
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
    let (comm, root) = with_root(me, comm, root)?;
    let (is_root, size) = (comm.rank == root, comm.size as usize);
    let mine = own_place(me, (into, count, datatype), is_root)?;
    let (blocks, lengths) = if is_root {
        not_in_place(from, "the send buffer")?;
        // SAFETY: as the contract of `call` says.
        let blocks = unsafe { Blocks::own(me, from, counts, distances, send_type, size) }?;
        let lengths = Sizes::ByRank(blocks.lengths());
        (Some(blocks), lengths)
    } else {
        (None, only(size, comm.rank, mine.as_ref().map_or(0, Values::bytes)))
    };
    let call = Call::new(Kind::Scatterv, comm, lengths).rooted(root);
    Ok(scattered(call, blocks, mine, root))
}

super::forms! {
    /// MPI_Bcast
    bcast ibcast bcast_init prepare_bcast on comm (
        buffer: *mut c_void, count: i64, datatype: Datatype, root: c_int, comm: Comm);
    /// MPI_Gather
    gather igather gather_init prepare_gather on comm (
        from: *const c_void, send_count: i64, send_type: Datatype,
        into: *mut c_void, count: i64, datatype: Datatype, root: c_int, comm: Comm);
    /// MPI_Gatherv
    gatherv igatherv gatherv_init prepare_gatherv on comm (
        from: *const c_void, send_count: i64, send_type: Datatype,
        into: *mut c_void, counts: Numbers, distances: Numbers, datatype: Datatype, root: c_int, comm: Comm);
    /// MPI_Scatter
    scatter iscatter scatter_init prepare_scatter on comm (
        from: *const c_void, send_count: i64, send_type: Datatype,
        into: *mut c_void, count: i64, datatype: Datatype, root: c_int, comm: Comm);
    /// MPI_Scatterv
    scatterv iscatterv scatterv_init prepare_scatterv on comm (
        from: *const c_void, counts: Numbers, distances: Numbers, send_type: Datatype,
        into: *mut c_void, count: i64, datatype: Datatype, root: c_int, comm: Comm);
}
