//! Attribution: which cause each picosecond of a call has.
//!
//! A call waits until its last awaited operation is complete. Let the call's time be attributed up to c. An operation
//! that is complete at e > c has lengthened the call from c to e, and its own history says why: spans in the order of
//! time that end at e, of which those after c count. So the causes of a call sum to its time.
//!
//! ```text
//! eager receive       late sender | o_s, copy | latency | n / B | contention | o_r, copy
//! rendezvous receive  late sender | request: o_s, latency, contention | own lateness | the rest
//! rendezvous send                   request: o_s, latency, contention | late receiver | the rest
//! the rest            overheads | latency | n / B | contention | no progress
//! ```
//!
//! B is the narrowest rate of the idle path, and contention is what a message took beyond the time that the model says
//! for an idle network. No progress is for how long the request or its answer lay at a rank that computed outside MPI.
//! It comes last: a rank that begins to wait late, while the handshake stood, would have waited that much less.
//!
//! In a collective each message carries the latest entry into it that it depends on. A rank waits for that entry
//! (imbalance), and after it for what the messages on the critical path did since.
//!
//! Source: the wait states of Geimer, Wolf, Wylie, Mohr, "A scalable tool architecture for diagnosing wait states in
//! massively parallel applications" (Parallel Computing 35(7), 2009).

use engine::{Bytes, Duration, Key, Time};
use network::{Arrival, CARGO_WORDS, Delays, Message};

use crate::cause::{Cause, Path};
use crate::operation::{Op, Rank, Request};
use crate::record::Record;
use crate::world::flight::{Flight, Span};
use crate::world::process::{Call, Pending, Process, Standing, Target};
use crate::world::protocol_message::{AccessAnswer, ClearToSend, ProtocolMessage, RendezvousData, Waited};
use crate::world::rendezvous::{Incoming, Outgoing};
use crate::world::send::Cleared;
use crate::world::{Context, World};

impl Call {
    /// Attributes the time up to `end` to `cause`; gives how much that was.
    #[inline]
    pub fn charge(&mut self, end: Time, cause: Cause) -> Duration {
        if end <= self.counted {
            return Duration::ZERO;
        }
        let time = end.since(self.counted);
        self.causes.add(cause, time);
        self.counted = end;
        time
    }

    /// Attributes the time up to `end` to `spans`, which end there, and what is before them to `before`. With a
    /// `path`, what counts lengthens that.
    pub fn charge_spans(&mut self, end: Time, before: Cause, spans: &[Span], mut path: Option<&mut Path>) {
        let mut open = end.since(self.counted);
        self.counted = self.counted.max(end);
        for (cause, length) in spans.iter().rev().copied().chain([(before, open)]) {
            if open == Duration::ZERO {
                return;
            }
            let time = length.min(open);
            self.causes.add(cause, time);
            if let Some(path) = path.as_deref_mut() {
                path.add(cause, time);
            }
            open = open.saturating_sub(time);
        }
    }
}

/// Course of a send's handshake, up to the hand-over of its data. Empty for a round of a collective, whose time is
/// split along paths.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Handshake {
    /// The way of the request.
    asked: Flight,
    /// For how long it waited for its receive.
    late: Duration,
    /// Work of both ranks after that.
    work: Duration,
    /// The way of the answer.
    answered: Flight,
    /// For how long it stood at ranks outside MPI.
    pub stalled: Duration,
}

impl Process {
    /// Own work of the rank, for what its call awaits, is over at `end`.
    #[inline]
    pub fn work_until(&mut self, end: Time) {
        let time = self.call.charge(end, Cause::Software);
        self.path.add(Cause::Software, time);
    }

    /// The call returns: attributes the rest of its time.
    #[inline]
    pub fn close_call(&mut self, op: &Op, now: Time) {
        if now == self.call.begin && now == self.call.counted {
            // It took no time, so there is nothing to attribute.
            return;
        }
        if now > self.call.counted {
            let cause = of_call(op, self.call.flag);
            let time = self.call.charge(now, cause);
            self.path.add(cause, time);
        } else if now < self.call.counted {
            self.cut_call(now);
        }
        let time = now.since(self.call.begin);
        assert!(self.call.causes.total() == time, "causes sum to {:?} of {time:?}", self.call.causes);
    }

    /// The call returns, since one of the operations that it awaits is complete, while the rank still works for another:
    /// takes back what was counted of that work beyond `now`.
    #[cold]
    fn cut_call(&mut self, now: Time) {
        let beyond = self.call.counted.since(now);
        self.call.counted = now;
        self.call.causes.take_back(beyond);
        self.path.take_back(beyond);
    }

    /// True if the call in which the rank stands waits for `target`.
    #[inline]
    pub fn awaits(&self, target: Target) -> bool {
        match target {
            Target::Call => true,
            Target::Request(request) => self.waits_for(request),
            Target::Round(instance) => match self.rounds[instance].target {
                Target::Call => true,
                Target::Request(request) => self.waits_for(request),
                Target::Round(_) | Target::Nobody => false,
            },
            Target::Nobody => false,
        }
    }

