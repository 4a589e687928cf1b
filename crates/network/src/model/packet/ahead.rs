//! Memory that the next events need is asked for before they come: large networks do not fit into a core's
//! own caches, and a hop touches some six lines of them.

use engine::{Lane, Queue, Token, prefetch};

use super::index::PacketIndex;
use super::{NONE, NOTHING, Packet, Step, open};

/// Number of events ahead for which the objects that they name are prefetched.
const FAR: usize = 6;
/// Number of events ahead for which what those objects refer to is prefetched.
const NEAR: usize = 3;

impl Packet {
    /// Asks for what the event far ahead names, and for what the one near ahead will find there.
    #[inline]
    pub(super) fn look_ahead(&self, queue: &Queue) {
        let of_network = |token: &Token| token.lane() == Lane::Network;
        if let Some(token) = queue.upcoming(FAR).filter(of_network) {
            match open(token) {
                (Step::Ready, packet, lane) => {
                    prefetch(&self.packets.all, packet as usize);
                    self.fetch_end(self.link_of(lane));
                }
                (Step::Idle, output, line) => {
                    prefetch(&self.ports, output as usize);
                    if line != NOTHING {
                        self.fetch_end(line);
                    }
                }
                _ => {}
            }
        }
        if let Some(token) = queue.upcoming(NEAR).filter(of_network) {
            match open(token) {
                (Step::Ready, packet, lane) => {
                    let state = &self.packets.all[packet as usize];
                    prefetch(&self.lanes, state.wants as usize);
                    prefetch(&self.ports, self.link_of(state.wants) as usize);
                    self.paths.fetch(state.path + 1);
                    if let Some(recorder) = &self.recorder {
                        recorder.fetch(lane, PacketIndex(packet), state.wants);
                    }
                }
                (Step::Idle, output, _) => {
                    let requester = self.ports.get(output as usize).map_or(NONE, |port| port.requests);
                    if (requester as usize) < self.lanes.len() {
                        self.fetch_end(self.link_of(requester));
                    }
                }
                _ => {}
            }
        }
    }

    /// Asks for what stands at the end of `link`.
    fn fetch_end(&self, link: u32) {
        prefetch(&self.ports, link as usize);
        prefetch(&self.lanes, (link * self.channels) as usize);
        if self.channels > 2 {
            prefetch(&self.lanes, ((link + 1) * self.channels - 1) as usize);
        }
    }
}
