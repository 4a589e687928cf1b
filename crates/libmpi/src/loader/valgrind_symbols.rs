//! Copies that valgrind knows by name: it reads the symbols of what is mapped from a file, of each file once.
//!
//! ```text
//!   copy of rank 3:   ├ headers ┬─ code ─┬ constants ┬─ variables ─┤
//!   usually           └─ one private mapping of the snapshot, for all of it
//!   in valgrind                 └ mapped from «folder/rank 3/0/app» ┘ then filled with the snapshot's bytes
//! ```

use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::OnceLock;

use super::elf::Segment;
use super::linking::Part;
use crate::fiber::stacks::PAGE;
use crate::fiber::valgrind;

static FOLDER: OnceLock<PathBuf> = OnceLock::new();

/// Files may be put there, as long as the process lasts.
pub fn in_folder(folder: &Path) {
    FOLDER.get_or_init(|| folder.to_path_buf());
}

/// The copy at `base` is that of `rank`, and nothing of it has run.
pub fn show(parts: &[Part], base: usize, rank: usize) -> io::Result<()> {
    let Some(folder) = FOLDER.get().filter(|_| valgrind::is_running()) else { return Ok(()) };
    let folder = folder.join(format!("rank {rank}"));
    for (index, part) in parts.iter().enumerate() {
        // Several may have the same name.
        let folder = folder.join(index.to_string());
        std::fs::create_dir_all(&folder)?;
        let file = folder.join(part.file.file_name().unwrap_or_default());
        // A link to a symbolic link would lead nowhere from here.
        let own = part.file.canonicalize()?;
        std::fs::hard_link(&own, &file).or_else(|_| std::fs::copy(&own, &file).map(|_| ()))?;
        let file = std::fs::File::open(file)?;
        // It reads the symbols when it has seen code and variables, and wants all the rest to be there by then.
        let constants = part.elf.segments.iter().filter(|segment| !segment.writable);
        let variables = part.elf.segments.iter().filter(|segment| segment.writable);
        constants.chain(variables).try_for_each(|segment| map(segment, base + part.offset, &file))?;
    }
    Ok(())
}

/// Maps the pages of a segment from the file, with what they hold now.
fn map(segment: &Segment, base: usize, file: &std::fs::File) -> io::Result<()> {
    let before = segment.address % PAGE;
    let (start, offset) = (base + segment.address - before, segment.offset - before);
    let bytes = (before + segment.in_file).next_multiple_of(PAGE);
    let read = libc::PROT_READ;
    let write = read | libc::PROT_WRITE;
    let access = match (segment.executable, segment.writable) {
        (true, _) => read | libc::PROT_EXEC,
        (_, true) => write,
        _ => read,
    };
    // SAFETY: the pages are those of this segment of the copy, of which nothing runs.
    unsafe {
        let held = std::slice::from_raw_parts(start as *const u8, bytes).to_vec();
        let place = start as *mut libc::c_void;
        let flags = libc::MAP_PRIVATE | libc::MAP_FIXED;
        if libc::mmap(place, bytes, access, flags, file.as_raw_fd(), offset as i64) == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // Beyond the end of the file there is nothing to write to.
        let there = (file.metadata()?.len() as usize - offset).min(bytes);
        let there = there.next_multiple_of(PAGE).min(bytes);
        if std::slice::from_raw_parts(start as *const u8, there) != &held[..there] {
            if !segment.writable {
                libc::mprotect(place, bytes, access | write);
            }
            ptr::copy_nonoverlapping(held.as_ptr(), start as *mut u8, there);
            if !segment.writable {
                libc::mprotect(place, bytes, access);
            }
        }
    }
    Ok(())
}
