//! From a call of an intercepted function to this library, with all that the call passes.
//!
//! ```text
//!   program                stub (one for each name)      hopcast_kernel_entry
//!   call dgemm_ ─────────► push &Interception; jmp ─────► saves the registers in a Frame
//!                                                        kernels::called(…)
//!        ◄────────────────────────────────────────────── restores them, returns for it
//!                                                        or, if it runs: restores them, and
//!                          the function itself ◄──────── goes on there, with another return address
//!                               └─ ret ────────────────► hopcast_kernel_back: kernels::returned()
//!        ◄──────────────────────────────────────────────┘ back to the caller
//! ```
//!
//! A caller that has been compiled with the function knows which registers that leaves alone, beyond what the calling
//! convention says, and keeps values in them (-fipa-ra): all are as they were, but those of a result.

use std::arch::global_asm;
use std::ptr;

/// The registers of a call, as the entry saves them.
#[repr(C)]
pub struct Frame {
    /// rdi, rsi, rdx, rcx, r8, r9.
    pub whole: [u64; 6],
    /// xmm0 to xmm7, of which the lower halves are used; xmm0 is a result, too.
    pub real: [[u64; 2]; 8],
    _others: [[u64; 2]; 8],
    /// rax: a result.
    pub result: u64,
    _scratch: [u64; 2],
}

const _: () = assert!(size_of::<Frame>() == 328);

unsafe extern "C" {
    fn hopcast_kernel_entry();
    fn hopcast_kernel_back();
}

// At the entry the stack is 8 off a multiple of 16, and a multiple when the stub has pushed its word. The last word
// that is popped, by `ret`, is where to go on.
global_asm!(
    ".macro hopcast_registers_save",
    "mov [rsp], rdi",
    "mov [rsp + 8], rsi",
    "mov [rsp + 16], rdx",
    "mov [rsp + 24], rcx",
    "mov [rsp + 32], r8",
    "mov [rsp + 40], r9",
    "mov [rsp + 304], rax",
    "mov [rsp + 312], r10",
    "mov [rsp + 320], r11",
    "movups [rsp + 48], xmm0",
    "movups [rsp + 64], xmm1",
    "movups [rsp + 80], xmm2",
    "movups [rsp + 96], xmm3",
    "movups [rsp + 112], xmm4",
    "movups [rsp + 128], xmm5",
    "movups [rsp + 144], xmm6",
    "movups [rsp + 160], xmm7",
    "movups [rsp + 176], xmm8",
    "movups [rsp + 192], xmm9",
    "movups [rsp + 208], xmm10",
    "movups [rsp + 224], xmm11",
    "movups [rsp + 240], xmm12",
    "movups [rsp + 256], xmm13",
    "movups [rsp + 272], xmm14",
    "movups [rsp + 288], xmm15",
    ".endm",
    ".macro hopcast_registers_restore",
    "mov rdi, [rsp]",
    "mov rsi, [rsp + 8]",
    "mov rdx, [rsp + 16]",
    "mov rcx, [rsp + 24]",
    "mov r8, [rsp + 32]",
    "mov r9, [rsp + 40]",
    "mov rax, [rsp + 304]",
    "mov r10, [rsp + 312]",
    "mov r11, [rsp + 320]",
    "movups xmm0, [rsp + 48]",
    "movups xmm1, [rsp + 64]",
    "movups xmm2, [rsp + 80]",
    "movups xmm3, [rsp + 96]",
    "movups xmm4, [rsp + 112]",
    "movups xmm5, [rsp + 128]",
    "movups xmm6, [rsp + 144]",
    "movups xmm7, [rsp + 160]",
    "movups xmm8, [rsp + 176]",
    "movups xmm9, [rsp + 192]",
    "movups xmm10, [rsp + 208]",
    "movups xmm11, [rsp + 224]",
    "movups xmm12, [rsp + 240]",
    "movups xmm13, [rsp + 256]",
    "movups xmm14, [rsp + 272]",
    "movups xmm15, [rsp + 288]",
    ".endm",
    ".globl hopcast_kernel_entry",
    ".hidden hopcast_kernel_entry",
    "hopcast_kernel_entry:",
    "push rbp",
    "mov rbp, rsp",
    "sub rsp, 328",
    "hopcast_registers_save",
    "mov rdi, [rbp + 8]",
    "mov rsi, rsp",
    "lea rdx, [rbp + 16]",
    "call {called}",
    "mov [rbp + 8], rax",
    "test rax, rax",
    "jz 2f",
    "hopcast_registers_restore",
    "leave",
    "ret",
    "2:",
    "hopcast_registers_restore",
    "leave",
    "lea rsp, [rsp + 8]",
    "ret",
    ".globl hopcast_kernel_back",
    ".hidden hopcast_kernel_back",
    "hopcast_kernel_back:",
    "lea rsp, [rsp - 8]",
    "push rbp",
    "mov rbp, rsp",
    "sub rsp, 336",
    "hopcast_registers_save",
    "call {returned}",
    "mov [rbp + 8], rax",
    "hopcast_registers_restore",
    "leave",
    "ret",
    called = sym super::called,
    returned = sym super::returned,
);

/// Address to which an intercepted function that runs shall return.
pub fn back() -> usize {
    hopcast_kernel_back as *const () as usize
}

/// \[bytes\] of a jump to a stub.
pub const JUMP_BYTES: usize = 14;
const STUB_BYTES: usize = 32;

/// A stub for each of these addresses of interceptions.
pub fn stubs(interceptions: &[usize]) -> Vec<usize> {
    let bytes = (interceptions.len() * STUB_BYTES).max(1);
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    let access = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
    // SAFETY: a new mapping, which is never given back.
    let start = unsafe { libc::mmap(ptr::null_mut(), bytes, access, flags, -1, 0) };
    assert!(start != libc::MAP_FAILED, "no memory for the stubs of kernels");
    let stub = |(index, interception): (usize, &usize)| {
        let at = start as usize + index * STUB_BYTES;
        // push [rip + 10]; jmp [rip + 12]; four bytes of nothing; the two words
        let mut code = vec![0xff, 0x35, 10, 0, 0, 0, 0xff, 0x25, 12, 0, 0, 0, 0, 0, 0, 0];
        code.extend(interception.to_le_bytes());
        code.extend((hopcast_kernel_entry as *const () as usize).to_le_bytes());
        // SAFETY: within the mapping, as long as a stub.
        unsafe { ptr::copy_nonoverlapping(code.as_ptr(), at as *mut u8, code.len()) };
        at
    };
    interceptions.iter().enumerate().map(stub).collect()
}

/// The code that jumps to `target` from wherever it stands.
pub fn jump(target: usize) -> [u8; JUMP_BYTES] {
    // jmp [rip], and the word
    let mut code = [0xff, 0x25, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    code[6..].copy_from_slice(&target.to_le_bytes());
    code
}
