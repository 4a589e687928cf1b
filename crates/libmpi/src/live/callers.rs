//! Places and times at which a program calls MPI, looks at a clock or sleeps, if they are wanted: a stub in front of each
//! function notes its return address and the processor's time stamp.

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

static WANTED: AtomicBool = AtomicBool::new(false);
/// The return address and the time stamp of the last call.
static LAST: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];
/// Where the next stub goes, and how many there is room for there.
static ROOM: (AtomicUsize, AtomicUsize) = (AtomicUsize::new(0), AtomicUsize::new(0));

/// \[bytes\] of a stub, and how many are made at a time.
const STUB_BYTES: usize = 64;
const MOST: usize = 128;

/// Programs that are loaded from now on tell.
pub fn want() {
    WANTED.store(true, Ordering::Relaxed);
}

/// What a program shall call instead of the function `name` at `address`.
pub fn stub(name: &str, address: usize) -> Option<usize> {
    let is_mpi = name.starts_with("MPI_") || name.starts_with("PMPI_") || name.starts_with("mpi_");
    if is_mpi && address != 0 { stub_of(address) } else { None }
}

/// A stub in front of the function at `address`, if places are wanted.
pub fn stub_of(address: usize) -> Option<usize> {
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

/// Where the last call returns to.
pub fn last() -> usize {
    LAST[0].load(Ordering::Relaxed)
}

/// Where the last call of the rank that is about to run returns to.
#[inline]
pub fn set_last(place: usize) {
    LAST[0].store(place, Ordering::Relaxed);
}

/// The time stamp of the last call; 0 if calls are not noted.
#[inline]
pub fn entered() -> u64 {
    LAST[1].load(Ordering::Relaxed) as u64
}

/// The time stamp now.
#[inline]
pub fn stamp() -> u64 {
    // SAFETY: every processor of this architecture has the instruction.
    unsafe { std::arch::x86_64::_rdtsc() }
}
