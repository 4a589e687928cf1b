//! Dynamic processes: a simulated run has the ranks that it was started with.
//!
//! What would start more, or meet another program's, is refused; what only asks is answered.

use std::ffi::{c_char, c_int};

use super::communicator;
use crate::abi::error::{Answer, Class, Error};
use crate::abi::handle::{Comm, Info};
use crate::live::process::Process;

fn refuse<T>(me: &Process, comm: Comm, class: Class, what: &str) -> Answer<T> {
    communicator::find_intra(me, comm)?;
    Err(Error::new(class, format!("{what}: a simulated run has the ranks that it was started with")).of(comm))
}

/// MPI_Comm_get_parent: nobody has started this program.
pub unsafe fn get_parent(_: &Process, parent: *mut Comm) -> Answer {
    // SAFETY: as the contract of `call` says.
    unsafe { *parent = Comm::NULL };
    Ok(())
}

/// MPI_Comm_spawn
pub unsafe fn spawn(
    me: &Process,
    _command: *const c_char,
    _words: *mut *mut c_char,
    count: c_int,
    _hints: Info,
    _root: c_int,
    comm: Comm,
    new: *mut Comm,
    codes: *mut c_int,
) -> Answer {
    // SAFETY: as the contract of `call` says.
    unsafe {
        *new = Comm::NULL;
        if !codes.is_null() {
            (0..usize::try_from(count).unwrap_or(0)).for_each(|at| *codes.add(at) = Class::SPAWN.0);
        }
    }
    refuse(me, comm, Class::SPAWN, "no processes can be started")
}

/// MPI_Comm_spawn_multiple
pub unsafe fn spawn_multiple(
    me: &Process,
    count: c_int,
    _commands: *mut *mut c_char,
    _words: *mut *mut *mut c_char,
    counts: *const c_int,
    _hints: *const Info,
    _root: c_int,
    comm: Comm,
    new: *mut Comm,
    codes: *mut c_int,
) -> Answer {
    // SAFETY: as the contract of `call` says.
    unsafe {
        *new = Comm::NULL;
        if !codes.is_null() && !counts.is_null() {
            let all = (0..usize::try_from(count).unwrap_or(0)).map(|at| (*counts.add(at)).max(0) as usize);
            (0..all.sum::<usize>()).for_each(|at| *codes.add(at) = Class::SPAWN.0);
        }
    }
    refuse(me, comm, Class::SPAWN, "no processes can be started")
}

/// MPI_Comm_accept, MPI_Comm_connect
pub unsafe fn meet(
    me: &Process,
    _port: *const c_char,
    _hints: Info,
    _root: c_int,
    comm: Comm,
    new: *mut Comm,
) -> Answer {
    // SAFETY: as the contract of `call` says.
    unsafe { *new = Comm::NULL };
    refuse(me, comm, Class::PORT, "no other program can be met")
}

/// MPI_Comm_join
pub unsafe fn join(me: &Process, _file: c_int, new: *mut Comm) -> Answer {
    // SAFETY: as the contract of `call` says.
    unsafe { *new = Comm::NULL };
    refuse(me, Comm::SELF, Class::UNSUPPORTED_OPERATION, "no other program can be met")
}

/// MPI_Open_port
pub unsafe fn open_port(me: &Process, _hints: Info, _port: *mut c_char) -> Answer {
    refuse(me, Comm::SELF, Class::UNSUPPORTED_OPERATION, "no other program can be met")
}

/// MPI_Close_port
pub unsafe fn close_port(me: &Process, _port: *const c_char) -> Answer {
    refuse(me, Comm::SELF, Class::PORT, "no port is open")
}

/// MPI_Publish_name
pub unsafe fn publish_name(
    me: &Process,
    _service: *const c_char,
    _hints: Info,
    _port: *const c_char,
) -> Answer {
    refuse(me, Comm::SELF, Class::UNSUPPORTED_OPERATION, "no other program can be met")
}

/// MPI_Unpublish_name
pub unsafe fn unpublish_name(
    me: &Process,
    _service: *const c_char,
    _hints: Info,
    _port: *const c_char,
) -> Answer {
    refuse(me, Comm::SELF, Class::SERVICE, "no service is published")
}

/// MPI_Lookup_name
pub unsafe fn lookup_name(me: &Process, _service: *const c_char, _hints: Info, _port: *mut c_char) -> Answer {
    refuse(me, Comm::SELF, Class::NAME, "no service is published")
}
