//! Credits on their way back: they are taken in when somebody looks, so that they need no events. The
//! first of them stand in the channel's own record.

use engine::Time;

use super::NONE;
use super::ports::Lane;

/// Credits that will be usable at a time.
#[derive(Debug, Clone, Copy)]
struct Returning {
    at: Time,
    bytes: u32,
    next: u32,
}

/// All of them, in lists of which each virtual channel has one, in order of time.
#[derive(Debug, Default)]
pub(super) struct Credits {
    all: Vec<Returning>,
    free: Vec<u32>,
}

impl Credits {
    /// Takes in what has come back to `lane` by `now`.
    pub fn collect(&mut self, now: Time, lane: &mut Lane) {
        while lane.coming > 0 && lane.comes_at <= now {
            lane.credit += std::mem::take(&mut lane.coming);
            if lane.later != NONE {
                let first = self.all[lane.later as usize];
                self.free.push(lane.later);
                (lane.comes_at, lane.coming, lane.later) = (first.at, first.bytes, first.next);
            }
        }
    }

    /// Sends `bytes` back to `lane`, usable at `at`, which is after `now` and all that was sent before.
    pub fn send(&mut self, now: Time, at: Time, bytes: u32, lane: &mut Lane) {
        self.collect(now, lane);
        if lane.coming == 0 {
            (lane.comes_at, lane.coming) = (at, bytes);
            return;
        }
        let returning = Returning { at, bytes, next: NONE };
        let index = self.free.pop().unwrap_or_else(|| {
            self.all.push(returning);
            self.all.len() as u32 - 1
        });
        self.all[index as usize] = returning;
        if lane.later == NONE {
            lane.later = index;
        } else {
            self.all[lane.latest as usize].next = index;
        }
        lane.latest = index;
    }

    /// When `lane` will have `bytes`, if what is on its way is enough for that.
    pub fn enough_at(&self, bytes: u32, lane: &Lane) -> Option<Time> {
        let mut credit = lane.credit + lane.coming;
        if lane.coming > 0 && credit >= bytes {
            return Some(lane.comes_at);
        }
        let mut next = lane.later;
        while next != NONE {
            let returning = self.all[next as usize];
            credit += returning.bytes;
            if credit >= bytes {
                return Some(returning.at);
            }
            next = returning.next;
        }
        None
    }
}
