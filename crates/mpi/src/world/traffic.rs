//! Messages between their call and their arrival: those that wait for their sender's overhead, and counts of all.

use engine::Bytes;
use network::Message;

use crate::world::index::{Number, OutboxIndex};

/// Messages of a world, as far as they carry payload or wait to be handed to the network.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    /// Messages whose sender's overhead has not ended yet; events name them by index.
    outbox: Outbox,
    messages: u64,
    bytes: u64,
    arrived: u64,
    /// Messages that calls have begun to send and that have not left yet: of later rounds of a collective, and data
    /// whose receiver has not answered.
    unsent: u64,
}

/// Messages that are held. They often leave in the order in which they came, so the one that came after a message is
/// prefetched when that leaves.
#[derive(Debug, Default)]
struct Outbox {
    messages: Vec<Message>,
    /// Index of the message that came after each.
    successors: Vec<OutboxIndex>,
    /// Index of the message that came last.
    last: OutboxIndex,
    /// Indices that are free.
    free: Vec<OutboxIndex>,
}

impl Outbox {
    #[inline]
    fn insert(&mut self, message: Message) -> OutboxIndex {
        let index = match self.free.pop() {
            Some(index) => {
                self.messages[index.place()] = message;
                index
            }
            None => {
                let index = OutboxIndex::of_place(self.messages.len());
                self.messages.push(message);
                self.successors.push(index);
                index
            }
        };
        self.successors[self.last.place()] = index;
        self.last = index;
        index
    }

    #[inline]
    fn remove(&mut self, index: OutboxIndex) {
        self.free.push(index);
        let successor = self.successors[index.place()];
        engine::prefetch_start(&self.messages[successor.place()], size_of::<Message>());
    }

    fn len(&self) -> usize {
        self.messages.len() - self.free.len()
    }
}

impl Traffic {
    /// Keeps a message until its sender's overhead has ended.
    #[inline]
    pub fn hold(&mut self, message: Message) -> OutboxIndex {
        self.outbox.insert(message)
    }

    /// A message that is held.
    #[inline]
    pub fn held(&self, index: OutboxIndex) -> &Message {
        &self.outbox.messages[index.place()]
    }

    /// A message that was held has been handed to the network.
    #[inline]
    pub fn release(&mut self, index: OutboxIndex) {
        self.outbox.remove(index);
    }

    /// Counts a message with payload that is sent.
    #[inline]
    pub fn count(&mut self, size: Bytes) {
        self.messages += 1;
        self.bytes = self.bytes.saturating_add(size.0);
    }

    /// Counts a message with payload that was announced before.
    #[inline]
    pub fn count_announced(&mut self, size: Bytes) {
        self.unsent -= 1;
        self.count(size);
    }

    /// A call has begun to send `messages` that will leave later.
    #[inline]
    pub fn announce(&mut self, messages: u64) {
        self.unsent += messages;
    }

    /// A message that was announced is taken back.
    pub fn withdraw(&mut self) {
        self.unsent -= 1;
    }

    /// Counts a message with payload that has come.
    #[inline]
    pub fn count_arrival(&mut self) {
        self.arrived += 1;
    }

    /// Messages with payload sent so far.
    pub fn messages(&self) -> u64 {
        self.messages
    }

    /// Payload sent so far \[bytes\].
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Messages with payload that have come.
    pub fn arrived(&self) -> u64 {
        self.arrived
    }

    /// Messages that are sent, or that calls have only begun to send.
    pub fn announced(&self) -> u64 {
        self.messages + self.unsent
    }

    /// Progress of the announced messages: one for each that is handed to the network, and one for each that has come.
    pub fn moved(&self) -> u64 {
        self.messages.saturating_sub(self.outbox.len() as u64) + self.arrived
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two of three announced messages leave, of 5 and 7 bytes, and the third is taken back: 2 sent and announced.
    #[test]
    fn an_announced_message_is_counted_once_or_taken_back() {
        let mut traffic = Traffic::default();
        traffic.announce(3);
        traffic.count_announced(Bytes(5));
        assert_eq!((traffic.messages(), traffic.announced()), (1, 3));
        traffic.count_announced(Bytes(7));
        traffic.withdraw();
        traffic.count_arrival();
        assert_eq!((traffic.announced(), traffic.bytes(), traffic.moved()), (2, 12, 3));
    }
}
