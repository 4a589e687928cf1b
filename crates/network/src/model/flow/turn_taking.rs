//! Short messages take turns at both ends, by the rules of `turns.rs`: at the end of an instant, first at their senders, then
//! at their receivers, whatever the order of what has happened in it.

use engine::{Bytes, Key, Queue, Time};

use super::Flow;
use super::streams::NONE;
use super::turns::{End, Gate};
use crate::message::Message;
use crate::model::in_flight::{Slot, Step, owner, token};
use crate::model::rate::{Rate, Work};

/// A short message asks for a turn at its sender, or one has left it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ask {
    sender: Gate,
    /// In this order those of an instant ask.
    number: u64,
    /// Its slot; `NONE` if one has left.
    flow: u32,
    /// The stream on which it can follow what has just ended; `NONE` if there is none.
    stream: u32,
}

/// A short message that has its turn at its sender asks for one at its receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Coming {
    /// In this order those of an instant come.
    key: Key,
    flow: u32,
    stream: u32,
}

impl Flow {
    /// Notes that a message asks for a turn at `sender` at the end of the instant, or has left it.
    pub(super) fn ask(&mut self, sender: Gate, flow: u32, stream: u32) {
        let number = if flow == NONE { u64::MAX } else { self.flight.get(flow).state.number };
        self.asks.push(Ask { sender, number, flow, stream });
    }

    /// The message in slot `flow` takes no more turns at `sender`: another may.
    pub(super) fn leave_sender(&mut self, now: Time, sender: Gate, flow: u32) {
        self.turns.leave(sender, flow, now);
        self.ask(sender, NONE, NONE);
    }

    /// The message in slot `flow` has had its turn at `receiver`: another may have one.
    pub(super) fn leave_receiver(&mut self, now: Time, receiver: Gate, flow: u32) {
        self.turns.leave(receiver, flow, now);
        if self.turns.are_awaited(receiver) {
            self.waited_for.push(receiver);
        }
    }

    /// The message in slot `flow` has its turn at its sender, on a stream that has no flow, or behind what has just ended on
    /// `stream`. It asks for one at its receiver.
    pub(super) fn come(&mut self, now: Time, gates: (Gate, Gate), flow: u32, stream: u32) {
        self.turn(now, gates.0, gates, flow);
        let key = self.flight.get(flow).message.key;
        self.comings.push(Coming { key, flow, stream });
    }

    /// At the end of an instant: those that asked for a turn in it get one or wait, in the order in which they were handed
    /// over.
    pub(super) fn take_turns(&mut self, now: Time, queue: &mut Queue) {
        while !(self.asks.is_empty() && self.comings.is_empty() && self.waited_for.is_empty()) {
            self.pass_senders(now, queue);
            self.pass_receivers(now, queue);
        }
    }

    /// Turns at senders.
    fn pass_senders(&mut self, now: Time, queue: &mut Queue) {
        let mut asks = std::mem::take(&mut self.asks);
        asks.sort_unstable();
        for (at, Ask { sender, flow, stream, .. }) in asks.iter().copied().enumerate() {
            let goes = flow != NONE && self.turns.ask(sender, flow, now);
            if stream == NONE {
                if goes {
                    self.advance(now, flow, queue);
                }
            } else if let Some(gates) = self.gates(&self.flight.get(flow).message).filter(|_| goes) {
                self.come(now, gates, flow, stream);
            } else {
                self.streams.end(now, stream);
            }
            if asks.get(at + 1).is_none_or(|next| next.sender != sender) {
                while let Some(flow) = self.turns.next(sender, now) {
                    self.advance(now, flow, queue);
                }
                self.look_at_turns(now, sender, queue);
            }
        }
        asks.clear();
        if self.asks.is_empty() {
            self.asks = asks;
        }
    }

    /// Turns at receivers: first of those that wait there, then of those that come.
    fn pass_receivers(&mut self, now: Time, queue: &mut Queue) {
        self.waited_for.dedup();
        while let Some(receiver) = self.waited_for.pop() {
            while let Some(flow) = self.turns.next(receiver, now) {
                self.pass_receiver(now, flow, NONE, queue);
            }
            self.look_at_turns(now, receiver, queue);
        }
        let mut comings = std::mem::take(&mut self.comings);
        comings.sort_unstable();
        comings.retain(|Coming { flow, stream, .. }| {
            let receiver = self.gates(&self.flight.get(*flow).message).expect("it takes turns").1;
            let goes = self.turns.ask(receiver, *flow, now);
            if !goes {
                self.waited_for.push(receiver);
                if *stream != NONE {
                    self.streams.end(now, *stream);
                }
            }
            goes
        });
        // How long a turn is depends on whether others wait.
        for Coming { flow, stream, .. } in comings.drain(..) {
            self.pass_receiver(now, flow, stream, queue);
        }
        self.comings = comings;
    }

