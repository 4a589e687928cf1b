//! The buffers that programs attach for sends in buffered mode.
//!
//! The bytes of messages are kept by the library; a buffer counts what they would take in it, each with
//! MPI_BSEND_OVERHEAD. A message takes its room until it has left in simulated time.
//!
//! Source: MPI 5.0, 3.6. A send takes the buffer of its communicator, else that of the process, else a session's.
//! (The standard has those of sessions for communicators that come from them; a communicator does not remember that.)

use std::ffi::c_void;
use std::ptr;

use mpi::operation::{Draining, Op};

use crate::abi::arguments::NumberOut;
use crate::abi::error::{Answer, Class, Error};
use crate::abi::handle::{Comm, Request, Session};
use crate::abi::pointers::OutPtr;
use crate::call::communicator;
use crate::call::request::{self, Pending};
use crate::call::session;
use crate::live::process::Process;
use crate::objects::message::{Attached, Owner};

/// MPI_BSEND_OVERHEAD, which programs have compiled in: of the standard's header, or of MPICH's.
fn overhead() -> u64 {
    if crate::translation::is_spoken() { 96 } else { 512 }
}

/// MPI_BUFFER_AUTOMATIC
const AUTOMATIC: usize = 2;

/// Takes room for a message of `bytes` to somebody.
pub(super) fn claim(me: &Process, comm: Comm, bytes: u64, nobody: bool) -> Answer {
    if nobody {
        return Ok(());
    }
    let owners = |owner: Owner| match owner {
        Owner::Comm(number) => (number == comm.0).then_some(0),
        Owner::Process => Some(1),
        Owner::Session(_) => Some(2),
    };
    let place = {
        let buffers = me.buffers.borrow();
        let fitting = buffers.0.iter().enumerate();
        let fitting = fitting.filter_map(|(place, held)| Some((owners(held.owner)?, place)));
        fitting.min().map(|(_, place)| place)
    };
    let Some(place) = place else {
        return Err(Error::new(Class::BUFFER, "a send in buffered mode, and no buffer is attached"));
    };
    let (need, held) = (bytes + overhead(), me.buffers.borrow().0[place]);
    if held.at as usize == AUTOMATIC {
        return Ok(());
    }
    let mut used = held.used;
    if used + need > held.size {
        let (left, count) = me.perform(Op::Drain(Draining::Ask), |done| (done.status.bytes, done.matched));
        used = used.min(left + count * overhead());
    }
    if used + need > held.size {
        let reason = format!(
            "{bytes} bytes and MPI_BSEND_OVERHEAD ({}) into a buffer of {} bytes, {used} in use",
            overhead(),
            held.size
        );
        return Err(Error::new(Class::BUFFER, reason));
    }
    me.buffers.borrow_mut().0[place].used = used + need;
    Ok(())
}

fn attach(me: &Process, owner: Owner, at: *mut c_void, size: i64) -> Answer {
    let size = u64::try_from(size)
        .map_err(|_| Error::new(Class::ARG, format!("a buffer of 0 bytes or more, not {size}")))?;
    let buffers = &mut me.buffers.borrow_mut().0;
    if buffers.iter().any(|held| held.owner == owner) {
        return Err(Error::new(Class::BUFFER, "a buffer is attached already"));
    }
    buffers.push(Attached { owner, at, size, used: 0 });
    Ok(())
}

unsafe fn detach(me: &Process, owner: Owner, at: *mut c_void, size: NumberOut) -> Answer {
    flush(me);
    let buffers = &mut me.buffers.borrow_mut().0;
    let found = buffers.iter().position(|held| held.owner == owner).map(|place| buffers.remove(place));
    let (was, bytes) = found.map_or((ptr::null_mut(), 0), |held| (held.at, held.size));
    // SAFETY: as the contract of `call` says, `at` is where a pointer is wanted.
    unsafe {
        *at.cast::<*mut c_void>() = was;
        size.set(if was as usize == AUTOMATIC { 0 } else { bytes as i64 });
    }
    Ok(())
}

