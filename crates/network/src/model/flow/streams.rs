//! Streams of connections, the links that each crosses, and the changes that require new shares.
//!
//! A stream carries one message after the other. As long as the next message waits when one ends, no rate
//! changes: the stream stays on its links, and only its end moves on.

use engine::{Bytes, Time};

use super::Sharing;
use super::bundles::Bundles;
use super::classes::{Classes, UNLIMITED};
use super::links::{Entry, Links};
use super::max_min::{EXACT, slack};
use crate::model::rate::{Rate, Weight, Work};
use crate::topology::HostId;

pub(super) const NONE: u32 = u32::MAX;

/// A connection on its links, as the computation of shares sees it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stream {
    /// Reading of its bundle's clock at the end of its message.
    pub due: Work,
    /// The bundle of its flow; `NONE` for a stream that waits for its next message.
    pub bundle: u32,
    /// The message that flows, as its slot; `NONE` for a stream that waits for its next message.
    pub flow: u32,
    /// Its hops: where they begin, and how many.
    pub path: (u32, u16),
    pub regime: u8,
    /// Its index among those with flows.
    flowing_at: u32,
    /// The bundle that it has to itself while all its links are tracked; `NONE` before.
    pub own: u32,
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
    /// Streams with flows, in no order that matters.
    pub flowing: Vec<u32>,
    pub bundles: Bundles,
    pub links: Links,
    pub classes: Classes,
    /// The links of all paths,
    pub hops: Vec<u32>,
    /// and of each the place of the stream, or of the bundle, among the link's entries.
    pub positions: Vec<u32>,
    /// Free stretches of `hops`, by the binary logarithm of their length.
    free: [Vec<u32>; 17],
    /// Links that flows came to or left, or whose capacity is another: their `dirty` is set.
    pub changed: Vec<u32>,
    /// Links for whose streams the first end is to be found: their `noted` is set.
    pub noted: Vec<u32>,
    /// Bundles whose rates have left their bounds.
    pub outgrown: Vec<u32>,
    /// Bounded links that may be full.
    pub overfull: Vec<u32>,
    /// Tracked links that have long held nobody back.
    pub idle: Vec<u32>,
    /// Links of a bundle and its regime; working memory.
    pub key: Vec<u32>,
    pub sharing: Sharing,
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
            flowing: Vec::new(),
            bundles: Bundles::default(),
            links,
            classes,
            hops: Vec::new(),
            positions: Vec::new(),
            free: Default::default(),
            changed: Vec::new(),
            noted: Vec::new(),
            outgrown: Vec::new(),
            overfull: Vec::new(),
            idle: Vec::new(),
            key: Vec::new(),
            sharing,
        }
    }

    /// Makes a stream from `host` over the links of `path`, which passes none twice; it leaves its process by
    /// `way_out` to a NIC, if that can be a limit.
    pub fn open(&mut self, host: HostId, path: &[u32], way_out: Option<(u32, u32)>) -> u32 {
        let first = self.reserve(path.len());
        let length = u16::try_from(path.len()).expect("a path has fewer than 65,536 links");
        self.hops[first as usize..first as usize + path.len()].copy_from_slice(path);
        let stream = Stream {
            due: Work::ZERO,
            bundle: NONE,
            flow: NONE,
            path: (first, length),
            regime: 0,
            flowing_at: NONE,
            own: NONE,
        };
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
        let Stream { flow, path, own, .. } = self.all[stream as usize];
        assert_eq!(flow, NONE, "a stream is closed when its last message has ended");
        self.give_back(path);
        if own != NONE {
            self.bundles.close(own, None);
        }
        self.unused.push(stream);
    }

    /// The links of a stream.
    pub fn path(&self, stream: u32) -> &[u32] {
        &self.hops[self.hop_range(stream)]
    }

    /// A message of `bytes` on the wire has passed the links of `stream`.
    pub fn carry(&mut self, stream: u32, bytes: Bytes) {
        let hops = self.hop_range(stream);
        self.hops[hops].iter().for_each(|at| self.links.carry(*at, bytes));
    }

    /// The hops of a stream, as a range of [`Streams::hops`].
    pub fn hop_range(&self, stream: u32) -> std::ops::Range<usize> {
        let (first, length) = self.all[stream as usize].path;
        first as usize..first as usize + usize::from(length)
    }

    /// True if nothing on the path of `stream` limits a message of `regime`.
    #[inline]
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
        (state.flow, state.regime, state.flowing_at) = (flow, regime, self.flowing.len() as u32);
        self.flowing.push(stream);
        self.wakes[stream as usize].at = Time::NEVER;
        let (mut is_alone, mut is_by_itself) = (true, true);
        for at in self.path(stream) {
            let link = &self.links.all[*at as usize];
            is_alone &= link.load == 0;
            is_by_itself &= !link.is_bounded & (link.slack == EXACT);
        }
        if is_alone {
            self.begin_alone(now, stream, Work::of(size));
            return Begin::Alone;
        }
        if is_by_itself {
            let bundle = self.open_own(stream, Work::of(size));
            self.place(bundle);
        } else {
            self.join(now, stream, Work::of(size));
        }
        self.enter(now, stream);
        Begin::Shared
    }

    /// Lets the message in slot `flow`, of `size` and the same regime, follow the one of `stream` that has just ended. If
    /// it has waited, it flows from the exact end of that one, which may lie a part of a picosecond in the past.
    pub fn follow(&mut self, now: Time, stream: u32, flow: u32, (size, has_waited): (Bytes, bool)) -> Begin {
        let Stream { bundle, due, .. } = self.all[stream as usize];
        let bottleneck = self.bundles.all[bundle as usize].bottleneck;
        let begin = if has_waited { due } else { self.clock(bundle, now) };
        let end = begin.more(Work::of(size));
        self.bundles.replace(bundle, (due, stream), (end, stream));
        (self.all[stream as usize].flow, self.all[stream as usize].due) = (flow, end);
        self.follow_first(bundle);
        if self.links.all[bottleneck as usize].keeps == 1 {
            return Begin::Alone;
        }
        self.note(bottleneck);
        Begin::Shared
    }

    /// Gives `stream` a bundle of its own over all its links, which are tracked; it has yet to be placed on them.
    #[inline]
    fn open_own(&mut self, stream: u32, due: Work) -> u32 {
        let Stream { path, regime, own, .. } = self.all[stream as usize];
        let bundle = if own == NONE {
            self.bundles.open(path, regime, (due, stream), None)
        } else {
            self.bundles.open_again(own, regime, (due, stream));
            own
        };
        let state = &mut self.all[stream as usize];
        (state.bundle, state.own, state.due) = (bundle, bundle, due);
        bundle
    }

    /// Puts a bundle without a rate on its links.
    pub fn place(&mut self, bundle: u32) {
        let super::bundles::Bundle { path: (path, length), regime, .. } = self.bundles.all[bundle as usize];
        for hop in 0..length {
            let entry = Entry { due: Work::ZERO, number: bundle, path, length, hop, regime };
            self.push(entry);
        }
    }

    /// Appends an entry to those of its link.
    #[inline]
    pub fn push(&mut self, entry: Entry) {
        let entries = &mut self.links.entries[self.hops[entry.place()] as usize];
        self.positions[entry.place()] = entries.len() as u32;
        entries.push(entry);
    }

    /// Removes the entry at `position` of link `at`, which does not hold it back.
    #[inline]
    pub fn remove(&mut self, at: u32, position: u32) {
        let entries = &mut self.links.entries[at as usize];
        entries.swap_remove(position as usize);
        if let Some(moved) = entries.get(position as usize) {
            self.positions[moved.place()] = position;
        }
    }

    /// Counts the flow of `stream`, which is in its bundle, on its links.
    fn enter(&mut self, now: Time, stream: u32) {
        let Stream { bundle, regime, path: (path, length), .. } = self.all[stream as usize];
        let (rate, most) = (self.rate(stream), self.bundles.bounds[bundle as usize].most);
        let bottleneck = self.bundles.all[bundle as usize].bottleneck;
        let mut first_out = None;
        for hop in 0..length {
            let entry = Entry { due: Work::ZERO, number: stream, path, length, hop, regime };
            let at = self.hops[entry.place()];
            self.links.count_up(at);
            let link = &mut self.links.all[at as usize];
            let weight = self.classes.weight(link.class, regime);
            let is_first = link.load == 1;
            if link.is_bounded {
                link.spare -= weight.takes(most) as i64;
                self.check(at);
                self.push(entry);
            } else {
                link.keeps += u32::from(at == bottleneck);
                if rate == Rate::INFINITE {
                    link.fresh += 1;
                } else {
                    link.spare -= weight.takes(rate) as i64;
                }
                if at == bottleneck {
                    self.note(at);
                }
                self.change(at);
            }
            if is_first {
                self.links.begin(now, at);
                if let Some((out, nic)) = self.ways_out[stream as usize]
                    && out == at
                {
                    first_out = Some(nic);
                }
            }
        }
        first_out.into_iter().for_each(|nic| self.count_active(now, nic, true));
    }

    /// Lets the flow of `stream`, of which `work` is left, begin alone on its links, and gives it all that they have.
    fn begin_alone(&mut self, now: Time, stream: u32, work: Work) {
        let bundle = self.open_own(stream, work);
        let Stream { path: (path, length), regime, .. } = self.all[stream as usize];
        let (mut rate, mut narrowest) = (Rate::INFINITE, path);
        for hop in path..path + u32::from(length) {
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
        let mut first_out = None;
        for hop in 0..length {
            let entry = Entry { due: Work::ZERO, number: bundle, path, length, hop, regime };
            let at = self.hops[entry.place()];
            self.push(entry);
            self.links.count_up(at);
            let link = &mut self.links.all[at as usize];
            let takes = self.classes.weight(link.class, regime).takes(rate);
            link.spare = (self.links.capacities[at as usize] - takes) as i64;
            self.links.begin(now, at);
            if let Some((out, nic)) = self.ways_out[stream as usize]
                && out == at
            {
                first_out = Some(nic);
            }
        }
        let at = self.hops[narrowest as usize];
        self.links.set_level(at, rate, now);
        let clock = self.links.clock(at, now);
        let link = &mut self.links.all[at as usize];
        (link.keeps, link.held, link.top) = (1, 1, 0);
        self.links.entries[at as usize][0].due = clock.more(work);
        let own = &mut self.bundles.all[bundle as usize];
        (own.shift, own.bottleneck, own.hop) = (clock, at, narrowest);
        self.bundles.rates[bundle as usize] = rate;
        first_out.into_iter().for_each(|nic| self.count_active(now, nic, true));
    }

    /// The rate of the flow of `stream`: infinite until it is computed first.
    pub fn rate(&self, stream: u32) -> Rate {
        self.bundle_rate(self.all[stream as usize].bundle)
    }

    /// The rate of each flow of a bundle: infinite until it is computed first.
    pub fn bundle_rate(&self, bundle: u32) -> Rate {
        let bottleneck = self.bundles.all[bundle as usize].bottleneck;
        self.links.all.get(bottleneck as usize).map_or(Rate::INFINITE, |link| Rate(link.level))
    }

    /// The link that holds back the flow of `stream`.
    pub fn bottleneck(&self, stream: u32) -> u32 {
        self.bundles.all[self.all[stream as usize].bundle as usize].bottleneck
    }

    /// Reading of the clock of a bundle, which shows nothing until it has a rate.
    pub fn clock(&self, bundle: u32, now: Time) -> Work {
        let bundle = &self.bundles.all[bundle as usize];
        if bundle.bottleneck == NONE {
            return Work::ZERO;
        }
        bundle.on_own(self.links.clock(bundle.bottleneck, now))
    }

    /// Work that is left of the message of `stream`.
    pub fn left(&self, stream: u32, now: Time) -> Work {
        let Stream { bundle, due, .. } = self.all[stream as usize];
        due.less(self.clock(bundle, now))
    }

    /// Time at which the message of `stream` ends, if it ends first of those that its bottleneck holds back.
    pub fn end_if_first(&self, stream: u32, now: Time) -> Option<Time> {
        let Stream { bundle, due, .. } = self.all[stream as usize];
        let bundle = &self.bundles.all[bundle as usize];
        let (end, reached) = self.links.first_end(bundle.bottleneck, now)?;
        (bundle.on_bottleneck(due) <= reached).then_some(end)
    }

    /// Streams with flows on link `at`.
    pub fn on(&self, at: u32) -> impl Iterator<Item = u32> + '_ {
        let is_bounded = self.links.all[at as usize].is_bounded;
        self.links.entries[at as usize].iter().flat_map(move |entry| {
            let bundle = (!is_bounded).then(|| &self.bundles.all[entry.number as usize]);
            let stream = is_bounded.then_some(entry.number);
            stream.into_iter().chain(bundle.into_iter().flat_map(|bundle| bundle.streams()))
        })
    }
}

