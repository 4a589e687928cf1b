//! The event queue: a radix heap with one total order, `(time, owner, sequence within the owner)`.
//!
//! None of the three depends on how a run was cut into domains, so neither does the order in which
//! things that can touch each other happen. Source: Ahuja, Mehlhorn, Orlin and Tarjan, "Faster
//! algorithms for the shortest path problem" (JACM 37(2), 1990): events lie in buckets by the highest
//! hexadecimal digit in which their time differs from that of the last one popped, and by that digit, so
//! each moves at most 16 times, in practice once or twice, without comparisons.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::units::Time;

/// Which layer an event is for; also keeps the owners of the layers apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    /// MPI: the owner's index is a rank.
    Rank,
    /// The network: the owner's index is up to the network model (a host, router or link).
    Network,
}

/// Who scheduled an event. Owners order events that happen at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner(u32);

impl Owner {
    /// The owner `index` of `lane`; `index` is below 2³¹.
    pub fn new(lane: Lane, index: u32) -> Owner {
        assert!(index < 1 << 31, "owners are numbered below 2^31");
        Owner(index << 1 | u32::from(lane == Lane::Network))
    }
}

/// The place of an event among those of the same time: its owner, then its number at the owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key(u64);

impl Key {
    /// As a word that [`Key::from_word`] reads, for messages between domains.
    pub fn word(self) -> u64 {
        self.0
    }
    /// The key that [`Key::word`] gave.
    pub fn from_word(word: u64) -> Key {
        Key(word)
    }
}

/// What the scheduling layer wants to be told when the event is due: 63 bits of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token(u64);

impl Token {
    /// A token of `lane` that carries `payload` (below 2⁶³).
    pub fn new(lane: Lane, payload: u64) -> Token {
        debug_assert!(payload < 1 << 63);
        Token(payload << 1 | u64::from(lane == Lane::Network))
    }
    /// The layer that the token is for.
    pub fn lane(self) -> Lane {
        if self.0 & 1 == 0 { Lane::Rank } else { Lane::Network }
    }
    /// What the layer put into it.
    pub fn payload(self) -> u64 {
        self.0 >> 1
    }
}

/// One due event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// When it is due.
    pub time: Time,
    /// The order among events of the same time.
    pub key: Key,
    /// What was scheduled.
    pub token: Token,
}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Event) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Event {
    fn cmp(&self, other: &Event) -> std::cmp::Ordering {
        (self.time, self.key).cmp(&(other.time, other.key))
    }
}

/// Digits of a time, and values of a digit.
const DIGITS: usize = 16;

/// Earlier than every event in the buckets, so that later ones do not make it known.
const UNKNOWN: Time = Time::ZERO;

/// Pending events of one domain. Time never runs backwards: nothing is pushed before `now`.
#[derive(Debug)]
pub struct Queue {
    /// The time of the last event popped.
    now: Time,
    /// Bucket `16 i + d`: events whose time differs from `now` first in digit `i`, where it has `d`.
    buckets: Vec<Vec<Event>>,
    /// Which of the digits have buckets that hold something,
    levels: u16,
    /// and which of their buckets, one bit each.
    filled: [u16; DIGITS],
    /// The time of the earliest event in the buckets; [`UNKNOWN`] until someone asks.
    earliest: Time,
    /// Events due exactly at `now`, the first last: many ranks often do the same at the same time, and
    /// sorting them once is quicker than a heap.
    due: Vec<Event>,
    /// Those of them that came after the others were sorted.
    late: BinaryHeap<Reverse<Event>>,
    /// The next sequence number of each owner.
    sequences: Vec<u32>,
    length: usize,
    popped: u64,
}

