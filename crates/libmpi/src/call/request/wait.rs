//! Waits and tests: for one request, for all of a list, any, or some; with and without an end of the request.

use std::ffi::c_int;
use std::sync::Arc;

use mpi::operation::{self, Draining, Op, Until};
use mpi::source;

use super::complete::{completed, hand_out, show};
use super::{Kind, State};
use crate::abi::UNDEFINED;
use crate::abi::error::{Answer, Class, Error};
use crate::abi::handle::{self, Request};
use crate::abi::status::Status;
use crate::call::datatype::truth;
use crate::call::point_to_point;
use crate::live::process::Process;

/// Patience of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Patience {
    Waits,
    Asks,
}

use Patience::{Asks, Waits};

/// A program's list of requests, and which of them are neither null nor inactive.
struct Listed {
    list: &'static mut [Request],
    active: Vec<usize>,
}

impl Listed {
    unsafe fn of(me: &Process, count: c_int, requests: *mut Request) -> Answer<Listed> {
        let Ok(count) = usize::try_from(count) else {
            return Err(Error::new(Class::COUNT, format!("a count of 0 or more, not {count}")));
        };
        // SAFETY: as the contract of `call` says; an empty list may be anywhere.
        let slice = || unsafe { std::slice::from_raw_parts_mut(requests, count) };
        let list: &'static mut [Request] = if count == 0 { &mut [] } else { slice() };
        let mut active = Vec::with_capacity(count);
        for (position, request) in list.iter().enumerate() {
            if is_active(me, *request)? {
                active.push(position);
            }
        }
        Ok(Listed { list, active })
    }

    /// The statuses of those that are null or inactive.
    unsafe fn write_empty(&self, statuses: *mut Status) {
        if statuses.is_null() {
            return;
        }
        let mut active = self.active.iter().peekable();
        for place in 0..self.list.len() {
            if active.next_if(|next| **next == place).is_none() {
                // SAFETY: as the contract of `call` says.
                unsafe { Status::write_empty(statuses.add(place)) };
            }
        }
    }
}

fn is_active(me: &Process, request: Request) -> Answer<bool> {
    if request == Request::NULL {
        return Ok(false);
    }
    super::check(me, request)?;
    Ok(me.requests.borrow().get(request.0).is_some_and(|pending| !matches!(pending.state, State::Inactive)))
}

/// State of requests.
#[derive(Default)]
struct Outlook {
    /// Those that are complete, by position.
    ready: Vec<usize>,
    /// Needs of the others: the position, and the operation of the simulator.
    needed: Vec<(usize, u32)>,
    /// One that only the program itself can complete.
    stuck: Option<usize>,
    /// One that waits for the buffered sends.
    flush: Option<usize>,
}

fn outlook(me: &Process, listed: &Listed) -> Outlook {
    let table = me.requests.borrow();
    let mut outlook = Outlook::default();
    for &position in &listed.active {
        let number = listed.list[position].0;
        let pending = table.get(number).expect("just seen");
        match (&pending.state, &pending.kind) {
            (State::Complete(..), _) => outlook.ready.push(position),
            (_, Kind::Generalised(own)) if own.is_complete() => outlook.ready.push(position),
            (_, Kind::Group(group) | Kind::Partitioned(group, _)) if !group.parts.is_empty() => {
                outlook.needed.extend(group.parts.iter().map(|part| (position, *part)));
            }
            (_, Kind::Group(_)) => outlook.ready.push(position),
            (_, Kind::Partitioned(_, message)) if message.is_complete() => outlook.ready.push(position),
            (_, Kind::Generalised(_) | Kind::Partitioned(..)) => outlook.stuck = Some(position),
            (_, Kind::Flush) => outlook.flush = Some(position),
            _ => outlook.needed.push((position, handle::place(number).expect("it is in the table"))),
        }
    }
    outlook
}

