//! Matching: which message goes to which receive, by context, source and tag, in the standard's order.
//!
//! A message takes the receive posted first of those that accept it; a receive takes the message that
//! came first of those that it accepts (MPI 4.0, section 3.5). Short lists are searched linearly.
//! Longer ones are hashed by the four kinds of pattern (exact, any source, any tag, both), each bucket
//! in order, and the earliest of the heads wins: the work for a match does not grow with the list.
//! Source of the bins: Flajslik, Dinan, Underwood, "Mitigating MPI message matching misery" (ISC 2016).

mod long;
#[cfg(test)]
mod tests;

use std::hash::{BuildHasher, BuildHasherDefault};

use engine::hash::Mix;

use crate::operation::{CommId, Rank, Tag};
use long::Long;

/// Matching key of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

#[cfg(not(test))]
fn count_comparison() {}

#[cfg(test)]
use tests::count_comparison;
