//! Driving collectives: round after round of an algorithm, for each rank by itself.
//!
//! A rank keeps a round number and a count of what the round still waits for; the rounds themselves
//! are computed when they begin. A round begins when all messages of the round before are done: sends
//! first, in the order of the algorithm's steps, then the receives. A received message costs its
//! overhead and, where it is reduced, `bytes / reduce_rate`.
//!
//! The messages of a collective match by communicator, number of the collective on it, sender and
//! size. They carry no user data, so two of the same sender and size may stand for each other, and need
//! no numbers of their own. Each carries a signature of its call; members that called different
//! collectives, roots or sizes find out when a message reaches one whose signature differs.

use std::sync::Arc;

use engine::{Bytes, Duration, Time};
use network::Arrival;

use crate::cartesian::NOBODY;
use crate::collective::{Collective, Effect, Shape, Sizes, Step};
use crate::communicator::Communicator;
use crate::operation::{Neighbours, Rank, Via};
use crate::record::Record;
use crate::world::index::CollectiveHandle;
use crate::world::match_lists::Key;
use crate::world::process::Target;
use crate::world::progress::Unanswered;
use crate::world::protocol_message::{CollectiveRequestToSend, Ends, ProtocolMessage, RoundHeader};
use crate::world::receive::Received;
use crate::world::rendezvous::{Copies, Incoming, Outgoing};
use crate::world::rounds::{Awaited, Early, Instance};
use crate::world::{Context, Outcome, World, text};

/// Identity of a call among those of its communicator.
#[derive(Debug, Clone, Copy)]
pub(super) struct Identity {
    /// Its number there; `None` is the next one.
    pub sequence: Option<u32>,
    /// Hash of the arguments that its members must agree in beside the collective's own (24 bits).
    pub agreement: u32,
}

impl Identity {
    /// The next call, with its arguments alone.
    pub const NEXT: Identity = Identity { sequence: None, agreement: 0 };
}

impl World {
    /// Begins a collective for `target`.
    pub(super) fn start_collective(
        &mut self,
        rank: Rank,
        call: &Arc<Collective>,
        identity: Identity,
        target: Target,
        context: &mut Context,
    ) -> Outcome<()> {
        let communicator = self.membership(rank, call.comm)?.clone();
        let me = communicator.place_of(rank, rank).expect("a member has a rank");
        let neighbours = self.neighbours(rank, me, call, &communicator)?;
        let size = communicator.everybody();
        let halves = communicator.halves();
        let prepared = self.collectives.prepare(call, size, halves, neighbours.as_deref(), &self.setup);
        let prepared = prepared.map_err(|reason| self.misuse(rank, reason))?;
        // The library reads each length before it knows that there is nothing to send.
        let lengths = match &call.sizes {
            Sizes::Own { send, receive } => (send.len() + receive.len()) as u64,
            _ => 0,
        };
        let reading = self.setup.protocol.block_overhead * lengths;
        if me == 0 {
            let (kind, algorithm, bytes) = (call.kind.name(), prepared.name, call.sizes.stated());
            let record = Record::Collective { kind, algorithm, members: size, bytes };
            context.observer.record(context.now, &record);
        }
        let process = &mut self.processes[rank];
        let at = if reading > Duration::ZERO { process.engage(context.now, reading) } else { context.now };
        let next = || process.memberships.next_collective(call.comm);
        let sequence = identity.sequence.unwrap_or_else(next);
        let segment = prepared.segment;
        let shape = Shape { size, call, neighbours: neighbours.as_deref(), segment, halves };
        self.traffic.announce(self.collectives.messages_of(me, &prepared, &shape));
        let instance = process.rounds.begin(Instance {
            call: call.clone(),
            sequence,
            communicator,
            neighbours,
            algorithm: prepared.algorithm,
            segment,
            at,
            signature: prepared.signature ^ identity.agreement,
            me,
            round: 0,
            outstanding: 0,
            latest: context.now,
            entry: process.path,
            target,
        });
        self.advance(rank, instance, context)
    }

