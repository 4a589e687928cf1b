//! Collectives that combine values.

use std::ffi::{c_int, c_void};
use std::rc::Rc;

use mpi::collective::{Kind, Sizes};

use super::{Call, Values, communicator, equal, in_place, rooted};
use crate::abi::error::Answer;
use crate::abi::export::Numbers;
use crate::abi::handle::{Comm, Datatype, Op, Request};
use crate::call::communicator::Communicator;
use crate::data::meeting::Given;
use crate::data::operator::Operator;
use crate::live::process::Process;

/// Values to be combined: from where, where to, and how.
struct Operands {
    from: Values,
    into: Values,
    operator: Operator,
}

impl Operands {
    fn new(
        me: &Process,
        from: *const c_void,
        into: *mut c_void,
        count: i64,
        datatype: Datatype,
        op: Op,
    ) -> Answer<Operands> {
        let source = if in_place(from) { into.cast_const() } else { from };
        let from = Values::new(me, source, count, datatype)?;
        let operator = Operator::of(op, &from.layout)?;
        let into = Values { at: into, ..from.clone() };
        Ok(Operands { from, into, operator })
    }

    unsafe fn call(&self, kind: Kind, comm: Rc<Communicator>, root: u32, sizes: Sizes) -> Call {
        // SAFETY: as the contract of `call` says.
        let contents = unsafe { self.from.pack() };
        Call::new(kind, comm, root, sizes, self.from.layout.packed()).giving(Given::whole(contents))
    }
}

unsafe fn prepare_reduce(
    me: &Process,
    from: *const c_void,
    into: *mut c_void,
    count: i64,
    datatype: Datatype,
    op: Op,
    root: c_int,
    comm: Comm,
) -> Answer<Call> {
    let (comm, root) = rooted(me, comm, root)?;
    let operands = Operands::new(me, from, into, count, datatype, op)?;
    let (into, operator, takes) = (operands.into.clone(), operands.operator, comm.rank == root);
    // SAFETY: as the contract of `call` says.
    let call = unsafe { operands.call(Kind::Reduce, comm, root, equal(operands.from.bytes())) };
    Ok(call.taking(move |open| {
        if takes {
            // SAFETY: as the contract of `call` says.
            unsafe { into.put(&open.fold(operator)) }
        }
    }))
}

unsafe fn prepare_allreduce(
    me: &Process,
    from: *const c_void,
    into: *mut c_void,
    count: i64,
    datatype: Datatype,
    op: Op,
    comm: Comm,
) -> Answer<Call> {
    let comm = communicator::find(me, comm)?;
    let operands = Operands::new(me, from, into, count, datatype, op)?;
    let (into, operator) = (operands.into.clone(), operands.operator);
    // SAFETY: as the contract of `call` says.
    let call = unsafe { operands.call(Kind::Allreduce, comm, 0, equal(operands.from.bytes())) };
    // SAFETY: as the contract of `call` says.
    Ok(call.taking(move |open| unsafe { into.put(&open.fold(operator)) }))
}

unsafe fn prepare_scan(
    me: &Process,
    from: *const c_void,
    into: *mut c_void,
    count: i64,
    datatype: Datatype,
    op: Op,
    comm: Comm,
) -> Answer<Call> {
    // SAFETY: as the contract of `call` says.
    unsafe { prefixes(me, Kind::Scan, (from, into), count, datatype, op, comm) }
}

unsafe fn prepare_exscan(
    me: &Process,
    from: *const c_void,
    into: *mut c_void,
    count: i64,
    datatype: Datatype,
    op: Op,
    comm: Comm,
) -> Answer<Call> {
    // SAFETY: as the contract of `call` says.
    unsafe { prefixes(me, Kind::Exscan, (from, into), count, datatype, op, comm) }
}

