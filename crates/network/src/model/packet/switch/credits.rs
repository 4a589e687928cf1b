//! Credits on their way back: they are taken in when somebody looks, so that they need no events. The
//! first of them stand in the channel's own record.

use engine::Time;

use super::super::NONE;
use super::super::size::WireSize;
use super::super::waits::Resource;
use super::links::VirtualChannel;

/// Room that a packet leaves in a buffer.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Credit {
    pub size: WireSize,
    /// Resource that the packet waited for which left the room.
    pub held_by: Resource,
}

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
    /// Takes in what has come back to `channel` by `now`.
    #[inline]
    pub fn collect(&mut self, now: Time, channel: &mut VirtualChannel) {
        while channel.coming > 0 && channel.comes_at <= now {
            channel.credit += std::mem::take(&mut channel.coming);
            channel.credit_held_by = channel.coming_held_by;
            if channel.latest != NONE {
                self.collect_later(channel);
            }
        }
    }

    /// The first of those that come later is next.
    fn collect_later(&mut self, channel: &mut VirtualChannel) {
        let index = self.first(channel);
        let first = self.all[index as usize];
        (channel.comes_at, channel.coming, channel.coming_held_by) = (first.at, first.bytes, first.held_by);
        self.free.push(index);
        if index == channel.latest {
            channel.latest = NONE;
        } else {
            self.all[channel.latest as usize].next = first.next;
        }
    }

    /// The first of those that come later, of which there are some.
    fn first(&self, channel: &VirtualChannel) -> u32 {
        self.all[channel.latest as usize].next
    }

    /// Sends `credit` back to `channel`, usable at `at`, which is after `now`, and mostly after all that was
    /// sent before.
    #[inline]
    pub fn send(&mut self, now: Time, at: Time, credit: Credit, channel: &mut VirtualChannel) {
        self.collect(now, channel);
        if channel.coming == 0 {
            (channel.comes_at, channel.coming, channel.coming_held_by) = (at, credit.size.0, credit.held_by);
        } else {
            self.send_later(at, credit, channel);
        }
    }

    fn send_later(&mut self, at: Time, credit: Credit, channel: &mut VirtualChannel) {
        let Credit { size: WireSize(bytes), held_by } = credit;
        if at < channel.comes_at {
            let (first, comes_at) = (channel.coming, channel.comes_at);
            let first = Credit { size: WireSize(first), held_by: channel.coming_held_by };
            (channel.comes_at, channel.coming, channel.coming_held_by) = (at, bytes, held_by);
            return self.send_later(comes_at, first, channel);
        }
        let index = self.free.pop().unwrap_or(self.all.len() as u32);
        if index as usize == self.all.len() {
            self.all.push(Returning { at, bytes, next: index, held_by });
        }
        if channel.latest == NONE {
            self.all[index as usize] = Returning { at, bytes, next: index, held_by };
            channel.latest = index;
            return;
        }
        // Behind the last that is not later; some are only where packets get lost.
        let mut before = channel.latest;
        let is_last = self.all[before as usize].at <= at;
        while !is_last && self.all[self.all[before as usize].next as usize].at <= at {
            before = self.all[before as usize].next;
        }
        let next = std::mem::replace(&mut self.all[before as usize].next, index);
        self.all[index as usize] = Returning { at, bytes, next, held_by };
        if is_last {
            channel.latest = index;
        }
    }

    /// The credits on their way to `channel`, the first first.
    fn on_their_way(&self, channel: &VirtualChannel) -> impl Iterator<Item = (Time, u32)> {
        let first = (channel.coming > 0).then_some((channel.comes_at, channel.coming));
        let mut next = if channel.latest == NONE { NONE } else { self.first(channel) };
        let latest = channel.latest;
        let later = std::iter::from_fn(move || {
            let returning = self.all.get(next as usize)?;
            next = if next == latest { NONE } else { returning.next };
            Some((returning.at, returning.bytes))
        });
        first.into_iter().chain(later)
    }

    /// Bytes that `channel` may send at `now`, whether their credits have been taken in or not.
    #[inline]
    pub fn known(&self, now: Time, channel: &VirtualChannel) -> u32 {
        if channel.coming == 0 || channel.comes_at > now {
            return channel.credit;
        }
        let come = self.on_their_way(channel).take_while(|(at, _)| *at <= now);
        channel.credit + come.map(|(_, bytes)| bytes).sum::<u32>()
    }

    /// Time at which `channel` will have `size`, if the credits on their way are enough for that.
    pub fn enough_at(&self, size: WireSize, channel: &VirtualChannel) -> Option<Time> {
        let mut credit = channel.credit;
        let enough = self.on_their_way(channel).find(|(_, more)| {
            credit += more;
            credit >= size.0
        });
        enough.map(|(at, _)| at)
    }
}
