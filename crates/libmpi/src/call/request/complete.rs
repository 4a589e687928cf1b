//! Ends of requests: of those whose operation is complete, and of those that are freed.

use mpi::operation::{self, Op};
use mpi::source;

use super::{Kind, Pending, State, check};
use crate::abi::error::{Answer, Error};
use crate::abi::handle::{self, Request};
use crate::abi::pointers::InOutPtr;
use crate::abi::status::Status;
use crate::call::point_to_point::{self, settle};
use crate::live::process::Process;

/// An operation of the program throws an exception where a collective's result is taken: the collective is over.
struct Thrown<'a> {
    me: &'a Process,
    place: u32,
}

impl Drop for Thrown<'_> {
    fn drop(&mut self) {
        if let Some(pending) = self.me.requests.borrow_mut().get_mut(handle::number(self.place)) {
            // A persistent one can be started again; another one has its handle yet, which a wait takes.
            pending.state = if pending.kept { State::Inactive } else { State::Complete(Status::EMPTY, None) };
        }
    }
}

/// The operation at `place` is complete: what the program gets of it.
fn finish(me: &Process, place: u32, told: &source::Status) -> (Status, Option<Error>) {
    enum End {
        Send(u64),
        Receive(crate::call::point_to_point::Incoming, crate::data::datatype::Layout),
        Collective(Option<super::Finish>),
        File(Status),
        None,
    }
    let end = match me.requests.borrow_mut().get_mut(handle::number(place)).map(|pending| &mut pending.kind) {
        Some(Kind::Send(_, lent)) => End::Send(std::mem::take(lent)),
        Some(Kind::Receive(message, layout)) => End::Receive(*message, layout.clone()),
        Some(Kind::Collective(finish, _)) => End::Collective(finish.take()),
        Some(Kind::File(status)) => End::File(*status),
        _ => End::None,
    };
    match end {
        End::Send(lent) => {
            if told.cancelled {
                // Nobody will receive it.
                me.shared.parcels.borrow_mut().forget(told.data);
            }
            settle(me, lent);
        }
        End::Receive(message, layout) => {
            let taken = message.take(me, &layout, told);
            return (message.status(told), taken.err());
        }
        End::Collective(Some(finish)) => {
            let thrown = Thrown { me, place };
            let error = finish(me).err();
            std::mem::forget(thrown);
            return (Status::EMPTY, error);
        }
        End::File(status) => return (status, None),
        End::Collective(None) | End::None => {}
    }
    (if told.cancelled { Status::of(told) } else { Status::EMPTY }, None)
}

/// An operation of `request` is complete: the request itself, or a part of it.
pub(super) fn completed(me: &Process, request: Request, part: u32, told: &source::Status) {
    let (status, error) = finish(me, part, told);
    if handle::number(part) == request.0 {
        if let Some(pending) = me.requests.borrow_mut().get_mut(request.0) {
            pending.state = State::Complete(status, error);
        }
        return;
    }
    let child = me.requests.borrow_mut().remove(handle::number(part));
    let receives = matches!(child, Some(Pending { kind: Kind::Receive(..), .. }));
    {
        let mut table = me.requests.borrow_mut();
        let Some(group) = table.get_mut(request.0).and_then(Pending::group_mut) else { return };
        group.parts.retain(|place| *place != part);
        group.error = group.error.take().or(error);
        if receives {
            group.status = Some(status);
        }
    }
    point_to_point::advance(me, request, told);
}

/// An operation that is part of `request` is complete.
pub fn part_completed(me: &Process, request: Request, part: operation::Request, told: &source::Status) {
    completed(me, request, part.0, told);
}

/// Hands a request that is complete to the program: its handle becomes null, or inactive.
pub(super) fn hand_out(me: &Process, request: &mut Request) -> (Status, Option<Error>) {
    let (mut status, mut error, own) = {
        let mut table = me.requests.borrow_mut();
        let pending = table.get_mut(request.0).expect("it is complete");
        let (status, error) = match std::mem::replace(&mut pending.state, State::Inactive) {
            State::Complete(status, error) => (status, error),
            State::Active | State::Inactive => match pending.group_mut() {
                Some(group) => (group.status.take().unwrap_or(Status::EMPTY), group.error.take()),
                None => (Status::EMPTY, None),
            },
        };
        let own = if let Kind::Generalised(own) = pending.kind { Some(own) } else { None };
        if !pending.kept {
            table.remove(request.0);
            *request = Request::NULL;
        }
        (status, error, own)
    };
    if let Some(own) = own {
        error = own.query(&mut status).and(own.free()).err();
    }
    (status, error)
}

/// Status of a request that is complete and stays so, for the program.
pub(super) fn show(me: &Process, request: Request) -> (Status, Option<Error>) {
    let own = {
        let table = me.requests.borrow();
        let pending = table.get(request.0).expect("it is complete");
        match (&pending.state, &pending.kind) {
            (State::Complete(status, error), _) => return (*status, error.clone()),
            (_, Kind::Generalised(own)) => *own,
            (_, Kind::Group(group) | Kind::Partitioned(group, _)) => {
                return (group.status.unwrap_or(Status::EMPTY), group.error.clone());
            }
            _ => return (Status::EMPTY, None),
        }
    };
    let mut status = Status::EMPTY;
    let error = own.query(&mut status).err();
    (status, error)
}

/// MPI_Request_free. What is under way goes on, and still does what it has to.
pub fn request_free(me: &Process, mut request: InOutPtr<Request>) -> Answer {
    let request = &mut *request;
    check(me, *request)?;
    let number = std::mem::replace(request, Request::NULL).0;
    let parts = {
        let mut table = me.requests.borrow_mut();
        let pending = table.get_mut(number).expect("just seen");
        pending.kept = false;
        match (&mut pending.kind, &pending.state) {
            (Kind::Generalised(own), _) => {
                let own = *own;
                own.freed(&mut pending.kind);
                if !own.is_complete() {
                    return Ok(());
                }
                table.remove(number);
                drop(table);
                return own.free();
            }
            (Kind::Group(group) | Kind::Partitioned(group, _), _) => std::mem::take(&mut group.parts),
            (Kind::Collective(_, Some(_)), _) => vec![handle::place(number).expect("it is in the table")],
            (Kind::Flush, _) | (_, State::Complete(..) | State::Inactive) => Vec::new(),
            (_, State::Active) => vec![handle::place(number).expect("it is in the table")],
        }
    };
    if parts.first().is_none_or(|part| handle::number(*part) != number) {
        me.requests.borrow_mut().remove(number);
    }
    for part in parts {
        let lent = match me.requests.borrow_mut().get_mut(handle::number(part)) {
            Some(Pending { kind: Kind::Send(_, lent), .. }) => std::mem::take(lent),
            _ => 0,
        };
        // The program cannot learn of its end: it may use its memory again whenever it knows otherwise.
        settle(me, lent);
        me.perform(Op::LetGo(operation::Request(part)), |_| ());
    }
    Ok(())
}

/// An operation whose request was freed is complete.
pub fn let_go_completed(me: &Process, request: operation::Request, told: &source::Status) {
    finish(me, request.0, told);
    me.requests.borrow_mut().remove(handle::number(request.0));
}
