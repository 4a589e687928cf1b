//! Builds, runs, observes and reports: the only layer that reads and writes files.

mod blueprint;
mod catalogue;
pub mod config;
pub mod feed;
mod hardware_levels;
mod host_names;
pub mod jobs;
mod kernel_times;
mod memory;
pub mod observe;
mod operations;
pub mod placement;
mod prepare;
pub mod profile;
mod profiling;
pub mod report;
pub mod request;
pub mod run;
mod survey;
pub mod table;
pub mod trace;

pub use catalogue::catalogue;
pub use config::{InputError, PlacementChoice, Platform, PlatformSource};
pub use hardware_levels::HardwareLevel;
pub use kernel_times::kernel_times;
pub use prepare::{Prepared, prepare, prepare_share};
pub use report::{Outcome, Report};
pub use request::{RunRequest, Sources, Workload};
pub use run::{Control, Look, Monitor, Peers, Progress};
pub use survey::{picture, survey};
