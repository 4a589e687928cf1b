//! Sending: eager, or by rendezvous.
//!
//! * **Eager**: the sender's overhead, then the message; complete for the sender when it is injected.
//! * **Rendezvous**: request → (receive is posted) → clear to send → data; complete for the sender when
//!   the data has left its memory. Synchronous sends are always sent so. Requests and clearances are
//!   messages without payload and cost the overheads of the shortest regime.
//!
//! Between hosts a message is **two-copy** up to a size, or by its own word: both ranks copy it, one into MPI's
//! own memory before it leaves, the other out of it when it has come; its sender is done when it has copied.
//! Others are **zero-copy**: the NICs read and write the user's memory. One that asks for that goes by
//! rendezvous whatever its size, for its sender must know where to. An eager message that is not two-copy is
//! copied by its receiver only if it had come before its receive. With m the copy rate:
//!
//! ```text
//! two-copy, eager     T(n) = o_s + n/m + network(n) + o_r + n/m
//! zero-copy           T(n) = o_s(0) + network(0) + o_r(0) + o_s(0) + network(0) + o_r(0) + o_s + network(n) + o_r
//! ```
//!
//! The overheads of one rank are spent one after the other. Source: MPI 4.0, section 3.4; the
//! protocols are those of MPICH's and Open MPI's point-to-point layers; two and no copies as in Miwa et al.,
//! "NSIM" (IEICE Trans. Inf. & Syst. E94-D(12), 2011), 3.1 and 3.2, and with eager messages and rendezvous as
//! in Liu, Wu, Panda, "High performance RDMA-based MPI implementation over InfiniBand" (IJPP 32(3), 2004).
//! Assumes that copies of different ranks do not slow each other.

use engine::{Bandwidth, Bytes, Duration, Key, Time};
use network::{Message, NicPair};

use crate::communicator::Communicator;
use crate::operation::{CommId, Copying, Draining, Op, Peer, Rank, Send, SendMode, Via};
use crate::record::Failure;
use crate::world::calls::CallProgress;
use crate::world::flight::Flight;
use crate::world::process::{Standing, Target};
use crate::world::progress::Unanswered;
use crate::world::protocol_message::{
    ClearToSend, Eager, Ends, EnvelopeHeader, KnownReceive, ProtocolMessage, RendezvousData, RequestToSend,
    Waited,
};
use crate::world::rendezvous::{Copies, Outgoing};
use crate::world::request::Sent;
use crate::world::{Context, Outcome, World};

/// Result of a send's beginning.
pub(super) struct Begun {
    /// End of the rank's own part.
    pub at: Time,
    /// True if the event that injects the message returns from the call, too.
    pub riding: bool,
}

/// Course of the answer to a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cleared {
    /// Flight of the answer.
    pub flight: Flight,
    /// Arrival of the answer.
    pub arrived: Time,
    /// Time that it has waited at the sender for progress.
    pub stalled: Duration,
}

impl World {
    /// Sends for `target`. With `ride`, a call that need not wait for more may return with the event
    /// that injects its message.
    pub(super) fn send(
        &mut self,
        rank: Rank,
        send: &Send,
        target: Target,
        ride: bool,
        context: &mut Context,
    ) -> Outcome<Begun> {
        let now = context.now;
        self.check_tag(rank, send.tag)?;
        let Some(dest) = self.partner(rank, send.comm, send.to)? else {
            self.complete(rank, target, now, None, context)?;
            return Ok(Begun { at: now, riding: false });
        };
        self.check_nics(rank, send.via.nics)?;
        let copied = self.is_two_copy(rank, dest, send.bytes, send.via);
        let direct = send.via.copying == Some(Copying::ZeroCopy) && !self.are_together(rank, dest);
        let eager = send.mode != SendMode::Synchronous && !direct && self.is_eager(rank, dest, send.bytes);
        let detached = send.mode == SendMode::Standard
            && !eager
            && !direct
            && send.bytes <= self.setup.protocol.detached_limit;
        let payload = if eager { send.bytes } else { Bytes(0) };
        // The data of a rendezvous is copied when its receiver is ready, unless its sender shall not wait.
        let copies = send.mode == SendMode::Buffered || eager && copied;
        let begins =
            matches!(target, Target::Request(_)).then(|| self.begin_overhead(rank, dest, send.bytes));
        let cost = begins.flatten().unwrap_or_else(|| self.send_overhead(rank, dest, payload));
        let copy = self.copy_of(send.bytes, copies);
        let process = &mut self.processes[rank];
        let at = process.engage(now, cost + copy);
        let number = process.matching.next_to_send(dest);
        if let Target::Request(request) = target {
            process.requests[request.0 as usize].sent = Some(Sent { dest, number });
        }
        let envelope = EnvelopeHeader {
            ready: send.mode == SendMode::Ready,
            context: send.comm,
            tag: send.tag,
            number,
            sent: now,
        };
        let data = match send.data {
            data if data != 0 && !self.setup.owns(dest) => context.source.export(data, rank, dest),
            data => data,
        };
        let message = if eager {
            ProtocolMessage::Eager(Eager { envelope, copied, data })
        } else {
            let nobody_waits = detached || send.mode == SendMode::Buffered;
            let waiting = if nobody_waits { Target::Nobody } else { target };
            let handle = process.rendezvous.begin_send(Outgoing {
                dest,
                bytes: send.bytes.0,
                data,
                sent: now,
                target: waiting,
                requested: at,
                handshake: None,
                buffered: send.mode == SendMode::Buffered,
                copies: Copies::of(copied, send.mode == SendMode::Buffered),
                nics: send.via.nics,
            });
            ProtocolMessage::RequestToSend(RequestToSend { envelope, bytes: send.bytes, send: handle })
        };
        let mut message = self.message(Ends { source: rank, dest }, &message, payload, false);
        message.nics = send.via.nics;
        let is_local = eager || detached || send.mode == SendMode::Buffered;
        let ride = ride && (is_local || target != Target::Call);
        let riding = self.transmit(message, at, ride, context) && ride;
        if eager {
            self.traffic.count(send.bytes);
        } else {
            self.traffic.announce(1);
        }
        if is_local {
            self.complete(rank, target, at, None, context)?;
        }
        Ok(Begun { at, riding })
    }

