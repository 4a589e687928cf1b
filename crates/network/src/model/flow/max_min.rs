//! Max-min fair rates, computed anew only where a change can reach.
//!
//! A feasible set of rates is max-min fair if and only if every flow has a bottleneck: a link that is
//! full, and on which no flow is faster (Bertsekas and Gallager, "Data Networks", 6.5.2). So it is
//! enough to look at flows whose bottleneck a change has touched:
//!
//! 1. Members are the new flows, and those held back by a link that flows came to or left.
//! 2. Progressive filling gives the members what the others leave: the link with the least even share
//!    fixes its members at it, again and again until all have a rate.
//! 3. The others still need their bottlenecks. Those on a link that holds members back at less than
//!    they have, and those whose own link is no longer full or lets a member be faster, become
//!    members, too; then back to 2. When there are none, all flows have a bottleneck: the rates are
//!    exact, however few were looked at.
//!
//! Links of equal share are fixed together, so that no order among them can show in the rates.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use engine::Time;

use super::links::{Change, Link};
use super::members::Members;
use super::streams::{NONE, Streams};
use crate::model::rate::{Rate, fair_share};

/// Working memory, kept for the next time.
#[derive(Debug, Default)]
pub(super) struct MaxMin {
    round: u32,
    /// The links of all members.
    touched: Vec<u32>,
    /// Those that may yet hold members back, by share; a share here may be out of date, and then it is
    /// too small.
    shares: BinaryHeap<Reverse<(Rate, u32)>>,
    /// The links of the least share.
    least: Vec<u32>,
}

impl MaxMin {
    /// Finds who is concerned by the changes in `streams`, and the rates of these.
    pub fn solve(&mut self, streams: &mut Streams, members: &mut Members) {
        self.seed(streams, members);
        let mut known = 0;
        while known < members.all.len() {
            known = members.all.len();
            self.gather(streams, members);
            self.fill(streams, members);
            self.question(streams, members);
        }
        if known > 0 {
            self.settle(streams, members);
        }
    }

    fn seed(&mut self, streams: &mut Streams, members: &mut Members) {
        for flow in std::mem::take(&mut streams.fresh) {
            members.join(flow, streams);
        }
        let mut changed = std::mem::take(&mut streams.changed);
        for at in changed.drain(..) {
            let link = &mut streams.links.all[at as usize];
            if std::mem::take(&mut link.change) == Change::Flows {
                members.release(at, streams);
                continue;
            }
            for position in 0..link.flows.len() {
                members.join(streams.links.all[at as usize].flows[position].flow, streams);
            }
        }
        members.absorb(streams);
        streams.changed = changed;
    }

    /// Takes the members' rates off their links, and lists these by share.
    fn gather(&mut self, streams: &mut Streams, members: &mut Members) {
        self.round = self.round.wrapping_add(1);
        self.touched.clear();
        for member in &mut members.all {
            member.bottleneck = NONE;
            let stream = &streams.all[member.flow as usize];
            for hop in streams.path(member.flow) {
                let at = streams.hops[hop].link;
                let link = &mut streams.links.all[at as usize];
                if link.round != self.round {
                    link.round = self.round;
                    // Flows outside may use more than a capacity that has shrunk: see `share`.
                    link.left = link.capacity.wrapping_sub(link.used);
                    (link.open, link.top, link.inside) = (0, 0, 0);
                    self.touched.push(at);
                }
                let weight = streams.classes.weight(link.class, stream.regime);
                link.left = link.left.wrapping_add(weight.takes(stream.rate));
                link.open += weight.0;
                link.inside += 1;
            }
        }
        let mut shares = std::mem::take(&mut self.shares).into_vec();
        shares.clear();
        shares.extend(self.touched.iter().map(|at| Reverse((share(&streams.links.all[*at as usize]), *at))));
        self.shares = shares.into();
    }