/// Requests of the list that are complete, by position, when `until` says so; an empty answer of one that
/// only asks says that it is not so.
unsafe fn look(me: &Process, listed: &Listed, until: Until, patience: Patience) -> Answer<Vec<usize>> {
    let mut asked = false;
    loop {
        let now = outlook(me, listed);
        let all = now.needed.is_empty() && now.stuck.is_none() && now.flush.is_none();
        let enough = if until == Until::All { all } else { !now.ready.is_empty() };
        if all || asked || enough && until != Until::Some {
            return Ok(if enough { now.ready } else { Vec::new() });
        }
        asked = patience == Asks || enough;
        if let Some(position) = now.flush {
            flush(me, listed.list[position], asked || !now.needed.is_empty() && until != Until::All);
            if now.needed.is_empty() {
                continue;
            }
        }
        if now.needed.is_empty() || now.stuck.is_some() && until == Until::All {
            if patience == Waits && !enough {
                let reason = "a request that only this rank could complete, and it waits: \
                              MPI_Grequest_complete or MPI_Pready is missing";
                return Err(Error::new(Class::REQUEST, reason));
            }
            continue;
        }
        let wanted: Arc<[operation::Request]> =
            now.needed.iter().map(|(_, part)| operation::Request(*part)).collect();
        let op = if asked { Op::Test(wanted, until) } else { Op::Wait(wanted, until) };
        let done = me.perform(op, |done| done.done.clone());
        Told { me, listed, needed: &now.needed, done: done.into_iter() }.finish();
    }
}

/// Operations that the simulator has said to be complete. All of it is so, if an operation of the program throws, too.
struct Told<'a> {
    me: &'a Process,
    listed: &'a Listed,
    needed: &'a [(usize, u32)],
    done: std::vec::IntoIter<(u32, source::Status)>,
}

impl Told<'_> {
    fn finish(&mut self) {
        for (index, told) in self.done.by_ref() {
            let (position, part) = self.needed[index as usize];
            // SAFETY: as the contract of `call` says.
            unsafe { completed(self.me, self.listed.list[position], part, &told) };
        }
    }
}

impl Drop for Told<'_> {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Completes a request for the buffered sends, if they have left, or waits for them.
fn flush(me: &Process, request: Request, asks: bool) {
    let left = if asks {
        me.perform(Op::Drain(Draining::Ask), |done| done.matched)
    } else {
        point_to_point::flush(me);
        0
    };
    if let Some(pending) = me.requests.borrow_mut().get_mut(request.0).filter(|_| left == 0) {
        pending.state = State::Complete(Status::EMPTY, None);
    }
}

/// Hands out all of a list at these positions, in their order, with a status for each where the program wants one:
/// place `order` of the statuses for `Some`, the position for `All`.
unsafe fn hand_out_all(
    me: &Process,
    listed: &mut Listed,
    positions: &[usize],
    statuses: *mut Status,
    dense: bool,
) -> Answer {
    let mut codes = Vec::with_capacity(positions.len());
    let mut first: Option<Error> = None;
    // SAFETY: as the contract of `call` says.
    unsafe {
        if !dense {
            listed.write_empty(statuses);
        }
        for (order, &position) in positions.iter().enumerate() {
            let (status, error) = hand_out(me, &mut listed.list[position]);
            let place = if dense { order } else { position };
            if !statuses.is_null() {
                status.write(statuses.add(place));
            }
            codes.push((place, error.as_ref().map_or(0, |error| error.class.0)));
            first = first.or(error);
        }
        let Some(first) = first else { return Ok(()) };
        if !statuses.is_null() {
            if !dense {
                (0..listed.list.len()).for_each(|place| (*statuses.add(place)).error = 0);
            }
            codes.iter().for_each(|(place, code)| (*statuses.add(*place)).error = *code);
        }
        Err(Error { class: Class::IN_STATUS, ..first })
    }
}

