//! Collectives that combine values.

use std::ffi::c_int;
use std::rc::Rc;

use mpi::collective::{Kind, Sizes};

use super::rooted::{Role, Rooted};
use super::{Call, among, distinct, equal, in_place, not_in_place, others};
use crate::abi::arguments::Numbers;
use crate::abi::error::Answer;
use crate::abi::handle::{Comm, Datatype, Info, Op, Request};
use crate::abi::pointers::Address;
use crate::call::communicator::{self, Communicator};
use crate::call::operation;
use crate::call::user_buffer::UserBuffer;
use crate::data::meeting::Given;
use crate::data::operator::Operator;
use crate::live::process::Process;

/// UserBuffer to be combined: from where, where to, and how.
struct Operands {
    from: UserBuffer,
    into: UserBuffer,
    operator: Operator,
    op: Op,
}

impl Operands {
    fn new(
        me: &Process,
        from: Address,
        into: Address,
        count: i64,
        datatype: Datatype,
        op: Op,
    ) -> Answer<Operands> {
        let source = if in_place(from) { into } else { from };
        let from = UserBuffer::new(me, source, count, datatype)?;
        let operator = operation::operator(me, op, datatype, from.layout())?;
        let into = from.moved(into);
        Ok(Operands { from, into, operator, op })
    }

    /// The same for a rank that wants the result, which it must not want where its operands are.
    fn distinct(
        me: &Process,
        from: Address,
        into: Address,
        count: i64,
        datatype: Datatype,
        op: Op,
    ) -> Answer<Operands> {
        not_in_place(into, "the receive buffer")?;
        let operands = Operands::new(me, from, into, count, datatype, op)?;
        distinct(from, into, operands.from.bytes())?;
        Ok(operands)
    }

    /// The same for a rank of `comm`: between two groups nothing is in place.
    fn among(
        me: &Process,
        comm: &Communicator,
        from: Address,
        into: Address,
        count: i64,
        datatype: Datatype,
        op: Op,
    ) -> Answer<Operands> {
        if comm.is_inter() {
            not_in_place(from, "the send buffer between two groups")?;
        }
        Operands::distinct(me, from, into, count, datatype, op)
    }

    fn call(&self, kind: Kind, comm: Rc<Communicator>, sizes: Sizes) -> Call {
        let from = self.from.clone();
        let mut call = Call::new(kind, comm, sizes).giving(move || Given::whole(from.pack()));
        call.collective.element = self.from.layout().size.clamp(1, u32::MAX as usize) as u32;
        call.collective.commutative = self.operator.commutes();
        // Functions of the program have other handles on other ranks.
        call.operator = Some(if self.op.0 < FIRST_OWN { self.op.0 } else { 0 });
        call
    }
}

/// Handles of predefined operations are below this.
const FIRST_OWN: usize = 0x1000;

fn prepare_reduce(
    me: &Process,
    from: Address,
    into: Address,
    count: i64,
    datatype: Datatype,
    op: Op,
    root: c_int,
    comm: Comm,
) -> Answer<Call> {
    let rooted = Rooted::new(me, comm, root)?;
    let (members, takes, own) = (others(&rooted.comm), rooted.is_root(), rooted.comm.place as usize);
    if rooted.role == Role::Idle {
        return Ok(Call::new(Kind::Reduce, rooted.comm, equal(0)).rooted(rooted.root));
    }
    let operands = if !rooted.has_block() {
        // The root of the other group has nothing to give.
        Operands::new(me, into, into, count, datatype, op)?
    } else if takes {
        Operands::distinct(me, from, into, count, datatype, op)?
    } else {
        not_in_place(from, "the send buffer, but at the root")?;
        Operands::new(me, from, into, count, datatype, op)?
    };
    let bytes = operands.from.bytes();
    let call = operands.call(Kind::Reduce, rooted.comm, equal(bytes)).rooted(rooted.root);
    if !takes || bytes == 0 {
        return Ok(call);
    }
    let Operands { into, operator, .. } = operands;
    Ok(call.taking(move |open| into.put(&open.fold(&operator, members.clone(), own), 0)))
}

fn prepare_allreduce(
    me: &Process,
    from: Address,
    into: Address,
    count: i64,
    datatype: Datatype,
    op: Op,
    comm: Comm,
) -> Answer<Call> {
    let comm = communicator::find(me, comm)?;
    let operands = Operands::among(me, &comm, from, into, count, datatype, op)?;
    let (members, own) = (others(&comm), comm.place as usize);
    let bytes = operands.from.bytes();
    let call = operands.call(Kind::Allreduce, comm, equal(bytes));
    if bytes == 0 {
        return Ok(call);
    }
    let Operands { into, operator, .. } = operands;
    Ok(call.taking(move |open| into.put(&open.fold(&operator, members.clone(), own), 0)))
}

fn prepare_scan(
    me: &Process,
    from: Address,
    into: Address,
    count: i64,
    datatype: Datatype,
    op: Op,
    comm: Comm,
) -> Answer<Call> {
    prefixes(me, Kind::Scan, (from, into), count, datatype, op, comm)
}

