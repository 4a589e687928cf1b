//! One-sided communication: windows, what is done to them, and when it is complete (MPI 5.0, chapter 12).
//!
//! An operation is a request of the simulator's, complete when its target has applied it and the answer is back. A
//! synchronisation waits for those that it completes. Epochs are followed, so that a call outside of one is refused.
//! Fences are barriers, and post, start, complete and wait are messages, both on a communicator of the window's own.

mod access;
mod creation;
mod properties;
mod synchronisation;

pub use access::*;
pub use creation::*;
pub use properties::*;
pub use synchronisation::*;

use std::ffi::c_int;
use std::rc::Rc;

use mpi::operation::{self, Op, Until};

use super::request::{self, Pending};
use crate::abi::error::{Answer, Class, Error};
use crate::abi::handle::{self, Request, Win};
use crate::live::process::Process;
use crate::objects::window::UnderWay;
pub use crate::objects::window::{Flavour, Window};

/// The window of a handle.
pub fn find(me: &Process, win: Win) -> Answer<Rc<Window>> {
    me.windows.borrow().get(win.0).cloned().ok_or_else(|| {
        let name = if win == Win::NULL { "MPI_WIN_NULL".into() } else { format!("{:#x}", win.0) };
        Error::new(Class::WIN, format!("{name} is not a window"))
    })
}

impl Window {
    /// Waits for what is under way to `target`, or to all.
    fn flush(&self, me: &Process, target: Option<u32>) -> Answer {
        let mut waited = Vec::new();
        self.under_way.borrow_mut().retain_mut(|one| {
            if target.is_some_and(|target| target != one.target) {
                return true;
            }
            if !one.done.get() {
                waited.push((one.request, one.handed));
            }
            false
        });
        if waited.is_empty() {
            return Ok(());
        }
        let place = |request: Request| handle::place(request.0).expect("it is in the table");
        let places = waited.iter().map(|(request, _)| operation::Request(place(*request)));
        let done = me.perform(Op::Wait(places.collect(), Until::All), |done| done.done.clone());
        let mut trouble = None;
        for ((request, handed), (_, told)) in waited.into_iter().zip(done) {
            request::part_completed(me, request, operation::Request(place(request)), &told);
            if !handed {
                let ended = me.requests.borrow_mut().remove(request.0);
                trouble = trouble.or(ended.and_then(Pending::into_error));
            }
        }
        trouble.map_or(Ok(()), Err)
    }

    /// True if an access epoch to `target` is open.
    fn is_open(&self, target: u32) -> bool {
        self.fence.get()
            || self.started.borrow().as_ref().is_some_and(|targets| targets.contains(&target))
            || self.locks.borrow().contains(&target)
            || self.all.borrow().is_some()
    }

    /// True if any epoch is open that a fence, or the end of the window, would break.
    fn is_busy(&self) -> bool {
        self.started.borrow().is_some()
            || self.posted.borrow().is_some()
            || !self.locks.borrow().is_empty()
            || self.all.borrow().is_some()
    }

    fn check_rank(&self, rank: c_int) -> Answer<u32> {
        self.members.check_rank(rank, Class::RANK)
    }
}

fn out_of_order(reason: impl Into<String>, win: Win) -> Error {
    Error::new(Class::RMA_SYNC, reason).of(win)
}
