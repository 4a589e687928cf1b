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

    /// Sends `bytes` back to `lane`, usable at `at`, which is after `now`, and mostly after all that was
    /// sent before.
    pub fn send(&mut self, now: Time, at: Time, bytes: u32, lane: &mut Lane) {
        self.collect(now, lane);
        if lane.coming == 0 {
            (lane.comes_at, lane.coming) = (at, bytes);
            return;
        }
        if lane.later == NONE && at >= lane.comes_at {
            lane.later = self.keep(Returning { at, bytes, next: NONE });
            lane.latest = lane.later;
        } else if lane.later != NONE && at >= self.all[lane.latest as usize].at {
            let index = self.keep(Returning { at, bytes, next: NONE });
            self.all[lane.latest as usize].next = index;
            lane.latest = index;
        } else {
            self.send_before(at, bytes, lane);
        }
    }

    fn keep(&mut self, returning: Returning) -> u32 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.all.push(returning);
            self.all.len() as u32 - 1
        });
        self.all[index as usize] = returning;
        index
    }

    /// The same, where some that was sent before comes later: only where packets get lost.
    fn send_before(&mut self, at: Time, bytes: u32, lane: &mut Lane) {
        if at < lane.comes_at {
            let first = Returning { at: lane.comes_at, bytes: lane.coming, next: lane.later };
            (lane.comes_at, lane.coming) = (at, bytes);
            lane.later = self.keep(first);
            if first.next == NONE {
                lane.latest = lane.later;
            }
            return;
        }
        let (mut before, mut next) = (NONE, lane.later);
        while self.all[next as usize].at <= at {
            (before, next) = (next, self.all[next as usize].next);
        }
        let index = self.keep(Returning { at, bytes, next });
        match before {
            NONE => lane.later = index,
            before => self.all[before as usize].next = index,
        }
    }

    /// What `lane` may send at `now`, whether that has been taken in or not.
    pub fn known(&self, now: Time, lane: &Lane) -> u32 {
        let (mut credit, mut at, mut bytes, mut next) = (lane.credit, lane.comes_at, lane.coming, lane.later);
        while bytes > 0 && at <= now {
            credit += bytes;
            if next == NONE {
                return credit;
            }
            let returning = self.all[next as usize];
            (at, bytes, next) = (returning.at, returning.bytes, returning.next);
        }
        credit
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
