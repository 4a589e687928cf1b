//! Sends and receives in one call.

use std::ffi::c_int;

use mpi::operation::{Op, SendMode, Start};

use super::Incoming;
use super::receive::perform;
use super::send::{Lending, Outgoing, settle};
use crate::abi::error::Answer;
use crate::abi::handle::{Comm, Datatype, Request};
use crate::abi::pointers::{Address, OutPtr};
use crate::abi::status::Status;
use crate::call::request::{self, Pending};
use crate::live::process::Process;

/// MPI_Sendrecv
pub fn sendrecv(
    me: &Process,
    from_buffer: Address,
    send_count: i64,
    send_type: Datatype,
    to: c_int,
    send_tag: c_int,
    buffer: Address,
    count: i64,
    datatype: Datatype,
    from: c_int,
    tag: c_int,
    comm: Comm,
    status: OutPtr<Status>,
) -> Answer {
    let incoming = Incoming { buffer, count, datatype, from, tag, comm };
    let outgoing = Outgoing {
        buffer: from_buffer,
        count: send_count,
        datatype: send_type,
        to,
        tag: send_tag,
        comm,
        via: None,
    };
    block(me, outgoing, incoming, Lending::Allowed, status)
}

/// MPI_Sendrecv_replace
pub fn sendrecv_replace(
    me: &Process,
    buffer: Address,
    count: i64,
    datatype: Datatype,
    to: c_int,
    send_tag: c_int,
    from: c_int,
    tag: c_int,
    comm: Comm,
    status: OutPtr<Status>,
) -> Answer {
    let incoming = Incoming { buffer, count, datatype, from, tag, comm };
    let outgoing = Outgoing { buffer, count, datatype, to, tag: send_tag, comm, via: None };
    block(me, outgoing, incoming, Lending::Refused, status)
}

fn block(
    me: &Process,
    outgoing: Outgoing,
    incoming: Incoming,
    lending: Lending,
    status: OutPtr<Status>,
) -> Answer {
    let layout = me.layout(incoming.datatype).map_err(|error| error.of(incoming.comm))?;
    let wanted = incoming.wanted(me, &layout)?;
    let prepared = outgoing.prepare(me, SendMode::Standard, lending)?;
    let answer = perform(me, Op::SendReceive(prepared.send, wanted), incoming, layout, status);
    settle(me, prepared.lent);
    answer
}

/// MPI_Isendrecv
pub fn isendrecv(
    me: &Process,
    from_buffer: Address,
    send_count: i64,
    send_type: Datatype,
    to: c_int,
    send_tag: c_int,
    buffer: Address,
    count: i64,
    datatype: Datatype,
    from: c_int,
    tag: c_int,
    comm: Comm,
    request: OutPtr<Request>,
) -> Answer {
    let incoming = Incoming { buffer, count, datatype, from, tag, comm };
    let outgoing = Outgoing {
        buffer: from_buffer,
        count: send_count,
        datatype: send_type,
        to,
        tag: send_tag,
        comm,
        via: None,
    };
    begin(me, outgoing, incoming, Lending::Allowed, request)
}

/// MPI_Isendrecv_replace
pub fn isendrecv_replace(
    me: &Process,
    buffer: Address,
    count: i64,
    datatype: Datatype,
    to: c_int,
    send_tag: c_int,
    from: c_int,
    tag: c_int,
    comm: Comm,
    request: OutPtr<Request>,
) -> Answer {
    let incoming = Incoming { buffer, count, datatype, from, tag, comm };
    let outgoing = Outgoing { buffer, count, datatype, to, tag: send_tag, comm, via: None };
    begin(me, outgoing, incoming, Lending::Refused, request)
}

fn begin(
    me: &Process,
    outgoing: Outgoing,
    incoming: Incoming,
    lending: Lending,
    request: OutPtr<Request>,
) -> Answer {
    let layout = me.layout(incoming.datatype).map_err(|error| error.of(incoming.comm))?;
    let wanted = incoming.wanted(me, &layout)?;
    let prepared = outgoing.prepare(me, SendMode::Standard, lending)?;
    let both = request::keep(me, Pending::group());
    let receive = Pending::receive(incoming, layout);
    request::begin_part(me, both, receive, |request| Op::Receive(wanted, Start::Request(request)));
    let send = Pending::send(prepared.lent);
    request::begin_part(me, both, send, |request| Op::Send(prepared.send, Start::Request(request)));
    request.set(both);
    Ok(())
}
