//! Max-min fair rates, computed anew only where a change can reach.
//!
//! A feasible set of rates is max-min fair if and only if every flow has a bottleneck: a link that is
//! full, and on which no flow is faster (Bertsekas and Gallager, "Data Networks", 6.5.2). So it is
//! enough to look at flows whose bottleneck a change has touched:
//!
//! 1. Members are the new flows, and those held back by a link that flows came to or left.
//! 2. Progressive filling gives the members what the others leave: the links with the least even share
//!    fix their members at it, again and again until all have a rate.
//! 3. The others still need their bottlenecks. Those on a link that holds members back at less than
//!    they have, and those whose own link is no longer full or lets a member be faster, become
//!    members, too; then 2 goes on. When there are none, all flows have a bottleneck: the rates are
//!    exact, however few were looked at.
//!
//! Filling goes on from the least rate that is in question: a flow that joins at rate x leaves levels
//! below x as they are, for a link that could give it more than a level t with its x outside can give
//! all its flows t with it inside.
//!
//! Links of equal share are fixed together, so that no order among them can show in the rates.

use std::cmp::Reverse;

use engine::Time;

use super::links::{Change, Link};
use super::members::Members;
use super::shares::Shares;
use super::streams::{NONE, Streams};
use crate::model::rate::{Rate, fair_share};

/// Working memory, kept for the next time.
#[derive(Debug, Default)]
pub(super) struct MaxMin {
    /// The number of the computation.
    round: u32,
    /// The links of all members.
    touched: Vec<u32>,
    /// Those that may yet hold members back.
    shares: Shares,
    /// The links of the least share.
    least: Vec<u32>,
}

impl MaxMin {
    /// Finds who is concerned by the changes in `streams`, and the rates of these.
    pub fn solve(&mut self, streams: &mut Streams, members: &mut Members) {
        self.round = self.round.wrapping_add(1);
        self.touched.clear();
        self.seed(streams, members);
        let (mut known, mut from) = (0, 0);
        while known < members.all.len() {
            let open = self.reopen(from, known, streams, members);
            let joined = members.all.len() - known;
            self.gather(known, streams, members);
            known = members.all.len();
            self.fill(open + joined, streams, members);
            from = self.question(known, streams, members);
        }
        self.settle(streams, members);
    }

