//! Matching: which message goes to which receive, by context, source and tag, in the standard's order.
//!
//! A message takes the receive posted first of those that accept it; a receive takes the message that
//! came first of those that it accepts (MPI 4.0, section 3.5). Short lists are searched linearly.
//! Longer ones are hashed by the four kinds of pattern (exact, any source, any tag, both), each bucket
//! in order, and the earliest of the heads wins: the work for a match does not grow with the list.
//! Source of the bins: Flajslik, Dinan, Underwood, "Mitigating MPI message matching misery" (ISC 2016).

use std::hash::{BuildHasher, BuildHasherDefault};

use engine::hash::Mix;
use hashbrown::HashTable;
use slab::Slab;

use crate::operation::{CommId, Rank, Tag};

/// Matching key of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub context: CommId,
    pub source: Rank,
    /// The tag, or the number of a collective on its communicator.
    pub tag: Tag,
}

/// Matching key of a receive: a message's key with wildcards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pattern {
    /// Wild fields are 0.
    key: Key,
    /// Bit 0: any source; bit 1: any tag.
    class: u8,
}

const CLASSES: usize = 4;

impl Pattern {
    /// `None` is a wildcard.
    pub fn new(context: CommId, source: Option<Rank>, tag: Option<Tag>) -> Pattern {
        let class = u8::from(source.is_none()) | u8::from(tag.is_none()) << 1;
        Pattern { key: Key { context, source: source.unwrap_or_default(), tag: tag.unwrap_or(0) }, class }
    }
    /// Only this key.
    pub fn exact(key: Key) -> Pattern {
        Pattern { key, class: 0 }
    }
    /// Without wildcards in `exact`, the key itself.
    pub fn key(&self) -> Key {
        self.key
    }
    /// The source that it names, if it names one.
    pub fn source(&self) -> Option<Rank> {
        (self.class & 1 == 0).then_some(self.key.source)
    }
    fn accepts(&self, key: Key) -> bool {
        count_comparison();
        key.masked(self.class) == self.key
    }
}

impl Key {
    /// Hash whose places in a table are next to each other for 16 sources in a row: messages often come in their order,
    /// and what one of them reads is in the cache for the next.
    fn hash(self) -> u64 {
        let Key { context, source, tag } = self;
        let (row, place) = (source.0 / 16, u64::from(source.0 % 16));
        let hash = BuildHasherDefault::<Mix>::default().hash_one((context, row, tag));
        // The lowest bits say where a table looks, the highest seven what it compares there.
        (hash << 4 | place) ^ place << 57
    }

    fn masked(self, class: u8) -> Key {
        Key {
            context: self.context,
            source: if class & 1 == 0 { self.source } else { Rank(0) },
            tag: if class & 2 == 0 { self.tag } else { 0 },
        }
    }
}

/// Posted receives, or waiting messages, in order.
#[derive(Debug)]
pub(crate) struct Lists<T> {
    short: Vec<(Pattern, T)>,
    long: Option<Box<Long<T>>>,
}

/// Up to here a linear search is the quickest.
const SHORT: usize = 48;

impl<T> Default for Lists<T> {
    fn default() -> Lists<T> {
        Lists { short: Vec::new(), long: None }
    }
}

impl<T> Lists<T> {
    /// Appends a posted receive under its pattern, or a message under its exact key.
    pub fn push(&mut self, pattern: Pattern, value: T) {
        if let Some(long) = &mut self.long {
            long.push(pattern, value);
        } else if self.short.len() < SHORT {
            // Many lists never hold more than one: their first memory is for one, not for several.
            if self.short.capacity() == 0 {
                self.short.reserve_exact(1);
            }
            self.short.push((pattern, value));
        } else {
            let mut long = Box::new(Long::new());
            self.short.drain(..).for_each(|(pattern, value)| long.push(pattern, value));
            long.push(pattern, value);
            self.long = Some(long);
        }
    }

    /// For a message that has come: takes the first receive that accepts it, and that `fits`.
    #[inline]
    pub fn take_receive(&mut self, key: Key, fits: impl Fn(&T) -> bool) -> Option<T> {
        if let Some(long) = &mut self.long {
            let at = long.receive_for(key, fits)?;
            return Some(self.take_long(at));
        }
        let at = self.short.iter().position(|(pattern, value)| pattern.accepts(key) && fits(value))?;
        Some(self.take_short(at).1)
    }

    /// For a receive that is posted: takes the first message that it accepts, and that `fits`.
    pub fn take_message(&mut self, pattern: Pattern, fits: impl Fn(&T) -> bool) -> Option<(Key, T)> {
        if let Some(long) = &mut self.long {
            let at = long.message_for(pattern, fits)?;
            let key = long.nodes[at as usize].pattern.key;
            return Some((key, self.take_long(at)));
        }
        let at = self.short.iter().position(|(held, value)| pattern.accepts(held.key) && fits(value))?;
        let (held, value) = self.take_short(at);
        Some((held.key, value))
    }

