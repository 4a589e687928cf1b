//! Messages from one rank to another.
//!
//! A send packs its buffer at once, so that the program may use it again when the simulated send returns; a
//! receive unpacks when it is complete in simulated time.

use std::ffi::{c_int, c_void};

use engine::Bytes;
use mpi::operation::{self, Op, Peer, SendMode, Start, TagMatch, Via};
use mpi::source;

use super::communicator::{self, Communicator};
use super::datatype::truth;
use super::request::{self, Pending};
use crate::abi::error::{Answer, Class, Error};
use crate::abi::handle::{Comm, Datatype, Request};
use crate::abi::status::Status;
use crate::abi::{ANY_SOURCE, ANY_TAG, PROC_NULL};
use crate::data::datatype::Layout;
use crate::live::process::Process;

/// The arguments of a send, as C has them.
#[derive(Debug, Clone, Copy)]
pub struct Outgoing {
    /// From where.
    pub buffer: *const c_void,
    /// How many.
    pub count: i64,
    /// Of what.
    pub datatype: Datatype,
    /// To whom.
    pub to: c_int,
    /// With which tag.
    pub tag: c_int,
    /// On which communicator.
    pub comm: Comm,
}

/// The arguments of a receive, as C has them.
#[derive(Debug, Clone, Copy)]
pub struct Incoming {
    /// Where to.
    pub buffer: *mut c_void,
    /// How many at most.
    pub count: i64,
    /// Of what.
    pub datatype: Datatype,
    /// From whom.
    pub from: c_int,
    /// With which tag.
    pub tag: c_int,
    /// On which communicator.
    pub comm: Comm,
}

impl Outgoing {
    /// The simulator's send, with its contents packed.
    ///
    /// # Safety
    /// As the contract of `call` says.
    pub unsafe fn packed(&self, me: &Process, mode: SendMode) -> Answer<operation::Send> {
        let comm = communicator::find(me, self.comm)?;
        let send = || -> Answer<operation::Send> {
            let layout = me.layout(self.datatype)?;
            let bytes = Bytes(layout.bytes(self.count)?);
            let to = match self.to {
                PROC_NULL => Peer::Null,
                rank => Peer::Rank(comm.check_rank(rank, Class::RANK)?),
            };
            let tag = u32::try_from(self.tag)
                .map_err(|_| Error::new(Class::TAG, format!("a tag of 0 or more, not {}", self.tag)))?;
            let data = if to == Peer::Null {
                0
            } else {
                // SAFETY: the caller says so.
                me.shared.parcels.borrow_mut().keep(unsafe { layout.pack(self.buffer, self.count) })
            };
            Ok(operation::Send { to, tag, comm: comm.id, bytes, mode, via: Via::PLATFORM, data })
        };
        send().map_err(|error| error.of(self.comm))
    }
}

impl Incoming {
    /// The simulator's receive.
    pub fn wanted(&self, me: &Process, layout: &Layout) -> Answer<operation::Receive> {
        let comm = communicator::find(me, self.comm)?;
        let capacity = layout.bytes(self.count);
        let wanted = capacity.and_then(|capacity| envelope(&comm, self.from, self.tag, Bytes(capacity)));
        wanted.map_err(|error| error.of(self.comm))
    }

    /// Puts what has come into the program's buffer.
    ///
    /// # Safety
    /// As the contract of `call` says.
    pub unsafe fn take(&self, me: &Process, layout: &Layout, status: &source::Status) {
        let contents = me.shared.parcels.borrow_mut().take(status.data);
        // SAFETY: the caller says so; the simulator has checked that the message fits.
        unsafe { layout.unpack(&contents, self.buffer) };
    }

    /// The status for the program.
    pub fn status(&self, status: &source::Status) -> Status {
        if self.from == PROC_NULL { Status::NOBODY } else { Status::of(status) }
    }
}

