//! The streams of flows, the links that each runs over, and the changes that call for new shares.
//!
//! Flows of one regime that run over the same links are one stream: each has the rate of the others,
//! so shares are found for streams. The first of them to end is the stream's; it has `due` on the link
//! that holds the stream back, and the others are that much later than it, whatever the rate.

use engine::{Bytes, Time};

use super::Sharing;
use super::classes::{Classes, UNLIMITED};
use super::links::{Entry, Links};
use super::members::Members;
use crate::model::rate::{Rate, Weight, Work};
use crate::topology::{HostId, LinkId};

pub(super) const NONE: u32 = u32::MAX;

/// Flows over the same links, as the computation of shares sees them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stream {
    /// The link that holds it back: its level is the rate of each flow. `NONE` until it is computed first.
    pub bottleneck: u32,
    /// How many flows there are; none for a stream that waits for its next message.
    pub count: u32,
    /// The hop on the bottleneck; the first one until there is one.
    hop: u32,
    /// Its hops: where they begin, and how many.
    path: (u32, u16),
    regime: u8,
}

/// The event of a stream.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wake {
    /// Who sends, and owns the event.
    pub host: HostId,
    /// When it is due: no later than the stream's first end, if that is the first of those that its
    /// bottleneck holds back. Others need none: when the first ends, rates are computed anew.
    pub at: Time,
    /// The version that counts.
    pub version: u32,
}

/// Streams, links, and what has changed since shares were last computed.
pub(super) struct Streams {
    pub all: Vec<Stream>,
    /// The event of each.
    pub wakes: Vec<Wake>,
    members: Vec<Members>,
    /// The way out of each one's process, and the NIC that it leads to, if it can be a limit.
    ways_out: Vec<Option<(u32, u32)>>,
    /// Numbers of streams that are not in use.
    unused: Vec<u32>,
    /// How many flows have begun.
    begun: u64,
    pub links: Links,
    pub classes: Classes,
    /// The links of all paths,
    pub hops: Vec<u32>,
    /// and of each its place among the link's streams.
    positions: Vec<u32>,
    /// Free stretches of `hops`, by the binary logarithm of their length.
    free: [Vec<u32>; 17],
    /// Links that flows came to or left, or whose capacity is another: their `dirty` is set.
    pub changed: Vec<u32>,
    /// Links for whose streams the first end is to be found: their `noted` is set.
    pub noted: Vec<u32>,
    sharing: Sharing,
}

/// How a flow begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Begin {
    /// No other flow is on its links: it has their rate.
    Alone,
    /// Its rate is to be computed.
    Shared,
}

impl Streams {
    pub fn new(links: Links, classes: Classes, sharing: Sharing) -> Streams {
        Streams {
            all: Vec::new(),
            wakes: Vec::new(),
            members: Vec::new(),
            ways_out: Vec::new(),
            unused: Vec::new(),
            begun: 0,
            links,
            classes,
            hops: Vec::new(),
            positions: Vec::new(),
            free: Default::default(),
            changed: Vec::new(),
            noted: Vec::new(),
            sharing,
        }
    }

    /// Makes a stream from `host` over the links of `path`, which passes none twice; it leaves its process by
    /// `way_out` to a NIC, if that can be a limit.
    pub fn open(&mut self, host: HostId, regime: u8, path: &[LinkId], way_out: Option<(u32, u32)>) -> u32 {
        let first = self.reserve(path.len());
        let length = u16::try_from(path.len()).expect("a path has fewer than 65,536 links");
        for (hop, link) in self.hops[first as usize..].iter_mut().zip(path) {
            *hop = link.0;
        }
        let stream = Stream { bottleneck: NONE, count: 0, hop: first, path: (first, length), regime };
        let number = self.unused.pop().unwrap_or_else(|| {
            self.all.push(stream);
            self.wakes.push(Wake { host, at: Time::NEVER, version: 0 });
            self.members.push(Members::default());
            self.ways_out.push(way_out);
            u32::try_from(self.all.len() - 1).expect("fewer than 2^32 streams")
        });
        self.all[number as usize] = stream;
        self.wakes[number as usize].host = host;
        self.ways_out[number as usize] = way_out;
        number
    }

    /// Forgets a stream without flows.
    pub fn close(&mut self, stream: u32) {
        let Stream { count, path: (first, length), .. } = self.all[stream as usize];
        assert_eq!(count, 0, "a stream is closed when its flows have ended");
        self.free[order_of(usize::from(length))].push(first);
        self.unused.push(stream);
    }

