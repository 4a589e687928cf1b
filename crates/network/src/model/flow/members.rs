//! The flows whose rates are being computed, with the rates that they will have.

use super::links::Link;
use super::streams::{NONE, Streams};
use crate::model::rate::Rate;

/// One of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Member {
    pub flow: u32,
    /// The link that holds it back; `NONE` while its rate is open, and where no one link does.
    pub bottleneck: u32,
    pub rate: Rate,
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Members {
    pub all: Vec<Member>,
    /// Links whose flows, those that they hold back, are to become members.
    released: Vec<u32>,
}

impl Members {
    /// Takes `flow` in, if it is not; no link holds it back until its rate is known.
    pub fn join(&mut self, flow: u32, streams: &mut Streams) {
        let stream = &mut streams.all[flow as usize];
        if stream.member == NONE {
            stream.member = self.all.len() as u32;
            self.all.push(Member { flow, bottleneck: NONE, rate: Rate(0) });
            let bottleneck = std::mem::replace(&mut stream.bottleneck, NONE);
            if bottleneck != NONE {
                let link = &mut streams.links.all[bottleneck as usize];
                link.keeps -= 1;
                self.release(bottleneck, link);
            }
        }
    }

    /// Lets all flows that `link` (number `at`) holds back join at the next [`Members::absorb`].
    pub fn release(&mut self, at: u32, link: &Link) {
        if link.keeps > 0 {
            self.released.push(at);
        }
    }

    /// Takes in the flows of released links: those that one link holds back join together.
    pub fn absorb(&mut self, streams: &mut Streams) {
        while let Some(at) = self.released.pop() {
            let mut position = 0;
            while streams.links.all[at as usize].keeps > 0 {
                let flow = streams.links.all[at as usize].flows[position].flow;
                if streams.all[flow as usize].bottleneck == at {
                    self.join(flow, streams);
                }
                position += 1;
            }
        }
    }
}
