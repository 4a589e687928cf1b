//! Requests: operations that complete later. `R` is the rank that completes them.

use std::ffi::{c_int, c_void};
use std::rc::Rc;

use mpi::operation::{Data, SendMode};

use super::message::{Incoming, Outgoing, Partitioned};
use crate::abi::error::{Answer, Error};
use crate::abi::status::Status;
use crate::data::datatype::Layout;

/// Action to take when an operation is complete.
pub type Finish<R> = Box<dyn FnOnce(&R) -> Answer>;

/// Beginning of a persistent collective again; gives what is to be done at its end.
pub type Again<R> = Rc<dyn Fn(&R) -> Answer<Finish<R>>>;

/// An operation that a rank has begun, or may begin again and again.
pub struct Pending<R> {
    pub(crate) kind: Kind<R>,
    pub(crate) state: State,
    /// Persistent?
    pub(crate) kept: bool,
}

/// State of a request.
#[derive(Debug, Clone)]
pub(crate) enum State {
    /// Persistent, and not started.
    Inactive,
    /// Under way.
    Active,
    /// To be handed to the program.
    Complete(Status, Option<Error>),
}

pub(crate) enum Kind<R> {
    /// With what is sent anew at each start, if it is persistent, and the contents that are lent.
    Send(Option<(Outgoing, Layout, SendMode)>, Data),
    /// With how what comes is laid out: the program may free its datatype before.
    Receive(Incoming, Layout),
    /// With what is to be done at its end, while it is under way, and how it begins again, if it is persistent.
    Collective(Option<Finish<R>>, Option<Again<R>>),
    /// Several operations.
    Group(Group),
    /// Those of a partitioned message.
    Partitioned(Group, Box<Partitioned>),
    /// Operation that the program completes itself.
    Generalised(Generalised),
    /// The buffered sends of the rank.
    Flush,
    /// An access to a file: its status.
    File(Status),
}

/// Operations that are one request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Group {
    /// The places of those that are not complete.
    pub(crate) parts: Vec<u32>,
    /// Status of the receive among them.
    pub(crate) status: Option<Status>,
    /// The first error.
    pub(crate) error: Option<Error>,
}

impl<R> Pending<R> {
    pub(crate) fn new(kind: Kind<R>) -> Pending<R> {
        Pending { kind, state: State::Active, kept: false }
    }

    pub(crate) fn persistent(kind: Kind<R>) -> Pending<R> {
        Pending { kind, state: State::Inactive, kept: true }
    }

    /// A send, with the contents that are lent.
    pub fn send(lent: Data) -> Pending<R> {
        Pending::new(Kind::Send(None, lent))
    }

    /// A receive.
    pub fn receive(message: Incoming, layout: Layout) -> Pending<R> {
        Pending::new(Kind::Receive(message, layout))
    }

    /// A collective, or another operation, at whose end `finish` takes the result.
    pub fn collective(finish: Finish<R>) -> Pending<R> {
        Pending::new(Kind::Collective(Some(finish), None))
    }

    /// An access to a file.
    pub fn file(status: Status) -> Pending<R> {
        Pending::new(Kind::File(status))
    }

    /// A persistent collective.
    pub fn persistent_collective(again: Again<R>) -> Pending<R> {
        Pending::persistent(Kind::Collective(None, Some(again)))
    }

    /// Several operations, which [`begin_part`] adds.
    pub fn group() -> Pending<R> {
        Pending::new(Kind::Group(Group::default()))
    }

    /// The end of what was sent in buffered mode.
    pub fn flush() -> Pending<R> {
        Pending::new(Kind::Flush)
    }

    /// A persistent send.
    pub fn persistent_send(message: Outgoing, layout: Layout, mode: SendMode) -> Pending<R> {
        Pending::persistent(Kind::Send(Some((message, layout, mode)), 0))
    }

    /// A persistent receive.
    pub fn persistent_receive(message: Incoming, layout: Layout) -> Pending<R> {
        Pending::persistent(Kind::Receive(message, layout))
    }

    /// A partitioned message.
    pub fn partitioned(message: Partitioned) -> Pending<R> {
        Pending::persistent(Kind::Partitioned(Group::default(), Box::new(message)))
    }

    /// The partitioned message that it is.
    pub fn as_partitioned(&mut self) -> Option<&mut Partitioned> {
        match &mut self.kind {
            Kind::Partitioned(_, message) => Some(message),
            _ => None,
        }
    }

    /// Is it under way, or complete and not handed to the program?
    pub fn is_active(&self) -> bool {
        !matches!(self.state, State::Inactive)
    }

    /// Error of it, once it is complete.
    pub fn into_error(self) -> Option<Error> {
        if let State::Complete(_, error) = self.state { error } else { None }
    }

    pub(crate) fn group_mut(&mut self) -> Option<&mut Group> {
        match &mut self.kind {
            Kind::Group(group) | Kind::Partitioned(group, _) => Some(group),
            _ => None,
        }
    }
}

pub(crate) type Query = unsafe extern "C-unwind" fn(*mut c_void, *mut Status) -> c_int;

pub(crate) type Free = unsafe extern "C-unwind" fn(*mut c_void) -> c_int;

pub(crate) type Cancel = unsafe extern "C-unwind" fn(*mut c_void, c_int) -> c_int;

/// The program's functions, and how far it is.
#[derive(Debug, Clone, Copy)]
pub struct Generalised {
    pub(crate) query: Option<Query>,
    pub(crate) free: Option<Free>,
    pub(crate) cancel: Option<Cancel>,
    pub(crate) state: *mut c_void,
    pub(crate) complete: bool,
    pub(crate) freed: bool,
}
