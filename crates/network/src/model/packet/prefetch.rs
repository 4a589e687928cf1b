//! Memory that the next events need is asked for before they come: large networks do not fit into a core's
//! own caches, and a hop touches some six lines of them.

use engine::{Lane, Queue, Token};

use super::Packet;
use super::steps::Step;

/// Number of events ahead for which the objects that they name are prefetched.
const FAR: usize = 6;
/// Number of events ahead for which what those objects refer to is prefetched.
const NEAR: usize = 3;

impl Packet {
    /// Asks for what the event far ahead names, and for what the one near ahead will find there.
    #[inline]
    pub(super) fn prefetch_events(&self, queue: &Queue) {
        let of_network = |token: &Token| token.lane() == Lane::Network;
        if let Some(token) = queue.upcoming(FAR).filter(of_network) {
            match Step::of(token) {
                Step::Ready(packet, channel) => {
                    self.packets.prefetch(packet);
                    self.switch.prefetch_end(self.switch.link_of(channel));
                }
                Step::Idle { output, line } => {
                    if let Some(output) = output {
                        self.switch.prefetch_start(output);
                    }
                    if let Some(line) = line {
                        self.switch.prefetch_end(line);
                    }
                }
                _ => {}
            }
        }
        if let Some(token) = queue.upcoming(NEAR).filter(of_network) {
            match Step::of(token) {
                Step::Ready(packet, channel) => {
                    let state = &self.packets[packet];
                    self.switch.prefetch_channel(state.wants);
                    self.routes.prefetch(state.path.next());
                    self.prefetch_observer(channel, state.wants);
                }
                Step::Idle { output: Some(output), .. } => self.switch.prefetch_first_request(output),
                _ => {}
            }
        }
    }
}
