//! Compute models: how long a rank's work takes on the target.
//!
//! Adding one is a file here and a line in [`COMPUTE_MODELS`].

pub mod blas;
pub mod formula;
pub mod kernel;
mod noise;
mod polynomial;
mod roofline;
pub mod sockets;
pub mod stretches;
mod times;

pub use kernel::Kernel;
pub use sockets::{SocketOrder, Sockets};

use std::fmt;

use engine::registry::{Arguments, BuildError, Entry, find};
use engine::{Bandwidth, Duration, FlopRate};

use crate::operation::Work;

/// Times of the work of ranks. What other processes of a socket add to it is not the model's ([`sockets`]).
pub trait ComputeModel: fmt::Debug + Send {
    /// Time of `work`, which the rank begins now, by itself. Called once for each piece of work, in the order of the rank.
    fn time(&mut self, slot: Slot, work: Work) -> Duration;
}

/// Rank that computes, and its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// Number of the rank in the run.
    pub rank: u32,
    /// Number of its host.
    pub host: u32,
}

/// Makes a model for a processor; random numbers come from named streams of the seed.
pub type Build = fn(&Arguments, Processor, seed: u64) -> Result<Box<dyn ComputeModel>, BuildError>;

/// Every model that `[compute] model` can name; the first is the default.
pub const COMPUTE_MODELS: &[Entry<Build>] = &[roofline::ENTRY, noise::ENTRY];

/// The compute model called `name`, of checked arguments.
pub fn build(
    name: &str,
    arguments: &Arguments,
    processor: Processor,
    seed: u64,
) -> Result<Box<dyn ComputeModel>, BuildError> {
    let entry = find(COMPUTE_MODELS, "compute model", name);
    (entry.map_err(|reason| BuildError::new("model", reason))?.build)(arguments, processor, seed)
}

/// The processor of one process slot.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Processor {
    /// Sustained floating-point rate of one process.
    pub flop_rate: FlopRate,
    /// Memory bandwidth that one process reaches while no other uses any.
    pub memory_bandwidth: Bandwidth,
    /// Sockets, whose memory processes share.
    pub sockets: Sockets,
}

impl Processor {
    /// Time of work by itself, by the roofline law: `max(flops / flop_rate, bytes / memory_bandwidth)`; work that states
    /// a time takes that. [`sockets`] adds the delay by other processes of the socket.
    ///
    /// Source: Williams, Waterman, Patterson, "Roofline" (CACM 52(4), 2009).
    pub fn time(&self, work: Work) -> Duration {
        match work {
            Work::Time(time) | Work::Polled(time) => time,
            Work::Flops { flops, bytes } => {
                self.flop_rate.compute(flops).max(self.memory_bandwidth.transfer(bytes))
            }
            Work::PolledFlops(flops) => self.flop_rate.compute(flops),
            Work::Moving { time, bytes } => time.max(self.memory_bandwidth.transfer(bytes)),
        }
    }

    /// Time of work while no other process of its socket computes: no stretch is faster than the whole socket's memory.
    pub fn time_alone(&self, work: Work) -> Duration {
        self.time(work).max(self.sockets.memory_bandwidth.transfer(work.memory_bytes()))
    }
}
