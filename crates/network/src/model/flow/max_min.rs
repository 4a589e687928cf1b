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
//! Where flows came, went or changed their rates, links may be out of order. One after the other is put
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
use super::links::Link;
use super::streams::{NONE, Streams};
use crate::model::rate::{Rate, Weight, fair_share};

/// Working memory, kept for the next time.
#[derive(Debug, Default)]
pub(super) struct MaxMin {
    /// Links that may be out of order, by level.
    queue: BinaryHeap<Reverse<(u64, u32)>>,
    /// Flows on a link that others hold back, and that may be faster than its level.
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
        let mut changed = std::mem::take(&mut streams.changed);
        for at in changed.drain(..) {
            let level = self.level::<EQUAL>(at, streams);
            self.queue.push(Reverse((level.0, at)));
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
            streams.links.set_level(at, level, now);
            self.hold::<EQUAL>(at, level, now, streams);
        }
    }

    /// The level that fills link `at`, infinite if nothing does.
    fn level<const EQUAL: bool>(&mut self, at: u32, streams: &Streams) -> Rate {
        let link = &streams.links.all[at as usize];
        if EQUAL && let Some(level) = raised(link).or_else(|| undisputed(at, link, streams)) {
            return level;
        }
        self.outside.clear();
        let (mut sharing, mut most) = (0, Rate::INFINITE);
        for entry in &link.flows {
            let stream = &streams.all[entry.flow as usize];
            let weight = weight::<EQUAL>(&streams.classes, link.class, stream.regime);
            let alone = streams.classes.alone(link.class, stream.regime);
            sharing += weight.0;
            if stream.bottleneck == at {
                most = most.min(alone);
            } else {
                self.outside.push(Outside { rate: stream.rate, weight, alone });
            }
        }
        let mut left = link.capacity;
        let mut level = fair_share(left, sharing);
        loop {
            let before = self.outside.len();
            self.outside.retain(|flow| {
                let stays = flow.rate >= level;
                if !stays {
                    left -= takes::<EQUAL>(flow.weight, flow.rate);
                    sharing -= flow.weight.0;
                }
                stays
            });
            if self.outside.len() == before {
                break;
            }
            level = fair_share(left, sharing);
        }
        self.outside.iter().map(|flow| flow.alone).fold(level.min(most), Rate::min)
    }

    /// Link `at` holds back at `level` all that it held before, and all that are faster.
    fn hold<const EQUAL: bool>(&mut self, at: u32, level: Rate, now: Time, streams: &mut Streams) {
        let link = &mut streams.links.all[at as usize];
        link.exceeded = false;
        // Its own flows do not put it out of order.
        link.dirty = true;
        let flows = std::mem::take(&mut link.flows);
        for entry in &flows {
            let stream = &streams.all[entry.flow as usize];
            let (old, holder) = (stream.rate, stream.bottleneck);
            if holder != at {
                if old <= level {
                    continue;
                }
                streams.links.all[at as usize].keeps += 1;
                if let Some(holder) = streams.links.all.get_mut(holder as usize) {
                    holder.keeps -= 1;
                }
                streams.hold_back(entry.flow, at, now);
            }
            if old != level {
                streams.all[entry.flow as usize].rate = level;
                self.change::<EQUAL>(entry.flow, if holder == NONE { Rate(0) } else { old }, streams);
            }
        }
        let link = &mut streams.links.all[at as usize];
        link.flows = flows;
        link.dirty = false;
    }

    /// Takes the rate of `flow`, which was `old`, off its links and puts the new one on.
    fn change<const EQUAL: bool>(&mut self, flow: u32, old: Rate, streams: &mut Streams) {
        let stream = &streams.all[flow as usize];
        for at in &streams.hops[stream.path()] {
            let link = &mut streams.links.all[*at as usize];
            let weight = weight::<EQUAL>(&streams.classes, link.class, stream.regime);
            link.used = link.used - takes::<EQUAL>(weight, old) + takes::<EQUAL>(weight, stream.rate);
            link.exceeded |= stream.rate.0 > link.level;
            if !link.dirty && may_be_out_of_order(link) {
                link.dirty = true;
                self.queue.push(Reverse((link.level, *at)));
            }
        }
    }
}

/// The level of `link` if it has more for those that it holds back than others on it get, who were no
/// faster than these so far. So much more, one step for each flow, that rounding does not matter.
fn raised(link: &Link) -> Option<Rate> {
    if link.keeps == 0 || link.fresh > 0 || link.exceeded {
        return None;
    }
    let keeps = u64::from(link.keeps);
    let level = (link.capacity + keeps * link.level).checked_sub(link.used)? / keeps;
    (level >= link.level + link.flows.len() as u64).then_some(Rate(level))
}

/// The same for a link of any level: others on it are looked at.
fn undisputed(at: u32, link: &Link, streams: &Streams) -> Option<Rate> {
    let (mut keeps, mut outside, mut fastest) = (0, 0u64, 0);
    for entry in &link.flows {
        let stream = &streams.all[entry.flow as usize];
        let own = stream.bottleneck == at;
        let rate = if own { 0 } else { stream.rate.0 };
        keeps += u64::from(own);
        outside = outside.saturating_add(rate);
        fastest = rate.max(fastest);
    }
    let level = link.capacity.checked_sub(outside)?.checked_div(keeps)?;
    (level >= fastest + link.flows.len() as u64).then_some(Rate(level))
}

/// Links that are full up to rounding may hold flows back, too.
fn may_be_out_of_order(link: &Link) -> bool {
    link.keeps > 0 || link.fresh > 0 || link.used + link.flows.len() as u64 > link.capacity
}

fn weight<const EQUAL: bool>(classes: &Classes, class: u16, regime: u8) -> Weight {
    if EQUAL { Weight::ONE } else { classes.weight(class, regime) }
}

fn takes<const EQUAL: bool>(weight: Weight, rate: Rate) -> u64 {
    if EQUAL { rate.0 } else { weight.takes(rate) }
}
