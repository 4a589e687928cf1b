//! Receiving and probing: matches, their clearances, and completions. Envelopes come in the order of [`Matching`].
//!
//! [`Matching`]: crate::world::matching::Matching

use engine::{Bytes, Duration, Time};
use network::Arrival;

use crate::operation::{Op, Peer, Rank, Receive, Start, Tag, TagMatch};
use crate::record::{Failure, Record};
use crate::source::Status;
use crate::world::calls::CallProgress;
use crate::world::index::{ReceiveHandle, SendHandle};
use crate::world::match_lists::{Key, Pattern};
use crate::world::matching::{Envelope, Posting};
use crate::world::process::{Standing, Target};
use crate::world::progress::Unanswered;
use crate::world::protocol_message::{
    ClearToSend, Eager, Ends, EnvelopeNumber, KnownReceive, ProtocolMessage, RendezvousData, RequestToSend,
};
use crate::world::rendezvous::Incoming;
use crate::world::{Context, Outcome, World};

/// The number that a matched probe of nobody gives (MPI_MESSAGE_NO_PROC).
pub const NO_MESSAGE: u64 = u64::MAX;

impl World {
    /// Receives for `target`.
    pub(super) fn receive(
        &mut self,
        rank: Rank,
        receive: &Receive,
        target: Target,
        context: &mut Context,
    ) -> Outcome<()> {
        let Some(pattern) = self.pattern(rank, receive)? else {
            return self.complete(rank, target, context.now, Some(Status::EMPTY), context);
        };
        let posting = Posting { capacity: receive.capacity.0, target };
        let process = &mut self.processes[rank];
        let Some((key, envelope)) = process.matching.receive(pattern, posting) else { return Ok(()) };
        let copy = self.setup.protocol.copy_rate.transfer(Bytes(envelope.bytes));
        self.meet(rank, key, &envelope, posting, copy, context)
    }

    /// Pattern of the messages that `receive` accepts; `None` if it is from MPI_PROC_NULL.
    pub(super) fn pattern(&self, rank: Rank, receive: &Receive) -> Outcome<Option<Pattern>> {
        let tag = match receive.tag {
            TagMatch::Tag(tag) => Some(tag),
            TagMatch::Any => None,
        };
        self.check_tag(rank, tag.unwrap_or(0))?;
        let source = match receive.from {
            Peer::Any => {
                self.membership(rank, receive.comm)?;
                None
            }
            peer => match self.partner(rank, receive.comm, peer)? {
                Some(source) => Some(source),
                None => return Ok(None),
            },
        };
        Ok(Some(Pattern::new(receive.comm, source, tag)))
    }

    pub(super) fn check_tag(&self, rank: Rank, tag: Tag) -> Outcome<()> {
        if tag <= i32::MAX as u32 {
            return Ok(());
        }
        Err(self.misuse(rank, format!("tag {tag} is above the largest, {}", i32::MAX)))
    }

    /// An envelope has come: takes it, or holds it back until those before it have come.
    pub(super) fn envelope_arrives(
        &mut self,
        ends: Ends,
        number: EnvelopeNumber,
        envelope: &ProtocolMessage,
        arrival: &Arrival,
        context: &mut Context,
    ) -> Outcome<()> {
        if !self.processes[ends.dest].matching.admit(ends.source, number, envelope, arrival) {
            return Ok(());
        }
        let mut outcome = self.take_envelope(ends, envelope, arrival, context);
        while outcome.is_ok() {
            let Some((held, arrival)) = self.processes[ends.dest].matching.admit_held(ends.source) else {
                break;
            };
            self.follow(&held, &arrival, context);
            outcome = self.take_envelope(ends, &held, &arrival, context);
        }
        outcome
    }

    /// Matches an envelope with a posted receive, or keeps it.
    fn take_envelope(
        &mut self,
        ends: Ends,
        envelope: &ProtocolMessage,
        arrival: &Arrival,
        context: &mut Context,
    ) -> Outcome<()> {
        let (header, bytes, data, handle, copied) = match envelope {
            ProtocolMessage::Eager(Eager { envelope, copied, data }) => {
                (envelope, arrival.message.size, *data, None, *copied)
            }
            ProtocolMessage::RequestToSend(RequestToSend { envelope, bytes, send }) => {
                (envelope, *bytes, 0, Some(*send), false)
            }
            ProtocolMessage::Access(request) => {
                self.access_arrives(ends, request, arrival, context);
                return Ok(());
            }
            ProtocolMessage::Recall(recall) => {
                self.recall_arrives(ends, recall, context);
                return Ok(());
            }
            other => panic!("a message that comes in no order: {other:?}"),
        };
        let (rank, key) = (ends.dest, Key { context: header.context, source: ends.source, tag: header.tag });
        let envelope = Envelope {
            bytes: bytes.0,
            data,
            injected: arrival.injected,
            arrived: context.now,
            sent: header.sent,
            handle,
            number: header.number,
            asked: arrival.message.key.number(),
        };
        let process = &mut self.processes[rank];
        if let Some(posting) = process.matching.meet(key) {
            let copy = self.copy_of(bytes, copied);
            return self.meet(rank, key, &envelope, posting, copy, context);
        }
        if header.ready {
            let reason = format!(
                "MPI_Rsend to rank {} with tag {}: no matching receive was posted when it came",
                rank.0, key.tag
            );
            return Err(Box::new(Failure::Misuse { rank: key.source, reason }));
        }
        process.matching.keep(key, envelope);
        self.end_probe(rank, &envelope, context)
    }

