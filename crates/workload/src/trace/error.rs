//! What is wrong with a trace: which file, where in it, what was expected and what was found.

use std::fmt;
use std::io;

/// A trace that cannot be read or replayed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceError {
    /// The file's name, or the name of the set.
    pub file: String,
    /// Where in the file \[bytes from its start\], if it is about one place.
    pub offset: Option<u64>,
    /// What was expected, and what was found.
    pub reason: String,
}

impl TraceError {
    /// About the whole of a file.
    pub fn new(file: impl Into<String>, reason: impl Into<String>) -> TraceError {
        TraceError { file: file.into(), offset: None, reason: reason.into() }
    }

    /// About one place of a file.
    pub fn at(file: impl Into<String>, offset: u64, reason: impl Into<String>) -> TraceError {
        TraceError { file: file.into(), offset: Some(offset), reason: reason.into() }
    }

    /// About one line of a text file, numbered from 1.
    pub fn in_line(file: impl Into<String>, line: u64, reason: impl fmt::Display) -> TraceError {
        TraceError::new(file, format!("line {line}: {reason}"))
    }

    /// The operating system could not read the file.
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