impl Streams {
    /// Takes `stream` off its links: its message has ended, and none follows.
    pub fn end(&mut self, now: Time, stream: u32) {
        let bundle = self.all[stream as usize].bundle;
        let last_out = if self.bundles.all[bundle as usize].is_shared {
            self.leave_shared(now, stream)
        } else {
            self.leave_own(now, stream)
        };
        let state = &mut self.all[stream as usize];
        (state.flow, state.bundle) = (NONE, NONE);
        let at = state.flowing_at as usize;
        self.flowing.swap_remove(at);
        if let Some(moved) = self.flowing.get(at) {
            self.all[*moved as usize].flowing_at = at as u32;
        }
        last_out.into_iter().for_each(|nic| self.count_active(now, nic, false));
    }

    /// Takes `stream` and its own bundle off its links. Gives the NIC to which its process sends no more, if any.
    fn leave_own(&mut self, now: Time, stream: u32) -> Option<u32> {
        let Stream { bundle, regime, .. } = self.all[stream as usize];
        let rate = self.bundle_rate(bundle);
        let bottleneck = self.bundles.all[bundle as usize].bottleneck;
        let mut last_out = None;
        for hop in self.hop_range(stream) {
            let (at, mut position) = (self.hops[hop], self.positions[hop]);
            if at == bottleneck {
                self.unkeep(at);
                position = self.release(at, position);
            }
            self.remove(at, position);
            last_out = last_out.or(self.count_out(now, stream, at, regime, rate));
        }
        last_out
    }

