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
//!
//! Links that a crowd has reached have slack instead, see `slack.rs`: `exact` leaves it out.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use engine::Time;

use super::link::{Entry, Link};
use super::slack::{EXACT, highest};
use super::streams::Streams;
use crate::model::rate::{Rate, Weight, fair_share};

/// A link to be looked at: its level, its number, which decides among equals, and its place.
type Turn = (u64, u32, u32);

/// Working memory, kept for the next time.
#[derive(Debug, Default)]
pub(super) struct MaxMin {
    /// Links that may be out of order, by level.
    queue: BinaryHeap<Reverse<Turn>>,
    /// Links that a change has reached, with their levels, each once; with room for all links and one more.
    found: Vec<Turn>,
    /// Number of them.
    count: usize,
    /// Links with slack whose flows or levels have changed.
    loose: Vec<u32>,
    /// Rates and counts of bundles on a link that others hold back, and that may be faster than its level.
    even: Vec<(Rate, u32)>,
    /// The same where flows have weights.
    outside: Vec<Outside>,
}

#[derive(Debug, Clone, Copy)]
struct Outside {
    rate: Rate,
    weight: Weight,
    count: u32,
    regime: u8,
}

impl MaxMin {
    /// Finds the rates after the changes in `streams`.
    pub fn solve(&mut self, now: Time, streams: &mut Streams) {
        loop {
            if streams.classes.are_equal() {
                self.solve_for::<true>(now, streams);
            } else {
                self.solve_for::<false>(now, streams);
            }
            streams.keep_bounds(now);
            if streams.changed.is_empty() {
                break;
            }
        }
        while let Some(at) = self.loose.pop() {
            streams.fill(at, now);
        }
    }

    /// With `EQUAL`, all flows take their rate of every link, and weights need no look.
    fn solve_for<const EQUAL: bool>(&mut self, now: Time, streams: &mut Streams) {
        self.found.resize(streams.links.all.len() + 1, (0, 0, 0));
        let mut changed = std::mem::take(&mut streams.changed);
        for at in changed.drain(..) {
            let link = &streams.links.all[at as usize];
            if link.slack != EXACT {
                self.loose.push(at);
            }
            self.queue.push(Reverse((least_level(link, streams.links.capacities[at as usize]), link.id, at)));
        }
        streams.changed = changed;
        while let Some(Reverse((_, id, at))) = self.queue.pop() {
            let link = &mut streams.links.all[at as usize];
            link.dirty = false;
            if !may_be_out_of_order::<EQUAL>(link) {
                continue;
            }
            let level = match may_stay(link) {
                true => Rate(link.level),
                false => self.level::<EQUAL>(at, streams),
            };
            if level == Rate::INFINITE {
                continue;
            }
            if self.queue.peek().is_some_and(|Reverse((next, ..))| level.0 > *next) {
                streams.links.all[at as usize].dirty = true;
                self.queue.push(Reverse((level.0, id, at)));
                continue;
            }
            streams.note(at);
            self.hold::<EQUAL>(at, level, now, streams);
        }
    }

    /// The level that fills link `at`, infinite if nothing does.
    fn level<const EQUAL: bool>(&mut self, at: u32, streams: &mut Streams) -> Rate {
        if EQUAL { self.even_level(at, streams) } else { self.weighted_level(at, streams) }
    }

    /// The level of link `at`, of which all flows take their rate.
    fn even_level(&mut self, at: u32, streams: &mut Streams) -> Rate {
        if let Some(level) = undisputed(&streams.links.all[at as usize]) {
            return level;
        }
        self.even.clear();
        let (mut sharing, mut top) = (u64::from(streams.links.all[at as usize].keeps), 0);
        for entry in streams.links.others(at) {
            let rate = streams.bundles.rates[entry.number as usize];
            let count = streams.bundles.counts[entry.number as usize];
            sharing += u64::from(count);
            top = if rate == Rate::INFINITE { top } else { top.max(rate.0) };
            self.even.push((rate, count));
        }
        let link = &mut streams.links.all[at as usize];
        link.top = top;
        if let Some(level) = undisputed(link) {
            return level;
        }
        let mut left = streams.links.capacities[at as usize];
        let mut level = left.checked_div(sharing).unwrap_or(u64::MAX);
        loop {
            let before = self.even.len();
            self.even.retain(|(rate, count)| {
                let stays = rate.0 >= level;
                if !stays {
                    left -= rate.0 * u64::from(*count);
                    sharing -= u64::from(*count);
                }
                stays
            });
            if self.even.len() == before {
                return Rate(level);
            }
            level = left.checked_div(sharing).unwrap_or(u64::MAX);
        }
    }

