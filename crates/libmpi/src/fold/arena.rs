//! The addresses of folded memory, and what lies where.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::ptr;

use super::Kind;
use super::pages::Pages;
use crate::fiber::stacks::PAGE;
use crate::loader::image;

/// Addresses that are set aside: 32 TiB, a quarter of what a process has.
const ROOM: usize = 32 << 40;
/// Mappings for all else: libraries, heaps, stacks, and the copies of the program.
const OTHER_MAPPINGS: usize = 16_000;
/// \[bytes\] of a huge page; what is at least as long begins at one.
const HUGE: usize = 2 << 20;

/// The folded memory of all ranks.
pub struct Arena {
    start: usize,
    /// Begin of the next new region: of a shared one, in the lower half, and of any other, in the upper one.
    next: [usize; 2],
    file: File,
    file_bytes: usize,
    block: usize,
    /// Mappings that may still be made.
    mappings: usize,
    ranks: usize,
    regions: BTreeMap<usize, Region>,
    /// Regions of nobody by length and start: shared ones, and those that keep what is written.
    free: [BTreeSet<(usize, usize)>; 2],
    pages: Pages,
}

struct Region {
    /// Bytes that were asked for.
    bytes: usize,
    /// Whole pages.
    room: usize,
    kind: Kind,
}

const ACCESS: i32 = libc::PROT_READ | libc::PROT_WRITE;

