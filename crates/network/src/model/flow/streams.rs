//! Streams of connections, the links that each crosses, and the changes that require new shares.
//!
//! A stream carries one message after the other. As long as the next message waits when one ends, no rate
//! changes: the stream stays on its links, and only its `due` on its bottleneck moves on.

use engine::{Bytes, Time};

use super::Sharing;
use super::classes::{Classes, UNLIMITED};
use super::links::{Entry, Links};
use crate::model::rate::{Rate, Weight, Work};
use crate::topology::{HostId, LinkId};

pub(super) const NONE: u32 = u32::MAX;

/// A connection on its links, as the computation of shares sees it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stream {
    /// The link that holds it back: its level is the stream's rate. `NONE` until it is computed first.
    pub bottleneck: u32,
    /// The message that flows, as its slot; `NONE` for a stream that waits for its next message.
    pub flow: u32,
    /// The hop on the bottleneck; the first one until there is one.
    hop: u32,
    /// Its hops: where they begin, and how many.
    path: (u32, u16),
    regime: u8,
}

/// The event of a stream.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wake {
    /// Sender, which owns the event.
    pub host: HostId,
    /// Time at which it is due: no later than the end of the stream's message, if that ends first of those that its
    /// bottleneck holds back. The others need no event: when the first ends, the next one is looked for.
    pub at: Time,
    /// The version that counts.
    pub version: u32,
}

/// Streams, links, and what has changed since shares were last computed.
pub(super) struct Streams {
    pub all: Vec<Stream>,
    /// The event of each.
    pub wakes: Vec<Wake>,
    /// The way out of each one's process, and the NIC that it leads to, if it can be a limit.
    ways_out: Vec<Option<(u32, u32)>>,
    /// Numbers of streams that are not in use.
    unused: Vec<u32>,
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

/// Beginning of a flow.
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
            ways_out: Vec::new(),
            unused: Vec::new(),
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
    pub fn open(&mut self, host: HostId, path: &[LinkId], way_out: Option<(u32, u32)>) -> u32 {
        let first = self.reserve(path.len());
        let length = u16::try_from(path.len()).expect("a path has fewer than 65,536 links");
        for (hop, link) in self.hops[first as usize..].iter_mut().zip(path) {
            *hop = link.0;
        }
        let stream = Stream { bottleneck: NONE, flow: NONE, hop: first, path: (first, length), regime: 0 };
        let number = self.unused.pop().unwrap_or_else(|| {
            self.all.push(stream);
            self.wakes.push(Wake { host, at: Time::NEVER, version: 0 });
            self.ways_out.push(way_out);
            u32::try_from(self.all.len() - 1).expect("fewer than 2^32 streams")
        });
        self.all[number as usize] = stream;
        self.wakes[number as usize].host = host;
        self.ways_out[number as usize] = way_out;
        number
    }

    /// Forgets a stream without a flow.
    pub fn close(&mut self, stream: u32) {
        let Stream { flow, path: (first, length), .. } = self.all[stream as usize];
        assert_eq!(flow, NONE, "a stream is closed when its last message has ended");
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

    /// True if nothing on the path of `stream` limits a message of `regime`.
    pub fn is_unlimited(&self, stream: u32, regime: u8) -> bool {
        self.path(stream).iter().all(|at| {
            let class = self.links.all[*at as usize].class;
            let takes_part = self.classes.weight(class, regime) != Weight(0);
            !takes_part || self.links.capacities[*at as usize] == UNLIMITED
        })
    }

    /// Lets the message in slot `flow`, of `size` and `regime`, flow on `stream`, which has none.
    pub fn begin(&mut self, now: Time, stream: u32, flow: u32, (size, regime): (Bytes, u8)) -> Begin {
        let state = &mut self.all[stream as usize];
        assert_eq!(state.flow, NONE, "a connection sends one message after the other");
        (state.flow, state.regime) = (flow, regime);
        self.enter(now, stream, Work::of(size))
    }

    /// Lets the message in slot `flow`, of `size` and the same regime, follow the one of `stream` that has just ended. If
    /// it has waited, it flows from the exact end of that one, which may lie a part of a picosecond in the past.
    pub fn follow(&mut self, now: Time, stream: u32, flow: u32, (size, has_waited): (Bytes, bool)) -> Begin {
        let Stream { bottleneck, hop, .. } = self.all[stream as usize];
        self.all[stream as usize].flow = flow;
        let clock = self.links.clock(bottleneck, now);
        let entry = &mut self.links.entries[bottleneck as usize][self.positions[hop as usize] as usize];
        let begin = if has_waited { entry.due } else { clock };
        entry.due = begin.more(Work::of(size));
        if self.links.all[bottleneck as usize].keeps == 1 {
            return Begin::Alone;
        }
        self.note(bottleneck);
        Begin::Shared
    }

    /// Puts the flow of a stream, with `due` work, on its links.
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

    /// Gives `stream`, which is alone on its links, all that they have.
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
        (link.keeps, link.top) = (1, 0);
        let entry = &mut self.links.entries[at as usize][0];
        entry.due = clock.more(entry.due);
        let stream = &mut self.all[stream as usize];
        (stream.bottleneck, stream.hop) = (at, narrowest);
    }

