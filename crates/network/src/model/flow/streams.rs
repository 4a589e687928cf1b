//! The flows, the links that each runs over, and the changes that call for new shares.

use engine::{Bytes, Time};

use super::Sharing;
use super::classes::{Classes, UNLIMITED};
use super::links::{Entry, Links};
use crate::message::Message;
use crate::model::rate::{Rate, Weight, Work};
use crate::topology::LinkId;

pub(super) const NONE: u32 = u32::MAX;

/// One flow, as the computation of shares sees it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stream {
    /// The link that holds it back: its level is the flow's rate. `NONE` until it is computed first.
    pub bottleneck: u32,
    /// The hop on that link; the first one until then.
    hop: u32,
    /// Its hops: where they begin, and how many.
    path: (u32, u16),
    regime: u8,
}

/// The event of a flow.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wake {
    /// When it is due: no later than the flow's end, if the flow ends first of those that its bottleneck
    /// holds back. Others need none: when the first ends, rates are computed anew.
    pub at: Time,
    /// The version that counts.
    pub version: u32,
}

/// Flows, links, and what has changed since shares were last computed.
pub(super) struct Streams {
    pub all: Vec<Stream>,
    /// The event of each.
    pub wakes: Vec<Wake>,
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
            wakes: Vec::new(),
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
    pub fn is_unlimited(&self, path: &[LinkId], regime: u8) -> bool {
        path.iter().all(|link| {
            let class = self.links.all[link.0 as usize].class;
            let takes_part = self.classes.weight(class, regime) != Weight(0);
            !takes_part || self.links.capacities[link.0 as usize] == UNLIMITED
        })
    }

