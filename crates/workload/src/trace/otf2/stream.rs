//! The records of one file: chunks of equal size, each with a header, cut into records of known length.
//!
//! | byte | what follows |
//! | --- | --- |
//! | 0 | nothing more in this chunk |
//! | 2 | the end of the file |
//! | 3 | the head of a chunk: byte order, numbers of its first and last event |
//! | 5 | in files of events: a time (8 bytes) that holds for the records after it |
//! | others | a record: its length (1 byte; 255: 8 more), then its content; of events that are one number, only that |
//!
//! Numbers in records are compressed: a byte that says how many bytes follow, 0 for zero and 255 for the
//! largest of all. Source: OTF2 3.2, `OTF2_Buffer.h`.

use std::sync::Arc;

use crate::trace::error::TraceError;
use crate::trace::input::{Cursor, TraceFile};

/// The first byte of a file and of each chunk.
pub(super) const CHUNK_HEAD: u8 = 3;
const CHUNK_ENDS: u8 = 0;
const FILE_ENDS: u8 = 2;
const TIME: u8 = 5;
const BIG_ENDIAN: u8 = 0x23;
const LITTLE_ENDIAN: u8 = 0x42;
/// Events whose content is one compressed number, with no length before it.
const SINGLE: &[u8] = &[12, 13, 16, 17, 20, 21, 24, 28, 29, 30];
/// A length byte that says that the length stands in eight more.
const LONG: u8 = 0xff;

/// Next item of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Item {
    /// Time of the following records \[ticks\].
    Time(u64),
    /// A record of this kind, whose contents are [`Stream::body`].
    Record(u8),
}

/// Kind of the records in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holds {
    Definitions,
    Events,
}

/// Reads a file record by record.
pub(super) struct Stream {
    file: TraceFile,
    holds: Holds,
    chunk_bytes: u64,
    buffer: usize,
    cursor: Cursor,
    /// Offset of the next chunk.
    next_chunk: u64,
    big: bool,
    body: Vec<u8>,
    /// Offsets of the record and of its contents.
    record_at: u64,
    body_at: u64,
    ended: bool,
}

impl Stream {
    /// Starts at the first record of `file`.
    pub(super) fn new(
        file: TraceFile,
        holds: Holds,
        chunk_bytes: u64,
        buffer: usize,
    ) -> Result<Stream, TraceError> {
        let mut stream = Stream { file, holds, chunk_bytes, buffer, ended: false, ..Stream::empty() };
        stream.open_chunk()?;
        Ok(stream)
    }

    /// Makes a stream without records.
    pub(super) fn empty() -> Stream {
        let file = TraceFile::new("", Vec::new());
        let cursor = Cursor::new(file.clone(), 0, 0, 64);
        Stream {
            file,
            holds: Holds::Events,
            chunk_bytes: 0,
            buffer: 0,
            cursor,
            next_chunk: 0,
            big: false,
            body: Vec::new(),
            record_at: 0,
            body_at: 0,
            ended: true,
        }
    }

    /// Next item; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Item>, TraceError> {
        while !self.ended {
            if self.cursor.left() == 0 {
                self.open_chunk()?;
                continue;
            }
            self.record_at = self.cursor.position();
            match self.cursor.u8("a record's number")? {
                CHUNK_ENDS => self.open_chunk()?,
                FILE_ENDS => self.ended = true,
                TIME if self.holds == Holds::Events => {
                    return self.fixed("a time").map(|t| Some(Item::Time(t)));
                }
                number if number < TIME => {
                    let reason = format!("{number} is not the number of a record");
                    return Err(self.cursor.error_at(self.record_at, reason));
                }
                number => {
                    if self.holds == Holds::Events && SINGLE.contains(&number) {
                        self.take_number()?;
                    } else {
                        self.take_body()?;
                    }
                    return Ok(Some(Item::Record(number)));
                }
            }
        }
        Ok(None)
    }

    /// Contents of the record that [`Stream::next`] returned last.
    pub(super) fn body(&self) -> Body<'_> {
        Body { bytes: &self.body, at: self.body_at, big: self.big, file: &self.file.name }
    }

    /// Offset of that record \[bytes from the begin of the file\].
    pub(super) fn record_at(&self) -> u64 {
        self.record_at
    }

    /// The name of the file.
    pub(super) fn file_name(&self) -> &Arc<str> {
        &self.file.name
    }

    /// Fraction of the file that has been read \[0..1\].
    pub(super) fn share_read(&self) -> f64 {
        self.cursor.position() as f64 / self.file.bytes.size().max(1) as f64
    }

    fn open_chunk(&mut self) -> Result<(), TraceError> {
        let (from, size) = (self.next_chunk, self.file.bytes.size());
        if from >= size {
            let reason = "the file ends without the mark of its end: the trace is cut off";
            return Err(TraceError::at(&*self.file.name, size, reason));
        }
        self.next_chunk = from.saturating_add(self.chunk_bytes);
        self.cursor = Cursor::new(self.file.clone(), from, self.next_chunk.min(size), self.buffer);
        let [head, order] = [self.cursor.u8("the head of a chunk")?, self.cursor.u8("the byte order")?];
        if head != CHUNK_HEAD {
            let reason = format!("no chunk begins here: byte {head} instead of {CHUNK_HEAD}");
            return Err(self.cursor.error_at(from, reason));
        }
        self.big = byte_order(order).ok_or_else(|| {
            self.cursor.error_at(from + 1, format!("unknown byte order {order:#x}; known: 0x23, 0x42"))
        })?;
        self.fixed("the number of a chunk's first event")?;
        self.fixed("the number of a chunk's last event")?;
        Ok(())
    }

    /// Reads eight bytes in the byte order of the file.
    fn fixed(&mut self, what: &'static str) -> Result<u64, TraceError> {
        let number = self.cursor.u64(what)?;
        Ok(if self.big { number } else { number.swap_bytes() })
    }

    fn take_number(&mut self) -> Result<(), TraceError> {
        self.body_at = self.cursor.position();
        let width = self.cursor.u8("a number")?;
        self.body.clear();
        self.body.push(width);
        // The width of the number is checked where the number is read.
        let more = if width <= 8 { width.into() } else { 0 };
        self.cursor.bytes(more, &mut self.body, "a number")
    }

    fn take_body(&mut self) -> Result<(), TraceError> {
        let at = self.cursor.position();
        let length = match self.cursor.u8("the length of a record")? {
            LONG => self.fixed("the length of a record")?,
            length => length.into(),
        };
        if length > self.cursor.left() {
            let left = self.cursor.left();
            let reason = format!("a record of {length} bytes, but {left} are left in its chunk");
            return Err(self.cursor.error_at(at, reason));
        }
        self.body.clear();
        self.body_at = self.cursor.position();
        self.cursor.bytes(length as usize, &mut self.body, "a record")
    }
}

