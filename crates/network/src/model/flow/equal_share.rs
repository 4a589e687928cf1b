//! The even split at the bottleneck: every link divides itself evenly among its flows.
//!
//! ```text
//! rate of a flow = least over its links of: capacity / number of flows
//! ```
//!
//! Shares that a flow cannot use because it is held back elsewhere are left unused, so rates are never
//! above the max-min fair ones. A change reaches just the flows on the links where it happens.
//!
//! Source: Pakin, "Predicting the performance of extreme-scale supercomputer networks" (The Next Wave
//! 20(2), 2013), Fig. 3: two flows that meet on one link get half of it each, all the way.

use engine::Time;

use super::link::Entry;
use super::streams::Streams;
use crate::model::rate::{Rate, Weight};

/// Finds the rates after the changes in `streams`; `risen` is working memory.
pub(super) fn solve(now: Time, streams: &mut Streams, risen: &mut Vec<u32>) {
    let mut changed = std::mem::take(&mut streams.changed);
    for at in &changed {
        let share = share(*at, streams);
        let link = &mut streams.links.all[*at as usize];
        link.dirty = false;
        if link.keeps > 0 && share.0 > link.level {
            risen.push(*at);
        }
        streams.links.set_level(*at, share, now);
        streams.note(*at);
    }
    // Those that a link with more to share holds back: others may hold them back more.
    for at in risen.drain(..) {
        for position in (0..streams.links.all[at as usize].held as usize).rev() {
            let entry = streams.links.entries[at as usize][position];
            let hop = narrowest(&entry, streams);
            if streams.hops[hop] != at {
                hold(hop, now, streams);
            }
        }
    }
    for at in changed.drain(..) {
        let share = Rate(streams.links.all[at as usize].level);
        for position in streams.links.all[at as usize].held as usize.. {
            let Some(entry) = streams.links.entries[at as usize].get(position).copied() else { break };
            let rate = streams.bundle_rate(entry.number);
            let class = streams.links.all[at as usize].class;
            if rate == Rate::INFINITE {
                hold(narrowest(&entry, streams), now, streams);
            } else if share < rate && streams.classes.weight(class, entry.regime) != Weight(0) {
                streams.note(streams.bundles.all[entry.number as usize].bottleneck);
                hold(entry.place(), now, streams);
            }
        }
    }
    streams.changed = changed;
}

/// The share of each flow on link `at`.
fn share(at: u32, streams: &Streams) -> Rate {
    let link = &streams.links.all[at as usize];
    if streams.classes.are_equal() {
        return streams.links.equal_share(at, u64::from(link.load) << 32);
    }
    let entries = &streams.links.entries[at as usize];
    let weight = |entry: &Entry| streams.classes.weight(link.class, entry.regime).0;
    let share = streams.links.equal_share(at, entries.iter().map(weight).sum());
    let alone = |entry: &Entry| streams.classes.alone(link.class, entry.regime);
    entries.iter().map(alone).fold(share, Rate::min)
}

/// The hop of the stream of `entry` where its share is least, of those of which it takes something.
fn narrowest(entry: &Entry, streams: &Streams) -> usize {
    let share = |hop: &usize| {
        let link = &streams.links.all[streams.hops[*hop] as usize];
        let takes_part = streams.classes.weight(link.class, entry.regime) != Weight(0);
        if takes_part { link.level } else { u64::MAX }
    };
    entry.hops().min_by_key(share).expect("a stream has links")
}

/// The link of `hop` holds its stream back from now on.
fn hold(hop: usize, now: Time, streams: &mut Streams) {
    let at = streams.hops[hop];
    streams.note(at);
    streams.hold_back(at, streams.position(hop), now);
}
