//! Turns of the short messages of a process at a NIC.
//!
//! A NIC sends a packet whole, and then one of the next connection. So of many messages of one packet each, which a
//! process hands over at once, the first is through long before the last, and few are under way at a time: those that
//! lie in the buffer of the first router. Here [`AT_ONCE`] short messages of a process flow over a NIC. The connections
//! with others wait in line. While any does, the last packet of a message waits for a turn of its own.
//!
//! Messages may be held up elsewhere, as where all processes send to the same destination first. Then the NIC has time
//! for others: if by the time at which it could be through with those that have begun it is used by less than a half, or
//! the last that began has less than half the rate of those that the NIC holds back, the next in line flows, too. Unless that
//! is less than a quarter, too, the next waits where a link on its way is full of flows at most twice as fast as the last that
//! began: there it would take from others what it gets.
//!
//! Long messages, of more than [`SHORT`] packets, share with each other and with those in turn, as fluids do. Packets of each
//! connection take turns with theirs: beside them, too, the next in line flows if all short messages at the NIC, at the rate of
//! the last that began, use less than a half of it.
//!
//! Source: the `packet` model, whose NICs serve the connections of a process packet by packet. Validity: n messages of k
//! packets have there, on average, `1 − 1 / 2k` of the time of all, and here as well, up to what four at a time differ
//! from one: within 5 % for 64 messages. As fluids, all have the time of all. Where n hosts send a packet to all, each
//! to the first host first, all are there after twice the time of full NICs in `packet`, and after up to three times here.

use std::collections::VecDeque;

use engine::{Bytes, Duration, Time};

use super::streams::NONE;
use crate::HostParameters;
use crate::model::pages::Pages;

/// The fewest short messages of a process that flow over a NIC while others wait.
const AT_ONCE: u32 = 4;

/// The most packets of a short message.
const SHORT: u64 = 4;

/// All processes at all NICs.
#[derive(Debug)]
pub(super) struct Turns {
    /// Payload of a packet.
    packet: Bytes,
    /// Number of processes of a host, at each of its NICs.
    per_nic: u32,
    processes: Pages<Process>,
    /// Short messages that flow over each NIC.
    over_nics: Pages<u32>,
}

/// A process at a NIC.
#[derive(Debug, Clone)]
struct Process {
    /// Short messages that flow.
    flowing: u32,
    /// The last of them that began; `NONE` if it has ended.
    newest: u32,
    /// Time at which that was.
    since: Time,
    /// Time until which the NIC is busy with those that have begun, if nothing else keeps it from them.
    busy: Time,
    /// Time of the event at which it is looked whether another may flow, if there is one.
    look: Time,
    /// Short messages that wait for a turn, each the first of its connection.
    waiting: VecDeque<u32>,
}

impl Process {
    const IDLE: Process = Process {
        flowing: 0,
        newest: NONE,
        since: Time::ZERO,
        busy: Time::ZERO,
        look: Time::NEVER,
        waiting: VecDeque::new(),
    };
}

impl Turns {
    pub fn new(hosts: &HostParameters) -> Turns {
        let per_nic = u32::from(hosts.processes.max(1));
        Turns {
            packet: hosts.full_packet(),
            per_nic,
            processes: Pages::new(Process::IDLE),
            over_nics: Pages::new(0),
        }
    }

    /// True if a message of `size` takes turns.
    pub fn has(&self, size: Bytes) -> bool {
        (1..=SHORT.saturating_mul(self.packet.0)).contains(&size.0)
    }

    /// True if the short message in slot `flow` of `process` may flow now; else it waits in line.
    pub fn ask(&mut self, process: u32, flow: u32, now: Time) -> bool {
        let own = &mut self.processes[process];
        let may_flow = own.flowing < AT_ONCE && own.waiting.is_empty();
        match may_flow {
            true => self.begin(process, flow, now),
            false => own.waiting.push_back(flow),
        }
        may_flow
    }

    fn begin(&mut self, process: u32, flow: u32, now: Time) {
        let own = &mut self.processes[process];
        own.flowing += 1;
        (own.newest, own.since) = (flow, now);
        let nic = self.nic_of(process);
        self.over_nics[nic] += 1;
    }

