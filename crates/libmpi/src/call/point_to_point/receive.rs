//! Receives, blocking, immediate and persistent.

use std::ffi::c_int;
use std::ptr;

use engine::Bytes;
use mpi::operation::{self, Data, Op, Start};
use mpi::source;

use super::{sender, tags};
use crate::abi::PROC_NULL;
use crate::abi::error::{Answer, Class, Error};
use crate::abi::handle::{Comm, Datatype, Errhandler, Request};
use crate::abi::pointers::{Address, OutPtr};
use crate::abi::status::Status;
use crate::call::communicator;
use crate::call::error::effective;
use crate::call::request::{self, Pending};
use crate::data::datatype::Layout;
use crate::data::parcel::Place;
use crate::live::process::Process;
pub use crate::objects::message::Incoming;

impl Incoming {
    /// The simulator's receive. A message that is too long ends the run there, with both ranks in the report,
    /// unless the error handler is to be asked.
    pub fn wanted(&self, me: &Process, layout: &Layout) -> Answer<operation::Receive> {
        let comm = communicator::look(me, self.comm)?;
        let wanted = || {
            let capacity = Bytes(layout.bytes(self.count)?);
            let (from, tag) = (sender(&comm, self.from)?, tags(self.tag)?);
            let fatal = effective(me, self.comm.into()) == Errhandler::ARE_FATAL;
            let capacity = if fatal { capacity } else { Bytes(u64::MAX) };
            Ok(operation::Receive { from, tag, comm: comm.id, capacity })
        };
        wanted().map_err(|error: Error| error.of(self.comm))
    }

    /// Place to which its contents go.
    pub fn place(&self, layout: &Layout) -> Place {
        Place { at: self.buffer, count: self.count, layout: layout.clone() }
    }

    /// Puts what has come into the program's buffer; refuses what is longer than it.
    pub fn take(&self, me: &Process, layout: &Layout, status: &source::Status) -> Answer {
        me.shared.parcels.borrow_mut().take(status.data, &self.place(layout), me.rank);
        let room = layout.bytes(self.count)?;
        if status.bytes <= room {
            let ends_within = layout.basic.is_none() && layout.elements_in(status.bytes).is_none();
            if !ends_within || status.cancelled {
                return Ok(());
            }
            let reason = format!(
                "{} bytes from rank {} end within a predefined value of the receive's datatype",
                status.bytes, status.source
            );
            return Err(Error::new(Class::TYPE, reason).of(self.comm));
        }
        let reason =
            format!("{} bytes from rank {} do not fit into {room} bytes", status.bytes, status.source);
        Err(Error::new(Class::TRUNCATE, reason).of(self.comm))
    }

    /// The status for the program.
    pub fn status(&self, status: &source::Status) -> Status {
        if self.from == PROC_NULL { Status::NOBODY } else { Status::of(status) }
    }
}

/// Performs `op`, which receives in this call, and takes what it gives.
pub(super) fn perform(
    me: &Process,
    op: Op,
    message: Incoming,
    layout: Layout,
    status: OutPtr<Status>,
) -> Answer {
    let standing = (message, layout);
    me.receiving.set(&standing);
    let got = me.perform(op, |done| done.status);
    me.receiving.set(ptr::null());
    message.status(&got).write(status);
    message.take(me, &standing.1, &got)
}

/// The message with contents `data` goes into a receive of `me` for certain.
pub fn land(me: &Process, data: Data, request: Option<operation::Request>) {
    let place = match request {
        Some(request) => request::receiving(me, request),
        None => {
            // SAFETY: set only while the call stands that it belongs to.
            unsafe { me.receiving.get().as_ref() }.map(|(message, layout)| message.place(layout))
        }
    };
    if let Some(place) = place {
        me.shared.parcels.borrow_mut().land(data, &place, me.rank);
    }
}

/// MPI_Recv
pub fn recv(
    me: &Process,
    buffer: Address,
    count: i64,
    datatype: Datatype,
    from: c_int,
    tag: c_int,
    comm: Comm,
    status: OutPtr<Status>,
) -> Answer {
    let message = Incoming { buffer, count, datatype, from, tag, comm };
    let layout = me.layout(datatype).map_err(|error| error.of(comm))?;
    let wanted = message.wanted(me, &layout)?;
    perform(me, Op::Receive(wanted, Start::Blocking), message, layout, status)
}

/// MPI_Irecv
pub fn irecv(
    me: &Process,
    buffer: Address,
    count: i64,
    datatype: Datatype,
    from: c_int,
    tag: c_int,
    comm: Comm,
    request: OutPtr<Request>,
) -> Answer {
    let message = Incoming { buffer, count, datatype, from, tag, comm };
    let layout = me.layout(datatype).map_err(|error| error.of(comm))?;
    let wanted = message.wanted(me, &layout)?;
    let begun = request::begin(me, Pending::receive(message, layout), |start| Op::Receive(wanted, start));
    request.set(begun);
    Ok(())
}

/// MPI_Recv_init
pub fn recv_init(
    me: &Process,
    buffer: Address,
    count: i64,
    datatype: Datatype,
    from: c_int,
    tag: c_int,
    comm: Comm,
    request: OutPtr<Request>,
) -> Answer {
    let message = Incoming { buffer, count, datatype, from, tag, comm };
    let layout = me.layout(datatype).map_err(|error| error.of(comm))?;
    message.wanted(me, &layout)?;
    let kept = request::keep(me, Pending::persistent_receive(message, layout));
    request.set(kept);
    Ok(())
}
