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

use super::links::Change;
use super::members::Members;
use super::streams::Streams;
use crate::model::rate::Rate;

/// Finds who is concerned by the changes in `streams`, and the rates of these.
pub(super) fn solve(streams: &mut Streams, members: &mut Members) {
    for flow in std::mem::take(&mut streams.fresh) {
        members.join(flow, streams);
    }
    let mut changed = std::mem::take(&mut streams.changed);
    for at in changed.drain(..) {
        streams.links.all[at as usize].change = Change::None;
        let mut weight = 0;
        for position in 0..streams.links.all[at as usize].flows.len() {
            let link = &streams.links.all[at as usize];
            let flow = link.flows[position].flow;
            weight += streams.classes.weight(link.class, streams.all[flow as usize].regime).0;
            members.join(flow, streams);
        }
        let share = streams.links.equal_share(at, weight);
        let link = &mut streams.links.all[at as usize];
        link.level = if link.flows.is_empty() { 0 } else { share.0 };
    }
    streams.changed = changed;
    for member in &mut members.all {
        let stream = &streams.all[member.flow as usize];
        let share = |hop: usize| {
            let link = &streams.links.all[streams.hops[hop] as usize];
            Rate(link.level).min(streams.classes.alone(link.class, stream.regime))
        };
        member.rate = stream.path().map(share).min().expect("a flow has links");
    }
}
