//! Communicators: who is in them.

use std::cell::{Cell, RefCell};
use std::ffi::c_int;
use std::rc::Rc;

use mpi::Op;
use mpi::operation::{CommId, NewComm};

use super::topology::Topology;
use crate::abi::UNDEFINED;
use crate::abi::error::{Answer, Class, Error};
use crate::abi::handle::{self, Comm, Errhandler};
use crate::data::meeting::Key;
use crate::live::process::{Created, Process};

/// A communicator as one of its members has it.
#[derive(Debug)]
pub struct Communicator {
    /// The simulator's number.
    pub id: CommId,
    /// This rank's number in it.
    pub rank: u32,
    /// How many members.
    pub size: u32,
    /// The world rank of its first member.
    first: u32,
    /// Who is in it; `None` for the predefined ones.
    pub group: Created,
    /// Who hears of errors.
    pub handler: Cell<Errhandler>,
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
        Communicator::new(CommId::WORLD, rank, size, 0)
    }

    /// MPI_COMM_SELF of `world_rank`.
    pub fn oneself(world_rank: u32) -> Communicator {
        Communicator::new(CommId::SELF, 0, 1, world_rank)
    }

    fn new(id: CommId, rank: u32, size: u32, first: u32) -> Communicator {
        let (handler, topology) = (Cell::new(Errhandler::ARE_FATAL), RefCell::default());
        let (collectives, series) = (Cell::new(0), Cell::new(0));
        Communicator { id, rank, size, first, group: None, handler, topology, collectives, series }
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

    /// What all its collectives have in common.
    pub fn key(&self) -> Key {
        Key { comm: self.id, first: self.first, number: 0 }
    }

    /// Refuses what is not the number of a member.
    pub fn check_rank(&self, rank: c_int, class: Class) -> Answer<u32> {
        match u32::try_from(rank) {
            Ok(rank) if rank < self.size => Ok(rank),
            _ => {
                let most = self.size - 1;
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

/// The error handler of a communicator; that of MPI_COMM_WORLD for what is none.
pub fn handler(me: &Process, comm: Comm) -> Errhandler {
    find(me, comm).map_or_else(|_| me.world.handler.get(), |found| found.handler.get())
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

/// MPI_Comm_dup
pub unsafe fn dup(me: &Process, comm: Comm, new: *mut Comm) -> Answer {
    let made = make(me, comm, NewComm::Dup)?;
    // SAFETY: as this module's contract says.
    unsafe { *new = made };
    Ok(())
}

/// MPI_Comm_split
pub unsafe fn split(me: &Process, comm: Comm, colour: c_int, key: c_int, new: *mut Comm) -> Answer {
    if colour < 0 && colour != UNDEFINED {
        let reason = format!("a colour of 0 or more, or MPI_UNDEFINED, not {colour}");
        return Err(Error::new(Class::ARG, reason).of(comm));
    }
    let colour = (colour != UNDEFINED).then_some(i64::from(colour));
    let made = make(me, comm, NewComm::Split { colour, key: key.into() })?;
    // SAFETY: as this module's contract says.
    unsafe { *new = made };
    Ok(())
}

/// MPI_Comm_free
pub unsafe fn free(me: &Process, comm: *mut Comm) -> Answer {
    // SAFETY: as this module's contract says.
    let comm = unsafe { &mut *comm };
    let found = find(me, *comm)?;
    if matches!(*comm, Comm::WORLD | Comm::SELF) {
        return Err(Error::new(Class::COMM, "a predefined communicator cannot be freed"));
    }
    me.perform(Op::FreeComm(found.id), |_| ());
    me.communicators.borrow_mut().remove(comm.0);
    *comm = Comm::NULL;
    Ok(())
}

/// Makes a communicator of the members of `comm`, which all call this.
pub fn make(me: &Process, comm: Comm, how: NewComm) -> Answer<Comm> {
    let old = find(me, comm)?;
    let kept = matches!(how, NewComm::Dup);
    let (id, created) = me.perform(Op::NewComm(old.id, how), |done| (done.comm, done.created.clone()));
    let Some(group) = created.filter(|_| id != CommId::NULL) else { return Ok(Comm::NULL) };
    let place = "a member of what it has made";
    let (rank, first) =
        (group.rank_of(me.rank, me.rank).expect(place), group.member(me.rank, 0).expect(place));
    let mut new = Communicator::new(id, rank, group.size(), first);
    new.topology = RefCell::new(Topology::of(&group, if kept { Some(&old) } else { None }));
    new.group = Some(group);
    new.handler.set(old.handler.get());
    let place = me.communicators.borrow_mut().insert(Rc::new(new));
    Ok(Comm(handle::number(place)))
}
