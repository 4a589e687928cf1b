//! Files of a trace as this crate sees them (a name, and bytes to read at an offset), and the buffered cursor with
//! which readers walk through one.
//!
//! A trace may have thousands of files, more than a process may hold open. Implementations of [`ReadAt`] may open the
//! file for each call, since reads are large and few.

use std::io;
use std::sync::Arc;

use super::error::TraceError;

/// Bytes of known length with random access.
pub trait ReadAt: Send + Sync {
    /// Length \[bytes\].
    fn size(&self) -> u64;
    /// Reads up to `buffer.len()` bytes at `offset`; 0 only at the end.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;
}

impl ReadAt for Vec<u8> {
    fn size(&self) -> u64 {
        self.len() as u64
    }
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let from = usize::try_from(offset).unwrap_or(usize::MAX).min(self.len());
        let count = buffer.len().min(self.len() - from);
        buffer[..count].copy_from_slice(&self[from..from + count]);
        Ok(count)
    }
}

/// One file of a trace.
#[derive(Clone)]
pub struct TraceFile {
    /// Path, shown in messages; its last part serves to recognise files.
    pub name: Arc<str>,
    /// Its content.
    pub bytes: Arc<dyn ReadAt>,
}

impl TraceFile {
    /// Makes a file called `name` with these contents.
    pub fn new(name: impl Into<Arc<str>>, bytes: impl ReadAt + 'static) -> TraceFile {
        TraceFile { name: name.into(), bytes: Arc::new(bytes) }
    }

    /// The name without its folders.
    pub fn base_name(&self) -> &str {
        self.name.rsplit(['/', '\\']).next().unwrap_or(&self.name)
    }

    /// Up to `count` bytes from `offset`: fewer at the end of the file.
    pub fn peek(&self, offset: u64, count: usize) -> Result<Vec<u8>, TraceError> {
        let mut content = vec![0; count];
        let mut filled = 0;
        while filled < count {
            let read = self
                .bytes
                .read_at(offset + filled as u64, &mut content[filled..])
                .map_err(|error| TraceError::io(&*self.name, offset, &error))?;
            if read == 0 {
                break;
            }
            filled += read;
        }
        content.truncate(filled);
        Ok(content)
    }
}

/// Reads a part of a file front to back, big-endian, with one fixed buffer.
pub struct Cursor {
    file: TraceFile,
    buffer: Box<[u8]>,
    /// Bounds of the unread part of the buffer.
    from: usize,
    to: usize,
    /// Offset in the file of the byte after `to`.
    ahead: u64,
    /// Offset of the end of the part.
    limit: u64,
}

impl Cursor {
    /// Covers the bytes `from..limit` of `file`, with a buffer of at most `buffer` bytes (at least 64).
    pub fn new(file: TraceFile, from: u64, limit: u64, buffer: usize) -> Cursor {
        let length = limit.saturating_sub(from).clamp(64, buffer.max(64) as u64) as usize;
        Cursor { file, buffer: vec![0; length].into(), from: 0, to: 0, ahead: from, limit }
    }

    /// The name of the file.
    pub fn file_name(&self) -> Arc<str> {
        self.file.name.clone()
    }

    /// Offset of the next byte in the file.
    pub fn position(&self) -> u64 {
        self.ahead - (self.to - self.from) as u64
    }

    /// Number of bytes that are left.
    pub fn left(&self) -> u64 {
        self.limit.saturating_sub(self.position())
    }

    /// Error at the current position.
    pub fn error(&self, reason: impl Into<String>) -> TraceError {
        TraceError::at(&*self.file.name, self.position(), reason)
    }

    /// Error at `offset`.
    pub fn error_at(&self, offset: u64, reason: impl Into<String>) -> TraceError {
        TraceError::at(&*self.file.name, offset, reason)
    }

