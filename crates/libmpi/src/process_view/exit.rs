//! The end of a rank: `exit` and its kin end the rank, not the simulator.

use std::cell::RefCell;
use std::ffi::{c_int, c_void};

use super::rank::{Rank, running};
use super::signals;
use crate::fiber::root::hopcast_call;
use crate::loader::Hook;

/// Handler that runs at the end of a rank.
#[derive(Debug, Clone, Copy)]
enum Handler {
    /// Handler of `atexit`.
    Plain(extern "C" fn()),
    /// Handler of `__cxa_atexit`: destructors of C++.
    WithArgument(extern "C" fn(*mut c_void), *mut c_void),
    /// Handler of `on_exit`.
    WithCode(extern "C" fn(c_int, *mut c_void), *mut c_void),
}

/// Handlers that a rank wants to be run at its end.
#[derive(Default)]
pub struct Handlers {
    usual: RefCell<Vec<Handler>>,
    quick: RefCell<Vec<Handler>>,
    /// Destructors of thread-local variables, which come first.
    thread_local: RefCell<Vec<Handler>>,
}

/// The functions of this file, by the names that they stand for.
pub fn hooks() -> Vec<Hook> {
    vec![
        Hook::new("exit", exit as *const c_void),
        Hook::new("_exit", exit_at_once as *const c_void),
        Hook::new("_Exit", exit_at_once as *const c_void),
        Hook::new("quick_exit", quick_exit as *const c_void),
        Hook::new("abort", abort as *const c_void),
        Hook::own("atexit", at_exit as *const c_void),
        Hook::own("on_exit", on_exit as *const c_void),
        Hook::own("at_quick_exit", at_quick_exit as *const c_void),
        Hook::own("__cxa_atexit", cxa_at_exit as *const c_void),
        Hook::own("__cxa_at_quick_exit", cxa_at_quick_exit as *const c_void),
        Hook::own("__cxa_thread_atexit", cxa_thread_at_exit as *const c_void),
        Hook::own("__cxa_thread_atexit_impl", cxa_thread_at_exit as *const c_void),
        Hook::own("__cxa_finalize", cxa_finalize as *const c_void),
    ]
}

/// Runs what the rank wanted to be run, last first, then the ends of its program, and writes what it has
/// printed.
pub fn run_handlers(me: &dyn Rank, code: c_int) {
    let handlers = &me.view().handlers;
    run_all(&handlers.thread_local, code);
    run_all(&handlers.usual, code);
    // SAFETY: on the rank's fiber, when it ends.
    unsafe { me.program().finish() };
    me.flush();
}

fn run_all(handlers: &RefCell<Vec<Handler>>, code: c_int) {
    loop {
        // No borrow while it runs: it may ask for another.
        let last = handlers.borrow_mut().pop();
        match last {
            Some(Handler::Plain(function)) => call(function as usize, 0, 0),
            Some(Handler::WithArgument(function, argument)) => call(function as usize, argument as usize, 0),
            Some(Handler::WithCode(function, argument)) => {
                call(function as usize, code as usize, argument as usize)
            }
            None => break,
        }
    }
}

fn call(function: usize, first: usize, second: usize) {
    // SAFETY: a function that the program has named for this, with the arguments that it takes.
    unsafe { hopcast_call(function, first, second, 0) };
}

/// Ends the rank after `last` was run; where no rank runs, the process.
fn end(code: c_int, last: impl FnOnce(&dyn Rank)) -> ! {
    let Some(me) = running() else {
        // SAFETY: ends the process, which only the ends of libraries ask for here.
        unsafe { libc::_exit(code) }
    };
    me.set_exit_code(code & 0xff);
    last(me);
    me.flush();
    me.end()
}

extern "C" fn exit(code: c_int) -> ! {
    end(code, |me| run_handlers(me, code))
}

extern "C" fn exit_at_once(code: c_int) -> ! {
    end(code, |_| ())
}

extern "C" fn quick_exit(code: c_int) -> ! {
    end(code, |me| run_all(&me.view().handlers.quick, code))
}

extern "C" fn abort() -> ! {
    let Some(me) = running() else {
        // SAFETY: ends the process.
        unsafe { libc::abort() }
    };
    if signals::handler_of(me, libc::SIGABRT).is_some() {
        signals::deliver(me, libc::SIGABRT);
    }
    signals::end(me, libc::SIGABRT)
}

fn add(which: impl FnOnce(&Handlers) -> &RefCell<Vec<Handler>>, handler: Handler) -> c_int {
    let me = running().expect("only the code of a rank finds this function");
    which(&me.view().handlers).borrow_mut().push(handler);
    0
}

extern "C" fn at_exit(function: extern "C" fn()) -> c_int {
    add(|handlers| &handlers.usual, Handler::Plain(function))
}

extern "C" fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int {
    add(|handlers| &handlers.usual, Handler::WithCode(function, argument))
}

extern "C" fn at_quick_exit(function: extern "C" fn()) -> c_int {
    add(|handlers| &handlers.quick, Handler::Plain(function))
}

extern "C" fn cxa_at_exit(
    function: extern "C" fn(*mut c_void),
    argument: *mut c_void,
    _dso: *mut c_void,
) -> c_int {
    add(|handlers| &handlers.usual, Handler::WithArgument(function, argument))
}

extern "C" fn cxa_at_quick_exit(function: extern "C" fn(*mut c_void), _dso: *mut c_void) -> c_int {
    add(|handlers| &handlers.quick, Handler::WithArgument(function, std::ptr::null_mut()))
}

extern "C" fn cxa_thread_at_exit(
    function: extern "C" fn(*mut c_void),
    argument: *mut c_void,
    _dso: *mut c_void,
) -> c_int {
    add(|handlers| &handlers.thread_local, Handler::WithArgument(function, argument))
}

/// The program's own end asks for its destructors to be run: they have been, by [`run_handlers`].
extern "C" fn cxa_finalize(_dso: *mut c_void) {}
