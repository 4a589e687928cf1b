//! Sending: eager, or by rendezvous.
//!
//! * **Eager**: the sender's overhead, then the message; complete for the sender when it is injected.
//! * **Rendezvous**: request → (receive is posted) → clear to send → data; complete for the sender when
//!   the data has left its memory. Synchronous sends are always sent so. Requests and clearances are
//!   messages without payload and cost the overheads of the shortest regime.
//!
//! The overheads of one rank are spent one after the other. Source: MPI 4.0, section 3.4; the
//! protocols are those of MPICH's and Open MPI's point-to-point layers.

use engine::{Bandwidth, Bytes, Duration, Time};
use network::{Arrival, Message};

use crate::operation::{CommId, Peer, Send, SendMode};
use crate::world::cargo::{Kind, Parcel};
use crate::world::process::{Outgoing, Target};
use crate::world::progress::Unanswered;
use crate::world::{Context, Outcome, World};

/// How a send has begun.
pub(super) struct Begun {
    /// When the rank's own part is over.
    pub at: Time,
    /// Whether the event that injects the message returns from the call, too.
    pub riding: bool,
}

impl World {
    /// Sends for `target`. With `ride`, a call that need not wait for more may return with the event
    /// that injects its message.
    pub(super) fn send(
        &mut self,
        rank: u32,
        send: &Send,
        target: Target,
        ride: bool,
        context: &mut Context,
    ) -> Outcome<Begun> {
        let now = context.now;
        self.check_tag(rank, send.tag)?;
        let Some(dest) = self.partner(rank, send.comm, send.to)? else {
            self.complete(rank, target, now, now, None, context)?;
            return Ok(Begun { at: now, riding: false });
        };
        let eager = send.mode != SendMode::Synchronous && self.is_eager(rank, dest, send.bytes);
        let payload = if eager { send.bytes } else { Bytes(0) };
        let (cost, copy) = (self.overheads(payload).0, self.copy(send));
        let process = &mut self.processes[rank as usize];
        let at = process.engage(now, cost + copy);
        let channel = process.channels.entry(dest);
        let number = channel.sent;
        channel.sent = number.wrapping_add(1);
        let handle = if eager {
            0
        } else {
            let waiting = if send.mode == SendMode::Buffered { Target::Nobody } else { target };
            process.outgoing.insert(Outgoing {
                dest,
                context: send.comm.0,
                tag: send.tag,
                bytes: send.bytes.0,
                data: send.data,
                sent: now,
                target: waiting,
                cleared: false,
            }) as u32
        };
        let parcel = Parcel {
            kind: if eager { Kind::Eager } else { Kind::Request },
            ready: send.mode == SendMode::Ready,
            source: rank,
            dest,
            context: send.comm.0,
            tag: send.tag,
            high: number,
            low: handle,
            word: if eager { send.data } else { send.bytes.0 },
            sent: now,
        };
        let message = self.message(&parcel, payload, false);
        let is_local = eager || send.mode == SendMode::Buffered;
        let ride = ride && (is_local || target != Target::Call);
        let riding = self.transmit(&message, at, ride, context) && ride;
        if eager {
            self.count(send.bytes);
        }
        if is_local {
            self.complete(rank, target, now, at, None, context)?;
        } else {
            self.cover(rank, target, now, at);
        }
        Ok(Begun { at, riding })
    }

    /// The receiver of a rendezvous is ready: sends the data, as soon as the rank makes progress.
    pub(super) fn clear_to_send(
        &mut self,
        parcel: &Parcel,
        arrival: &Arrival,
        context: &mut Context,
    ) -> Outcome<()> {
        let process = &mut self.processes[parcel.dest as usize];
        if process.has_seen(context.now) {
            self.send_data(parcel, arrival.injected, context);
        } else {
            process.answer_later(Unanswered::Clear { parcel: *parcel, injected: arrival.injected });
        }
        Ok(())
    }

