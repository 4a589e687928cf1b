//! The flows, the links that each runs over, and the changes that call for new shares.

use engine::{Bytes, Time};

use super::Sharing;
use super::classes::{Classes, UNLIMITED};
use super::links::{Entry, Links};
use crate::message::Message;
use crate::model::rate::{Rate, Work};
use crate::topology::{HostId, LinkId};

pub(super) const NONE: u32 = u32::MAX;

/// One flow, as the computation of shares sees it: half a cache line.
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
pub(super) struct Stream {
    /// The level of the link that holds it back; infinite until that is computed first.
    pub rate: Rate,
    /// The link that holds it back; `NONE` until its rate is computed first.
    pub bottleneck: u32,
    /// Its hops: where they begin, and how many.
    path: (u32, u16),
    pub regime: u8,
}

impl Stream {
    /// Its hops, as a range of [`Streams::hops`].
    pub fn path(&self) -> std::ops::Range<usize> {
        let (first, length) = self.path;
        first as usize..first as usize + usize::from(length)
    }
}

/// When a flow ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Progress {
    /// When its bottleneck's clock shows this; until it has one, how much it has to move.
    pub due: Work,
    /// When its event is due: no later than its end.
    pub wakes: Time,
    /// The version of its event that counts.
    pub version: u32,
    /// Does it end first of those that its bottleneck holds back? Only then it needs an event: when it
    /// ends, their rates are computed anew.
    pub leads: bool,
}

const NO_PROGRESS: Progress = Progress { due: Work::ZERO, wakes: Time::NEVER, version: 0, leads: true };

/// Flows, links, and what has changed since shares were last computed.
pub(super) struct Streams {
    pub all: Vec<Stream>,
    /// How far each of them is.
    pub progress: Vec<Progress>,
    pub links: Links,
    pub classes: Classes,
    /// The links of all paths,
    pub hops: Vec<u32>,
    /// and of each its place among the link's flows.
    positions: Vec<u32>,
    /// Free stretches of `hops`, by the binary logarithm of their length.
    free: [Vec<u32>; 17],
    /// Links that flows came to or left, or whose capacity is another: their `dirty` is set.
    pub changed: Vec<u32>,
    /// Links for whose flows the first end is to be found: their `noted` is set.
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
            progress: Vec::new(),
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

    /// Does nothing on `path` limit a message of `regime`?
    pub fn is_unlimited(&self, path: &[LinkId]) -> bool {
        path.iter().all(|link| self.links.all[link.0 as usize].capacity == UNLIMITED)
    }

    /// Begins the flow of `message` in slot `flow` over the links of `path`.
    pub fn begin(&mut self, now: Time, flow: u32, message: &Message, path: &[LinkId]) -> Begin {
        let first = self.reserve(path.len());
        let length = u16::try_from(path.len()).expect("a path has fewer than 65,536 links");
        let stream =
            Stream { rate: Rate::INFINITE, bottleneck: NONE, path: (first, length), regime: message.regime };
        let size = self.all.len().max(flow as usize + 1);
        self.all.resize(size, stream);
        self.progress.resize(size, NO_PROGRESS);
        self.all[flow as usize] = stream;
        let progress = &mut self.progress[flow as usize];
        *progress = Progress { due: Work::of(message.size), version: progress.version, ..NO_PROGRESS };
        let mut alone = true;
        for (hop, link) in (first..).zip(path) {
            let state = &mut self.links.all[link.0 as usize];
            let position = state.flows.len() as u32;
            state.flows.push(Entry { flow, hop });
            (self.hops[hop as usize], self.positions[hop as usize]) = (link.0, position);
            if position > 0 {
                alone = false;
            } else {
                self.links.begin(now, *link);
                if Some(*link) == self.links.way_out(message.from.host, message.from.process) {
                    self.count_active(message.from.host, true);
                }
            }
        }
        if alone {
            self.take_all(now, flow);
            return Begin::Alone;
        }
        for link in path {
            self.links.all[link.0 as usize].fresh += 1;
            self.change(link.0);
        }
        Begin::Shared
    }

