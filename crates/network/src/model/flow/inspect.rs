//! Inspection of flows: what they have moved, and the last bottleneck of a message.

use engine::{Bytes, Duration, Time};

use super::Flow;
use super::connections::Ends;
use super::streams::NONE;
use crate::interface::Inspect;
use crate::message::{Delays, Message, Shared};
use crate::model::rate::Work;
use crate::topology::LinkId;

impl Flow {
    /// Bytes on the wire that the flow of a stream has moved.
    pub(super) fn flowed(&self, stream: u32, now: Time) -> Bytes {
        let (size, left) = (self.streams.all[stream as usize].size, self.streams.left(stream, now));
        self.alone.wire_bytes(Work::of(size).less(left).bytes())
    }

    /// Counts what all flows that are not done have moved, for a report of changes.
    pub(super) fn count_under_way(&mut self, now: Time) {
        for at in 0..self.streams.flowing.len() {
            let stream = self.streams.flowing[at];
            let (bytes, hops) = (self.flowed(stream, now), self.streams.hop_range(stream));
            self.streams.links.count_under_way(&self.streams.hops[hops], bytes);
        }
    }
}

impl Inspect for Flow {
    fn delays(&self, message: &Message, contention: Duration) -> Delays {
        if message.from.host == message.to.host {
            return Delays::at(Shared::Memory, contention);
        }
        let connection = self.connections.find(Ends::of(message));
        let held_by = connection.map_or(NONE, |connection| self.connections.all[connection as usize].held_by);
        let topology = &self.alone.fabric.topology;
        if held_by >= topology.links() {
            return Delays::at(Shared::Nic, contention);
        }
        Delays::at(Shared::of_class(topology.link(LinkId(held_by)).class), contention)
    }
}
