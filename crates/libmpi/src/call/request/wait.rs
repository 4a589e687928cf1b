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
use crate::abi::pointers::{InList, InOutList, InOutPtr, OutList, OutPtr};
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
struct Listed<'a> {
    list: &'a mut [Request],
    active: Vec<usize>,
}

impl<'a> Listed<'a> {
    fn of(me: &Process, count: c_int, requests: InOutList<'a, Request>) -> Answer<Listed<'a>> {
        let Ok(count) = usize::try_from(count) else {
            return Err(Error::new(Class::COUNT, format!("a count of 0 or more, not {count}")));
        };
        let list = requests.values(count);
        let mut active = Vec::with_capacity(count);
        for (position, request) in list.iter().enumerate() {
            if is_active(me, *request)? {
                active.push(position);
            }
        }
        Ok(Listed { list, active })
    }

    /// The statuses of those that are null or inactive.
    fn write_empty(&self, statuses: OutList<Status>) {
        if statuses.is_null() {
            return;
        }
        let mut active = self.active.iter().peekable();
        for place in 0..self.list.len() {
            if active.next_if(|next| **next == place).is_none() {
                Status::write_empty(statuses.at(place));
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
fn look(me: &Process, listed: &Listed, until: Until, patience: Patience) -> Answer<Vec<usize>> {
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
    listed: &'a Listed<'a>,
    needed: &'a [(usize, u32)],
    done: std::vec::IntoIter<(u32, source::Status)>,
}

impl Told<'_> {
    fn finish(&mut self) {
        for (index, told) in self.done.by_ref() {
            let (position, part) = self.needed[index as usize];
            completed(self.me, self.listed.list[position], part, &told);
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
fn hand_out_all(
    me: &Process,
    listed: &mut Listed,
    positions: &[usize],
    statuses: OutList<Status>,
    dense: bool,
) -> Answer {
    let mut codes = Vec::with_capacity(positions.len());
    let mut first: Option<Error> = None;
    if !dense {
        listed.write_empty(statuses);
    }
    for (order, &position) in positions.iter().enumerate() {
        let (status, error) = hand_out(me, &mut listed.list[position]);
        let place = if dense { order } else { position };
        status.write(statuses.at(place));
        codes.push((place, error.as_ref().map_or(0, |error| error.class.0)));
        first = first.or(error);
    }
    let Some(first) = first else { return Ok(()) };
    let tell = |place: usize, code: c_int| statuses.at(place).change(|status| status.error = code);
    if !dense {
        (0..listed.list.len()).for_each(|place| tell(place, 0));
    }
    codes.iter().for_each(|(place, code)| tell(*place, *code));
    Err(Error { class: Class::IN_STATUS, ..first })
}

/// MPI_Wait
pub fn wait(me: &Process, mut request: InOutPtr<Request>, status: OutPtr<Status>) -> Answer {
    let simple = matches!(
        me.requests.borrow().get(request.0).map(|pending| (&pending.kind, &pending.state)),
        Some((Kind::Send(..) | Kind::Receive(..) | Kind::Collective(..) | Kind::File(..), State::Active))
    );
    if simple {
        let place = handle::place(request.0).expect("it is in the table");
        let told: source::Status = me.perform(Op::WaitOne(operation::Request(place)), |done| done.status);
        completed(me, *request, place, &told);
    } else {
        let listed = Listed::of(me, 1, request.list())?;
        if listed.active.is_empty() {
            Status::write_empty(status);
            return Ok(());
        }
        look(me, &listed, Until::All, Waits)?;
    }
    let (told, error) = hand_out(me, &mut request);
    told.write(status);
    error.map_or(Ok(()), Err)
}

/// MPI_Test
pub fn test(
    me: &Process,
    mut request: InOutPtr<Request>,
    flag: OutPtr<c_int>,
    status: OutPtr<Status>,
) -> Answer {
    let mut index = 0;
    any(me, (1, request.list()), Asks, OutPtr::of(&mut index), flag, status)
}

/// MPI_Waitall
pub fn waitall(
    me: &Process,
    count: c_int,
    requests: InOutList<Request>,
    statuses: OutList<Status>,
) -> Answer {
    let mut listed = Listed::of(me, count, requests)?;
    let ready = look(me, &listed, Until::All, Waits)?;
    hand_out_all(me, &mut listed, &ready, statuses, false)
}

/// MPI_Testall
pub fn testall(
    me: &Process,
    count: c_int,
    requests: InOutList<Request>,
    flag: OutPtr<c_int>,
    statuses: OutList<Status>,
) -> Answer {
    let mut listed = Listed::of(me, count, requests)?;
    let ready = look(me, &listed, Until::All, Asks)?;
    let done = ready.len() == listed.active.len();
    flag.set(truth(done));
    if done { hand_out_all(me, &mut listed, &ready, statuses, false) } else { Ok(()) }
}

/// MPI_Waitany
pub fn waitany(
    me: &Process,
    count: c_int,
    requests: InOutList<Request>,
    index: OutPtr<c_int>,
    status: OutPtr<Status>,
) -> Answer {
    let mut flag = 0;
    any(me, (count, requests), Waits, index, OutPtr::of(&mut flag), status)
}

/// MPI_Testany
pub fn testany(
    me: &Process,
    count: c_int,
    requests: InOutList<Request>,
    index: OutPtr<c_int>,
    flag: OutPtr<c_int>,
    status: OutPtr<Status>,
) -> Answer {
    any(me, (count, requests), Asks, index, flag, status)
}

fn any(
    me: &Process,
    (count, requests): (c_int, InOutList<Request>),
    patience: Patience,
    index: OutPtr<c_int>,
    flag: OutPtr<c_int>,
    status: OutPtr<Status>,
) -> Answer {
    let listed = Listed::of(me, count, requests)?;
    index.set(UNDEFINED);
    flag.set(truth(listed.active.is_empty()));
    if listed.active.is_empty() {
        Status::write_empty(status);
        return Ok(());
    }
    let Some(&position) = look(me, &listed, Until::Any, patience)?.first() else { return Ok(()) };
    index.set(position as c_int);
    flag.set(1);
    let (told, error) = hand_out(me, &mut listed.list[position]);
    told.write(status);
    error.map_or(Ok(()), Err)
}

/// MPI_Waitsome
pub fn waitsome(
    me: &Process,
    count: c_int,
    requests: InOutList<Request>,
    done_count: OutPtr<c_int>,
    indices: OutList<c_int>,
    statuses: OutList<Status>,
) -> Answer {
    some(me, (count, requests), Waits, done_count, indices, statuses)
}

/// MPI_Testsome
pub fn testsome(
    me: &Process,
    count: c_int,
    requests: InOutList<Request>,
    done_count: OutPtr<c_int>,
    indices: OutList<c_int>,
    statuses: OutList<Status>,
) -> Answer {
    some(me, (count, requests), Asks, done_count, indices, statuses)
}

fn some(
    me: &Process,
    (count, requests): (c_int, InOutList<Request>),
    patience: Patience,
    done_count: OutPtr<c_int>,
    indices: OutList<c_int>,
    statuses: OutList<Status>,
) -> Answer {
    let mut listed = Listed::of(me, count, requests)?;
    if listed.active.is_empty() {
        done_count.set(UNDEFINED);
        return Ok(());
    }
    let ready = look(me, &listed, Until::Some, patience)?;
    done_count.set(ready.len() as c_int);
    ready.iter().enumerate().for_each(|(order, place)| indices.at(order).set(*place as c_int));
    hand_out_all(me, &mut listed, &ready, statuses, true)
}

/// The program's list, of which nothing is handed out.
fn copied(requests: InList<Request>, count: c_int) -> Vec<Request> {
    requests.values(usize::try_from(count).unwrap_or(0)).collect()
}

/// MPI_Request_get_status
pub fn get_status(me: &Process, request: Request, flag: OutPtr<c_int>, status: OutPtr<Status>) -> Answer {
    let mut index = 0;
    get_status_any(me, 1, InList::of(&[request]), OutPtr::of(&mut index), flag, status)
}

/// MPI_Request_get_status_any
pub fn get_status_any(
    me: &Process,
    count: c_int,
    requests: InList<Request>,
    index: OutPtr<c_int>,
    flag: OutPtr<c_int>,
    status: OutPtr<Status>,
) -> Answer {
    let mut list = copied(requests, count);
    let listed = Listed::of(me, count, InOutList::of(&mut list))?;
    index.set(UNDEFINED);
    flag.set(truth(listed.active.is_empty()));
    if listed.active.is_empty() {
        Status::write_empty(status);
        return Ok(());
    }
    let Some(&position) = look(me, &listed, Until::Any, Asks)?.first() else { return Ok(()) };
    index.set(position as c_int);
    flag.set(1);
    let (told, error) = show(me, listed.list[position]);
    told.write(status);
    error.map_or(Ok(()), Err)
}

/// MPI_Request_get_status_all
pub fn get_status_all(
    me: &Process,
    count: c_int,
    requests: InList<Request>,
    flag: OutPtr<c_int>,
    statuses: OutList<Status>,
) -> Answer {
    let mut list = copied(requests, count);
    let listed = Listed::of(me, count, InOutList::of(&mut list))?;
    let ready = look(me, &listed, Until::All, Asks)?;
    let done = ready.len() == listed.active.len();
    flag.set(truth(done));
    if done && !statuses.is_null() {
        listed.write_empty(statuses);
        for position in ready {
            show(me, listed.list[position]).0.write(statuses.at(position));
        }
    }
    Ok(())
}

/// MPI_Request_get_status_some
pub fn get_status_some(
    me: &Process,
    count: c_int,
    requests: InList<Request>,
    done_count: OutPtr<c_int>,
    indices: OutList<c_int>,
    statuses: OutList<Status>,
) -> Answer {
    let mut list = copied(requests, count);
    let listed = Listed::of(me, count, InOutList::of(&mut list))?;
    if listed.active.is_empty() {
        done_count.set(UNDEFINED);
        return Ok(());
    }
    let ready = look(me, &listed, Until::Some, Asks)?;
    done_count.set(ready.len() as c_int);
    for (order, &position) in ready.iter().enumerate() {
        indices.at(order).set(position as c_int);
        if !statuses.is_null() {
            show(me, listed.list[position]).0.write(statuses.at(order));
        }
    }
    Ok(())
}
