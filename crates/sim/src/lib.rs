//! Builds, runs, observes and reports: the only layer that reads and writes files.

pub mod config;
pub mod placement;

pub use config::{InputError, Platform};
