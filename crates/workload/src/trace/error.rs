//! Errors in traces: the file, the place in it, the expected and the found contents.

use std::fmt;
use std::io;

/// A trace that cannot be read or replayed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceError {
    /// Name of the file or of the set.
    pub file: String,
    /// Offset of the error \[bytes from the start of the file\], if it has one place.
    pub offset: Option<u64>,
    /// Expected and found contents.
    pub reason: String,
}

impl TraceError {
    /// Error about a whole file.
    pub fn new(file: impl Into<String>, reason: impl Into<String>) -> TraceError {
        TraceError { file: file.into(), offset: None, reason: reason.into() }
    }

    /// Error at one offset of a file.
    pub fn at(file: impl Into<String>, offset: u64, reason: impl Into<String>) -> TraceError {
        TraceError { file: file.into(), offset: Some(offset), reason: reason.into() }
    }

    /// Error in one line of a text file, numbered from 1.
    pub fn in_line(file: impl Into<String>, line: u64, reason: impl fmt::Display) -> TraceError {
        TraceError::new(file, format!("line {line}: {reason}"))
    }

    /// Error of the operating system while reading the file.
    pub fn io(file: impl Into<String>, offset: u64, error: &io::Error) -> TraceError {
        TraceError::at(file, offset, format!("cannot be read: {error}"))
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.offset {
            Some(offset) => write!(f, "{}: byte {offset}: {}", self.file, self.reason),
            None => write!(f, "{}: {}", self.file, self.reason),
        }
    }
}
impl std::error::Error for TraceError {}
