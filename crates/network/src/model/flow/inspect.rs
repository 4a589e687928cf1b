//! The last bottleneck of a message: what has held it back.

use engine::Duration;

use super::Flow;
use super::connections::Ends;
use super::streams::NONE;
use crate::interface::Inspect;
use crate::message::{Delays, Message, Shared};
use crate::topology::LinkId;

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