    /// The level of link `at`, of which flows take parts by their regimes.
    fn weighted_level(&mut self, at: u32, streams: &mut Streams) -> Rate {
        let class = streams.links.all[at as usize].class;
        let (weights, own) = (streams.classes.weights(), streams.classes.rates_alone(class));
        let (rates, counts) = (&streams.bundles.rates[..], &streams.bundles.counts[..]);
        let (mut sharing, mut top, mut most) = (0, 0, Rate::INFINITE);
        for entry in streams.links.held(at) {
            sharing += weights.of(class, entry.regime).0 * u64::from(counts[entry.number as usize]);
            most = most.min(own[usize::from(entry.regime)]);
        }
        self.outside.clear();
        self.outside.extend(streams.links.others(at).iter().map(|entry| {
            let (rate, count) = (rates[entry.number as usize], counts[entry.number as usize]);
            let weight = weights.of(class, entry.regime);
            sharing += weight.0 * u64::from(count);
            top = if rate == Rate::INFINITE { top } else { rate.0.max(top) };
            Outside { rate, weight, count, regime: entry.regime }
        }));
        let mut left = streams.links.capacities[at as usize];
        let mut level = fair_share(left, sharing);
        let mut outside = &mut self.outside[..];
        loop {
            let (mut position, mut end) = (0, outside.len());
            while position < end {
                let Outside { rate, weight, count, .. } = outside[position];
                if rate >= level {
                    position += 1;
                } else {
                    left -= weight.takes(rate) * u64::from(count);
                    sharing -= weight.0 * u64::from(count);
                    end -= 1;
                    outside[position] = outside[end];
                }
            }
            if end == outside.len() {
                break;
            }
            outside = &mut outside[..end];
            level = fair_share(left, sharing);
        }
        streams.links.all[at as usize].top = top;
        outside.iter().map(|bundle| own[usize::from(bundle.regime)]).fold(level.min(most), Rate::min)
    }

    /// Link `at` holds back at `level` all that it held before, and all that are faster.
    fn hold<const EQUAL: bool>(&mut self, at: u32, level: Rate, now: Time, streams: &mut Streams) {
        let link = &mut streams.links.all[at as usize];
        // Its own flows do not put it out of order.
        link.dirty = true;
        let (before, top, held, fresh) = (Rate(link.level), link.top, link.held, link.fresh);
        let most = if link.slack == EXACT { level } else { Rate(highest(level.0)) };
        streams.links.set_level(at, level, now);
        if before != level && held > 0 {
            let entries = std::mem::take(&mut streams.links.entries[at as usize]);
            self.change::<EQUAL>((at, &entries[..held as usize]), (before, level), streams);
            streams.links.entries[at as usize] = entries;
            streams.links.note_changes(at, held);
        }
        if top > most.0 || fresh > 0 {
            self.hold_others::<EQUAL>(at, (level, most), now, streams);
        }
        let link = &mut streams.links.all[at as usize];
        link.top = top.min(most.0);
        link.dirty = false;
        if link.slack != EXACT {
            self.loose.push(at);
        }
        self.queue.extend(self.found[..self.count].iter().copied().map(Reverse));
        self.count = 0;
    }

