//! Waits and tests over requests: all, any, some, one.

use engine::Time;

use crate::operation::{Op, Rank, Request, Until};
use crate::source::Status;
use crate::world::calls::CallProgress;
use crate::world::request::{Slot, State};
use crate::world::{Context, Outcome, World};

impl World {
    /// Begins a wait (MPI_Wait, MPI_Waitall, MPI_Waitany, MPI_Waitsome).
    pub(super) fn wait(
        &mut self,
        rank: Rank,
        requests: &[Request],
        until: Until,
        context: &mut Context,
    ) -> Outcome<CallProgress> {
        let now = context.now;
        // Requests under way; the first and the last time at which one that is complete counts as such.
        let (mut active, mut first, mut last) = (0, Time::NEVER, now);
        let process = &mut self.processes[rank];
        for request in requests {
            match process.requests.get(request.0 as usize) {
                None | Some(Slot { state: State::Free, .. }) => {
                    return Err(self.unknown_request(rank, *request));
                }
                Some(Slot { state: State::Active, .. }) => active += 1,
                Some(Slot { state: State::Complete, at, .. }) => {
                    first = first.min(*at);
                    last = last.max(*at);
                }
                Some(Slot { state: State::Inactive, .. }) => {}
            }
        }
        let known = if until == Until::All { last } else { first.max(now) };
        let satisfied = active == 0 || (until != Until::All && first < Time::NEVER);
        if satisfied {
            let at = if known == Time::NEVER { now } else { known };
            process.work_until(at);
            return Ok(CallProgress::Return(at));
        }
        for request in requests {
            let slot = &mut process.requests[request.0 as usize];
            slot.waited = slot.state == State::Active;
        }
        if until == Until::All {
            process.call.outstanding = active;
            process.call.at = last;
            process.work_until(last);
        } else {
            process.call.outstanding = 1;
        }
        Ok(CallProgress::Block)
    }

    /// Begins and ends a test (MPI_Test, MPI_Testall, MPI_Testany, MPI_Testsome).
    pub(super) fn test(
        &mut self,
        rank: Rank,
        op: &Op,
        requests: &[Request],
        until: Until,
        context: &mut Context,
    ) -> Outcome<CallProgress> {
        let now = context.now;
        self.processes[rank].has_news = false;
        let (mut pending, mut complete) = (0, 0);
        for request in requests {
            let slot = self.slot(rank, *request)?;
            match slot.state {
                State::Complete if slot.at <= now => complete += 1,
                State::Complete | State::Active => pending += 1,
                State::Free | State::Inactive => {}
            }
        }
        let flag = pending == 0 || (until != Until::All && complete > 0);
        self.processes[rank].call.flag = flag;
        Ok(CallProgress::Return(if flag { now } else { now + self.poll_after(rank, op, context.source) }))
    }

    /// Hands the statuses of complete requests to the source, and releases them.
    pub(super) fn collect(&mut self, rank: Rank, requests: &[Request], until: Until, now: Time) {
        let slots = &mut self.processes[rank].requests;
        for (index, request) in requests.iter().enumerate() {
            let slot = &mut slots[request.0 as usize];
            slot.waited = false;
            let status = match until {
                Until::Any if !self.completion.done.is_empty() => continue,
                _ if slot.is_complete(now) => slot.release(),
                Until::All => Status::EMPTY,
                Until::Any | Until::Some => continue,
            };
            self.completion.done.push((index as u32, status));
        }
        if let [(_, status)] = self.completion.done[..] {
            self.completion.status = status;
        }
    }

    /// The same for one request whose wait is over.
    pub(super) fn collect_one(&mut self, rank: Rank, request: Request) {
        let slot = &mut self.processes[rank].requests[request.0 as usize];
        self.completion.status = slot.release();
    }
}
