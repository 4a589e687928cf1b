//! A message begins to flow, ends, and others take its place.
//!
//! The first message of each queue flows; a short one when it has its turn at the NIC as well (see `turns.rs`). What
//! follows on the same stream changes no rate.

use engine::{Bytes, Queue, Time};

use super::comings::Begin;
use super::streams::NONE;
use super::{Flow, Transfer};
use crate::message::{Arrival, Message};
use crate::model::in_flight::{Slot, Step, owner, token};
use crate::model::rate::Work;

impl Flow {
    /// Puts the message in slot `flow` into its queue, and lets it flow if it is the first and has its turn.
    pub(super) fn line_up(&mut self, now: Time, flow: u32, queue: &mut Queue) {
        let own = self.queue_of(self.flight.get(flow).state);
        if self.queues.push(own, flow, &mut self.flight) && self.may_flow(flow) {
            self.advance(now, flow, queue);
        }
    }

    /// Lets the message in slot `flow`, the first of its queue, flow. If it takes no time, goes on with the next one.
    pub(super) fn advance(&mut self, now: Time, mut flow: u32, queue: &mut Queue) {
        while !self.begin(now, flow, queue) {
            let slot = self.flight.get(flow);
            let (own, sender) = (self.queue_of(slot.state), self.sender_gate(&slot.message));
            sender.into_iter().for_each(|sender| self.leave_sender(now, sender, flow));
            let Some(next) = self.queues.pop(own, &self.flight) else { return };
            if !self.may_flow(next) {
                return;
            }
            flow = next;
        }
    }

    /// True if the message in slot `flow`, the first of its queue, may flow now; else it asks for its turn.
    fn may_flow(&mut self, flow: u32) -> bool {
        let sender = self.sender_gate(&self.flight.get(flow).message);
        sender.into_iter().for_each(|sender| self.ask(sender, flow, NONE));
        sender.is_none()
    }

    /// The queue of a message.
    fn queue_of(&self, transfer: Transfer) -> u32 {
        self.connections.all[transfer.connection as usize].queue
    }

    /// Lets the message in slot `flow` flow. False if it takes no time and is through.
    fn begin(&mut self, now: Time, flow: u32, queue: &mut Queue) -> bool {
        let slot = self.flight.get(flow);
        let (message, Transfer { connection, left, .. }) = (slot.message, slot.state);
        let stream = self.stream(connection, &message);
        if message.size.0 == 0 || self.streams.is_unlimited(stream, message.regime) {
            self.streams.carry(stream, self.alone.wire_bytes(left), true);
            self.count_at_nic(&message, false);
            let delivered = self.delivery(now, connection, &message);
            self.flight.schedule(flow, now, Step::Delivered, delivered, queue);
            self.leave(connection, &message);
            return false;
        }
        match self.gates(&message) {
            Some(gates) => self.come(now, gates, flow, NONE),
            None => self.begin_turn(now, flow, left, queue),
        }
        true
    }

    /// Lets `turn` bytes of the message in slot `flow` flow on its stream, which has no flow.
    pub(super) fn begin_turn(&mut self, now: Time, flow: u32, turn: Bytes, queue: &mut Queue) {
        let (stream, regime) = self.way_of(flow);
        if self.streams.begin(now, stream, flow, (turn, regime)) == Begin::Alone {
            let time = Work::of(turn).time(self.streams.rate(stream));
            self.schedule(stream, now + time, queue);
        }
    }

    /// Lets `turn` bytes of the message in slot `flow` follow on its stream what has just ended there.
    pub(super) fn follow_turn(&mut self, now: Time, flow: u32, turn: Bytes, queue: &mut Queue) {
        let (stream, has_waited) = (self.way_of(flow).0, self.flight.get(flow).injected < now);
        if self.streams.follow(now, stream, flow, (turn, has_waited)) == Begin::Alone {
            self.schedule_end(now, stream, queue);
        }
    }

    /// The stream of the message in slot `flow`, which has one, and its regime.
    pub(super) fn way_of(&self, flow: u32) -> (u32, u8) {
        let slot = self.flight.get(flow);
        (self.connections.all[slot.state.connection as usize].stream, slot.message.regime)
    }

    /// Schedules an event at the end of the message of `stream`, whose rate does not change now.
    fn schedule_end(&mut self, now: Time, stream: u32, queue: &mut Queue) {
        let time = self.streams.left(stream, now).time(self.streams.rate(stream));
        self.schedule(stream, now + time, queue);
    }

