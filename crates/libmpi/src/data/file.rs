//! Files that ranks have opened together, and what of a file a rank sees.
//!
//! A file of the program is a file of the system: what ranks write is there. All ranks of one MPI_File_open share
//! one shared pointer, and one descriptor, unless each is a process, which then has its own.

use std::cell::Cell;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::rc::Rc;

use super::datatype::Layout;
use crate::abi::error::{Class, Error};
use crate::abi::handle::Datatype;

/// An open file.
#[derive(Debug, Clone)]
pub struct Opened {
    /// File of the system.
    pub file: Rc<std::fs::File>,
    /// Its path from the root.
    pub path: PathBuf,
    /// The shared pointer \[etypes of the view\].
    pub pointer: Rc<Cell<i64>>,
    /// For the model of the file system.
    pub place: mpi::file_system::File,
}

/// Bytes that lie together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// Begin, from that of the filetype \[bytes\].
    pub at: i64,
    /// Length \[bytes\].
    pub bytes: usize,
}

/// The data of one value of a datatype, in the order of its type map, neighbours joined.
pub fn blocks(layout: &Layout) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    layout.map().values(0, &mut |basic, at, count| {
        let (at, bytes) = (at as i64, basic.size() * count);
        match blocks.last_mut() {
            Some(last) if last.at + last.bytes as i64 == at => last.bytes += bytes,
            _ => blocks.push(Block { at, bytes }),
        }
    });
    blocks
}

/// View of a rank into a file: the data of its filetype, again and again from a displacement on.
#[derive(Debug, Clone)]
pub struct View {
    /// Begin in the file \[bytes\].
    pub start: i64,
    /// The unit of offsets.
    pub etype: Datatype,
    /// Its size \[bytes\].
    pub unit: i64,
    /// Datatype that repeats.
    pub filetype: Datatype,
    /// Places of its data, from its beginning.
    blocks: Rc<[Block]>,
    /// Data in one filetype \[bytes\].
    data: i64,
    /// From one filetype to the next \[bytes\].
    extent: i64,
}

impl View {
    /// All bytes.
    pub fn whole() -> View {
        let byte = Layout::of_predefined(Datatype::BYTE).expect("it is predefined");
        View::new(0, (Datatype::BYTE, &byte), (Datatype::BYTE, &byte))
    }

    /// View of these datatypes, from `start` on.
    pub fn new(
        start: i64,
        (etype, unit): (Datatype, &Layout),
        (filetype, layout): (Datatype, &Layout),
    ) -> View {
        View {
            start,
            etype,
            unit: unit.size as i64,
            filetype,
            blocks: blocks(layout).into(),
            data: layout.size as i64,
            extent: layout.extent as i64,
        }
    }

    /// View of datatypes whose values touch, and have these lengths in the file.
    pub fn dense(start: i64, (etype, unit): (Datatype, usize), (filetype, size): (Datatype, usize)) -> View {
        let (unit, data, blocks) = (unit as i64, size as i64, [Block { at: 0, bytes: size }].into());
        View { start, etype, unit, filetype, blocks, data, extent: data }
    }

    /// The place in the file of byte `from` of the data.
    pub fn place(&self, from: i64) -> i64 {
        self.runs(from, 1).first().map_or(self.start, |run| run.0)
    }

    /// Places and lengths, in the file, of `bytes` bytes of the data from byte `from` on.
    pub fn runs(&self, from: i64, mut bytes: usize) -> Vec<(i64, usize)> {
        let mut runs: Vec<(i64, usize)> = Vec::new();
        if self.data == 0 {
            return runs;
        }
        let (mut tile, mut skipped) = (from / self.data, (from % self.data) as usize);
        while bytes > 0 {
            for block in &*self.blocks {
                let passed = skipped.min(block.bytes);
                skipped -= passed;
                let now = (block.bytes - passed).min(bytes);
                if now == 0 {
                    continue;
                }
                bytes -= now;
                let at = self.start + tile * self.extent + block.at + passed as i64;
                match runs.last_mut() {
                    Some((start, length)) if *start + *length as i64 == at => *length += now,
                    _ => runs.push((at, now)),
                }
            }
            tile += 1;
        }
        runs
    }

