//! Lines of a text file, or of a part of one: numbered, read in blocks, and of bounded length.

use std::sync::Arc;

use super::error::TraceError;
use super::input::TraceFile;

/// Memory of all readers that are open at once, and the largest and smallest block that one of them reads \[bytes\].
const BUFFERS: usize = 256 << 20;
const LARGEST_BLOCK: usize = 64 << 10;
const SMALLEST_BLOCK: usize = 4 << 10;
/// Longest line that is taken for one of a trace \[bytes\]: an all-to-all of a million ranks fits.
const LONGEST: usize = 32 << 20;

/// A part of a file: whole lines.
#[derive(Clone)]
pub struct Part {
    /// The file.
    pub file: TraceFile,
    /// Offset of its begin \[bytes\].
    pub from: u64,
    /// Offset of its end \[bytes\].
    pub to: u64,
    /// Number of lines of the file before it.
    pub lines_before: u64,
}

impl Part {
    /// Covers a whole file.
    pub fn whole(file: TraceFile) -> Part {
        let to = file.bytes.size();
        Part { file, from: 0, to, lines_before: 0 }
    }
}

/// Reads the lines of a part.
pub struct Lines {
    part: Part,
    buffer: Vec<u8>,
    /// Bounds of the current line, and of the unread part, in the buffer.
    line: (usize, usize),
    unread: (usize, usize),
    /// Offset in the file of the byte after the buffer.
    ahead: u64,
    number: u64,
    block: usize,
}

impl Lines {
    /// Begins before the first line of `part`.
    pub fn new(part: Part) -> Lines {
        Lines::one_of(1, part)
    }

    /// Like `new`, for one of `readers` that are open at once and share the memory.
    pub fn one_of(readers: u32, part: Part) -> Lines {
        let (ahead, number) = (part.from, part.lines_before);
        let block = (BUFFERS / readers.max(1) as usize).clamp(SMALLEST_BLOCK, LARGEST_BLOCK);
        Lines { part, buffer: Vec::new(), line: (0, 0), unread: (0, 0), ahead, number, block }
    }

    /// Goes to the next line. Returns false at the end.
    pub fn advance(&mut self) -> Result<bool, TraceError> {
        let mut seen = 0;
        let end = loop {
            let unread = &self.buffer[self.unread.0..self.unread.1];
            if let Some(at) = unread[seen..].iter().position(|byte| *byte == b'\n') {
                break seen + at;
            }
            seen = unread.len();
            if !self.refill()? {
                break seen;
            }
        };
        let from = self.unread.0;
        let is_last = from + end == self.unread.1;
        if is_last && end == 0 {
            self.line = (from, from);
            return Ok(false);
        }
        self.number += 1;
        self.line = (from, from + end);
        self.unread.0 = from + end + usize::from(!is_last);
        if std::str::from_utf8(&self.buffer[from..from + end]).is_err() {
            return Err(self.error("is no text (UTF-8)"));
        }
        Ok(true)
    }

    /// Reads more behind the unread part. Returns false at the end of the part.
    fn refill(&mut self) -> Result<bool, TraceError> {
        let left = self.part.to.saturating_sub(self.ahead);
        if left == 0 {
            return Ok(false);
        }
        let kept = self.unread.1 - self.unread.0;
        if kept > LONGEST {
            self.number += 1;
            return Err(self.error(format!("is longer than {LONGEST} bytes")));
        }
        self.buffer.copy_within(self.unread.0..self.unread.1, 0);
        self.unread = (0, kept);
        let more = left.min(kept.max(self.block) as u64) as usize;
        self.buffer.resize(kept + more, 0);
        let read = self
            .part
            .file
            .bytes
            .read_at(self.ahead, &mut self.buffer[kept..])
            .map_err(|error| TraceError::io(&*self.part.file.name, self.ahead, &error))?;
        self.unread.1 += read;
        self.ahead += read as u64;
        Ok(read > 0)
    }

    /// Text of the line, without its line break.
    pub fn text(&self) -> &str {
        let line = std::str::from_utf8(&self.buffer[self.line.0..self.line.1]).unwrap_or_default();
        line.strip_suffix('\r').unwrap_or(line)
    }

    /// Number of the line in the file, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Offset of the next line in the file \[bytes\].
    pub fn position(&self) -> u64 {
        self.ahead - (self.unread.1 - self.unread.0) as u64
    }

    /// The name of the file.
    pub fn file_name(&self) -> Arc<str> {
        self.part.file.name.clone()
    }

    /// Fraction of the part that has been read \[0..1\].
    pub fn share_read(&self) -> f64 {
        let all = (self.part.to - self.part.from).max(1) as f64;
        (self.position() - self.part.from) as f64 / all
    }

    /// Error in this line.
    pub fn error(&self, reason: impl std::fmt::Display) -> TraceError {
        TraceError::in_line(&*self.part.file.name, self.number, reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(content: &[u8]) -> Vec<(u64, String)> {
        let mut lines = Lines::new(Part::whole(TraceFile::new("t", content.to_vec())));
        let mut all = Vec::new();
        while lines.advance().unwrap() {
            all.push((lines.number(), lines.text().to_string()));
        }
        all
    }

    #[test]
    fn lines_of_any_length_and_end() {
        assert_eq!(lines(b""), []);
        assert_eq!(lines(b"a\r\n\nb"), [(1, "a".into()), (2, String::new()), (3, "b".into())]);
        let long = "x".repeat(3 * LARGEST_BLOCK);
        assert_eq!(lines(format!("{long}\n{long}\n").as_bytes()), [(1, long.clone()), (2, long)]);
    }

    #[test]
    fn a_part_counts_the_lines_before_it() {
        let file = TraceFile::new("t", b"one\ntwo\nthree\nfour\n".to_vec());
        let mut lines = Lines::new(Part { file, from: 4, to: 14, lines_before: 1 });
        assert!(lines.advance().unwrap());
        assert_eq!((lines.number(), lines.text(), lines.position()), (2, "two", 8));
        assert!(lines.advance().unwrap());
        assert_eq!((lines.text(), lines.share_read()), ("three", 1.0));
        assert!(!lines.advance().unwrap());
    }

    #[test]
    fn what_is_no_text_is_refused_with_its_line() {
        let mut lines = Lines::new(Part::whole(TraceFile::new("t", b"one\n\xff\xfe\n".to_vec())));
        assert!(lines.advance().unwrap());
        assert_eq!(lines.advance().unwrap_err().to_string(), "t: line 2: is no text (UTF-8)");
    }
}
