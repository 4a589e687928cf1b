//! Starts of persistent requests.

use std::ffi::c_int;
use std::sync::Arc;

use mpi::operation::{self, Op, Start};

use super::{Again, Kind, Pending, State};
use crate::abi::error::{Answer, Class, Error};
use crate::abi::handle::{self, Request};
use crate::abi::pointers::{InOutList, InOutPtr};
use crate::call::point_to_point::{self, Lending};
use crate::data::datatype::Layout;
use crate::live::process::Process;

/// MPI_Start
pub fn start(me: &Process, request: InOutPtr<Request>) -> Answer {
    let request = *request;
    enum What {
        Send(point_to_point::Outgoing, Layout, operation::SendMode),
        Receive(point_to_point::Incoming, Layout),
        Collective(Again),
        Partitions,
    }
    let what = match me.requests.borrow().get(request.0) {
        Some(pending) if pending.kept && matches!(pending.state, State::Inactive) => match &pending.kind {
            Kind::Send(Some((message, layout, mode)), _) => Some(What::Send(*message, layout.clone(), *mode)),
            Kind::Receive(message, layout) => Some(What::Receive(*message, layout.clone())),
            Kind::Collective(_, Some(again)) => Some(What::Collective(again.clone())),
            Kind::Partitioned(..) => Some(What::Partitions),
            _ => None,
        },
        _ => None,
    };
    let (Some(what), Some(place)) = (what, handle::place(request.0)) else {
        let reason = format!("{:#x} is not an inactive persistent request", request.0);
        return Err(Error::new(Class::REQUEST, reason));
    };
    let begins = Start::Request(operation::Request(place));
    let op = match what {
        What::Send(message, layout, mode) => {
            let prepared = message.prepare_laid_out(me, layout, mode, Lending::Allowed)?;
            let mut table = me.requests.borrow_mut();
            if let Some(Pending { kind: Kind::Send(_, lent), .. }) = table.get_mut(request.0) {
                *lent = prepared.lent;
            }
            Some(Op::Send(prepared.send, begins))
        }
        What::Receive(message, layout) => Some(Op::Receive(message.wanted(me, &layout)?, begins)),
        What::Collective(again) => {
            let finish = again(me)?;
            if let Some(pending) = me.requests.borrow_mut().get_mut(request.0) {
                pending.kind = Kind::Collective(Some(finish), Some(again));
            }
            Some(Op::Start(Arc::new([operation::Request(place)])))
        }
        What::Partitions => None,
    };
    if let Some(pending) = me.requests.borrow_mut().get_mut(request.0) {
        pending.state = State::Active;
    }
    match op {
        Some(op) => me.perform(op, |_| ()),
        None => point_to_point::start_partitions(me, request),
    }
    Ok(())
}

/// MPI_Startall
pub fn startall(me: &Process, count: c_int, requests: InOutList<Request>) -> Answer {
    let Ok(count) = usize::try_from(count) else {
        return Err(Error::new(Class::COUNT, format!("a count of 0 or more, not {count}")));
    };
    for request in requests.values(count) {
        start(me, InOutPtr::of(request))?;
    }
    Ok(())
}
