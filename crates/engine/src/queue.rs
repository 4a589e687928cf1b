//! The event queue: a radix heap with one total order, `(time, key)`.
//!
//! A key is an owner with the owner's sequence number or, for a message that reaches its receiver, the number that
//! its sender gave it and the sender ([`Key::of_message`]). Among the events of an instant, those of ranks come
//! first, then those of the network, then messages in the order in which their senders sent them, and answers last.
//! None of this depends on how a run is cut into domains, so neither does the order of events that can affect each
//! other; and the order of messages does not depend on the hosts of their ranks.
//!
//! Source: Ahuja, Mehlhorn, Orlin and Tarjan, "Faster algorithms for the shortest path problem" (JACM 37(2), 1990),
//! with digits of ten bits: time is cut into blocks of 512 ps; events lie in buckets by the highest digit in which
//! the number of their block differs from that of the open block, and by that digit. The next block to open is the
//! earliest in the lowest bucket; the other events of that bucket go to lower ones. The events of a block are sorted
//! when it is opened, so each event moves once or twice without comparisons, and is then one of a few to be compared.
//! A bucket of the second digit with a few events is opened as a whole, as if all of its blocks were one: events that are
//! far apart would else have a block each.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::event::{Event, Key, Owner, Token};
use crate::units::Time;

/// Number of bits of a time below the number of its block.
const BLOCK_BITS: u32 = 9;
/// Number of bits of a digit of a block's number.
const DIGIT_BITS: usize = 10;
/// Number of values of a digit.
const VALUES: usize = 1 << DIGIT_BITS;
/// Number of digits of a block's number.
const DIGITS: usize = (64 - BLOCK_BITS as usize).div_ceil(DIGIT_BITS);

/// Most events of a bucket of the second digit that is opened as a whole.
const FEW: usize = 64;

/// Value of an earliest time that is not known; it is earlier than every event in the buckets, so later events do not
/// replace it.
const UNKNOWN: Time = Time::ZERO;

/// Pending events of one domain. Time never runs backwards: nothing is pushed before `now`.
#[derive(Debug)]
pub struct Queue {
    /// Time of the event that was popped last.
    now: Time,
    /// Number of the open block, the last one if several are open. No bucket holds events of this block or an earlier one.
    block: u64,
    /// Bucket `1024 i + d` holds the events whose block differs from the open one first in digit `i`, where it has
    /// `d`.
    buckets: Vec<Vec<Event>>,
    /// Bit mask of the digits that have events in their buckets.
    levels: u8,
    /// Bit mask, for each digit, of the words of `filled` that are not zero.
    words: [u16; DIGITS],
    /// Bit mask, for each digit, of the buckets that hold events.
    filled: [[u64; VALUES / 64]; DIGITS],
    /// Emptied buckets, whose memory is reused.
    spare: Vec<Vec<Event>>,
    /// Time of the earliest event in the buckets; [`UNKNOWN`] until it is needed.
    earliest: Time,
    /// Events of the open block, the earliest last.
    due: Vec<Event>,
    /// Events of the open block that were pushed after the others were sorted.
    late: BinaryHeap<Reverse<Event>>,
    /// Next sequence number of each owner.
    sequences: Vec<u32>,
    length: usize,
    popped: u64,
}

impl Default for Queue {
    fn default() -> Queue {
        Queue {
            now: Time::ZERO,
            block: 0,
            buckets: vec![Vec::new(); DIGITS * VALUES],
            levels: 0,
            words: [0; DIGITS],
            filled: [[0; VALUES / 64]; DIGITS],
            spare: Vec::new(),
            earliest: Time::NEVER,
            due: Vec::new(),
            late: BinaryHeap::new(),
            sequences: Vec::new(),
            length: 0,
            popped: 0,
        }
    }
}

impl Queue {
    /// Makes an empty queue at time zero.
    pub fn new() -> Queue {
        Queue::default()
    }

    /// Schedules `token` at `at`, which is not before the event being handled.
    #[inline]
    pub fn push(&mut self, at: Time, owner: Owner, token: Token) {
        let key = self.stamp(owner);
        self.place(at, key, token);
    }