    /// The receiver of a rendezvous is ready: sends the data, as soon as the rank makes progress.
    pub(super) fn clear_to_send(
        &mut self,
        rank: Rank,
        clear: &ClearToSend,
        context: &mut Context,
    ) -> Outcome<()> {
        let process = &mut self.processes[rank];
        if process.has_seen(context.now) {
            let cleared =
                Cleared { flight: self.event.flight(), arrived: context.now, stalled: Duration::ZERO };
            return self.send_data(rank, clear, cleared, context);
        }
        let flight = self.event.flight();
        process.answer_later(Unanswered::Clear { clear: *clear, arrived: context.now, flight });
        Ok(())
    }

    /// Sends the data for which `clear` is the clearance.
    pub(super) fn send_data(
        &mut self,
        rank: Rank,
        clear: &ClearToSend,
        cleared: Cleared,
        context: &mut Context,
    ) -> Outcome<()> {
        let outgoing = *self.processes[rank].rendezvous.send(clear.send);
        if let Target::Request(request) = outgoing.target {
            // It has matched: it cannot be called back any more.
            self.processes[rank].requests[request.0 as usize].sent = None;
        }
        let size = Bytes(outgoing.bytes);
        let copies = outgoing.copies == Copies::Both;
        let cost = self.receive_overhead(rank, outgoing.dest, Bytes(0))
            + self.send_overhead(rank, outgoing.dest, size)
            + self.copy_of(size, copies);
        let at = self.processes[rank].engage(context.now, cost);
        match clear.receive {
            KnownReceive::Call => context.source.matched(outgoing.data, outgoing.dest, None),
            KnownReceive::Request(request) => {
                context.source.matched(outgoing.data, outgoing.dest, Some(request));
            }
            KnownReceive::Unknown => {}
        }
        if let (Target::Round(instance), Waited::Entry(latest)) = (outgoing.target, clear.waited) {
            self.depend_on(rank, instance, latest);
        }
        let handshake = self.handshake(rank, &outgoing, clear, &cleared, at, context);
        self.processes[rank].rendezvous.clear(clear.send, handshake);
        let data = ProtocolMessage::Data(RendezvousData {
            copied: outgoing.copies != Copies::Neither,
            receive_handle: clear.receive_handle,
            send: clear.send,
            data: outgoing.data,
            cleared: cleared.arrived,
            waited: self.waited(rank, outgoing.target, handshake.stalled),
        });
        let mut message = self.message(Ends { source: rank, dest: outgoing.dest }, &data, size, !copies);
        message.nics = outgoing.nics;
        self.traffic.count_announced(size);
        self.transmit(message, at, false, context);
        if !copies {
            return Ok(());
        }
        // It is in MPI's own memory then: what the network does with it is no matter of the sender's.
        let outgoing = self.processes[rank].rendezvous.end_send(clear.send);
        self.charge_sent(rank, &outgoing, at, Flight::default(), context);
        self.has_left(rank, &outgoing, at, context)
    }

    /// The data of a rendezvous has left the memory of `rank`.
    pub(super) fn data_has_left(
        &mut self,
        rank: Rank,
        data: &RendezvousData,
        context: &mut Context,
    ) -> Outcome<()> {
        let outgoing = self.processes[rank].rendezvous.end_send(data.send);
        let flight = self.event.flight();
        self.charge_sent(rank, &outgoing, context.now, flight, context);
        self.has_left(rank, &outgoing, context.now, context)
    }

