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
use stacks::{Extent, Part};

/// End of a fiber by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The program of the rank has returned or called `exit`, with this code.
    Exit(i32),
    /// A signal ended it.
    Crash,
}

/// The hub as a fiber sees it: takes its operations, and answers each with a reply.
pub type Hub<Reply, Operation> = Yielder<Reply, Operation>;

/// The code of one rank on a stack of its own.
pub struct Fiber<Reply, Operation> {
    coroutine: Coroutine<Reply, Operation, Ended, Part>,
    stack: Extent,
}

/// Outcome of a resumed fiber.
pub enum Step<Operation> {
    /// It asks for this operation.
    Perform(Operation),
    /// It has ended.
    Ended(Ended),
}

impl<Reply: 'static, Operation: 'static> Fiber<Reply, Operation> {
    /// A fiber that will run `body` when it is first resumed.
    pub fn new(stack: Part, body: impl FnOnce(&Hub<Reply, Operation>) -> Ended + 'static) -> Self {
        let extent = stack.extent();
        Fiber { coroutine: Coroutine::with_stack(stack, move |hub, _| body(hub)), stack: extent }
    }

    /// Runs it until it asks for its next operation.
    pub fn resume(&mut self, reply: Reply) -> Step<Operation> {
        match self.coroutine.resume(reply) {
            CoroutineResult::Yield(op) => Step::Perform(op),
            CoroutineResult::Return(ended) => Step::Ended(ended),
        }
    }

    /// Way out of this fiber, for a signal handler.
    pub fn trap(&self) -> CoroutineTrapHandler<Ended> {
        self.coroutine.trap_handler()
    }

    /// True if it has come to its end.
    pub fn is_over(&self) -> bool {
        self.coroutine.done()
    }

    /// Extent of its stack.
    pub fn stack(&self) -> Extent {
        self.stack
    }
}

impl<Reply, Operation> Drop for Fiber<Reply, Operation> {
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
        let mut fiber = Fiber::new(stacks.take(1), |hub: &Hub<(), i32>| {
            hub.suspend(7);
            Ended::Exit(3)
        });
        assert!(matches!(fiber.resume(()), Step::Perform(7)));
        assert!(matches!(fiber.resume(()), Step::Ended(Ended::Exit(3))));
    }
}
