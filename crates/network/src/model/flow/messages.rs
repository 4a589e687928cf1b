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
use crate::model::rate::{Rate, Work};

/// A short message asks for a turn, or one has left its process's NIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ask {
    process: u32,
    /// In this order those of an instant ask.
    number: u64,
    /// Its slot; `NONE` if one has left.
    flow: u32,
    /// The stream on which it can follow what has just ended; `NONE` if there is none.
    stream: u32,
}

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
            let (own, sender) = (self.queue_of(slot.state), self.turn_taker(&slot.message));
            self.leave_nic(now, sender, flow);
            let Some(next) = self.queues.pop(own, &self.flight) else { return };
            if !self.may_flow(next) {
                return;
            }
            flow = next;
        }
    }

    /// True if the message in slot `flow`, the first of its queue, may flow now; else it asks for its turn.
    fn may_flow(&mut self, flow: u32) -> bool {
        let sender = self.turn_taker(&self.flight.get(flow).message);
        sender.into_iter().for_each(|sender| self.ask(sender, flow, NONE));
        sender.is_none()
    }

    /// The message in slot `flow` of process `sender`, if it took turns, flows no longer: another may.
    fn leave_nic(&mut self, now: Time, sender: Option<u32>, flow: u32) {
        if let Some(sender) = sender {
            self.turns.leave(sender, flow, now);
            self.ask(sender, NONE, NONE);
        }
    }

    /// Notes that a message of `process` asks for a turn at the end of the instant, or has left.
    fn ask(&mut self, process: u32, flow: u32, stream: u32) {
        let number = if flow == NONE { u64::MAX } else { self.flight.get(flow).state.number };
        self.asks.push(Ask { process, number, flow, stream });
    }

    /// At the end of an instant: those that asked for a turn in it get one or wait, in the order in which they were handed
    /// over, whatever the order of what has happened.
    pub(super) fn take_turns(&mut self, now: Time, queue: &mut Queue) {
        while !self.asks.is_empty() || self.has_comings() {
            let mut asks = std::mem::take(&mut self.asks);
            asks.sort_unstable();
            for (at, Ask { process, flow, stream, .. }) in asks.iter().copied().enumerate() {
                let goes = flow != NONE && self.turns.ask(process, flow, now);
                let next = asks.get(at + 1).filter(|next| next.process == process);
                let is_only = goes
                    && next.is_none_or(|next| next.flow == NONE)
                    && self.turns.has_one(process)
                    && !self.is_queued(now, flow);
                if is_only {
                    // It flows when all that come to its receiver are known.
                    self.come(flow, stream);
                } else if goes && stream != NONE {
                    self.follow(now, stream, flow, queue);
                } else {
                    if stream != NONE {
                        self.streams.end(now, stream);
                    }
                    if goes {
                        self.advance(now, flow, queue);
                    }
                }
                if next.is_none() {
                    self.give_turns(now, process, queue);
                }
            }
            asks.clear();
            if self.asks.is_empty() {
                self.asks = asks;
            }
            self.pass_receivers(now, queue);
        }
    }

    /// True if NICs send in turn and the message in slot `flow` has waited for others of its process, or they for it.
    fn is_queued(&self, now: Time, flow: u32) -> bool {
        let Slot { message, state, injected, .. } = self.flight.get(flow);
        let has_waited = state.left == message.size && *injected < now;
        self.senders > 0 && (has_waited || state.next != NONE)
    }

    /// Lets those that wait for a turn of process `sender` flow, as many as may.
    fn give_turns(&mut self, now: Time, sender: u32, queue: &mut Queue) {
        while let Some(flow) = self.turns.next(sender, now) {
            self.advance(now, flow, queue);
        }
        self.look_at_turns(now, sender, queue);
    }

    /// Asks for an event when the NIC of process `sender` may be through with those that flow, if others wait.
    fn look_at_turns(&mut self, now: Time, sender: u32, queue: &mut Queue) {
        if let Some(time) = self.turns.look(sender, now) {
            queue.push(time, owner(self.streams.links.host_of(sender)), token(Step::Turn, sender, 0));
        }
    }

    /// At the end of an instant, when rates are known: lets another message of each process flow whose NIC is through
    /// with those that do, if what holds them up is elsewhere.
    pub(super) fn go_on(&mut self, now: Time, queue: &mut Queue) {
        let mut looks = std::mem::take(&mut self.looks);
        looks.retain(|sender| {
            let is_through = self.turns.is_through(*sender, now);
            if is_through == Some(false) {
                self.look_at_turns(now, *sender, queue);
            }
            is_through == Some(true)
        });
        for sender in &looks {
            if let Some(newest) =
                self.newest(*sender).filter(|newest| !self.has_time_for_next(*sender, *newest))
            {
                let time = self.streams.left(newest, now).time(self.streams.rate(newest));
                self.turns.put_off(*sender, now, time);
            }
        }
        for sender in looks.drain(..) {
            if let Some(flow) = self.turns.next_of_idle(sender, now) {
                self.advance(now, flow, queue);
            }
            self.look_at_turns(now, sender, queue);
        }
        self.looks = looks;
    }

    /// True if the NIC of process `sender` has time for the next in its line beside the message of stream `newest`. If it is
    /// used by a quarter, that one is not to meet links as full as those that hold up that message.
    fn has_time_for_next(&mut self, sender: u32, newest: u32) -> bool {
        if !self.streams.is_held_elsewhere(newest, 2) && !self.short_ones_leave_half(sender, newest) {
            return false;
        }
        let Some(first) = self.turns.first(sender) else { return false };
        let Slot { message, state, .. } = *self.flight.get(first);
        if !self.has_fixed_way(&message) || self.streams.is_held_elsewhere(newest, 4) {
            return true;
        }
        let stream = self.stream(state.connection, &message);
        self.streams.least_level(stream) > Rate(self.streams.rate(newest).0.saturating_mul(2))
    }

    /// True if all short messages at the NIC of process `sender`, at the rate of stream `newest`, use less than a half of it, as
    /// beside long ones.
    fn short_ones_leave_half(&self, sender: u32, newest: u32) -> bool {
        let all = self.streams.rate_of_nic(newest, self.streams.all[newest as usize].regime).0;
        let short = self.streams.rate(newest).0.saturating_mul(self.turns.over_nic(sender).into());
        short < all / 2
    }

    /// The stream of the message of process `sender` that began last, if it still flows.
    fn newest(&self, sender: u32) -> Option<u32> {
        let flow = self.turns.newest(sender)?;
        let stream = self.connections.all[self.flight.get(flow).state.connection as usize].stream;
        (self.streams.all[stream as usize].flow == flow).then_some(stream)
    }

    /// Bytes of the next turn of `message`, of `connection`, of which `left` has not flowed; all of a long one.
    fn turn(&mut self, now: Time, connection: u32, message: &Message, left: Bytes) -> Bytes {
        let Some(sender) = self.turn_taker(message) else { return left };
        let are_awaited = self.turns.are_awaited(sender) || self.are_awaited_beside(message);
        let turn = self.turns.length(message.size, left, are_awaited);
        let rate = self.streams.rate_of_nic(self.connections.all[connection as usize].stream, message.regime);
        self.turns.occupy(sender, now, Work::of(turn).time(rate));
        turn
    }

    /// The process at a NIC at which `message` takes turns with others, if it does.
    #[inline]
    fn turn_taker(&self, message: &Message) -> Option<u32> {
        let takes_turns = self.turns.has(message.size) && message.from.host != message.to.host;
        takes_turns.then(|| self.streams.links.process_at(message.from, message.nic_pair().from))
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
            self.streams.note_moved(stream);
            self.count_at_nic(&message, false);
            let delivered = self.delivery(now, connection, &message);
            self.flight.schedule(flow, now, Step::Delivered, delivered, queue);
            self.leave(connection, &message);
            return false;
        }
        let turn = self.turn(now, connection, &message, left);
        if self.streams.begin(now, stream, flow, (turn, message.regime)) == Begin::Alone {
            let time = Work::of(turn).time(self.streams.rate(stream));
            self.schedule(stream, now + time, queue);
        }
        true
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
        let sender = self.turn_taker(message);
        self.leave_nic(now, sender, flow);
        self.leave_receiver(message);
        let next = self.queues.pop(self.queue_of(transfer), &self.flight);
        if let Some(next) = next
            && self.may_follow(stream, message, next)
        {
            let taker = self.turn_taker(&self.flight.get(next).message);
            return match taker {
                Some(taker) => self.ask(taker, next, stream),
                None => self.follow(now, stream, next, queue),
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
        let sender = self.turn_taker(message).expect("a long message flows as a whole");
        self.turns.leave(sender, flow, now);
        self.leave_receiver(message);
        self.ask(sender, flow, stream);
    }

    /// True if the message in slot `next` can follow `before` on `stream`: that changes no rate.
    fn may_follow(&self, stream: u32, before: &Message, next: u32) -> bool {
        let Slot { message, state, .. } = self.flight.get(next);
        let stays = self.connections.all[state.connection as usize].stream == stream;
        stays && self.has_fixed_way(before) && message.size.0 > 0 && message.regime == before.regime
    }

    /// Lets the message in slot `next` follow on `stream`.
    pub(super) fn follow(&mut self, now: Time, stream: u32, next: u32, queue: &mut Queue) {
        let slot = self.flight.get(next);
        let (message, Transfer { connection, left, .. }) = (slot.message, slot.state);
        let has_waited = slot.injected < now;
        let turn = self.turn(now, connection, &message, left);
        if self.streams.follow(now, stream, next, (turn, has_waited)) == Begin::Alone {
            self.schedule_end(now, stream, queue);
        }
    }
}
