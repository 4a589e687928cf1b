//! Epochs: fences; post, start, complete, wait; locks and flushes.

use std::ffi::c_int;

use engine::Bytes;
use mpi::operation::{Op, Peer, Receive, Send, SendMode, TagMatch, Via};

use super::creation::barrier;
use super::{Window, access, find, out_of_order};
use crate::abi::PROC_NULL;
use crate::abi::error::{Answer, Class, Error};
use crate::abi::handle::{Group, Request, Win};
use crate::abi::pointers::{InOutList, OutList, OutPtr};
use crate::call::request::{self, Pending};
use crate::call::{group, request as requests};
use crate::data::window::Action;
use crate::live::process::Process;

/// MPI_LOCK_EXCLUSIVE and MPI_LOCK_SHARED
const EXCLUSIVE: c_int = 301;
const SHARED: c_int = 302;
/// MPI_MODE_NOSUCCEED and MPI_MODE_NOCHECK
const NO_SUCCEED: c_int = 16384;
const NO_CHECK: c_int = 1024;
/// All assertions.
const ASSERTIONS: c_int = 1024 | 2048 | 4096 | 8192 | 16384;
/// Tags of the messages of post and complete.
const POST: u32 = 1;
const COMPLETE: u32 = 2;

fn check_assertion(assertion: c_int, win: Win) -> Answer {
    if assertion & !ASSERTIONS == 0 {
        return Ok(());
    }
    Err(Error::new(Class::ASSERT, format!("a sum of MPI_MODE_ values, not {assertion}")).of(win))
}

/// MPI_Win_fence: what this rank has begun is complete everywhere, then all wait for each other.
pub fn fence(me: &Process, assertion: c_int, win: Win) -> Answer {
    let window = find(me, win)?;
    check_assertion(assertion, win)?;
    if window.is_busy() {
        return Err(out_of_order("a fence within another epoch", win));
    }
    window.flush(me, None)?;
    barrier(me, &window.members);
    window.fence.set(assertion & NO_SUCCEED == 0);
    Ok(())
}

/// The ranks in a window of the members of a group.
fn members(me: &Process, window: &Window, group: Group) -> Answer<Vec<u32>> {
    let (group, all) = (group::find(me, group)?, window.members.group(me.rank));
    let member = |place| {
        let world = group.member(place).expect("below its size");
        all.rank_of(world).ok_or_else(|| {
            Error::new(Class::GROUP, format!("rank {world} of the world is not in the window"))
        })
    };
    (0..group.size()).map(member).collect()
}

/// Begins a message without contents.
fn tell(me: &Process, window: &Window, to: u32, tag: u32) -> Request {
    let comm = window.members.id.side();
    let (to, mode, via) = (Peer::Rank(to), SendMode::Standard, Via::PLATFORM);
    let send = Send { to, tag, comm, bytes: Bytes(0), mode, via, data: 0 };
    request::begin(me, Pending::send(0), |start| Op::Send(send, start))
}

/// Begins to wait for one.
fn hear(me: &Process, window: &Window, from: u32, tag: u32) -> Request {
    let (from, tag, comm) = (Peer::Rank(from), TagMatch::Tag(tag), window.members.id.side());
    let receive = Receive { from, tag, comm, capacity: Bytes(0) };
    request::begin(me, Pending::collective(Box::new(|_| Ok(()))), |start| Op::Receive(receive, start))
}

fn wait_all(me: &Process, mut list: Vec<Request>) -> Answer {
    let count = list.len() as c_int;
    requests::waitall(me, count, InOutList::of(&mut list), OutList::NONE)
}

/// MPI_Win_post
pub fn post(me: &Process, group: Group, assertion: c_int, win: Win) -> Answer {
    let window = find(me, win)?;
    check_assertion(assertion, win)?;
    if window.posted.borrow().is_some() {
        return Err(out_of_order("MPI_Win_post, and what was posted before has not been waited for", win));
    }
    window.fence.set(false);
    let origins = members(me, &window, group).map_err(|error| error.of(win))?;
    let posts = origins.iter().map(|origin| tell(me, &window, *origin, POST)).collect();
    wait_all(me, posts)?;
    let waits: Vec<_> = origins.iter().map(|origin| hear(me, &window, *origin, COMPLETE)).collect();
    *window.posted.borrow_mut() = Some(waits);
    Ok(())
}

/// MPI_Win_start: waits for the posts.
pub fn start(me: &Process, group: Group, assertion: c_int, win: Win) -> Answer {
    let window = find(me, win)?;
    check_assertion(assertion, win)?;
    if window.started.borrow().is_some() || !window.locks.borrow().is_empty() || window.all.borrow().is_some()
    {
        return Err(out_of_order("MPI_Win_start within another access epoch", win));
    }
    window.fence.set(false);
    let targets = members(me, &window, group).map_err(|error| error.of(win))?;
    wait_all(me, targets.iter().map(|target| hear(me, &window, *target, POST)).collect())?;
    *window.started.borrow_mut() = Some(targets);
    Ok(())
}

/// MPI_Win_complete
pub fn complete(me: &Process, win: Win) -> Answer {
    let window = find(me, win)?;
    let Some(targets) = window.started.borrow_mut().take() else {
        return Err(out_of_order("MPI_Win_complete without MPI_Win_start", win));
    };
    window.flush(me, None)?;
    wait_all(me, targets.iter().map(|target| tell(me, &window, *target, COMPLETE)).collect())
}

/// MPI_Win_wait
pub fn wait(me: &Process, win: Win) -> Answer {
    let window = find(me, win)?;
    let Some(waits) = window.posted.borrow_mut().take() else {
        return Err(out_of_order("MPI_Win_wait without MPI_Win_post", win));
    };
    wait_all(me, waits)
}

