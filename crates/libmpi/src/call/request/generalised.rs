//! Generalised requests: operations of the program's own (MPI 5.0, 13.2).

use std::ffi::{c_int, c_void};

use super::{Kind, Pending, check, keep};
use crate::abi::error::{Answer, Class, Error};
use crate::abi::handle::Request;
use crate::abi::pointers::OutPtr;
use crate::abi::status::Status;
use crate::live::process::Process;
use crate::objects::request::{Cancel, Free, Generalised, Query};
use crate::translation::callbacks;

/// Result of a function of the program.
fn outcome(code: c_int, which: &str) -> Answer {
    if code == Class::SUCCESS.0 {
        return Ok(());
    }
    Err(Error::new(
        Class(callbacks::heard_error(code)),
        format!("the {which} function of a generalised request returned {code}"),
    ))
}

impl Generalised {
    /// True if the program has completed it.
    pub(super) fn is_complete(&self) -> bool {
        self.complete
    }

    /// The program has freed its request.
    pub(super) fn freed(&self, kind: &mut Kind) {
        *kind = Kind::Generalised(Generalised { freed: true, ..*self });
    }

    /// Asks for its status.
    pub(super) fn query(&self, status: &mut Status) -> Answer {
        let Some(query) = self.query else { return Ok(()) };
        let state = self.state;
        // SAFETY: the program has given it as that function (`grequest_start`).
        let answer =
            callbacks::status(status, |status| Process::call_back(|| unsafe { query(state, status) }));
        outcome(answer, "query")
    }

    /// Tells the program that its state is needed no more.
    pub(super) fn free(&self) -> Answer {
        // SAFETY: as in `query`.
        let free = |free: Free| Process::call_back(|| unsafe { free(self.state) });
        self.free.map_or(Ok(()), |function| outcome(free(function), "free"))
    }

    /// Tells the program that it is cancelled.
    pub(super) fn cancel(&self) -> Answer {
        let complete = c_int::from(self.complete);
        // SAFETY: as in `query`.
        self.cancel.map_or(Ok(()), |cancel| outcome(unsafe { cancel(self.state, complete) }, "cancel"))
    }
}

/// MPI_Grequest_start
pub unsafe fn grequest_start(
    me: &Process,
    query: *mut c_void,
    free: *mut c_void,
    cancel: *mut c_void,
    state: *mut c_void,
    request: OutPtr<Request>,
) -> Answer {
    // SAFETY: as the contract of `call` says, they are functions of these types, or null.
    let own = unsafe {
        Generalised {
            query: std::mem::transmute::<*mut c_void, Option<Query>>(query),
            free: std::mem::transmute::<*mut c_void, Option<Free>>(free),
            cancel: std::mem::transmute::<*mut c_void, Option<Cancel>>(cancel),
            state,
            complete: false,
            freed: false,
        }
    };
    let kept = keep(me, Pending::new(Kind::Generalised(own)));
    request.set(kept);
    Ok(())
}

/// MPI_Grequest_complete
pub fn grequest_complete(me: &Process, request: Request) -> Answer {
    check(me, request)?;
    let own = match me.requests.borrow_mut().get_mut(request.0) {
        Some(Pending { kind: Kind::Generalised(own), .. }) => {
            own.complete = true;
            *own
        }
        _ => return Err(Error::new(Class::REQUEST, "not a generalised request")),
    };
    if own.freed {
        me.requests.borrow_mut().remove(request.0);
        return own.free();
    }
    Ok(())
}
