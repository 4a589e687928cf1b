//! Communicators: who is in them.

use std::cell::{Cell, RefCell};
use std::ffi::{CStr, c_char, c_int};
use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;

use mpi::Op;
use mpi::communicator::Communicator as Made;
use mpi::group::{Comparison, Group};
use mpi::operation::CommId;

use super::attribute;
use super::group::as_communicators;
use super::info::write_name;
use super::topology::Topology;
use crate::abi::error::{Answer, Class, Error};
use crate::abi::handle::{Comm, Object};
use crate::abi::{IDENT, MAX_OBJECT_NAME, UNEQUAL};
use crate::data::meeting::Key;
use crate::live::process::{Created, Process};

/// The kind of hardware that a communicator can be split by: hosts.
pub const HOST_RESOURCE: &[u8] = b"hopcast://host";
/// The kind below it, where hosts have several.
pub const SOCKET_RESOURCE: &[u8] = b"hopcast://socket";

/// A communicator as one of its members has it.
#[derive(Debug)]
pub struct Communicator {
    /// The simulator's number.
    pub id: CommId,
    /// This rank's number in its group.
    pub rank: u32,
    /// How many members its group has.
    pub size: u32,
    /// How many ranks a message can name: the members, or those of an inter-communicator's other group.
    pub peers: u32,
    /// This rank's place among all who take part in a collective, those of both groups.
    pub place: u32,
    /// How many they are.
    pub everybody: u32,
    /// The world rank of the first of them.
    first: u32,
    /// Members; `None` for the predefined ones.
    pub group: Created,
    /// Its virtual topology.
    pub topology: RefCell<Option<Rc<Topology>>>,
    /// Collectives that this rank has called on it.
    collectives: Cell<u64>,
    /// Persistent collectives that this rank has made on it.
    series: Cell<u64>,
}

impl Communicator {
    /// MPI_COMM_WORLD.
    pub fn world(rank: u32, size: u32) -> Communicator {
        Communicator::predefined(CommId::WORLD, rank, size, 0)
    }

    /// MPI_COMM_SELF of `world_rank`.
    pub fn oneself(world_rank: u32) -> Communicator {
        Communicator::predefined(CommId::SELF, 0, 1, world_rank)
    }

    /// One that is being made: nobody is in it yet.
    pub fn nobody(world_rank: u32) -> Communicator {
        Communicator::predefined(CommId::NULL, 0, 1, world_rank)
    }

    fn predefined(id: CommId, rank: u32, size: u32, first: u32) -> Communicator {
        Communicator {
            id,
            rank,
            size,
            peers: size,
            place: rank,
            everybody: size,
            first,
            group: None,
            topology: RefCell::default(),
            collectives: Cell::new(0),
            series: Cell::new(0),
        }
    }

    /// Communicator that the simulator has made, for the member `me`; perhaps as a copy.
    pub fn of(made: &Arc<Made>, me: u32, copied: Option<&Communicator>) -> Communicator {
        let member = "a member of what it has made";
        Communicator {
            id: made.id,
            rank: made.rank_of(me, me).expect(member),
            size: made.size(),
            peers: made.peers(),
            place: made.place_of(me, me).expect(member),
            everybody: made.everybody(),
            first: made.at_place(me, 0).expect(member),
            group: Some(made.clone()),
            topology: RefCell::new(Topology::of(made, copied)),
            collectives: Cell::new(0),
            series: Cell::new(0),
        }
    }

    /// The world rank of its first member.
    pub fn first(&self) -> u32 {
        self.first
    }

    /// The next collective on it.
    pub fn next_collective(&self) -> Key {
        let number = self.collectives.get();
        self.collectives.set(number + 1);
        Key { number, ..self.key() }
    }

    /// The numbers of the starts of the next persistent collective on it: those from here on.
    pub fn next_series(&self) -> u64 {
        let series = self.series.get();
        self.series.set(series + 1);
        1 << 63 | series << 32
    }

    /// Properties that all its collectives have in common.
    pub fn key(&self) -> Key {
        Key { comm: self.id, first: self.first, number: 0 }
    }