    /// Time at which `message`, whose last byte leaves now, is delivered: not before the messages ahead of it.
    fn delivery(&mut self, now: Time, connection: u32, message: &Message) -> Time {
        let of_regime = match message.from.host == message.to.host {
            true => self.alone.memory(message).latency,
            false => self.alone.hosts.regimes[usize::from(message.regime)].latency,
        };
        let connection = &mut self.connections.all[connection as usize];
        connection.delivered = connection.delivered.max(now + connection.latency + of_regime);
        connection.delivered
    }

    /// Handles the event of `stream`: its message or its turn has ended, or was slowed down since.
    pub(super) fn drain(
        &mut self,
        now: Time,
        stream: u32,
        version: u32,
        queue: &mut Queue,
        arrivals: &mut Vec<Arrival>,
    ) {
        let wake = self.streams.wakes[stream as usize];
        if wake.version != version {
            return;
        }
        let host = owner(wake.host);
        if self.streams.left(stream, now) > Work::ZERO {
            let end = self.streams.end_if_first(stream, now);
            self.streams.wakes[stream as usize].at = end.unwrap_or(Time::NEVER);
            if let Some(end) = end {
                queue.push(end, host, token(Step::Drained, stream, version));
            }
            return;
        }
        self.streams.wakes[stream as usize].at = Time::NEVER;
        let flow = self.streams.all[stream as usize].flow;
        let turn = self.streams.all[stream as usize].size;
        let slot = self.flight.get_mut(flow);
        slot.state.left.0 -= turn.0;
        let is_done = slot.state.left.0 == 0;
        let message = slot.message;
        self.streams.carry(stream, self.alone.wire_bytes(turn), is_done);
        if is_done {
            self.finish(now, stream, &message, queue, arrivals);
        } else {
            self.end_turn(now, stream, &message);
        }
    }

    /// The last byte of `message` has left over `stream`: the next one follows, or another takes its turn.
    fn finish(
        &mut self,
        now: Time,
        stream: u32,
        message: &Message,
        queue: &mut Queue,
        arrivals: &mut Vec<Arrival>,
    ) {
        let flow = self.streams.all[stream as usize].flow;
        let transfer = self.flight.get(flow).state;
        let held_by = self.streams.links.all[self.streams.bottleneck(stream) as usize].id;
        self.connections.all[transfer.connection as usize].held_by = held_by;
        if message.notify_sent {
            arrivals.push(self.flight.sent(flow));
        }
        self.count_at_nic(message, false);
        let delivered = self.delivery(now, transfer.connection, message);
        queue.place(delivered, message.key, token(Step::Delivered, flow, 0));
        if let Some((sender, receiver)) = self.gates(message) {
            self.leave_sender(now, sender, flow);
            self.leave_receiver(now, receiver, flow);
        }
        let next = self.queues.pop(self.queue_of(transfer), &self.flight);
        if let Some(next) = next
            && self.may_follow(stream, message, next)
        {
            let Slot { message, state, .. } = self.flight.get(next);
            return match self.sender_gate(message) {
                Some(sender) => self.ask(sender, next, stream),
                None => self.follow_turn(now, next, state.left, queue),
            };
        }
        self.streams.end(now, stream);
        self.leave(transfer.connection, message);
        if let Some(next) = next
            && self.may_flow(next)
        {
            self.advance(now, next, queue);
        }
    }

    /// The turn of `message` has ended, and a part of it is left: if others wait, it waits behind them.
    fn end_turn(&mut self, now: Time, stream: u32, message: &Message) {
        let flow = self.streams.all[stream as usize].flow;
        let (sender, receiver) = self.gates(message).expect("a long message flows as a whole");
        self.turns.leave(sender, flow, now);
        self.leave_receiver(now, receiver, flow);
        self.ask(sender, flow, stream);
    }

    /// True if the message in slot `next` can follow `before` on `stream`: that changes no rate.
    fn may_follow(&self, stream: u32, before: &Message, next: u32) -> bool {
        let Slot { message, state, .. } = self.flight.get(next);
        let stays = self.connections.all[state.connection as usize].stream == stream;
        stays && self.has_fixed_way(before) && message.size.0 > 0 && message.regime == before.regime
    }
}
