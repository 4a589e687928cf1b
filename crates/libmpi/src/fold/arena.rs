//! The addresses of folded memory, and what lies where.
//!
//! Memory that all ranks share has the same addresses in all of them: a region that one rank has is given to each other
//! rank that asks for as much. So page tables and mappings are those of one rank, not of all: the matrix of HPL with
//! N = 500,000 takes 4 GB of page tables on 512 ranks that have addresses of their own.

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

/// Addresses that are set aside: 32 TiB, a quarter of what a process has; less in tests, of which several run at a time.
const ROOM: usize = if cfg!(test) { 8 << 40 } else { 32 << 40 };
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
    /// Regions that are shared, whoever has them, and those of all other kinds that some rank has.
    regions: BTreeMap<usize, Region>,
    /// Shared regions by length and start, in the order in which they were made.
    shared: Vec<(usize, usize)>,
    /// Shared regions that ranks have, by rank; none for what no rank's code allocates.
    holders: BTreeMap<Option<u32>, Holder>,
    /// Regions of nobody that keep what is written, by length and start.
    free: BTreeSet<(usize, usize)>,
    pages: Pages,
}

/// Shared regions of a rank.
#[derive(Default)]
struct Holder {
    /// Number of the regions in `Arena::shared` that are in one of these lists; all further ones are free, too.
    known: usize,
    /// Regions that it does not have, by length and start.
    free: BTreeSet<(usize, usize)>,
    /// Bytes that were asked for, and length, of those that it has, by start.
    held: BTreeMap<usize, (usize, usize)>,
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
            shared: Vec::new(),
            holders: BTreeMap::new(),
            free: BTreeSet::new(),
            pages: Pages::open(),
        })
    }

    /// All addresses that folded memory may have.
    pub fn range(&self) -> Range<usize> {
        self.start..self.start + ROOM
    }

    /// A region of so many bytes for a rank; `None` where there is no room for it.
    pub fn take(&mut self, bytes: usize, align: usize, kind: Kind, rank: Option<u32>) -> Option<usize> {
        let room = bytes.max(1).next_multiple_of(PAGE);
        let align = align.max(1);
        if kind == Kind::Shared {
            let holder = self.holders.entry(rank).or_default();
            if let Some((room, at)) = holder.find(room, align, &self.shared) {
                holder.held.insert(at, (bytes, room));
                return Some(at);
            }
        }
        if kind == Kind::Written {
            let found = self.free.range((room, 0)..).find(|(_, at)| at % align == 0).copied();
            if let Some((room, at)) = found {
                self.free.remove(&(room, at));
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
        if kind == Kind::Shared {
            self.shared.push((room, at));
            let holder = self.holders.entry(rank).or_default();
            holder.known = self.shared.len();
            holder.held.insert(at, (bytes, room));
        }
        self.regions.insert(at, Region { bytes, room, kind });
        Some(at)
    }

    /// Takes the region that begins at `at` back from a rank.
    pub fn give(&mut self, at: usize, rank: Option<u32>) -> bool {
        if self.is_shared(at) {
            let Some(holder) = self.holder(at, rank) else { return false };
            let holder = self.holders.get_mut(&holder).expect("it was found");
            let (_, room) = holder.held.remove(&at).expect("it has it");
            return holder.free.insert((room, at));
        }
        let Some(Region { room, kind, .. }) = self.regions.remove(&at) else { return false };
        if kind == Kind::Written {
            // SAFETY: pages of the region, of which the program wants none any more.
            unsafe { libc::madvise(at as *mut c_void, room, libc::MADV_DONTNEED) };
            self.free.insert((room, at));
        } else {
            // What lies in parts is of its own shape.
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
            // SAFETY: as above.
            unsafe { libc::mmap(at as *mut c_void, room, libc::PROT_NONE, flags, -1, 0) };
        }
        true
    }

    /// Length of the block that all share \[bytes\].
    pub fn file_bytes(&self) -> usize {
        self.file_bytes
    }

    /// Length of the region of a rank that begins at `at` \[bytes\].
    pub fn size(&self, at: usize, rank: Option<u32>) -> Option<usize> {
        if self.is_shared(at) {
            let holder = &self.holders[&self.holder(at, rank)?];
            return holder.held.get(&at).map(|(bytes, _)| *bytes);
        }
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

    /// Holder of the shared region that begins at `at`: the rank whose code runs; or else nobody, whose memory a rank may
    /// give back, or, where no rank's code runs, the first that has it.
    fn holder(&self, at: usize, rank: Option<u32>) -> Option<Option<u32>> {
        let has =
            |rank: &Option<u32>| self.holders.get(rank).is_some_and(|holder| holder.held.contains_key(&at));
        let known = [rank, None].into_iter().find(has);
        known.or_else(|| self.holders.keys().copied().filter(|_| rank.is_none()).find(has))
    }

    fn map(&mut self, at: usize, room: usize, kind: &Kind) -> io::Result<()> {
        match kind {
            Kind::Written => return own(at, room),
            // Shared regions are one rank's, and all others': a few allocations share the mappings that are left.
            Kind::Shared => self.map_blocks(at, room, self.ranks.min(8))?,
            Kind::Parts(_) => self.map_blocks(at, room, self.ranks)?,
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

    /// Maps the block again and again; a larger one if it were too often. There are `alike` such allocations at a time.
    fn map_blocks(&mut self, at: usize, room: usize, alike: usize) -> io::Result<()> {
        // Half of what is left is for the next allocation of each, and so on.
        let most = (self.mappings / (2 * alike)).max(1);
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

impl Holder {
    /// The shortest region of at least `room` bytes that the rank has once had, or else the first of all others; it is no
    /// longer free.
    fn find(&mut self, room: usize, align: usize, shared: &[(usize, usize)]) -> Option<(usize, usize)> {
        let fits = |(length, at): &(usize, usize)| *length >= room && at % align == 0;
        if let Some(found) = self.free.range((room, 0)..).find(|region| fits(region)).copied() {
            self.free.remove(&found);
            return Some(found);
        }
        while let Some(region) = shared.get(self.known) {
            self.known += 1;
            if fits(region) {
                return Some(*region);
            }
            self.free.insert(*region);
        }
        None
    }
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init, reason = "lists of ranges, some of one")]
mod tests {
    use super::*;

    const ME: Option<u32> = Some(0);

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
        let at = arena.take(1 << 40, 1, Kind::Shared, ME).unwrap();
        // SAFETY: within the region.
        unsafe {
            *byte(at + 5) = 7;
            assert_eq!(*byte(at + arena.file_bytes + 5), 7);
            assert_eq!(*byte(at + (1 << 40) - arena.file_bytes + 5), 7);
        }
        assert!(arena.file_bytes <= 64 << 20, "{}", arena.file_bytes);
        assert!(kept(&arena, at..at + 100).is_empty());
        assert!(arena.give(at, ME) && !arena.give(at, ME));
        assert_eq!(arena.take(3 << 20, 1, Kind::Shared, ME), Some(at));
        assert_eq!(arena.size(at, ME), Some(3 << 20));
    }

    #[test]
    fn what_is_shared_has_the_same_addresses_in_all_ranks_and_others_for_each_allocation_of_one() {
        let mut arena = Arena::new(65_536, 3).unwrap();
        let [one, other] = [3 << 20, 2 << 20].map(|bytes| arena.take(bytes, 1, Kind::Shared, ME).unwrap());
        assert!(other >= one + (3 << 20));
        let you = Some(1);
        // The first that is long enough, in the order in which they were made.
        assert_eq!(arena.take(2 << 20, 1, Kind::Shared, you), Some(one));
        assert_eq!(arena.take(1 << 20, 1, Kind::Shared, you), Some(other));
        let third = arena.take(3 << 20, 1, Kind::Shared, you).unwrap();
        assert!(third >= other + (2 << 20));
        assert_eq!([ME, you].map(|rank| arena.size(one, rank)), [Some(3 << 20), Some(2 << 20)]);
        // What one rank gives back is the other's still.
        assert!(arena.give(one, ME) && !arena.give(one, ME) && !arena.give(third, ME));
        assert_eq!([ME, you].map(|rank| arena.size(one, rank)), [None, Some(2 << 20)]);
        // A region that is too short is passed over, and found later.
        assert_eq!(arena.take(3 << 20, 1, Kind::Shared, Some(2)), Some(one));
        assert_eq!(arena.take(3 << 20, 1, Kind::Shared, Some(2)), Some(third));
        assert_eq!(arena.take(1 << 20, 1, Kind::Shared, Some(2)), Some(other));
        // A rank gives back what was allocated before any ran, and what a rank has is given back when none runs any more.
        assert_eq!(arena.take(3 << 20, 1, Kind::Shared, None), Some(one));
        assert!(arena.give(one, Some(7)) && arena.size(one, None) == Some(2 << 20));
        assert!(!arena.give(one, Some(7)));
        // The shorter one of those that were given back.
        assert!(arena.give(other, you) && arena.give(one, you));
        assert_eq!(arena.take(1 << 20, 1, Kind::Shared, you), Some(other));
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
        let at = arena.take(8 * HUGE, 1, Kind::Shared, ME).unwrap();
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
        let at = arena.take(100 * PAGE, 1, Kind::Written, ME).unwrap();
        // SAFETY: within the region.
        unsafe {
            assert_eq!(std::hint::black_box(*byte(at + 10 * PAGE)), 0);
            *byte(at + 20 * PAGE + 8) = 1;
            *byte(at + 21 * PAGE) = 2;
        }
        assert_eq!(kept(&arena, at..at + 100 * PAGE), [at + 20 * PAGE..at + 22 * PAGE]);
        assert_eq!(kept(&arena, at + 20 * PAGE + 8..at + 90 * PAGE), [at + 20 * PAGE + 8..at + 22 * PAGE]);
        assert!(arena.give(at, ME));
        assert_eq!(arena.take(50 * PAGE, 1, Kind::Written, ME), Some(at));
        assert!(kept(&arena, at..at + 50 * PAGE).is_empty());
    }

    #[test]
    fn parts_are_private_and_the_rest_is_shared() {
        let mut arena = Arena::new(2 * PAGE, 2).unwrap();
        let parts = vec![5 * PAGE + 10..5 * PAGE + 20];
        let (one, other) = (
            arena.take(10 * PAGE, 1, Kind::Parts(parts.clone()), ME).unwrap(),
            arena.take(10 * PAGE, 1, Kind::Parts(parts), ME).unwrap(),
        );
        // SAFETY: within the regions.
        unsafe {
            (*byte(one + 5 * PAGE + 12), *byte(one + 3)) = (1, 2);
            assert_eq!((*byte(other + 5 * PAGE + 12), *byte(other + 3)), (0, 2));
        }
        assert_eq!(kept(&arena, one..one + 10 * PAGE), [one + 5 * PAGE + 10..one + 5 * PAGE + 20]);
        assert!(arena.give(other, ME));
    }
}
