//! Pages of a range that its process has written: those that it has for itself.
//!
//! Linux 6.7 and later give ranges of such pages at once; earlier ones have a word for each page. Source: pagemap in
//! the documentation of Linux: PAGEMAP_SCAN, and bit 63: the page is there, 62: it is swapped out, 56: it is mapped by
//! this process alone, which the page of zeros that a read finds is not.

use std::cell::Cell;
use std::fs::File;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

use crate::fiber::stacks::PAGE;

const SWAPPED: u64 = 1 << 62;
const OWN: u64 = 1 << 63 | 1 << 56;

/// `struct pm_scan_arg` of linux/fs.h.
#[repr(C)]
#[derive(Default)]
struct Scan {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    regions: u64,
    room: u64,
    most_pages: u64,
    inverted: u64,
    all_of: u64,
    any_of: u64,
    returned: u64,
}

/// `struct page_region` of linux/fs.h.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Region {
    start: u64,
    end: u64,
    categories: u64,
}

const PAGEMAP_SCAN: libc::c_ulong = 0xc060_6610;
const PRESENT: u64 = 1 << 3;
const SWAPPED_OUT: u64 = 1 << 4;
const ZEROS: u64 = 1 << 5;

/// The kernel's table of this process's pages.
pub struct Pages {
    table: Option<File>,
    /// True until the kernel has refused to scan.
    scans: Cell<bool>,
}

impl Pages {
    /// If there is one that can be read.
    pub fn open() -> Pages {
        Pages { table: File::open("/proc/self/pagemap").ok(), scans: Cell::new(true) }
    }

    /// Calls `found` with what of these bytes lies in written pages, in order; with all of them if nobody knows.
    pub fn written(&self, bytes: Range<usize>, found: &mut dyn FnMut(Range<usize>)) {
        let Some(table) = &self.table else { return found(bytes) };
        let mut start = bytes.start;
        while self.scans.get() {
            match scan(table, start, &bytes, found) {
                Some(end) if end >= bytes.end => return,
                Some(end) => start = end,
                None => self.scans.set(false),
            }
        }
        by_page(table, start..bytes.end, found);
    }
}

/// Gives the first written ranges at or behind `start`, and where it has stopped; `None` if the kernel does not scan.
fn scan(
    table: &File,
    start: usize,
    bytes: &Range<usize>,
    found: &mut dyn FnMut(Range<usize>),
) -> Option<usize> {
    let mut regions = [Region::default(); 32];
    let mut scan = Scan {
        size: size_of::<Scan>() as u64,
        start: (start / PAGE * PAGE) as u64,
        end: bytes.end.next_multiple_of(PAGE) as u64,
        regions: regions.as_mut_ptr() as u64,
        room: regions.len() as u64,
        inverted: ZEROS,
        all_of: ZEROS,
        any_of: PRESENT | SWAPPED_OUT,
        ..Scan::default()
    };
    // SAFETY: the kernel writes the regions, and how far it came.
    let count = unsafe { libc::ioctl(table.as_raw_fd(), PAGEMAP_SCAN, &mut scan) };
    for region in &regions[..usize::try_from(count).ok()?] {
        found((region.start as usize).max(bytes.start)..(region.end as usize).min(bytes.end));
    }
    Some(scan.walk_end as usize)
}

/// Like [`Pages::written`], by a word for each page.
fn by_page(table: &File, bytes: Range<usize>, found: &mut dyn FnMut(Range<usize>)) {
    let mut buffer = [0_u8; 8 * 512];
    let mut run: Option<Range<usize>> = None;
    let (mut page, end) = (bytes.start / PAGE, bytes.end.div_ceil(PAGE));
    while page < end {
        let count = (end - page).min(buffer.len() / 8);
        let entries = &mut buffer[..8 * count];
        if table.read_exact_at(entries, page as u64 * 8).is_err() {
            return found(bytes);
        }
        for (index, entry) in entries.chunks_exact(8).enumerate() {
            let entry = u64::from_ne_bytes(entry.try_into().expect("eight bytes"));
            if entry & SWAPPED == 0 && entry & OWN != OWN {
                continue;
            }
            let at = (page + index) * PAGE;
            match &mut run {
                Some(run) if run.end == at => run.end = at + PAGE,
                _ => {
                    if let Some(run) = run.replace(at..at + PAGE) {
                        found(run.start.max(bytes.start)..run.end.min(bytes.end));
                    }
                }
            }
        }
        page += count;
    }
    if let Some(run) = run {
        found(run.start.max(bytes.start)..run.end.min(bytes.end));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both ways find each third of 100 pages, which was written, and not its neighbour, which was read.
    #[test]
    fn both_ways_find_the_written_pages() {
        let (length, flags) = (100 * PAGE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: new memory.
        let start = unsafe {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            let start = libc::mmap(std::ptr::null_mut(), length, access, flags, -1, 0);
            libc::madvise(start, length, libc::MADV_NOHUGEPAGE);
            start as usize
        };
        for page in (0..100).filter(|page| page % 3 < 2) {
            let at = (start + page * PAGE) as *mut u8;
            // SAFETY: in that memory.
            unsafe { if page % 3 == 0 { at.write_volatile(1) } else { assert_eq!(at.read_volatile(), 0) } };
        }
        let bytes = start + 10..start + 99 * PAGE + 7;
        let pages = (0..100).step_by(3).map(|page| start + page * PAGE);
        let expected: Vec<_> = pages.map(|at| at.max(bytes.start)..(at + PAGE).min(bytes.end)).collect();
        for scans in [true, false] {
            let pages = Pages { scans: Cell::new(scans), ..Pages::open() };
            let mut found = Vec::new();
            pages.written(bytes.clone(), &mut |range| found.push(range));
            assert_eq!(found, expected, "{scans}");
        }
    }
}
