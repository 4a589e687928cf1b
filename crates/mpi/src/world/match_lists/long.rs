//! Long lists: nodes in order, found by hash.

use hashbrown::HashTable;
use slab::Slab;

use super::{CLASSES, Key, Pattern, count_comparison};

const NONE: u32 = u32::MAX;

/// Those beside a node in a bucket. Before the first is the last, and behind the last nothing.
#[derive(Debug, Clone, Copy)]
struct Beside {
    before: u32,
    after: u32,
}

#[derive(Debug)]
pub(super) struct Node<T> {
    pub pattern: Pattern,
    /// The classes in whose buckets the node is, one bit each.
    filed: u8,
    stamp: u64,
    /// In the bucket of its own class.
    beside: Beside,
    /// The node that was pushed after it, the likely next to be taken.
    successor: u32,
    pub value: T,
}

/// Many entries. Tables hold numbers of nodes alone, so that long lists of many ranks, which are rarely in a cache, are read
/// in few places.
#[derive(Debug)]
pub(super) struct Long<T> {
    pub nodes: Slab<Node<T>>,
    /// The first of each bucket, by class and key.
    buckets: [HashTable<u32>; CLASSES],
    /// In the buckets of classes that are not a node's own, by its number.
    beside: [Vec<Beside>; CLASSES],
    next_stamp: u64,
    /// The node that was pushed last.
    last: u32,
    /// The classes by which messages are filed besides the exact one: those that were asked for.
    asked: u8,
}

impl<T> Long<T> {
    pub fn new() -> Long<T> {
        Long {
            nodes: Slab::new(),
            buckets: Default::default(),
            beside: Default::default(),
            next_stamp: 0,
            last: NONE,
            asked: 0,
        }
    }

    pub fn push(&mut self, pattern: Pattern, value: T) {
        let beside = Beside { before: NONE, after: NONE };
        let node = Node { pattern, filed: 0, stamp: self.next_stamp, beside, successor: NONE, value };
        self.next_stamp += 1;
        let at = self.nodes.insert(node) as u32;
        if let Some(last) = self.nodes.get_mut(self.last as usize) {
            last.successor = at;
        }
        self.last = at;
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

    pub fn receive_for(&mut self, key: Key, fits: impl Fn(&T) -> bool) -> Option<u32> {
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

    pub fn message_for(&mut self, pattern: Pattern, fits: impl Fn(&T) -> bool) -> Option<u32> {
        self.index(pattern.class);
        self.first(pattern.class, pattern.key, fits)
    }

    pub fn remove(&mut self, at: u32) -> T {
        let Node { filed, successor, .. } = self.nodes[at as usize];
        // Nodes are often taken in the order in which they were pushed.
        if let Some(next) = self.nodes.get(successor as usize) {
            engine::prefetch_start(next, size_of::<Node<T>>());
        }
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