    /// The links of a stream.
    pub fn path(&self, stream: u32) -> &[u32] {
        &self.hops[self.hop_range(stream)]
    }

    /// A message of `bytes` on the wire has passed the links of `stream`.
    pub fn carry(&mut self, stream: u32, bytes: Bytes) {
        let hops = self.hop_range(stream);
        self.hops[hops].iter().for_each(|at| self.links.carry(LinkId(*at), bytes));
    }

    fn hop_range(&self, stream: u32) -> std::ops::Range<usize> {
        let (first, length) = self.all[stream as usize].path;
        first as usize..first as usize + usize::from(length)
    }

    /// Does nothing on its path limit a stream?
    pub fn is_unlimited(&self, stream: u32) -> bool {
        let regime = self.all[stream as usize].regime;
        self.path(stream).iter().all(|at| {
            let class = self.links.all[*at as usize].class;
            let takes_part = self.classes.weight(class, regime) != Weight(0);
            !takes_part || self.links.capacities[*at as usize] == UNLIMITED
        })
    }

    /// Begins a flow of `stream`, that of the message in slot `flow`.
    pub fn begin(&mut self, now: Time, stream: u32, flow: u32, size: Bytes) -> Begin {
        let left = Work::of(size);
        let number = self.begun;
        self.begun += 1;
        let Stream { bottleneck, count, .. } = self.all[stream as usize];
        self.all[stream as usize].count += 1;
        if count == 0 {
            self.members[stream as usize].insert(left, number, flow);
            return self.enter(now, stream, left);
        }
        let due = if bottleneck == NONE { left } else { self.links.clock(bottleneck, now).more(left) };
        self.members[stream as usize].insert(due, number, flow);
        self.follow_first(stream);
        self.add(stream);
        Begin::Shared
    }

    /// The first flow of a stream enters its links, and has so much to move.
    fn enter(&mut self, now: Time, stream: u32, due: Work) -> Begin {
        let Stream { path: (path, length), regime, .. } = self.all[stream as usize];
        self.wakes[stream as usize].at = Time::NEVER;
        let mut alone = true;
        for hop in 0..length {
            let entry = Entry { due, stream, path, length, hop, regime };
            let at = self.hops[entry.place()];
            let entries = &mut self.links.entries[at as usize];
            self.positions[entry.place()] = entries.len() as u32;
            let is_first = entries.is_empty();
            entries.push(entry);
            if !is_first {
                alone = false;
                continue;
            }
            self.links.begin(now, LinkId(at));
            if let Some((out, nic)) = self.ways_out[stream as usize]
                && out == at
            {
                self.count_active(nic, true);
            }
        }
        if alone {
            self.take_all(now, stream);
            return Begin::Alone;
        }
        for hop in self.hop_range(stream) {
            let at = self.hops[hop];
            let link = &mut self.links.all[at as usize];
            link.fresh += 1;
            link.load += 1;
            self.change(at);
        }
        Begin::Shared
    }

    /// One more flow of a stream is on its links. It has the rate of the others until shares are computed.
    fn add(&mut self, stream: u32) {
        let Stream { bottleneck, regime, .. } = self.all[stream as usize];
        let rate = self.rate(stream);
        for hop in self.hop_range(stream) {
            let at = self.hops[hop];
            let link = &mut self.links.all[at as usize];
            link.load += 1;
            if bottleneck == NONE {
                link.fresh += 1;
            } else {
                link.spare -= self.classes.weight(link.class, regime).takes(rate) as i64;
                link.held += u32::from(at == bottleneck);
            }
            self.change(at);
        }
    }

    /// Gives `stream`, whose one flow is alone on its links, all that they have.
    fn take_all(&mut self, now: Time, stream: u32) {
        let Stream { path: (first, length), regime, .. } = self.all[stream as usize];
        let hops = first..first + u32::from(length);
        let (mut rate, mut narrowest) = (Rate::INFINITE, first);
        for hop in hops.clone() {
            let at = self.hops[hop as usize];
            let class = self.links.all[at as usize].class;
            let share = self.links.equal_share(at, self.classes.weight(class, regime).0);
            let share = share.min(self.classes.alone(class, regime));
            if self.sharing == Sharing::EqualShare {
                self.links.set_level(at, share, now);
            }
            if share < rate {
                (rate, narrowest) = (share, hop);
            }
        }
        for hop in hops {
            let at = self.hops[hop as usize] as usize;
            let link = &mut self.links.all[at];
            let takes = self.classes.weight(link.class, regime).takes(rate);
            link.spare = (self.links.capacities[at] - takes) as i64;
            link.load = 1;
        }
        let at = self.hops[narrowest as usize];
        self.links.set_level(at, rate, now);
        let clock = self.links.clock(at, now);
        let link = &mut self.links.all[at as usize];
        (link.keeps, link.held, link.top) = (1, 1, 0);
        let entry = &mut self.links.entries[at as usize][0];
        let before = entry.due;
        entry.due = clock.more(before);
        self.members[stream as usize].shift(before, entry.due);
        let stream = &mut self.all[stream as usize];
        (stream.bottleneck, stream.hop) = (at, narrowest);
    }

