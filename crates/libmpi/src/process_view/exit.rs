//! The end of a rank: `exit` and its kin end the rank, not the simulator.

use std::ffi::{c_int, c_void};

use mpi::Op;

use crate::live::process::Process;
use crate::loader::Hook;

/// What is run at the end of a rank.
#[derive(Debug, Clone, Copy)]
pub enum Handler {
    /// Of `atexit`.
    Plain(extern "C" fn()),
    /// Of `on_exit`'s younger sister `__cxa_atexit`: destructors of C++.
    WithArgument(extern "C" fn(*mut c_void), *mut c_void),
}

/// The functions of this file, by the names that they stand for.
pub fn hooks() -> Vec<Hook> {
    vec![
        Hook { name: "exit", function: exit as *const c_void },
        Hook { name: "_exit", function: exit_at_once as *const c_void },
        Hook { name: "_Exit", function: exit_at_once as *const c_void },
        Hook { name: "quick_exit", function: exit_at_once as *const c_void },
        Hook { name: "atexit", function: at_exit as *const c_void },
        Hook { name: "__cxa_atexit", function: cxa_at_exit as *const c_void },
        Hook { name: "__cxa_finalize", function: cxa_finalize as *const c_void },
    ]
}

/// Runs what the rank wanted to be run, last first, then the ends of its program, and writes what it has
/// printed.
pub fn run_handlers(me: &Process) {
    loop {
        let last = me.handlers.borrow_mut().pop();
        match last {
            Some(Handler::Plain(function)) => function(),
            Some(Handler::WithArgument(function, argument)) => function(argument),
            None => break,
        }
    }
    // SAFETY: on the rank's fiber, when it ends.
    unsafe { me.program.finish() };
    me.flush();
}

fn running() -> &'static Process {
    Process::running().expect("only the code of a rank finds this function")
}

extern "C" fn exit(code: c_int) -> ! {
    let me = running();
    me.exit_code.set(code & 0xff);
    run_handlers(me);
    me.end(Op::Finish)
}

extern "C" fn exit_at_once(code: c_int) -> ! {
    let me = running();
    me.exit_code.set(code & 0xff);
    me.end(Op::Finish)
}

extern "C" fn at_exit(function: extern "C" fn()) -> c_int {
    running().handlers.borrow_mut().push(Handler::Plain(function));
    0
}

extern "C" fn cxa_at_exit(
    function: extern "C" fn(*mut c_void),
    argument: *mut c_void,
    _dso: *mut c_void,
) -> c_int {
    running().handlers.borrow_mut().push(Handler::WithArgument(function, argument));
    0
}

/// The program's own end asks for its destructors to be run: they have been, by [`run_handlers`].
extern "C" fn cxa_finalize(_dso: *mut c_void) {}
