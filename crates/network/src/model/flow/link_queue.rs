//! The queue of a link for packets of short messages, see `packets.rs`.

use engine::{Duration, Time};

use super::streams::NONE;
use crate::model::rate::Rate;

/// Queue of a link, first come, first served: the times at which the link is busy.
#[derive(Debug, Clone, Copy)]
pub(super) struct LinkQueue {
    /// Time at which the link is through with all.
    pub until: Time,
    /// Beginning of the first packet that has taken the link ahead of time.
    ahead: Time,
    /// Beginning of the gap before `ahead`, in which the link is idle.
    idle: Time,
    /// Slot of the message whose packets have taken the link ahead of time.
    owner: u32,
    /// Regime of the last packet.
    pub regime: u8,
    /// Rate of a packet of `regime`; zero before the first.
    pub rate: Rate,
}

impl LinkQueue {
    pub const EMPTY: LinkQueue = LinkQueue {
        until: Time::ZERO,
        ahead: Time::ZERO,
        idle: Time::ZERO,
        owner: NONE,
        regime: 0,
        rate: Rate(0),
    };

    /// A packet comes at `now`, and takes `time`; gives the time at which it begins.
    pub fn enter(&mut self, now: Time, time: Duration) -> Time {
        let begin = now.max(self.idle);
        if begin + time <= self.ahead {
            self.idle = begin + time;
            return begin;
        }
        let begin = now.max(self.until);
        self.until = begin + time;
        begin
    }

    /// Time that the link needs for packets that have yet to pass it.
    pub fn backlog(&self, now: Time) -> Duration {
        if self.ahead > now {
            return self.idle.since(now.min(self.idle)) + self.until.since(self.ahead);
        }
        self.until.since(now.min(self.until))
    }

    /// A packet of message `owner` will come at `begin`, and take `time`: it takes the link ahead, if it may. Says whether it does.
    pub fn take_ahead(&mut self, now: Time, begin: Time, time: Duration, owner: u32) -> bool {
        if self.until > begin {
            return false;
        }
        if self.ahead <= now {
            (self.ahead, self.idle, self.owner) = (begin, self.until, owner);
        } else if self.owner != owner || begin > self.until {
            return false;
        }
        self.until = begin + time;
        true
    }
}
