//! Compute models: how long a rank's work takes on the target.

pub mod blas;
pub mod formula;
pub mod kernel;

pub use kernel::Kernel;

use engine::{Bandwidth, Duration, FlopRate};

use crate::operation::Work;

/// The processor of one process slot.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Processor {
    /// Sustained floating-point rate of one process.
    pub flop_rate: FlopRate,
    /// Sustained memory bandwidth of one process.
    pub memory_bandwidth: Bandwidth,
}

impl Processor {
    /// The roofline law: `max(flops / flop_rate, bytes / memory_bandwidth)`; times pass through.
    ///
    /// Source: Williams, Waterman, Patterson, "Roofline" (CACM 52(4), 2009).
    pub fn time(&self, work: Work) -> Duration {
        match work {
            Work::Time(time) | Work::Polled(time) => time,
            Work::Flops { flops, bytes } => {
                self.flop_rate.compute(flops).max(self.memory_bandwidth.transfer(bytes))
            }
            Work::PolledFlops(flops) => self.flop_rate.compute(flops),
        }
    }
}
