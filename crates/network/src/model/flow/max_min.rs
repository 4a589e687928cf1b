//! Max-min fair rates, computed anew only where a change can reach.
//!
//! A feasible set of rates is max-min fair if and only if every flow has a bottleneck: a link that is
//! full, and on which no flow is faster (Bertsekas and Gallager, "Data Networks", 6.5.2). Each flow
//! knows its bottleneck, which holds it back; the level of a link is the rate of those that it holds.
//! A link is in order if it holds nobody and is not full, or if its level is what fills it:
//!
//! ```text
//! sum over its flows of min(rate, level) = capacity,  where those that it holds back ask for all
//! ```
//!
//! Links where flows came, went or changed their rates may be out of order. One after the other is put
//! in order, the one with the least level first: it finds its level, slows down to it who is faster, and
//! holds these back from now on; it gives what it gained or lost to those it held already. That may
//! put other links of these flows out of order. When all are in order, every flow has a bottleneck: the
//! rates are exact, however few links were looked at.
//!
//! This ends, whatever the order: take the least level that were assigned infinitely often. Rates below it
//! would at last stand still, so a link of that level would only ever add flows to those that it holds.
//!
//! Levels round down, and depend on nothing but the rates of slower flows: so rates are a function of
//! the set of flows, not of how it came about.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use engine::Time;

use super::classes::Classes;
use super::links::{Entry, Link};
use super::streams::Streams;
use crate::model::rate::{Rate, Weight, fair_share};

/// Working memory, kept for the next time.
#[derive(Debug, Default)]
pub(super) struct MaxMin {
    /// Links that may be out of order, by level.
    queue: BinaryHeap<Reverse<(u64, u32)>>,
    /// Links that a change has reached, with their levels, each once; with room for all links and one more.
    found: Vec<(u64, u32)>,
    /// Number of them.
    count: usize,
    /// Streams on a link that others hold back, and that may be faster than its level.
    outside: Vec<Outside>,
}

#[derive(Debug, Clone, Copy)]
struct Outside {
    rate: Rate,
    weight: Weight,
    alone: Rate,
}

impl MaxMin {
    /// Finds the rates after the changes in `streams`.
    pub fn solve(&mut self, now: Time, streams: &mut Streams) {
        if streams.classes.are_equal() {
            self.solve_for::<true>(now, streams);
        } else {
            self.solve_for::<false>(now, streams);
        }
    }

    /// With `EQUAL`, all flows take their rate of every link, and weights need no look.
    fn solve_for<const EQUAL: bool>(&mut self, now: Time, streams: &mut Streams) {
        self.found.resize(streams.links.all.len() + 1, (0, 0));
        let mut changed = std::mem::take(&mut streams.changed);
        for at in changed.drain(..) {
            let link = &streams.links.all[at as usize];
            self.queue.push(Reverse((least_level(link, streams.links.capacities[at as usize]), at)));
        }
        streams.changed = changed;
        while let Some(Reverse((_, at))) = self.queue.pop() {
            let link = &mut streams.links.all[at as usize];
            link.dirty = false;
            if !may_be_out_of_order(link) {
                continue;
            }
            let level = self.level::<EQUAL>(at, streams);
            if level == Rate::INFINITE {
                continue;
            }
            if self.queue.peek().is_some_and(|Reverse((next, _))| level.0 > *next) {
                streams.links.all[at as usize].dirty = true;
                self.queue.push(Reverse((level.0, at)));
                continue;
            }
            streams.note(at);
            self.hold::<EQUAL>(at, level, now, streams);
        }
    }

    /// The level that fills link `at`, infinite if nothing does.
    fn level<const EQUAL: bool>(&mut self, at: u32, streams: &mut Streams) -> Rate {
        let link = &streams.links.all[at as usize];
        if EQUAL && let Some(level) = undisputed(link) {
            return level;
        }
        self.outside.clear();
        let (mut sharing, mut most, mut top) = (u64::from(link.keeps) << 32, Rate::INFINITE, 0);
        if !EQUAL {
            let held = streams.links.held(at).iter();
            let weight = |entry: &Entry| streams.classes.weight(link.class, entry.regime).0;
            sharing = held.clone().map(weight).sum();
            let alone = |entry: &Entry| streams.classes.alone(link.class, entry.regime);
            most = held.map(alone).min().unwrap_or(Rate::INFINITE);
        }
        for entry in streams.links.others(at) {
            let weight = weight::<EQUAL>(&streams.classes, link.class, entry.regime);
            let alone = streams.classes.alone(link.class, entry.regime);
            let rate = streams.rate(entry.stream);
            sharing += weight.0;
            top = if rate == Rate::INFINITE { top } else { top.max(rate.0) };
            self.outside.push(Outside { rate, weight, alone });
        }
        let mut left = streams.links.capacities[at as usize];
        streams.links.all[at as usize].top = top;
        let mut level = fair_share(left, sharing);
        loop {
            let before = self.outside.len();
            self.outside.retain(|stream| {
                let stays = stream.rate >= level;
                if !stays {
                    left -= takes::<EQUAL>(stream.weight, stream.rate);
                    sharing -= stream.weight.0;
                }
                stays
            });
            if self.outside.len() == before {
                break;
            }
            level = fair_share(left, sharing);
        }
        self.outside.iter().map(|stream| stream.alone).fold(level.min(most), Rate::min)
    }

