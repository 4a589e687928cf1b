//! Queues behind the outputs of routers, and packets that are marked there.
//!
//! A router marks a data packet that leaves it if, at that instant, the packets there that go the same way out have more than
//! K bytes, this one included. That is asked at the end of an instant, so it does not depend on the order of what happens
//! within one.

use engine::Bytes;

use super::super::index::PacketIndex;
use super::super::packets::InTransit;
use super::Switch;
use crate::topology::LinkId;

/// Congestion mark of a packet.
#[derive(Debug, Clone, Copy)]
struct Mark {
    is_marked: bool,
    /// The output at which it is counted.
    counted: Option<LinkId>,
}

const UNMARKED: Mark = Mark { is_marked: false, counted: None };

/// Bytes that wait for each output, and the marks of packets.
#[derive(Debug)]
pub(super) struct Marks {
    /// K.
    threshold: Bytes,
    of_packets: Vec<Mark>,
    /// Bytes that wait for each output of a router.
    queued: Vec<u64>,
}

impl Marks {
    fn of(&mut self, packet: PacketIndex) -> &mut Mark {
        if packet.at() >= self.of_packets.len() {
            self.of_packets.resize(packet.at() + 1, UNMARKED);
        }
        &mut self.of_packets[packet.at()]
    }
}

impl Switch {
    /// Marks packets in queues of more than `threshold` from now on.
    pub fn begin_marking(&mut self, threshold: Bytes) {
        let queued = vec![0; self.ports.len()];
        self.marks = Some(Box::new(Marks { threshold, of_packets: Vec::new(), queued }));
    }

    /// True if packets are marked.
    #[inline]
    pub fn marks_packets(&self) -> bool {
        self.marks.is_some()
    }

    /// Bytes that wait in routers for `link`, where packets are marked.
    pub fn queued(&self, link: LinkId) -> Bytes {
        Bytes(self.marks.as_ref().map_or(0, |marks| marks.queued[link.at()]))
    }

    /// A packet begins, marked if it answers a marked one.
    #[inline]
    pub fn set_mark(&mut self, packet: PacketIndex, is_marked: bool) {
        if let Some(marks) = &mut self.marks {
            *marks.of(packet) = Mark { is_marked, counted: None };
        }
    }

    /// True if a packet has been marked.
    pub fn is_marked(&self, packet: PacketIndex) -> bool {
        let marks = self.marks.as_ref().and_then(|marks| marks.of_packets.get(packet.at()));
        marks.is_some_and(|mark| mark.is_marked)
    }

    /// A packet waits in a router from now on, for an output that it knows. It may have waited there for another.
    pub fn count_in(&mut self, packet: PacketIndex, state: &InTransit) {
        let output = self.link_of(state.wants);
        let Some(marks) = &mut self.marks else { return };
        if let Some(before) = marks.of(packet).counted {
            marks.queued[before.at()] -= state.size.wide();
        }
        marks.queued[output.at()] += state.size.wide();
        marks.of(packet).counted = Some(output);
    }

    /// A packet leaves the router in which it waits, if it is in one. Then it is marked, if it `may_be_marked`.
    pub fn count_out(&mut self, packet: PacketIndex, state: &InTransit, may_be_marked: bool) {
        let Some(marks) = &mut self.marks else { return };
        let Some(output) = marks.of(packet).counted.take() else { return };
        let queued = &mut marks.queued[output.at()];
        let exceeds = *queued > marks.threshold.0;
        *queued -= state.size.wide();
        if may_be_marked && exceeds {
            marks.of(packet).is_marked = true;
        }
    }
}
