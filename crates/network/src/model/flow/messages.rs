//! A message begins to flow, ends, and others take its place.
//!
//! The first message of each queue flows, or goes in packets if it is short (see `packets.rs`). What
//! follows on the same stream changes no rate.

use engine::{Bytes, Queue, Time};

use super::comings::Begin;
use super::{Flow, Transfer};
use crate::message::{Arrival, Message};
use crate::model::in_flight::{Slot, Step, owner, token};
use crate::model::rate::Work;

impl Flow {
    /// Puts the message in slot `flow` into its queue, and lets it flow if it is the first and has its turn.
    pub(super) fn line_up(&mut self, now: Time, flow: u32, queue: &mut Queue) {
        let own = self.queue_of(self.flight.get(flow).state);
        if self.queues.push(own, flow, &mut self.flight) && self.may_flow(now, flow, queue) {
            self.advance(now, flow, queue);
        }
    }

    /// Lets the message in slot `flow`, the first of its queue, flow. If it takes no time, goes on with the next one.
    pub(super) fn advance(&mut self, now: Time, mut flow: u32, queue: &mut Queue) {
        while !self.begin(now, flow, queue) {
            let own = self.queue_of(self.flight.get(flow).state);
            let Some(next) = self.queues.pop(own, &self.flight) else { return };
            if !self.may_flow(now, next, queue) {
                return;
            }
            flow = next;
        }
    }

    /// True if the message in slot `flow`, the first of its queue, may flow now; a short one goes in packets instead.
    pub(super) fn may_flow(&mut self, now: Time, flow: u32, queue: &mut Queue) -> bool {
        let process = self.turn_taker(&self.flight.get(flow).message);
        process.into_iter().for_each(|process| self.wait_for_turn(now, process, flow, queue));
        process.is_none()
    }

    /// The queue of a message.
    pub(super) fn queue_of(&self, transfer: Transfer) -> u32 {
        self.connections.all[transfer.connection as usize].queue
    }

    /// Lets the message in slot `flow` flow. False if it takes no time and is through.
    fn begin(&mut self, now: Time, flow: u32, queue: &mut Queue) -> bool {
        let slot = self.flight.get(flow);
        let (message, Transfer { connection, left, .. }) = (slot.message, slot.state);
        let stream = self.stream(now, connection, &message);
        self.connections.all[connection as usize].begin(flow, &mut self.flight);
        if message.size.0 == 0 || self.streams.is_unlimited(stream, message.regime) {
            self.streams.carry(stream, self.alone.wire_bytes(left), true);
            self.streams.note_moved(stream);
            self.count_at_nic(&message, false);
            if message.notify_sent {
                queue.push(now, owner(message.from.host), token(Step::Sent, flow, 0));
            }
            self.arrive_after(now, flow, queue);
            self.leave(connection, &message);
            return false;
        }
        let behind = self.packets_before(now, stream, message.regime);
        let begin = self.streams.begin(now, stream, flow, (left, message.regime));
        if behind > Work::ZERO {
            self.streams.delay(stream, behind);
            self.begin_behind_packets(now, stream);
        }
        if begin == Begin::Alone {
            self.schedule_end(now, stream, queue);
        }
        true
    }

    /// Schedules an event at the end of the message of `stream`, whose rate does not change now.
    fn schedule_end(&mut self, now: Time, stream: u32, queue: &mut Queue) {
        let time = self.streams.left(stream, now).time(self.streams.rate(stream));
        self.schedule(stream, now + time, queue);
    }

    /// The last byte of the message in slot `flow`, which flows as a whole, leaves now.
    fn arrive_after(&mut self, now: Time, flow: u32, queue: &mut Queue) {
        let Slot { message, state, .. } = *self.flight.get(flow);
        let of_regime = match message.from.host == message.to.host {
            true => self.alone.memory(&message).latency,
            false => self.alone.hosts.regimes[usize::from(message.regime)].latency,
        };
        let connection = &mut self.connections.all[state.connection as usize];
        let state = &mut self.flight.get_mut(flow).state;
        (state.left, state.missing) = (Bytes(0), Bytes(0));
        state.arrives = now + connection.latency + of_regime;
        connection.schedule_deliveries(&mut self.flight, queue);
    }

    /// Handles the event of `stream`: its message has ended, or was slowed down since.
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
        let message = self.flight.get(flow).message;
        self.streams.carry(stream, self.alone.wire_bytes(message.size), true);
        self.finish(now, stream, &message, queue, arrivals);
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
        self.arrive_after(now, flow, queue);
        let next = self.queues.pop(self.queue_of(transfer), &self.flight);
        if let Some(next) = next
            && self.may_follow(stream, message, next)
        {
            return self.follow(now, stream, next, queue);
        }
        self.streams.end(now, stream);
        self.leave(transfer.connection, message);
        if let Some(next) = next
            && self.may_flow(now, next, queue)
        {
            self.advance(now, next, queue);
        }
    }

    /// True if the message in slot `next` can follow `before` on `stream`: that changes no rate.
    fn may_follow(&self, stream: u32, before: &Message, next: u32) -> bool {
        let Slot { message, state, .. } = self.flight.get(next);
        let stays = self.connections.all[state.connection as usize].stream == stream;
        stays
            && self.has_fixed_way(before)
            && message.size.0 > 0
            && self.turn_taker(message).is_none()
            && message.regime == before.regime
    }

    /// Lets the message in slot `next` follow on `stream`.
    pub(super) fn follow(&mut self, now: Time, stream: u32, next: u32, queue: &mut Queue) {
        let Slot { message, state, injected, .. } = *self.flight.get(next);
        self.connections.all[state.connection as usize].begin(next, &mut self.flight);
        let has_waited = injected < now;
        if self.streams.follow(now, stream, next, (message.size, has_waited)) == Begin::Alone {
            self.schedule_end(now, stream, queue);
        }
    }
}
