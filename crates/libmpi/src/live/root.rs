//! The first frame of a rank: nothing of the program is below it.
//!
//! It says so in its unwinding table, as a process's `_start` does. An exception that a program does not catch is
//! looked for no further, so that C++ ends the rank where it was thrown, and says which it was.

use std::arch::global_asm;
use std::ffi::{c_char, c_int};

use crate::loader::Main;

unsafe extern "C" {
    /// Calls `main` of a program.
    pub fn hopcast_call_main(
        main: Main,
        argc: c_int,
        argv: *const *const c_char,
        envp: *const *const c_char,
    ) -> c_int;
}

global_asm!(
    ".hidden hopcast_call_main",
    ".globl hopcast_call_main",
    ".type hopcast_call_main, @function",
    "hopcast_call_main:",
    ".cfi_startproc",
    ".cfi_undefined rip",
    "push rbp",
    "mov rbp, rsp",
    "mov rax, rdi",
    "mov edi, esi",
    "mov rsi, rdx",
    "mov rdx, rcx",
    "call rax",
    "pop rbp",
    "ret",
    ".cfi_endproc",
    ".size hopcast_call_main, . - hopcast_call_main",
);
