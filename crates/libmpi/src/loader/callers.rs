//! Places and times at which a program calls MPI, looks at a clock or sleeps, noted on request: a stub in front of each
//! function notes its return address and the processor's time stamp.

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

static WANTED: AtomicBool = AtomicBool::new(false);
/// The return address and the time stamp of the last call.
static LAST: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];
/// Address of the next stub, and number of stubs that there is room for.
static ROOM: (AtomicUsize, AtomicUsize) = (AtomicUsize::new(0), AtomicUsize::new(0));

/// Length of a stub \[bytes\].
const STUB_BYTES: usize = 64;
/// Number of stubs that one mapping has room for.
const MOST: usize = 128;

/// Notes the calls of programs that are loaded from now on.
pub fn enable() {
    WANTED.store(true, Ordering::Relaxed);
}

/// Stub in front of the MPI function `name` at `address`; `None` for other functions.
pub fn mpi_stub(name: &str, address: usize) -> Option<usize> {
    let is_mpi = name.starts_with("MPI_") || name.starts_with("PMPI_") || name.starts_with("mpi_");
    if is_mpi && address != 0 { stub_for(address) } else { None }
}

/// Stub in front of the function at `address`, if calls are noted.
pub fn stub_for(address: usize) -> Option<usize> {
    if !WANTED.load(Ordering::Relaxed) {
        return None;
    }
    if ROOM.1.load(Ordering::Relaxed) == 0 {
        let access = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping, which is never given back.
        let start = unsafe { libc::mmap(ptr::null_mut(), STUB_BYTES * MOST, access, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return None;
        }
        ROOM.0.store(start as usize, Ordering::Relaxed);
        ROOM.1.store(MOST, Ordering::Relaxed);
    }
    ROOM.1.fetch_sub(1, Ordering::Relaxed);
    let at = ROOM.0.fetch_add(STUB_BYTES, Ordering::Relaxed);
    // mov rax, [rsp]; mov r11, LAST
    let mut code = vec![0x48, 0x8b, 0x04, 0x24, 0x49, 0xbb];
    code.extend((LAST.as_ptr() as usize).to_le_bytes());
    // mov [r11], rax; mov r10, rdx; rdtsc; shl rdx, 32
    code.extend([0x49, 0x89, 0x03, 0x49, 0x89, 0xd2, 0x0f, 0x31, 0x48, 0xc1, 0xe2, 0x20]);
    // or rax, rdx; mov [r11 + 8], rax; mov rdx, r10; mov r11, address; jmp r11
    code.extend([0x48, 0x09, 0xd0, 0x49, 0x89, 0x43, 0x08, 0x4c, 0x89, 0xd2, 0x49, 0xbb]);
    code.extend(address.to_le_bytes());
    code.extend([0x41, 0xff, 0xe3]);
    // SAFETY: 49 bytes within the mapping.
    unsafe { ptr::copy_nonoverlapping(code.as_ptr(), at as *mut u8, code.len()) };
    Some(at)
}

/// Return address of the last call.
pub fn return_address() -> usize {
    LAST[0].load(Ordering::Relaxed)
}

/// Sets the return address of the last call of the rank that is about to run.
#[inline]
pub fn set_return_address(place: usize) {
    LAST[0].store(place, Ordering::Relaxed);
}

/// Time stamp of the last call; 0 if calls are not noted.
#[inline]
pub fn entry_stamp() -> u64 {
    LAST[1].load(Ordering::Relaxed) as u64
}

/// The time stamp now.
#[inline]
pub fn stamp() -> u64 {
    // SAFETY: every processor of this architecture has the instruction.
    unsafe { std::arch::x86_64::_rdtsc() }
}