    /// Begins rounds until one has to wait, or the collective is done.
    pub(super) fn advance(
        &mut self,
        rank: Rank,
        instance: CollectiveHandle,
        context: &mut Context,
    ) -> Outcome<()> {
        let mut steps = self.collectives.lend_steps();
        let outcome = loop {
            steps.clear();
            let rounds = &mut self.processes[rank].rounds;
            if !rounds[instance].begin_round(&mut steps) {
                let done = rounds.end(instance);
                break self.complete(rank, done.target, done.at, None, context);
            }
            if let Err(failure) = self.begin_round(rank, instance, &steps, context) {
                break Err(failure);
            }
            if !self.processes[rank].rounds[instance].end_part() {
                break Ok(());
            }
        };
        self.collectives.give_back_steps(steps);
        outcome
    }

    fn begin_round(
        &mut self,
        rank: Rank,
        instance: CollectiveHandle,
        steps: &[Step],
        context: &mut Context,
    ) -> Outcome<()> {
        for step in steps {
            if let Step::Send { to, bytes, .. } = step
                && *to != NOBODY
            {
                self.send_part(rank, instance, *to, *bytes, context);
            }
        }
        for step in steps {
            if let Step::Receive { from, bytes, effect, .. } = step
                && *from != NOBODY
            {
                self.receive_part(rank, instance, *from, *bytes, *effect != Effect::Store, context)?;
            }
        }
        Ok(())
    }

    fn send_part(
        &mut self,
        rank: Rank,
        instance: CollectiveHandle,
        to: u32,
        bytes: Bytes,
        context: &mut Context,
    ) {
        let state = &self.processes[rank].rounds[instance];
        let dest = state.communicator.at_place(rank, to).expect("algorithms send to members");
        let (context_id, sequence, signature) = (state.call.comm, state.sequence, state.signature);
        let latest = state.latest;
        let begin = state.at.max(context.now);
        let eager = self.is_eager(rank, dest, bytes);
        let payload = if eager { bytes } else { Bytes(0) };
        let copied = self.is_two_copy(rank, dest, bytes, Via::PLATFORM);
        let cost = self.send_overhead(rank, dest, payload) + self.copy_of(bytes, eager && copied);
        let process = &mut self.processes[rank];
        let at = process.engage(begin, cost);
        let round = RoundHeader { context: context_id, sequence, signature, sent: begin, latest };
        let message = if eager {
            process.rounds[instance].lasts_until(at);
            self.traffic.count_announced(bytes);
            ProtocolMessage::CollectiveEager(round)
        } else {
            process.rounds[instance].expect_part();
            let send = process.rendezvous.begin_send(Outgoing {
                dest,
                bytes: bytes.0,
                data: 0,
                sent: begin,
                target: Target::Round(instance),
                requested: at,
                handshake: None,
                buffered: false,
                copies: Copies::of(copied, false),
                nics: None,
            });
            ProtocolMessage::CollectiveRequestToSend(CollectiveRequestToSend { round, bytes, send })
        };
        let message = self.message(Ends { source: rank, dest }, &message, payload, false);
        self.charge_work(rank, Target::Round(instance), at);
        self.transmit(message, at, false, context);
    }

    fn receive_part(
        &mut self,
        rank: Rank,
        instance: CollectiveHandle,
        from: u32,
        bytes: Bytes,
        combine: bool,
        context: &mut Context,
    ) -> Outcome<()> {
        let process = &mut self.processes[rank];
        let state = &mut process.rounds[instance];
        state.expect_part();
        let source = state.communicator.at_place(rank, from).expect("algorithms receive from members");
        let signature = state.signature;
        let awaited = Awaited { bytes: bytes.0, instance, signature, combine };
        let key = Key { context: state.call.comm, source, tag: state.sequence };
        match process.rounds.receive(key, awaited) {
            Ok(None) => Ok(()),
            Ok(Some(early)) => self.meet_part(rank, key, &early, awaited, context),
            Err(other) => Err(self.mismatch(rank, key, other)),
        }
    }

