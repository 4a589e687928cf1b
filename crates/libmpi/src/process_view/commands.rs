//! Output that does not come through a rank's streams: that of its commands, and what it formats into a descriptor.
//!
//! What a rank has printed before is written first, whatever it is ahead of.

use std::arch::global_asm;
use std::ffi::{c_char, c_int, c_void};
use std::ptr;

use super::descriptors::write;
use super::rank::running;
use crate::loader::Hook;

unsafe extern "C" {
    fn hopcast_dprintf();
    fn hopcast_dprintf_checked();
    fn vasprintf(text: *mut *mut c_char, format: *const c_char, arguments: *mut c_void) -> c_int;
}

/// The functions of this file, by the names that they stand for.
pub fn hooks() -> Vec<Hook> {
    vec![
        Hook::new("system", system as *const c_void),
        Hook::new("popen", open as *const c_void),
        Hook::new("pclose", close as *const c_void),
        Hook::new("dprintf", hopcast_dprintf as *const c_void),
        Hook::new("vdprintf", print as *const c_void),
        Hook::new("__dprintf_chk", hopcast_dprintf_checked as *const c_void),
        Hook::new("__vdprintf_chk", print_checked as *const c_void),
    ]
}

fn catch_up() {
    if let Some(me) = running() {
        me.catch_up();
    }
}

unsafe extern "C" fn system(command: *const c_char) -> c_int {
    catch_up();
    // SAFETY: the program's own call.
    unsafe { libc::system(command) }
}

unsafe extern "C" fn open(command: *const c_char, mode: *const c_char) -> *mut libc::FILE {
    catch_up();
    // SAFETY: the program's own call.
    unsafe { libc::popen(command, mode) }
}

unsafe extern "C" fn close(stream: *mut libc::FILE) -> c_int {
    catch_up();
    // SAFETY: the program's own call.
    unsafe { libc::pclose(stream) }
}

/// vdprintf(3): what a rank formats goes where it writes.
unsafe extern "C" fn print(descriptor: c_int, format: *const c_char, arguments: *mut c_void) -> c_int {
    let mut text = ptr::null_mut();
    // SAFETY: the program's own call; the text is as long as the C library says, and to be freed.
    unsafe {
        let length = vasprintf(&raw mut text, format, arguments);
        if length < 0 {
            return length;
        }
        let written = write(descriptor, text.cast(), length as usize);
        libc::free(text.cast());
        written as c_int
    }
}

/// The same of a program that is compiled with checks (-D_FORTIFY_SOURCE).
unsafe extern "C" fn print_checked(
    descriptor: c_int,
    _: c_int,
    format: *const c_char,
    arguments: *mut c_void,
) -> c_int {
    // SAFETY: the program's own call.
    unsafe { print(descriptor, format, arguments) }
}

// dprintf(descriptor, format, …): its arguments as a list for `print` (System V ABI for x86-64, 3.5.7). The
// registers are saved at [rsp], the list is at [rsp + 176]: how many bytes of those of whole numbers and of those of real
// numbers are used up, where the arguments are that were passed in memory, and where the registers are.
global_asm!(
    ".macro hopcast_formats fixed",
    "push rbp",
    "mov rbp, rsp",
    "sub rsp, 208",
    "mov [rsp + 16], rdx",
    "mov [rsp + 24], rcx",
    "mov [rsp + 32], r8",
    "mov [rsp + 40], r9",
    "movaps [rsp + 48], xmm0",
    "movaps [rsp + 64], xmm1",
    "movaps [rsp + 80], xmm2",
    "movaps [rsp + 96], xmm3",
    "movaps [rsp + 112], xmm4",
    "movaps [rsp + 128], xmm5",
    "movaps [rsp + 144], xmm6",
    "movaps [rsp + 160], xmm7",
    "mov dword ptr [rsp + 176], 8 * \\fixed",
    "mov dword ptr [rsp + 180], 48",
    "lea rax, [rbp + 16]",
    "mov [rsp + 184], rax",
    "mov [rsp + 192], rsp",
    "lea rax, [rsp + 176]",
    ".endm",
    ".hidden hopcast_dprintf",
    ".globl hopcast_dprintf",
    ".type hopcast_dprintf, @function",
    "hopcast_dprintf:",
    "hopcast_formats 2",
    "mov rdx, rax",
    "call {print}",
    "leave",
    "ret",
    ".size hopcast_dprintf, . - hopcast_dprintf",
    ".hidden hopcast_dprintf_checked",
    ".globl hopcast_dprintf_checked",
    ".type hopcast_dprintf_checked, @function",
    "hopcast_dprintf_checked:",
    "hopcast_formats 3",
    "mov rsi, rdx",
    "mov rdx, rax",
    "call {print}",
    "leave",
    "ret",
    ".size hopcast_dprintf_checked, . - hopcast_dprintf_checked",
    ".purgem hopcast_formats",
    print = sym print,
);
