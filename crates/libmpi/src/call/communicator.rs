//! Communicators: who is in them.

use std::ffi::c_int;
use std::ops::Deref;
use std::rc::Rc;

use mpi::Op;
use mpi::group::Comparison;

use super::attribute;
use super::group::as_communicators;
use super::info::write_name;
use crate::abi::error::{Answer, Class, Error};
use crate::abi::handle::{Comm, Object};
use crate::abi::pointers::{InOutPtr, InText, OutPtr, OutText};
use crate::abi::{IDENT, MAX_OBJECT_NAME, UNEQUAL};
use crate::live::process::Process;
pub use crate::objects::communicator::{Communicator, Created};

/// The kind of hardware that a communicator can be split by: hosts.
pub const HOST_RESOURCE: &[u8] = b"hopcast://host";

/// The communicator of a handle.
pub fn find(me: &Process, comm: Comm) -> Answer<Rc<Communicator>> {
    match comm {
        Comm::WORLD => Ok(me.world.clone()),
        Comm::SELF => Ok(me.oneself.clone()),
        Comm::NULL => Err(Error::new(Class::COMM, "MPI_COMM_NULL")),
        Comm(number) => me
            .communicator_by_number(number)
            .ok_or_else(|| Error::new(Class::COMM, format!("{number:#x} is not a communicator"))),
    }
}

/// A communicator that is looked at during a call.
pub enum Found<'a> {
    /// One that is always there.
    Predefined(&'a Communicator),
    /// One that may be freed meanwhile.
    Made(Rc<Communicator>),
}

impl Deref for Found<'_> {
    type Target = Communicator;
    #[inline]
    fn deref(&self) -> &Communicator {
        match self {
            Found::Predefined(found) => found,
            Found::Made(found) => found,
        }
    }
}

/// The communicator of a handle, for those who do not keep it.
#[inline]
pub fn look(me: &Process, comm: Comm) -> Answer<Found<'_>> {
    match comm {
        Comm::WORLD => Ok(Found::Predefined(&me.world)),
        other => find(me, other).map(Found::Made),
    }
}

/// The same, if it has two groups.
pub fn find_inter(me: &Process, comm: Comm) -> Answer<Rc<Communicator>> {
    let found = find(me, comm)?;
    if found.is_inter() {
        return Ok(found);
    }
    Err(Error::new(Class::COMM, "it is not an inter-communicator").of(comm))
}

/// The same, if it has one group.
pub fn find_intra(me: &Process, comm: Comm) -> Answer<Rc<Communicator>> {
    let found = find(me, comm)?;
    if found.is_inter() {
        return Err(Error::new(Class::COMM, "it is an inter-communicator").of(comm));
    }
    Ok(found)
}

/// MPI_Comm_rank
pub fn rank(me: &Process, comm: Comm, rank: OutPtr<c_int>) -> Answer {
    let found = find(me, comm)?;
    rank.set(found.rank as c_int);
    Ok(())
}

/// MPI_Comm_size
pub fn size(me: &Process, comm: Comm, size: OutPtr<c_int>) -> Answer {
    let found = find(me, comm)?;
    size.set(found.size as c_int);
    Ok(())
}

/// MPI_Comm_remote_size
pub fn remote_size(me: &Process, comm: Comm, size: OutPtr<c_int>) -> Answer {
    let found = find_inter(me, comm)?;
    size.set(found.peers as c_int);
    Ok(())
}

/// MPI_Comm_test_inter
pub fn test_inter(me: &Process, comm: Comm, flag: OutPtr<c_int>) -> Answer {
    let found = find(me, comm)?;
    flag.set(c_int::from(found.is_inter()));
    Ok(())
}

/// MPI_Comm_compare
pub fn compare(me: &Process, one: Comm, other: Comm, result: OutPtr<c_int>) -> Answer {
    let (first, second) = (find(me, one)?, find(me, other)?);
    let local = || first.group(me.rank).compare(&second.group(me.rank));
    let found = match (first.remote(), second.remote()) {
        _ if one == other => IDENT,
        (None, None) => as_communicators(local()),
        (Some(remote), Some(other)) => match (local(), remote.compare(&other)) {
            (Comparison::Unequal, _) | (_, Comparison::Unequal) => UNEQUAL,
            (Comparison::Identical, both) => as_communicators(both),
            (both, _) => as_communicators(both),
        },
        _ => UNEQUAL,
    };
    result.set(found);
    Ok(())
}

/// MPI_Comm_set_name
pub fn set_name(me: &Process, comm: Comm, name: InText) -> Answer {
    find(me, comm)?;
    let name = name.bytes().ok_or_else(|| Error::new(Class::ARG, "no name").of(comm))?;
    let name = name[..name.len().min(MAX_OBJECT_NAME - 1)].to_vec();
    me.objects.on(comm.into(), |attached| attached.name = Some(name));
    Ok(())
}

/// MPI_Comm_get_name
pub fn get_name(me: &Process, comm: Comm, name: OutText, length: OutPtr<c_int>) -> Answer {
    if comm != Comm::NULL {
        find(me, comm)?;
    }
    let given = me.objects.look(comm.into(), |attached| attached.name.clone()).flatten();
    let text: &[u8] = match (&given, comm) {
        (Some(given), _) => given,
        (None, Comm::WORLD) => b"MPI_COMM_WORLD",
        (None, Comm::SELF) => b"MPI_COMM_SELF",
        (None, Comm::NULL) => b"MPI_COMM_NULL",
        (None, _) => b"",
    };
    write_name(text, name, length);
    Ok(())
}

/// MPI_Comm_free, MPI_Comm_disconnect: what is under way on it is completed.
pub fn free(me: &Process, mut comm: InOutPtr<Comm>) -> Answer {
    let comm = &mut *comm;
    find(me, *comm)?;
    if matches!(*comm, Comm::WORLD | Comm::SELF) {
        return Err(Error::new(Class::COMM, "a predefined communicator cannot be freed").of(*comm));
    }
    attribute::delete_all(me, Object::Comm(*comm))?;
    give_back(me, *comm);
    *comm = Comm::NULL;
    Ok(())
}

/// Frees a communicator that has no attributes any more.
pub fn give_back(me: &Process, comm: Comm) {
    let found = find(me, comm).expect("it has just been found");
    me.perform(Op::FreeComm(found.id), |_| ());
    attribute::forget(me, Object::Comm(comm)).expect("it has no attributes");
    me.communicators.borrow_mut().remove(comm.0);
}