    /// Takes one out of a short list; the last one without a move of others.
    #[inline]
    fn take_short(&mut self, at: usize) -> (Pattern, T) {
        if at + 1 == self.short.len() {
            return self.short.pop().expect("just seen");
        }
        self.short.remove(at)
    }

    /// The first message that `pattern` accepts, left where it is.
    pub fn peek_message(&mut self, pattern: Pattern) -> Option<(Key, &T)> {
        if let Some(long) = &mut self.long {
            let at = long.message_for(pattern, |_| true)?;
            let node = &long.nodes[at as usize];
            return Some((node.pattern.key, &node.value));
        }
        let (held, value) = self.short.iter().find(|(held, _)| pattern.accepts(held.key))?;
        Some((held.key, value))
    }

    /// Takes out the entry that `wanted` points at, wherever it is: slow, for cancelling.
    pub fn remove(&mut self, wanted: impl Fn(Pattern, &T) -> bool) -> Option<T> {
        if let Some(long) = &self.long {
            let at = long.nodes.iter().find(|(_, node)| wanted(node.pattern, &node.value))?.0;
            return Some(self.take_long(at as u32));
        }
        let at = self.short.iter().position(|(pattern, value)| wanted(*pattern, value))?;
        Some(self.short.remove(at).1)
    }

    /// Visits all entries, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (Pattern, &T)> {
        let long = self.long.iter().flat_map(|long| long.nodes.iter());
        let short = self.short.iter().map(|(pattern, value)| (*pattern, value));
        short.chain(long.map(|(_, node)| (node.pattern, &node.value)))
    }

    /// Visits all entries to change them, in no particular order.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        let long = self.long.iter_mut().flat_map(|long| long.nodes.iter_mut());
        self.short.iter_mut().map(|(_, value)| value).chain(long.map(|(_, node)| &mut node.value))
    }

    /// Asks the processor for the first of a short list.
    pub fn prefetch(&self) {
        engine::prefetch(&self.short, 0);
    }

    /// Is nothing there?
    pub fn is_empty(&self) -> bool {
        self.short.is_empty() && self.long.is_none()
    }

    fn take_long(&mut self, at: u32) -> T {
        let long = self.long.as_mut().expect("the list is long");
        let value = long.remove(at);
        if long.nodes.is_empty() {
            self.long = None;
        }
        value
    }
}

const NONE: u32 = u32::MAX;

/// Those beside a node in a bucket. Before the first is the last, and behind the last nothing.
#[derive(Debug, Clone, Copy)]
struct Beside {
    before: u32,
    after: u32,
}

#[derive(Debug)]
struct Node<T> {
    pattern: Pattern,
    /// The classes in whose buckets the node is, one bit each.
    filed: u8,
    stamp: u64,
    /// In the bucket of its own class.
    beside: Beside,
    value: T,
}

/// Many entries. Tables hold numbers of nodes alone, so that long lists of many ranks, which are rarely in a cache, are read
/// in few places.
#[derive(Debug)]
struct Long<T> {
    nodes: Slab<Node<T>>,
    /// The first of each bucket, by class and key.
    buckets: [HashTable<u32>; CLASSES],
    /// In the buckets of classes that are not a node's own, by its number.
    beside: [Vec<Beside>; CLASSES],
    next_stamp: u64,
    /// The classes by which messages are filed besides the exact one: those that were asked for.
    asked: u8,
}

impl<T> Long<T> {
    fn new() -> Long<T> {
        Long {
            nodes: Slab::new(),
            buckets: Default::default(),
            beside: Default::default(),
            next_stamp: 0,
            asked: 0,
        }
    }

    fn push(&mut self, pattern: Pattern, value: T) {
        let beside = Beside { before: NONE, after: NONE };
        let node = Node { pattern, filed: 0, stamp: self.next_stamp, beside, value };
        self.next_stamp += 1;
        let at = self.nodes.insert(node) as u32;
        self.file(at, pattern.class);
        let asked = self.asked;
        for class in (0..CLASSES as u8).filter(|class| asked >> class & 1 == 1) {
            self.file(at, class);
        }
    }

    /// Those beside the node in its bucket of `class`.
    fn beside(&mut self, at: u32, class: u8) -> &mut Beside {
        let node = &mut self.nodes[at as usize];
        if node.pattern.class == class {
            return &mut node.beside;
        }
        let all = &mut self.beside[usize::from(class)];
        if at as usize >= all.len() {
            all.resize(at as usize + 1, Beside { before: NONE, after: NONE });
        }
        &mut all[at as usize]
    }

