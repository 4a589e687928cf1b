//! The stacks of all ranks: one range of addresses, of which only what has been touched takes memory.
//!
//! ```text
//!   low                                                                                high
//!   ├──── gap ────┬─────────── stack of rank 0 ───────────┬ colour ┤──── gap ────┬─ rank 1 …
//!                 low                           grows down ◄        high
//! ```
//!
//! The gap below a stack is wide, so that a frame that is larger than what is left ends in it, and not in
//! the stack of another rank. With up to some thousand ranks nobody may touch it: each gap takes an entry of the kernel's,
//! each stack another. With more ranks that is so for one gap of several; the others may be touched, are nobody's, and
//! have a guard page at their upper end, where the kernel can do that without an entry (MADV_GUARD_INSTALL, Linux 6.13).
//!
//! The tops of neighbours differ by some cache lines ("colour"): with all at the same place of a page, they would share a
//! few sets of the cache.

use std::arch::asm;
use std::io;
use std::num::NonZeroUsize;
use std::ptr;

use corosensei::stack::{Stack, StackPointer};

use super::valgrind;

/// \[bytes\] of a page.
pub const PAGE: usize = 4096;
/// Bytes of a cache line times how many lie between the tops of two stacks: an odd number of lines.
const COLOUR: usize = 64 * 5;
/// Number of tops that differ before they repeat, within a page.
const COLOURS: usize = 12;
/// Linux 6.13; not in the declarations of the C library yet.
const MADV_GUARD_INSTALL: i32 = 102;
/// Most gaps that are closed: each takes two of the 65,530 mappings that a process may have.
const MOST_CLOSED: usize = 8_000;
/// Widths of a gap \[bytes\]: the first for which there are addresses. A frame that is larger than one of 256 MiB is rare,
/// and found when the rank waits for the first time. Valgrind has few addresses.
const GAPS: [usize; 4] = [256 << 20, 64 << 20, 1 << 20, PAGE];
/// \[bytes\] A half of the addresses of a process.
const MOST_ADDRESSES: usize = 1 << 46;
/// Below the stack pointer, a function that calls no other may use so many bytes (ABI for x86-64, 3.2.2).
const RED_ZONE: usize = 128;

/// Room for the stacks of a run.
pub struct Stacks {
    start: usize,
    gap: usize,
    each: usize,
    count: usize,
}