    /// Lets the message in slot `flow`, which has its turn at both ends, flow: on a stream that has no flow, or behind what has
    /// just ended on `stream`.
    fn pass_receiver(&mut self, now: Time, flow: u32, stream: u32, queue: &mut Queue) {
        let gates = self.gates(&self.flight.get(flow).message).expect("it takes turns");
        let turn = self.turn(now, gates.1, gates, flow);
        match stream {
            NONE => self.begin_turn(now, flow, turn, queue),
            _ => self.follow_turn(now, flow, turn, queue),
        }
    }

    /// Bytes of the next turn of the message in slot `flow`, for which the NIC of `gate`, one of its `gates`, takes time from
    /// now on.
    fn turn(&mut self, now: Time, gate: Gate, gates: (Gate, Gate), flow: u32) -> Bytes {
        let Slot { message, state, .. } = self.flight.get(flow);
        let are_awaited = self.turns.are_awaited(gates.0) || self.turns.are_awaited(gates.1);
        let turn = self.turns.length(message.size, state.left, are_awaited);
        let (stream, regime) = self.way_of(flow);
        let rate = self.streams.rate_of_nic(stream, regime, gate.end);
        self.turns.occupy(gate, now, Work::of(turn).time(rate));
        turn
    }

    /// Asks for an event when the NIC of `gate` may be through with those that flow, if others wait.
    fn look_at_turns(&mut self, now: Time, gate: Gate, queue: &mut Queue) {
        if let Some(time) = self.turns.look(gate, now) {
            let host = owner(self.streams.links.host_of(gate));
            queue.push(time, host, token(Step::Turn, gate.number, gate.version()));
        }
    }

    /// At the end of an instant, when rates are known: lets another message pass each gate whose NIC is through with those
    /// that flow, if what holds them up is elsewhere.
    pub(super) fn go_on(&mut self, now: Time, queue: &mut Queue) {
        let mut looks = std::mem::take(&mut self.looks);
        looks.retain(|gate| {
            let is_through = self.turns.is_through(*gate, now);
            if is_through == Some(false) {
                self.look_at_turns(now, *gate, queue);
            }
            is_through == Some(true)
        });
        for gate in &looks {
            if let Some(newest) = self.newest(*gate).filter(|newest| !self.has_time_for_next(*gate, *newest))
            {
                let time = self.streams.left(newest, now).time(self.streams.rate(newest));
                self.turns.put_off(*gate, now, time);
            }
        }
        for gate in looks.drain(..) {
            match (self.turns.next_of_idle(gate, now), gate.end) {
                (Some(flow), End::Sender) => self.advance(now, flow, queue),
                (Some(flow), End::Receiver) => self.pass_receiver(now, flow, NONE, queue),
                (None, _) => {}
            }
            self.look_at_turns(now, gate, queue);
        }
        self.looks = looks;
    }

    /// True if the NIC of `gate` has time for the next in its line beside the message of stream `newest`. If it is used by a
    /// quarter, that one is not to meet links as full as those that hold up that message.
    fn has_time_for_next(&mut self, gate: Gate, newest: u32) -> bool {
        if !self.streams.is_held_elsewhere(newest, gate.end, 2) {
            return false;
        }
        let Some(first) = self.turns.first(gate) else { return false };
        let Slot { message, state, .. } = *self.flight.get(first);
        if !self.has_fixed_way(&message) || self.streams.is_held_elsewhere(newest, gate.end, 4) {
            return true;
        }
        let stream = self.stream(state.connection, &message);
        let least = self.streams.least_level(stream, gate.end);
        least > Rate(self.streams.rate(newest).0.saturating_mul(2))
    }

    /// The stream of the message that passed `gate` last, if it still flows.
    fn newest(&mut self, gate: Gate) -> Option<u32> {
        let flow = self.turns.newest(gate)?;
        let stream = self.way_of(flow).0;
        (self.streams.all[stream as usize].flow == flow).then_some(stream)
    }

    /// The process at a NIC at which `message` takes turns with others, if it does.
    #[inline]
    pub(super) fn sender_gate(&self, message: &Message) -> Option<Gate> {
        Some(self.gates(message)?.0)
    }

    /// Where `message` takes turns with others, if it does: at its sender, and at its receiver.
    #[inline]
    pub(super) fn gates(&self, message: &Message) -> Option<(Gate, Gate)> {
        let takes_turns =
            self.turns.has(message.size) && self.senders == 0 && message.from.host != message.to.host;
        takes_turns.then(|| self.streams.links.gates(message.from, message.to, message.nic_pair()))
    }
}