impl Arena {
    /// None is folded yet.
    pub fn new(block: usize, ranks: usize) -> io::Result<Arena> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping at a place that the kernel chooses.
        let start = unsafe { libc::mmap(ptr::null_mut(), ROOM, libc::PROT_NONE, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = start as usize;
        let most = image::most_mappings();
        Ok(Arena {
            start,
            next: [start, start + ROOM / 2].map(|start| start.next_multiple_of(HUGE)),
            file: image::memory_file(c"hopcast-folded", &[])?,
            file_bytes: 0,
            block: block.next_multiple_of(PAGE),
            mappings: most.saturating_sub(OTHER_MAPPINGS + ranks),
            ranks,
            regions: BTreeMap::new(),
            free: Default::default(),
            pages: Pages::open(),
        })
    }

    /// All addresses that folded memory may have.
    pub fn range(&self) -> Range<usize> {
        self.start..self.start + ROOM
    }

    /// A region of so many bytes; `None` where there is no room for it.
    pub fn take(&mut self, bytes: usize, align: usize, kind: Kind) -> Option<usize> {
        let room = bytes.max(1).next_multiple_of(PAGE);
        if let Some(list) = list(&kind) {
            let found = self.free[list].range((room, 0)..).find(|(_, at)| at % align.max(1) == 0).copied();
            if let Some((room, at)) = found {
                self.free[list].remove(&(room, at));
                self.regions.insert(at, Region { bytes, room, kind });
                return Some(at);
            }
        }
        let align = align.max(if room >= HUGE { HUGE } else { PAGE });
        let half = usize::from(kind != Kind::Shared);
        let end = self.start + (half + 1) * (ROOM / 2);
        let at = self.next[half].checked_next_multiple_of(align)?;
        if room > end.saturating_sub(at) {
            return None;
        }
        self.map(at, room, &kind).ok()?;
        self.next[half] = at + room;
        self.regions.insert(at, Region { bytes, room, kind });
        Some(at)
    }

    /// Gives back the region that begins at `at`.
    pub fn give(&mut self, at: usize) -> bool {
        let Some(Region { room, kind, .. }) = self.regions.remove(&at) else { return false };
        match list(&kind) {
            Some(list) => {
                if kind == Kind::Written {
                    // SAFETY: pages of the region, of which the program wants none any more.
                    unsafe { libc::madvise(at as *mut c_void, room, libc::MADV_DONTNEED) };
                }
                self.free[list].insert((room, at));
            }
            // What lies in parts is of its own shape.
            None => {
                let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
                // SAFETY: as above.
                unsafe { libc::mmap(at as *mut c_void, room, libc::PROT_NONE, flags, -1, 0) };
            }
        }
        true
    }

    /// Length of the block that all share \[bytes\].
    pub fn file_bytes(&self) -> usize {
        self.file_bytes
    }

    /// Length of the region that begins at `at` \[bytes\].
    pub fn size(&self, at: usize) -> Option<usize> {
        self.regions.get(&at).map(|region| region.bytes)
    }

    /// True if the byte at `address` lies in a region of which all is shared, or in one that was.
    #[inline]
    pub fn is_shared(&self, address: usize) -> bool {
        (self.start..self.next[0]).contains(&address)
    }

    /// Calls `keep` with what of these bytes belongs to their rank alone.
    pub fn kept(&self, bytes: Range<usize>, keep: &mut dyn FnMut(Range<usize>)) {
        let Some((at, region)) = self.regions.range(..=bytes.start).next_back() else { return };
        let bytes = bytes.start..bytes.end.min(at + region.room);
        match &region.kind {
            Kind::Shared => {}
            Kind::Written => self.pages.written(bytes, keep),
            Kind::Parts(parts) => {
                for part in parts {
                    let both = (at + part.start).max(bytes.start)..(at + part.end).min(bytes.end);
                    if !both.is_empty() {
                        keep(both);
                    }
                }
            }
        }
    }

    fn map(&mut self, at: usize, room: usize, kind: &Kind) -> io::Result<()> {
        match kind {
            Kind::Written => return own(at, room),
            Kind::Shared | Kind::Parts(_) => self.map_blocks(at, room)?,
        }
        if let Kind::Parts(parts) = kind {
            self.mappings = self.mappings.saturating_sub(2 * parts.len());
            for part in parts {
                let (first, end) = (part.start / PAGE * PAGE, part.end.next_multiple_of(PAGE).min(room));
                own(at + first, end.saturating_sub(first))?;
            }
        }
        Ok(())
    }

    /// Maps the block again and again; a larger one if it were too often.
    fn map_blocks(&mut self, at: usize, room: usize) -> io::Result<()> {
        // Half of what is left is for the next allocation of each rank, and so on.
        let most = (self.mappings / (2 * self.ranks)).max(1);
        let mut block = self.block;
        while room.div_ceil(block) > most {
            block *= 2;
        }
        if block > self.file_bytes {
            self.file.set_len(block as u64)?;
            self.file_bytes = block;
        }
        self.mappings = self.mappings.saturating_sub(room.div_ceil(block));
        let flags = libc::MAP_SHARED | libc::MAP_FIXED | libc::MAP_NORESERVE;
        for offset in (0..room).step_by(block) {
            let (place, bytes) = ((at + offset) as *mut c_void, block.min(room - offset));
            // SAFETY: the addresses are set aside for this region.
            let mapped = unsafe { libc::mmap(place, bytes, ACCESS, flags, self.file.as_raw_fd(), 0) };
            if mapped == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
        }
        if block >= HUGE {
            // Where the system has them for memory that is shared ("advise" in shmem_enabled).
            // SAFETY: the region has just been mapped.
            unsafe { libc::madvise(at as *mut c_void, room, libc::MADV_HUGEPAGE) };
        }
        Ok(())
    }
}

/// Pages of the rank's own, none of which takes memory before it is written; small ones, so that a byte takes no
/// two megabytes.
fn own(at: usize, room: usize) -> io::Result<()> {
    if room == 0 {
        return Ok(());
    }
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
    // SAFETY: the addresses are set aside for the region.
    unsafe {
        if libc::mmap(at as *mut c_void, room, ACCESS, flags, -1, 0) == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        libc::madvise(at as *mut c_void, room, libc::MADV_NOHUGEPAGE);
    }
    Ok(())
}

/// List of free regions for such a region.
fn list(kind: &Kind) -> Option<usize> {
    match kind {
        Kind::Shared => Some(0),
        Kind::Written => Some(1),
        Kind::Parts(_) => None,
    }
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init, reason = "lists of ranges, some of one")]
mod tests {
    use super::*;

    fn byte(at: usize) -> *mut u8 {
        at as *mut u8
    }