    /// True if it has two groups.
    pub fn is_inter(&self) -> bool {
        self.everybody > self.size
    }

    /// Its group, the local one.
    pub fn group(&self, me: &Process) -> Group {
        match &self.group {
            Some(made) => made.group(me.rank),
            None if self.id == CommId::SELF => Group::new(vec![me.rank]).expect("one member"),
            None => Group::world(self.size),
        }
    }

    /// The other group of an inter-communicator.
    pub fn remote(&self) -> Option<Group> {
        self.group.as_ref()?.remote().cloned()
    }

    /// The world rank whom a message means by `rank`.
    pub fn peer(&self, me: &Process, rank: u32) -> Option<u32> {
        match &self.group {
            Some(made) => made.peer(me.rank, rank),
            None if self.id == CommId::SELF => Some(me.rank),
            None => Some(rank),
        }
    }

    /// Refuses what is not the number of a member, or of one of the other group.
    pub fn check_rank(&self, rank: c_int, class: Class) -> Answer<u32> {
        match u32::try_from(rank) {
            Ok(rank) if rank < self.peers => Ok(rank),
            _ => {
                let most = self.peers - 1;
                Err(Error::new(class, format!("a rank from 0 to {most}, not {rank}")))
            }
        }
    }
}

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
pub unsafe fn rank(me: &Process, comm: Comm, rank: *mut c_int) -> Answer {
    let found = find(me, comm)?;
    // SAFETY: as this module's contract says.
    unsafe { *rank = found.rank as c_int };
    Ok(())
}

/// MPI_Comm_size
pub unsafe fn size(me: &Process, comm: Comm, size: *mut c_int) -> Answer {
    let found = find(me, comm)?;
    // SAFETY: as this module's contract says.
    unsafe { *size = found.size as c_int };
    Ok(())
}

/// MPI_Comm_remote_size
pub unsafe fn remote_size(me: &Process, comm: Comm, size: *mut c_int) -> Answer {
    let found = find_inter(me, comm)?;
    // SAFETY: as this module's contract says.
    unsafe { *size = found.peers as c_int };
    Ok(())
}

/// MPI_Comm_test_inter
pub unsafe fn test_inter(me: &Process, comm: Comm, flag: *mut c_int) -> Answer {
    let found = find(me, comm)?;
    // SAFETY: as this module's contract says.
    unsafe { *flag = c_int::from(found.is_inter()) };
    Ok(())
}

/// MPI_Comm_compare
pub unsafe fn compare(me: &Process, one: Comm, other: Comm, result: *mut c_int) -> Answer {
    let (first, second) = (find(me, one)?, find(me, other)?);
    let local = || first.group(me).compare(&second.group(me));
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
    // SAFETY: as this module's contract says.
    unsafe { *result = found };
    Ok(())
}

/// MPI_Comm_set_name
pub unsafe fn set_name(me: &Process, comm: Comm, name: *const c_char) -> Answer {
    find(me, comm)?;
    if name.is_null() {
        return Err(Error::new(Class::ARG, "no name").of(comm));
    }
    // SAFETY: as this module's contract says, it is a C string.
    let name = unsafe { CStr::from_ptr(name) }.to_bytes();
    let name = name[..name.len().min(MAX_OBJECT_NAME - 1)].to_vec();
    me.objects.on(comm.into(), |attached| attached.name = Some(name));
    Ok(())
}

/// MPI_Comm_get_name
pub unsafe fn get_name(me: &Process, comm: Comm, name: *mut c_char, length: *mut c_int) -> Answer {
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
    // SAFETY: as this module's contract says, there is room for as much as the standard names.
    unsafe { write_name(text, name, length) };
    Ok(())
}

/// MPI_Comm_free, MPI_Comm_disconnect: what is under way on it is completed.
pub unsafe fn free(me: &Process, comm: *mut Comm) -> Answer {
    // SAFETY: as this module's contract says.
    let comm = unsafe { &mut *comm };
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
