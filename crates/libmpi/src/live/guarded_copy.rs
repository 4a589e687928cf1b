//! Copying while no rank runs, on a stack of its own: a fault in memory that a program gave ends that, not the process.
//!
//! ```text
//!   hub                              aside                               signal stack
//!   Live::matched ── attempt ──────► memcpy ──────────── SIGSEGV ──────► handler: notes it
//!   false: the run ends  ◄────────── «leave with false» ◄─────────────── sets rip, rsp
//! ```
//!
//! What the copying has borrowed stays borrowed, so nothing is asked of the ranks afterwards.

use std::cell::Cell;
use std::ptr;

use corosensei::trap::CoroutineTrapHandler;
use corosensei::{Coroutine, CoroutineResult};
use mpi::operation::Rank;

use super::{Fault, Live, crash};
use crate::fiber::stacks::{Part, Stacks};

thread_local! {
    static TRAP: Cell<Option<CoroutineTrapHandler<bool>>> = const { Cell::new(None) };
}

/// \[bytes\] Functions of the program may run on it: operations of collectives that nobody waits for.
const BYTES: usize = 1 << 20;

/// For a signal handler: how to leave what is attempted, if anything is.
pub fn trap() -> Option<CoroutineTrapHandler<bool>> {
    TRAP.get()
}

/// A stack aside.
pub struct GuardedCopy {
    /// None while it is used.
    stack: Option<Part>,
    /// After it.
    _stacks: Stacks,
}

impl GuardedCopy {
    /// One that nobody uses.
    pub fn new() -> std::io::Result<GuardedCopy> {
        let stacks = Stacks::new(1, BYTES)?;
        Ok(GuardedCopy { stack: Some(stacks.take(0)), _stacks: stacks })
    }

    /// Runs `work`; whether it has come to its end.
    pub fn attempt(&mut self, work: impl FnOnce()) -> bool {
        let stack = self.stack.take().expect("one thing is attempted at a time");
        // SAFETY: what the function borrows outlives it: it is resumed once, here, and is over then.
        let mut aside = unsafe {
            Coroutine::<(), (), bool, Part>::with_stack_unchecked(stack, |_, ()| {
                work();
                true
            })
        };
        TRAP.set(Some(aside.trap_handler()));
        let ended = match aside.resume(()) {
            CoroutineResult::Return(ended) => ended,
            CoroutineResult::Yield(()) => unreachable!("it does not know how to wait"),
        };
        TRAP.set(None);
        self.stack = Some(aside.into_stack());
        ended
    }
}

/// Place of a rank that waits.
pub struct Standing {
    /// In which function of MPI.
    pub call: Option<String>,
    /// Place in its program.
    pub place: Option<String>,
}

impl Live {
    /// Place of a rank, if it waits on a fiber.
    pub(super) fn stands(&self, rank: Rank) -> Option<Standing> {
        // What runs in another process does not run here.
        let seat = self.seats[rank.0 as usize].as_ref().filter(|seat| seat.slot.is_none())?;
        let mut fiber = seat.fiber.borrow_mut();
        if fiber.is_over() {
            return None;
        }
        seat.process.enter();
        // Without an answer it says where it stands, and waits on.
        fiber.resume(ptr::null());
        seat.process.leave();
        Some(Standing { call: seat.process.calling.take(), place: seat.process.standing.take() })
    }

    /// Does for `rank` what touches memory that programs have given. If there is none, the run ends.
    pub(super) fn attempt(&mut self, rank: u32, work: impl FnOnce()) {
        if self.aside.as_mut().is_some_and(|aside| !aside.attempt(work)) {
            self.aside = None;
            let fault = self.crashed(rank);
            self.faults.push(fault);
        }
    }

    /// Message for the crash that was just caught: while `rank` ran, or its own data was copied.
    pub(super) fn crashed(&self, rank: u32) -> Fault {
        match crash::at_fault() {
            None => crash::fault(rank, self.now),
            Some(memory) => crash::fault_in(&memory, self.now, self.stands(Rank(memory.rank))),
        }
    }
}
