//! An interpreter in which all ranks of a run are, as the ranks need it. Its front end implements it.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::Fault;
use super::process::Process;

/// An interpreter that ranks share.
pub trait Interpreter {
    /// Runs the program for a rank, on its fiber; gives its exit code.
    fn main(&self, me: &Process) -> i32;
    /// The rank is about to be suspended: lets the interpreter go if it holds it; gives true if it did.
    fn leave(&self, rank: u32) -> bool;
    /// The rank runs again: takes the interpreter if it held it, and puts its things in place.
    fn enter(&self, rank: u32, held: bool);
    /// Place in the program of the rank that runs, if it has one.
    fn standing(&self) -> Option<String>;
    /// Causes of the end of ranks since the last call.
    fn take_failures(&self) -> Vec<Fault>;
}

static ACTIVE: AtomicPtr<&'static dyn Interpreter> = AtomicPtr::new(ptr::null_mut());

/// Ranks run in this interpreter from now on.
pub fn activate(interpreter: &'static dyn Interpreter) {
    ACTIVE.store(Box::leak(Box::new(interpreter)), Ordering::Relaxed);
}

/// The interpreter, if ranks run in one.
#[inline]
pub fn active() -> Option<&'static dyn Interpreter> {
    // SAFETY: set once, to a value that is never freed.
    unsafe { ACTIVE.load(Ordering::Relaxed).as_ref() }.copied()
}
