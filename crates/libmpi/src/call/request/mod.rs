//! Requests: operations that complete later.
//!
//! The simulator knows an operation by its place in the rank's table. Most requests are one operation, and have its
//! place; a **group** is several (a send and a receive, the partitions of a message), each a hidden request. A
//! request that is complete keeps its status until it is handed to the program, so that one can be looked at before
//! (MPI_Request_get_status). A persistent one stays in the table; each start begins an operation anew, because
//! what it sends is packed then.

mod complete;
mod generalised;
mod persistent;
mod status;
mod wait;

pub use complete::{let_go_completed, part_completed, request_free};
pub use generalised::*;
pub use persistent::*;
pub use status::*;
pub use wait::*;

use std::ffi::c_int;
use std::sync::Arc;

use mpi::operation::{self, Op, Start, Until};

use crate::abi::error::{Answer, Class, Error};
use crate::abi::handle::{self, Request};
use crate::abi::pointers::{InOutPtr, InPtr, OutPtr};
use crate::abi::status::Status;
use crate::data::parcel::Place;
use crate::live::process::Process;
use crate::objects::request::{self as object, Generalised, State};

/// An operation that a rank has begun, or may begin again and again.
pub type Pending = object::Pending<Process>;
/// Work at the end of an operation.
pub type Finish = object::Finish<Process>;
/// Beginning of a persistent collective again; gives what is to be done at its end.
pub type Again = object::Again<Process>;
type Kind = object::Kind<Process>;

/// Begins an operation under a request.
pub fn begin(me: &Process, pending: Pending, op: impl FnOnce(Start) -> Op) -> Request {
    let place = me.requests.borrow_mut().insert(pending);
    match op(Start::Request(operation::Request(place))) {
        message @ (Op::Send(..) | Op::Receive(..)) => me.perform_ahead(message),
        other => me.perform(other, |_| ()),
    }
    Request(handle::number(place))
}

/// Begins an operation of the library's own, of which the program has no request.
pub fn begin_hidden(me: &Process, op: impl FnOnce(Start) -> Op) -> operation::Request {
    let place = me.requests.borrow_mut().insert(Pending::new(Kind::Collective(None, None)));
    me.perform(op(Start::Request(operation::Request(place))), |_| ());
    operation::Request(place)
}

/// Waits for such operations.
pub fn end_hidden(me: &Process, requests: Vec<operation::Request>) {
    if requests.is_empty() {
        return;
    }
    let requests: Arc<[operation::Request]> = requests.into();
    me.perform(Op::Wait(requests.clone(), Until::All), |_| ());
    for request in &*requests {
        me.requests.borrow_mut().remove(handle::number(request.0));
    }
}

/// Begins an operation that is part of the request `whole`, under a hidden request.
pub fn begin_part(me: &Process, whole: Request, pending: Pending, op: impl FnOnce(operation::Request) -> Op) {
    let place = me.requests.borrow_mut().insert(pending);
    if let Some(group) = me.requests.borrow_mut().get_mut(whole.0).and_then(Pending::group_mut) {
        group.parts.push(place);
    }
    me.perform(op(operation::Request(place)), |_| ());
}

/// Keeps a request whose operation begins later, or consists of parts.
pub fn keep(me: &Process, pending: Pending) -> Request {
    Request(handle::number(me.requests.borrow_mut().insert(pending)))
}

/// The operations of a request that are not complete.
pub fn parts(me: &Process, request: Request) -> Vec<operation::Request> {
    let mut table = me.requests.borrow_mut();
    let group = table.get_mut(request.0).and_then(Pending::group_mut);
    group.map_or_else(Vec::new, |group| group.parts.iter().map(|part| operation::Request(*part)).collect())
}

/// The status of a request of several operations, once it is complete.
pub fn tell(me: &Process, request: Request, status: Status) {
    if let Some(group) = me.requests.borrow_mut().get_mut(request.0).and_then(Pending::group_mut) {
        group.status = Some(status);
    }
}

/// Place at which a receive under way puts its message.
pub fn receiving(me: &Process, request: operation::Request) -> Option<Place> {
    match me.requests.borrow().get(handle::number(request.0))?.kind {
        Kind::Receive(message, ref layout) => Some(message.place(layout)),
        _ => None,
    }
}

/// Refuses what is not a request.
fn check(me: &Process, request: Request) -> Answer {
    if me.requests.borrow().get(request.0).is_some() {
        return Ok(());
    }
    let name = if request == Request::NULL { "MPI_REQUEST_NULL".into() } else { format!("{:#x}", request.0) };
    Err(Error::new(Class::REQUEST, format!("{name} is not a request")))
}

/// MPI_Cancel: of a receive or a message that has not matched.
pub fn cancel(me: &Process, request: InOutPtr<Request>) -> Answer {
    let request = *request;
    check(me, request)?;
    enum Way {
        Simulated,
        Ask(Generalised),
        Nothing,
    }
    let way = match me.requests.borrow().get(request.0) {
        Some(Pending { kind: Kind::Receive(..) | Kind::Send(..), state: State::Active, .. }) => {
            Way::Simulated
        }
        Some(Pending { kind: Kind::Generalised(own), .. }) => Way::Ask(*own),
        Some(Pending { state: State::Inactive, .. }) => {
            return Err(Error::new(Class::REQUEST, "an inactive request cannot be cancelled"));
        }
        _ => Way::Nothing,
    };
    match way {
        Way::Simulated => {
            let place = handle::place(request.0).expect("it is in the table");
            me.perform(Op::Cancel(operation::Request(place)), |_| ());
            Ok(())
        }
        Way::Ask(own) => own.cancel(),
        Way::Nothing => Ok(()),
    }
}

/// MPI_Test_cancelled
pub fn test_cancelled(_: &Process, status: InPtr<Status>, flag: OutPtr<c_int>) -> Answer {
    flag.set(super::datatype::truth(status.cancelled()));
    Ok(())
}
