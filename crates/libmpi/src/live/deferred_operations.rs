//! Ranks go on from operations before they are performed, if these tell the program nothing and wait for nobody.
//!
//! ```text
//!   fiber of rank r                          Live::next(r), at the simulated time of …
//!   MPI_Send ── noted, goes on
//!   MPI_Recv ── suspends ──────────────────► the send
//!                                            the receive: the send is over; what was printed after it is written
//!   goes on ◄─────────────────────────────── (its end)
//! ```
//!
//! So a send costs no switch of its own. The simulator sees the same operations at the same times. What the program
//! does after the send it does earlier than the simulated time at which the send is over: its clock
//! ([`Process::time`]), its output (`process_view::stdio`) and its files wait for that, so that nothing shows it.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use engine::Duration;
use mpi::Op;
use mpi::operation::Work;

use super::process::Process;
use crate::process_view::Printed;

/// Limit of deferred operations of a rank.
const FURTHEST: usize = 32;

/// An operation that a rank is ahead of.
struct Deferred {
    op: Op,
    /// Output that had been printed before it.
    printed: Printed,
    /// The function of MPI that asked for it.
    function: &'static str,
}

/// The operations of one rank that it is ahead of.
#[derive(Default)]
pub struct DeferredOperations {
    /// The first first; while the rank waits, with what it waits for behind them.
    operations: RefCell<VecDeque<Deferred>>,
    /// Output that had been printed before the one that was handed over last.
    due: Cell<Printed>,
}

impl Process {
    /// Performs `op`, of which the program is told nothing and which waits for nobody: the rank goes on at once.
    pub fn perform_ahead(&self, op: Op) {
        let may = self.shared.runs_ahead && self.waited.get() == Duration::ZERO;
        if !may || self.ahead.operations.borrow().len() == FURTHEST {
            return self.perform(op, |_| ());
        }
        self.looks.set(0);
        self.handed_over.set(self.handed_over.get() + 1);
        self.defer(op);
    }

    fn defer(&self, op: Op) {
        let (printed, function) = (self.view.printed(), self.function.get());
        self.ahead.operations.borrow_mut().push_back(Deferred { op, printed, function });
    }

    /// Has it gone on from operations that are not performed?
    #[inline]
    pub fn is_ahead(&self) -> bool {
        !self.ahead.operations.borrow().is_empty()
    }

    /// While it waits: the next operation, and before it what was printed before it.
    #[inline]
    pub fn take_ahead(&self) -> Option<Op> {
        let Deferred { op, printed, function } = self.ahead.operations.borrow_mut().pop_front()?;
        self.performing.set(function);
        self.ahead.due.set(printed);
        self.view.catch_up(printed);
        Some(op)
    }

    /// Lets them be performed now.
    pub fn catch_up(&self) {
        if let Some(first) = self.take_ahead() {
            // What it has waited for since comes after them.
            let waited = self.waited.take();
            self.suspend(first);
            self.waited.set(waited);
            self.view.catch_up(self.view.printed());
        }
    }

    /// The run is over: what the rank has printed ahead of operations that were not performed has not happened.
    pub fn forget_ahead(&self) {
        if self.is_ahead() {
            self.view.forget_after(self.ahead.due.get());
        }
    }

    /// While it waits: the last of the operations that stand behind the first is its end instead. Whether there is one.
    pub(super) fn end_behind_ahead(&self) -> bool {
        self.ahead.operations.borrow_mut().back_mut().map(|last| last.op = Op::Finish).is_some()
    }

    /// The first of the operations that it is ahead of; `op` is behind them, after what it has waited for since.
    pub(super) fn in_turn(&self, op: Op) -> Op {
        let waited = self.waited.take();
        if waited > Duration::ZERO {
            self.defer(Op::Compute(Work::Time(waited)));
        }
        self.defer(op);
        self.take_ahead().expect("one was just put there")
    }
}