impl Default for Queue {
    fn default() -> Queue {
        Queue {
            now: Time::ZERO,
            buckets: vec![Vec::new(); DIGITS * DIGITS],
            levels: 0,
            filled: [0; DIGITS],
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
    /// An empty queue at time zero.
    pub fn new() -> Queue {
        Queue::default()
    }

    /// Schedules `token` at `at`, which is not before the event being handled.
    pub fn push(&mut self, at: Time, owner: Owner, token: Token) {
        let key = self.stamp(owner);
        self.place(at, key, token);
    }

    /// The key of the next event of `owner`, for one that [`Queue::place`] puts elsewhere: into the queue
    /// of the domain that it crosses to, where it is in the same order as if there were one queue.
    pub fn stamp(&mut self, owner: Owner) -> Key {
        let index = owner.0 as usize;
        if index >= self.sequences.len() {
            self.sequences.resize((index + 1).next_power_of_two(), 0);
        }
        let sequence = self.sequences[index];
        self.sequences[index] = sequence.wrapping_add(1);
        Key(u64::from(owner.0) << 32 | u64::from(sequence))
    }

    /// Schedules `token` at `at` under a key that this queue or another one has stamped.
    pub fn place(&mut self, at: Time, key: Key, token: Token) {
        assert!(at >= self.now, "an event at {at} was scheduled in the past of {}", self.now);
        self.length += 1;
        self.insert(Event { time: at, key, token });
    }

    /// Takes the first event, and moves time to it.
    pub fn pop(&mut self) -> Option<Event> {
        self.pop_before(Time::NEVER)
    }

    /// Takes the first event if it is due before `end`, and moves time to it.
    pub fn pop_before(&mut self, end: Time) -> Option<Event> {
        if self.instant_is_over() {
            self.advance(end)?;
        }
        let event = match (self.due.last(), self.late.peek()) {
            (Some(due), Some(Reverse(late))) if late < due => self.late.pop().map(|Reverse(event)| event),
            (None, _) => self.late.pop().map(|Reverse(event)| event),
            _ => self.due.pop(),
        }?;
        self.length -= 1;
        self.popped += 1;
        Some(event)
    }

    /// When the first event is due; [`Time::NEVER`] without events. Time does not move.
    pub fn next_time(&mut self) -> Time {
        if !self.instant_is_over() {
            return self.now;
        }
        if self.earliest == UNKNOWN {
            self.earliest = self.find_earliest();
        }
        self.earliest
    }

    /// The time of the event last taken.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Has everything that was due at [`Queue::now`] been taken?
    pub fn instant_is_over(&self) -> bool {
        self.due.is_empty() && self.late.is_empty()
    }

    /// How many events wait.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Is nothing left to happen?
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// How many events have been taken since the start.
    pub fn popped(&self) -> u64 {
        self.popped
    }

    fn insert(&mut self, event: Event) {
        let differing = event.time.0 ^ self.now.0;
        if differing == 0 {
            self.late.push(Reverse(event));
        } else {
            let level = (63 - differing.leading_zeros()) as usize / 4;
            let digit = (event.time.0 >> (4 * level)) as usize % DIGITS;
            self.levels |= 1 << level;
            self.filled[level] |= 1 << digit;
            self.earliest = self.earliest.min(event.time);
            self.buckets[level * DIGITS + digit].push(event);
        }
    }

    /// The lowest bucket that is filled: its digit, and the value of that.
    fn lowest(&self) -> Option<(usize, usize)> {
        let level = self.levels.trailing_zeros() as usize;
        (self.levels != 0).then(|| (level, self.filled[level].trailing_zeros() as usize))
    }

    /// The time of the earliest event in the buckets: it is in the lowest that is filled.
    fn find_earliest(&self) -> Time {
        let Some((level, digit)) = self.lowest() else { return Time::NEVER };
        let bucket = &self.buckets[level * DIGITS + digit];
        if level == 0 {
            // They differ from each other in no digit.
            return bucket[0].time;
        }
        bucket.iter().map(|event| event.time).min().expect("a filled bucket has an event")
    }

    /// Moves time to the earliest pending event, if that is before `end`, and spreads its bucket over the
    /// lower ones.
    fn advance(&mut self, end: Time) -> Option<()> {
        let earliest = self.next_time();
        if earliest >= end {
            return None;
        }
        let (level, digit) = self.lowest()?;
        let number = level * DIGITS + digit;
        self.filled[level] &= !(1 << digit);
        self.levels &= !(u16::from(self.filled[level] == 0) << level);
        self.now = earliest;
        self.earliest = UNKNOWN;
        if level == 0 {
            std::mem::swap(&mut self.due, &mut self.buckets[number]);
        } else {
            let mut bucket = std::mem::take(&mut self.buckets[number]);
            for event in bucket.drain(..) {
                if event.time == self.now {
                    self.due.push(event);
                } else {
                    self.insert(event);
                }
            }
            // The emptied vector goes back, so that its memory is used again.
            self.buckets[number] = bucket;
        }
        if self.due.len() > 1 {
            self.due.sort_unstable_by_key(|event| Reverse(event.key));
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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

    /// An event that crosses to another domain stands there where it would stand in one queue.
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

    /// The radix heap pops what a sorted list would, with pushes and pops mixed at random.
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
