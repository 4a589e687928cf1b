//! Credits on their way back: they are taken in when somebody looks, so that they need no events. The
//! first of them stand in the channel's own record.

use engine::Time;

use super::NONE;
use super::ports::Lane;
use super::waits::Resource;

/// Credits that will be usable at a time.
#[derive(Debug, Clone, Copy)]
struct Returning {
    at: Time,
    bytes: u32,
    next: u32,
    /// Resource that the packet waited for which left the room.
    held_by: Resource,
}

/// All of them but the first of each virtual channel: rings in order of time, of which the channel knows the
/// last.
#[derive(Debug, Default)]
pub(super) struct Credits {
    all: Vec<Returning>,
    free: Vec<u32>,
}

impl Credits {
    /// Takes in what has come back to `lane` by `now`.
    #[inline]
    pub fn collect(&mut self, now: Time, lane: &mut Lane) {
        while lane.coming > 0 && lane.comes_at <= now {
            lane.credit += std::mem::take(&mut lane.coming);
            lane.credit_held_by = lane.coming_held_by;
            if lane.latest != NONE {
                self.collect_later(lane);
            }
        }
    }

    /// The first of those that come later is next.
    fn collect_later(&mut self, lane: &mut Lane) {
        let index = self.first(lane);
        let first = self.all[index as usize];
        (lane.comes_at, lane.coming, lane.coming_held_by) = (first.at, first.bytes, first.held_by);
        self.free.push(index);
        if index == lane.latest {
            lane.latest = NONE;
        } else {
            self.all[lane.latest as usize].next = first.next;
        }
    }

    /// The first of those that come later, of which there are some.
    fn first(&self, lane: &Lane) -> u32 {
        self.all[lane.latest as usize].next
    }

    /// Sends `bytes` back to `lane`, usable at `at`, which is after `now`, and mostly after all that was
    /// sent before. The packet that left the room waited for `held_by`.
    #[inline]
    pub fn send(&mut self, now: Time, at: Time, (bytes, held_by): (u32, Resource), lane: &mut Lane) {
        self.collect(now, lane);
        if lane.coming == 0 {
            (lane.comes_at, lane.coming, lane.coming_held_by) = (at, bytes, held_by);
        } else {
            self.send_later(at, (bytes, held_by), lane);
        }
    }

    fn send_later(&mut self, at: Time, (bytes, held_by): (u32, Resource), lane: &mut Lane) {
        if at < lane.comes_at {
            let first = (lane.comes_at, (lane.coming, lane.coming_held_by));
            (lane.comes_at, lane.coming, lane.coming_held_by) = (at, bytes, held_by);
            return self.send_later(first.0, first.1, lane);
        }
        let index = self.free.pop().unwrap_or(self.all.len() as u32);
        if index as usize == self.all.len() {
            self.all.push(Returning { at, bytes, next: index, held_by });
        }
        if lane.latest == NONE {
            self.all[index as usize] = Returning { at, bytes, next: index, held_by };
            lane.latest = index;
            return;
        }
        // Behind the last that is not later; some are only where packets get lost.
        let mut before = lane.latest;
        let is_last = self.all[before as usize].at <= at;
        while !is_last && self.all[self.all[before as usize].next as usize].at <= at {
            before = self.all[before as usize].next;
        }
        let next = std::mem::replace(&mut self.all[before as usize].next, index);
        self.all[index as usize] = Returning { at, bytes, next, held_by };
        if is_last {
            lane.latest = index;
        }
    }

    /// The credits on their way to `lane`, the first first.
    fn on_their_way(&self, lane: &Lane) -> impl Iterator<Item = (Time, u32)> {
        let first = (lane.coming > 0).then_some((lane.comes_at, lane.coming));
        let mut next = if lane.latest == NONE { NONE } else { self.first(lane) };
        let latest = lane.latest;
        let later = std::iter::from_fn(move || {
            let returning = self.all.get(next as usize)?;
            next = if next == latest { NONE } else { returning.next };
            Some((returning.at, returning.bytes))
        });
        first.into_iter().chain(later)
    }

    /// Bytes that `lane` may send at `now`, whether their credits have been taken in or not.
    pub fn known(&self, now: Time, lane: &Lane) -> u32 {
        let come = self.on_their_way(lane).take_while(|(at, _)| *at <= now);
        lane.credit + come.map(|(_, bytes)| bytes).sum::<u32>()
    }

    /// Time at which `lane` will have `bytes`, if the credits on their way are enough for that.
    pub fn enough_at(&self, bytes: u32, lane: &Lane) -> Option<Time> {
        let mut credit = lane.credit;
        let enough = self.on_their_way(lane).find(|(_, more)| {
            credit += more;
            credit >= bytes
        });
        enough.map(|(at, _)| at)
    }
}
