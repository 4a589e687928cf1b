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

use super::affected::Affected;
use super::streams::{NONE, Streams};
use crate::model::rate::Rate;

/// Finds the rates after the changes in `streams`.
pub(super) fn solve(streams: &mut Streams, affected: &mut Affected) {
    let mut changed = std::mem::take(&mut streams.changed);
    for at in &changed {
        let link = &streams.links.all[*at as usize];
        let weight = |flow: u32| streams.classes.weight(link.class, streams.all[flow as usize].regime).0;
        let weight = link.flows.iter().map(|entry| weight(entry.flow)).sum();
        let share = streams.links.equal_share(*at, weight);
        streams.links.all[*at as usize].level = share.0;
        affected.link(*at, streams);
    }
    for at in changed.drain(..) {
        streams.links.all[at as usize].dirty = false;
        for position in 0..streams.links.all[at as usize].flows.len() {
            let link = &streams.links.all[at as usize];
            let flow = link.flows[position].flow;
            let stream = &streams.all[flow as usize];
            if stream.bottleneck == at || stream.bottleneck == NONE {
                let (rate, bottleneck) = least_share(flow, streams);
                hold(flow, rate, bottleneck, streams, affected);
            } else {
                let share = Rate(link.level).min(streams.classes.alone(link.class, stream.regime));
                if share < stream.rate {
                    hold(flow, share, at, streams, affected);
                }
            }
        }
    }
    streams.changed = changed;
}

/// The least share of `flow`, and where.
fn least_share(flow: u32, streams: &Streams) -> (Rate, u32) {
    let stream = &streams.all[flow as usize];
    let share = |at: u32| {
        let link = &streams.links.all[at as usize];
        (Rate(link.level).min(streams.classes.alone(link.class, stream.regime)), at)
    };
    streams.hops[stream.path()].iter().map(|at| share(*at)).min().expect("a flow has links")
}

/// Link `at` holds `flow` back from now on.
fn hold(flow: u32, rate: Rate, at: u32, streams: &mut Streams, affected: &mut Affected) {
    let stream = &streams.all[flow as usize];
    let holder = stream.bottleneck;
    if stream.rate != rate {
        affected.set_rate(flow, rate, streams);
    }
    if holder != at {
        streams.all[flow as usize].bottleneck = at;
        affected.link(at, streams);
        if holder == NONE {
            streams.place(flow);
        } else {
            affected.link(holder, streams);
        }
    }
}