    /// Key of the next event of `owner`, for an event that [`Queue::place`] puts into another queue: that of the
    /// domain that it crosses to, where it gets the same order as in a single queue.
    #[inline]
    pub fn stamp(&mut self, owner: Owner) -> Key {
        let index = owner.index();
        if index >= self.sequences.len() {
            self.sequences.resize((index + 1).next_power_of_two(), 0);
        }
        let sequence = self.sequences[index];
        self.sequences[index] = sequence.wrapping_add(1);
        Key::of_owner(owner, sequence)
    }

    /// Schedules `token` at `at` with a key that this queue or another one has stamped.
    #[inline]
    pub fn place(&mut self, at: Time, key: Key, token: Token) {
        assert!(at >= self.now, "an event at {at} was scheduled in the past of {}", self.now);
        self.length += 1;
        let event = Event { time: at, key, token };
        if at.0 >> BLOCK_BITS <= self.block {
            self.push_late(event);
        } else {
            self.earliest = self.earliest.min(at);
            self.insert(event);
        }
    }

    /// Puts an event into the open block.
    #[inline(never)]
    fn push_late(&mut self, event: Event) {
        self.late.push(Reverse(event));
    }

    /// Removes the first event and advances time to it.
    pub fn pop(&mut self) -> Option<Event> {
        self.pop_before(Time::NEVER)
    }

    /// Removes the first event and advances time to it, if it is due before `end`.
    #[inline]
    pub fn pop_before(&mut self, end: Time) -> Option<Event> {
        if self.due.is_empty() && self.late.is_empty() {
            self.open_before(end)?;
        }
        let late = match (self.due.last(), self.late.peek()) {
            (Some(due), Some(Reverse(late))) => late < due,
            (due, _) => due.is_none(),
        };
        let event = if late { self.late.peek()?.0 } else { *self.due.last()? };
        if event.time >= end {
            return None;
        }
        if late {
            self.late.pop();
        } else {
            self.due.pop();
        }
        self.now = event.time;
        self.length -= 1;
        self.popped += 1;
        Some(event)
    }

    /// Time of the first event; [`Time::NEVER`] without events. Does not advance time.
    pub fn next_time(&mut self) -> Time {
        if let Some(time) = self.next_open() {
            return time;
        }
        self.find_earliest()
    }

    /// Time of the event that was popped last.
    pub fn now(&self) -> Time {
        self.now
    }

    /// True if all events that are due at [`Queue::now`] have been popped.
    #[inline]
    pub fn instant_is_over(&self) -> bool {
        self.next_open().is_none_or(|time| time > self.now)
    }

    /// Token that will probably be popped `ahead` events after the next one, if that is known yet.
    #[inline]
    pub fn upcoming(&self, ahead: usize) -> Option<Token> {
        let index = self.due.len().checked_sub(1 + ahead)?;
        Some(self.due[index].token)
    }

    /// Number of events in the queue.
    pub fn len(&self) -> usize {
        self.length
    }

    /// True if there are no more events.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Number of events that have been popped since the start.
    pub fn popped(&self) -> u64 {
        self.popped
    }

    /// Time of the first event in the open block.
    #[inline]
    fn next_open(&self) -> Option<Time> {
        let due = self.due.last().map(|event| event.time);
        match self.late.peek() {
            Some(Reverse(late)) => Some(due.unwrap_or(Time::NEVER).min(late.time)),
            None => due,
        }
    }

    /// Puts an event of a later block into its bucket.
    #[inline]
    fn insert(&mut self, event: Event) {
        let block = event.time.0 >> BLOCK_BITS;
        let level = (63 - (block ^ self.block).leading_zeros()) as usize / DIGIT_BITS;
        let digit = (block >> (DIGIT_BITS * level)) as usize % VALUES;
        let bucket = &mut self.buckets[level * VALUES + digit];
        if bucket.is_empty() {
            return self.fill(level, digit, event);
        }
        bucket.push(event);
    }

    /// Puts the first event into a bucket.
    #[inline(never)]
    fn fill(&mut self, level: usize, digit: usize, event: Event) {
        self.levels |= 1 << level;
        self.words[level] |= 1 << (digit / 64);
        self.filled[level][digit / 64] |= 1 << (digit % 64);
        let bucket = &mut self.buckets[level * VALUES + digit];
        *bucket = self.spare.pop().unwrap_or_default();
        bucket.push(event);
    }

