//! Lone flows: those that are alone on all their links.
//!
//! Most messages of most programs meet no other. A lone flow has the rate of its narrowest link from its beginning on; its
//! links only say whose they are: no entry, no level, no clock. When another flow comes to one of them, the lone flow is
//! placed on its links as though it had been there since it began (`Streams::occupy`): rates, clocks and ends are the same
//! to the bit.
//!
//! Only under max-min, and where the rate of a link does not depend on how many processes send: see
//! `Streams::count_active`.

use engine::Time;

use super::Sharing;
use super::streams::{NONE, Stream, Streams};
use crate::model::rate::{Rate, Work};

/// All that the links of a stream give to a flow of a regime that is alone on them.
#[derive(Debug, Clone, Copy)]
pub(super) struct LoneShare {
    pub rate: Rate,
    /// The hop on the narrowest link; `NONE` as long as nothing is known.
    pub hop: u32,
    pub regime: u8,
}

impl LoneShare {
    /// That of a stream which has had no lone flow.
    pub const UNKNOWN: LoneShare = LoneShare { rate: Rate::INFINITE, hop: NONE, regime: 0 };
}

impl Streams {
    /// May the flow of `stream`, which is alone on its links, be a lone one?
    #[inline]
    pub fn may_be_lone(&self, stream: u32) -> bool {
        self.sharing == Sharing::MaxMin && self.ways_out[stream as usize].is_none()
    }

    /// Lets the lone flow of `stream`, of `work`, begin.
    #[inline]
    pub fn begin_lone(&mut self, now: Time, stream: u32, work: Work) {
        let Stream { share, regime, .. } = self.all[stream as usize];
        let share = if share.hop == NONE || share.regime != regime { self.lone_share(stream) } else { share };
        let state = &mut self.all[stream as usize];
        (state.due, state.since, state.share) = (work, now, share);
        for hop in self.hop_range(stream) {
            let at = self.hops[hop];
            self.links.begin(now, at);
            let link = &mut self.links.all[at as usize];
            (link.load, link.is_lone, link.touched) = (1, true, stream);
        }
    }

    /// Takes the lone flow of `stream`, which has ended, off its links.
    #[inline]
    pub fn leave_lone(&mut self, now: Time, stream: u32) {
        for hop in self.hop_range(stream) {
            let at = self.hops[hop];
            let link = &mut self.links.all[at as usize];
            (link.load, link.is_lone, link.touched) = (0, false, 0);
            self.links.end(now, at);
            self.links.note_empty(at);
        }
    }

    /// Places the lone flows that `stream` meets on their links.
    pub fn place_lone_on(&mut self, stream: u32) {
        for hop in self.hop_range(stream) {
            if let Some(lone) = self.links.all[self.hops[hop] as usize].lone() {
                self.place_lone(lone);
            }
        }
    }

    /// Places the lone flow of `stream` on its links, where it has been since it began.
    pub fn place_lone(&mut self, stream: u32) {
        let Stream { due, since, .. } = self.all[stream as usize];
        for hop in self.hop_range(stream) {
            let link = &mut self.links.all[self.hops[hop] as usize];
            (link.is_lone, link.touched) = (false, 0);
        }
        self.occupy(since, stream, due);
    }

    /// Share of a flow of the regime of `stream` that is alone on its links.
    pub fn lone_share(&self, stream: u32) -> LoneShare {
        let Stream { path: (path, _), regime, .. } = self.all[stream as usize];
        let mut found = LoneShare { rate: Rate::INFINITE, hop: path, regime };
        for hop in self.hop_range(stream) {
            let share = self.all_of(self.hops[hop], regime);
            if share < found.rate {
                (found.rate, found.hop) = (share, hop as u32);
            }
        }
        found
    }

    /// Rate of a flow of `regime` that has link `at` for itself.
    pub fn all_of(&self, at: u32, regime: u8) -> Rate {
        let class = self.links.all[at as usize].class;
        self.links
            .equal_share(at, self.classes.weight(class, regime).0)
            .min(self.classes.alone(class, regime))
    }
}
