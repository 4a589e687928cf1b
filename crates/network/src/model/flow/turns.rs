//! Turns of the short messages of a process at a NIC.
//!
//! A NIC sends a packet whole, and then one of the next connection. So of many messages of one packet each, which a
//! process hands over at once, the first is through long before the last, and few are under way at a time: those that
//! lie in the buffer of the first router, which holds [`AT_ONCE`] packets or more (`router.buffer`). Here at most so many short messages
//! of a process flow over a NIC. The connections with others wait in line. While any does, a message of several packets
//! takes two turns, of half of them each.
//!
//! Long messages, of more than [`SHORT`] packets, share with each other and with those in turn, as fluids do.
//!
//! Source: the `packet` model, whose NICs serve the connections of a process packet by packet. Validity: n messages of k
//! packets have there, on average, `1 − 1 / 2k` of the time of all, and here a half for one packet, three quarters
//! for more: exact for one and two packets, a seventh less for four; as fluids, all have the time of all.

use std::collections::VecDeque;

use engine::Bytes;

use crate::HostParameters;

/// The most short messages of a process that flow over a NIC at once.
const AT_ONCE: u8 = 4;

/// The most packets of a short message.
const SHORT: u64 = 4;

/// All processes at all NICs.
#[derive(Debug)]
pub(super) struct Turns {
    /// Payload of a packet.
    packet: Bytes,
    processes: Vec<Process>,
}

/// A process at a NIC.
#[derive(Debug, Clone, Default)]
struct Process {
    /// Short messages that flow.
    flowing: u8,
    /// Short messages that wait for a turn, each the first of its connection.
    waiting: VecDeque<u32>,
}

impl Turns {
    pub fn new(hosts: &HostParameters) -> Turns {
        Turns { packet: hosts.full_packet(), processes: Vec::new() }
    }

    /// True if a message of `size` takes turns.
    pub fn has(&self, size: Bytes) -> bool {
        (1..=SHORT * self.packet.0).contains(&size.0)
    }

    /// True if the short message in slot `flow` of `process` may flow now; else it waits in line.
    pub fn ask(&mut self, process: u32, flow: u32) -> bool {
        if process as usize >= self.processes.len() {
            self.processes.resize(process as usize + 1, Process::default());
        }
        let process = &mut self.processes[process as usize];
        let may_flow = process.flowing < AT_ONCE && process.waiting.is_empty();
        if may_flow {
            process.flowing += 1;
        } else {
            process.waiting.push_back(flow);
        }
        may_flow
    }

    /// A short message of `process` flows no longer.
    pub fn leave(&mut self, process: u32) {
        self.processes[process as usize].flowing -= 1;
    }

    /// The message that waits longest in the line of `process`, if it may flow now.
    pub fn next(&mut self, process: u32) -> Option<u32> {
        let process = &mut self.processes[process as usize];
        let next = (process.flowing < AT_ONCE).then(|| process.waiting.pop_front()).flatten();
        process.flowing += u8::from(next.is_some());
        next
    }

    /// True if messages of `process` wait for a turn.
    pub fn are_awaited(&self, process: u32) -> bool {
        !self.processes[process as usize].waiting.is_empty()
    }

    /// Bytes of the next turn of a message of `size` from `process`, which has `left` to send.
    pub fn length(&self, process: u32, size: Bytes, left: Bytes) -> Bytes {
        if !self.are_awaited(process) {
            return left;
        }
        let packets = size.0.div_ceil(self.packet.0);
        left.min(Bytes(packets.div_ceil(2) * self.packet.0))
    }
}