    /// Lowest bucket that holds events: its digit, and the digit's value.
    #[inline]
    fn lowest(&self) -> Option<(usize, usize)> {
        let level = self.levels.trailing_zeros() as usize;
        let words = self.filled.get(level)?;
        let word = self.words[level].trailing_zeros() as usize;
        Some((level, word * 64 + words[word].trailing_zeros() as usize))
    }

    /// Time of the earliest event in the buckets, which is in the lowest one that holds events.
    fn find_earliest(&mut self) -> Time {
        if self.earliest == UNKNOWN {
            let (level, digit) = self.lowest().expect("without an event it is known that there is none");
            let bucket = &self.buckets[level * VALUES + digit];
            let first = bucket.iter().map(|event| event.time).min();
            self.earliest = first.expect("a filled bucket has an event");
        }
        self.earliest
    }

    /// Opens the block of the earliest event, if it begins before `end`, and spreads the other events of its bucket
    /// over lower ones; or opens all blocks of the bucket, if they hold few events.
    fn open_before(&mut self, end: Time) -> Option<()> {
        let (level, digit) = self.lowest()?;
        let number = level * VALUES + digit;
        let first = match level {
            // All events of this bucket are of one block.
            0 => self.buckets[number].first()?.time,
            _ => self.find_earliest(),
        };
        let block = first.0 >> BLOCK_BITS;
        if block << BLOCK_BITS >= end.0 {
            return None;
        }
        let few = level == 1 && self.buckets[number].len() <= FEW;
        self.block = if few { block | (VALUES as u64 - 1) } else { block };
        self.empty(level, digit);
        let mut bucket = std::mem::take(&mut self.buckets[number]);
        if level == 0 || few {
            std::mem::swap(&mut self.due, &mut bucket);
        } else {
            for event in bucket.drain(..) {
                if event.time.0 >> BLOCK_BITS == block {
                    self.due.push(event);
                } else {
                    self.insert(event);
                }
            }
        }
        self.spare.push(bucket);
        self.earliest = if self.levels == 0 { Time::NEVER } else { UNKNOWN };
        if self.due.len() > 1 {
            self.due.sort_unstable_by_key(|event| Reverse(event.order()));
        }
        Some(())
    }

