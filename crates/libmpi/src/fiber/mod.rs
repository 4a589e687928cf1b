//! Fibers: every rank has a stack of its own, and the thread of the simulator moves between them.
//!
//! ```text
//!   stack of the thread (hub)                       stack of rank r
//!   ─────────────────────────                       ───────────────────────────────
//!   sim::run → World::resume                        main(argc, argv)
//!   Live::next(r)                                   MPI_Recv
//!   Fiber::resume ──── registers saved, rsp ──────► Process::perform: what `suspend` gives
//!        ▲                                               │
//!        └──── the operation, rsp back ◄─────────────────┘ suspend(op)
//! ```
//!
//! A fiber that never runs to its end (the program called `exit`, or the run failed) is forgotten with its
//! stack: nothing in it is dropped, for C frames cannot be unwound.

pub mod root;
pub mod stacks;
pub mod valgrind;

use corosensei::trap::CoroutineTrapHandler;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use mpi::{Completion, Op};

use stacks::{Extent, Part};

/// What the simulator hands to a fiber: the completion of its operation, valid until it suspends again.
pub type Reply = *const Completion;

/// How a fiber ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The program of the rank has returned or called `exit`, with this code.
    Exit(i32),
    /// A signal ended it.
    Crash,
}

/// From inside a fiber, the way back to the hub.
pub type Hub = Yielder<Reply, Op>;

/// The code of one rank on a stack of its own.
pub struct Fiber {
    coroutine: Coroutine<Reply, Op, Ended, Part>,
    stack: Extent,
}

/// What a fiber did when it was resumed.
pub enum Step {
    /// It asks for this operation.
    Perform(Op),
    /// It has ended.
    Ended(Ended),
}

impl Fiber {
    /// A fiber that will run `body` when it is first resumed.
    pub fn new(stack: Part, body: impl FnOnce(&Hub) -> Ended + 'static) -> Fiber {
        let extent = stack.extent();
        Fiber { coroutine: Coroutine::with_stack(stack, move |hub, _| body(hub)), stack: extent }
    }

    /// Runs it until it asks for its next operation.
    pub fn resume(&mut self, reply: Reply) -> Step {
        match self.coroutine.resume(reply) {
            CoroutineResult::Yield(op) => Step::Perform(op),
            CoroutineResult::Return(ended) => Step::Ended(ended),
        }
    }

    /// For a signal handler: how to leave this fiber.
    pub fn trap(&self) -> CoroutineTrapHandler<Ended> {
        self.coroutine.trap_handler()
    }

    /// Whether it has come to its end.
    pub fn is_over(&self) -> bool {
        self.coroutine.done()
    }

    /// Where its stack is.
    pub fn stack(&self) -> Extent {
        self.stack
    }
}

impl Drop for Fiber {
    fn drop(&mut self) {
        if !self.coroutine.done() {
            // SAFETY: nothing on the stack owns what must be given back: frames of C, which are not
            // unwound, and of this library's calls, which hold no borrow and no memory while they wait
            // but what the process ends with.
            unsafe { self.coroutine.force_reset() };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stacks::Stacks;

    #[test]
    fn a_fiber_gives_its_operations_and_then_its_end() {
        let stacks = Stacks::new(2, 64 * 1024).unwrap();
        let reply: Reply = std::ptr::null();
        let mut fiber = Fiber::new(stacks.take(1), |hub| {
            hub.suspend(Op::Abort(7));
            Ended::Exit(3)
        });
        assert!(matches!(fiber.resume(reply), Step::Perform(Op::Abort(7))));
        assert!(matches!(fiber.resume(reply), Step::Ended(Ended::Exit(3))));
    }
}