    fn waits_for(&self, request: Request) -> bool {
        self.requests[request.0 as usize].waited
            && matches!(self.standing, Standing::Blocked | Standing::Issuing)
    }
}

impl World {
    /// A message has come: the present event depends on it.
    #[inline(always)]
    pub(super) fn follow(&mut self, what: &ProtocolMessage, arrival: &Arrival, context: &mut Context) {
        let network = &context.network;
        self.event.follow(what, arrival, context.now, |time| network.delays(&arrival.message, time));
    }

    /// The same for one that noise has held back, which had these `delays` on the network.
    pub(super) fn follow_late(
        &mut self,
        what: &ProtocolMessage,
        arrival: &Arrival,
        delays: Delays,
        context: &Context,
    ) {
        self.event.follow(what, arrival, context.now, |_| delays);
    }

    /// Own work of the rank for `target` is over at `end`.
    pub(super) fn charge_work(&mut self, rank: Rank, target: Target, end: Time) {
        let process = &mut self.processes[rank];
        if end > process.call.counted && process.awaits(target) {
            process.work_until(end);
        }
    }

    /// Charges the awaited operation, complete at `end`, after `spans`. If the rank waited when the present event came, the
    /// path of that is the rank's.
    fn charge_history(
        &mut self,
        rank: Rank,
        end: Time,
        before: Cause,
        spans: &[Span],
        context: &mut Context,
    ) {
        let process = &mut self.processes[rank];
        if end <= process.call.counted {
            return;
        }
        let contended = process.call.causes.of(Cause::Contention);
        if process.call.counted < context.now {
            process.path = self.event.path_after(end.since(context.now));
            process.call.charge_spans(end, before, spans, None);
        } else {
            process.call.charge_spans(end, before, spans, Some(&mut process.path));
        }
        let contended = process.call.causes.of(Cause::Contention).saturating_sub(contended);
        if contended > Duration::ZERO {
            self.tell_contention(rank, contended, context);
        }
    }

    /// Tells where the rank's call has lost `time` by contention: where the message that has come was delayed, in
    /// proportion.
    #[cold]
    pub(super) fn tell_contention(&self, rank: Rank, time: Duration, context: &mut Context) {
        let delays = self.event.delays();
        for (at, time) in delays.shares_of(time) {
            let record = Record::Contention { rank, at, time };
            context.observer.record(context.now, &record);
        }
    }

    /// An eager message, or the request of a probed one, has come now, for which the rank's call waits: it
    /// has it at `end`.
    pub(super) fn charge_arrival(
        &mut self,
        rank: Rank,
        sent: Time,
        injected: Time,
        end: Time,
        context: &mut Context,
    ) {
        let [latency, bandwidth, contention] = self.event.flight().spans();
        let spans = [
            (Cause::Software, injected.since(sent)),
            latency,
            bandwidth,
            contention,
            (Cause::Software, end.since(context.now)),
        ];
        self.charge_history(rank, end, Cause::LateSender, &spans, context);
    }

    /// The data of a rendezvous has come, and the rank has it at `end`, after `work` of its own.
    pub(super) fn charge_data(
        &mut self,
        rank: Rank,
        incoming: &Incoming,
        data: &RendezvousData,
        arrival: &Arrival,
        end: Time,
        context: &mut Context,
    ) {
        if let (Target::Round(instance), Waited::Entry(latest)) = (incoming.target, data.waited) {
            self.depend_on(rank, instance, latest);
            return self.charge_round(rank, instance, end, context);
        }
        if !self.processes[rank].awaits(incoming.target) {
            return;
        }
        let mut control = arrival.message;
        control.size = Bytes(0);
        control.regime = self.regime_of(&control);
        let idle = self.idle_parts(&control, &*context.network);
        let asked = Flight::new(incoming.arrived.since(incoming.requested), idle);
        let stalled = data.waited.stalled();
        // The answer has gone the other way; what the sender has done with it is its work.
        (control.from, control.to) = (control.to, control.from);
        let theirs = arrival.injected.since(incoming.answered);
        let theirs = theirs.saturating_sub(stalled.saturating_sub(incoming.stalled));
        let answer = data.cleared.since(incoming.answered).min(theirs);
        let answered = Flight::new(answer, self.idle_parts(&control, &*context.network));
        let ours = incoming.answered.since(incoming.matched).saturating_sub(incoming.stalled);
        let work = ours + theirs.saturating_sub(answered.total()) + end.since(context.now);
        let flight = self.event.flight();
        let spans = [
            (Cause::Software, incoming.requested.since(incoming.sent)),
            (Cause::Latency, asked.latency + asked.bandwidth),
            (Cause::Contention, asked.contention),
            (Cause::LateReceiver, incoming.matched.since(incoming.arrived)),
            (Cause::Software, work),
            (Cause::Latency, answered.latency + answered.bandwidth + flight.latency),
            (Cause::Bandwidth, flight.bandwidth),
            (Cause::Contention, answered.contention + flight.contention),
            (Cause::NoProgress, stalled),
        ];
        self.charge_history(rank, end, Cause::LateSender, &spans, context);
    }