    /// Progressive filling.
    fn fill(&mut self, streams: &mut Streams, members: &mut Members) {
        let mut open = members.all.len();
        while open > 0 {
            let level = self.pick_least(streams);
            for position in 0..self.least.len() {
                open -= self.hold(self.least[position], level, streams, members);
            }
        }
    }

    /// Puts the links of the least share into `least`, and gives that share.
    fn pick_least(&mut self, streams: &Streams) -> Rate {
        self.least.clear();
        let mut level = Rate::INFINITE;
        while let Some(mut first) = self.shares.peek_mut() {
            let Reverse((known, at)) = *first;
            if known > level {
                break;
            }
            let link = &streams.links.all[at as usize];
            let share = if link.open == 0 { known } else { share(link) };
            if share > known {
                first.0.0 = share;
                continue;
            }
            PeekMut::pop(first);
            if link.open > 0 {
                level = share;
                self.least.push(at);
            }
        }
        assert!(!self.least.is_empty(), "every flow without a rate is on a link with a share");
        level
    }

    /// Fixes the open members on link `at` at `level`, and gives their number.
    fn hold(&mut self, at: u32, level: Rate, streams: &mut Streams, members: &mut Members) -> usize {
        let mut held = 0;
        for position in 0..streams.links.all[at as usize].flows.len() {
            let link = &streams.links.all[at as usize];
            let flow = link.flows[position].flow;
            let stream = &streams.all[flow as usize];
            if stream.member == NONE || members.all[stream.member as usize].bottleneck != NONE {
                continue;
            }
            let rate = level.min(streams.classes.alone(link.class, stream.regime));
            let member = &mut members.all[stream.member as usize];
            (member.rate, member.bottleneck) = (rate, at);
            for hop in streams.path(flow) {
                let link = &mut streams.links.all[streams.hops[hop].link as usize];
                let weight = streams.classes.weight(link.class, stream.regime);
                link.left = link.left.wrapping_sub(weight.takes(rate));
                link.open -= weight.0;
                link.top = rate.0;
            }
            held += 1;
        }
        if held > 0 {
            let link = &mut streams.links.all[at as usize];
            (link.held, link.top) = (self.round, level.0);
        }
        held
    }
}

impl MaxMin {
    /// Lets those flows join that have lost their bottleneck, or hold too much of a member's.
    fn question(&mut self, streams: &mut Streams, members: &mut Members) {
        for at in &self.touched {
            let link = &streams.links.all[*at as usize];
            // Shares round down: less than one step for each flow that it holds back may be left.
            if link.keeps > 0 && (link.top > link.level || link.left >= u64::from(link.keeps)) {
                members.release(*at, streams);
            }
            // On a link that held flows back, none was faster than these.
            if link.held != self.round || link.level != 0 && link.top >= link.level {
                continue;
            }
            for position in 0..link.flows.len() {
                let link = &streams.links.all[*at as usize];
                let flow = link.flows[position].flow;
                if streams.all[flow as usize].rate.0 > link.top {
                    members.join(flow, streams);
                }
            }
        }
        members.absorb(streams);
    }

    /// Writes down what the links carry now, and which hold flows back.
    fn settle(&mut self, streams: &mut Streams, members: &Members) {
        for member in &members.all {
            streams.all[member.flow as usize].bottleneck = member.bottleneck;
            streams.links.all[member.bottleneck as usize].keeps += 1;
        }
        for at in &self.touched {
            let link = &mut streams.links.all[*at as usize];
            link.used = link.capacity - link.left;
            link.first = Time::NEVER;
            if link.held == self.round {
                link.level = link.top;
            } else if link.keeps == 0 {
                link.level = 0;
            }
        }
    }
}

/// The even share of the open flows on `link`; nothing where those outside use all of it.
fn share(link: &Link) -> Rate {
    if link.left > i64::MAX as u64 { Rate(0) } else { fair_share(link.left, link.open) }
}
