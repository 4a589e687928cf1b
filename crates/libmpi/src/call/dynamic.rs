//! Dynamic processes: a simulated run has the ranks that it was started with.
//!
//! What would start more, or meet another program's, is refused; what only asks is answered.

use std::ffi::{c_char, c_int};

use super::communicator;
use crate::abi::error::{Answer, Class, Error};
use crate::abi::handle::{Comm, Info};
use crate::abi::pointers::{InList, InText, OutList, OutPtr, OutText};
use crate::live::process::Process;

fn refuse<T>(me: &Process, comm: Comm, class: Class, what: &str) -> Answer<T> {
    communicator::find_intra(me, comm)?;
    Err(Error::new(class, format!("{what}: a simulated run has the ranks that it was started with")).of(comm))
}

/// MPI_Comm_get_parent: nobody has started this program.
pub fn get_parent(_: &Process, parent: OutPtr<Comm>) -> Answer {
    parent.set(Comm::NULL);
    Ok(())
}

/// MPI_Comm_spawn
pub unsafe fn spawn(
    me: &Process,
    _command: InText,
    _words: *mut *mut c_char,
    count: c_int,
    _hints: Info,
    _root: c_int,
    comm: Comm,
    new: OutPtr<Comm>,
    codes: OutList<c_int>,
) -> Answer {
    new.set(Comm::NULL);
    if !codes.is_null() {
        (0..usize::try_from(count).unwrap_or(0)).for_each(|at| codes.at(at).set(Class::SPAWN.0));
    }
    refuse(me, comm, Class::SPAWN, "no processes can be started")
}

/// MPI_Comm_spawn_multiple
pub unsafe fn spawn_multiple(
    me: &Process,
    count: c_int,
    _commands: *mut *mut c_char,
    _words: *mut *mut *mut c_char,
    counts: InList<c_int>,
    _hints: InList<Info>,
    _root: c_int,
    comm: Comm,
    new: OutPtr<Comm>,
    codes: OutList<c_int>,
) -> Answer {
    new.set(Comm::NULL);
    if !codes.is_null() && !counts.is_null() {
        let all = (0..usize::try_from(count).unwrap_or(0)).map(|at| (counts.get(at)).max(0) as usize);
        (0..all.sum::<usize>()).for_each(|at| codes.at(at).set(Class::SPAWN.0));
    }
    refuse(me, comm, Class::SPAWN, "no processes can be started")
}

/// MPI_Comm_accept, MPI_Comm_connect
pub fn meet(
    me: &Process,
    _port: InText,
    _hints: Info,
    _root: c_int,
    comm: Comm,
    new: OutPtr<Comm>,
) -> Answer {
    new.set(Comm::NULL);
    refuse(me, comm, Class::PORT, "no other program can be met")
}

/// MPI_Comm_join
pub fn join(me: &Process, _file: c_int, new: OutPtr<Comm>) -> Answer {
    new.set(Comm::NULL);
    refuse(me, Comm::SELF, Class::UNSUPPORTED_OPERATION, "no other program can be met")
}

/// MPI_Open_port
pub fn open_port(me: &Process, _hints: Info, _port: OutText) -> Answer {
    refuse(me, Comm::SELF, Class::UNSUPPORTED_OPERATION, "no other program can be met")
}

/// MPI_Close_port
pub fn close_port(me: &Process, _port: InText) -> Answer {
    refuse(me, Comm::SELF, Class::PORT, "no port is open")
}

/// MPI_Publish_name
pub fn publish_name(me: &Process, _service: InText, _hints: Info, _port: InText) -> Answer {
    refuse(me, Comm::SELF, Class::UNSUPPORTED_OPERATION, "no other program can be met")
}

/// MPI_Unpublish_name
pub fn unpublish_name(me: &Process, _service: InText, _hints: Info, _port: InText) -> Answer {
    refuse(me, Comm::SELF, Class::SERVICE, "no service is published")
}

/// MPI_Lookup_name
pub fn lookup_name(me: &Process, _service: InText, _hints: Info, _port: OutText) -> Answer {
    refuse(me, Comm::SELF, Class::NAME, "no service is published")
}