/// MPI_Win_test
pub fn test(me: &Process, win: Win, flag: OutPtr<c_int>) -> Answer {
    let window = find(me, win)?;
    let Some(mut waits) = window.posted.borrow_mut().take() else {
        return Err(out_of_order("MPI_Win_test without MPI_Win_post", win));
    };
    let count = waits.len() as c_int;
    let mut done = 0;
    requests::testall(me, count, InOutList::of(&mut waits), OutPtr::of(&mut done), OutList::NONE)?;
    flag.set(done);
    if done == 0 {
        *window.posted.borrow_mut() = Some(waits);
    }
    Ok(())
}

/// Takes the lock of a target.
fn acquire(me: &Process, window: &Window, target: u32, exclusive: bool) -> Answer {
    access::begin(me, window, target, Action::Lock(window.members.key(), target, exclusive), (0, 0));
    window.flush(me, Some(target))
}

/// Completes what is under way to a target, and gives its lock back.
fn release(me: &Process, window: &Window, target: u32) {
    access::begin(me, window, target, Action::Unlock(window.members.key(), target), (0, 0));
}

/// Within MPI_Win_lock_all: takes the lock of a target with the first operation to it.
pub(super) fn ensure_lock(me: &Process, window: &Window, target: u32) -> Answer {
    let missing = window.all.borrow().as_ref().is_some_and(|locked| !locked.contains(&target));
    if missing {
        acquire(me, window, target, false)?;
        if let Some(locked) = &mut *window.all.borrow_mut() {
            locked.push(target);
        }
    }
    Ok(())
}

/// MPI_Win_lock
pub fn lock(me: &Process, kind: c_int, rank: c_int, assertion: c_int, win: Win) -> Answer {
    let window = find(me, win)?;
    if kind != EXCLUSIVE && kind != SHARED {
        let reason = format!("MPI_LOCK_EXCLUSIVE or MPI_LOCK_SHARED, not {kind}");
        return Err(Error::new(Class::LOCKTYPE, reason).of(win));
    }
    check_assertion(assertion, win)?;
    if rank == PROC_NULL {
        return Ok(());
    }
    let target = window.check_rank(rank).map_err(|error| error.of(win))?;
    if window.started.borrow().is_some() || window.all.borrow().is_some() {
        return Err(out_of_order("MPI_Win_lock within another access epoch", win));
    }
    if window.locks.borrow().contains(&target) {
        return Err(out_of_order(format!("rank {target} is locked already"), win));
    }
    window.fence.set(false);
    acquire(me, &window, target, kind == EXCLUSIVE)?;
    window.locks.borrow_mut().push(target);
    Ok(())
}

/// MPI_Win_unlock
pub fn unlock(me: &Process, rank: c_int, win: Win) -> Answer {
    let window = find(me, win)?;
    if rank == PROC_NULL {
        return Ok(());
    }
    let target = window.check_rank(rank).map_err(|error| error.of(win))?;
    let place = window.locks.borrow().iter().position(|locked| *locked == target);
    let Some(place) = place else {
        return Err(out_of_order(format!("MPI_Win_unlock of rank {target}, which is not locked"), win));
    };
    window.locks.borrow_mut().remove(place);
    release(me, &window, target);
    window.flush(me, Some(target))
}

/// MPI_Win_lock_all: a target's lock is taken with the first operation to it.
pub fn lock_all(me: &Process, assertion: c_int, win: Win) -> Answer {
    let window = find(me, win)?;
    check_assertion(assertion, win)?;
    if window.started.borrow().is_some() || !window.locks.borrow().is_empty() || window.all.borrow().is_some()
    {
        return Err(out_of_order("MPI_Win_lock_all within another access epoch", win));
    }
    window.fence.set(false);
    let locked = if assertion & NO_CHECK == 0 { Vec::new() } else { (0..window.members.size).collect() };
    *window.all.borrow_mut() = Some(locked);
    window.checked.set(assertion & NO_CHECK == 0);
    Ok(())
}

/// MPI_Win_unlock_all
pub fn unlock_all(me: &Process, win: Win) -> Answer {
    let window = find(me, win)?;
    let Some(locked) = window.all.borrow_mut().take() else {
        return Err(out_of_order("MPI_Win_unlock_all without MPI_Win_lock_all", win));
    };
    if window.checked.get() {
        locked.iter().for_each(|target| release(me, &window, *target));
    }
    window.flush(me, None)
}

/// The window, and the target of a flush.
fn flushed(me: &Process, rank: Option<c_int>, win: Win) -> Answer {
    let window = find(me, win)?;
    if window.locks.borrow().is_empty() && window.all.borrow().is_none() {
        return Err(out_of_order("a flush outside of an epoch of locks", win));
    }
    let target = match rank {
        Some(PROC_NULL) => return Ok(()),
        Some(rank) => Some(window.check_rank(rank).map_err(|error| error.of(win))?),
        None => None,
    };
    window.flush(me, target)
}

/// MPI_Win_flush, MPI_Win_flush_local
pub fn flush(me: &Process, rank: c_int, win: Win) -> Answer {
    flushed(me, Some(rank), win)
}

/// MPI_Win_flush_all, MPI_Win_flush_local_all
pub fn flush_all(me: &Process, win: Win) -> Answer {
    flushed(me, None, win)
}

/// MPI_Win_sync: there is one copy of the memory. Loops that wait for another rank's store let time pass.
pub fn sync(me: &Process, win: Win) -> Answer {
    let window = find(me, win)?;
    let comm = window.members.id.side();
    let nothing = Receive { from: Peer::Any, tag: TagMatch::Tag(0), comm, capacity: Bytes(0) };
    me.perform(Op::ProbeNow(nothing), |_| ());
    Ok(())
}
