//! Messages on their way, and the events that bring them forward.
//!
//! A message lies in a slot from `inject` until it is delivered; events carry the slot's number, so a
//! message costs no allocation once the slots are there. A message to another part of the network has its
//! slot here until it has left its sender, and one there from when it has crossed until it is delivered.

use engine::{Bytes, Duration, Key, Lane, Owner, Queue, Time, Token, prefetch_start};

use crate::Part;
use crate::message::NicPair;
use crate::message::{
    Arrival, CARGO_WORDS, CROSSING_WORDS, Crossing, Endpoint, Happening, IdleTime, Message,
};
use crate::topology::HostId;

/// Step that is due at a slot (or, where the model says so, at a host).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// The last byte is at the receiving process.
    Delivered,
    /// The last byte has left the sender.
    Sent,
    /// The last byte is at the receiver's NIC.
    AtReceiver,
    /// A transfer that shares its rate may be complete.
    Drained,
    /// The last byte has left the sender for another part of the network.
    SentAbroad,
    /// A message or packet that a process sends in turn has left it.
    Turn,
    /// A packet has come to its next link.
    Link,
}

const STEPS: [Step; 7] =
    [Step::Delivered, Step::Sent, Step::AtReceiver, Step::Drained, Step::SentAbroad, Step::Turn, Step::Link];
const STEP_BITS: u32 = 3;
const VERSION_BITS: u32 = 28;

/// Versions of a slot's schedule wrap around at this.
pub(super) const VERSIONS: u32 = 1 << VERSION_BITS;

/// The token of `step` at slot `index` in the `version` of its schedule.
pub(super) fn token(step: Step, index: u32, version: u32) -> Token {
    debug_assert!(version < VERSIONS);
    let payload = (u64::from(index) << VERSION_BITS | u64::from(version)) << STEP_BITS | step as u64;
    Token::new(Lane::Network, payload)
}

/// Parts that [`token`] was made of.
pub(super) fn open(token: Token) -> (Step, u32, u32) {
    let payload = token.payload();
    let step = STEPS[(payload & ((1 << STEP_BITS) - 1)) as usize];
    let version = (payload >> STEP_BITS) as u32 & (VERSIONS - 1);
    (step, (payload >> (STEP_BITS + VERSION_BITS)) as u32, version)
}

/// The owner of what happens to messages from `host`: their order never depends on other hosts.
pub(super) fn owner(host: HostId) -> Owner {
    Owner::new(Lane::Network, host.0)
}

/// The messages on their way, each with what the model keeps for it.
pub(super) struct InFlight<S> {
    slots: Vec<Slot<S>>,
    free: Vec<u32>,
    part: Part,
    /// Messages that have left for other parts.
    pub crossings: Vec<Crossing>,
    /// The least time that anything takes to get there.
    pub lookahead: Duration,
}

pub(super) struct Slot<S> {
    pub message: Message,
    pub injected: Time,
    /// Computed once, when the message is handed over: its receiver splits its time by it.
    pub idle: IdleTime,
    pub state: S,
}

impl<S> Slot<S> {
    fn arrival(&self, happening: Happening) -> Arrival {
        Arrival { happening, injected: self.injected, idle: self.idle, message: self.message }
    }
}

impl<S> InFlight<S> {
    /// Makes the flight of one part of the network, whose messages take at least `lookahead` to any other.
    pub fn new(part: Part, lookahead: Duration) -> InFlight<S> {
        InFlight { slots: Vec::new(), free: Vec::new(), part, crossings: Vec::new(), lookahead }
    }

    /// Takes `message` in, which takes `idle` on an idle network, and gives its slot.
    #[inline]
    pub fn insert(&mut self, now: Time, message: &Message, idle: IdleTime, state: S) -> u32 {
        let slot = Slot { message: *message, injected: now, idle, state };
        if let Some(index) = self.free.pop() {
            self.slots[index as usize] = slot;
            return index;
        }
        let index = u32::try_from(self.slots.len()).expect("fewer than 2^32 messages are on their way");
        self.slots.push(slot);
        index
    }

    /// Asks the processor for the slot at `index`.
    pub fn prefetch(&self, index: u32) {
        if let Some(slot) = self.slots.get(index as usize) {
            prefetch_start(slot, size_of::<Slot<S>>());
        }
    }

    pub fn get(&self, index: u32) -> &Slot<S> {
        &self.slots[index as usize]
    }

    pub fn get_mut(&mut self, index: u32) -> &mut Slot<S> {
        &mut self.slots[index as usize]
    }

    /// Arrival that tells that the buffer of the message at `index` is free.
    pub fn sent(&self, index: u32) -> Arrival {
        self.slots[index as usize].arrival(Happening::Sent)
    }

    /// Arrival that `step` tells of the message at `index`; after the last of its steps its slot is free.
    #[inline]
    pub fn tell(&mut self, step: Step, index: u32) -> Arrival {
        let happening = match step {
            Step::Sent | Step::SentAbroad => Happening::Sent,
            _ => Happening::Delivered,
        };
        if step != Step::Sent {
            self.free.push(index);
        }
        self.slots[index as usize].arrival(happening)
    }