    /// Takes `stream` off its links and out of its bundle, and that off its links if it was the last.
    fn leave_shared(&mut self, now: Time, stream: u32) -> Option<u32> {
        let Stream { due, bundle, regime, .. } = self.all[stream as usize];
        let (rate, most) = (self.rate(stream), self.bundles.bounds[bundle as usize].most);
        let bottleneck = self.bundles.all[bundle as usize].bottleneck;
        let is_last = self.bundles.counts[bundle as usize] == 1;
        if !is_last {
            self.bundles.remove(bundle, (due, stream));
            self.follow_first(bundle);
        }
        let mut tracked = self.bundles.all[bundle as usize].path.0 as usize;
        let mut last_out = None;
        for hop in self.hop_range(stream) {
            let at = self.hops[hop];
            let is_bounded = self.links.all[at as usize].is_bounded;
            if is_bounded {
                self.remove(at, self.positions[hop]);
            } else {
                let position = self.positions[tracked];
                tracked += 1;
                if at == bottleneck {
                    self.unkeep(at);
                }
                if is_last {
                    let position = if at == bottleneck { self.release(at, position) } else { position };
                    self.remove(at, position);
                }
            }
            let takes = if is_bounded { most } else { rate };
            last_out = last_out.or(self.count_out(now, stream, at, regime, takes));
        }
        if is_last {
            self.close_bundle(bundle);
        }
        last_out
    }