impl Stacks {
    /// Room for `count` stacks of `bytes` each, rounded up to whole pages.
    pub fn new(count: usize, bytes: usize) -> io::Result<Stacks> {
        let stack = bytes.max(8 * PAGE).next_multiple_of(PAGE) + PAGE;
        let gaps = GAPS.into_iter().filter(|gap| *gap == PAGE || !valgrind::is_running());
        let mut failed = io::Error::from(io::ErrorKind::OutOfMemory);
        for gap in gaps {
            let stacks = Stacks { start: 0, gap, each: gap + stack, count };
            if gap > PAGE && stacks.bytes() > MOST_ADDRESSES {
                continue;
            }
            match stacks.map() {
                Ok(stacks) => return Ok(stacks),
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }

    fn bytes(&self) -> usize {
        self.each * self.count
    }

    /// Takes the addresses.
    fn map(mut self) -> io::Result<Stacks> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping at a place that the kernel chooses.
        let start = unsafe { libc::mmap(ptr::null_mut(), self.bytes(), libc::PROT_NONE, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            self.count = 0;
            return Err(io::Error::last_os_error());
        }
        self.start = start as usize;
        // A huge page would give each rank two megabytes for its first byte.
        // SAFETY: the mapping was made above.
        unsafe { libc::madvise(start, self.bytes(), libc::MADV_NOHUGEPAGE) };
        let together = self.count.div_ceil(MOST_CLOSED);
        for first in (0..self.count).step_by(together) {
            let beyond = (first + together).min(self.count);
            self.open(first, beyond)?;
            (first + 1..beyond).for_each(|index| self.guard(index));
        }
        Ok(self)
    }

    /// Lets these stacks be used, and the gaps between them.
    fn open(&self, first: usize, beyond: usize) -> io::Result<()> {
        let at = (self.start + first * self.each + self.gap) as *mut libc::c_void;
        let bytes = (beyond - first) * self.each - self.gap;
        // SAFETY: a part of the mapping.
        match unsafe { libc::mprotect(at, bytes, libc::PROT_READ | libc::PROT_WRITE) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Puts a guard below stack `index`, if the kernel can.
    fn guard(&self, index: usize) {
        let page = (self.start + index * self.each + self.gap - PAGE) as *mut libc::c_void;
        // SAFETY: a page of a gap.
        unsafe { libc::madvise(page, PAGE, MADV_GUARD_INSTALL) };
    }

    /// Stack `index`. Each may be taken once.
    pub fn take(&self, index: usize) -> Part {
        assert!(index < self.count, "there are {} stacks, and none is number {index}", self.count);
        let low = self.start + index * self.each + self.gap;
        let high = self.start + (index + 1) * self.each - PAGE + (index % COLOURS) * COLOUR;
        valgrind::register_stack(low, high);
        Part(Extent { low, high: high & !15, all: (self.start, self.start + self.bytes()) })
    }
}

impl Drop for Stacks {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own, or of no bytes; fibers are dropped before their stacks.
        unsafe { libc::munmap(self.start as *mut libc::c_void, self.bytes()) };
    }
}

/// One stack.
pub struct Part(Extent);

impl Part {
    /// Place of it.
    pub fn extent(&self) -> Extent {
        self.0
    }
}

/// Extent of a rank's stack, among those of all.
#[derive(Debug, Clone, Copy, Default)]
pub struct Extent {
    low: usize,
    high: usize,
    all: (usize, usize),
}

impl Extent {
    /// \[bytes\] that it was made with.
    pub fn bytes(&self) -> usize {
        (self.high - self.low) / PAGE * PAGE
    }

    /// Is `address` in it?
    #[inline]
    pub fn holds(&self, address: usize) -> bool {
        address.wrapping_sub(self.low) < self.high - self.low
    }

    /// Is `address` in the stack of another rank, or in a gap?
    pub fn misses(&self, address: usize) -> bool {
        (self.all.0..self.all.1).contains(&address) && !self.holds(address)
    }

    /// Is it too small for a function that has faulted at `address` with this stack pointer?
    pub fn is_too_small(&self, pointer: usize, address: usize) -> bool {
        let full = self.holds(pointer) && pointer - self.low <= RED_ZONE;
        self.misses(pointer) || full && self.misses(address)
    }
}

/// End of the stack of the function that calls this.
#[inline(always)]
pub fn pointer() -> usize {
    let pointer;
    // SAFETY: reads a register.
    unsafe { asm!("mov {}, rsp", out(reg) pointer, options(nomem, nostack, preserves_flags)) };
    pointer
}

// SAFETY: base and limit bound a part of a mapping that is readable, writable, and used by no other fiber; the base is a
// multiple of 16.
unsafe impl Stack for Part {
    fn base(&self) -> StackPointer {
        NonZeroUsize::new(self.0.high).expect("no stack is at address zero")
    }
    fn limit(&self) -> StackPointer {
        NonZeroUsize::new(self.0.low).expect("no stack is at address zero")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With every gap closed, and with one of several.
    #[test]
    fn stacks_lie_apart_and_only_what_is_in_one_is_in_it() {
        for count in [40, 2 * MOST_CLOSED + 1] {
            let stacks = Stacks::new(count, 64 * 1024).unwrap();
            let parts: Vec<_> = (0..40).map(|index| stacks.take(index).extent()).collect();
            assert!(parts.windows(2).all(|pair| pair[0].high + GAPS[0] <= pair[1].low + PAGE));
            let [first, second] = [parts[3], parts[4]];
            assert!(second.high % 16 == 0 && second.bytes() == 64 * 1024);
            assert!(second.holds(second.low) && !second.holds(second.high) && second.misses(second.high));
            assert!(second.misses(second.low - 1) && second.misses(first.low) && !second.misses(1));
            for (pointer, address, is) in [
                (second.low, second.low - 8, true),
                (second.low, 1, false),
                (second.high - 8, second.low - 8, false),
                (second.low - GAPS[0], 1, true),
                (first.low, second.low, true),
            ] {
                assert_eq!(second.is_too_small(pointer, address), is, "{pointer} {address} {second:?}");
            }
        }
    }
}