unsafe fn prefixes(
    me: &Process,
    kind: Kind,
    (from, into): (*const c_void, *mut c_void),
    count: i64,
    datatype: Datatype,
    op: Op,
    comm: Comm,
) -> Answer<Call> {
    let comm = communicator::find(me, comm)?;
    let operands = Operands::new(me, from, into, count, datatype, op)?;
    let (into, operator) = (operands.into.clone(), operands.operator);
    let before = comm.rank as usize + usize::from(kind == Kind::Scan);
    // SAFETY: as the contract of `call` says.
    let call = unsafe { operands.call(kind, comm, 0, equal(operands.from.bytes())) };
    Ok(call.taking(move |open| {
        if before > 0 {
            // SAFETY: as the contract of `call` says.
            unsafe { into.put(&open.prefix(operator, before)) };
        }
    }))
}

unsafe fn prepare_reduce_scatter_block(
    me: &Process,
    from: *const c_void,
    into: *mut c_void,
    count: i64,
    datatype: Datatype,
    op: Op,
    comm: Comm,
) -> Answer<Call> {
    let comm = communicator::find(me, comm)?;
    let operands = Operands::new(me, from, into, count * i64::from(comm.size), datatype, op)?;
    let (block, operator) = (operands.into.part(0, count), operands.operator);
    let bytes = block.layout.packed() * count as usize;
    let at = bytes * comm.rank as usize;
    // SAFETY: as the contract of `call` says.
    let call = unsafe { operands.call(Kind::ReduceScatterBlock, comm, 0, equal(block.bytes())) };
    // SAFETY: as the contract of `call` says.
    Ok(call.taking(move |open| unsafe { block.put(&open.fold(operator)[at..at + bytes]) }))
}

unsafe fn prepare_reduce_scatter(
    me: &Process,
    from: *const c_void,
    into: *mut c_void,
    counts: Numbers,
    datatype: Datatype,
    op: Op,
    comm: Comm,
) -> Answer<Call> {
    let comm = communicator::find(me, comm)?;
    // SAFETY: as the contract of `call` says.
    let counts: Vec<i64> = (0..comm.size as usize).map(|index| unsafe { counts.get(index) }).collect();
    let operands = Operands::new(me, from, into, counts.iter().sum(), datatype, op)?;
    let (size, extent) = (operands.into.layout.size as u64, operands.into.layout.packed());
    let mine = comm.rank as usize;
    let (block, operator) = (operands.into.part(0, counts[mine]), operands.operator);
    let at = extent * counts[..mine].iter().sum::<i64>() as usize;
    let bytes = extent * counts[mine] as usize;
    let sizes = Sizes::ByRank(counts.iter().map(|count| *count as u64 * size).collect());
    // SAFETY: as the contract of `call` says.
    let call = unsafe { operands.call(Kind::ReduceScatter, comm, 0, sizes) };
    // SAFETY: as the contract of `call` says.
    Ok(call.taking(move |open| unsafe { block.put(&open.fold(operator)[at..at + bytes]) }))
}

super::forms! {
    /// MPI_Reduce
    reduce ireduce prepare_reduce(
        from: *const c_void, into: *mut c_void, count: i64, datatype: Datatype, op: Op, root: c_int, comm: Comm);
    /// MPI_Allreduce
    allreduce iallreduce prepare_allreduce(
        from: *const c_void, into: *mut c_void, count: i64, datatype: Datatype, op: Op, comm: Comm);
    /// MPI_Scan
    scan iscan prepare_scan(
        from: *const c_void, into: *mut c_void, count: i64, datatype: Datatype, op: Op, comm: Comm);
    /// MPI_Exscan
    exscan iexscan prepare_exscan(
        from: *const c_void, into: *mut c_void, count: i64, datatype: Datatype, op: Op, comm: Comm);
    /// MPI_Reduce_scatter_block
    reduce_scatter_block ireduce_scatter_block prepare_reduce_scatter_block(
        from: *const c_void, into: *mut c_void, count: i64, datatype: Datatype, op: Op, comm: Comm);
    /// MPI_Reduce_scatter
    reduce_scatter ireduce_scatter prepare_reduce_scatter(
        from: *const c_void, into: *mut c_void, counts: Numbers, datatype: Datatype, op: Op, comm: Comm);
}