    fn kept(arena: &Arena, bytes: Range<usize>) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        arena.kept(bytes, &mut |part| found.push(part));
        found
    }

    #[test]
    fn shared_blocks_are_one_and_a_terabyte_of_them_takes_no_memory() {
        let mut arena = Arena::new(65_536, 1).unwrap();
        let at = arena.take(1 << 40, 1, Kind::Shared).unwrap();
        // SAFETY: within the region.
        unsafe {
            *byte(at + 5) = 7;
            assert_eq!(*byte(at + arena.file_bytes + 5), 7);
            assert_eq!(*byte(at + (1 << 40) - arena.file_bytes + 5), 7);
        }
        assert!(arena.file_bytes <= 64 << 20, "{}", arena.file_bytes);
        assert!(kept(&arena, at..at + 100).is_empty());
        assert!(arena.give(at) && !arena.give(at));
        assert_eq!(arena.take(3 << 20, 1, Kind::Shared), Some(at));
        assert_eq!(arena.size(at), Some(3 << 20));
    }

    /// Blocks of 2 MiB and more lie in huge pages, where Linux has them for shared memory that asks.
    #[test]
    fn long_blocks_lie_in_huge_pages() {
        let setting = "/sys/kernel/mm/transparent_hugepage/shmem_enabled";
        let setting = std::fs::read_to_string(setting).unwrap_or_default();
        if !["[always]", "[within_size]", "[advise]", "[force]"].iter().any(|on| setting.contains(on)) {
            eprintln!("skipped: shared memory is in no huge pages here ({})", setting.trim());
            return;
        }
        let mut arena = Arena::new(2 * HUGE, 1).unwrap();
        let at = arena.take(8 * HUGE, 1, Kind::Shared).unwrap();
        for offset in (0..8 * HUGE).step_by(PAGE) {
            // SAFETY: within the region.
            unsafe { *byte(at + offset) = 1 };
        }
        assert!(huge(at..at + 8 * HUGE) > 0, "{setting}");
    }

    /// Part of these bytes that is mapped by huge pages \[KiB\], as proc(5) says under smaps.
    fn huge(bytes: Range<usize>) -> usize {
        let all = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let (mut inside, mut found) = (false, 0);
        for line in all.lines() {
            let number = |text: &str| usize::from_str_radix(text, 16).ok();
            let place = line.split_once(' ').and_then(|(range, _)| range.split_once('-'));
            if let Some((start, end)) = place.and_then(|(start, end)| number(start).zip(number(end))) {
                inside = bytes.start <= start && end <= bytes.end;
            } else if let Some(size) = line.strip_prefix("ShmemPmdMapped:").filter(|_| inside) {
                found += size.trim().trim_end_matches(" kB").parse::<usize>().unwrap();
            }
        }
        found
    }

    #[test]
    fn what_is_written_is_kept_and_what_is_read_is_not() {
        let mut arena = Arena::new(65_536, 4).unwrap();
        let at = arena.take(100 * PAGE, 1, Kind::Written).unwrap();
        // SAFETY: within the region.
        unsafe {
            assert_eq!(std::hint::black_box(*byte(at + 10 * PAGE)), 0);
            *byte(at + 20 * PAGE + 8) = 1;
            *byte(at + 21 * PAGE) = 2;
        }
        assert_eq!(kept(&arena, at..at + 100 * PAGE), [at + 20 * PAGE..at + 22 * PAGE]);
        assert_eq!(kept(&arena, at + 20 * PAGE + 8..at + 90 * PAGE), [at + 20 * PAGE + 8..at + 22 * PAGE]);
        assert!(arena.give(at));
        assert_eq!(arena.take(50 * PAGE, 1, Kind::Written), Some(at));
        assert!(kept(&arena, at..at + 50 * PAGE).is_empty());
    }

    #[test]
    fn parts_are_private_and_the_rest_is_shared() {
        let mut arena = Arena::new(2 * PAGE, 2).unwrap();
        let parts = vec![5 * PAGE + 10..5 * PAGE + 20];
        let (one, other) = (
            arena.take(10 * PAGE, 1, Kind::Parts(parts.clone())).unwrap(),
            arena.take(10 * PAGE, 1, Kind::Parts(parts)).unwrap(),
        );
        // SAFETY: within the regions.
        unsafe {
            (*byte(one + 5 * PAGE + 12), *byte(one + 3)) = (1, 2);
            assert_eq!((*byte(other + 5 * PAGE + 12), *byte(other + 3)), (0, 2));
        }
        assert_eq!(kept(&arena, one..one + 10 * PAGE), [one + 5 * PAGE + 10..one + 5 * PAGE + 20]);
        assert!(arena.give(other));
    }
}
