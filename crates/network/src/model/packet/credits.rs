//! Credits on their way back: lists that are taken in when somebody looks, so that they need no events.

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
        while lane.returning != NONE {
            let first = self.all[lane.returning as usize];
            if first.at > now {
                return;
            }
            lane.credit += first.bytes;
            self.free.push(lane.returning);
            lane.returning = first.next;
        }
        lane.returning_last = NONE;
    }

    /// Sends `bytes` back to `lane`, usable at `at`.
    pub fn send(&mut self, at: Time, bytes: u32, lane: &mut Lane) {
        let returning = Returning { at, bytes, next: NONE };
        let index = self.free.pop().unwrap_or_else(|| {
            self.all.push(returning);
            self.all.len() as u32 - 1
        });
        self.all[index as usize] = returning;
        if lane.returning == NONE {
            lane.returning = index;
        } else {
            self.all[lane.returning_last as usize].next = index;
        }
        lane.returning_last = index;
    }

    /// When `lane` will have `bytes`, if what is on its way is enough for that.
    pub fn enough_at(&self, bytes: u32, lane: &Lane) -> Option<Time> {
        let (mut credit, mut next) = (lane.credit, lane.returning);
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