    /// Schedules the end of the message at `index`: when the sender's buffer is free, if it asked for
    /// that, and `step` towards its delivery. Sent is never told after delivered. One for another part of
    /// the network crosses to it. At its receiver it has the place that it names.
    #[inline]
    pub fn schedule(&mut self, index: u32, sent: Time, step: Step, at: Time, queue: &mut Queue) {
        let slot = &self.slots[index as usize];
        let owner = owner(slot.message.from.host);
        let to = self.part.cut.of_host(slot.message.to.host);
        if to == self.part.me {
            if slot.message.notify_sent {
                queue.push(sent, owner, token(Step::Sent, index, 0));
            }
            return queue.place(at, slot.message.key, token(step, index, 0));
        }
        let mut words = pack(&slot.message, slot.injected);
        words[FREE_AT..FREE_AT + 2].copy_from_slice(&[slot.idle.latency.0, slot.idle.transfer.0]);
        let key = slot.message.key;
        if slot.message.notify_sent {
            queue.push(sent, owner, token(Step::SentAbroad, index, 0));
        } else {
            self.free.push(index);
        }
        self.crossings.push(Crossing { to, at, key, words });
    }

    /// Takes in a message from another part, for which `step` is due next; `state` is kept for it.
    pub fn import(&mut self, crossing: &Crossing, step: Step, state: S, queue: &mut Queue) {
        let (message, injected) = unpack(&crossing.words);
        let [latency, transfer] = [FREE_AT, FREE_AT + 1].map(|at| Duration(crossing.words[at]));
        let index = self.insert(injected, &message, IdleTime { latency, transfer }, state);
        queue.place(crossing.at, crossing.key, token(step, index, 0));
    }
}

/// A message in words. Those from [`FREE_AT`] on, before that of the key, are the model's own.
pub(super) fn pack(message: &Message, injected: Time) -> [u64; CROSSING_WORDS] {
    let Message { from, to, nics, regime, notify_sent, size, key, cargo } = message;
    let mut words = [0; CROSSING_WORDS];
    words[0] = u64::from(from.host.0) << 32 | u64::from(to.host.0);
    words[1] = u64::from(from.process) << 48 | u64::from(to.process) << 32;
    words[1] |= u64::from(*regime) << 1 | u64::from(*notify_sent);
    if let Some(NicPair { from, to }) = nics {
        words[1] |= NICS | u64::from(*from) << 24 | u64::from(*to) << 16;
    }
    words[2..FREE_AT].copy_from_slice(&[size.0, injected.0]);
    words[KEY_AT] = key.word();
    words[CARGO_AT..].copy_from_slice(cargo);
    words
}

/// First word that [`pack`] leaves free.
pub(super) const FREE_AT: usize = 4;
/// First word of the cargo.
const CARGO_AT: usize = CROSSING_WORDS - CARGO_WORDS;
/// Index of the key's word, before the cargo.
const KEY_AT: usize = CARGO_AT - 1;

/// That a message has chosen its NICs.
const NICS: u64 = 1 << 9;

/// Arguments of [`pack`].
pub(super) fn unpack(words: &[u64; CROSSING_WORDS]) -> (Message, Time) {
    let end = |host: u64, process: u64| Endpoint { host: HostId(host as u32), process: process as u16 };
    let message = Message {
        from: end(words[0] >> 32, words[1] >> 48),
        to: end(words[0], words[1] >> 32),
        nics: (words[1] & NICS != 0)
            .then_some(NicPair { from: (words[1] >> 24) as u8, to: (words[1] >> 16) as u8 }),
        regime: (words[1] >> 1) as u8,
        notify_sent: words[1] & 1 == 1,
        size: Bytes(words[2]),
        key: Key::from_word(words[KEY_AT]),
        cargo: words[CARGO_AT..].try_into().expect("a cargo is the rest"),
    };
    (message, Time(words[3]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_is_unpacked() {
        let end = |host, process| Endpoint { host: HostId(host), process };
        let nics = [None, Some(NicPair { from: u8::MAX, to: 0 }), Some(NicPair { from: 1, to: u8::MAX })];
        for (notify_sent, nics) in [false, true].into_iter().flat_map(|sent| nics.map(|nics| (sent, nics))) {
            let message = Message {
                from: end(u32::MAX - 1, u16::MAX - 2),
                to: end(u32::MAX - 3, u16::MAX - 4),
                nics,
                regime: u8::MAX,
                notify_sent,
                size: Bytes(u64::MAX - 5),
                key: Key::of_answer(u32::MAX, 7),
                cargo: [1, u64::MAX, 3, 4, 5, 6, 7, 8, 9, 10, u64::MAX - 1],
            };
            assert_eq!(unpack(&pack(&message, Time(6))), (message, Time(6)));
        }
    }
}
