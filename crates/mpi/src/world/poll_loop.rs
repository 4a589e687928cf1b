//! Loops of tests and probes that find nothing: the time that they take, without an event for each.
//!
//! A rank that asks for a message every d sees one that came at a at
//!
//!   s(a) = b + ⌈(a − b) / d⌉ · d        b: when the loop began, d: the time of a poll
//!
//! Assumptions: nothing but messages and their completion ends such a loop. A program that counts its polls
//! finds that fewer of them took the same time. Source: the definition of a loop.

use engine::{Lane, Owner, Time};

use crate::operation::{Op, Polls, Rank};
use crate::world::calls::CallProgress;
use crate::world::process::Standing;
use crate::world::request::{Slot, State};
use crate::world::{Context, Outcome, Wake, World};

impl World {
    /// The rank polls `function` so many times, or until something comes; not at all if that has happened since its last poll
    /// looked. What is complete at a known time ends it then.
    pub(super) fn linger(&mut self, rank: Rank, polls: Polls, function: &str, now: Time) -> CallProgress {
        let poll = self.poll_time(function);
        let process = &mut self.processes[rank];
        if std::mem::take(&mut process.has_news) {
            process.call.flag = true;
            return CallProgress::Return(now);
        }
        let known = |slot: &Slot| (slot.state == State::Complete && slot.at > now).then_some(slot.at);
        let until = process.requests.iter().filter_map(known).min();
        let polls_until = until.map(|at| at.since(now).0.div_ceil(poll.0.max(1)));
        let most = match polls {
            Polls::AtMost(polls) => Some(polls_until.unwrap_or(u64::MAX).min(polls.into())),
            Polls::Endless => polls_until,
        };
        CallProgress::Linger(most.map_or(Time::NEVER, |polls| now + poll * polls))
    }

    /// The rank lingers, until `deadline` at most; with none, no event of its own ends that, so that a run in which nothing
    /// else can happen ends as a deadlock.
    pub(super) fn linger_until(&mut self, rank: Rank, deadline: Time, context: &mut Context) {
        self.processes[rank].call.at = deadline;
        if deadline == Time::NEVER {
            return;
        }
        context.queue.push(deadline, Owner::new(Lane::Rank, rank.0), Wake::Lingered(rank).encode());
    }

    /// The end of a lingering, or of an earlier one that a message had ended before.
    pub(super) fn lingered(&mut self, rank: Rank, context: &mut Context) -> Outcome<()> {
        let process = &mut self.processes[rank];
        if process.standing != Standing::Lingering || process.call.at != context.now {
            return Ok(());
        }
        process.standing = Standing::Returning;
        self.resume(rank, context)
    }

    /// Something has come to the rank: if it lingers, its next poll will see it.
    #[inline]
    pub(super) fn wake_poller(&mut self, rank: Rank, context: &mut Context) {
        match self.processes[rank].standing {
            Standing::Lingering => self.stop_lingering(rank, context),
            _ => self.processes[rank].has_news = true,
        }
    }

    #[cold]
    fn stop_lingering(&mut self, rank: Rank, context: &mut Context) {
        let Some(Op::Linger(_, function)) = self.processes[rank].op else { unreachable!("the rank lingers") };
        let poll = self.poll_time(function);
        let process = &mut self.processes[rank];
        let begin = process.call.begin;
        let polls = (context.now - begin).0.div_ceil(poll.0);
        let at = (begin + poll * polls).min(process.call.at);
        process.call.flag = true;
        process.standing = Standing::Returning;
        self.return_at(rank, at, context);
    }
}