    /// The rate of `stream`: infinite until it is computed first.
    pub fn rate(&self, stream: u32) -> Rate {
        self.level_of(self.all[stream as usize].bottleneck)
    }

    /// The rate of what `bottleneck` holds back.
    pub fn level_of(&self, bottleneck: u32) -> Rate {
        self.links.all.get(bottleneck as usize).map_or(Rate::INFINITE, |link| Rate(link.level))
    }

    /// Reading of its bottleneck's clock at the end of the message of `stream`.
    fn due(&self, stream: u32) -> Work {
        let Stream { hop, .. } = self.all[stream as usize];
        let at = self.hops[hop as usize];
        self.links.entries[at as usize][self.positions[hop as usize] as usize].due
    }

    /// Work that is left of the message of `stream`.
    pub fn left(&self, stream: u32, now: Time) -> Work {
        let (bottleneck, due) = (self.all[stream as usize].bottleneck, self.due(stream));
        if bottleneck == NONE { due } else { due.less(self.links.clock(bottleneck, now)) }
    }

    /// Time at which the message of `stream` ends, if it ends first of those that its bottleneck holds back.
    pub fn end_if_first(&self, stream: u32, now: Time) -> Option<Time> {
        let (end, reached) = self.links.first_end(self.all[stream as usize].bottleneck, now)?;
        (self.due(stream) <= reached).then_some(end)
    }

    /// Link `at` holds its stream at `position` back instead of the one that did so far, or from the start.
    pub fn hold_back(&mut self, at: u32, position: u32, now: Time) {
        let entry = self.links.entries[at as usize][position as usize];
        let Stream { bottleneck, hop, .. } = self.all[entry.stream as usize];
        let left = self.left(entry.stream, now);
        if bottleneck == NONE {
            self.hops[entry.hops()].iter().for_each(|at| self.links.all[*at as usize].fresh -= 1);
        } else {
            self.release(bottleneck, self.positions[hop as usize]);
        }
        let due = self.links.clock(at, now).more(left);
        self.links.entries[at as usize][position as usize].due = due;
        let link = &mut self.links.all[at as usize];
        link.keeps += 1;
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

    /// Takes `stream` off its links: its message has ended, and none follows.
    pub fn end(&mut self, now: Time, stream: u32) {
        let Stream { bottleneck, regime, path: (first, _), .. } = self.all[stream as usize];
        let rate = self.rate(stream);
        for hop in self.hop_range(stream) {
            let (at, mut position) = (self.hops[hop], self.positions[hop]);
            if at == bottleneck {
                position = self.release(at, position);
            }
            let entries = &mut self.links.entries[at as usize];
            entries.swap_remove(position as usize);
            if let Some(moved) = entries.get(position as usize) {
                self.positions[moved.place()] = position;
            }
            let link = &mut self.links.all[at as usize];
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
        }
        let state = &mut self.all[stream as usize];
        (state.flow, state.bottleneck, state.hop) = (NONE, NONE, first);
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
                let takes = self.classes.weight(class, entry.regime).takes(self.rate(entry.stream));
                if self.all[entry.stream as usize].bottleneck == NONE { 0 } else { takes }
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
