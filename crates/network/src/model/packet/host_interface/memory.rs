//! Copies between processes of one host: first come, first served at the sender and at the memory.

use engine::{Bytes, Time};

use super::HostInterface;
use crate::{Endpoint, MemoryRegime};

/// Times at which the copies under way will be done: of each process, and of each host's memory.
#[derive(Debug)]
pub(super) struct MemoryQueues {
    processes: Vec<Time>,
    hosts: Vec<Time>,
}

impl MemoryQueues {
    /// Queues of `hosts`, each with so many `slots` of processes.
    pub fn new(hosts: usize, slots: usize) -> MemoryQueues {
        MemoryQueues { processes: vec![Time::ZERO; hosts * slots], hosts: vec![Time::ZERO; hosts] }
    }
}

impl HostInterface {
    /// A process copies `size` bytes within its host: the time at which that is done.
    pub fn copy(&mut self, now: Time, from: Endpoint, size: Bytes, memory: &MemoryRegime) -> Time {
        let process = (from.host.0 * self.slots + u32::from(from.process)) as usize;
        let queues = &mut self.memory;
        let (copies, shared) = (&mut queues.processes[process], &mut queues.hosts[from.host.0 as usize]);
        *copies = now.max(*copies) + memory.bandwidth.transfer(size);
        *shared = now.max(*shared) + memory.total_bandwidth.transfer(size);
        (*copies).max(*shared)
    }
}
