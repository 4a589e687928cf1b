//! Max-min fair rates, computed anew only where a change can reach.
//!
//! A feasible set of rates is max-min fair if and only if every flow has a bottleneck: a link that is
//! full, and on which no flow is faster (Bertsekas and Gallager, "Data Networks", 6.5.2). So only
//! those flows become members of a computation whose bottleneck a change has touched: at first the new
//! flows, and those held back by a link that flows came to or left. Then progressive filling raises
//! the level from zero, with what the other flows leave, and looks at each link once its turn comes:
//!
//! - at its even share a link holds its open members back, unless others on it are faster than that:
//!   then these become members, too, and open;
//! - at the rate of the others that it holds back, a link must still be full: if it is not, they become
//!   members, and open.
//!
//! At the end every flow has a bottleneck: the rates are exact, however few were looked at. Nothing is
//! done twice, for a flow that opens at rate x > level takes no link below the level: a link that could
//! give all its open flows a level t with x outside can do so with x inside.
//!
//! Links whose turn comes at the same level are fixed together, so that no order among them can show.

use engine::Time;

use super::classes::Classes;
use super::links::{Change, Link};
use super::members::Members;
use super::shares::Shares;
use super::streams::{NONE, Streams};
use crate::model::rate::{Rate, Weight, fair_share};

/// The link is still full at the rate of those that it holds back.
const CHECKED: u8 = 1;
/// The link is listed because flows on it have opened.
const LISTED: u8 = 2;
/// The link's turn is noted.
const NOTED: u8 = 4;
/// The link has changed since its turn was computed.
const STALE: u8 = 8;

/// Working memory, kept for the next time.
#[derive(Debug, Default)]
pub(super) struct MaxMin {
    /// The number of the computation.
    round: u32,
    /// The links of all members.
    touched: Vec<u32>,
    /// Those on which flows have just opened.
    listed: Vec<u32>,
    /// Links by their turn.
    shares: Shares,
    /// Those whose turn it is,
    least: Vec<u32>,
    /// in the order in which they take it,
    order: Vec<u64>,
    /// and those of them that might hold flows back.
    holders: Vec<u32>,
}

impl MaxMin {
    /// Finds who is concerned by the changes in `streams`, and the rates of these.
    pub fn solve(&mut self, streams: &mut Streams, members: &mut Members) {
        if streams.classes.are_equal() {
            self.solve_for::<true>(streams, members);
        } else {
            self.solve_for::<false>(streams, members);
        }
    }

    /// With `EQUAL`, all flows take their rate of every link, and weights need no look.
    fn solve_for<const EQUAL: bool>(&mut self, streams: &mut Streams, members: &mut Members) {
        self.round = self.round.wrapping_add(1);
        self.touched.clear();
        self.shares.clear();
        seed(streams, members);
        let mut known = 0;
        loop {
            self.open::<EQUAL>(known, streams, members);
            known = members.all.len();
            let links = &mut streams.links.all;
            let next_turn = |at: u32| turn(&mut links[at as usize]);
            let Some(level) = self.shares.pop_least(&mut self.least, next_turn) else { break };
            self.order_turns(streams);
            self.take_turns::<EQUAL>(level, streams, members);
            // Whoever is not done has another turn.
            for at in &self.least {
                note(*at, &mut streams.links.all[*at as usize], &mut self.shares);
            }
        }
        self.settle(streams, members);
    }

    /// Opens the members from `known` on: takes their rates off their links, and notes these links' turns.
    fn open<const EQUAL: bool>(&mut self, known: usize, streams: &mut Streams, members: &Members) {
        for member in &members.all[known..] {
            let stream = &streams.all[member.flow as usize];
            for at in &streams.hops[stream.path()] {
                let link = &mut streams.links.all[*at as usize];
                if link.round != self.round {
                    link.round = self.round;
                    // Flows outside may use more than a capacity that has shrunk: see `share`.
                    link.left = link.capacity.wrapping_sub(link.used);
                    (link.open, link.key, link.inside, link.marks) = (0, u64::MAX, 0, 0);
                    self.touched.push(*at);
                }
                let weight = weight::<EQUAL>(&streams.classes, link.class, stream.regime);
                link.left = link.left.wrapping_add(takes::<EQUAL>(weight, stream.rate));
                link.open += weight.0;
                link.inside += 1;
                if link.marks & LISTED == 0 {
                    self.listed.push(*at);
                }
                link.marks |= LISTED | STALE;
            }
        }
        for at in self.listed.drain(..) {
            let link = &mut streams.links.all[at as usize];
            link.marks &= !LISTED;
            note(at, link, &mut self.shares);
        }
    }

    /// A flow on several of the links in `least` is held back by the one with most flows, then by number:
    /// not by the order in which links were touched; and the fewer links hold all, the fewer events.
    fn order_turns(&mut self, streams: &Streams) {
        if self.least.len() > 1 {
            let flows = |at: u32| streams.links.all[at as usize].flows.len() as u64;
            self.order.clear();
            self.order.extend(self.least.iter().map(|at| (u64::MAX - flows(*at)) << 32 | u64::from(*at)));
            self.order.sort_unstable();
            self.order.dedup();
            self.least.clear();
            self.least.extend(self.order.iter().map(|word| *word as u32));
        }
    }

