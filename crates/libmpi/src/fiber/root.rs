//! The first frame of a rank's code: of `main`, and of what the C library calls for a program (constructors, what is run at
//! the end, handlers of signals).
//!
//! Its unwinding table says that nothing is below it, as a process's `_start` does. An exception that a program does not
//! catch is looked for no further, so that C++ ends the rank where it was thrown, and says which it was.

use std::arch::global_asm;
use std::ffi::c_int;

unsafe extern "C" {
    /// Calls a function of a program that takes up to three words, and may give a number.
    pub fn hopcast_call(function: usize, first: usize, second: usize, third: usize) -> c_int;
}

global_asm!(
    ".hidden hopcast_call",
    ".globl hopcast_call",
    ".type hopcast_call, @function",
    "hopcast_call:",
    ".cfi_startproc",
    ".cfi_undefined rip",
    "push rbp",
    "mov rbp, rsp",
    "mov rax, rdi",
    "mov rdi, rsi",
    "mov rsi, rdx",
    "mov rdx, rcx",
    "call rax",
    "pop rbp",
    "ret",
    ".cfi_endproc",
    ".size hopcast_call, . - hopcast_call",
);