    /// Link `at` holds one flow less back. One with slack may not be put in order for that, and then looks for the next.
    fn unkeep(&mut self, at: u32) {
        self.links.all[at as usize].keeps -= 1;
        if self.links.all[at as usize].slack != EXACT {
            self.note(at);
        }
    }

    /// The flow of `stream` takes its `rate` of link `at` no longer. Gives the NIC to which its process sends no more, if
    /// the link is the last way to it.
    #[inline]
    fn count_out(&mut self, now: Time, stream: u32, at: u32, regime: u8, rate: Rate) -> Option<u32> {
        self.links.count_down(at);
        let link = &mut self.links.all[at as usize];
        link.spare += self.classes.weight(link.class, regime).takes(rate) as i64;
        if link.load > 0 {
            if link.keeps > 0 || self.sharing == Sharing::EqualShare {
                self.change(at);
            }
            return None;
        }
        (link.level, link.is_bounded, link.touched, link.patience) = (0, false, 0, self.links.patience);
        self.links.end(now, at);
        self.ways_out[stream as usize].filter(|(out, _)| *out == at).map(|(_, nic)| nic)
    }

    /// Notes that link `at` has changed.
    pub fn change(&mut self, at: u32) {
        let link = &mut self.links.all[at as usize];
        if !link.dirty {
            link.dirty = true;
            self.changed.push(at);
        }
    }

