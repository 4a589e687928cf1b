//! Sessions: MPI without MPI_Init, from named sets of processes.

use std::ffi::c_int;
use std::rc::Rc;

use mpi::group::Group;

use super::info::{self, Pairs, level_name};
use super::{attribute, error, group, point_to_point};
use crate::abi::error::{Answer, Class, Error};
use crate::abi::handle::{self, Errhandler, Group as GroupHandle, Info, Object, Session as Handle};
use crate::abi::pointers::{InOutPtr, InText, OutPtr, OutText};
use crate::abi::{MAX_PSET_NAME, THREAD};
use crate::live::process::Process;
use crate::objects::session::Session;

/// The sets of processes that every session knows.
const SETS: [&str; 2] = ["mpi://WORLD", "mpi://SELF"];

/// The session of a handle.
pub fn find(me: &Process, session: Handle) -> Answer<Rc<Session>> {
    let found = me.objects.sessions.borrow().get(session.0).cloned();
    found.ok_or_else(|| {
        let reason = match session {
            Handle::NULL => "MPI_SESSION_NULL".into(),
            Handle(number) => format!("{number:#x} is not a session"),
        };
        Error::new(Class::SESSION, reason)
    })
}

/// MPI_Session_init
pub fn init(me: &Process, hints: Info, handler: Errhandler, session: OutPtr<Handle>) -> Answer {
    let hints = info::hints(me, hints)?;
    let place = me.objects.sessions.borrow_mut().insert(Rc::new(Session { hints }));
    let made = Handle(handle::number(place));
    if let Err(error) = error::attach(me, made.into(), handler) {
        me.objects.sessions.borrow_mut().remove(made.0);
        return Err(Error { of: None, ..error });
    }
    me.shared.used.set(true);
    session.set(made);
    Ok(())
}

/// MPI_Session_finalize
pub fn finalize(me: &Process, mut session: InOutPtr<Handle>) -> Answer {
    let session = &mut *session;
    find(me, *session)?;
    point_to_point::release_session(me, *session);
    attribute::forget(me, Object::Session(*session))?;
    me.objects.sessions.borrow_mut().remove(session.0);
    *session = Handle::NULL;
    Ok(())
}

/// MPI_Session_get_info
pub fn get_info(me: &Process, session: Handle, info: OutPtr<Info>) -> Answer {
    let mut pairs = find(me, session)?.hints.clone();
    pairs.set(b"thread_level", level_name(THREAD[1]).as_bytes());
    pairs.set(b"mpi_memory_alloc_kinds", b"mpi,system");
    info.set(info::keep(me, pairs));
    Ok(())
}

/// MPI_Session_get_num_psets
pub fn get_num_psets(me: &Process, session: Handle, _: Info, count: OutPtr<c_int>) -> Answer {
    find(me, session)?;
    count.set(SETS.len() as c_int);
    Ok(())
}

/// MPI_Session_get_nth_pset: `length` says how much room there is, and is told how much is needed.
pub fn get_nth_pset(
    me: &Process,
    session: Handle,
    _: Info,
    index: c_int,
    mut length: InOutPtr<c_int>,
    name: OutText,
) -> Answer {
    find(me, session)?;
    let set = usize::try_from(index).ok().and_then(|index| SETS.get(index)).ok_or_else(|| {
        let reason = format!("the number of a set of processes from 0, below {}, not {index}", SETS.len());
        Error::new(Class::ARG, reason).of(session)
    })?;
    name.set(set.as_bytes(), usize::try_from(*length).unwrap_or(0).min(MAX_PSET_NAME));
    *length = set.len() as c_int + 1;
    Ok(())
}

/// The members of a set.
fn members(me: &Process, session: Handle, name: InText) -> Answer<Group> {
    find(me, session)?;
    let missing = || Error::new(Class::ARG, "no name of a set of processes").of(session);
    let name = String::from_utf8_lossy(name.bytes().ok_or_else(missing)?);
    let same = |set: &&str| set.eq_ignore_ascii_case(&name);
    match SETS.iter().position(same) {
        Some(0) => Ok(Group::world(me.shared.ranks)),
        Some(_) => Ok(Group::new(vec![me.rank]).expect("one member")),
        None => {
            let reason = format!("a set of processes, {}, not '{name}'", SETS.join(" or "));
            Err(Error::new(Class::ARG, reason).of(session))
        }
    }
}

/// MPI_Session_get_pset_info
pub fn get_pset_info(me: &Process, session: Handle, name: InText, info: OutPtr<Info>) -> Answer {
    let mut pairs = Pairs::default();
    pairs.set(b"mpi_size", members(me, session, name)?.size().to_string().as_bytes());
    info.set(info::keep(me, pairs));
    Ok(())
}

/// MPI_Group_from_session_pset
pub fn group_from_pset(me: &Process, session: Handle, name: InText, new: OutPtr<GroupHandle>) -> Answer {
    new.set(group::keep(me, members(me, session, name)?));
    Ok(())
}
