//! Prediction of which stretches of computing other ranks of a socket may slow: only those are worth a switch to the
//! simulator at a look at the clock.
//!
//! ```text
//!   t = max(time, b / B1, b / B)      alone: B1 is the bandwidth of one process, B that of the socket
//!   b / t ≤ B / k                     never slowed by the other k − 1 ranks of the socket, for its equal part is enough
//! ```
//!
//! The law is that of [`mpi::compute::sockets`].

use std::collections::BTreeMap;

use engine::{Bytes, Duration};
use mpi::compute::Processor;
use mpi::operation::Work;

/// Memory of the sockets on which the ranks of a program run.
#[derive(Debug)]
pub struct SocketMemory {
    processor: Processor,
    /// Ranks of the program on the socket of each rank.
    ranks: Vec<u64>,
}

impl SocketMemory {
    /// The memory of `processor`s; the host of each rank, and its socket there.
    pub fn new(processor: Processor, host_of_rank: &[u32], socket_of_rank: &[u32]) -> SocketMemory {
        let places = || host_of_rank.iter().zip(socket_of_rank);
        let mut count = BTreeMap::new();
        for place in places() {
            *count.entry(place).or_default() += 1;
        }
        SocketMemory { processor, ranks: places().map(|place| count[&place]).collect() }
    }

    /// Duration of a stretch while nothing else of its socket moves memory.
    pub fn alone(&self, time: Duration, bytes: u64) -> Duration {
        if bytes == 0 { time } else { self.processor.time_alone(work(time, bytes)) }
    }

    /// True if other ranks may slow a stretch of `rank` that takes `alone` by itself.
    pub fn slows(&self, rank: u32, alone: Duration, bytes: u64) -> bool {
        let sockets = &self.processor.sockets;
        let part = Bytes(bytes.saturating_mul(self.ranks[rank as usize]));
        bytes > 0 && sockets.share() && sockets.memory_bandwidth.transfer(part) > alone
    }
}

/// A stretch that takes `time` and moves `bytes`.
pub fn work(time: Duration, bytes: u64) -> Work {
    match bytes {
        0 => Work::Time(time),
        bytes => Work::Moving { time, bytes: Bytes(bytes) },
    }
}

#[cfg(test)]
mod tests {
    use mpi::compute::{SocketOrder, Sockets};

    use super::*;

    const MS: Duration = Duration(1_000_000_000);
    const MB: u64 = 1_000_000;

    /// Ranks 0 and 2 share a socket of 10 GB/s, of which one process moves 8 GB/s; rank 1 has its own.
    fn memory(bandwidth: &str) -> SocketMemory {
        let memory_bandwidth = bandwidth.parse().unwrap();
        let sockets = Sockets { count: 2, memory_bandwidth, order: SocketOrder::Cyclic };
        let (flop_rate, memory_bandwidth) = ("1 Gflop/s".parse().unwrap(), "8 GB/s".parse().unwrap());
        SocketMemory::new(Processor { flop_rate, memory_bandwidth, sockets }, &[0, 0, 0], &[0, 1, 0])
    }

    #[test]
    fn a_stretch_that_needs_more_than_its_equal_part_may_be_slowed() {
        // An equal part is 10 GB/s / 2: 5 MB in a millisecond.
        let memory = memory("10 GB/s");
        assert!(!memory.slows(0, MS, 5 * MB) && memory.slows(0, MS, 5 * MB + 1));
        assert!(memory.slows(2, MS, 8 * MB) && !memory.slows(1, MS, 8 * MB), "rank 1 is alone");
        assert!(!memory.slows(0, MS, 0) && !memory.slows(0, Duration::ZERO, 0));
    }

    #[test]
    fn where_sockets_have_no_limit_no_stretch_is_slowed() {
        let memory = memory("infinite");
        assert!(!memory.slows(0, MS, 8 * MB));
        // 16 MB at 8 GB/s.
        assert_eq!((memory.alone(MS, 4 * MB), memory.alone(MS, 16 * MB)), (MS, Duration(2 * MS.0)));
    }
}