    /// Link `at` holds back at `level` all that it held before, and all that are faster.
    fn hold<const EQUAL: bool>(&mut self, at: u32, level: Rate, now: Time, streams: &mut Streams) {
        let link = &mut streams.links.all[at as usize];
        // Its own flows do not put it out of order.
        link.dirty = true;
        let (before, top, keeps, fresh) = (Rate(link.level), link.top, link.keeps, link.fresh);
        streams.links.set_level(at, level, now);
        if before != level && keeps > 0 {
            let entries = std::mem::take(&mut streams.links.entries[at as usize]);
            for entry in &entries[..keeps as usize] {
                self.change::<EQUAL>(entry, before, level, streams);
            }
            streams.links.entries[at as usize] = entries;
        }
        if top > level.0 || fresh > 0 {
            let class = streams.links.all[at as usize].class;
            for position in keeps..streams.links.entries[at as usize].len() as u32 {
                let entry = streams.links.entries[at as usize][position as usize];
                let rate = streams.rate(entry.stream);
                // What takes nothing of the link is not in its way.
                let takes_part = EQUAL || streams.classes.weight(class, entry.regime) != Weight(0);
                if rate > level && takes_part {
                    streams.hold_back(at, position, now);
                    let before = if rate == Rate::INFINITE { Rate(0) } else { rate };
                    self.change::<EQUAL>(&entry, before, level, streams);
                }
            }
        }
        let link = &mut streams.links.all[at as usize];
        link.top = top.min(level.0);
        link.dirty = false;
        self.queue.extend(self.found[..self.count].iter().copied().map(Reverse));
        self.count = 0;
    }

    /// The rate of a stream changes on all its links. No branch waits for what is read of them: they are
    /// often far away in memory, and what is found there is hard to foresee.
    fn change<const EQUAL: bool>(&mut self, entry: &Entry, before: Rate, rate: Rate, streams: &mut Streams) {
        let hops = &streams.hops[entry.hops()];
        let mut count = self.count;
        for at in hops {
            let link = &mut streams.links.all[*at as usize];
            let weight = weight::<EQUAL>(&streams.classes, link.class, entry.regime);
            let less = takes::<EQUAL>(weight, before) as i64 - takes::<EQUAL>(weight, rate) as i64;
            link.spare += less;
            link.top = link.top.max(rate.0);
            let is_found = !link.dirty & may_be_out_of_order(link);
            link.dirty |= is_found;
            self.found[count] = (link.level, *at);
            count += usize::from(is_found);
        }
        self.count = count;
    }
}

/// The level of `link`, if others on it are certainly slower: by so much, a step for each flow, that
/// rounding does not matter.
fn undisputed(link: &Link) -> Option<Rate> {
    if link.keeps == 0 || link.fresh > 0 {
        return None;
    }
    let keeps = u64::from(link.keeps);
    let level = (keeps * link.level).checked_add_signed(link.spare)? / keeps;
    (level >= link.top + u64::from(link.load)).then_some(Rate(level))
}

/// Lower bound of the level of `link`: its even share, or what is there for new flows if they take
/// nothing from others.
fn least_level(link: &Link, capacity: u64) -> u64 {
    let of_spare = if link.fresh > 0 { link.spare.max(0) as u64 / u64::from(link.fresh) } else { 0 };
    of_spare.max(capacity / u64::from(link.load.max(1)))
}

/// Links that are full up to rounding may hold flows back, too.
fn may_be_out_of_order(link: &Link) -> bool {
    (link.keeps | link.fresh != 0) | (link.spare < i64::from(link.load))
}

fn weight<const EQUAL: bool>(classes: &Classes, class: u16, regime: u8) -> Weight {
    if EQUAL { Weight::ONE } else { classes.weight(class, regime) }
}

fn takes<const EQUAL: bool>(weight: Weight, rate: Rate) -> u64 {
    if EQUAL { rate.0 } else { weight.takes(rate) }
}