fn prepare_exscan(
    me: &Process,
    from: Address,
    into: Address,
    count: i64,
    datatype: Datatype,
    op: Op,
    comm: Comm,
) -> Answer<Call> {
    prefixes(me, Kind::Exscan, (from, into), count, datatype, op, comm)
}

fn prefixes(
    me: &Process,
    kind: Kind,
    (from, into): (Address, Address),
    count: i64,
    datatype: Datatype,
    op: Op,
    comm: Comm,
) -> Answer<Call> {
    let comm = communicator::find_intra(me, comm)?;
    let operands = Operands::distinct(me, from, into, count, datatype, op)?;
    let before = comm.rank as usize + usize::from(kind == Kind::Scan);
    let bytes = operands.from.bytes();
    let call = operands.call(kind, comm, equal(bytes));
    if before == 0 || bytes == 0 {
        return Ok(call);
    }
    let Operands { into, operator, .. } = operands;
    Ok(call.taking(move |open| into.put(&open.prefix(&operator, before), 0)))
}

fn prepare_reduce_scatter_block(
    me: &Process,
    from: Address,
    into: Address,
    count: i64,
    datatype: Datatype,
    op: Op,
    comm: Comm,
) -> Answer<Call> {
    let comm = communicator::find(me, comm)?;
    let operands = Operands::among(me, &comm, from, into, count * i64::from(comm.size), datatype, op)?;
    let first = count * i64::from(comm.rank);
    let block = operands.into.part(0, count).bytes();
    let sizes = if comm.is_inter() { of_own(&comm, &vec![block; comm.size as usize]) } else { equal(block) };
    Ok(scattered(operands, Kind::ReduceScatterBlock, comm, sizes, (first, count)))
}

fn prepare_reduce_scatter(
    me: &Process,
    from: Address,
    into: Address,
    counts: Numbers,
    datatype: Datatype,
    op: Op,
    comm: Comm,
) -> Answer<Call> {
    let comm = communicator::find(me, comm)?;
    let layout = me.layout(datatype)?;
    let counts = (0..comm.size as usize).map(|index| counts.get(index));
    let counts: Vec<i64> = counts.map(|count| layout.bytes(count).map(|_| count)).collect::<Answer<_>>()?;
    let operands = Operands::among(me, &comm, from, into, counts.iter().sum(), datatype, op)?;
    let rank = comm.rank as usize;
    let (first, count) = (counts[..rank].iter().sum(), counts[rank]);
    let lengths: Vec<u64> = counts.iter().map(|count| *count as u64 * layout.size as u64).collect();
    let sizes = of_own(&comm, &lengths);
    Ok(scattered(operands, Kind::ReduceScatter, comm, sizes, (first, count)))
}

/// The lengths of the blocks of this rank's group.
fn of_own(comm: &Communicator, lengths: &[u64]) -> Sizes {
    let first = (comm.place - comm.rank) as usize;
    Sizes::ByRank(among(comm, first..first + lengths.len(), lengths))
}

/// Reduction of which this rank takes `count` values from `first` on.
fn scattered(
    operands: Operands,
    kind: Kind,
    comm: Rc<Communicator>,
    sizes: Sizes,
    (first, count): (i64, i64),
) -> Call {
    let (members, own) = (others(&comm), comm.place as usize);
    let call = operands.call(kind, comm, sizes);
    let Operands { into, operator, .. } = operands;
    let each = into.layout().packed();
    let (begin, end) = (each * first as usize, each * (first + count) as usize);
    if begin == end {
        return call;
    }
    let block = into.part(0, count);
    call.taking(move |open| {
        let total = open.fold(&operator, members.clone(), own);
        block.put(total.get(begin..end).unwrap_or_default(), 0)
    })
}

super::forms! {
    /// MPI_Reduce
    reduce ireduce reduce_init prepare_reduce on comm (
        from: Address, into: Address, count: i64, datatype: Datatype, op: Op, root: c_int, comm: Comm);
    /// MPI_Allreduce
    allreduce iallreduce allreduce_init prepare_allreduce on comm (
        from: Address, into: Address, count: i64, datatype: Datatype, op: Op, comm: Comm);
    /// MPI_Scan
    scan iscan scan_init prepare_scan on comm (
        from: Address, into: Address, count: i64, datatype: Datatype, op: Op, comm: Comm);
    /// MPI_Exscan
    exscan iexscan exscan_init prepare_exscan on comm (
        from: Address, into: Address, count: i64, datatype: Datatype, op: Op, comm: Comm);
    /// MPI_Reduce_scatter_block
    reduce_scatter_block ireduce_scatter_block reduce_scatter_block_init prepare_reduce_scatter_block on comm (
        from: Address, into: Address, count: i64, datatype: Datatype, op: Op, comm: Comm);
    /// MPI_Reduce_scatter
    reduce_scatter ireduce_scatter reduce_scatter_init prepare_reduce_scatter on comm (
        from: Address, into: Address, counts: Numbers, datatype: Datatype, op: Op, comm: Comm);
}
