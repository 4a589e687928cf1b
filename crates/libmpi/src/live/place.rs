//! Place of a rank in the user's program.
//!
//! Nothing is noted at a call, which would cost every call of every rank. A rank that is asked looks at its own
//! stack: the hub resumes it without an answer, and it suspends again at once.
//!
//! ```text
//!   main ─ exchange ─ MPI_Recv ─ Process::perform ─ here: the return addresses of these, innermost first
//!            └───────── the first of them that is in the program has a line
//! ```

use std::ffi::{c_int, c_void};

use super::interpreter;
use crate::loader::symbols;

/// Most calls that are looked at: what stands between a rank's MPI call, or its fault, and its own code.
const MOST: usize = 64;

/// Calls of a stack, the innermost first.
#[derive(Debug, Clone, Copy)]
pub struct Calls {
    instructions: [usize; MOST],
    count: usize,
}

impl Calls {
    /// Those of this stack. For signal handlers, too: nothing is allocated.
    #[inline(never)]
    pub fn of_this_stack() -> Calls {
        let mut calls = Calls { instructions: [0; MOST], count: 0 };
        // SAFETY: the function gets what it is written for; tables of all code say how it is unwound.
        unsafe { _Unwind_Backtrace(note, (&raw mut calls).cast()) };
        calls
    }

    /// No more than this instruction.
    pub fn only(instruction: usize) -> Calls {
        let mut calls = Calls { instructions: [0; MOST], count: 1 };
        calls.instructions[0] = instruction;
        calls
    }

    /// From `instruction` on; that alone if it is none of them.
    pub fn from(&self, instruction: usize) -> Calls {
        let all = &self.instructions[..self.count];
        let Some(first) = all.iter().position(|one| *one == instruction) else {
            return Calls::only(instruction);
        };
        let mut calls = *self;
        calls.instructions.rotate_left(first);
        calls.count -= first;
        calls
    }

    /// The instructions that call, or that were interrupted.
    pub fn instructions(&self) -> impl Iterator<Item = usize> {
        self.instructions[..self.count].iter().copied()
    }
}

/// Place of the rank that runs in its program.
pub fn here() -> Option<String> {
    match interpreter::active() {
        Some(interpreter) => interpreter.standing(),
        None => symbols::place_among(Calls::of_this_stack().instructions()),
    }
}

/// The function of MPI that the rank that runs has called, if it is compiled and its libraries say their names.
pub fn call() -> Option<String> {
    if interpreter::active().is_some() { None } else { call_among(Calls::of_this_stack().instructions()) }
}

/// The function of MPI that the program has called, if there is one, among these calls, the innermost first. `PMPI_Send`
/// is the same function as `MPI_Send`.
pub fn call_among(instructions: impl Iterator<Item = usize>) -> Option<String> {
    let outside = |instruction: &usize| symbols::place_of(*instruction).is_none();
    let called = instructions.take_while(outside).last()?;
    let found = symbols::library_function(called)?;
    let symbol = found.split(' ').next()?;
    let name = if symbol.starts_with("PMPI_") { &symbol[1..] } else { symbol };
    name.contains("MPI_").then(|| name.to_string())
}

/// `_Unwind_Trace_Fn` of the C++ ABI for Itanium, level I: 0 goes on.
extern "C" fn note(context: *mut c_void, calls: *mut c_void) -> c_int {
    /// _URC_END_OF_STACK
    const ENOUGH: c_int = 5;
    let mut before = 0;
    // SAFETY: the unwinder's own context; the place is that of `Calls::of_this_stack`, which waits.
    let (next, calls) = unsafe { (_Unwind_GetIPInfo(context, &raw mut before), &mut *calls.cast::<Calls>()) };
    // A call has returned to the instruction after it; a signal comes before the one that it has interrupted.
    calls.instructions[calls.count] = if before == 0 { next.wrapping_sub(1) } else { next };
    calls.count += 1;
    if next == 0 || calls.count == MOST { ENOUGH } else { 0 }
}

unsafe extern "C" {
    fn _Unwind_Backtrace(
        each: extern "C" fn(*mut c_void, *mut c_void) -> c_int,
        argument: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetIPInfo(context: *mut c_void, before: *mut c_int) -> usize;
}
