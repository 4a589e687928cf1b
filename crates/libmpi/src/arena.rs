//! Memory that processes share: where the library's own objects are when each rank is a process.
//!
//! ```text
//!   simulator ─┐                 ┌─ header ─┬── blocks of powers of two, one behind the other ──────────┐
//!   rank 0    ─┼── same place ──►│ lock,    │ given back: a list for each size, through the blocks       │
//!   rank 1    ─┘                 │ lists    │                                                            │
//! ```
//!
//! It is mapped before any rank is forked, so that an address means the same in all. One process works at a time (they
//! pass a turn, see `live::process_isolation`); the lock is for threads of a program that print meanwhile. Without it, memory comes
//! from the C library, as ever.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Address space \[bytes\]; only what is touched takes memory.
const BYTES: usize = 1 << 38;
/// The smallest block \[bytes\].
const LEAST: usize = 16;
/// Blocks are aligned to their size, up to this.
const PAGE: usize = 4096;

/// Beginning of the memory; 0: there is none.
static START: AtomicUsize = AtomicUsize::new(0);

/// True if this process gives nothing back any more.
static LEAVING: AtomicBool = AtomicBool::new(false);

/// Header at its beginning.
struct Header {
    lock: AtomicBool,
    blocks: Blocks,
}

/// Free blocks.
struct Blocks {
    /// From here on all is.
    next: usize,
    /// The first free block of each size, by its logarithm.
    free: [usize; 64],
}

/// From now on, memory of this library is shared with the processes that this one forks.
pub fn open() -> io::Result<()> {
    let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping at a place that the kernel chooses, zero at first.
    let start = unsafe { libc::mmap(ptr::null_mut(), BYTES, access, flags, -1, 0) };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    let next = (start as usize + size_of::<Header>()).next_multiple_of(PAGE);
    // SAFETY: the beginning of the mapping, which nobody else knows yet.
    unsafe { (*start.cast::<Header>()).blocks.next = next };
    START.store(start as usize, Ordering::Release);
    Ok(())
}

/// This process is about to end: from now on it gives nothing back. At its end are destroyed its thread-local
/// variables, and what those had when it was forked is that of all processes.
pub fn leave() {
    LEAVING.store(true, Ordering::Relaxed);
}

/// The memory of this library.
pub struct Arena;

#[global_allocator]
static MEMORY: Arena = Arena;

/// Runs `work` with what is free, alone.
fn with<R>(start: usize, work: impl FnOnce(&mut Blocks) -> R) -> R {
    let header = start as *mut Header;
    // SAFETY: the header stands there; whoever holds the lock is alone with all but the lock.
    unsafe {
        let lock = &(*header).lock;
        while lock.compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed).is_err() {
            libc::sched_yield();
        }
        let result = work(&mut (*header).blocks);
        lock.store(false, Ordering::Release);
        result
    }
}

fn block(layout: Layout) -> usize {
    layout.size().max(layout.align()).max(LEAST).next_power_of_two()
}

fn is_within(start: usize, address: *mut u8) -> bool {
    start != 0 && (start..start + BYTES).contains(&(address as usize))
}

// SAFETY: a block is as long as asked for and aligned to its size, up to a page; larger alignments go to the C
// library. Free blocks belong to their list.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let start = START.load(Ordering::Relaxed);
        if start == 0 || layout.align() > PAGE {
            // SAFETY: as the caller says.
            return unsafe { System.alloc(layout) };
        }
        let bytes = block(layout);
        with(start, |blocks| {
            let list = &mut blocks.free[bytes.trailing_zeros() as usize];
            if *list != 0 {
                let found = *list as *mut usize;
                // SAFETY: a free block holds the next one of its list.
                *list = unsafe { *found };
                return found.cast();
            }
            let at = blocks.next.next_multiple_of(bytes.min(PAGE));
            if at + bytes > start + BYTES {
                return ptr::null_mut();
            }
            blocks.next = at + bytes;
            at as *mut u8
        })
    }

    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        let start = START.load(Ordering::Relaxed);
        if !is_within(start, address) {
            // SAFETY: as the caller says; it came from there.
            return unsafe { System.dealloc(address, layout) };
        }
        if LEAVING.load(Ordering::Relaxed) {
            return;
        }
        with(start, |blocks| {
            let list = &mut blocks.free[block(layout).trailing_zeros() as usize];
            // SAFETY: the block is nobody's any more.
            unsafe { *address.cast::<usize>() = *list };
            *list = address as usize;
        });
    }

    unsafe fn realloc(&self, address: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let start = START.load(Ordering::Relaxed);
        if start == 0 {
            // SAFETY: as the caller says.
            return unsafe { System.realloc(address, layout, size) };
        }
        // SAFETY: as the caller says; the alignment stays.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        if is_within(start, address) && block(layout) == block(wanted) {
            return address;
        }
        // SAFETY: as the caller says; the new block is another one.
        unsafe {
            let moved = self.alloc(wanted);
            if !moved.is_null() {
                ptr::copy_nonoverlapping(address, moved, layout.size().min(size));
                self.dealloc(address, layout);
            }
            moved
        }
    }
}
