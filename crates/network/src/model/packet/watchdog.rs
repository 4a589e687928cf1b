//! Finds a deadlock: a cycle of channels each of which waits for room in the next.

use super::{NONE, Packet};
use crate::topology::{LinkId, Node};

impl Packet {
    /// A cycle of channels whose first packets wait for each other's room, if there is one.
    pub(super) fn cycle(&self) -> Option<Vec<u32>> {
        let mut seen = vec![0u32; self.lanes.len()];
        for (first, round) in (0..self.lanes.len() as u32).zip(1..) {
            let mut at = first;
            while seen[at as usize] == 0 {
                seen[at as usize] = round;
                let lane = &self.lanes[at as usize];
                if lane.front == NONE || lane.wants == NONE {
                    break;
                }
                at = lane.wants;
                if seen[at as usize] == round {
                    let mut cycle = vec![at];
                    let mut next = self.lanes[at as usize].wants;
                    while next != at {
                        cycle.push(next);
                        next = self.lanes[next as usize].wants;
                    }
                    return Some(cycle);
                }
            }
        }
        None
    }

    /// The name of a channel for people.
    pub(super) fn channel_name(&self, lane: u32) -> String {
        let topology = &*self.alone.fabric.topology;
        let link = topology.link(LinkId(self.link_of(lane)));
        let name = |node: Node| match node {
            Node::Host(host) => topology.host_name(host),
            Node::Router(router) => topology.router_name(router),
        };
        format!("{} -> {} (channel {})", name(link.from), name(link.to), lane % self.channels)
    }
}