    /// Begins the flow of `message` in slot `flow` over the links of `path`, which passes none twice.
    pub fn begin(&mut self, now: Time, flow: u32, message: &Message, path: &[LinkId]) -> Begin {
        let first = self.reserve(path.len());
        let length = u16::try_from(path.len()).expect("a path has fewer than 65,536 links");
        let regime = message.regime;
        let stream = Stream { bottleneck: NONE, hop: first, path: (first, length), regime };
        let size = self.all.len().max(flow as usize + 1);
        self.all.resize(size, stream);
        self.wakes.resize(size, Wake { at: Time::NEVER, version: 0 });
        self.all[flow as usize] = stream;
        self.wakes[flow as usize].at = Time::NEVER;
        let due = Work::of(message.size);
        let mut alone = true;
        for (hop, link) in (0..length).zip(path) {
            let entry = Entry { due, flow, path: first, length, hop, regime };
            let flows = &mut self.links.all[link.0 as usize].flows;
            let position = flows.len() as u32;
            flows.push(entry);
            (self.hops[entry.place()], self.positions[entry.place()]) = (link.0, position);
            if position > 0 {
                alone = false;
            } else {
                self.links.begin(now, *link);
                if Some(*link) == self.links.way_out(message.from, message.nic_pair().from) {
                    self.count_active(message, true);
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
        let Stream { path: (first, length), regime, .. } = self.all[flow as usize];
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
        }
        let at = self.hops[narrowest as usize];
        self.links.set_level(at, rate, now);
        let clock = self.links.clock(at, now);
        let link = &mut self.links.all[at as usize];
        (link.keeps, link.top) = (1, 0);
        link.flows[0].due = clock.more(link.flows[0].due);
        let stream = &mut self.all[flow as usize];
        (stream.bottleneck, stream.hop) = (at, narrowest);
    }

    /// The rate of `flow`: infinite until it is computed first.
    pub fn rate(&self, flow: u32) -> Rate {
        let bottleneck = self.all[flow as usize].bottleneck;
        self.links.all.get(bottleneck as usize).map_or(Rate::INFINITE, |link| Rate(link.level))
    }

    /// What `flow` has yet to move.
    pub fn left(&self, flow: u32, now: Time) -> Work {
        let Stream { bottleneck, hop, .. } = self.all[flow as usize];
        let link = &self.links.all[self.hops[hop as usize] as usize];
        let due = link.flows[self.positions[hop as usize] as usize].due;
        if bottleneck == NONE { due } else { due.less(self.links.clock(bottleneck, now)) }
    }

    /// When `flow` ends, if it ends first of those that its bottleneck holds back.
    pub fn end_if_first(&self, flow: u32, now: Time) -> Option<Time> {
        let Stream { bottleneck, hop, .. } = self.all[flow as usize];
        let (end, reached) = self.links.first_end(bottleneck, now)?;
        let position = self.positions[hop as usize];
        let due = self.links.all[bottleneck as usize].flows[position as usize].due;
        (due <= reached).then_some(end)
    }

    /// Link `at` holds its flow at `position` back instead of the one that did so far, or from the start.
    pub fn hold_back(&mut self, at: u32, position: u32, now: Time) {
        let entry = self.links.all[at as usize].flows[position as usize];
        let Stream { bottleneck, hop, .. } = self.all[entry.flow as usize];
        let left = self.left(entry.flow, now);
        if bottleneck == NONE {
            self.hops[entry.hops()].iter().for_each(|at| self.links.all[*at as usize].fresh -= 1);
        } else {
            self.release(bottleneck, self.positions[hop as usize]);
        }
        let due = self.links.clock(at, now).more(left);
        let link = &mut self.links.all[at as usize];
        link.flows[position as usize].due = due;
        link.keeps += 1;
        let last = link.keeps - 1;
        self.swap(at, position, last);
        let stream = &mut self.all[entry.flow as usize];
        (stream.bottleneck, stream.hop) = (at, entry.place() as u32);
    }

    /// Link `at` holds its flow at `position` back no longer. Gives its new position.
    fn release(&mut self, at: u32, position: u32) -> u32 {
        let link = &mut self.links.all[at as usize];
        link.keeps -= 1;
        let last = link.keeps;
        self.swap(at, position, last);
        last
    }

    /// Swaps two flows of link `at`.
    fn swap(&mut self, at: u32, one: u32, other: u32) {
        let flows = &mut self.links.all[at as usize].flows;
        flows.swap(one as usize, other as usize);
        self.positions[flows[one as usize].place()] = one;
        self.positions[flows[other as usize].place()] = other;
    }

    /// The position of a flow on the link of its hop `hop`.
    pub fn position(&self, hop: usize) -> u32 {
        self.positions[hop]
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
        let Stream { bottleneck, path: (first, length), regime, .. } = self.all[flow as usize];
        let rate = self.rate(flow);
        for hop in first as usize..first as usize + usize::from(length) {
            let (at, mut position) = (self.hops[hop], self.positions[hop]);
            if at == bottleneck {
                position = self.release(at, position);
            }
            let link = &mut self.links.all[at as usize];
            link.spare += self.classes.weight(link.class, regime).takes(rate) as i64;
            link.flows.swap_remove(position as usize);
            if let Some(moved) = link.flows.get(position as usize) {
                self.positions[moved.place()] = position;
            }
            let empty = link.flows.is_empty();
            if empty {
                link.level = 0;
                self.links.end(now, LinkId(at));
                if Some(LinkId(at)) == self.links.way_out(message.from, message.nic_pair().from) {
                    self.count_active(message, false);
                }
            } else if link.keeps > 0 || self.sharing == Sharing::EqualShare {
                self.change(at);
            }
            self.links.carry(LinkId(at), bytes);
        }
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

    /// The process of `message` begins or ends to send over its NIC: where that changes what the others can send, their
    /// ways out change.
    fn count_active(&mut self, message: &Message, begins: bool) {
        let nic = self.links.nic(message.from.host, message.nic_pair().from);
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
            let placed = |entry: &&Entry| self.all[entry.flow as usize].bottleneck != NONE;
            let takes = |entry: &Entry| self.classes.weight(class, entry.regime).takes(self.rate(entry.flow));
            let flows = &self.links.all[at as usize].flows;
            let used: u64 = flows.iter().filter(placed).map(takes).sum();
            let is_empty = flows.is_empty();
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
