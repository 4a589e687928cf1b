//! Pages of a range that its process has written: those that it has for itself.
//!
//! Source: pagemap in the documentation of Linux; bit 63: the page is there, 62: it is swapped out, 56: it is mapped
//! by this process alone, which the page of zeros that a read finds is not.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use crate::fiber::stacks::PAGE;

const SWAPPED: u64 = 1 << 62;
const OWN: u64 = 1 << 63 | 1 << 56;

/// The kernel's table of this process's pages.
pub struct Pages(Option<File>);

impl Pages {
    /// If there is one that can be read.
    pub fn open() -> Pages {
        Pages(File::open("/proc/self/pagemap").ok())
    }

    /// Calls `found` with what of these bytes lies in written pages, in order; with all of them if nobody knows.
    pub fn written(&self, bytes: Range<usize>, found: &mut dyn FnMut(Range<usize>)) {
        let Some(table) = &self.0 else { return found(bytes) };
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
}
