//! Memory that the next events need is asked for before they come.

use engine::{Lane, Queue, prefetch};

use super::{NONE, NOTHING, Packet, Step, open};

impl Packet {
    /// Asks for what the event far ahead names, and for what the one near ahead will find there.
    #[inline]
    pub(super) fn look_ahead(&self, queue: &Queue) {
        if let Some(token) = queue.upcoming(FAR).filter(|token| token.lane() == Lane::Network) {
            let (step, first, second) = open(token);
            match step {
                Step::Ready => {
                    prefetch(&self.packets.all, first as usize);
                    prefetch(&self.lanes, second as usize);
                    prefetch(&self.ports, self.link_of(second) as usize);
                }
                Step::Idle => {
                    if first != NOTHING {
                        prefetch(&self.ports, first as usize);
                    }
                    if second != NOTHING {
                        prefetch(&self.ports, second as usize);
                        prefetch(&self.lanes, (second * self.channels) as usize);
                        prefetch(&self.lanes, (second * self.channels + self.channels - 1) as usize);
                    }
                }
                _ => {}
            }
        }
        if let Some(token) = queue.upcoming(NEAR).filter(|token| token.lane() == Lane::Network) {
            let (step, first, second) = open(token);
            match step {
                Step::Ready => {
                    let state = &self.packets.all[first as usize];
                    prefetch(&self.lanes, state.wants as usize);
                    prefetch(&self.ports, self.link_of(state.wants) as usize);
                    prefetch(&self.lanes, (second ^ 1) as usize);
                    self.paths.prepare(state.path + 1);
                }
                Step::Idle => {
                    if first != NOTHING {
                        let requester = self.ports[first as usize].requests;
                        if requester != NONE && requester < self.lanes.len() as u32 {
                            prefetch(&self.lanes, requester as usize);
                            prefetch(&self.ports, self.link_of(requester) as usize);
                        }
                    }
                }
                _ => {}
            }
        }
    }
}

const FAR: usize = 6;
const NEAR: usize = 3;