    /// A process begins or ends to send over `nic`: where that changes what the others can send, their ways
    /// out change.
    fn count_active(&mut self, now: Time, nic: u32, begins: bool) {
        let ways = self.links.count_active(nic, begins);
        if ways.is_empty() {
            return;
        }
        let class = self.links.out_class(nic);
        for at in ways {
            if self.links.all[at as usize].class == class {
                continue;
            }
            if self.links.all[at as usize].is_bounded {
                self.track(at, now);
            }
            self.links.all[at as usize].class = class;
            let capacity = self.classes.capacity(class);
            self.links.capacities[at as usize] = capacity;
            self.links.all[at as usize].spare = capacity as i64 - self.used(at) as i64;
            if self.links.all[at as usize].slack != EXACT {
                self.links.all[at as usize].slack = slack(capacity);
            }
            if !self.links.entries[at as usize].is_empty() {
                self.change(at);
            }
        }
    }

    /// Amount of tracked link `at` that its flows with rates take.
    pub fn used(&self, at: u32) -> u64 {
        let class = self.links.all[at as usize].class;
        let takes = |entry: &Entry| match self.bundle_rate(entry.number) {
            Rate::INFINITE => 0,
            rate => {
                let count = u64::from(self.bundles.counts[entry.number as usize]);
                self.classes.weight(class, entry.regime).takes(rate) * count
            }
        };
        self.links.entries[at as usize].iter().map(takes).sum()
    }

    /// A free stretch of hops for a path of `length`.
    pub fn reserve(&mut self, length: usize) -> u32 {
        let order = order_of(length);
        self.free[order].pop().unwrap_or_else(|| {
            let first = self.hops.len();
            self.hops.resize(first + (1 << order), 0);
            self.positions.resize(self.hops.len(), 0);
            u32::try_from(first).expect("fewer than 2^32 hops at a time")
        })
    }

    /// The opposite of [`Streams::reserve`].
    pub fn give_back(&mut self, (first, length): (u32, u16)) {
        self.free[order_of(usize::from(length))].push(first);
    }
}

/// The smallest power of two that holds `length`, as its exponent.
fn order_of(length: usize) -> usize {
    length.next_power_of_two().trailing_zeros() as usize
}
