//! The image of a program, and the address space of its copies.
//!
//! Copies lie one after the other. Each is a private mapping of the image, whose pages are shared until they are
//! written; where there are more copies than the process may have mappings, all lie in one mapping, and each
//! holds the pages of the image that are not zero.

use std::ffi::{CStr, c_void};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::FileExt;
use std::ptr;

use crate::fiber::stacks::PAGE;

/// Room for copies of an image.
pub struct Copies {
    /// Begin of the first.
    pub start: usize,
    /// From one to the next \[bytes\].
    pub span: usize,
    /// Number for which there is room.
    pub count: usize,
    content: Content,
}

enum Content {
    /// Mapped for each copy.
    Mapped(File),
    /// Copied for each: pages that are not zero, with where they are.
    Pages(Vec<(usize, Box<[u8]>)>),
}

/// Mappings that everything else may need: libraries, heaps, stacks with old guards.
const OTHER_MAPPINGS: usize = 20_000;
/// Linux's own limit, where it does not say.
const USUAL_LIMIT: usize = 65_530;

impl Copies {
    /// Room for `count` copies of `image`, which is whole pages long.
    pub fn new(image: &[u8], count: usize) -> io::Result<Copies> {
        Copies::within(image, count, most_mappings())
    }

    fn within(image: &[u8], count: usize, most_mappings: usize) -> io::Result<Copies> {
        let mapped = count + OTHER_MAPPINGS <= most_mappings;
        let content = if mapped { Content::Mapped(save(image)?) } else { Content::Pages(pages(image)) };
        let access = if mapped { libc::PROT_NONE } else { ALL };
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping at a place that the kernel chooses.
        let start = unsafe { libc::mmap(ptr::null_mut(), image.len() * count, access, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the mapping was made above. A huge page would hold copies of several ranks.
        unsafe { libc::madvise(start, image.len() * count, libc::MADV_NOHUGEPAGE) };
        Ok(Copies { start: start as usize, span: image.len(), count, content })
    }

    /// Puts the image where copy `index` is, once; gives the address.
    pub fn place(&self, index: usize) -> io::Result<usize> {
        assert!(index < self.count, "there is room for {} copies", self.count);
        let base = self.start + index * self.span;
        match &self.content {
            Content::Mapped(file) => {
                let flags = libc::MAP_PRIVATE | libc::MAP_FIXED | libc::MAP_NORESERVE;
                // SAFETY: the place was reserved for this copy.
                let mapped =
                    unsafe { libc::mmap(base as *mut c_void, self.span, ALL, flags, file.as_raw_fd(), 0) };
                if mapped == libc::MAP_FAILED {
                    return Err(io::Error::last_os_error());
                }
            }
            Content::Pages(pages) => {
                for (at, page) in pages {
                    // SAFETY: the place was mapped for this copy, which is as long as the image.
                    unsafe { ptr::copy_nonoverlapping(page.as_ptr(), (base + at) as *mut u8, page.len()) };
                }
            }
        }
        Ok(base)
    }
}

/// Number of mappings that this process may have.
pub fn most_mappings() -> usize {
    let limit = std::fs::read_to_string("/proc/sys/vm/max_map_count");
    limit.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(USUAL_LIMIT)
}

/// Code and data lie in one mapping.
const ALL: i32 = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;

/// A file in memory.
pub fn memory_file(name: &CStr, bytes: &[u8]) -> io::Result<File> {
    // SAFETY: the name is a C string; the descriptor is new, and owned by the file alone.
    let mut file = unsafe {
        let descriptor = libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC);
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        File::from_raw_fd(descriptor)
    };
    file.write_all(bytes)?;
    Ok(file)
}

/// The pages of `image` that are not zero.
fn pages(image: &[u8]) -> Vec<(usize, Box<[u8]>)> {
    let pages = image.chunks(PAGE).enumerate();
    let full = pages.filter(|(_, page)| page.iter().any(|byte| *byte != 0));
    full.map(|(index, page)| (index * PAGE, page.into())).collect()
}

fn save(image: &[u8]) -> io::Result<File> {
    let file = memory_file(c"hopcast-image", &[])?;
    file.set_len(image.len() as u64)?;
    pages(image).iter().try_for_each(|(at, page)| file.write_all_at(page, *at as u64))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_hold_the_image_and_what_is_written_to_one_is_in_no_other() {
        let mut image = vec![0; 3 * PAGE];
        image[2 * PAGE + 5] = 9;
        for most_mappings in [0, USUAL_LIMIT] {
            let copies = Copies::within(&image, 4, most_mappings).unwrap();
            let places: Vec<_> = (0..4).map(|index| copies.place(index).unwrap()).collect();
            for (index, place) in places.iter().enumerate() {
                let byte = (place + 2 * PAGE + 5) as *mut u8;
                // SAFETY: within the copy, which is mapped.
                unsafe {
                    assert_eq!((*byte, *(*place as *const u8)), (9, 0));
                    *byte = index as u8;
                }
            }
        }
    }
}