    fn seed(&mut self, streams: &mut Streams, members: &mut Members) {
        let mut fresh = std::mem::take(&mut streams.fresh);
        fresh.drain(..).for_each(|flow| members.join(flow, streams));
        streams.fresh = fresh;
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

    /// Opens those of the first `known` members again that were fixed at `from` or above, and gives
    /// their number.
    fn reopen(&mut self, from: u64, known: usize, streams: &mut Streams, members: &mut Members) -> usize {
        let mut opened = 0;
        for member in &mut members.all[..known] {
            let holder = &mut streams.links.all[member.bottleneck as usize];
            if holder.top < from {
                continue;
            }
            holder.holds = false;
            member.bottleneck = NONE;
            opened += 1;
            let stream = &streams.all[member.flow as usize];
            for hop in streams.path(member.flow) {
                let link = &mut streams.links.all[streams.hops[hop] as usize];
                let weight = streams.classes.weight(link.class, stream.regime);
                link.left = link.left.wrapping_add(weight.takes(member.rate));
                link.open += weight.0;
            }
        }
        opened
    }

    /// Takes the rates of the members from `known` on off their links.
    fn gather(&mut self, known: usize, streams: &mut Streams, members: &Members) {
        for member in &members.all[known..] {
            let stream = &streams.all[member.flow as usize];
            for hop in streams.path(member.flow) {
                let at = streams.hops[hop];
                let link = &mut streams.links.all[at as usize];
                if link.round != self.round {
                    link.round = self.round;
                    // Flows outside may use more than a capacity that has shrunk: see `share`.
                    link.left = link.capacity.wrapping_sub(link.used);
                    (link.open, link.top, link.holds) = (0, 0, false);
                    self.touched.push(at);
                }
                let weight = streams.classes.weight(link.class, stream.regime);
                link.left = link.left.wrapping_add(weight.takes(stream.rate));
                link.open += weight.0;
            }
        }
    }

    /// Progressive filling of the `open` members.
    fn fill(&mut self, mut open: usize, streams: &mut Streams, members: &mut Members) {
        self.shares.clear();
        for at in &self.touched {
            if let Some(share) = share(&streams.links.all[*at as usize]) {
                self.shares.push(share, *at);
            }
        }
        while open > 0 {
            let share = |at: u32| share(&streams.links.all[at as usize]);
            let level = self.shares.pop_least(&mut self.least, share);
            let level = level.expect("every flow without a rate is on a link with a share");
            // Who holds a flow back does not depend on the order in which links were touched.
            // A flow on several of them is held back by the one with most flows, then by number: not by
            // the order in which links were touched; and the fewer links hold all, the fewer events.
            let flows = |at: u32| streams.links.all[at as usize].flows.len();
            self.least.sort_unstable_by_key(|at| (Reverse(flows(*at)), *at));
            for at in &self.least {
                open -= hold(*at, level, streams, members);
            }
        }
    }

    /// Lets those flows join that have lost their bottleneck, or hold too much of a member's, and gives
    /// the least rate that this puts in question.
    fn question(&mut self, known: usize, streams: &mut Streams, members: &mut Members) -> u64 {
        let mut from = u64::MAX;
        for at in &self.touched {
            let link = &streams.links.all[*at as usize];
            // Shares round down: less than one step for each flow that it holds back may be left.
            if link.keeps > 0 && (link.top > link.level || link.left >= u64::from(link.keeps)) {
                members.release(*at, streams);
            }
            // On a link that held flows back before, none was faster than these.
            if !link.holds || link.level != 0 && link.top >= link.level {
                continue;
            }
            for position in 0..link.flows.len() {
                let link = &streams.links.all[*at as usize];
                let flow = link.flows[position].flow;
                let stream = &streams.all[flow as usize];
                // Those that join here are numbered from `known` on.
                if stream.rate.0 > link.top && stream.member as usize >= known {
                    from = from.min(link.top);
                    members.join(flow, streams);
                }
            }
        }
        members.absorb(streams);
        let joined = members.all[known..].iter();
        joined.map(|member| streams.all[member.flow as usize].rate.0).fold(from, u64::min)
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
            if link.holds {
                link.level = link.top;
            } else if link.keeps == 0 {
                link.level = 0;
            }
        }
    }
}

/// Fixes the open members on link `at` at `level`, and gives their number.
fn hold(at: u32, level: Rate, streams: &mut Streams, members: &mut Members) -> usize {
    let mut held = 0;
    for position in 0..streams.links.all[at as usize].flows.len() {
        let link = &streams.links.all[at as usize];
        let flow = link.flows[position].flow;
        let stream = &streams.all[flow as usize];
        let Some(member) = members.all.get_mut(stream.member as usize) else { continue };
        if member.bottleneck != NONE {
            continue;
        }
        let rate = level.min(streams.classes.alone(link.class, stream.regime));
        (member.rate, member.bottleneck) = (rate, at);
        for hop in streams.path(flow) {
            let link = &mut streams.links.all[streams.hops[hop] as usize];
            let weight = streams.classes.weight(link.class, stream.regime);
            link.left = link.left.wrapping_sub(weight.takes(rate));
            link.open -= weight.0;
            link.top = rate.0;
        }
        held += 1;
    }
    if held > 0 {
        let link = &mut streams.links.all[at as usize];
        (link.holds, link.top) = (true, level.0);
    }
    held
}

/// The even share of the open flows on `link`: nothing where those outside use all of it. `None`
/// where no flow is open.
fn share(link: &Link) -> Option<Rate> {
    if link.open == 0 {
        return None;
    }
    let overdrawn = link.left > i64::MAX as u64;
    Some(if overdrawn { Rate(0) } else { fair_share(link.left, link.open) })
}
