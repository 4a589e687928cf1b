//! The stacks of all ranks: one mapping, so that a million stacks cost the kernel one entry.
//!
//! ```text
//!   low                                                                    high
//!   ├ guard ┬──────────── stack of rank 0 ────────────┬ colour ┤ guard ┬── rank 1 …
//!           limit                          grows down ◄        base
//! ```
//!
//! Only what has been touched takes memory. The bases of neighbours differ by some cache lines ("colour"):
//! with all at the same place of a page, the tops of all stacks would share a few sets of the cache.
//! A guard page below each stack turns an overflow into a fault, where the kernel can do that without an
//! entry for each (MADV_GUARD_INSTALL, Linux 6.13), or where there are few enough ranks.

use std::io;
use std::num::NonZeroUsize;
use std::ptr;

use corosensei::stack::{Stack, StackPointer};

use super::valgrind;

/// \[bytes\] of a page.
pub const PAGE: usize = 4096;
/// Bytes of a cache line times how many lie between the tops of two stacks: an odd number of lines.
const COLOUR: usize = 64 * 5;
/// How many tops differ before they repeat, within a page.
const COLOURS: usize = 12;
/// Linux 6.13; not in the declarations of the C library yet.
const MADV_GUARD_INSTALL: i32 = 102;
/// With a guard of the old kind each stack takes two of the 65,530 mappings that a process may have.
const MOST_MAPPED_GUARDS: usize = 8_000;

/// Room for the stacks of a run.
pub struct Stacks {
    start: *mut libc::c_void,
    each: usize,
    count: usize,
}

impl Stacks {
    /// Room for `count` stacks of `bytes` each, rounded up to whole pages.
    pub fn new(count: usize, bytes: usize) -> io::Result<Stacks> {
        let each = bytes.max(8 * PAGE).next_multiple_of(PAGE) + 2 * PAGE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping at a place that the kernel chooses.
        let start = unsafe {
            libc::mmap(ptr::null_mut(), each * count, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0)
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // A huge page would give each rank two megabytes for its first byte.
        // SAFETY: the mapping was made above.
        unsafe { libc::madvise(start, each * count, libc::MADV_NOHUGEPAGE) };
        let stacks = Stacks { start, each, count };
        for index in 0..count {
            if !stacks.guard(index) {
                break;
            }
        }
        Ok(stacks)
    }

    /// Puts the guard below stack `index`; whether more can be put.
    fn guard(&self, index: usize) -> bool {
        let page = (self.start as usize + index * self.each) as *mut libc::c_void;
        // SAFETY: a page of the mapping that no stack uses.
        let installed = unsafe { libc::madvise(page, PAGE, MADV_GUARD_INSTALL) } == 0;
        // SAFETY: as above.
        installed
            || (self.count <= MOST_MAPPED_GUARDS
                && unsafe { libc::mprotect(page, PAGE, libc::PROT_NONE) } == 0)
    }

    /// Stack `index`. Each may be taken once.
    pub fn take(&self, index: usize) -> Part {
        assert!(index < self.count, "there are {} stacks, and none is number {index}", self.count);
        let start = self.start as usize + index * self.each;
        let top = start + self.each - PAGE + (index % COLOURS) * COLOUR;
        valgrind::register_stack(start + PAGE, top);
        let pointer = |address| NonZeroUsize::new(address).expect("no stack is at address zero");
        Part { base: pointer(top & !15), limit: pointer(start) }
    }
}

impl Drop for Stacks {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own; fibers are dropped before their stacks.
        unsafe { libc::munmap(self.start, self.each * self.count) };
    }
}

/// One stack.
pub struct Part {
    base: StackPointer,
    limit: StackPointer,
}

impl Part {
    /// Where its guard page begins and ends.
    pub fn guard(&self) -> (usize, usize) {
        (self.limit.get(), self.limit.get() + PAGE)
    }
}

// SAFETY: base and limit bound a part of a mapping that is readable, writable but for its guard, and used by
// no other fiber; the base is a multiple of 16.
unsafe impl Stack for Part {
    fn base(&self) -> StackPointer {
        self.base
    }
    fn limit(&self) -> StackPointer {
        self.limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_lie_apart_and_only_their_own_guard_is_theirs() {
        let stacks = Stacks::new(40, 64 * 1024).unwrap();
        let parts: Vec<_> = (0..40).map(|index| stacks.take(index)).collect();
        for pair in parts.windows(2) {
            assert!(pair[0].base <= pair[1].limit);
            assert!(pair[0].base.get() - pair[0].limit.get() > 64 * 1024);
        }
        assert!(parts.windows(2).all(|pair| pair[0].base.get() <= pair[1].guard().0));
        assert!(parts.iter().all(|part| part.base.get() % 16 == 0));
    }
}