    /// Marks a bucket as empty.
    #[inline]
    fn empty(&mut self, level: usize, digit: usize) {
        let word = digit / 64;
        self.filled[level][word] &= !(1 << (digit % 64));
        self.words[level] &= !(u16::from(self.filled[level][word] == 0) << word);
        self.levels &= !(u8::from(self.words[level] == 0) << level);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Lane;
    use crate::random::stream;
    use rand_chacha::rand_core::RngCore;

    #[test]
    fn events_come_in_order_of_time_owner_and_sequence() {
        let mut queue = Queue::new();
        let owner = |index| Owner::new(Lane::Rank, index);
        queue.push(Time(5), owner(1), Token::new(Lane::Rank, 0));
        queue.push(Time(5), owner(0), Token::new(Lane::Rank, 1));
        queue.push(Time(5), owner(0), Token::new(Lane::Rank, 2));
        queue.push(Time(3), owner(9), Token::new(Lane::Network, 3));
        let order: Vec<u64> = std::iter::from_fn(|| queue.pop()).map(|event| event.token.payload()).collect();
        assert_eq!(order, [3, 1, 2, 0]);
    }

    /// At one time events of ranks come first, then those of the network, whatever their numbers; then deliveries by
    /// their senders' counts; then answers by the counts of the answered messages.
    #[test]
    fn messages_come_last_in_the_order_of_their_sends() {
        let mut queue = Queue::new();
        let place =
            |queue: &mut Queue, key, number| queue.place(Time(5), key, Token::new(Lane::Network, number));
        place(&mut queue, Key::of_answer(2, 0), 7);
        place(&mut queue, Key::of_answer(1, 9), 6);
        place(&mut queue, Key::of_message(2, 0), 5);
        place(&mut queue, Key::of_message(1, 9), 4);
        place(&mut queue, Key::of_message(1, 8), 3);
        place(&mut queue, Key::of_message(0, 9), 2);
        queue.push(Time(5), Owner::new(Lane::Network, 0), Token::new(Lane::Network, 1));
        queue.push(Time(5), Owner::new(Lane::Rank, 1 << 20), Token::new(Lane::Rank, 0));
        let order: Vec<u64> = std::iter::from_fn(|| queue.pop()).map(|event| event.token.payload()).collect();
        assert_eq!(order, [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(Key::of_answer(12, (1 << 31) - 1).number(), 12);
    }

    /// An event that crosses to another domain gets the position there that it would have in a single queue.
    #[test]
    fn what_crosses_keeps_its_place() {
        let owner = |index| Owner::new(Lane::Rank, index);
        let (mut sender, mut receiver) = (Queue::new(), Queue::new());
        sender.push(Time(5), owner(1), Token::new(Lane::Rank, 0));
        let key = Key::from_word(sender.stamp(owner(1)).word());
        receiver.push(Time(5), owner(2), Token::new(Lane::Rank, 3));
        receiver.push(Time(5), owner(0), Token::new(Lane::Rank, 1));
        receiver.place(Time(5), key, Token::new(Lane::Rank, 2));
        let order: Vec<u64> = std::iter::from_fn(|| receiver.pop()).map(|e| e.token.payload()).collect();
        assert_eq!(order, [1, 2, 3]);
        sender.push(Time(5), owner(1), Token::new(Lane::Rank, 4));
        let keys: Vec<Key> = std::iter::from_fn(|| sender.pop()).map(|event| event.key).collect();
        assert!(keys[0] < key && key < keys[1]);
    }

    #[test]
    fn what_is_not_due_before_the_end_stays_and_time_does_not_move() {
        let mut queue = Queue::new();
        let owner = Owner::new(Lane::Rank, 0);
        assert_eq!(queue.next_time(), Time::NEVER);
        queue.push(Time(100), owner, Token::new(Lane::Rank, 0));
        assert_eq!((queue.next_time(), queue.pop_before(Time(100)), queue.now()), (Time(100), None, Time(0)));
        queue.push(Time(50), owner, Token::new(Lane::Rank, 1));
        assert_eq!(queue.next_time(), Time(50));
        assert_eq!(queue.pop_before(Time(100)).map(|event| event.time), Some(Time(50)));
        assert_eq!((queue.next_time(), queue.len()), (Time(100), 1));
    }

    /// Three events in one bucket of the second digit, 524,288 ps wide, are opened together: one that is pushed between
    /// them still comes in its place, and so does the end before which events are popped.
    #[test]
    fn few_events_that_are_far_apart_come_in_order() {
        let (mut queue, owner) = (Queue::new(), Owner::new(Lane::Rank, 0));
        let token = Token::new(Lane::Rank, 0);
        for at in [1_000_000, 600_000, 700_000, 1_100_000] {
            queue.push(Time(at), owner, token);
        }
        let pop = |queue: &mut Queue, end| queue.pop_before(Time(end)).map(|event| event.time.0);
        assert_eq!(pop(&mut queue, 600_001), Some(600_000));
        queue.push(Time(650_000), owner, token);
        assert_eq!((pop(&mut queue, 650_000), queue.next_time()), (None, Time(650_000)));
        assert!(queue.instant_is_over());
        let rest: Vec<_> = std::iter::from_fn(|| pop(&mut queue, u64::MAX)).collect();
        assert_eq!(rest, [650_000, 700_000, 1_000_000, 1_100_000]);
    }

    /// The radix heap pops in the order of a sorted list, with pushes and pops mixed at random.
    #[test]
    fn agrees_with_a_sorted_list() {
        let mut random = stream(7, "queue-test", 0);
        let mut queue = Queue::new();
        let mut list: Vec<(Time, u32, u32, u64)> = Vec::new();
        let mut sequences = [0u32; 8];
        for step in 0..20_000u64 {
            if random.next_u32() % 5 < 3 {
                let scale = random.next_u32() % 40;
                let at = Time(queue.now().0 + (random.next_u64() & ((1 << scale) - 1)));
                let index = random.next_u32() % 8;
                queue.push(at, Owner::new(Lane::Rank, index), Token::new(Lane::Rank, step));
                list.push((at, index, sequences[index as usize], step));
                sequences[index as usize] += 1;
            } else {
                let first = list.iter().copied().min();
                list.retain(|entry| Some(*entry) != first);
                assert_eq!(queue.next_time(), first.map_or(Time::NEVER, |entry| entry.0));
                assert_eq!(queue.pop().map(|event| event.token.payload()), first.map(|entry| entry.3));
            }
            assert_eq!(queue.len(), list.len());
        }
    }
}