    /// Sends the data for which `parcel`, sent at `injected`, is the clearance.
    pub(super) fn send_data(&mut self, parcel: &Parcel, injected: Time, context: &mut Context) {
        let rank = parcel.dest;
        let outgoing = &mut self.processes[rank as usize].outgoing[parcel.low as usize];
        outgoing.cleared = true;
        let outgoing = *outgoing;
        let size = Bytes(outgoing.bytes);
        let cost = self.overheads(Bytes(0)).1 + self.overheads(size).0;
        let at = self.processes[rank as usize].engage(context.now, cost);
        // The request had been on its way, and so was the answer; between them the receive was late.
        self.cover(rank, outgoing.target, outgoing.sent, Time(parcel.word));
        self.cover(rank, outgoing.target, injected, at);
        let data = Parcel {
            kind: Kind::Data,
            ready: false,
            source: rank,
            dest: outgoing.dest,
            context: outgoing.context,
            tag: outgoing.tag,
            high: parcel.high,
            low: parcel.low,
            word: outgoing.data,
            sent: outgoing.sent,
        };
        let message = self.message(&data, size, true);
        self.count(size);
        self.transmit(&message, at, false, context);
    }

    /// The data of a rendezvous has left the sender's memory.
    pub(super) fn data_has_left(&mut self, parcel: &Parcel, context: &mut Context) -> Outcome<()> {
        let rank = parcel.source;
        let process = &mut self.processes[rank as usize];
        let outgoing = process.outgoing.remove(parcel.low as usize);
        let since = process.call.counted;
        self.complete(rank, outgoing.target, since, context.now, None, context)
    }

    /// The world rank of `peer` in `comm`, or `None` for nobody.
    pub(super) fn partner(&self, rank: u32, comm: CommId, peer: Peer) -> Outcome<Option<u32>> {
        let communicator = self.membership(rank, comm)?;
        match peer {
            Peer::Null => Ok(None),
            Peer::Any => Err(self.misuse(rank, "a send needs a destination, not MPI_ANY_SOURCE".into())),
            Peer::Rank(peer) => match communicator.member(rank, peer) {
                Some(member) => Ok(Some(member)),
                None => {
                    let (size, name) = (communicator.size(), communicator.name());
                    let reason = format!("rank {peer} is not in {name}, which has {size} ranks");
                    Err(self.misuse(rank, reason))
                }
            },
        }
    }

    /// Is a payload of `bytes` sent without asking?
    pub(super) fn is_eager(&self, from: u32, to: u32, bytes: Bytes) -> bool {
        let placement = &self.setup.placement;
        let is_local = placement[from as usize].host == placement[to as usize].host;
        let protocol = &self.setup.protocol;
        bytes <= if is_local { protocol.memory_eager_limit } else { protocol.eager_limit }
    }

    /// CPU time of the sender and of the receiver for a message of `size`.
    pub(super) fn overheads(&self, size: Bytes) -> (Duration, Duration) {
        let host = &self.setup.host;
        let regime = &host.regimes[host.regime_of(size)];
        (regime.send_overhead, regime.receive_overhead)
    }

    /// The message that carries `parcel` and `size` bytes of payload.
    pub(super) fn message(&self, parcel: &Parcel, size: Bytes, notify_sent: bool) -> Message {
        Message {
            from: self.setup.placement[parcel.source as usize],
            to: self.setup.placement[parcel.dest as usize],
            regime: self.setup.host.regime_of(size) as u8,
            notify_sent,
            size,
            cargo: parcel.pack(),
        }
    }

    /// Counts a message with payload.
    pub(super) fn count(&mut self, size: Bytes) {
        self.messages += 1;
        self.bytes = self.bytes.saturating_add(size.0);
    }

    /// What buffering costs.
    fn copy(&self, send: &Send) -> Duration {
        let rate = self.setup.protocol.copy_rate;
        if send.mode == SendMode::Buffered && rate != Bandwidth::INFINITE {
            rate.transfer(send.bytes)
        } else {
            Duration::ZERO
        }
    }
}
