//! Builds, runs, observes and reports: the only layer that reads and writes files.

mod catalogue;
pub mod config;
pub mod placement;

pub use catalogue::catalogue;
pub use config::{InputError, Platform};