/// Byte order of a mark: true for big-endian, `None` for an unknown mark.
pub(super) fn byte_order(mark: u8) -> Option<bool> {
    match mark {
        BIG_ENDIAN => Some(true),
        LITTLE_ENDIAN => Some(false),
        _ => None,
    }
}

/// Contents of a record, read from the front.
#[derive(Clone)]
pub(super) struct Body<'a> {
    bytes: &'a [u8],
    at: u64,
    big: bool,
    file: &'a str,
}

impl<'a> Body<'a> {
    /// Wraps `bytes` of `file`, which begin at offset `at`.
    pub(super) fn new(bytes: &'a [u8], at: u64, big: bool, file: &'a str) -> Body<'a> {
        Body { bytes, at, big, file }
    }

    /// True if nothing is left. Newer versions of the format append fields to records.
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Error at the current position.
    pub(super) fn error(&self, reason: impl Into<String>) -> TraceError {
        TraceError::at(self.file, self.at, reason)
    }

    fn take(&mut self, count: usize, what: &str) -> Result<&'a [u8], TraceError> {
        if count > self.bytes.len() {
            let left = self.bytes.len();
            return Err(self.error(format!("{what} needs {count} bytes, but {left} are left")));
        }
        let (taken, left) = self.bytes.split_at(count);
        self.bytes = left;
        self.at += count as u64;
        Ok(taken)
    }

    /// Reads one byte.
    pub(super) fn u8(&mut self, what: &str) -> Result<u8, TraceError> {
        Ok(self.take(1, what)?[0])
    }

    /// Reads an uncompressed number of `width` bytes.
    pub(super) fn fixed(&mut self, width: usize, what: &str) -> Result<u64, TraceError> {
        let bytes = self.take(width, what)?;
        let fold = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        Ok(if self.big { bytes.iter().fold(0, fold) } else { bytes.iter().rev().fold(0, fold) })
    }

    /// Reads a compressed number of at most `widest` bytes.
    fn compressed(&mut self, widest: u8, what: &str) -> Result<u64, TraceError> {
        match self.u8(what)? {
            0 => Ok(0),
            LONG => Ok(u64::MAX >> (64 - 8 * u32::from(widest))),
            width if width <= widest => self.fixed(width.into(), what),
            width => Err(self.error(format!("{what} has {width} bytes; at most {widest} are possible"))),
        }
    }

    /// Reads a compressed number of 32 bits; `u32::MAX` stands for none.
    pub(super) fn u32(&mut self, what: &str) -> Result<u32, TraceError> {
        Ok(self.compressed(4, what)? as u32)
    }

    /// Reads a compressed number of 64 bits.
    pub(super) fn u64(&mut self, what: &str) -> Result<u64, TraceError> {
        self.compressed(8, what)
    }

    /// Reads text up to a zero byte.
    pub(super) fn text(&mut self, what: &str) -> Result<String, TraceError> {
        let length = self.bytes.iter().position(|byte| *byte == 0);
        let length = length.ok_or_else(|| self.error(format!("{what} has no end")))?;
        let text = String::from_utf8_lossy(&self.bytes[..length]).into_owned();
        self.take(length + 1, what)?;
        Ok(text)
    }

    /// True if `count` numbers of at least one byte each can follow, so that a damaged count allocates no memory.
    pub(super) fn holds(&self, count: u64) -> bool {
        count <= self.bytes.len() as u64
    }
}
