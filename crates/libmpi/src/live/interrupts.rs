//! Signals that end a run: Ctrl-C, which hopcast passes on, and those with which batch systems and closed terminals end a
//! process.
//!
//! The first one ends the run with a report of what has happened. A rank that then makes no MPI call for half a second is
//! broken off. A second Ctrl-C, at least half a second after the first, breaks off the running rank, or the run.

use crate::process_view::computing_clock as clock;
use std::ffi::c_int;
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::crash;

/// True if the user has asked for the end of the run.
pub static ASKED: AtomicBool = AtomicBool::new(false);

/// Time from which on another Ctrl-C counts as a second one \[ns\]. An earlier one is a copy of the first: launchers pass
/// Ctrl-C on to processes that the terminal has sent it to.
static AGAIN_AT_NS: AtomicU64 = AtomicU64::new(u64::MAX);

/// The signals that end a run.
const SIGNALS: [c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

const PATIENCE_US: i64 = 500_000;

/// Installs the handlers of these signals.
pub fn watch() {
    SIGNALS.into_iter().for_each(|signal| handle(signal, ask as extern "C" fn(c_int) as usize));
}

/// Ignores these signals from now on: the run is over, and writing its results is not to be broken off.
pub fn are_over() {
    SIGNALS.into_iter().for_each(|signal| handle(signal, libc::SIG_IGN));
    if ASKED.load(Ordering::Relaxed) {
        handle(crash::NUDGE, libc::SIG_IGN);
    }
}

extern "C" fn ask(signal: c_int) {
    let now_ns = clock::wall_ns();
    if !ASKED.swap(true, Ordering::Relaxed) {
        AGAIN_AT_NS.store(now_ns + PATIENCE_US as u64 * 1_000, Ordering::Relaxed);
        crash::leave_on(crash::NUDGE);
        nudge_now_and_then();
    } else if signal == libc::SIGINT && now_ns >= AGAIN_AT_NS.load(Ordering::Relaxed) {
        crash::leave_on(libc::SIGINT);
        // SAFETY: has no conditions; the signal comes when this handler has returned.
        unsafe { libc::raise(libc::SIGINT) };
    }
}

fn nudge_now_and_then() {
    let patience = libc::timeval { tv_sec: 0, tv_usec: PATIENCE_US };
    let timer = libc::itimerval { it_interval: patience, it_value: patience };
    // SAFETY: the structure is complete; ranks have no timers.
    unsafe { setitimer(ITIMER_REAL, &raw const timer, ptr::null_mut()) };
}

fn handle(signal: c_int, handler: libc::sighandler_t) {
    // SAFETY: the handler sets flags, a timer and other handlers; the structure is complete.
    unsafe {
        let mut action: libc::sigaction = mem::zeroed();
        action.sa_sigaction = handler;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(signal, &raw const action, ptr::null_mut());
    }
}

const ITIMER_REAL: c_int = 0;

unsafe extern "C" {
    fn setitimer(which: c_int, new: *const libc::itimerval, old: *mut libc::itimerval) -> c_int;
}