    #[inline]
    fn take<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], TraceError> {
        if self.to - self.from < N {
            self.refill(N, what)?;
        }
        let bytes = self.buffer[self.from..self.from + N].try_into().expect("N bytes");
        self.from += N;
        Ok(bytes)
    }

    /// Makes at least `needed` (≤ 8) bytes available.
    #[cold]
    fn refill(&mut self, needed: usize, what: &'static str) -> Result<(), TraceError> {
        if self.left() < needed as u64 {
            return Err(self.ends_within(what, needed as u64));
        }
        self.buffer.copy_within(self.from..self.to, 0);
        self.to -= self.from;
        self.from = 0;
        while self.to < needed {
            let room = (self.limit - self.ahead).min((self.buffer.len() - self.to) as u64) as usize;
            let read = self
                .file
                .bytes
                .read_at(self.ahead, &mut self.buffer[self.to..self.to + room])
                .map_err(|error| TraceError::io(&*self.file.name, self.ahead, &error))?;
            if read == 0 {
                return Err(self.error(format!("the file has become shorter: it ends within {what}")));
            }
            self.to += read;
            self.ahead += read as u64;
        }
        Ok(())
    }

    fn ends_within(&self, what: &str, needed: u64) -> TraceError {
        self.error(format!("{what} needs {needed} bytes, but {} are left: the trace is cut off", self.left()))
    }

    /// Reads one byte.
    #[inline]
    pub fn u8(&mut self, what: &'static str) -> Result<u8, TraceError> {
        Ok(self.take::<1>(what)?[0])
    }
    /// Reads two bytes.
    #[inline]
    pub fn u16(&mut self, what: &'static str) -> Result<u16, TraceError> {
        Ok(u16::from_be_bytes(self.take(what)?))
    }
    /// Reads four bytes.
    #[inline]
    pub fn u32(&mut self, what: &'static str) -> Result<u32, TraceError> {
        Ok(u32::from_be_bytes(self.take(what)?))
    }
    /// Reads four bytes as a signed number.
    #[inline]
    pub fn i32(&mut self, what: &'static str) -> Result<i32, TraceError> {
        Ok(i32::from_be_bytes(self.take(what)?))
    }
    /// Reads eight bytes.
    #[inline]
    pub fn u64(&mut self, what: &'static str) -> Result<u64, TraceError> {
        Ok(u64::from_be_bytes(self.take(what)?))
    }

    /// Reads the count (4 bytes) of a list whose elements take at least `element` bytes each. Fails if the rest of
    /// the file cannot hold it, so that a damaged count cannot use up memory.
    pub fn count(&mut self, element: u64, what: &'static str) -> Result<usize, TraceError> {
        let at = self.position();
        let count = self.i32(what)?;
        let Ok(count) = u64::try_from(count) else {
            return Err(self.error_at(at, format!("the length of {what} is {count}, below zero")));
        };
        if count * element > self.left() {
            return Err(self.error_at(
                at,
                format!(
                    "{what} has {count} elements of {element} bytes, but only {} bytes are left",
                    self.left()
                ),
            ));
        }
        Ok(count as usize)
    }

    /// Appends `count` bytes to `into`; the caller has checked `count` against [`Cursor::left`].
    pub fn bytes(&mut self, count: usize, into: &mut Vec<u8>, what: &'static str) -> Result<(), TraceError> {
        if self.left() < count as u64 {
            return Err(self.ends_within(what, count as u64));
        }
        let mut missing = count;
        while missing > 0 {
            if self.from == self.to {
                self.refill(1, what)?;
            }
            let now = missing.min(self.to - self.from);
            into.extend_from_slice(&self.buffer[self.from..self.from + now]);
            self.from += now;
            missing -= now;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_survive_the_borders_of_the_buffer() {
        let content: Vec<u8> = (0..200).collect();
        let mut cursor = Cursor::new(TraceFile::new("t", content), 3, 200, 64);
        for n in 0..24 {
            let first = 3 + 8 * n;
            let bytes: [u8; 8] = std::array::from_fn(|k| first as u8 + k as u8);
            assert_eq!(cursor.position(), first);
            assert_eq!(cursor.u64("n").unwrap(), u64::from_be_bytes(bytes));
        }
        assert_eq!(cursor.left(), 5);
        let error = cursor.u64("the last").unwrap_err();
        assert_eq!((error.offset, error.reason.contains("5 are left")), (Some(195), true), "{error}");
    }

    #[test]
    fn a_count_beyond_the_file_is_refused() {
        let mut cursor = Cursor::new(TraceFile::new("t", vec![0x7f, 0xff, 0xff, 0xff, 0, 0]), 0, 6, 64);
        let error = cursor.count(4, "ranks").unwrap_err().to_string();
        assert_eq!(error, "t: byte 0: ranks has 2147483647 elements of 4 bytes, but only 2 bytes are left");
    }
}
