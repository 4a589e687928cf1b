//! Turns of short messages at the NICs of both ends.
//!
//! A NIC sends a packet whole, and then one of the next connection. So of many messages of one packet each, which a
//! process hands over at once, the first is through long before the last, and few are under way at a time: those that
//! lie in the buffer of the first router. Here [`AT_ONCE`] short messages of a process flow over a NIC. The connections
//! with others wait in line. So do packets for one receiver come one after the other: the same number of short messages flows
//! to its NIC, and the others wait in line there, in the order in which they have got their turns at their senders; in one
//! instant, in that of their keys. While any wait at one of both, the last packet of a message waits for a turn of its own.
//!
//! Messages may be held up elsewhere, as where all processes send to the same destination first. Then the NIC has time
//! for others: if by the time at which it could be through with those that have begun it is used by less than a half, or
//! the last that began has less than half the rate of those that the NIC holds back, the next in line flows, too. Unless that
//! is less than a quarter, too, the next waits where a link on its way is full of flows at most twice as fast as the last that
//! began: there it would take from others what it gets.
//!
//! Long messages, of more than [`SHORT`] packets, share with each other and with those in turn, as fluids do.
//!
//! Source: the `packet` model, whose NICs serve the connections of a process packet by packet. Validity: n messages of k
//! packets have there, on average, `1 − 1 / 2k` of the time of all, and here as well, up to what four at a time differ
//! from one: within 5 % for 64 messages, from one process or to one. As fluids, all have the time of all. Where n hosts send
//! a packet to all, each to the first host first, all are there after twice the time of full NICs in `packet`, and here after
//! 2.5 times for 64 hosts, 3.2 times for 256.

use std::collections::VecDeque;

use engine::{Bytes, Duration, Time};

use super::streams::NONE;
use crate::HostParameters;

/// The fewest short messages of a process that flow over a NIC, and to a NIC, while others wait.
const AT_ONCE: u32 = 4;

/// The most packets of a short message.
const SHORT: u64 = 4;

/// An end of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum End {
    Sender,
    Receiver,
}

/// Where short messages take turns: a process at the NIC over which it sends, or the NIC of a receiver; the process there, if
/// the way into it can be a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Gate {
    pub end: End,
    /// Number of the process at the NIC, or of the NIC.
    pub number: u32,
}

impl Gate {
    /// The gate of the version of an event's schedule that [`Gate::version`] gives.
    pub fn of(number: u32, version: u32) -> Gate {
        Gate { end: if version == End::Sender as u32 { End::Sender } else { End::Receiver }, number }
    }

    /// Version in the events of this gate.
    pub fn version(self) -> u32 {
        self.end as u32
    }
}

/// All gates.
#[derive(Debug)]
pub(super) struct Turns {
    /// Payload of a packet.
    packet: Bytes,
    /// Lines by the number of their gates.
    senders: Vec<Line>,
    receivers: Vec<Line>,
}

/// The short messages at a gate.
#[derive(Debug, Clone)]
struct Line {
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
    /// Short messages that wait for a turn; at senders, each the first of its connection.
    waiting: VecDeque<u32>,
}

impl Line {
    const IDLE: Line = Line {
        flowing: 0,
        newest: NONE,
        since: Time::ZERO,
        busy: Time::ZERO,
        look: Time::NEVER,
        waiting: VecDeque::new(),
    };

    fn begin(&mut self, flow: u32, now: Time) {
        self.flowing += 1;
        (self.newest, self.since) = (flow, now);
    }

    fn begin_first(&mut self, now: Time) -> Option<u32> {
        let first = self.waiting.pop_front();
        first.into_iter().for_each(|first| self.begin(first, now));
        first
    }
}

impl Turns {
    pub fn new(hosts: &HostParameters) -> Turns {
        Turns { packet: hosts.full_packet(), senders: Vec::new(), receivers: Vec::new() }
    }

    /// The line at `gate`, at which a message has asked.
    fn line(&mut self, gate: Gate) -> &mut Line {
        match gate.end {
            End::Sender => &mut self.senders[gate.number as usize],
            End::Receiver => &mut self.receivers[gate.number as usize],
        }
    }