    /// A rendezvous send is complete.
    fn has_left(&mut self, rank: Rank, outgoing: &Outgoing, at: Time, context: &mut Context) -> Outcome<()> {
        let process = &mut self.processes[rank];
        if outgoing.buffered
            && process.standing == Standing::Blocked
            && matches!(process.op, Some(Op::Drain(_)))
        {
            return self.complete(rank, Target::Call, at, None, context);
        }
        self.complete(rank, outgoing.target, at, None, context)
    }

    /// Waits until what was sent in buffered mode has left, or asks for it (MPI_Buffer_flush).
    pub(super) fn drain(&mut self, rank: Rank, draining: Draining, now: Time) -> CallProgress {
        let process = &mut self.processes[rank];
        let held = process.rendezvous.buffered();
        let (count, bytes) = held.fold((0, 0), |(count, bytes), held| (count + 1, bytes + held.bytes));
        if count > 0 && draining == Draining::Wait {
            process.call.outstanding = count;
            return CallProgress::Block;
        }
        process.call.status.bytes = bytes;
        process.call.matched = count.into();
        CallProgress::Return(now)
    }

    /// The world rank of `peer` in `comm`, or `None` for nobody.
    pub(super) fn partner(&self, rank: Rank, comm: CommId, peer: Peer) -> Outcome<Option<Rank>> {
        let communicator = self.membership(rank, comm)?;
        match peer {
            Peer::Null => Ok(None),
            Peer::Any => Err(self.misuse(rank, "a send needs a destination, not MPI_ANY_SOURCE".into())),
            Peer::Rank(peer) => match communicator.peer(rank, peer) {
                Some(member) => Ok(Some(member)),
                None => Err(self.outside(rank, communicator, peer)),
            },
        }
    }

    /// Failure of `rank`, whose message is for a `peer` that the communicator lacks.
    #[cold]
    fn outside(&self, rank: Rank, communicator: &Communicator, peer: u32) -> Box<Failure> {
        let (size, name) = (communicator.peers(), communicator.name());
        self.misuse(rank, format!("rank {peer} is not in {name}, which has {size} ranks"))
    }

    /// Is a payload of `bytes` sent without asking?
    pub(super) fn is_eager(&self, from: Rank, to: Rank, bytes: Bytes) -> bool {
        let protocol = &self.setup.protocol;
        let is_local = self.are_together(from, to);
        bytes <= if is_local { protocol.memory_eager_limit } else { protocol.eager_limit }
    }

    /// Are they on one host?
    pub(super) fn are_together(&self, one: Rank, other: Rank) -> bool {
        let placement = &self.setup.placement;
        placement[one.0 as usize].host == placement[other.0 as usize].host
    }

    /// Do both ranks copy a payload of `bytes`?
    pub(super) fn is_two_copy(&self, from: Rank, to: Rank, bytes: Bytes, via: Via) -> bool {
        let copies = match via.copying {
            None => bytes <= self.setup.protocol.two_copy_limit,
            Some(copying) => copying == Copying::TwoCopy,
        };
        copies && !self.are_together(from, to)
    }

    /// Do the hosts have these NICs?
    fn check_nics(&self, rank: Rank, nics: Option<NicPair>) -> Outcome<()> {
        let count = self.setup.host.nics.count;
        let Some(NicPair { from, to }) = nics else { return Ok(()) };
        let nic = from.max(to);
        if nic < count && self.setup.host.nics.in_planes && from != to {
            let reason = format!(
                "NIC {from} is asked for, and NIC {to} of the destination, which is in another plane: no message \
                 goes from one to the other"
            );
            return Err(self.misuse(rank, reason));
        }
        if nic < count {
            return Ok(());
        }
        let have = match count {
            1 => "a host has one, NIC 0".to_string(),
            count => format!("a host has {count}, NICs 0 to {}", count - 1),
        };
        Err(self.misuse(rank, format!("NIC {nic} is asked for, but {have}")))
    }

    /// The message that carries `content` and `size` bytes of payload, the next one of its sender.
    #[inline(always)]
    pub(super) fn message(
        &mut self,
        ends: Ends,
        content: &ProtocolMessage,
        size: Bytes,
        notify_sent: bool,
    ) -> Message {
        let next = &mut self.processes[ends.source].next_message;
        let number = *next;
        *next = number.wrapping_add(1);
        let [from, to] = [ends.source, ends.dest].map(|rank| self.setup.placement[rank.0 as usize]);
        let regime = self.setup.host.regime_between(from, to, size);
        let (key, cargo) = (Key::of_message(number, ends.source.0), content.pack(ends));
        Message { from, to, nics: None, regime, notify_sent, size, key, cargo }
    }

    /// Time of a rank's copy of `bytes`; zero if it does not copy.
    #[inline]
    pub(super) fn copy_of(&self, bytes: Bytes, copies: bool) -> Duration {
        let rate = self.setup.protocol.copy_rate;
        if copies && rate != Bandwidth::INFINITE { rate.transfer(bytes) } else { Duration::ZERO }
    }
}
