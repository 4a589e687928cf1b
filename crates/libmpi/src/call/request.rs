//! Requests: operations that complete later.
//!
//! The simulator knows a request by its place in the rank's table. A persistent one stays in the table when
//! its operation is complete; each start begins an operation anew, because what it sends is packed then.

use std::ffi::c_int;
use std::rc::Rc;
use std::sync::Arc;

use mpi::operation::{self, Op, SendMode, Start, Until};
use mpi::source;

use super::datatype::truth;
use super::point_to_point::{Incoming, Outgoing};
use crate::abi::UNDEFINED;
use crate::abi::error::{Answer, Class, Error};
use crate::abi::handle::{self, Request};
use crate::abi::status::Status;
use crate::data::datatype::Layout;
use crate::live::process::Process;

/// What is to be done when an operation is complete.
pub type Finish = Box<dyn FnOnce(&Process) -> Answer>;
/// How a persistent collective begins again; gives what is to be done at its end.
pub type Again = Rc<dyn Fn(&Process) -> Answer<Finish>>;

/// An operation that a rank has begun, or may begin again and again.
pub struct Pending {
    kind: Kind,
    /// Under way?
    active: bool,
    /// Persistent?
    kept: bool,
}

enum Kind {
    /// With what is sent anew at each start, if it is persistent.
    Send(Option<(Outgoing, SendMode)>),
    /// With how what comes is laid out: the program may free its datatype before.
    Receive(Incoming, Layout),
    /// With what is to be done at its end, while it is under way, and how it begins again, if it is persistent.
    Collective(Option<Finish>, Option<Again>),
}

impl Pending {
    /// A send.
    pub fn send() -> Pending {
        Pending { kind: Kind::Send(None), active: true, kept: false }
    }

    /// A receive.
    pub fn receive(message: Incoming, layout: Layout) -> Pending {
        Pending { kind: Kind::Receive(message, layout), active: true, kept: false }
    }

    /// A collective, at whose end `finish` takes the result.
    pub fn collective(finish: Finish) -> Pending {
        Pending { kind: Kind::Collective(Some(finish), None), active: true, kept: false }
    }

    /// A persistent collective.
    pub fn persistent_collective(again: Again) -> Pending {
        Pending { kind: Kind::Collective(None, Some(again)), active: false, kept: true }
    }

    /// A persistent send.
    pub fn persistent_send(message: Outgoing, mode: SendMode) -> Pending {
        Pending { kind: Kind::Send(Some((message, mode))), active: false, kept: true }
    }

    /// A persistent receive.
    pub fn persistent_receive(message: Incoming, layout: Layout) -> Pending {
        Pending { kind: Kind::Receive(message, layout), active: false, kept: true }
    }
}

/// Begins an operation under a request.
pub fn begin(me: &Process, pending: Pending, op: impl FnOnce(Start) -> Op) -> Request {
    let place = me.requests.borrow_mut().insert(pending);
    me.perform(op(Start::Request(operation::Request(place))), |_| ());
    Request(handle::number(place))
}

/// Keeps a persistent request.
pub fn keep(me: &Process, pending: Pending) -> Request {
    Request(handle::number(me.requests.borrow_mut().insert(pending)))
}

/// The simulator's request, if the handle's is under way; `None` for MPI_REQUEST_NULL and inactive ones.
fn active(me: &Process, request: Request) -> Answer<Option<operation::Request>> {
    if request == Request::NULL {
        return Ok(None);
    }
    match me.requests.borrow().get(request.0) {
        Some(pending) if pending.active => Ok(handle::place(request.0).map(operation::Request)),
        Some(_) => Ok(None),
        None => Err(Error::new(Class::REQUEST, format!("{:#x} is not a request", request.0))),
    }
}

/// What a program gets of an operation that is complete. Its handle becomes null, or inactive.
unsafe fn complete(me: &Process, request: &mut Request, told: &source::Status) -> Answer<Status> {
    let (message, finish) = {
        let mut table = me.requests.borrow_mut();
        let pending = table.get_mut(request.0).expect("it was active");
        pending.active = false;
        let parts = match &mut pending.kind {
            Kind::Send(_) => (None, None),
            Kind::Receive(message, layout) => (Some((*message, layout.clone())), None),
            Kind::Collective(finish, _) => (None, finish.take()),
        };
        if !pending.kept {
            table.remove(request.0);
            *request = Request::NULL;
        }
        parts
    };
    if let Some(finish) = finish {
        finish(me)?;
    }
    Ok(match message {
        Some((message, layout)) => {
            // SAFETY: as the contract of `call` says, the buffer is there until the operation is complete.
            unsafe { message.take(me, &layout, told) };
            message.status(told)
        }
        None if told.cancelled => Status::of(told),
        None => Status::EMPTY,
    })
}

