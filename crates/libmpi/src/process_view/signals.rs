//! Signals that a rank sends to itself, and its handlers.
//!
//! A rank's handlers are its own. `raise` calls the handler of the rank that raised; a fault of its code
//! (SIGSEGV, SIGFPE …) calls it from the signal handler of this process (`live::crash`), with the same
//! arguments. Alarms never come: a rank that waits, waits in simulated time.

use std::cell::RefCell;
use std::ffi::{c_int, c_uint, c_void};
use std::ptr;

use super::identity;
use super::rank::{Rank, running};
use crate::fiber::root::hopcast_call;
use crate::loader::Hook;

/// One more than the greatest number of a signal.
const SIGNALS: usize = 65;
/// Signals that nothing is done about by default.
const HARMLESS: [c_int; 7] =
    [libc::SIGCHLD, libc::SIGURG, libc::SIGWINCH, libc::SIGCONT, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];

/// Wishes of a rank about signals.
pub struct Signals {
    actions: [libc::sigaction; SIGNALS],
    /// A bit for each signal that is to wait, and for each that waits.
    blocked: u64,
    waiting: u64,
    /// The stack that it has named for handlers.
    stack: libc::stack_t,
}

/// No stack for handlers.
const NO_STACK: libc::stack_t =
    libc::stack_t { ss_sp: ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };

/// Wishes of a rank: nothing until it says them.
pub type Lazy = RefCell<Option<Box<Signals>>>;

/// The functions of this file, by the names that they stand for.
pub fn hooks() -> Vec<Hook> {
    vec![
        Hook::new("signal", signal as *const c_void),
        Hook::new("bsd_signal", signal as *const c_void),
        Hook::new("ssignal", signal as *const c_void),
        Hook::new("sysv_signal", signal_once as *const c_void),
        Hook::new("__sysv_signal", signal_once as *const c_void),
        Hook::new("sigaction", sigaction as *const c_void),
        Hook::new("sigprocmask", mask as *const c_void),
        Hook::new("pthread_sigmask", mask as *const c_void),
        Hook::new("sigaltstack", alternative_stack as *const c_void),
        Hook::new("raise", raise as *const c_void),
        Hook::new("gsignal", raise as *const c_void),
        Hook::new("kill", kill as *const c_void),
        Hook::new("alarm", alarm as *const c_void),
        Hook::new("setitimer", set_timer as *const c_void),
    ]
}

fn with<R>(me: &dyn Rank, work: impl FnOnce(&mut Signals) -> R) -> R {
    let fresh = || {
        // SAFETY: numbers and pointers, of which zeros are the default.
        let actions = unsafe { std::mem::zeroed() };
        Box::new(Signals { actions, blocked: 0, waiting: 0, stack: NO_STACK })
    };
    work(me.view().signals.borrow_mut().get_or_insert_with(fresh))
}

fn bit(signal: c_int) -> u64 {
    1 << (signal - 1)
}

fn fail(code: c_int) -> c_int {
    // SAFETY: the place of this thread's error number.
    unsafe { *libc::__errno_location() = code };
    -1
}

/// The action of a rank for `signal`, if it has named a function.
pub fn handler_of(me: &dyn Rank, signal: c_int) -> Option<libc::sigaction> {
    let signals = me.view().signals.borrow();
    let action = signals.as_ref()?.actions[signal as usize];
    (action.sa_sigaction != libc::SIG_DFL && action.sa_sigaction != libc::SIG_IGN).then_some(action)
}

/// Calls the function of an action.
///
/// # Safety
/// `information` and `context` are what the kernel gave, or null.
pub unsafe fn call(action: &libc::sigaction, signal: c_int, information: *mut c_void, context: *mut c_void) {
    // SAFETY: both kinds of handlers take the first argument, and one without the others ignores them.
    unsafe {
        hopcast_call(action.sa_sigaction, signal as usize, information as usize, context as usize);
    }
}

/// Does what the rank wants to be done about `signal`.
pub fn deliver(me: &dyn Rank, signal: c_int) {
    let action = with(me, |signals| {
        if signals.blocked & bit(signal) != 0 {
            signals.waiting |= bit(signal);
            return None;
        }
        let action = signals.actions[signal as usize];
        if action.sa_flags & libc::SA_RESETHAND != 0 {
            signals.actions[signal as usize].sa_sigaction = libc::SIG_DFL;
        }
        Some(action)
    });
    match action {
        None => {}
        Some(action) if action.sa_sigaction == libc::SIG_IGN => {}
        Some(action) if action.sa_sigaction == libc::SIG_DFL && HARMLESS.contains(&signal) => {}
        Some(action) if action.sa_sigaction == libc::SIG_DFL => end(me, signal),
        Some(action) => {
            let before = with(me, |signals| {
                let before = signals.blocked;
                if action.sa_flags & libc::SA_NODEFER == 0 {
                    signals.blocked |= bit(signal);
                }
                before
            });
            // SAFETY: numbers, and no pointer that is followed.
            let mut information: libc::siginfo_t = unsafe { std::mem::zeroed() };
            (information.si_signo, information.si_code) = (signal, libc::SI_TKILL);
            // SAFETY: on the rank's fiber; the information outlives the call.
            unsafe { call(&action, signal, (&raw mut information).cast(), ptr::null_mut()) };
            unblock(me, before);
        }
    }
}