    /// Appends the node to its bucket of `class`.
    fn file(&mut self, at: u32, class: u8) {
        let node = &mut self.nodes[at as usize];
        node.filed |= 1 << class;
        let key = node.pattern.key.masked(class);
        let nodes = &self.nodes;
        let key_of = |at: u32| nodes[at as usize].pattern.key.masked(class);
        let bucket = self.buckets[usize::from(class)].entry(
            key.hash(),
            |first| key_of(*first) == key,
            |first| key_of(*first).hash(),
        );
        let first = *bucket.or_insert(at).get();
        if first == at {
            *self.beside(at, class) = Beside { before: at, after: NONE };
            return;
        }
        let last = std::mem::replace(&mut self.beside(first, class).before, at);
        self.beside(last, class).after = at;
        *self.beside(at, class) = Beside { before: last, after: NONE };
    }

    /// Files all messages by `class`, in order, from the first time that a receive asks so.
    fn index(&mut self, class: u8) {
        if class == 0 || self.asked >> class & 1 == 1 {
            return;
        }
        self.asked |= 1 << class;
        let mut order: Vec<(u64, u32)> =
            self.nodes.iter().map(|(at, node)| (node.stamp, at as u32)).collect();
        order.sort_unstable();
        order.iter().for_each(|(_, at)| self.file(*at, class));
    }

    /// The first of the bucket of `class` and `key`.
    fn first_of(&mut self, class: u8, key: Key) -> Option<u32> {
        let nodes = &self.nodes;
        let has_key = |first: &u32| {
            count_comparison();
            nodes[*first as usize].pattern.key.masked(class) == key
        };
        self.buckets[usize::from(class)].find(key.hash(), has_key).copied()
    }

    /// The first of the bucket of `class` and `key` that `fits`.
    fn first(&mut self, class: u8, key: Key, fits: impl Fn(&T) -> bool) -> Option<u32> {
        count_comparison();
        let mut at = self.first_of(class, key)?;
        while at != NONE {
            count_comparison();
            if fits(&self.nodes[at as usize].value) {
                return Some(at);
            }
            at = self.beside(at, class).after;
        }
        None
    }

    fn receive_for(&mut self, key: Key, fits: impl Fn(&T) -> bool) -> Option<u32> {
        let mut found: Option<u32> = None;
        for class in 0..CLASSES as u8 {
            if self.buckets[usize::from(class)].is_empty() {
                continue;
            }
            let Some(at) = self.first(class, key.masked(class), &fits) else { continue };
            let stamp = |at: u32| self.nodes[at as usize].stamp;
            if found.is_none_or(|found| stamp(at) < stamp(found)) {
                found = Some(at);
            }
        }
        found
    }

    fn message_for(&mut self, pattern: Pattern, fits: impl Fn(&T) -> bool) -> Option<u32> {
        self.index(pattern.class);
        self.first(pattern.class, pattern.key, fits)
    }

    fn remove(&mut self, at: u32) -> T {
        let Node { filed, .. } = self.nodes[at as usize];
        for class in (0..CLASSES as u8).filter(|class| filed >> class & 1 == 1) {
            self.unfile(at, class);
        }
        self.nodes.remove(at as usize).value
    }

    /// Takes the node out of its bucket of `class`.
    fn unfile(&mut self, at: u32, class: u8) {
        let Beside { before, after } = *self.beside(at, class);
        let key = self.nodes[at as usize].pattern.key.masked(class);
        let is_first = before == at || self.beside(before, class).after != at;
        let table = &mut self.buckets[usize::from(class)];
        if before == at {
            let entry = table.find_entry(key.hash(), |first| *first == at);
            entry.expect("a filed node has a bucket").remove();
            return;
        }
        if is_first {
            let first = table.find_mut(key.hash(), |first| *first == at);
            *first.expect("a filed node has a bucket") = after;
        } else {
            self.beside(before, class).after = after;
        }
        let behind = if after == NONE { self.first_of(class, key).expect("others are there") } else { after };
        self.beside(behind, class).before = before;
    }
}

#[cfg(not(test))]
fn count_comparison() {}

#[cfg(test)]
use tests::count_comparison;

#[cfg(test)]
mod tests {
    use super::*;
    use engine::random::stream;
    use rand_chacha::rand_core::RngCore;
    use std::cell::Cell;

    thread_local!(static COMPARISONS: Cell<u64> = const { Cell::new(0) });

    pub fn count_comparison() {
        COMPARISONS.set(COMPARISONS.get() + 1);
    }

    /// The standard's rules, word for word, on plain lists.
    #[derive(Default)]
    struct Oracle {
        receives: Vec<(Option<u32>, Option<u32>, u32)>,
        messages: Vec<(u32, u32, u32)>,
    }