    /// A message has come that no receive has matched: ends the probe in which the rank stands, if it asks for this one.
    fn end_probe(&mut self, rank: Rank, envelope: &Envelope, context: &mut Context) -> Outcome<()> {
        let process = &mut self.processes[rank];
        if process.standing != Standing::Blocked
            || !matches!(process.op, Some(Op::Probe(_) | Op::ProbeMatched(_, true)))
        {
            return Ok(());
        }
        let op = process.op.take().expect("just seen");
        let found = self.look(rank, &op);
        self.processes[rank].op = Some(op);
        if !found? {
            return Ok(());
        }
        let status = self.processes[rank].call.status;
        self.charge_arrival(rank, envelope.sent, envelope.injected, context.now, context);
        self.complete(rank, Target::Call, context.now, Some(status), context)
    }

    /// A message and its receive have met. `copy` is the time to move an eager message that had come
    /// before its receive, or that is two-copy.
    fn meet(
        &mut self,
        rank: Rank,
        key: Key,
        envelope: &Envelope,
        posting: Posting,
        copy: Duration,
        context: &mut Context,
    ) -> Outcome<()> {
        if envelope.bytes > posting.capacity {
            return Err(Box::new(Failure::Truncation {
                rank,
                from: key.source,
                bytes: Bytes(envelope.bytes),
                capacity: Bytes(posting.capacity),
                call: self.call_text(rank, posting.target),
            }));
        }
        let Some(handle) = envelope.handle else {
            let cost = self.receive_overhead(rank, key.source, Bytes(envelope.bytes)) + copy;
            let at = self.processes[rank].engage(context.now, cost);
            let data = envelope.data;
            let (bytes, sent, number) = (envelope.bytes, envelope.sent, envelope.asked);
            let message = Received { key, bytes, data, sent, at, number };
            if envelope.arrived == context.now && self.processes[rank].awaits(posting.target) {
                self.charge_arrival(rank, envelope.sent, envelope.injected, at, context);
            }
            return self.received(rank, posting.target, &message, context);
        };
        let incoming = Incoming {
            source: key.source,
            context: key.context,
            tag: key.tag,
            target: posting.target,
            sent: envelope.sent,
            requested: envelope.injected,
            arrived: envelope.arrived,
            matched: context.now,
            answered: context.now,
            stalled: Duration::ZERO,
            combine: false,
            asked: envelope.asked,
        };
        self.clear(rank, incoming, handle, envelope.arrived, context);
        Ok(())
    }

    /// A request to send has met its receive: tells the sender that its data may come, as soon as the
    /// rank makes progress.
    pub(super) fn clear(
        &mut self,
        rank: Rank,
        incoming: Incoming,
        send: SendHandle,
        arrived: Time,
        context: &mut Context,
    ) {
        let process = &mut self.processes[rank];
        let handle = process.rendezvous.begin_receive(incoming);
        if process.has_seen(arrived) {
            self.send_clearance(rank, handle, send, arrived, context);
        } else {
            process.answer_later(Unanswered::Request { receive: handle, send, arrived });
        }
    }

    /// Tells the sender of the rendezvous `handle` that its data may come.
    pub(super) fn send_clearance(
        &mut self,
        rank: Rank,
        handle: ReceiveHandle,
        send: SendHandle,
        arrived: Time,
        context: &mut Context,
    ) {
        let source = self.processes[rank].rendezvous.receive(handle).source;
        let cost = self.receive_overhead(rank, source, Bytes(0)) + self.send_overhead(rank, source, Bytes(0));
        let process = &mut self.processes[rank];
        let at = process.engage(context.now, cost);
        let incoming = process.rendezvous.answer(handle, at);
        let clear = ProtocolMessage::ClearToSend(ClearToSend {
            receive: KnownReceive::of(incoming.target),
            receive_handle: handle,
            send,
            arrived,
            matched: incoming.matched,
            waited: self.waited(rank, incoming.target, incoming.stalled),
        });
        let mut message = self.message(Ends { source: rank, dest: source }, &clear, Bytes(0), false);
        message.key = engine::Key::of_answer(incoming.asked, rank.0);
        self.transmit(message, at, false, context);
    }

