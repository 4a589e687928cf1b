//! Messages between the libraries of two ranks: handshakes, payloads, one-sided operations, and what is called back.

mod packing;

pub(crate) use packing::{path_of, set_path};

use engine::{Bytes, Duration, Time};

use crate::operation::{Applied, CommId, Data, Rank, Request, Tag};
use crate::world::index::{AccessHandle, ReceiveHandle, SendHandle};
use crate::world::process::Target;

/// A message from the library of one rank to that of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProtocolMessage {
    /// Envelope and payload together.
    Eager(Eager),
    /// The envelope of a rendezvous: "may I send?".
    RequestToSend(RequestToSend),
    /// An eager message of a collective.
    CollectiveEager(RoundHeader),
    /// The envelope of a rendezvous within a collective.
    CollectiveRequestToSend(CollectiveRequestToSend),
    /// The answer to a request to send.
    ClearToSend(ClearToSend),
    /// The payload of a rendezvous.
    Data(RendezvousData),
    /// A one-sided operation on its way to its target.
    Access(AccessRequest),
    /// The answer to a one-sided operation.
    AccessAnswer(AccessAnswer),
    /// "Is my message still there? I take it back."
    Recall(Recall),
    /// The answer to a recall.
    RecallAnswer(RecallAnswer),
}

/// The two ranks of a message, each below 2³¹.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ends {
    /// Sender of this very message.
    pub source: Rank,
    /// Its receiver.
    pub dest: Rank,
}

/// Number of an envelope among those from one rank to another, in the order of their calls.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EnvelopeNumber(pub u32);

impl EnvelopeNumber {
    /// The one after it.
    pub fn next(self) -> EnvelopeNumber {
        EnvelopeNumber(self.0.wrapping_add(1))
    }
}

/// Part of a point-to-point message that matching needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EnvelopeHeader {
    /// Sent in ready mode.
    pub ready: bool,
    /// The communicator, below 2²⁸.
    pub context: CommId,
    pub tag: Tag,
    pub number: EnvelopeNumber,
    /// Time of the send's call.
    pub sent: Time,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Eager {
    pub envelope: EnvelopeHeader,
    /// True if its receiver copies the payload out of MPI's own memory.
    pub copied: bool,
    pub data: Data,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RequestToSend {
    pub envelope: EnvelopeHeader,
    /// Length of the payload.
    pub bytes: Bytes,
    pub send: SendHandle,
}

/// Part of a collective's message that matching and attribution need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RoundHeader {
    /// The communicator, below 2²⁸.
    pub context: CommId,
    /// The number of the collective on its communicator.
    pub sequence: u32,
    /// Hash of what the members must agree in.
    pub signature: u32,
    /// Time at which the sender's round began.
    pub sent: Time,
    /// The latest entry into the collective that the message depends on.
    pub latest: Time,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CollectiveRequestToSend {
    pub round: RoundHeader,
    /// Length of the payload.
    pub bytes: Bytes,
    pub send: SendHandle,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClearToSend {
    /// Receive that the request has met, as far as a source knows it.
    pub receive: KnownReceive,
    pub receive_handle: ReceiveHandle,
    pub send: SendHandle,
    /// Arrival of the request.
    pub arrived: Time,
    /// Time at which the request met its receive.
    pub matched: Time,
    pub waited: Waited,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RendezvousData {
    /// True if its receiver copies the payload out of MPI's own memory.
    pub copied: bool,
    pub receive_handle: ReceiveHandle,
    pub send: SendHandle,
    pub data: Data,
    /// Arrival of the clearance.
    pub cleared: Time,
    pub waited: Waited,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AccessRequest {
    pub applied: Applied,
    /// Length of the answer, below 2⁶⁰.
    pub answer: Bytes,
    pub number: EnvelopeNumber,
    pub access: AccessHandle,
    pub data: Data,
    /// Time of the call.
    pub sent: Time,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AccessAnswer {
    pub access: AccessHandle,
    /// Time at which the operation came to its target.
    pub arrived: Time,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Recall {
    /// The sender's request.
    pub request: Request,
    pub number: EnvelopeNumber,
    /// Envelope that is called back.
    pub recalled: EnvelopeNumber,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecallAnswer {
    /// The request of the sender of what was called back.
    pub request: Request,
    /// Envelope that was called back.
    pub recalled: EnvelopeNumber,
    /// Message that was taken back; `None` if it had matched before.
    pub taken_back: Option<TakenBack>,
}

/// A message that its receiver has given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TakenBack {
    /// For a rendezvous, its sender's handle.
    pub send: Option<SendHandle>,
    pub data: Data,
}

/// History of a rendezvous before the message that carries it, for the attribution of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waited {
    /// In a collective: the latest entry that it depends on.
    Entry(Time),
    /// Elsewhere: for how long the handshake has stood at ranks outside MPI.
    Stalled(Duration),
}

impl Waited {
    /// For how long the handshake has stood; in a collective that counts as the path's.
    pub fn stalled(self) -> Duration {
        match self {
            Waited::Entry(_) => Duration::ZERO,
            Waited::Stalled(time) => time,
        }
    }
}

/// The receive that a clearance is for, as sources know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KnownReceive {
    /// That of the rank's current call.
    Call,
    /// That of a request.
    Request(Request),
    /// A collective's, or one that nobody waits for.
    Unknown,
}

impl KnownReceive {
    pub fn of(target: Target) -> KnownReceive {
        match target {
            Target::Call => KnownReceive::Call,
            Target::Request(request) => KnownReceive::Request(request),
            Target::Round(_) | Target::Nobody => KnownReceive::Unknown,
        }
    }
}

impl Ends {
    /// The ends of an answer.
    pub fn reversed(self) -> Ends {
        Ends { source: self.dest, dest: self.source }
    }
}

impl ProtocolMessage {
    /// Its number among the envelopes that its sender has sent to its receiver, if it is one of those that come in order.
    #[inline]
    pub fn envelope_number(&self) -> Option<EnvelopeNumber> {
        match self {
            ProtocolMessage::Eager(Eager { envelope, .. })
            | ProtocolMessage::RequestToSend(RequestToSend { envelope, .. }) => Some(envelope.number),
            ProtocolMessage::Access(AccessRequest { number, .. })
            | ProtocolMessage::Recall(Recall { number, .. }) => Some(*number),
            _ => None,
        }
    }

    /// True if it carries payload, or stands for it: what is counted as a message of the program.
    #[inline]
    pub fn has_payload(&self) -> bool {
        matches!(
            self,
            ProtocolMessage::Eager(_)
                | ProtocolMessage::CollectiveEager(_)
                | ProtocolMessage::Data(_)
                | ProtocolMessage::Access(_)
                | ProtocolMessage::AccessAnswer(_)
        )
    }

    /// For how long the handshake has stood whose next message this is.
    #[inline]
    pub fn stalled(&self) -> Duration {
        match self {
            ProtocolMessage::ClearToSend(ClearToSend { waited, .. })
            | ProtocolMessage::Data(RendezvousData { waited, .. }) => waited.stalled(),
            _ => Duration::ZERO,
        }
    }
}
