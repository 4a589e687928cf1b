//! Point-to-point matching at one rank: receives that are posted, messages that no receive has met yet, and the order of
//! envelopes.
//!
//! A network may let a short message overtake a long one; envelopes are numbered for each pair of
//! ranks, and one that comes too early is held back, so that messages between two ranks match in the
//! order of their sends whatever the network does (MPI 4.0, section 3.5).

use std::collections::BTreeMap;

use engine::Time;
use network::Arrival;
use slab::Slab;

use crate::operation::{CommId, Data, Rank, Request};
use crate::world::index::SendHandle;
use crate::world::match_lists::{Key, Lists, Pattern};
use crate::world::process::Target;
use crate::world::protocol_message::{EnvelopeNumber, ProtocolMessage};
use crate::world::small_map::SmallMap;

/// A posted receive.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Posting {
    pub capacity: u64,
    pub target: Target,
}

/// A message that waits for its receive.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Envelope {
    pub bytes: u64,
    /// Its content, if it is eager.
    pub data: Data,
    /// Time at which it was handed to the network.
    pub injected: Time,
    pub arrived: Time,
    /// Time of the send's call.
    pub sent: Time,
    /// For a rendezvous, the sender's handle.
    pub handle: Option<SendHandle>,
    /// Its number between the two ranks.
    pub number: EnvelopeNumber,
    /// Its number among all messages of its sender.
    pub asked: u32,
}

/// Receives and messages of one rank that have not met.
#[derive(Debug, Default)]
pub(crate) struct Matching {
    posted: Lists<Posting>,
    unexpected: Lists<Envelope>,
    /// Numbers of the envelopes to and from each other rank.
    channels: SmallMap<Channel>,
    rare: Option<Box<Rare>>,
}

/// Numbers of the envelopes to and from one other rank.
#[derive(Debug, Default, Clone, Copy)]
struct Channel {
    /// The next to send.
    sent: EnvelopeNumber,
    /// The next to take.
    taken: EnvelopeNumber,
}

/// State that few ranks need.
#[derive(Debug, Default)]
struct Rare {
    /// Envelopes that overtook others of the same sender, by sender and number.
    held: BTreeMap<(Rank, EnvelopeNumber), (ProtocolMessage, Arrival)>,
    /// Messages that a matched probe took, by number.
    probed: Slab<(Key, Envelope)>,
}

impl Matching {
    /// Number of the next envelope to `dest`.
    #[inline]
    pub fn next_to_send(&mut self, dest: Rank) -> EnvelopeNumber {
        let channel = self.channels.entry(dest.0);
        let number = channel.sent;
        channel.sent = number.next();
        number
    }

    /// Lets the envelope of this number in, if all before it have come; else holds it back.
    #[inline]
    pub fn admit(
        &mut self,
        source: Rank,
        number: EnvelopeNumber,
        envelope: &ProtocolMessage,
        arrival: &Arrival,
    ) -> bool {
        let channel = self.channels.entry(source.0);
        if number != channel.taken {
            self.rare.get_or_insert_default().held.insert((source, number), (*envelope, *arrival));
            return false;
        }
        channel.taken = number.next();
        true
    }

    /// Lets in the envelope of `source` that has been held back and that is next now.
    #[inline]
    pub fn admit_held(&mut self, source: Rank) -> Option<(ProtocolMessage, Arrival)> {
        let rare = self.rare.as_mut().filter(|rare| !rare.held.is_empty())?;
        let channel = self.channels.entry(source.0);
        let held = rare.held.remove(&(source, channel.taken))?;
        channel.taken = channel.taken.next();
        Some(held)
    }

    /// Takes the first message that a receive of `pattern` accepts, or posts the receive.
    #[inline]
    pub fn receive(&mut self, pattern: Pattern, posting: Posting) -> Option<(Key, Envelope)> {
        let found = self.unexpected.take_message(pattern, |_| true);
        if found.is_none() {
            self.posted.push(pattern, posting);
        }
        found
    }

    /// Takes the receive that the message of `key` meets.
    #[inline]
    pub fn meet(&mut self, key: Key) -> Option<Posting> {
        self.posted.take_receive(key, |_| true)
    }

    /// Keeps a message that no receive has met.
    #[inline]
    pub fn keep(&mut self, key: Key, envelope: Envelope) {
        self.unexpected.push(Pattern::exact(key), envelope);
    }

    /// The first message that `pattern` accepts, left where it is.
    pub fn probe(&mut self, pattern: Pattern) -> Option<(Key, &Envelope)> {
        self.unexpected.peek_message(pattern)
    }

    /// Takes the message that [`Matching::probe`] has found out, for one receive; gives its number.
    pub fn take_probed(&mut self, pattern: Pattern) -> u64 {
        let taken = self.unexpected.take_message(pattern, |_| true).expect("just seen");
        self.rare.get_or_insert_default().probed.insert(taken) as u64
    }

    /// The message of this number that a matched probe took.
    pub fn receive_probed(&mut self, number: u64) -> Option<(Key, Envelope)> {
        self.rare.as_mut()?.probed.try_remove(usize::try_from(number).ok()?)
    }

    /// Gives up a message, if it has not matched.
    pub fn recall(&mut self, source: Rank, number: EnvelopeNumber) -> Option<Envelope> {
        let is_it = |pattern: Pattern, envelope: &Envelope| {
            envelope.number == number && pattern.key().source == source
        };
        self.unexpected.remove(is_it)
    }

    /// Withdraws the receive for `target`: true if it had not matched.
    pub fn cancel(&mut self, target: Target) -> bool {
        self.posted.remove(|_, posting| posting.target == target).is_some()
    }

    /// Nobody waits for `request` any more.
    pub fn forget(&mut self, request: Request) {
        self.posted.iter_mut().for_each(|posting| posting.target.forget(request));
    }

    /// True if a receive is posted on `comm`, or a probed message is of it.
    pub fn is_under_way_on(&self, comm: CommId) -> bool {
        let of_it = |key: Key| key.context.communicator() == comm;
        self.posted.iter().any(|(pattern, _)| of_it(pattern.key()))
            || self.probed().any(|(key, _)| of_it(key))
    }

    /// Posted receives, in no particular order.
    pub fn posted(&self) -> impl Iterator<Item = (Pattern, &Posting)> {
        self.posted.iter()
    }

    /// Messages that no receive has got, in no particular order.
    pub fn unreceived(&self) -> impl Iterator<Item = (Key, &Envelope)> {
        self.unexpected.iter().map(|(pattern, envelope)| (pattern.key(), envelope)).chain(self.probed())
    }

    fn probed(&self) -> impl Iterator<Item = (Key, &Envelope)> {
        self.rare.iter().flat_map(|rare| rare.probed.iter().map(|(_, (key, envelope))| (*key, envelope)))
    }
}
