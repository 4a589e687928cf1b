//! MPI: operations of ranks in, messages of hosts out.
//!
//! This crate knows no file format and no Python, nor which network model runs; it never touches
//! user memory: timing and data travel apart.

pub mod cartesian;
pub mod cause;
pub mod collective;
pub mod communicator;
pub mod compute;
pub mod file_system;
pub mod function_times;
pub mod group;
pub mod message_noise;
pub mod operation;
pub mod rank;
pub mod record;
pub mod source;
pub mod world;

pub use cause::{Cause, Causes, Path};
pub use function_times::{FunctionTime, FunctionTimes};
pub use message_noise::MessageNoise;
pub use operation::Op;
pub use rank::Rank;
pub use record::{Blocked, Failure, PartCall, Record};
pub use source::{Completion, Issued, Source};
pub use world::{Context, DomainMessage, Progress, Protocol, Setup, World};