/// From whom, with which tag.
fn envelope(comm: &Communicator, from: c_int, tag: c_int, capacity: Bytes) -> Answer<operation::Receive> {
    let from = match from {
        PROC_NULL => Peer::Null,
        ANY_SOURCE => Peer::Any,
        rank => Peer::Rank(comm.check_rank(rank, Class::RANK)?),
    };
    let tag = match u32::try_from(tag) {
        Ok(tag) => TagMatch::Tag(tag),
        Err(_) if tag == ANY_TAG => TagMatch::Any,
        Err(_) => {
            return Err(Error::new(Class::TAG, format!("a tag of 0 or more, or MPI_ANY_TAG, not {tag}")));
        }
    };
    Ok(operation::Receive { from, tag, comm: comm.id, capacity })
}

macro_rules! sends {
    ($($(#[$doc:meta])* $blocking:ident $immediate:ident $persistent:ident $mode:ident;)*) => {$(
        $(#[$doc])*
        pub unsafe fn $blocking(
            me: &Process, buffer: *const c_void, count: i64, datatype: Datatype, to: c_int, tag: c_int, comm: Comm,
        ) -> Answer {
            let message = Outgoing { buffer, count, datatype, to, tag, comm };
            // SAFETY: as the contract of `call` says.
            let send = unsafe { message.packed(me, SendMode::$mode) }?;
            me.perform(Op::Send(send, Start::Blocking), |_| ());
            Ok(())
        }

        $(#[$doc])*
        pub unsafe fn $immediate(
            me: &Process, buffer: *const c_void, count: i64, datatype: Datatype, to: c_int, tag: c_int, comm: Comm,
            request: *mut Request,
        ) -> Answer {
            let message = Outgoing { buffer, count, datatype, to, tag, comm };
            // SAFETY: as the contract of `call` says.
            let send = unsafe { message.packed(me, SendMode::$mode) }?;
            let begun = request::begin(me, Pending::send(), |start| Op::Send(send, start));
            // SAFETY: as the contract of `call` says.
            unsafe { *request = begun };
            Ok(())
        }

        $(#[$doc])*
        pub unsafe fn $persistent(
            me: &Process, buffer: *const c_void, count: i64, datatype: Datatype, to: c_int, tag: c_int, comm: Comm,
            request: *mut Request,
        ) -> Answer {
            let message = Outgoing { buffer, count, datatype, to, tag, comm };
            // What is wrong shows now.
            // SAFETY: nothing is read from a buffer for no values.
            unsafe { Outgoing { count: 0, ..message }.packed(me, SendMode::$mode) }?;
            me.layout(datatype)?.bytes(count).map_err(|error| error.of(comm))?;
            let kept = request::keep(me, Pending::persistent_send(message, SendMode::$mode));
            // SAFETY: as the contract of `call` says.
            unsafe { *request = kept };
            Ok(())
        }
    )*};
}

sends! {
    /// MPI_Send and its kin: the library chooses whether it is buffered.
    send isend send_init Standard;
    /// MPI_Bsend and its kin. The buffer that a program attaches is not needed.
    bsend ibsend bsend_init Buffered;
    /// MPI_Ssend and its kin: complete when the receive has begun.
    ssend issend ssend_init Synchronous;
    /// MPI_Rsend and its kin: the receive is posted.
    rsend irsend rsend_init Ready;
}

/// MPI_Recv
pub unsafe fn recv(
    me: &Process,
    buffer: *mut c_void,
    count: i64,
    datatype: Datatype,
    from: c_int,
    tag: c_int,
    comm: Comm,
    status: *mut Status,
) -> Answer {
    let message = Incoming { buffer, count, datatype, from, tag, comm };
    let layout = me.layout(datatype).map_err(|error| error.of(comm))?;
    let wanted = message.wanted(me, &layout)?;
    let got = me.perform(Op::Receive(wanted, Start::Blocking), |done| done.status);
    // SAFETY: as the contract of `call` says.
    unsafe {
        message.take(me, &layout, &got);
        message.status(&got).write(status);
    }
    Ok(())
}

/// MPI_Irecv
pub unsafe fn irecv(
    me: &Process,
    buffer: *mut c_void,
    count: i64,
    datatype: Datatype,
    from: c_int,
    tag: c_int,
    comm: Comm,
    request: *mut Request,
) -> Answer {
    let message = Incoming { buffer, count, datatype, from, tag, comm };
    let layout = me.layout(datatype).map_err(|error| error.of(comm))?;
    let wanted = message.wanted(me, &layout)?;
    let begun = request::begin(me, Pending::receive(message, layout), |start| Op::Receive(wanted, start));
    // SAFETY: as the contract of `call` says.
    unsafe { *request = begun };
    Ok(())
}

/// MPI_Recv_init
pub unsafe fn recv_init(
    me: &Process,
    buffer: *mut c_void,
    count: i64,
    datatype: Datatype,
    from: c_int,
    tag: c_int,
    comm: Comm,
    request: *mut Request,
) -> Answer {
    let message = Incoming { buffer, count, datatype, from, tag, comm };
    let layout = me.layout(datatype).map_err(|error| error.of(comm))?;
    message.wanted(me, &layout)?;
    let kept = request::keep(me, Pending::persistent_receive(message, layout));
    // SAFETY: as the contract of `call` says.
    unsafe { *request = kept };
    Ok(())
}

/// MPI_Sendrecv
pub unsafe fn sendrecv(
    me: &Process,
    from_buffer: *const c_void,
    send_count: i64,
    send_type: Datatype,
    to: c_int,
    send_tag: c_int,
    buffer: *mut c_void,
    count: i64,
    datatype: Datatype,
    from: c_int,
    tag: c_int,
    comm: Comm,
    status: *mut Status,
) -> Answer {
    let incoming = Incoming { buffer, count, datatype, from, tag, comm };
    let outgoing =
        Outgoing { buffer: from_buffer, count: send_count, datatype: send_type, to, tag: send_tag, comm };
    let layout = me.layout(datatype).map_err(|error| error.of(comm))?;
    let wanted = incoming.wanted(me, &layout)?;
    // SAFETY: as the contract of `call` says.
    let send = unsafe { outgoing.packed(me, SendMode::Standard) }?;
    let got = me.perform(Op::SendReceive(send, wanted), |done| done.status);
    // SAFETY: as the contract of `call` says.
    unsafe {
        incoming.take(me, &layout, &got);
        incoming.status(&got).write(status);
    }
    Ok(())
}

/// MPI_Sendrecv_replace
pub unsafe fn sendrecv_replace(
    me: &Process,
    buffer: *mut c_void,
    count: i64,
    datatype: Datatype,
    to: c_int,
    send_tag: c_int,
    from: c_int,
    tag: c_int,
    comm: Comm,
    status: *mut Status,
) -> Answer {
    // SAFETY: as the contract of `call` says; what is sent is packed before anything is received.
    unsafe {
        sendrecv(me, buffer, count, datatype, to, send_tag, buffer, count, datatype, from, tag, comm, status)
    }
}

/// MPI_Probe
pub unsafe fn probe(me: &Process, from: c_int, tag: c_int, comm: Comm, status: *mut Status) -> Answer {
    let wanted = probed(me, from, tag, comm)?;
    let found = me.perform(Op::Probe(wanted), |done| done.status);
    let told = if from == PROC_NULL { Status::NOBODY } else { Status::of(&found) };
    // SAFETY: as the contract of `call` says.
    unsafe { told.write(status) };
    Ok(())
}

/// MPI_Iprobe
pub unsafe fn iprobe(
    me: &Process,
    from: c_int,
    tag: c_int,
    comm: Comm,
    flag: *mut c_int,
    status: *mut Status,
) -> Answer {
    let wanted = probed(me, from, tag, comm)?;
    let (there, found) = me.perform(Op::ProbeNow(wanted), |done| (done.flag, done.status));
    // SAFETY: as the contract of `call` says.
    unsafe {
        *flag = truth(there || from == PROC_NULL);
        if from == PROC_NULL {
            Status::NOBODY.write(status);
        } else if there {
            Status::of(&found).write(status);
        }
    }
    Ok(())
}

fn probed(me: &Process, from: c_int, tag: c_int, comm: Comm) -> Answer<operation::Receive> {
    let found = communicator::find(me, comm)?;
    envelope(&found, from, tag, Bytes(u64::MAX)).map_err(|error| error.of(comm))
}
