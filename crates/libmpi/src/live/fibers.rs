//! Fibers of ranks: they ask for operations of MPI, and get completions.

use mpi::{Completion, Op};

use super::debugger;
use super::interpreter::Interpreter;
use super::process::Process;
use crate::fiber::{self, root::hopcast_call};

/// Completion of an operation, valid until the fiber suspends again.
pub type Reply = *const Completion;
/// The hub as the code of a rank sees it.
pub type Hub = fiber::Hub<Reply, Op>;
/// The code of one rank on a stack of its own.
pub type Fiber = fiber::Fiber<Reply, Op>;
/// Outcome of a rank that was resumed.
pub type Step = fiber::Step<Op>;

/// Body of a fiber.
pub enum Code {
    /// A compiled program, whose `main` is at this address.
    Main(usize),
    /// A Python program.
    Interpreter(&'static dyn Interpreter),
}

impl Code {
    /// Runs it for the rank whose fiber this is; gives its exit code.
    pub fn run(self, me: &Process) -> i32 {
        match self {
            Code::Main(main) => run_main(me, main),
            Code::Interpreter(interpreter) => interpreter.main(me),
        }
    }
}

fn run_main(me: &Process, main: usize) -> i32 {
    let (program, shared) = (&me.program, &me.shared);
    if let Some(debugged) = shared.debugged.as_ref().filter(|debugged| debugged.rank == me.rank) {
        debugger::meet(debugged, program.base(), program.base() + main);
    }
    let (argc, argv) = shared.arguments.own();
    let envp = shared.arguments.environment();
    // SAFETY: on the rank's own fiber, once; the arguments live as long as the run. A program may write into
    // the texts of the environment that it begins with; all ranks see that.
    unsafe {
        program.initialise(argc, argv, envp);
        hopcast_call(program.main(main), argc as usize, argv as usize, envp as usize)
    }
}
