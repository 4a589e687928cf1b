//! Compute models: how long a rank's work takes on the target.

pub mod blas;
pub mod formula;
pub mod kernel;
pub mod sockets;
pub mod stretches;
mod times;

pub use kernel::Kernel;
pub use sockets::{SocketOrder, Sockets};

use engine::{Bandwidth, Duration, FlopRate};

use crate::operation::Work;

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