    /// True if a message of `size` takes turns.
    pub fn has(&self, size: Bytes) -> bool {
        (1..=SHORT.saturating_mul(self.packet.0)).contains(&size.0)
    }

    /// True if the short message in slot `flow` may pass `gate` now; else it waits in line.
    pub fn ask(&mut self, gate: Gate, flow: u32, now: Time) -> bool {
        let lines = match gate.end {
            End::Sender => &mut self.senders,
            End::Receiver => &mut self.receivers,
        };
        if gate.number as usize >= lines.len() {
            lines.resize(gate.number as usize + 1, Line::IDLE);
        }
        let line = &mut lines[gate.number as usize];
        let may_flow = line.flowing < AT_ONCE && line.waiting.is_empty();
        match may_flow {
            true => line.begin(flow, now),
            false => line.waiting.push_back(flow),
        }
        may_flow
    }

    /// The short message in slot `flow`, which had passed `gate`, flows no longer. If more flow than need be, what held
    /// them up may be over, and the NIC has time.
    pub fn leave(&mut self, gate: Gate, flow: u32, now: Time) {
        let line = self.line(gate);
        line.flowing -= 1;
        if line.newest == flow {
            line.newest = NONE;
        }
        if line.flowing >= AT_ONCE {
            line.busy = line.busy.min(now);
        }
    }

    /// The message that waits longest at `gate`, if few flow: it does now.
    pub fn next(&mut self, gate: Gate, now: Time) -> Option<u32> {
        let line = self.line(gate);
        if line.flowing < AT_ONCE { line.begin_first(now) } else { None }
    }

    /// The same, if its NIC has nothing to do.
    pub fn next_of_idle(&mut self, gate: Gate, now: Time) -> Option<u32> {
        let line = self.line(gate);
        if line.busy <= now { line.begin_first(now) } else { None }
    }

    /// True if messages wait for a turn at `gate`.
    pub fn are_awaited(&self, gate: Gate) -> bool {
        let lines = if gate.end == End::Sender { &self.senders } else { &self.receivers };
        lines.get(gate.number as usize).is_some_and(|line| !line.waiting.is_empty())
    }

    /// The NIC of `gate` takes so long for a turn that begins now.
    pub fn occupy(&mut self, gate: Gate, now: Time, time: Duration) {
        let busy = &mut self.line(gate).busy;
        *busy = now.max(*busy) + time;
    }

    /// Time for an event at which it is to be looked whether another message may pass `gate`, unless there is an earlier one.
    pub fn look(&mut self, gate: Gate, now: Time) -> Option<Time> {
        let line = self.line(gate);
        let time = now.max(line.busy);
        if line.look <= time || line.waiting.is_empty() {
            return None;
        }
        line.look = time;
        Some(time)
    }

    /// An event of `gate` has come: nothing if it does not count any more. True if its NIC is through with those that have
    /// begun, and others wait.
    pub fn is_through(&mut self, gate: Gate, now: Time) -> Option<bool> {
        let line = self.line(gate);
        if line.look != now {
            return None;
        }
        line.look = Time::NEVER;
        Some(line.busy <= now && !line.waiting.is_empty())
    }

    /// The NIC of `gate` is not to be looked at before `left` is over, in which its newest ends at its rate; nor before as
    /// much time again as that has flowed, since others may leave the NIC.
    pub fn put_off(&mut self, gate: Gate, now: Time, left: Duration) {
        let line = self.line(gate);
        line.busy = now + left.min(now.since(line.since)).max(Duration(1));
    }

    /// The message that waits longest at `gate`.
    pub fn first(&mut self, gate: Gate) -> Option<u32> {
        self.line(gate).waiting.front().copied()
    }

    /// The message that passed `gate` last, if it has not left.
    pub fn newest(&mut self, gate: Gate) -> Option<u32> {
        Some(self.line(gate).newest).filter(|newest| *newest != NONE)
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
