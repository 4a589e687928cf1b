//! Streams of connections, the links that each crosses, and the changes that require new shares.
//!
//! A stream carries one message after the other. As long as the next message waits when one ends, no rate
//! changes: the stream stays on its links, and only its end moves on.

use engine::{Bytes, Time};

use super::Sharing;
use super::bundles::Bundles;
use super::classes::{Classes, UNLIMITED};
use super::link::Entry;
use super::links::Links;
use super::lone::LoneShare;
use super::slack::{EXACT, slack};
use crate::model::rate::{Rate, Weight, Work};
use crate::topology::HostId;

pub(super) const NONE: u32 = u32::MAX;

/// A connection on its links, as the computation of shares sees it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stream {
    /// Reading of its bundle's clock at the end of its message; of a lone flow, the work of the message.
    pub due: Work,
    /// Size of its message.
    pub size: Bytes,
    /// Time at which its lone flow began.
    pub since: Time,
    /// Share of its last lone flow.
    pub share: LoneShare,
    /// The bundle of its flow; `NONE` for a lone flow, and for a stream that waits for its next message.
    pub bundle: u32,
    /// The message that flows, as its slot; `NONE` for a stream that waits for its next message.
    pub flow: u32,
    /// Its hops: where they begin, and how many.
    pub path: (u32, u16),
    pub regime: u8,
    /// Its index among those with flows.
    pub flowing_at: u32,
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
    /// The way out of each one's process, and that process at a NIC, if it can be a limit.
    pub ways_out: Vec<Option<(u32, u32)>>,
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
    /// Streams whose flows have begun in this instant on links with slack and on others.
    pub spreading: Vec<u32>,
    /// Links that have got slack and have yet to spread it; working memory.
    pub reached: Vec<u32>,
    /// Links of a bundle and its regime; working memory.
    pub key: Vec<u32>,
    pub sharing: Sharing,
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
            spreading: Vec::new(),
            reached: Vec::new(),
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
            size: Bytes(0),
            since: Time::ZERO,
            share: LoneShare::UNKNOWN,
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

    /// Counts bytes on the wire that have passed the links of `stream`, the last of their message if `is_done`.
    pub fn carry(&mut self, stream: u32, bytes: Bytes, is_done: bool) {
        let hops = self.hop_range(stream);
        self.hops[hops].iter().for_each(|at| self.links.carry(*at, bytes, is_done));
    }

    /// Notes that something has moved over the links of `stream`, for the next report of changes.
    pub fn note_moved(&mut self, stream: u32) {
        let hops = self.hop_range(stream);
        self.hops[hops].iter().for_each(|at| self.links.note_moved(*at));
    }

    /// The hops of a stream, as a range of [`Streams::hops`].
    pub fn hop_range(&self, stream: u32) -> std::ops::Range<usize> {
        let (first, length) = self.all[stream as usize].path;
        first as usize..first as usize + usize::from(length)
    }

    /// True if nothing on the path of `stream` limits a message of `regime`.
    #[inline(always)]
    pub fn is_unlimited(&self, stream: u32, regime: u8) -> bool {
        !self.path(stream).iter().any(|at| self.limits(*at, regime))
    }

    /// True if link `at` limits a message of `regime`.
    #[inline(always)]
    pub fn limits(&self, at: u32, regime: u8) -> bool {
        let takes_part = self.classes.weight(self.links.all[at as usize].class, regime) != Weight(0);
        takes_part && self.links.capacities[at as usize] != UNLIMITED
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

    /// The rate of the flow of `stream`: infinite until it is computed first.
    pub fn rate(&self, stream: u32) -> Rate {
        let Stream { bundle, share, .. } = self.all[stream as usize];
        if bundle == NONE {
            return share.rate;
        }
        match self.bundles.all[bundle as usize].bottleneck {
            NONE => Rate::INFINITE,
            bottleneck => self.links.pace(bottleneck),
        }
    }

    /// The rate that links reckon with for each flow of a bundle: infinite until it is computed first.
    pub fn bundle_rate(&self, bundle: u32) -> Rate {
        let bottleneck = self.bundles.all[bundle as usize].bottleneck;
        self.links.all.get(bottleneck as usize).map_or(Rate::INFINITE, |link| Rate(link.level))
    }

    /// The link that holds back the flow of `stream`.
    pub fn bottleneck(&self, stream: u32) -> u32 {
        let Stream { bundle, share, .. } = self.all[stream as usize];
        if bundle == NONE {
            self.hops[share.hop as usize]
        } else {
            self.bundles.all[bundle as usize].bottleneck
        }
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
        let Stream { bundle, due, since, share, .. } = self.all[stream as usize];
        let flowed =
            if bundle == NONE { share.rate.during(now.since(since)) } else { self.clock(bundle, now) };
        due.less(flowed)
    }

    /// Time at which the message of `stream` ends, if it ends first of those that its bottleneck holds back.
    pub fn end_if_first(&self, stream: u32, now: Time) -> Option<Time> {
        let Stream { bundle, due, .. } = self.all[stream as usize];
        let bundle = &self.bundles.all[bundle as usize];
        let (end, reached) = self.links.first_end(bundle.bottleneck, now)?;
        (bundle.on_bottleneck(due) <= reached).then_some(end)
    }

    /// Number of flows on link `at`, if they fill it up to a sixteenth.
    pub fn flows_beside(&self, at: u32) -> u32 {
        let link = &self.links.all[at as usize];
        if link.load == 0 || link.is_bounded {
            return 0;
        }
        let capacity = self.links.capacities[at as usize] as i64;
        let spare = match link.lone() {
            Some(stream) => {
                let weight = self.classes.weight(link.class, self.all[stream as usize].regime);
                capacity - weight.takes(self.rate(stream)) as i64
            }
            None if self.sharing == Sharing::EqualShare => capacity - self.used(at) as i64,
            None => link.spare,
        };
        if spare <= capacity / 16 { link.load } else { 0 }
    }

    /// The flows on link `at` lose so much to a packet, an equal part each; not those that lost it on the link before.
    pub fn lose(&mut self, at: u32, before: Option<u32>, bytes: Bytes) {
        if let Some(stream) = self.links.all[at as usize].lone() {
            self.place_lone(stream);
        }
        let part = Work(Work::of(bytes).0 / u128::from(self.links.all[at as usize].load));
        let before = before.filter(|link| self.flows_beside(*link) > 0);
        let is_new = |stream: &u32| before.is_none_or(|link| !self.path(*stream).contains(&link));
        let streams: Vec<u32> = self.on(at).filter(is_new).collect();
        streams.into_iter().for_each(|stream| self.delay(stream, part));
    }

    /// The flow of `stream` has so much more to do.
    pub fn delay(&mut self, stream: u32, work: Work) {
        let Stream { bundle, due, .. } = self.all[stream as usize];
        let end = due.more(work);
        self.all[stream as usize].due = end;
        if bundle == NONE {
            return;
        }
        self.bundles.replace(bundle, (due, stream), (end, stream));
        self.follow_first(bundle);
        let bottleneck = self.bundles.all[bundle as usize].bottleneck;
        if bottleneck != NONE {
            self.note(bottleneck);
        }
    }

    /// Streams with flows on link `at`.
    pub fn on(&self, at: u32) -> impl Iterator<Item = u32> + '_ {
        let is_bounded = self.links.all[at as usize].is_bounded;
        let entries = self.links.entries[at as usize].iter().flat_map(move |entry| {
            let bundle = (!is_bounded).then(|| &self.bundles.all[entry.number as usize]);
            let stream = is_bounded.then_some(entry.number);
            stream.into_iter().chain(bundle.into_iter().flat_map(|bundle| bundle.streams()))
        });
        entries.chain(self.links.all[at as usize].lone())
    }
}

impl Streams {
    /// Notes that link `at` has changed.
    pub fn change(&mut self, at: u32) {
        let link = &mut self.links.all[at as usize];
        if !link.dirty {
            link.dirty = true;
            self.changed.push(at);
        }
    }

    /// A process at a NIC begins or ends to send flows, or to send packets: where that changes what the others of its host
    /// can send, their ways out change.
    pub fn count_active(&mut self, now: Time, process: u32, begins: bool) {
        let ways = self.links.count_active(process, begins);
        if ways.is_empty() {
            return;
        }
        let class = self.links.out_class_of(process);
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

    /// Copies the path of `stream`; gives where it begins and how long it is.
    pub fn copy_path(&mut self, stream: u32) -> (u32, u16) {
        let range = self.hop_range(stream);
        let first = self.reserve(range.len());
        let length = range.len() as u16;
        self.hops.copy_within(range, first as usize);
        (first, length)
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