    fn accepts(receive: (Option<u32>, Option<u32>), message: (u32, u32)) -> bool {
        receive.0.is_none_or(|source| source == message.0) && receive.1.is_none_or(|tag| tag == message.1)
    }

    impl Oracle {
        fn arrive(&mut self, source: u32, tag: u32, number: u32) -> Option<u32> {
            let at = self.receives.iter().position(|r| accepts((r.0, r.1), (source, tag)));
            match at {
                Some(at) => Some(self.receives.remove(at).2),
                None => {
                    self.messages.push((source, tag, number));
                    None
                }
            }
        }
        fn post(&mut self, source: Option<u32>, tag: Option<u32>, number: u32) -> Option<u32> {
            let at = self.messages.iter().position(|m| accepts((source, tag), (m.0, m.1)));
            match at {
                Some(at) => Some(self.messages.remove(at).2),
                None => {
                    self.receives.push((source, tag, number));
                    None
                }
            }
        }
    }

    #[derive(Default)]
    struct Engine {
        receives: Lists<u32>,
        messages: Lists<u32>,
    }

    impl Engine {
        fn arrive(&mut self, source: u32, tag: u32, number: u32) -> Option<u32> {
            let key = Key { context: CommId(3), source: Rank(source), tag };
            let found = self.receives.take_receive(key, |_| true);
            if found.is_none() {
                self.messages.push(Pattern::exact(key), number);
            }
            found
        }
        fn post(&mut self, source: Option<u32>, tag: Option<u32>, number: u32) -> Option<u32> {
            let pattern = Pattern::new(CommId(3), source.map(Rank), tag);
            let peeked = self.messages.peek_message(pattern).map(|(_, value)| *value);
            let found = self.messages.take_message(pattern, |_| true).map(|(_, value)| value);
            assert_eq!(peeked, found);
            if found.is_none() {
                self.receives.push(pattern, number);
            }
            found
        }
    }

    /// Random posts and arrivals, in phases where one or the other prevails, so that both lists grow
    /// long and drain; the same as the oracle at every step.
    #[test]
    fn agrees_with_the_standard_s_rules_on_plain_lists() {
        for seed in 0..40 {
            let mut random = stream(seed, "matching-test", 0);
            let (mut engine, mut oracle) = (Engine::default(), Oracle::default());
            let (sources, tags) = (1 + random.next_u32() % 6, 1 + random.next_u32() % 6);
            for number in 0..3_000 {
                let bias = if number / 400 % 2 == 0 { 7 } else { 3 };
                let (source, tag) = (random.next_u32() % sources, random.next_u32() % tags);
                if random.next_u32() % 10 < bias {
                    let expected = oracle.arrive(source, tag, number);
                    assert_eq!(engine.arrive(source, tag, number), expected, "seed {seed}, step {number}");
                } else if random.next_u32() % 16 == 0 {
                    let target = random.next_u32() % (number + 1);
                    let at = oracle.receives.iter().position(|receive| receive.2 == target);
                    let expected = at.map(|at| oracle.receives.remove(at).2);
                    assert_eq!(engine.receives.remove(|_, value| *value == target), expected);
                } else {
                    let source = (random.next_u32() % 3 > 0).then_some(source);
                    let tag = (random.next_u32() % 3 > 0).then_some(tag);
                    let expected = oracle.post(source, tag, number);
                    assert_eq!(engine.post(source, tag, number), expected, "seed {seed}, step {number}");
                }
            }
            assert_eq!(engine.receives.iter().count(), oracle.receives.len());
            assert_eq!(engine.messages.iter().count(), oracle.messages.len());
        }
    }

    /// 100,000 waiting, matched in the order that is worst for a list: last first.
    #[test]
    fn a_match_costs_no_more_when_a_hundred_thousand_wait() {
        const COUNT: u32 = 100_000;
        for (wild, apart) in [(None, 1), (Some(7), 1), (Some(7), 16), (Some(7), 4096)] {
            COMPARISONS.set(0);
            let mut engine = Engine::default();
            let all = || (0..COUNT).map(|number| number * apart);
            all().for_each(|source| assert_eq!(engine.post(Some(source), wild, source), None));
            all().rev().for_each(|source| assert_eq!(engine.arrive(source, 7, source), Some(source)));
            assert!(engine.receives.is_empty());
            all().for_each(|source| assert_eq!(engine.arrive(source, 7, source), None));
            all().rev().for_each(|source| assert_eq!(engine.post(Some(source), wild, 0), Some(source)));
            assert!(engine.messages.is_empty());
            // Four operations each, with a few looks at heads of buckets in every one.
            let comparisons = COMPARISONS.get();
            assert!(comparisons < 12 * 4 * u64::from(COUNT), "{comparisons} comparisons");
        }
    }
}
