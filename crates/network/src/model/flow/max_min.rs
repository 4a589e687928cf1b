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

use super::affected::Affected;
use super::classes::Classes;
use super::links::Link;
use super::streams::{NONE, Streams};
use crate::model::rate::{Rate, Weight, fair_share};

/// Working memory, kept for the next time.
#[derive(Debug, Default)]
pub(super) struct MaxMin {
    /// Links that may be out of order, by level.
    queue: BinaryHeap<Reverse<(u64, u32)>>,
    /// The flows on a link that others hold back, with their weights there.
    outside: Vec<(Rate, Weight)>,
}

impl MaxMin {
    /// Finds the rates after the changes in `streams`.
    pub fn solve(&mut self, streams: &mut Streams, affected: &mut Affected) {
        if streams.classes.are_equal() {
            self.solve_for::<true>(streams, affected);
        } else {
            self.solve_for::<false>(streams, affected);
        }
    }

    /// With `EQUAL`, all flows take their rate of every link, and weights need no look.
    fn solve_for<const EQUAL: bool>(&mut self, streams: &mut Streams, affected: &mut Affected) {
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
            affected.link(at, streams);
            self.hold::<EQUAL>(at, level, streams, affected);
        }
    }

    /// The level that fills link `at`, infinite if nothing does.
    fn level<const EQUAL: bool>(&mut self, at: u32, streams: &Streams) -> Rate {
        let link = &streams.links.all[at as usize];
        self.outside.clear();
        let mut sharing = 0;
        for entry in &link.flows {
            let stream = &streams.all[entry.flow as usize];
            let weight = weight::<EQUAL>(&streams.classes, link.class, stream.regime);
            sharing += weight.0;
            if stream.bottleneck != at {
                self.outside.push((stream.rate, weight));
            }
        }
        let mut left = link.capacity;
        let mut level = fair_share(left, sharing);
        loop {
            let before = self.outside.len();
            self.outside.retain(|(rate, weight)| {
                let stays = *rate >= level;
                if !stays {
                    left -= takes::<EQUAL>(*weight, *rate);
                    sharing -= weight.0;
                }
                stays
            });
            if self.outside.len() == before {
                return level;
            }
            level = fair_share(left, sharing);
        }
    }

    /// Link `at` holds back at `level` all that it held before, and all that are faster.
    fn hold<const EQUAL: bool>(
        &mut self,
        at: u32,
        level: Rate,
        streams: &mut Streams,
        affected: &mut Affected,
    ) {
        let link = &mut streams.links.all[at as usize];
        link.level = level.0;
        // Its own flows do not put it out of order.
        link.dirty = true;
        let class = link.class;
        let flows = std::mem::take(&mut link.flows);
        for entry in &flows {
            let stream = &streams.all[entry.flow as usize];
            let (old, holder, regime) = (stream.rate, stream.bottleneck, stream.regime);
            if holder != at && old <= level {
                continue;
            }
            let rate = if EQUAL { level } else { level.min(streams.classes.alone(class, regime)) };
            if rate != old {
                affected.set_rate(entry.flow, rate, streams);
                self.change::<EQUAL>(entry.flow, if holder == NONE { Rate(0) } else { old }, streams);
            }
            if holder != at {
                streams.links.all[at as usize].keeps += 1;
                streams.all[entry.flow as usize].bottleneck = at;
                match streams.links.all.get_mut(holder as usize) {
                    Some(holder) => holder.keeps -= 1,
                    None => streams.place(entry.flow),
                }
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
            if !link.dirty && may_be_out_of_order(link) {
                link.dirty = true;
                self.queue.push(Reverse((link.level, *at)));
            }
        }
    }
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
