//! Rendezvous of one rank: sends whose data has not left, and receives whose data has not come.

use engine::{Duration, Time};
use network::NicPair;

use crate::operation::{CommId, Data, Rank, Request, Tag};
use crate::world::causes::Handshake;
use crate::world::index::{Numbered, ReceiveHandle, SendHandle};
use crate::world::process::Target;

/// A rendezvous send.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outgoing {
    pub dest: Rank,
    pub bytes: u64,
    pub data: Data,
    pub sent: Time,
    pub target: Target,
    /// Time at which its request was handed to the network.
    pub requested: Time,
    /// The course of the handshake, once its data is on its way.
    pub handshake: Option<Handshake>,
    /// True if it was sent in buffered mode.
    pub buffered: bool,
    /// Ranks that still have to copy it.
    pub copies: Copies,
    /// The NICs that it takes, if it says so.
    pub nics: Option<NicPair>,
}

/// Ranks that copy the data of a rendezvous between the user's memory and MPI's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Copies {
    /// Nobody: zero-copy.
    Neither,
    /// Its receiver; its sender has copied it into a buffer.
    Receiver,
    /// Both.
    Both,
}

impl Copies {
    /// Copies of a message that is two-copy, or not, and that its sender has in a buffer, or not.
    pub fn of(copied: bool, buffered: bool) -> Copies {
        match (copied, buffered) {
            (false, _) => Copies::Neither,
            (true, true) => Copies::Receiver,
            (true, false) => Copies::Both,
        }
    }
}

/// A rendezvous receive that has matched.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Incoming {
    pub source: Rank,
    pub context: CommId,
    pub tag: Tag,
    pub target: Target,
    /// Time of the send's call.
    pub sent: Time,
    /// Time at which the request was handed to the network.
    pub requested: Time,
    /// Time at which the request arrived.
    pub arrived: Time,
    /// Time at which it matched its receive.
    pub matched: Time,
    /// Time at which the answer was handed to the network.
    pub answered: Time,
    /// Time that the handshake waited here, because the rank was outside MPI.
    pub stalled: Duration,
    /// For a collective: whether the data is reduced into what is there.
    pub combine: bool,
    /// The number of the request among all messages of its sender.
    pub asked: u32,
}

/// Handshakes of one rank that are under way.
#[derive(Debug, Default)]
pub(crate) struct Rendezvous {
    outgoing: Numbered<SendHandle, Outgoing>,
    incoming: Numbered<ReceiveHandle, Incoming>,
}

impl Rendezvous {
    /// Begins a send: its request is on its way.
    #[inline]
    pub fn begin_send(&mut self, outgoing: Outgoing) -> SendHandle {
        self.outgoing.insert(outgoing)
    }

    /// A send under way.
    #[inline]
    pub fn send(&self, handle: SendHandle) -> &Outgoing {
        &self.outgoing[handle]
    }

    /// The data of a send is on its way, after this handshake.
    #[inline]
    pub fn clear(&mut self, handle: SendHandle, handshake: Handshake) {
        self.outgoing[handle].handshake = Some(handshake);
    }

    /// The data of a send has left, or is wanted no more.
    #[inline]
    pub fn end_send(&mut self, handle: SendHandle) -> Outgoing {
        self.outgoing.remove(handle)
    }

    /// Begins a receive: its request has met it.
    #[inline]
    pub fn begin_receive(&mut self, incoming: Incoming) -> ReceiveHandle {
        self.incoming.insert(incoming)
    }

    /// A receive under way.
    #[inline]
    pub fn receive(&self, handle: ReceiveHandle) -> &Incoming {
        &self.incoming[handle]
    }

    /// The rank makes progress `now`, for which the answer to a request has waited since they met.
    pub fn end_stall(&mut self, handle: ReceiveHandle, now: Time) {
        let incoming = &mut self.incoming[handle];
        incoming.stalled = now.since(incoming.matched);
    }

    /// The answer to a request is handed to the network at `at`.
    #[inline]
    pub fn answer(&mut self, handle: ReceiveHandle, at: Time) -> Incoming {
        let incoming = &mut self.incoming[handle];
        incoming.answered = at;
        *incoming
    }

    /// The data of a receive has come.
    #[inline]
    pub fn end_receive(&mut self, handle: ReceiveHandle) -> Incoming {
        self.incoming.remove(handle)
    }

    /// Nobody waits for `request` any more.
    pub fn forget(&mut self, request: Request) {
        self.outgoing.values_mut().for_each(|outgoing| outgoing.target.forget(request));
        self.incoming.values_mut().for_each(|incoming| incoming.target.forget(request));
    }

    /// Sends for `target`.
    pub fn sends_for(&self, target: Target) -> impl Iterator<Item = &Outgoing> {
        self.outgoing.iter().map(|(_, outgoing)| outgoing).filter(move |outgoing| outgoing.target == target)
    }

    /// Receives for `target`.
    pub fn receives_for(&self, target: Target) -> impl Iterator<Item = &Incoming> {
        self.incoming.iter().map(|(_, incoming)| incoming).filter(move |incoming| incoming.target == target)
    }

    /// Sends in buffered mode.
    pub fn buffered(&self) -> impl Iterator<Item = &Outgoing> {
        self.outgoing.iter().map(|(_, outgoing)| outgoing).filter(|outgoing| outgoing.buffered)
    }

    /// True if a receive on `comm` is under way.
    pub fn is_under_way_on(&self, comm: CommId) -> bool {
        self.incoming.iter().any(|(_, incoming)| incoming.context.communicator() == comm)
    }
}