    /// Gives `flow`, which is alone on its links, all that they have.
    fn take_all(&mut self, now: Time, flow: u32) {
        let regime = self.all[flow as usize].regime;
        let (mut rate, mut bottleneck) = (Rate::INFINITE, NONE);
        for hop in self.all[flow as usize].path() {
            let at = self.hops[hop];
            let class = self.links.all[at as usize].class;
            let share = self.links.equal_share(at, self.classes.weight(class, regime).0);
            let share = share.min(self.classes.alone(class, regime));
            if self.sharing == Sharing::EqualShare {
                self.links.set_level(at, share, now);
            }
            if share < rate {
                (rate, bottleneck) = (share, at);
            }
        }
        for hop in self.all[flow as usize].path() {
            let link = &mut self.links.all[self.hops[hop] as usize];
            link.used = self.classes.weight(link.class, regime).takes(rate);
        }
        self.links.set_level(bottleneck, rate, now);
        let link = &mut self.links.all[bottleneck as usize];
        (link.keeps, link.exceeded) = (1, false);
        let (stream, progress) = (&mut self.all[flow as usize], &mut self.progress[flow as usize]);
        (stream.rate, stream.bottleneck) = (rate, bottleneck);
        progress.due = self.links.clock(bottleneck, now).more(progress.due);
    }

    /// What `flow` has yet to move.
    pub fn left(&self, flow: u32, now: Time) -> Work {
        let due = self.progress[flow as usize].due;
        match self.all[flow as usize].bottleneck {
            NONE => due,
            link => due.less(self.links.clock(link, now)),
        }
    }

    /// Link `at` holds `flow` back instead of the one that did so far, or from the start.
    pub fn hold_back(&mut self, flow: u32, at: u32, now: Time) {
        self.progress[flow as usize].due = self.left(flow, now).more(self.links.clock(at, now));
        let stream = &mut self.all[flow as usize];
        if std::mem::replace(&mut stream.bottleneck, at) == NONE {
            for at in &self.hops[stream.path()] {
                self.links.all[*at as usize].fresh -= 1;
            }
        }
    }

    /// Notes that among the flows that link `at` holds back another may end first.
    pub fn note(&mut self, at: u32) {
        let link = &mut self.links.all[at as usize];
        if !link.noted {
            link.noted = true;
            self.noted.push(at);
        }
    }

    /// Ends `flow`, which has moved `bytes` on the wire.
    pub fn end(&mut self, now: Time, flow: u32, message: &Message, bytes: Bytes) {
        let Stream { rate, regime, bottleneck, .. } = self.all[flow as usize];
        if self.sharing == Sharing::MaxMin {
            self.links.all[bottleneck as usize].keeps -= 1;
        }
        for hop in self.all[flow as usize].path() {
            let (at, position) = (self.hops[hop], self.positions[hop]);
            let link = &mut self.links.all[at as usize];
            if self.sharing == Sharing::MaxMin {
                link.used -= self.classes.weight(link.class, regime).takes(rate);
            }
            link.flows.swap_remove(position as usize);
            if let Some(moved) = link.flows.get(position as usize) {
                self.positions[moved.hop as usize] = position;
            }
            let empty = link.flows.is_empty();
            if empty {
                link.level = 0;
                self.links.end(now, LinkId(at));
                if Some(LinkId(at)) == self.links.way_out(message.from.host, message.from.process) {
                    self.count_active(message.from.host, false);
                }
            } else if link.keeps > 0 || self.sharing == Sharing::EqualShare {
                self.change(at);
            }
            self.links.carry(LinkId(at), bytes);
        }
        let (first, length) = self.all[flow as usize].path;
        self.free[order_of(usize::from(length))].push(first);
    }

    /// Notes that link `at` has changed.
    fn change(&mut self, at: u32) {
        let link = &mut self.links.all[at as usize];
        if !link.dirty {
            link.dirty = true;
            self.changed.push(at);
        }
    }

    /// A process of `host` begins or ends to send: where that changes what the others can send, their
    /// ways out change.
    fn count_active(&mut self, host: HostId, begins: bool) {
        let Some(ways) = self.links.count_active(host, begins) else { return };
        let class = self.links.out_class(host);
        for at in ways {
            let link = &mut self.links.all[at as usize];
            if link.class == class {
                continue;
            }
            link.class = class;
            link.capacity = self.classes.capacity(class);
            let takes = |entry: &Entry| {
                let stream = &self.all[entry.flow as usize];
                self.classes.weight(class, stream.regime).takes(stream.rate)
            };
            let placed = |entry: &&Entry| self.all[entry.flow as usize].bottleneck != NONE;
            link.used = link.flows.iter().filter(placed).map(takes).sum();
            if !link.flows.is_empty() {
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