    /// Link `at` holds back at `level` those of its flows that others hold back and that are faster than `most`, and
    /// those without rates. The newest come first, and are often all that there are.
    fn hold_others<const EQUAL: bool>(
        &mut self,
        at: u32,
        (level, most): (Rate, Rate),
        now: Time,
        streams: &mut Streams,
    ) {
        let Link { class, top, .. } = streams.links.all[at as usize];
        let mut position = streams.links.entries[at as usize].len() as u32;
        loop {
            let Link { held, fresh, .. } = streams.links.all[at as usize];
            if position <= held || (fresh == 0 && top <= most.0) {
                return;
            }
            position -= 1;
            let entry = streams.links.entries[at as usize][position as usize];
            let rate = streams.bundles.rates[entry.number as usize];
            // What takes nothing of the link is not in its way.
            let takes_part = EQUAL || streams.classes.weight(class, entry.regime) != Weight(0);
            if rate > most && takes_part {
                streams.hold_back(at, position, now);
                let before = if rate == Rate::INFINITE { Rate(0) } else { rate };
                self.change::<EQUAL>((at, &[entry]), (before, level), streams);
                // The one that is here instead is yet to be looked at.
                position += 1;
            }
        }
    }

    /// The rate of bundles on link `own`, whose `dirty` is set, changes on all their links; on `own` itself in one step. No
    /// branch waits for what is read of the others: they are often far away in memory, and what is found there is hard to
    /// foresee.
    fn change<const EQUAL: bool>(
        &mut self,
        (own, entries): (u32, &[Entry]),
        (before, rate): (Rate, Rate),
        streams: &mut Streams,
    ) {
        let Streams { links, bundles, classes, hops, outgrown, idle, .. } = streams;
        let (all, few, hops, weights) = (&mut links.all[..], links.few, &hops[..], classes.weights());
        let (rates, counts, bounds) = (&mut bundles.rates[..], &bundles.counts[..], &bundles.bounds[..]);
        let less = |class, regime| {
            let weight = if EQUAL { Weight::ONE } else { weights.of(class, regime) };
            takes::<EQUAL>(weight, before) as i64 - takes::<EQUAL>(weight, rate) as i64
        };
        let (class, mut less_of_own) = (all[own as usize].class, 0);
        let (reached, mut found) = (&mut self.found[..], self.count);
        for entry in entries {
            let count = i64::from(counts[entry.number as usize]);
            rates[entry.number as usize] = rate;
            if !bounds[entry.number as usize].holds(rate) {
                outgrown.push(entry.number);
            }
            less_of_own += less(class, entry.regime) * count;
            for at in hops[entry.hops()].iter().filter(|at| **at != own) {
                let link = &mut all[*at as usize];
                link.spare += less(link.class, entry.regime) * count;
                link.top = link.top.max(rate.0);
                link.touched += 1;
                let is_idle =
                    (link.load >= few) & (link.touched >> link.patience >= link.load) & (link.keeps == 0);
                if is_idle {
                    link.touched = 0;
                    idle.push(*at);
                }
                let is_found = !link.dirty & may_be_out_of_order::<EQUAL>(link);
                link.dirty |= is_found;
                reached[found] = (link.level, link.id, *at);
                found += usize::from(is_found);
            }
        }
        self.count = found;
        all[own as usize].spare += less_of_own;
        all[own as usize].touched += entries.len() as u32;
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

/// A link that holds nobody back is in order if it has enough for all. With weights, links that are full up to rounding
/// may hold flows back, too.
fn may_be_out_of_order<const EQUAL: bool>(link: &Link) -> bool {
    let least = if EQUAL { 0 } else { i64::from(link.load) };
    let is_off = (link.spare > link.slack) | (link.top > highest(link.level));
    (link.fresh != 0) | (link.spare < least - link.slack.max(0)) | ((link.keeps != 0) & is_off)
}

/// True if flows without rates may have the level of `link` as it is.
fn may_stay(link: &Link) -> bool {
    let new = i128::from(link.level) * i128::from(link.fresh);
    let (left, slack) = (i128::from(link.spare) - new, i128::from(link.slack));
    (link.keeps != 0) & (-slack..=slack).contains(&left) & (link.top <= highest(link.level))
}

fn takes<const EQUAL: bool>(weight: Weight, rate: Rate) -> u64 {
    if EQUAL { rate.0 } else { weight.takes(rate) }
}