    /// Bytes of data before `end` in the file.
    pub fn before(&self, end: i64) -> i64 {
        if self.extent <= 0 || end <= self.start {
            return 0;
        }
        let first = self.blocks.iter().map(|block| block.at).min().unwrap_or(0).min(0);
        let tiles = (end - self.start - first) / self.extent;
        let from = (tiles - 1).max(0);
        let rest: i64 = (from..=tiles)
            .flat_map(|tile| self.blocks.iter().map(move |block| (tile, block)))
            .map(|(tile, block)| {
                let at = self.start + tile * self.extent + block.at;
                (end - at).clamp(0, block.bytes as i64)
            })
            .sum();
        from * self.data + rest
    }
}

impl Opened {
    /// Writes `data` to these places.
    pub fn write(&self, runs: &[(i64, usize)], mut data: &[u8]) -> Result<(), Error> {
        for (at, length) in runs {
            let (now, rest) = data.split_at(*length);
            self.file.write_all_at(now, *at as u64).map_err(|error| refused(&error))?;
            data = rest;
        }
        Ok(())
    }

    /// Reads what is at these places, up to the end of the file.
    pub fn read(&self, runs: &[(i64, usize)]) -> Result<Vec<u8>, Error> {
        let mut data = vec![0; runs.iter().map(|run| run.1).sum()];
        let mut filled = 0;
        for (at, length) in runs {
            let mut got = 0;
            while got < *length {
                let (room, from) = (&mut data[filled + got..filled + length], *at as u64 + got as u64);
                match self.file.read_at(room, from) {
                    Ok(0) => break,
                    Ok(count) => got += count,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(refused(&error)),
                }
            }
            filled += got;
            if got < *length {
                break;
            }
        }
        data.truncate(filled);
        Ok(data)
    }

    /// Its length \[bytes\].
    pub fn size(&self) -> Result<i64, Error> {
        length(&self.file)
    }
}

/// The length of a file \[bytes\].
pub fn length(file: &std::fs::File) -> Result<i64, Error> {
    Ok(file.metadata().map_err(|error| refused(&error))?.len() as i64)
}

/// The error of MPI for one of the system.
pub fn refused(error: &io::Error) -> Error {
    let class = match error.raw_os_error() {
        Some(libc::ENOENT) => Class::NO_SUCH_FILE,
        Some(libc::EEXIST) => Class::FILE_EXISTS,
        Some(libc::EACCES | libc::EPERM) => Class::ACCESS,
        Some(libc::EROFS) => Class::READ_ONLY,
        Some(libc::ENOSPC | libc::EFBIG) => Class::NO_SPACE,
        Some(libc::EDQUOT) => Class::QUOTA,
        Some(libc::ENAMETOOLONG | libc::ENOTDIR | libc::EISDIR | libc::ELOOP) => Class::BAD_FILE,
        Some(libc::ETXTBSY | libc::EBUSY) => Class::FILE_IN_USE,
        _ => Class::IO,
    };
    Error::new(class, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::derived;

    /// Two integers of every six, from byte 100 on.
    fn strided() -> View {
        let int = Layout::of_predefined(Datatype(0x209)).unwrap();
        let two = derived::resized(&derived::contiguous(&int, 2), 0, 24);
        View::new(100, (Datatype(0x209), &int), (Datatype(0x1000), &two))
    }

    #[test]
    fn data_is_where_the_filetype_says() {
        let view = strided();
        assert_eq!(view.runs(0, 8), [(100, 8)]);
        assert_eq!(view.runs(4, 12), [(104, 4), (124, 8)]);
        assert_eq!(view.place(16), 148);
        assert_eq!(View::whole().runs(7, 1_000_000), [(7, 1_000_000)]);
    }

    #[test]
    fn the_end_of_a_file_is_counted_in_data_of_the_view() {
        let view = strided();
        for (end, expected) in
            [(0, 0), (100, 0), (103, 3), (108, 8), (123, 8), (124, 8), (128, 12), (500, 136)]
        {
            assert_eq!(view.before(end), expected, "{end}");
        }
    }
}