    /// A message of a collective has come: to the round that waits for it, or too early.
    #[inline]
    pub(super) fn collective_arrives(
        &mut self,
        ends: Ends,
        round: &RoundHeader,
        request: Option<&CollectiveRequestToSend>,
        arrival: &Arrival,
        context: &mut Context,
    ) -> Outcome<()> {
        let rank = ends.dest;
        let early = Early {
            bytes: request.map_or(arrival.message.size, |request| request.bytes).0,
            signature: round.signature,
            handle: request.map(|request| request.send),
            injected: arrival.injected,
            arrived: context.now,
            sent: round.sent,
            latest: round.latest,
            asked: arrival.message.key.number(),
        };
        let key = Key { context: round.context, source: ends.source, tag: round.sequence };
        let process = &mut self.processes[rank];
        let memberships = &process.memberships;
        match process.rounds.arrive(key, early, || key.tag < memberships.peek_collective(key.context)) {
            Ok(None) => Ok(()),
            Ok(Some(awaited)) => self.meet_part(rank, key, &early, awaited, context),
            Err(other) => Err(self.mismatch(rank, key, other)),
        }
    }

    /// A message and the round that receives it have met.
    fn meet_part(
        &mut self,
        rank: Rank,
        key: Key,
        early: &Early,
        awaited: Awaited,
        context: &mut Context,
    ) -> Outcome<()> {
        let target = Target::Round(awaited.instance);
        self.depend_on(rank, awaited.instance, early.latest);
        if let Some(handle) = early.handle {
            let Key { context: comm, source, tag } = key;
            let incoming = Incoming {
                source,
                context: comm,
                tag,
                target,
                sent: early.sent,
                requested: early.injected,
                arrived: early.arrived,
                matched: context.now,
                answered: context.now,
                stalled: Duration::ZERO,
                combine: awaited.combine,
                asked: early.asked,
            };
            self.clear(rank, incoming, handle, early.arrived, context);
            return Ok(());
        }
        let size = Bytes(early.bytes);
        let mut cost = self.receive_overhead(rank, key.source, size);
        if awaited.combine {
            // Out of MPI's own memory, where it is two-copy.
            cost += self.setup.reduce_rate.transfer(size);
        } else {
            let copied = self.is_two_copy(key.source, rank, size, Via::PLATFORM);
            cost += self.copy_of(size, copied);
        }
        let at = self.processes[rank].engage(context.now, cost);
        let (bytes, sent, number) = (early.bytes, early.sent, early.asked);
        let message = Received { key, bytes, data: 0, sent, at, number };
        if early.arrived == context.now {
            self.charge_round(rank, awaited.instance, at, context);
        }
        self.received(rank, target, &message, context)
    }

    /// One message of the round of `instance` is done.
    pub(super) fn round_part_done(
        &mut self,
        rank: Rank,
        instance: CollectiveHandle,
        at: Time,
        context: &mut Context,
    ) -> Outcome<()> {
        let process = &mut self.processes[rank];
        let state = &mut process.rounds[instance];
        state.lasts_until(at);
        if !state.end_part() {
            return Ok(());
        }
        if process.has_seen(context.now) {
            return self.advance(rank, instance, context);
        }
        process.answer_later(Unanswered::Round { instance });
        Ok(())
    }

    /// The neighbours that a neighbourhood collective talks to; `None` for the others.
    fn neighbours(
        &mut self,
        rank: Rank,
        me: u32,
        call: &Collective,
        communicator: &Communicator,
    ) -> Outcome<Option<Arc<Neighbours>>> {
        if !call.kind.among_neighbours() {
            return Ok(None);
        }
        let neighbours = self.processes[rank].memberships.neighbours(call.comm, me, communicator);
        if neighbours.is_none() {
            let reason = format!("{}: {} has no topology", text::collective(call), communicator.name());
            return Err(self.misuse(rank, reason));
        }
        Ok(neighbours)
    }
}