    /// The rate of each flow of `stream`: infinite until it is computed first.
    pub fn rate(&self, stream: u32) -> Rate {
        self.level_of(self.all[stream as usize].bottleneck)
    }

    /// The rate of what `bottleneck` holds back.
    pub fn level_of(&self, bottleneck: u32) -> Rate {
        self.links.all.get(bottleneck as usize).map_or(Rate::INFINITE, |link| Rate(link.level))
    }

    /// What the clock of its bottleneck shows when the first flow of `stream` ends.
    fn first_due(&self, stream: u32) -> Work {
        let Stream { hop, .. } = self.all[stream as usize];
        let at = self.hops[hop as usize];
        self.links.entries[at as usize][self.positions[hop as usize] as usize].due
    }

    /// What the first flow of `stream` has yet to move.
    pub fn left(&self, stream: u32, now: Time) -> Work {
        self.left_until(stream, self.first_due(stream), now)
    }

    fn left_until(&self, stream: u32, due: Work, now: Time) -> Work {
        let bottleneck = self.all[stream as usize].bottleneck;
        if bottleneck == NONE { due } else { due.less(self.links.clock(bottleneck, now)) }
    }

    /// The flows of `stream`, and what each has yet to move, in no order that matters.
    pub fn flows(&self, stream: u32, now: Time) -> impl Iterator<Item = (u32, Work)> {
        let members = self.members[stream as usize].iter();
        members.map(move |(flow, due)| (flow, self.left_until(stream, due, now)))
    }

    /// When `stream` ends its first flow, if that ends first of those that its bottleneck holds back.
    pub fn end_if_first(&self, stream: u32, now: Time) -> Option<Time> {
        let (end, reached) = self.links.first_end(self.all[stream as usize].bottleneck, now)?;
        (self.first_due(stream) <= reached).then_some(end)
    }

    /// Link `at` holds its stream at `position` back instead of the one that did so far, or from the start.
    pub fn hold_back(&mut self, at: u32, position: u32, now: Time) {
        let entry = self.links.entries[at as usize][position as usize];
        let Stream { bottleneck, hop, count, .. } = self.all[entry.stream as usize];
        let before = self.first_due(entry.stream);
        let left = self.left(entry.stream, now);
        if bottleneck == NONE {
            self.hops[entry.hops()].iter().for_each(|at| self.links.all[*at as usize].fresh -= count);
        } else {
            self.links.all[bottleneck as usize].held -= count;
            self.release(bottleneck, self.positions[hop as usize]);
        }
        let due = self.links.clock(at, now).more(left);
        self.members[entry.stream as usize].shift(before, due);
        self.links.entries[at as usize][position as usize].due = due;
        let link = &mut self.links.all[at as usize];
        link.keeps += 1;
        link.held += count;
        let last = link.keeps - 1;
        self.swap(at, position, last);
        let stream = &mut self.all[entry.stream as usize];
        (stream.bottleneck, stream.hop) = (at, entry.place() as u32);
    }

    /// Link `at` holds its stream at `position` back no longer. Gives its new position.
    fn release(&mut self, at: u32, position: u32) -> u32 {
        let link = &mut self.links.all[at as usize];
        link.keeps -= 1;
        let last = link.keeps;
        self.swap(at, position, last);
        last
    }

    /// Swaps two streams of link `at`.
    fn swap(&mut self, at: u32, one: u32, other: u32) {
        let entries = &mut self.links.entries[at as usize];
        entries.swap(one as usize, other as usize);
        self.positions[entries[one as usize].place()] = one;
        self.positions[entries[other as usize].place()] = other;
    }

    /// The position of a stream on the link of its hop `hop`.
    pub fn position(&self, hop: usize) -> u32 {
        self.positions[hop]
    }

