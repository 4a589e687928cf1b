//! Recorded runs: readers of trace formats, and their replay.

pub mod dumpi;
pub mod error;
pub mod input;

pub use error::TraceError;
pub use input::{ReadAt, TraceFile};