/// MPI_Wait
pub unsafe fn wait(me: &Process, request: *mut Request, status: *mut Status) -> Answer {
    // SAFETY: as the contract of `call` says.
    unsafe {
        let simple = matches!(
            me.requests.borrow().get((*request).0).map(|pending| (&pending.kind, &pending.state)),
            Some((Kind::Send(..) | Kind::Receive(..) | Kind::Collective(..) | Kind::File(..), State::Active))
        );
        if simple {
            let place = handle::place((*request).0).expect("it is in the table");
            let told: source::Status = me.perform(Op::WaitOne(operation::Request(place)), |done| done.status);
            completed(me, *request, place, &told);
        } else {
            let listed = Listed::of(me, 1, request)?;
            if listed.active.is_empty() {
                Status::write_empty(status);
                return Ok(());
            }
            look(me, &listed, Until::All, Waits)?;
        }
        let (told, error) = hand_out(me, &mut *request);
        told.write(status);
        error.map_or(Ok(()), Err)
    }
}

/// MPI_Test
pub unsafe fn test(me: &Process, request: *mut Request, flag: *mut c_int, status: *mut Status) -> Answer {
    // SAFETY: as the contract of `call` says.
    unsafe {
        let mut index = 0;
        any(me, (1, request), Asks, &mut index, flag, status)
    }
}

/// MPI_Waitall
pub unsafe fn waitall(me: &Process, count: c_int, requests: *mut Request, statuses: *mut Status) -> Answer {
    // SAFETY: as the contract of `call` says.
    unsafe {
        let mut listed = Listed::of(me, count, requests)?;
        let ready = look(me, &listed, Until::All, Waits)?;
        hand_out_all(me, &mut listed, &ready, statuses, false)
    }
}

/// MPI_Testall
pub unsafe fn testall(
    me: &Process,
    count: c_int,
    requests: *mut Request,
    flag: *mut c_int,
    statuses: *mut Status,
) -> Answer {
    // SAFETY: as the contract of `call` says.
    unsafe {
        let mut listed = Listed::of(me, count, requests)?;
        let ready = look(me, &listed, Until::All, Asks)?;
        let done = ready.len() == listed.active.len();
        *flag = truth(done);
        if done { hand_out_all(me, &mut listed, &ready, statuses, false) } else { Ok(()) }
    }
}

/// MPI_Waitany
pub unsafe fn waitany(
    me: &Process,
    count: c_int,
    requests: *mut Request,
    index: *mut c_int,
    status: *mut Status,
) -> Answer {
    let mut flag = 0;
    // SAFETY: as the contract of `call` says.
    unsafe { any(me, (count, requests), Waits, index, &mut flag, status) }
}

/// MPI_Testany
pub unsafe fn testany(
    me: &Process,
    count: c_int,
    requests: *mut Request,
    index: *mut c_int,
    flag: *mut c_int,
    status: *mut Status,
) -> Answer {
    // SAFETY: as the contract of `call` says.
    unsafe { any(me, (count, requests), Asks, index, flag, status) }
}

unsafe fn any(
    me: &Process,
    (count, requests): (c_int, *mut Request),
    patience: Patience,
    index: *mut c_int,
    flag: *mut c_int,
    status: *mut Status,
) -> Answer {
    // SAFETY: as the contract of `call` says.
    unsafe {
        let listed = Listed::of(me, count, requests)?;
        *index = UNDEFINED;
        *flag = truth(listed.active.is_empty());
        if listed.active.is_empty() {
            Status::write_empty(status);
            return Ok(());
        }
        let Some(&position) = look(me, &listed, Until::Any, patience)?.first() else { return Ok(()) };
        (*index, *flag) = (position as c_int, 1);
        let (told, error) = hand_out(me, &mut listed.list[position]);
        told.write(status);
        error.map_or(Ok(()), Err)
    }
}

/// MPI_Waitsome
pub unsafe fn waitsome(
    me: &Process,
    count: c_int,
    requests: *mut Request,
    done_count: *mut c_int,
    indices: *mut c_int,
    statuses: *mut Status,
) -> Answer {
    // SAFETY: as the contract of `call` says.
    unsafe { some(me, (count, requests), Waits, done_count, indices, statuses) }
}

