//! Slack: on links that a crowd has reached, rates follow changes in steps.
//!
//! A link is crowded while n ≥ 16 flows share it, once it has changed the rates of what it holds back (bundles, see
//! `bundles.rs`) 1,024 / n times for each flow that has come: the larger the crowd, the less a change moves, and the more
//! it costs. Both count from the beginning of the run: a crowd after a long time
//! that cost little has exact rates for longer, and one that has been crowded is so again at once. Before rates
//! are next computed, crowded links get slack, and with them all links that share a flow with a link that has some; a link
//! keeps it until it is empty. All others have exact rates: what no crowd reaches is as it would be without slack, to the bit.
//!
//! Exact rates of coupled crowds cost most: each flow that comes to a link or leaves it changes the n others a little, and
//! each of them the n flows on another link. A link with slack is left as it is while
//!
//! ```text
//! |sum over its flows of rate - capacity| ≤ 2⁻⁶ capacity,      rate of a flow on it ≤ (1 + 2⁻⁶) level
//! ```
//!
//! where a rate is the level of the bottleneck, and new flows that it holds back get its level. The flows that it holds
//! back then share what it has left, or lacks:
//!
//! ```text
//! pace = level + (capacity - sum of rates) / flows that it holds back,      |pace - level| ≤ 2⁻⁶ level
//! ```
//!
//! Other links reckon with the level, so a change of the pace costs a step for the link, not for each flow. Flows that
//! take less than their rate of a link (see `classes.rs`) share less than all of what it has left.
//!
//! A link carries less than (1 + 2⁻⁶)² of its capacity, and one that holds flows back more than (1 - 2⁻⁶)²: 1/32 more or
//! less at any time. No such bound holds for times, in which errors of rates add up or cancel. Measured beside exact rates, on
//! all-to-alls of 2 to 64 KiB, all as fluids, between 48 to 256 hosts of aries, hopper and mustang: makespans are 0.2 % short to 0.8 % long,
//! mean latencies 0.2 % short to 0.4 % long; the 99th percentile of latencies is off by up to 1.5 %, the longest by up to 4 %,
//! and that of a single message by more. Where all hosts send at the same instants, a small difference changes the order of
//! all that follows: several linear all-to-alls between 96 hosts of aries, one after the other, are off by up to 2 %. Halos,
//! whose steps wait for each other and would end up to 4 % later, change their rates less often: of 7 kB and 64 KiB on 1,024
//! ranks of these machines they are exact, or end within 0.1 % where 24 ranks share a host.
//!
//! Rates depend on the order of instants, and may on that in which simultaneous messages are handed over, which is the same
//! in each run.

use engine::Time;

use super::link::Link;
use super::link_use::Carried;
use super::links::Links;
use super::streams::{NONE, Streams};
use crate::model::rate::Rate;

/// Slack of links on which rates are exact.
pub(super) const EXACT: i64 = -1;

/// Fewest flows of a crowded link.
pub(super) const MANY: u32 = 16;

/// Fewest changes of rates of a crowded link, for each flow that has come, times the flows on it.
pub(super) const COSTLY: u64 = 1024;

/// Binary logarithm of a capacity as a multiple of its slack.
const SLACK: u32 = 6;

/// Binary logarithm of a level as a multiple of the least change of a pace: each makes the first end be looked for.
const STEP: u32 = 10;

/// Slack of a link that has some.
pub(super) fn slack(capacity: u64) -> i64 {
    (capacity >> SLACK) as i64
}

/// The highest rate of flows on a link with slack and of that level.
pub(super) fn highest(level: u64) -> u64 {
    level + (level >> SLACK)
}

impl Links {
    /// Notes that `link` has changed the rates of so many bundles that it holds back.
    pub fn note_changes(&mut self, link: u32, bundles: u32) {
        self.carried[link as usize].changes += u64::from(bundles);
        self.note_crowd(link);
    }

    /// Notes that `link` is crowded, if it is and has no slack yet.
    pub fn note_crowd(&mut self, link: u32) {
        if self.all[link as usize].slack == EXACT && self.is_crowded(link) {
            self.crowded.push(link);
        }
    }

    /// True if `link` has enough flows, and has changed rates often enough for their number, to get slack.
    pub fn is_crowded(&self, link: u32) -> bool {
        let Link { load, was_crowded, .. } = self.all[link as usize];
        let Carried { messages, changes, .. } = &self.carried[link as usize];
        let load = u64::from(load);
        load >= u64::from(self.many) && (was_crowded || changes * load >= self.costly * (messages + load))
    }
}

impl Streams {
    /// Gives slack to crowded links and to those that flows couple with them, and takes it from those that are empty.
    pub fn spread_slack(&mut self) {
        let mut reached = std::mem::take(&mut self.reached);
        while let Some(at) = self.links.crowded.pop() {
            if self.links.is_crowded(at) {
                self.links.all[at as usize].was_crowded = true;
                self.give_slack(at, &mut reached);
            }
        }
        while let Some(stream) = self.spreading.pop() {
            let has_slack = |at: &u32| self.links.all[*at as usize].slack != EXACT;
            if self.all[stream as usize].flow != NONE && self.path(stream).iter().any(has_slack) {
                self.give_slack_along(stream, &mut reached);
            }
        }
        while let Some(at) = reached.pop() {
            let streams: Vec<u32> = self.on(at).collect();
            streams.into_iter().for_each(|stream| self.give_slack_along(stream, &mut reached));
        }
        self.reached = reached;
        while let Some(at) = self.links.emptied.pop() {
            let link = &mut self.links.all[at as usize];
            if link.load == 0 {
                link.slack = EXACT;
            }
        }
    }

    /// Gives slack to the links of `stream`.
    fn give_slack_along(&mut self, stream: u32, reached: &mut Vec<u32>) {
        for hop in self.hop_range(stream) {
            self.give_slack(self.hops[hop], reached);
        }
    }

    /// Gives slack to link `at`. If it had none, adds it to those that are `reached`.
    fn give_slack(&mut self, at: u32, reached: &mut Vec<u32>) {
        let link = &mut self.links.all[at as usize];
        if link.slack == EXACT {
            link.slack = slack(self.links.capacities[at as usize]);
            reached.push(at);
        }
    }

    /// Lets the flows that link `at` holds back share what it has left, or lacks, as far as its slack goes.
    pub fn fill(&mut self, at: u32, now: Time) {
        let Link { spare, level, slack, keeps, .. } = self.links.all[at as usize];
        // A link that has more left gives its flows all that they can take.
        if slack == EXACT || keeps == 0 || spare > slack {
            return;
        }
        let most = (level >> SLACK) as i64;
        let more = (spare / i64::from(keeps)).clamp(-most, most);
        let pace = level.saturating_add_signed(more).min(level.max(self.links.capacities[at as usize]));
        if pace.abs_diff(self.links.pace(at).0) > level >> STEP {
            self.links.set_pace(at, Rate(pace), now);
            self.note(at);
        }
    }
}
