//! The flows whose rates are being computed, with the rates that they will have.

use super::streams::{NONE, Streams};
use crate::model::rate::Rate;

/// One of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Member {
    pub flow: u32,
    /// The link that holds it back; `NONE` while its rate is open.
    pub bottleneck: u32,
    pub rate: Rate,
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Members {
    pub all: Vec<Member>,
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
                streams.links.all[bottleneck as usize].keeps -= 1;
            }
        }
    }
}