/// A list of the program's requests; those that are under way as the simulator knows them, and which of the list
/// each is.
type Active = (&'static mut [Request], Arc<[operation::Request]>, Vec<usize>);

/// The requests of a program's list.
unsafe fn all_active(me: &Process, count: c_int, requests: *mut Request) -> Answer<Active> {
    let Ok(count) = usize::try_from(count) else {
        return Err(Error::new(Class::COUNT, format!("a count of 0 or more, not {count}")));
    };
    // SAFETY: as the contract of `call` says; an empty list may be anywhere.
    let list = if count == 0 { &mut [] } else { unsafe { std::slice::from_raw_parts_mut(requests, count) } };
    let (mut waited, mut places) = (Vec::with_capacity(count), Vec::with_capacity(count));
    for (place, request) in list.iter().enumerate() {
        if let Some(found) = active(me, *request)? {
            waited.push(found);
            places.push(place);
        }
    }
    Ok((list, waited.into(), places))
}

/// MPI_Wait
pub unsafe fn wait(me: &Process, request: *mut Request, status: *mut Status) -> Answer {
    // SAFETY: as the contract of `call` says.
    unsafe {
        let told = match active(me, *request)? {
            Some(waited) => {
                let told = me.perform(Op::WaitOne(waited), |done| done.status);
                complete(me, &mut *request, &told)?
            }
            None => Status::EMPTY,
        };
        told.write(status);
    }
    Ok(())
}

/// MPI_Test
pub unsafe fn test(me: &Process, request: *mut Request, flag: *mut c_int, status: *mut Status) -> Answer {
    // SAFETY: as the contract of `call` says.
    unsafe { testall(me, 1, request, flag, status) }
}

/// MPI_Waitall
pub unsafe fn waitall(me: &Process, count: c_int, requests: *mut Request, statuses: *mut Status) -> Answer {
    // SAFETY: as the contract of `call` says.
    unsafe {
        let (list, waited, places) = all_active(me, count, requests)?;
        let done = if waited.is_empty() {
            Vec::new()
        } else {
            me.perform(Op::Wait(waited, Until::All), |done| done.done.clone())
        };
        finish_all(me, list, &places, &done, statuses)
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
        let (list, waited, places) = all_active(me, count, requests)?;
        let done = if waited.is_empty() {
            Some(Vec::new())
        } else {
            me.perform(Op::Test(waited, Until::All), |done| done.flag.then(|| done.done.clone()))
        };
        *flag = truth(done.is_some());
        if let Some(done) = done {
            finish_all(me, list, &places, &done, statuses)?;
        }
    }
    Ok(())
}

/// Completes all requests of a list; those that were not under way have an empty status.
unsafe fn finish_all(
    me: &Process,
    list: &mut [Request],
    places: &[usize],
    done: &[(u32, source::Status)],
    statuses: *mut Status,
) -> Answer {
    let wanted = !statuses.is_null();
    // SAFETY: as the contract of `call` says.
    unsafe {
        if wanted {
            (0..list.len()).for_each(|place| Status::EMPTY.write(statuses.add(place)));
        }
        for (index, told) in done {
            let place = places[*index as usize];
            let status = complete(me, &mut list[place], told)?;
            if wanted {
                status.write(statuses.add(place));
            }
        }
    }
    Ok(())
}

/// MPI_Waitany
pub unsafe fn waitany(
    me: &Process,
    count: c_int,
    requests: *mut Request,
    index: *mut c_int,
    status: *mut Status,
) -> Answer {
    // SAFETY: as the contract of `call` says.
    unsafe {
        let (list, waited, places) = all_active(me, count, requests)?;
        if waited.is_empty() {
            *index = UNDEFINED;
            Status::EMPTY.write(status);
            return Ok(());
        }
        let (which, told) = me.perform(Op::Wait(waited, Until::Any), |done| done.done[0]);
        let place = places[which as usize];
        *index = place as c_int;
        complete(me, &mut list[place], &told)?.write(status);
    }
    Ok(())
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
    unsafe {
        let (list, waited, places) = all_active(me, count, requests)?;
        let none = waited.is_empty();
        let found = if none {
            None
        } else {
            me.perform(Op::Test(waited, Until::Any), |done| done.flag.then(|| done.done[0]))
        };
        *flag = truth(none || found.is_some());
        *index = UNDEFINED;
        match found {
            Some((which, told)) => {
                let place = places[which as usize];
                *index = place as c_int;
                complete(me, &mut list[place], &told)?.write(status);
            }
            None if none => Status::EMPTY.write(status),
            None => {}
        }
    }
    Ok(())
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
    unsafe { some(me, (count, requests), true, done_count, indices, statuses) }
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
    unsafe { some(me, (count, requests), false, done_count, indices, statuses) }
}

unsafe fn some(
    me: &Process,
    (count, requests): (c_int, *mut Request),
    waits: bool,
    done_count: *mut c_int,
    indices: *mut c_int,
    statuses: *mut Status,
) -> Answer {
    // SAFETY: as the contract of `call` says.
    unsafe {
        let (list, waited, places) = all_active(me, count, requests)?;
        if waited.is_empty() {
            *done_count = UNDEFINED;
            return Ok(());
        }
        let op = if waits { Op::Wait(waited, Until::Some) } else { Op::Test(waited, Until::Some) };
        let done = me.perform(op, |done| done.done.clone());
        *done_count = done.len() as c_int;
        for (order, (which, told)) in done.iter().enumerate() {
            let place = places[*which as usize];
            *indices.add(order) = place as c_int;
            let status = complete(me, &mut list[place], told)?;
            if !statuses.is_null() {
                status.write(statuses.add(order));
            }
        }
    }
    Ok(())
}

/// What a start begins.
enum Begun {
    Send(Outgoing, SendMode),
    Receive(Incoming, Layout),
    Collective(Again),
}

/// MPI_Start
pub unsafe fn start(me: &Process, request: *mut Request) -> Answer {
    // SAFETY: as the contract of `call` says.
    let request = unsafe { *request };
    let place = handle::place(request.0).map(operation::Request);
    let begun = {
        let mut table = me.requests.borrow_mut();
        match (table.get_mut(request.0), place) {
            (Some(pending), Some(place)) if pending.kept && !pending.active => {
                pending.active = true;
                let begun = match &pending.kind {
                    Kind::Send(Some((message, mode))) => Some(Begun::Send(*message, *mode)),
                    Kind::Receive(message, layout) => Some(Begun::Receive(*message, layout.clone())),
                    Kind::Collective(_, Some(again)) => Some(Begun::Collective(again.clone())),
                    Kind::Send(None) | Kind::Collective(_, None) => None,
                };
                begun.map(|begun| (begun, place))
            }
            _ => None,
        }
    };
    let Some((message, place)) = begun else {
        return Err(Error::new(
            Class::REQUEST,
            format!("{:#x} is not an inactive persistent request", request.0),
        ));
    };
    let op = match message {
        // SAFETY: as the contract of `call` says.
        Begun::Send(message, mode) => Op::Send(unsafe { message.packed(me, mode) }?, Start::Request(place)),
        Begun::Receive(message, layout) => Op::Receive(message.wanted(me, &layout)?, Start::Request(place)),
        Begun::Collective(again) => {
            let finish = again(me)?;
            let mut table = me.requests.borrow_mut();
            table.get_mut(request.0).expect("it has just been found").kind =
                Kind::Collective(Some(finish), Some(again));
            Op::Start(Arc::new([place]))
        }
    };
    me.perform(op, |_| ());
    Ok(())
}

/// MPI_Startall
pub unsafe fn startall(me: &Process, count: c_int, requests: *mut Request) -> Answer {
    for index in 0..usize::try_from(count).unwrap_or(0) {
        // SAFETY: as the contract of `call` says.
        unsafe { start(me, requests.add(index)) }?;
    }
    Ok(())
}

/// MPI_Cancel
pub unsafe fn cancel(me: &Process, request: *mut Request) -> Answer {
    // SAFETY: as the contract of `call` says.
    match active(me, unsafe { *request })? {
        Some(found) => {
            me.perform(Op::Cancel(found), |_| ());
            Ok(())
        }
        None => Err(Error::new(Class::REQUEST, "not a request of an operation that is under way")),
    }
}

/// MPI_Test_cancelled
pub unsafe fn test_cancelled(_: &Process, status: *const Status, flag: *mut c_int) -> Answer {
    // SAFETY: as the contract of `call` says.
    unsafe { *flag = truth((*status).cancelled()) };
    Ok(())
}

/// MPI_Request_free. A receive that is under way has nobody who would put its message into the buffer.
pub unsafe fn request_free(me: &Process, request: *mut Request) -> Answer {
    // SAFETY: as the contract of `call` says.
    let request = unsafe { &mut *request };
    let found = active(me, *request)?;
    let receives = |pending: &Pending| matches!(pending.kind, Kind::Receive(..) | Kind::Collective(..));
    if found.is_some() && me.requests.borrow().get(request.0).is_some_and(receives) {
        let reason = "freeing a receive or a collective before it is complete is not simulated";
        return Err(Error::new(Class::UNSUPPORTED_OPERATION, reason));
    }
    // The simulator keeps persistent collectives, too.
    let kept = match me.requests.borrow().get(request.0) {
        Some(Pending { kind: Kind::Collective(_, Some(_)), .. }) => handle::place(request.0),
        _ => None,
    };
    if let Some(found) = found.or(kept.map(operation::Request)) {
        me.perform(Op::Free(found), |_| ());
    }
    me.requests.borrow_mut().remove(request.0);
    *request = Request::NULL;
    Ok(())
}