    /// The data of a rendezvous has come.
    pub(super) fn data_arrives(
        &mut self,
        rank: Rank,
        data: &RendezvousData,
        arrival: &Arrival,
        context: &mut Context,
    ) -> Outcome<()> {
        let size = arrival.message.size;
        let incoming = self.processes[rank].rendezvous.end_receive(data.receive_handle);
        let mut cost = self.receive_overhead(rank, incoming.source, size);
        if incoming.combine {
            cost += self.setup.reduce_rate.transfer(size);
        } else {
            cost += self.copy_of(size, data.copied);
        }
        let at = self.processes[rank].engage(context.now, cost);
        let key = Key { context: incoming.context, source: incoming.source, tag: incoming.tag };
        let (sent, number) = (incoming.sent, incoming.asked);
        let message = Received { key, bytes: size.0, data: data.data, sent, at, number };
        self.charge_data(rank, &incoming, data, arrival, at, context);
        self.received(rank, incoming.target, &message, context)
    }

    /// A message is in the user's memory.
    pub(super) fn received(
        &mut self,
        rank: Rank,
        target: Target,
        message: &Received,
        context: &mut Context,
    ) -> Outcome<()> {
        let collective = matches!(target, Target::Round(_));
        let record = Record::Message {
            from: message.key.source,
            to: rank,
            number: message.number,
            bytes: Bytes(message.bytes),
            sent: message.sent,
            received: message.at,
            collective,
        };
        context.observer.record(context.now, &record);
        let status = if collective { None } else { Some(self.status(rank, message)) };
        self.complete(rank, target, message.at, status, context)
    }

    fn status(&self, rank: Rank, message: &Received) -> Status {
        let Key { context, source, tag } = message.key;
        let communicator = self.communicator(rank, context);
        let source = communicator.and_then(|communicator| communicator.peer_rank_of(rank, source));
        Status {
            source: source.expect("a message comes from a member of its communicator"),
            tag,
            bytes: message.bytes,
            data: message.data,
            cancelled: false,
        }
    }

    /// Probes (MPI_Probe, MPI_Iprobe, MPI_Mprobe, MPI_Improbe).
    pub(super) fn probe(&mut self, rank: Rank, op: &Op, context: &mut Context) -> Outcome<CallProgress> {
        let found = self.look(rank, op)?;
        self.processes[rank].has_news = false;
        let call = &mut self.processes[rank].call;
        call.flag = found;
        if found {
            return Ok(CallProgress::Return(context.now));
        }
        if let Op::Probe(_) | Op::ProbeMatched(_, true) = op {
            call.outstanding = 1;
            return Ok(CallProgress::Block);
        }
        Ok(CallProgress::Return(context.now + self.poll_after(rank, op, context.source)))
    }

    /// Looks for the message that a probe asks for, and takes it if the probe is a matched one.
    fn look(&mut self, rank: Rank, op: &Op) -> Outcome<bool> {
        let (receive, takes) = match op {
            Op::Probe(receive) | Op::ProbeNow(receive) => (receive, false),
            Op::ProbeMatched(receive, _) => (receive, true),
            _ => panic!("only probes look: {op:?}"),
        };
        let Some(pattern) = self.pattern(rank, receive)? else {
            self.processes[rank].call.matched = NO_MESSAGE;
            return Ok(true);
        };
        let process = &mut self.processes[rank];
        let found = match process.matching.probe(pattern) {
            None => return Ok(false),
            Some((key, envelope)) => {
                let (bytes, sent, number) = (envelope.bytes, envelope.sent, envelope.asked);
                Received { key, bytes, data: 0, sent, at: envelope.arrived, number }
            }
        };
        if takes {
            process.call.matched = process.matching.take_probed(pattern);
        }
        let status = self.status(rank, &found);
        let call = &mut self.processes[rank].call;
        call.status = status;
        call.flag = true;
        Ok(true)
    }

    /// Receives what a matched probe took (MPI_Mrecv, MPI_Imrecv).
    pub(super) fn receive_matched(
        &mut self,
        rank: Rank,
        number: u64,
        start: Start,
        context: &mut Context,
    ) -> Outcome<CallProgress> {
        if let Start::Persistent(_) = start {
            return Err(self.misuse(rank, "a matched receive cannot be persistent".into()));
        }
        let taken = self.processes[rank].matching.receive_probed(number);
        if taken.is_none() && number != NO_MESSAGE {
            return Err(self.misuse(rank, format!("there is no matched message {number}")));
        }
        let target = self.target(rank, start, || panic!("it is not persistent"))?;
        let target = target.expect("only persistent operations have no target");
        match taken {
            None => self.complete(rank, target, context.now, Some(Status::EMPTY), context)?,
            Some((key, envelope)) => {
                let posting = Posting { capacity: u64::MAX, target };
                let copy = self.setup.protocol.copy_rate.transfer(Bytes(envelope.bytes));
                self.meet(rank, key, &envelope, posting, copy, context)?;
            }
        }
        Ok(self.progress_of(rank, target, context.now))
    }
}

/// A message that is in its receiver's memory.
pub(super) struct Received {
    pub key: Key,
    pub bytes: u64,
    pub data: u64,
    /// Time of its send's call.
    pub sent: Time,
    /// Time from which on it is there.
    pub at: Time,
    /// Number among all messages of its sender.
    pub number: u32,
}