/// MPI_Testsome
pub unsafe fn testsome(
    me: &Process,
    count: c_int,
    requests: *mut Request,
    done_count: *mut c_int,
    indices: *mut c_int,
    statuses: *mut Status,
) -> Answer {
    // SAFETY: as the contract of `call` says.
    unsafe { some(me, (count, requests), Asks, done_count, indices, statuses) }
}

unsafe fn some(
    me: &Process,
    (count, requests): (c_int, *mut Request),
    patience: Patience,
    done_count: *mut c_int,
    indices: *mut c_int,
    statuses: *mut Status,
) -> Answer {
    // SAFETY: as the contract of `call` says.
    unsafe {
        let mut listed = Listed::of(me, count, requests)?;
        if listed.active.is_empty() {
            *done_count = UNDEFINED;
            return Ok(());
        }
        let ready = look(me, &listed, Until::Some, patience)?;
        *done_count = ready.len() as c_int;
        ready.iter().enumerate().for_each(|(order, place)| *indices.add(order) = *place as c_int);
        hand_out_all(me, &mut listed, &ready, statuses, true)
    }
}

/// MPI_Request_get_status
pub unsafe fn get_status(me: &Process, request: Request, flag: *mut c_int, status: *mut Status) -> Answer {
    let mut index = 0;
    // SAFETY: as the contract of `call` says.
    unsafe { get_status_any(me, 1, &raw const request, &mut index, flag, status) }
}

/// MPI_Request_get_status_any
pub unsafe fn get_status_any(
    me: &Process,
    count: c_int,
    requests: *const Request,
    index: *mut c_int,
    flag: *mut c_int,
    status: *mut Status,
) -> Answer {
    // SAFETY: as the contract of `call` says; nothing is written into the list.
    unsafe {
        let listed = Listed::of(me, count, requests.cast_mut())?;
        (*index, *flag) = (UNDEFINED, truth(listed.active.is_empty()));
        if listed.active.is_empty() {
            Status::write_empty(status);
            return Ok(());
        }
        let Some(&position) = look(me, &listed, Until::Any, Asks)?.first() else { return Ok(()) };
        (*index, *flag) = (position as c_int, 1);
        let (told, error) = show(me, listed.list[position]);
        told.write(status);
        error.map_or(Ok(()), Err)
    }
}

/// MPI_Request_get_status_all
pub unsafe fn get_status_all(
    me: &Process,
    count: c_int,
    requests: *const Request,
    flag: *mut c_int,
    statuses: *mut Status,
) -> Answer {
    // SAFETY: as the contract of `call` says; nothing is written into the list.
    unsafe {
        let listed = Listed::of(me, count, requests.cast_mut())?;
        let ready = look(me, &listed, Until::All, Asks)?;
        let done = ready.len() == listed.active.len();
        *flag = truth(done);
        if done && !statuses.is_null() {
            listed.write_empty(statuses);
            for position in ready {
                show(me, listed.list[position]).0.write(statuses.add(position));
            }
        }
        Ok(())
    }
}

/// MPI_Request_get_status_some
pub unsafe fn get_status_some(
    me: &Process,
    count: c_int,
    requests: *const Request,
    done_count: *mut c_int,
    indices: *mut c_int,
    statuses: *mut Status,
) -> Answer {
    // SAFETY: as the contract of `call` says; nothing is written into the list.
    unsafe {
        let listed = Listed::of(me, count, requests.cast_mut())?;
        if listed.active.is_empty() {
            *done_count = UNDEFINED;
            return Ok(());
        }
        let ready = look(me, &listed, Until::Some, Asks)?;
        *done_count = ready.len() as c_int;
        for (order, &position) in ready.iter().enumerate() {
            *indices.add(order) = position as c_int;
            if !statuses.is_null() {
                show(me, listed.list[position]).0.write(statuses.add(order));
            }
        }
        Ok(())
    }
}