    /// Notes that among the streams that link `at` holds back another may end first.
    pub fn note(&mut self, at: u32) {
        let link = &mut self.links.all[at as usize];
        if !link.noted {
            link.noted = true;
            self.noted.push(at);
        }
    }

    /// Takes the first flow of `stream` that has nothing left to move, if there is one.
    pub fn take_ended(&mut self, now: Time, stream: u32) -> Option<u32> {
        if self.all[stream as usize].count == 0 || self.left(stream, now) > Work::ZERO {
            return None;
        }
        self.members[stream as usize].take_first()
    }

    /// Ends a flow of `stream` that was taken, and has moved `bytes` on the wire.
    pub fn end(&mut self, now: Time, stream: u32, bytes: Bytes) {
        let Stream { bottleneck, regime, count, .. } = self.all[stream as usize];
        let rate = self.rate(stream);
        let is_last = count == 1;
        for hop in self.hop_range(stream) {
            let (at, mut position) = (self.hops[hop], self.positions[hop]);
            let holds = at == bottleneck;
            if is_last {
                if holds {
                    position = self.release(at, position);
                }
                let entries = &mut self.links.entries[at as usize];
                entries.swap_remove(position as usize);
                if let Some(moved) = entries.get(position as usize) {
                    self.positions[moved.place()] = position;
                }
            }
            let link = &mut self.links.all[at as usize];
            link.held -= u32::from(holds);
            link.load -= 1;
            link.spare += self.classes.weight(link.class, regime).takes(rate) as i64;
            if link.load == 0 {
                link.level = 0;
                self.links.end(now, LinkId(at));
                if let Some((out, nic)) = self.ways_out[stream as usize]
                    && out == at
                {
                    self.count_active(nic, false);
                }
            } else if link.keeps > 0 || self.sharing == Sharing::EqualShare {
                self.change(at);
            }
            self.links.carry(LinkId(at), bytes);
        }
        let stream_now = &mut self.all[stream as usize];
        stream_now.count -= 1;
        if is_last {
            (stream_now.bottleneck, stream_now.hop) = (NONE, stream_now.path.0);
        } else {
            self.follow_first(stream);
        }
    }

    /// The first flow of `stream` is another one.
    fn follow_first(&mut self, stream: u32) {
        let Stream { hop, .. } = self.all[stream as usize];
        let Some((_, due)) = self.members[stream as usize].first() else { return };
        let at = self.hops[hop as usize];
        self.links.entries[at as usize][self.positions[hop as usize] as usize].due = due;
    }

    /// Notes that link `at` has changed.
    fn change(&mut self, at: u32) {
        let link = &mut self.links.all[at as usize];
        if !link.dirty {
            link.dirty = true;
            self.changed.push(at);
        }
    }

    /// A process begins or ends to send over `nic`: where that changes what the others can send, their ways
    /// out change.
    fn count_active(&mut self, nic: u32, begins: bool) {
        let Some(ways) = self.links.count_active(nic, begins) else { return };
        let class = self.links.out_class(nic);
        for at in ways {
            let link = &mut self.links.all[at as usize];
            if link.class == class {
                continue;
            }
            link.class = class;
            let capacity = self.classes.capacity(class);
            self.links.capacities[at as usize] = capacity;
            let entries = &self.links.entries[at as usize];
            let used = entries.iter().map(|entry| {
                let Stream { bottleneck, count, .. } = self.all[entry.stream as usize];
                let takes = self.classes.weight(class, entry.regime).takes(self.rate(entry.stream));
                if bottleneck == NONE { 0 } else { takes * u64::from(count) }
            });
            let used: u64 = used.sum();
            let is_empty = entries.is_empty();
            self.links.all[at as usize].spare = capacity as i64 - used as i64;
            if !is_empty {
                self.change(at);
            }
        }
    }

    /// A free stretch of hops for a path of `length`.
    fn reserve(&mut self, length: usize) -> u32 {
        let order = order_of(length);
        self.free[order].pop().unwrap_or_else(|| {
            let first = self.hops.len();
            self.hops.resize(first + (1 << order), 0);
            self.positions.resize(self.hops.len(), 0);
            u32::try_from(first).expect("fewer than 2^32 hops at a time")
        })
    }
}

/// The smallest power of two that holds `length`, as its exponent.
fn order_of(length: usize) -> usize {
    length.next_power_of_two().trailing_zeros() as usize
}