/// Sets the signals that wait; those that need not any more are delivered.
fn unblock(me: &dyn Rank, blocked: u64) {
    with(me, |signals| signals.blocked = blocked);
    loop {
        let next = with(me, |signals| {
            let next = signals.waiting & !signals.blocked;
            signals.waiting &= !(next & next.wrapping_neg());
            next
        });
        if next == 0 {
            break;
        }
        deliver(me, next.trailing_zeros() as c_int + 1);
    }
}

/// The rank is ended by a signal.
pub fn end(me: &dyn Rank, signal: c_int) -> ! {
    me.view().killed_by.set(signal);
    me.note_place();
    me.end()
}

/// Sets an action; gives the one before.
fn set(me: &dyn Rank, signal: c_int, action: Option<libc::sigaction>) -> Option<libc::sigaction> {
    let fixed = [libc::SIGKILL, libc::SIGSTOP].contains(&signal) && action.is_some();
    if !(1..SIGNALS as c_int).contains(&signal) || fixed {
        fail(libc::EINVAL);
        return None;
    }
    with(me, |signals| {
        let place = &mut signals.actions[signal as usize];
        let before = *place;
        *place = action.unwrap_or(before);
        Some(before)
    })
}

fn set_simple(number: c_int, handler: libc::sighandler_t, flags: c_int) -> libc::sighandler_t {
    let Some(me) = running() else {
        // SAFETY: the program's own call.
        return unsafe { libc::signal(number, handler) };
    };
    // SAFETY: numbers and pointers, of which zeros are the default.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    (action.sa_sigaction, action.sa_flags) = (handler, flags);
    set(me, number, Some(action)).map_or(libc::SIG_ERR, |before| before.sa_sigaction)
}

extern "C" fn signal(number: c_int, handler: libc::sighandler_t) -> libc::sighandler_t {
    set_simple(number, handler, libc::SA_RESTART)
}

extern "C" fn signal_once(number: c_int, handler: libc::sighandler_t) -> libc::sighandler_t {
    set_simple(number, handler, libc::SA_RESETHAND | libc::SA_NODEFER)
}

unsafe extern "C" fn sigaction(
    number: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    // SAFETY: the program's own call; its places for both are valid or null.
    unsafe {
        let Some(me) = running() else { return libc::sigaction(number, new, old) };
        let Some(before) = set(me, number, new.as_ref().copied()) else { return -1 };
        if let Some(old) = old.as_mut() {
            *old = before;
        }
    }
    0
}

unsafe extern "C" fn mask(how: c_int, new: *const libc::sigset_t, old: *mut libc::sigset_t) -> c_int {
    let Some(me) = running() else {
        // SAFETY: the program's own call.
        return unsafe { libc::sigprocmask(how, new, old) };
    };
    // SAFETY: the program's places are valid or null; the first word of a set has a bit for each signal.
    let (old, new) = unsafe { (old.cast::<u64>().as_mut(), new.cast::<u64>().as_ref()) };
    let before = with(me, |signals| signals.blocked);
    if let Some(old) = old {
        *old = before;
    }
    let Some(new) = new else { return 0 };
    let after = match how {
        libc::SIG_BLOCK => before | new,
        libc::SIG_UNBLOCK => before & !new,
        libc::SIG_SETMASK => *new,
        _ => return fail(libc::EINVAL),
    };
    unblock(me, after & !(bit(libc::SIGKILL) | bit(libc::SIGSTOP)));
    0
}

/// Handlers of faults have a stack of their own already: the rank's is only remembered.
unsafe extern "C" fn alternative_stack(new: *const libc::stack_t, old: *mut libc::stack_t) -> c_int {
    let Some(me) = running() else {
        // SAFETY: the program's own call.
        return unsafe { libc::sigaltstack(new, old) };
    };
    // SAFETY: the program's places, or null.
    let (new, old) = unsafe { (new.as_ref(), old.as_mut()) };
    let after = match new {
        Some(new) if new.ss_flags & !libc::SS_ONSTACK & !libc::SS_DISABLE != 0 => return fail(libc::EINVAL),
        Some(new) if new.ss_flags & libc::SS_DISABLE != 0 => Some(NO_STACK),
        Some(new) if new.ss_size < libc::MINSIGSTKSZ => return fail(libc::ENOMEM),
        Some(new) => Some(libc::stack_t { ss_flags: 0, ..*new }),
        None => None,
    };
    let before = with(me, |signals| {
        let before = signals.stack;
        signals.stack = after.unwrap_or(before);
        before
    });
    if let Some(old) = old {
        *old = before;
    }
    0
}

extern "C" fn raise(signal: c_int) -> c_int {
    let Some(me) = running() else {
        // SAFETY: the program's own call.
        return unsafe { libc::raise(signal) };
    };
    match signal {
        0 => 0,
        1..65 => {
            deliver(me, signal);
            0
        }
        _ => fail(libc::EINVAL),
    }
}

/// A rank may signal itself; others are asked whether they are there, and not disturbed.
extern "C" fn kill(process: c_int, signal: c_int) -> c_int {
    let Some(me) = running() else {
        // SAFETY: the program's own call.
        return unsafe { libc::kill(process, signal) };
    };
    let first = identity::number_of(0);
    match process {
        _ if process == identity::number_of(me.number()) => raise(signal),
        _ if (first..identity::number_of(me.ranks())).contains(&process) && signal == 0 => 0,
        _ => fail(libc::EPERM),
    }
}

extern "C" fn alarm(_seconds: c_uint) -> c_uint {
    0
}

extern "C" fn set_timer(_which: c_int, _new: *const c_void, _old: *mut c_void) -> c_int {
    0
}
