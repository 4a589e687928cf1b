//! Copies between processes of one host: first come, first served at the sender, and at the memory of the level's group.

use engine::{Bytes, Time};

use super::HostInterface;
use crate::{Endpoint, MemoryRegime};

/// Times at which the copies under way will be done: of each process, and of each memory.
#[derive(Debug)]
pub(super) struct MemoryQueues {
    processes: Vec<Time>,
    memories: Vec<Time>,
}

impl MemoryQueues {
    /// Queues of `hosts`, each with so many `slots` of processes and so many memories.
    pub fn new(hosts: usize, slots: usize, memories: usize) -> MemoryQueues {
        let idle = |each: usize| vec![Time::ZERO; hosts * each];
        MemoryQueues { processes: idle(slots), memories: idle(memories) }
    }
}

impl HostInterface {
    /// A process copies `size` bytes within its host, by `costs` and in `memory` among all: the time at which that is done.
    pub fn copy(
        &mut self,
        now: Time,
        from: Endpoint,
        size: Bytes,
        (costs, memory): (&MemoryRegime, usize),
    ) -> Time {
        let process = (from.host.0 * self.slots + u32::from(from.process)) as usize;
        let queues = &mut self.memory;
        let (copies, shared) = (&mut queues.processes[process], &mut queues.memories[memory]);
        *copies = now.max(*copies) + costs.bandwidth.transfer(size);
        *shared = now.max(*shared) + costs.total_bandwidth.transfer(size);
        (*copies).max(*shared)
    }
}
