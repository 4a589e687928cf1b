//! Copies between processes of one host: first come, first served at the sender and at the memory.

use engine::{Duration, Queue, Time};

use super::{Packet, Step, owner, token};
use crate::message::Message;

/// Times at which the copies under way will be done: of each process, and of each host's memory.
#[derive(Debug)]
pub(super) struct MemoryQueues {
    processes: Vec<Time>,
    hosts: Vec<Time>,
}

impl MemoryQueues {
    pub fn new(hosts: u32, processes: u32) -> MemoryQueues {
        MemoryQueues {
            processes: vec![Time::ZERO; processes as usize],
            hosts: vec![Time::ZERO; hosts as usize],
        }
    }

    /// A copy by `process` on `host` takes `own` of the one, and `shared` of the other: when is it done?
    fn copy(&mut self, now: Time, process: u32, host: u32, own: Duration, shared: Duration) -> Time {
        let (copies, memory) = (&mut self.processes[process as usize], &mut self.hosts[host as usize]);
        *copies = now.max(*copies) + own;
        *memory = now.max(*memory) + shared;
        (*copies).max(*memory)
    }
}

impl Packet {
    /// A message within a host.
    pub(super) fn copy(&mut self, now: Time, message: &Message, queue: &mut Queue) {
        let memory = *self.alone.memory(message);
        let (own, shared) =
            (memory.bandwidth.transfer(message.size), memory.total_bandwidth.transfer(message.size));
        let process = self.process(message.from);
        let done = self.memory.copy(now, process, message.from.host.0, own, shared);
        let index = self.messages.insert(now, message, 0, 0);
        let owner = owner(message.from.host);
        if message.notify_sent {
            queue.push(done, owner, token(Step::Sent, index.0, 0));
        }
        queue.place(done + memory.latency, message.key, token(Step::Delivered, index.0, 0));
    }
}