/// Waits until all that was sent in buffered mode has left.
pub fn flush(me: &Process) {
    me.perform(Op::Drain(Draining::Wait), |_| ());
    me.buffers.borrow_mut().0.iter_mut().for_each(|held| held.used = 0);
}

fn flush_later(me: &Process, request: OutPtr<Request>) -> Answer {
    request.set(request::keep(me, Pending::flush()));
    Ok(())
}

fn of_comm(me: &Process, comm: Comm) -> Answer<Owner> {
    communicator::find(me, comm)?;
    Ok(Owner::Comm(comm.0))
}

fn of_session(me: &Process, session: Session) -> Answer<Owner> {
    session::find(me, session)?;
    Ok(Owner::Session(session.0))
}

/// A session ends, and what is attached to it with it.
pub fn release_session(me: &Process, session: Session) {
    let owner = Owner::Session(session.0);
    if me.buffers.borrow().0.iter().any(|held| held.owner == owner) {
        flush(me);
        me.buffers.borrow_mut().0.retain(|held| held.owner != owner);
    }
}

/// MPI_Session_attach_buffer
pub unsafe fn session_attach_buffer(me: &Process, session: Session, at: *mut c_void, size: i64) -> Answer {
    attach(me, of_session(me, session)?, at, size).map_err(|error| error.of(session))
}

/// MPI_Session_detach_buffer
pub unsafe fn session_detach_buffer(
    me: &Process,
    session: Session,
    at: *mut c_void,
    size: NumberOut,
) -> Answer {
    let owner = of_session(me, session)?;
    // SAFETY: as the contract of `call` says.
    unsafe { detach(me, owner, at, size) }
}

/// MPI_Session_flush_buffer
pub fn session_flush_buffer(me: &Process, session: Session) -> Answer {
    of_session(me, session)?;
    flush(me);
    Ok(())
}

/// MPI_Session_iflush_buffer
pub fn session_iflush_buffer(me: &Process, session: Session, request: OutPtr<Request>) -> Answer {
    of_session(me, session)?;
    flush_later(me, request)
}

/// MPI_Buffer_attach
pub unsafe fn buffer_attach(me: &Process, at: *mut c_void, size: i64) -> Answer {
    attach(me, Owner::Process, at, size)
}

/// MPI_Buffer_detach
pub unsafe fn buffer_detach(me: &Process, at: *mut c_void, size: NumberOut) -> Answer {
    // SAFETY: as the contract of `call` says.
    unsafe { detach(me, Owner::Process, at, size) }
}

/// MPI_Buffer_flush
pub fn buffer_flush(me: &Process) -> Answer {
    flush(me);
    Ok(())
}

/// MPI_Buffer_iflush
pub fn buffer_iflush(me: &Process, request: OutPtr<Request>) -> Answer {
    flush_later(me, request)
}

/// MPI_Comm_attach_buffer
pub unsafe fn comm_attach_buffer(me: &Process, comm: Comm, at: *mut c_void, size: i64) -> Answer {
    attach(me, of_comm(me, comm)?, at, size).map_err(|error| error.of(comm))
}

/// MPI_Comm_detach_buffer
pub unsafe fn comm_detach_buffer(me: &Process, comm: Comm, at: *mut c_void, size: NumberOut) -> Answer {
    let owner = of_comm(me, comm)?;
    // SAFETY: as the contract of `call` says.
    unsafe { detach(me, owner, at, size) }
}

/// MPI_Comm_flush_buffer
pub fn comm_flush_buffer(me: &Process, comm: Comm) -> Answer {
    of_comm(me, comm)?;
    flush(me);
    Ok(())
}

/// MPI_Comm_iflush_buffer
pub fn comm_iflush_buffer(me: &Process, comm: Comm, request: OutPtr<Request>) -> Answer {
    of_comm(me, comm)?;
    flush_later(me, request)
}
