//! Recordings as one file: an archive of the files of their ranks.

use std::io;

use crate::trace::error::TraceError;
use crate::trace::input::{ReadAt, TraceFile};

/// Offset and value of a tar archive's magic.
const TAR: (u64, &[u8]) = (257, b"ustar");

/// True if the file is a tar archive and its name says that it is a recording.
pub fn is_archive(file: &TraceFile) -> Result<bool, TraceError> {
    Ok(file.base_name().ends_with(".hct") && file.peek(TAR.0, TAR.1.len())? == TAR.1)
}

/// The files in an archive.
pub fn members(archive: &TraceFile) -> Result<Vec<TraceFile>, TraceError> {
    let error = |reason: io::Error| {
        TraceError::new(&*archive.name, format!("cannot be read as an archive: {reason}"))
    };
    let mut tar = tar::Archive::new(Reading { file: archive.clone(), at: 0 });
    let mut files = Vec::new();
    for entry in tar.entries_with_seek().map_err(error)? {
        let entry = entry.map_err(error)?;
        if entry.header().entry_type().is_file() {
            let name = format!("{}/{}", archive.name, entry.path().map_err(error)?.display());
            let part = Part { of: archive.clone(), from: entry.raw_file_position(), size: entry.size() };
            files.push(TraceFile::new(name, part));
        }
    }
    Ok(files)
}

/// Reads a file as a stream.
struct Reading {
    file: TraceFile,
    at: u64,
}

impl io::Read for Reading {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.bytes.read_at(self.at, buffer)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl io::Seek for Reading {
    fn seek(&mut self, to: io::SeekFrom) -> io::Result<u64> {
        let at = match to {
            io::SeekFrom::Start(at) => Some(at),
            io::SeekFrom::Current(by) => self.at.checked_add_signed(by),
            io::SeekFrom::End(by) => self.file.bytes.size().checked_add_signed(by),
        };
        self.at = at.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

/// A byte range of a file, as a source of bytes.
struct Part {
    of: TraceFile,
    from: u64,
    size: u64,
}

impl ReadAt for Part {
    fn size(&self) -> u64 {
        self.size.min(self.of.bytes.size().saturating_sub(self.from))
    }
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let room = self.size().saturating_sub(offset).min(buffer.len() as u64) as usize;
        self.of.bytes.read_at(self.from + offset, &mut buffer[..room])
    }
}
