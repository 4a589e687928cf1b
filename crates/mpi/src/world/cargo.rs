//! Data that a message carries through the network for its receiver: self-contained, in words.
//!
//! The first five are the protocol's, the sixth belongs to the attribution of time, and the rest is the critical path
//! up to the hand-over of the message to the network.

use engine::Time;
use network::{CARGO_WORDS, Cargo};

use crate::cause::Path;
use crate::operation::Request;
use crate::world::process::Target;

/// The messages of the protocols.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Envelope and payload together.
    Eager,
    /// The envelope of a rendezvous: "may I send?".
    Request,
    /// An eager message of a collective.
    CollectiveEager,
    /// The envelope of a rendezvous within a collective.
    CollectiveRequest,
    /// The answer to a request: "clear to send".
    Clear,
    /// The payload of a rendezvous.
    Data,
    /// A one-sided operation on its way to its target.
    Access,
    /// The answer to a one-sided operation.
    Answer,
    /// "Is my message still there? I take it back."
    Recall,
    /// The answer to a recall: taken back, or matched before.
    Recalled,
}

const KINDS: [Kind; 10] = [
    Kind::Eager,
    Kind::Request,
    Kind::CollectiveEager,
    Kind::CollectiveRequest,
    Kind::Clear,
    Kind::Data,
    Kind::Access,
    Kind::Answer,
    Kind::Recall,
    Kind::Recalled,
];

/// The content of a [`Cargo`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Parcel {
    pub kind: Kind,
    /// Sent in ready mode. Accesses: applied by the target's library. Recalled: taken back.
    pub ready: bool,
    /// Its receiver copies the payload out of MPI's own memory.
    pub copied: bool,
    /// World rank, below 2³¹, of the one who sends this very message.
    pub source: u32,
    /// World rank, below 2³¹.
    pub dest: u32,
    /// The communicator, below 2²⁸. Accesses: the upper bits of the answer's length; `tag` has the lower ones.
    pub context: u32,
    /// The tag; the number of the collective on its communicator. Clear: which receive ([`name_of`]). Recall and
    /// its answer: the sender's request.
    pub tag: u32,
    /// Envelopes: the number of the envelope between the two ranks. Collectives: the signature of the
    /// call. Clear and data: the receiver's handle. Recalled: the number of what was called back.
    pub high: u32,
    /// The sender's handle, in all messages of a rendezvous. Recall: the number of what is called back. Recalled:
    /// its sender's handle if it is a rendezvous, else the greatest number.
    pub low: u32,
    /// Eager, data and recalled: the handle of the user's data. Requests: the length of the payload. Clear: when
    /// the request had come \[ps\].
    pub word: u64,
    /// Time of the send's call. Clear: time at which request and receive met. Data: arrival of the clearance.
    pub sent: Time,
    /// Collectives: the latest entry that the message depends on \[ps\]. Clear and data of others: for how long the
    /// handshake has stood at ranks outside MPI \[ps\].
    pub extra: u64,
}

/// Number of the receive that a clearance is for: 0 for the rank's current call, then requests; the
/// greatest number for what no source knows.
pub(crate) fn name_of(target: Target) -> u32 {
    match target {
        Target::Call => 0,
        Target::Request(number) => number + 1,
        Target::Round(_) | Target::Nobody => u32::MAX,
    }
}

/// The receive that a clearance names, if a source knows it.
pub(crate) fn named(name: u32) -> Option<Option<Request>> {
    (name != u32::MAX).then(|| name.checked_sub(1).map(Request))
}

/// Start of the path.
const PATH_AT: usize = CARGO_WORDS - crate::cause::ON_PATH;

impl Parcel {
    pub fn pack(&self) -> Cargo {
        debug_assert!(self.context < 1 << 28 && self.source < 1 << 31 && self.dest < 1 << 31);
        let kind = self.kind as u64;
        [
            u64::from(self.copied) << 63
                | u64::from(self.source) << 32
                | kind >> 3 << 31
                | u64::from(self.dest),
            u64::from(self.ready) << 63
                | (kind & 7) << 60
                | u64::from(self.context) << 32
                | u64::from(self.tag),
            u64::from(self.high) << 32 | u64::from(self.low),
            self.word,
            self.sent.0,
            self.extra,
            0,
            0,
            0,
            0,
            0,
        ]
    }

    pub fn unpack(cargo: &Cargo) -> Parcel {
        Parcel {
            kind: KINDS[(cargo[0] >> 31 & 1) as usize * 8 + (cargo[1] >> 60 & 7) as usize],
            ready: cargo[1] >> 63 == 1,
            copied: cargo[0] >> 63 == 1,
            source: Parcel::source_of(cargo),
            dest: cargo[0] as u32 & !(1 << 31),
            context: (cargo[1] >> 32) as u32 & ((1 << 28) - 1),
            tag: cargo[1] as u32,
            high: (cargo[2] >> 32) as u32,
            low: cargo[2] as u32,
            word: cargo[3],
            sent: Time(cargo[4]),
            extra: cargo[5],
        }
    }

    /// The critical path that a message carries.
    pub fn path_of(cargo: &Cargo) -> Path {
        Path(cargo[PATH_AT..].try_into().expect("a path is the rest"))
    }

    /// Lets a message carry `path`.
    pub fn set_path(cargo: &mut Cargo, path: &Path) {
        cargo[PATH_AT..].copy_from_slice(&path.0);
    }

    pub fn dest_of(cargo: &Cargo) -> u32 {
        cargo[0] as u32 & !(1 << 31)
    }

    pub fn source_of(cargo: &Cargo) -> u32 {
        (cargo[0] >> 32) as u32 & !(1 << 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_is_unpacked() {
        for kind in KINDS {
            for (ready, copied) in [(false, false), (false, true), (true, false), (true, true)] {
                let parcel = Parcel {
                    kind,
                    ready,
                    copied,
                    source: 0x7FFF_FFFE,
                    dest: 0x7FFF_FFFD,
                    context: (1 << 28) - 1,
                    tag: u32::MAX,
                    high: u32::MAX - 1,
                    low: u32::MAX - 2,
                    word: u64::MAX - 3,
                    sent: Time(u64::MAX - 4),
                    extra: u64::MAX - 5,
                };
                let (mut cargo, path) = (parcel.pack(), Path([1, 2, 3, 4, u64::MAX]));
                Parcel::set_path(&mut cargo, &path);
                assert_eq!(Parcel::unpack(&cargo), parcel);
                assert_eq!(Parcel::path_of(&cargo), path);
            }
        }
    }
}
