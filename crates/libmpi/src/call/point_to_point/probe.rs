//! Probes, and receives of what a probe has taken.

use std::ffi::c_int;

use engine::Bytes;
use mpi::operation::{self, Op, Start};

use super::receive::{Incoming, perform};
use super::{sender, tags};
use crate::abi::error::{Answer, Class, Error};
use crate::abi::handle::{self, Comm, Datatype, Message, Request};
use crate::abi::pointers::{Address, InOutPtr, OutPtr};
use crate::abi::status::Status;
use crate::abi::{ANY_SOURCE, ANY_TAG, PROC_NULL};
use crate::call::communicator;
use crate::call::datatype::truth;
use crate::call::request::{self, Pending};
use crate::live::process::Process;
use crate::objects::message::Taken;

/// MPI_Probe
pub fn probe(me: &Process, from: c_int, tag: c_int, comm: Comm, status: OutPtr<Status>) -> Answer {
    let wanted = probed(me, from, tag, comm)?;
    let found = me.perform(Op::Probe(wanted), |done| done.status);
    told(from, &found).write(status);
    Ok(())
}

/// MPI_Iprobe
pub fn iprobe(
    me: &Process,
    from: c_int,
    tag: c_int,
    comm: Comm,
    flag: OutPtr<c_int>,
    status: OutPtr<Status>,
) -> Answer {
    let wanted = probed(me, from, tag, comm)?;
    let (there, found) = me.perform(Op::ProbeNow(wanted), |done| (done.flag, done.status));
    flag.set(truth(there));
    if there {
        told(from, &found).write(status);
    }
    Ok(())
}

/// MPI_Mprobe
pub fn mprobe(
    me: &Process,
    from: c_int,
    tag: c_int,
    comm: Comm,
    message: OutPtr<Message>,
    status: OutPtr<Status>,
) -> Answer {
    let mut flag = 0;
    matched(me, (from, tag, comm), true, OutPtr::of(&mut flag), message, status)
}

/// MPI_Improbe
pub fn improbe(
    me: &Process,
    from: c_int,
    tag: c_int,
    comm: Comm,
    flag: OutPtr<c_int>,
    message: OutPtr<Message>,
    status: OutPtr<Status>,
) -> Answer {
    matched(me, (from, tag, comm), false, flag, message, status)
}

fn matched(
    me: &Process,
    (from, tag, comm): (c_int, c_int, Comm),
    waits: bool,
    flag: OutPtr<c_int>,
    message: OutPtr<Message>,
    status: OutPtr<Status>,
) -> Answer {
    let wanted = probed(me, from, tag, comm)?;
    let op = Op::ProbeMatched(wanted, waits);
    let (there, found, number) = me.perform(op, |done| (done.flag, done.status, done.matched));
    flag.set(truth(there || waits));
    if !there && !waits {
        message.set(Message::NULL);
        return Ok(());
    }
    message.set(match from {
        PROC_NULL => Message::NO_PROC,
        _ => Message(handle::number(me.messages.borrow_mut().insert(Taken { number, comm }))),
    });
    told(from, &found).write(status);
    Ok(())
}

fn told(from: c_int, found: &mpi::source::Status) -> Status {
    if from == PROC_NULL { Status::NOBODY } else { Status::of(found) }
}

fn probed(me: &Process, from: c_int, tag: c_int, comm: Comm) -> Answer<operation::Receive> {
    let found = communicator::find(me, comm)?;
    let probed = || {
        let (from, tag) = (sender(&found, from)?, tags(tag)?);
        Ok(operation::Receive { from, tag, comm: found.id, capacity: Bytes(u64::MAX) })
    };
    probed().map_err(|error: Error| error.of(comm))
}

/// The receive of a message that was taken, whose handle becomes null; `None` for that of nobody.
fn of_message(
    me: &Process,
    buffer: Address,
    count: i64,
    datatype: Datatype,
    mut message: InOutPtr<Message>,
) -> Answer<(Incoming, Option<u64>)> {
    let message = &mut *message;
    let incoming = |from, comm| Incoming { buffer, count, datatype, from, tag: ANY_TAG, comm };
    if *message == Message::NO_PROC {
        *message = Message::NULL;
        return Ok((incoming(PROC_NULL, Comm::WORLD), None));
    }
    let taken = me.messages.borrow_mut().remove(message.0).ok_or_else(|| {
        Error::new(Class::REQUEST, format!("{:#x} is not a message that a probe gave", message.0))
    })?;
    *message = Message::NULL;
    Ok((incoming(ANY_SOURCE, taken.comm), Some(taken.number)))
}

/// MPI_Mrecv
pub fn mrecv(
    me: &Process,
    buffer: Address,
    count: i64,
    datatype: Datatype,
    message: InOutPtr<Message>,
    status: OutPtr<Status>,
) -> Answer {
    let layout = me.layout(datatype)?;
    layout.bytes(count)?;
    match of_message(me, buffer, count, datatype, message)? {
        (_, None) => {
            Status::NOBODY.write(status);
            Ok(())
        }
        (incoming, Some(number)) => {
            let op = Op::ReceiveMatched(number, Start::Blocking);
            perform(me, op, incoming, layout, status)
        }
    }
}

/// MPI_Imrecv
pub fn imrecv(
    me: &Process,
    buffer: Address,
    count: i64,
    datatype: Datatype,
    message: InOutPtr<Message>,
    request: OutPtr<Request>,
) -> Answer {
    let layout = me.layout(datatype)?;
    layout.bytes(count)?;
    let (incoming, number) = of_message(me, buffer, count, datatype, message)?;
    let number = number.unwrap_or(mpi::world::NO_MESSAGE);
    let pending = Pending::receive(incoming, layout);
    let begun = request::begin(me, pending, |start| Op::ReceiveMatched(number, start));
    request.set(begun);
    Ok(())
}