    fn begin_first(&mut self, process: u32, now: Time) -> Option<u32> {
        let first = self.processes[process].waiting.pop_front();
        first.into_iter().for_each(|first| self.begin(process, first, now));
        first
    }

    fn nic_of(&self, process: u32) -> u32 {
        process / self.per_nic
    }

    /// Number of short messages, of all processes, that flow over the NIC of `process`.
    pub fn over_nic(&self, process: u32) -> u32 {
        self.over_nics[self.nic_of(process)]
    }

    /// The short message in slot `flow` of `process` flows no longer. If more flow than need be, what held them up
    /// may be over, and the NIC has time.
    pub fn leave(&mut self, process: u32, flow: u32, now: Time) {
        let nic = self.nic_of(process);
        self.over_nics[nic] -= 1;
        let process = &mut self.processes[process];
        process.flowing -= 1;
        if process.newest == flow {
            process.newest = NONE;
        }
        if process.flowing >= AT_ONCE {
            process.busy = process.busy.min(now);
        }
    }

    /// The message that waits longest in the line of `process`, if few flow: it does now.
    pub fn next(&mut self, process: u32, now: Time) -> Option<u32> {
        if self.processes[process].flowing < AT_ONCE { self.begin_first(process, now) } else { None }
    }

    /// The same, if its NIC has nothing to do.
    pub fn next_of_idle(&mut self, process: u32, now: Time) -> Option<u32> {
        if self.processes[process].busy <= now { self.begin_first(process, now) } else { None }
    }

    /// True if messages of `process` wait for a turn.
    pub fn are_awaited(&self, process: u32) -> bool {
        !self.processes[process].waiting.is_empty()
    }

    /// The NIC of `process` takes so long for a turn that begins now.
    pub fn occupy(&mut self, process: u32, now: Time, time: Duration) {
        let busy = &mut self.processes[process].busy;
        *busy = now.max(*busy) + time;
    }

    /// Time for an event at which it is to be looked whether another message of `process` may flow, unless there is an
    /// earlier one.
    pub fn look(&mut self, process: u32, now: Time) -> Option<Time> {
        let process = &mut self.processes[process];
        let time = now.max(process.busy);
        if process.look <= time || process.waiting.is_empty() {
            return None;
        }
        process.look = time;
        Some(time)
    }

    /// An event of `process` has come: nothing if it does not count any more. True if its NIC is through with those that
    /// have begun, and others wait.
    pub fn is_through(&mut self, process: u32, now: Time) -> Option<bool> {
        let process = &mut self.processes[process];
        if process.look != now {
            return None;
        }
        process.look = Time::NEVER;
        Some(process.busy <= now && !process.waiting.is_empty())
    }

    /// The NIC of `process` is not to be looked at before `left` is over, in which its newest ends at its rate; nor before
    /// as much time again as that has flowed, since others may leave the NIC.
    pub fn put_off(&mut self, process: u32, now: Time, left: Duration) {
        let process = &mut self.processes[process];
        process.busy = now + left.min(now.since(process.since)).max(Duration(1));
    }

    /// The message of `process` that has waited longest.
    pub fn first(&self, process: u32) -> Option<u32> {
        self.processes[process].waiting.front().copied()
    }

    /// The message of `process` that began last, if it still flows.
    pub fn newest(&self, process: u32) -> Option<u32> {
        Some(self.processes[process].newest).filter(|newest| *newest != NONE)
    }

    /// True if the only short message of `process` under way flows.
    pub fn has_one(&self, process: u32) -> bool {
        let process = &self.processes[process];
        process.flowing == 1 && process.waiting.is_empty()
    }

    /// Bytes of the next turn of a message of `size`, which has `left` to send: while others wait, its last packet has a turn
    /// of its own.
    pub fn length(&self, size: Bytes, left: Bytes, are_awaited: bool) -> Bytes {
        if !are_awaited {
            return left;
        }
        let but_last = (size.0.div_ceil(self.packet.0) - 1) * self.packet.0;
        let sent = size.0 - left.0;
        if sent < but_last { Bytes(but_last - sent) } else { left }
    }
}
