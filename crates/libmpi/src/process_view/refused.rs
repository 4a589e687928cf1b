//! Refusals: what a process can do and a rank cannot, because all ranks share one process.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::{c_int, c_void};

use super::rank::running;
use crate::loader::Hook;

/// The functions of this file, by the names that they stand for.
pub fn hooks() -> Vec<Hook> {
    let mut hooks = vec![
        Hook::new("fork", fork as *const c_void),
        Hook::new("vfork", fork as *const c_void),
        Hook::new("_Fork", fork as *const c_void),
        Hook::new("daemon", daemon as *const c_void),
        Hook::new("pthread_create", create_thread as *const c_void),
        // The ranks share the simulator's core, wherever they want to be.
        Hook::new("sched_setaffinity", agree as *const c_void),
        Hook::new("pthread_setaffinity_np", agree as *const c_void),
        Hook::new("setpriority", agree as *const c_void),
        Hook::new("mlockall", agree as *const c_void),
    ];
    let replacing = ["execl", "execlp", "execle", "execv", "execvp", "execve", "execvpe", "fexecve"];
    hooks.extend(replacing.map(|name| Hook::new(name, execute as *const c_void)));
    hooks
}

thread_local! {
    static SAID: RefCell<BTreeSet<&'static str>> = const { RefCell::new(BTreeSet::new()) };
}

/// Says once why `function` does not do what it is asked.
pub fn say(function: &'static str, why: &str) {
    if SAID.with_borrow_mut(|said| said.insert(function)) {
        let who = running().map_or(String::new(), |me| format!("rank {}: ", me.number()));
        eprintln!("hopcast: {who}{function}: {why} (said once)");
    }
}

const SHARED: &str = "all ranks share one process, in which this is refused";

fn refuse(code: c_int) -> c_int {
    // SAFETY: the place of this thread's error number.
    unsafe { *libc::__errno_location() = code };
    -1
}

extern "C" fn fork() -> c_int {
    say("fork", SHARED);
    refuse(libc::ENOSYS)
}

extern "C" fn daemon(_: c_int, _: c_int) -> c_int {
    say("daemon", SHARED);
    refuse(libc::ENOSYS)
}

/// With whatever arguments: the caller cleans them up.
extern "C" fn execute() -> c_int {
    say("exec", SHARED);
    refuse(libc::ENOSYS)
}

extern "C" fn create_thread(_: *mut c_void, _: *const c_void, _: *const c_void, _: *mut c_void) -> c_int {
    say("pthread_create", "all ranks share one thread; --isolation process lets them have their own");
    libc::EAGAIN
}

extern "C" fn agree() -> c_int {
    0
}