    /// It is the turn of the links in `least`: those that can hold flows back at `level`, others let
    /// flows join that are too fast for it, or have lost their bottleneck.
    fn take_turns<const EQUAL: bool>(&mut self, level: Rate, streams: &mut Streams, members: &mut Members) {
        self.holders.clear();
        for at in &self.least {
            let link = &mut streams.links.all[*at as usize];
            link.marks &= !NOTED;
            if link.keeps > 0 && link.marks & CHECKED == 0 && link.level <= level.0 {
                link.marks |= CHECKED | STALE;
                if !is_full(link) {
                    members.release(*at, link);
                }
            }
            if turn(link).is_some_and(|turn| turn <= level) {
                self.holders.push(*at);
            }
        }
        // First those that can: what they hold back need not be held back by the others.
        self.holders.retain(|at| {
            let holds = !has_faster(*at, level, streams);
            if holds {
                hold::<EQUAL>(*at, level, streams, members);
            }
            !holds
        });
        for at in &self.holders {
            let link = &streams.links.all[*at as usize];
            if share(link).is_some_and(|share| share <= level) {
                for position in 0..link.flows.len() {
                    let flow = streams.links.all[*at as usize].flows[position].flow;
                    if streams.all[flow as usize].rate > level {
                        members.join(flow, streams);
                    }
                }
            }
        }
        members.absorb(streams);
    }

    /// Writes down what the links carry now, and which hold flows back.
    fn settle(&mut self, streams: &mut Streams, members: &Members) {
        for member in &members.all {
            assert!(member.bottleneck != NONE, "every flow is held back by some link");
            streams.all[member.flow as usize].bottleneck = member.bottleneck;
            streams.links.all[member.bottleneck as usize].keeps += 1;
        }
        for at in &self.touched {
            let link = &mut streams.links.all[*at as usize];
            link.used = link.capacity - link.left;
            link.first = Time::NEVER;
            if link.keeps == 0 {
                link.level = 0;
            }
        }
    }
}

/// Lets the new flows join, and those that links hold back which flows came to or left.
fn seed(streams: &mut Streams, members: &mut Members) {
    let mut fresh = std::mem::take(&mut streams.fresh);
    fresh.drain(..).for_each(|flow| members.join(flow, streams));
    streams.fresh = fresh;
    let mut changed = std::mem::take(&mut streams.changed);
    for at in changed.drain(..) {
        let link = &mut streams.links.all[at as usize];
        if std::mem::take(&mut link.change) == Change::Flows {
            members.release(at, link);
            continue;
        }
        for position in 0..link.flows.len() {
            members.join(streams.links.all[at as usize].flows[position].flow, streams);
        }
    }
    members.absorb(streams);
    streams.changed = changed;
}

/// Is some flow on link `at` that is no member faster than `level`?
fn has_faster(at: u32, level: Rate, streams: &Streams) -> bool {
    let link = &streams.links.all[at as usize];
    // On a link that held flows back before, none was faster than these.
    if link.inside as usize == link.flows.len() || link.level != 0 && level.0 >= link.level {
        return false;
    }
    link.flows.iter().any(|entry| {
        let stream = &streams.all[entry.flow as usize];
        stream.rate > level && stream.member == NONE
    })
}

/// Fixes the open members on link `at` at `level`.
fn hold<const EQUAL: bool>(at: u32, level: Rate, streams: &mut Streams, members: &mut Members) {
    let links = &mut streams.links.all;
    // Rounding may have left a link a little less than its turn said.
    let Some(turn) = turn(&mut links[at as usize]) else { return };
    let level = level.min(turn);
    let class = links[at as usize].class;
    let flows = std::mem::take(&mut links[at as usize].flows);
    let mut held = false;
    for entry in &flows {
        let stream = &streams.all[entry.flow as usize];
        let Some(member) = members.all.get_mut(stream.member as usize) else { continue };
        if member.bottleneck != NONE {
            continue;
        }
        let rate = if EQUAL { level } else { level.min(streams.classes.alone(class, stream.regime)) };
        (member.rate, member.bottleneck) = (rate, at);
        for hop in &streams.hops[stream.path()] {
            let link = &mut links[*hop as usize];
            let weight = weight::<EQUAL>(&streams.classes, link.class, stream.regime);
            link.left = link.left.wrapping_sub(takes::<EQUAL>(weight, rate));
            link.open -= weight.0;
            link.marks |= STALE;
        }
        held = true;
    }
    links[at as usize].flows = flows;
    if held {
        links[at as usize].level = level.0;
    }
}

fn weight<const EQUAL: bool>(classes: &Classes, class: u16, regime: u8) -> Weight {
    if EQUAL { Weight::ONE } else { classes.weight(class, regime) }
}

fn takes<const EQUAL: bool>(weight: Weight, rate: Rate) -> u64 {
    if EQUAL { rate.0 } else { weight.takes(rate) }
}

/// Notes the turn of link `at`, if it comes before the one that is noted.
fn note(at: u32, link: &mut Link, shares: &mut Shares) {
    let noted = if link.marks & NOTED == 0 { u64::MAX } else { link.key };
    if let Some(turn) = turn(link).filter(|turn| turn.0 < noted) {
        link.marks |= NOTED;
        shares.push(turn, at);
    }
}

/// The level at which `link` is to be looked at: its even share, or the rate of those that it holds
/// back; `None` if there are none. It is kept in `key`.
fn turn(link: &mut Link) -> Option<Rate> {
    if link.marks & STALE != 0 {
        let kept = (link.keeps > 0 && link.marks & CHECKED == 0).then_some(link.level);
        let share = share(link).map(|share| share.0);
        link.key = [share, kept].into_iter().flatten().min().unwrap_or(u64::MAX);
        link.marks &= !STALE;
    }
    (link.key != u64::MAX).then_some(Rate(link.key))
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

/// Is `link` full if its open flows get the rate of those that it holds back? Shares round down: less
/// than one step for each of both may be left.
fn is_full(link: &Link) -> bool {
    let taken = (u128::from(link.open) * u128::from(link.level)) >> 32;
    let spare = u128::from(link.left).saturating_sub(taken);
    spare < u128::from(link.keeps) + u128::from(link.open >> 32)
}
