//! Words for valgrind: it is told where stacks are, or it takes a switch between them for an enormous frame.
//!
//! A request is a sequence of instructions that changes nothing, and that valgrind knows. Source: valgrind.h of
//! valgrind 3.19, client requests on amd64.

use std::arch::asm;
use std::sync::OnceLock;

/// VG_USERREQ__RUNNING_ON_VALGRIND, VG_USERREQ__COUNT_ERRORS, VG_USERREQ__STACK_REGISTER
const IS_RUNNING: usize = 0x1001;
const COUNT_ERRORS: usize = 0x1201;
const REGISTER_STACK: usize = 0x1501;

/// True if this process runs in valgrind.
pub fn is_running() -> bool {
    static RUNNING: OnceLock<bool> = OnceLock::new();
    *RUNNING.get_or_init(|| request([IS_RUNNING, 0, 0, 0, 0, 0]) != 0)
}

/// Tells of a stack from `start` to `end`.
pub fn register_stack(start: usize, end: usize) {
    if is_running() {
        request([REGISTER_STACK, start, end, 0, 0, 0]);
    }
}

/// Errors that it has found; none outside of it.
pub fn errors() -> usize {
    request([COUNT_ERRORS, 0, 0, 0, 0, 0])
}

/// Its answer; 0 where nobody answers.
fn request(words: [usize; 6]) -> usize {
    let mut answer = 0;
    // SAFETY: a word that is turned around by 64 bits, and a register that is exchanged with itself.
    unsafe {
        asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            in("rax") words.as_ptr(),
            inout("rdx") answer,
            options(nostack),
        );
    }
    answer
}