    /// The index of the regime of a message.
    fn regime_of(&self, message: &Message) -> u8 {
        self.setup.host.regime_between(message.from, message.to, message.size)
    }

    /// Course of the handshake of `outgoing` of `rank` whose answer is `clear`, if its data is handed over at `at`.
    pub(super) fn handshake(
        &self,
        rank: Rank,
        outgoing: &Outgoing,
        clear: &ClearToSend,
        cleared: &Cleared,
        at: Time,
        context: &mut Context,
    ) -> Handshake {
        if matches!(outgoing.target, Target::Round(_)) {
            return Handshake::default();
        }
        let stalled = clear.waited.stalled() + cleared.stalled;
        let ClearToSend { arrived, matched, .. } = *clear;
        let placement = &self.setup.placement;
        let mut request = Message {
            from: placement[rank.0 as usize],
            to: placement[outgoing.dest.0 as usize],
            nics: None,
            regime: 0,
            notify_sent: false,
            size: Bytes(0),
            key: Key::of_message(0, rank.0),
            cargo: [0; CARGO_WORDS],
        };
        request.regime = self.regime_of(&request);
        let idle = self.idle_parts(&request, &*context.network);
        let asked = Flight::new(arrived.since(outgoing.requested), idle);
        let rest = at.since(matched).saturating_sub(cleared.flight.total());
        Handshake {
            asked,
            late: matched.since(arrived),
            work: rest.saturating_sub(stalled),
            answered: cleared.flight,
            stalled,
        }
    }

    /// The sender's data has left its memory, or has been copied, at `end`, after `left` on the network.
    pub(super) fn charge_sent(
        &mut self,
        rank: Rank,
        outgoing: &Outgoing,
        end: Time,
        left: Flight,
        context: &mut Context,
    ) {
        if let Target::Round(instance) = outgoing.target {
            return self.charge_round(rank, instance, end, context);
        }
        let Some(shake) = outgoing.handshake else { return };
        if !self.processes[rank].awaits(outgoing.target) {
            return;
        }
        let spans = [
            (Cause::Software, outgoing.requested.since(outgoing.sent)),
            (Cause::Latency, shake.asked.latency + shake.asked.bandwidth),
            (Cause::Contention, shake.asked.contention),
            (Cause::LateReceiver, shake.late),
            (Cause::Software, shake.work),
            (Cause::Latency, shake.answered.latency + shake.answered.bandwidth + left.latency),
            (Cause::Bandwidth, left.bandwidth),
            (Cause::Contention, shake.answered.contention + left.contention),
            (Cause::NoProgress, shake.stalled),
        ];
        self.charge_history(rank, end, Cause::Software, &spans, context);
    }

    /// The answer to a one-sided operation has come: to the target, what it did there, and back.
    pub(super) fn charge_access(
        &mut self,
        rank: Rank,
        pending: &Pending,
        answer: &AccessAnswer,
        arrival: &Arrival,
        context: &mut Context,
    ) {
        if !self.processes[rank].awaits(pending.target) {
            return;
        }
        let Message { from, to, .. } = arrival.message;
        let there = Message { from: to, to: from, size: pending.bytes, ..arrival.message };
        let there = Message { regime: self.regime_of(&there), ..there };
        let idle = self.idle_parts(&there, &*context.network);
        let there = Flight::new(answer.arrived.since(pending.handed), idle);
        let held = arrival.injected.since(answer.arrived);
        let [latency, bandwidth, contention] = there.spans();
        let [latency_back, bandwidth_back, contention_back] = self.event.flight().spans();
        let spans = [
            (Cause::Software, pending.handed.since(pending.sent)),
            latency,
            bandwidth,
            contention,
            (Cause::LateReceiver, held),
            latency_back,
            bandwidth_back,
            contention_back,
        ];
        self.charge_history(rank, context.now, Cause::Software, &spans, context);
    }

    /// An access to a file that the call awaits is done.
    pub(super) fn charge_file(&mut self, rank: Rank, since: Time, context: &Context) {
        let spans = [(Cause::Storage, context.now.since(since))];
        let process = &mut self.processes[rank];
        process.call.charge_spans(context.now, Cause::Software, &spans, Some(&mut process.path));
    }
}

/// The cause of the time of a call that none of its operations explains.
fn of_call(op: &Op, found: bool) -> Cause {
    match op {
        Op::File(..) => Cause::Storage,
        Op::Linger(..) => Cause::LateSender,
        Op::Test(..) | Op::ProbeNow(_) | Op::ProbeMatched(_, false) if !found => Cause::LateSender,
        _ => Cause::Software,
    }
}
