//! The even split at the bottleneck: every link divides itself evenly among its flows.
//!
//! ```text
//! rate of a flow = least over its links of: capacity / number of flows
//! ```
//!
//! What a flow that is held back elsewhere cannot use of its share is left unused, so rates are never
//! above the max-min fair ones. A change reaches just the flows on the links where it happens.
//!
//! Source: Pakin, "Predicting the performance of extreme-scale supercomputer networks" (The Next Wave
//! 20(2), 2013), Fig. 3: two flows that meet on one link get half of it each, all the way.

use engine::Time;

use super::streams::{NONE, Streams};
use crate::model::rate::Rate;

/// Finds the rates after the changes in `streams`.
pub(super) fn solve(now: Time, streams: &mut Streams) {
    let mut changed = std::mem::take(&mut streams.changed);
    for at in &changed {
        let share = share(*at, streams);
        let link = &mut streams.links.all[*at as usize];
        // Those that it holds back may have others that hold them back more, now.
        link.exceeded = share.0 > link.level;
        streams.links.set_level(*at, share, now);
        streams.note(*at);
    }
    for at in changed.drain(..) {
        let link = &mut streams.links.all[at as usize];
        link.dirty = false;
        let (share, rises) = (Rate(link.level), link.exceeded);
        for position in 0..link.flows.len() {
            let flow = streams.links.all[at as usize].flows[position].flow;
            let stream = &mut streams.all[flow as usize];
            let own = stream.bottleneck == at;
            if stream.bottleneck == NONE || own && rises {
                let (rate, bottleneck) = least_share(flow, streams);
                hold(flow, rate, bottleneck, now, streams);
            } else if own {
                stream.rate = share;
            } else if share < stream.rate {
                hold(flow, share, at, now, streams);
            }
        }
    }
    streams.changed = changed;
}

/// The share of each flow on link `at`.
fn share(at: u32, streams: &Streams) -> Rate {
    let link = &streams.links.all[at as usize];
    if streams.classes.are_equal() {
        return streams.links.equal_share(at, (link.flows.len() as u64) << 32);
    }
    let (mut weight, mut most) = (0, Rate::INFINITE);
    for entry in &link.flows {
        let regime = streams.all[entry.flow as usize].regime;
        weight += streams.classes.weight(link.class, regime).0;
        most = most.min(streams.classes.alone(link.class, regime));
    }
    streams.links.equal_share(at, weight).min(most)
}

/// The least share of `flow`, and where.
fn least_share(flow: u32, streams: &Streams) -> (Rate, u32) {
    let path = streams.all[flow as usize].path();
    let share = |at: &u32| (Rate(streams.links.all[*at as usize].level), *at);
    streams.hops[path].iter().map(share).min().expect("a flow has links")
}

/// Link `at` holds `flow` back from now on.
fn hold(flow: u32, rate: Rate, at: u32, now: Time, streams: &mut Streams) {
    let stream = &mut streams.all[flow as usize];
    stream.rate = rate;
    let holder = stream.bottleneck;
    if holder != at {
        streams.note(at);
        if holder != NONE {
            streams.note(holder);
        }
        streams.hold_back(flow, at, now);
    }
}
