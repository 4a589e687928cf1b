//! The life of a call: the source is asked, the operation begins, the call returns, the next follows.

use std::sync::Arc;

use engine::{Bytes, Duration, Time};

use crate::collective::Collective;
use crate::operation::{CommId, Op, Rank, Receive, Request, Send, Start, Until};
use crate::record::{Failure, Record};
use crate::source::{Completion, Status};
use crate::world::collective::Identity;
use crate::world::process::{Standing, Target};
use crate::world::request::{Slot, Template};
use crate::world::{Context, Outcome, World, text};

/// Progress of a call that has begun.
pub(super) enum CallProgress {
    /// It returns then.
    Return(Time),
    /// It returns with the event that injects its message.
    Riding,
    /// It returns when its socket's memory has moved its bytes.
    Sharing,
    /// It returns when something comes.
    Block,
    /// It returns then, or when a message comes.
    Linger(Time),
    /// The rank is done.
    Finished,
}

impl World {
    /// The call of `rank` returns now; goes on with the next.
    pub(super) fn resume(&mut self, rank: Rank, context: &mut Context) -> Outcome<()> {
        let process = &mut self.processes[rank];
        assert!(process.standing == Standing::Returning, "rank {} returns from a call it is not in", rank.0);
        process.standing = Standing::Issuing;
        let op = process.op.take().expect("a rank in a call knows which");
        self.finish(rank, &op, context);
        self.ask(rank, context)
    }

    /// Begins the operations of `rank` from the very first one on.
    pub(super) fn proceed(&mut self, rank: Rank, context: &mut Context) -> Outcome<()> {
        if self.failure.is_some() {
            return Ok(());
        }
        self.completion =
            Completion { done: std::mem::take(&mut self.completion.done), ..Default::default() };
        self.completion.done.clear();
        self.completion.now = context.now;
        self.ask(rank, context)
    }

    /// Takes operations from the source until one takes time.
    fn ask(&mut self, rank: Rank, context: &mut Context) -> Outcome<()> {
        loop {
            let op = context.source.next(rank, &self.completion);
            let process = &mut self.processes[rank];
            process.call.open(context.now);
            self.event.go_on_from(process.path);
            let entered = self.enter(rank, &op, context.now, context.source);
            let answered = entered.max(self.progress(rank, &op, context)?);
            let standing = match self.issue(rank, &op, context)? {
                CallProgress::Return(at) if at.max(answered) <= context.now => {
                    self.finish(rank, &op, context);
                    continue;
                }
                CallProgress::Return(at) => {
                    self.return_at(rank, at.max(answered), context);
                    Standing::Returning
                }
                CallProgress::Riding | CallProgress::Sharing => Standing::Returning,
                CallProgress::Linger(at) => {
                    self.linger_until(rank, at, context);
                    Standing::Lingering
                }
                CallProgress::Block => Standing::Blocked,
                CallProgress::Finished => {
                    self.finished += 1;
                    Standing::Finished
                }
            };
            let process = &mut self.processes[rank];
            process.standing = standing;
            process.op = Some(op);
            return Ok(());
        }
    }

    /// MPI_Finalize, in which the rank itself is busy for a time.
    fn finalize(&mut self, rank: Rank, own: Duration, context: &mut Context) -> Outcome<CallProgress> {
        let ended = self.processes[rank].engage(context.now, own);
        let barrier = Arc::new(Collective::barrier(CommId::WORLD));
        self.processes[rank].call.outstanding = 1;
        self.start_collective(rank, &barrier, Identity::NEXT, Target::Call, context)?;
        // In a run of one rank the barrier sends nothing that would wait for the end of its own work.
        let call = &mut self.processes[rank].call;
        call.at = call.at.max(ended);
        Ok(self.progress_of(rank, Target::Call, context.now))
    }

    /// Begins one operation. Those that most programs consist of are handled here, the others apart: what these need would
    /// burden every operation otherwise.
    #[inline(always)]
    fn issue(&mut self, rank: Rank, op: &Op, context: &mut Context) -> Outcome<CallProgress> {
        match op {
            Op::Compute(work) => Ok(self.compute(rank, *work, context)),
            Op::Send(send, start) => self.issue_send(rank, send, *start, context),
            Op::Receive(receive, start) => self.issue_receive(rank, receive, *start, context),
            Op::Wait(requests, until) => self.wait(rank, requests, *until, context),
            Op::WaitOne(request) => self.wait(rank, std::slice::from_ref(request), Until::All, context),
            _ => self.issue_other(rank, op, context),
        }
    }

    /// Begins an operation that [`World::issue`] does not handle itself.
    #[inline(never)]
    fn issue_other(&mut self, rank: Rank, op: &Op, context: &mut Context) -> Outcome<CallProgress> {
        let now = context.now;
        match op {
            Op::Compute(_) | Op::Send(..) | Op::Receive(..) | Op::Wait(..) | Op::WaitOne(_) => {
                unreachable!("it has begun already")
            }
            Op::SleepUntil(time) => Ok(CallProgress::Return(now.max(*time))),
            Op::Linger(polls, function) => Ok(self.linger(rank, *polls, function, now)),
            Op::Call(_, time) => Ok(CallProgress::Return(self.processes[rank].engage(now, *time))),
            Op::SendReceive(send, receive) => {
                self.processes[rank].call.outstanding = 2;
                self.receive(rank, receive, Target::Call, context)?;
                self.send(rank, send, Target::Call, false, context)?;
                Ok(self.progress_of(rank, Target::Call, now))
            }
            Op::Collective(call, start) => {
                if let Start::Persistent(request) = start {
                    self.membership(rank, call.comm)?;
                    let number = self.processes[rank].memberships.next_series(call.comm);
                    self.prepare_request(rank, *request, Template::Collective(call.clone(), number))?;
                    return Ok(CallProgress::Return(now));
                }
                let Some(target) = self.target(rank, *start, || unreachable!("it is not persistent"))? else {
                    return Ok(CallProgress::Return(now));
                };
                self.start_collective(rank, call, Identity::NEXT, target, context)?;
                Ok(self.progress_of(rank, target, now))
            }
            Op::Finalize(own) => self.finalize(rank, *own, context),
            Op::Probe(_) | Op::ProbeNow(_) | Op::ProbeMatched(..) => self.probe(rank, op, context),
            Op::ReceiveMatched(number, start) => self.receive_matched(rank, *number, *start, context),
            Op::Test(requests, until) => self.test(rank, op, requests, *until, context),
            Op::Start(requests) => self.start_requests(rank, requests, &[], context),
            Op::StartAs(requests, whose) => self.start_requests(rank, requests, whose, context),
            Op::Cancel(request) => self.cancel(rank, *request, context),
            Op::Free(request) => self.free_request(rank, *request, context),
            Op::Access(access, start) => self.issue_access(rank, access, *start, context),
            Op::File(access, start) => self.issue_file(rank, access, *start, context),
            Op::LetGo(request) => self.let_go(rank, *request, context),
            Op::Drain(draining) => Ok(self.drain(rank, *draining, now)),
            Op::NewComm(comm, new) => self.new_communicator(rank, *comm, new, None, context),
            Op::BeginNewComm(comm, new, request) => {
                self.new_communicator(rank, *comm, new, Some(*request), context)
            }
            Op::TakeNewComm(number) => {
                self.processes[rank].call.number = *number as u32;
                Ok(CallProgress::Return(now))
            }
            Op::FreeComm(comm) => self.free_communicator(rank, *comm, context),
            Op::Abort(code) => Err(Box::new(Failure::Abort { rank, code: *code })),
            Op::Finish => {
                let at = now;
                let process = &mut self.processes[rank];
                process.digest.fold(at.0);
                let path = process.path;
                context.observer.record(now, &Record::Finish { rank, at, path });
                Ok(CallProgress::Finished)
            }
        }
    }

    fn issue_receive(
        &mut self,
        rank: Rank,
        receive: &Receive,
        start: Start,
        context: &mut Context,
    ) -> Outcome<CallProgress> {
        let Some(target) = self.target(rank, start, || Template::Receive(*receive))? else {
            return Ok(CallProgress::Return(context.now));
        };
        self.receive(rank, receive, target, context)?;
        Ok(self.progress_of(rank, target, context.now))
    }

    fn issue_send(
        &mut self,
        rank: Rank,
        send: &Send,
        start: Start,
        context: &mut Context,
    ) -> Outcome<CallProgress> {
        let Some(target) = self.target(rank, start, || Template::Send(*send))? else {
            return Ok(CallProgress::Return(context.now));
        };
        let begun = self.send(rank, send, target, true, context)?;
        Ok(if begun.riding { CallProgress::Riding } else { self.progress_of(rank, target, begun.at) })
    }

    /// Target of an operation that begins with `start`; `None` if it is only
    /// prepared as `template`.
    #[inline]
    pub(super) fn target(
        &mut self,
        rank: Rank,
        start: Start,
        template: impl FnOnce() -> Template,
    ) -> Outcome<Option<Target>> {
        match start {
            Start::Blocking => {
                self.processes[rank].call.outstanding = 1;
                Ok(Some(Target::Call))
            }
            Start::Request(request) => {
                self.activate(rank, request)?;
                Ok(Some(Target::Request(request)))
            }
            Start::Persistent(request) => {
                self.prepare_request(rank, request, template())?;
                Ok(None)
            }
        }
    }

    /// Progress of a call whose operation has begun for `target`: a call that leaves a request
    /// behind returns at `at`.
    #[inline]
    pub(super) fn progress_of(&self, rank: Rank, target: Target, at: Time) -> CallProgress {
        let call = &self.processes[rank].call;
        match target {
            Target::Call if call.outstanding > 0 => CallProgress::Block,
            Target::Call => CallProgress::Return(call.at),
            _ => CallProgress::Return(at),
        }
    }

    /// Tells `target` that its operation is complete from `at` on. Time of it that has not been attributed yet was the
    /// rank's own work.
    #[inline]
    pub(super) fn complete(
        &mut self,
        rank: Rank,
        target: Target,
        at: Time,
        status: Option<Status>,
        context: &mut Context,
    ) -> Outcome<()> {
        if target != Target::Call {
            return self.complete_later(rank, target, at, status, context);
        }
        if let Some(status) = status {
            self.processes[rank].call.status = status;
        }
        self.count_down(rank, at, context);
        Ok(())
    }

    /// Like [`World::complete`], for targets other than the rank's current call.
    fn complete_later(
        &mut self,
        rank: Rank,
        target: Target,
        at: Time,
        status: Option<Status>,
        context: &mut Context,
    ) -> Outcome<()> {
        let process = &mut self.processes[rank];
        match target {
            Target::Nobody => Ok(()),
            Target::Round(instance) => {
                self.charge_work(rank, target, at);
                self.round_part_done(rank, instance, at, context)
            }
            Target::Call => unreachable!("that is complete now"),
            Target::Request(request) => {
                let slot = &mut process.requests[request.0 as usize];
                slot.complete(at, status.unwrap_or(Status::EMPTY));
                if slot.let_go {
                    *slot = Slot::FREE;
                    let status = status.unwrap_or(Status::EMPTY);
                    context.source.completed(rank, request, &status);
                    return Ok(());
                }
                if slot.waited && process.standing == Standing::Blocked {
                    self.count_down(rank, at, context);
                }
                Ok(())
            }
        }
    }

    /// One of the things that the call of `rank` waits for is complete.
    #[inline]
    fn count_down(&mut self, rank: Rank, at: Time, context: &mut Context) {
        let process = &mut self.processes[rank];
        process.work_until(at);
        let call = &mut process.call;
        call.outstanding -= 1;
        call.at = call.at.max(at);
        if process.standing != Standing::Blocked || call.outstanding > 0 {
            return;
        }
        let at = call.at;
        process.standing = Standing::Returning;
        if at > context.now {
            self.return_at(rank, at, context);
        } else {
            self.event.make_ready(rank);
        }
    }

    /// The call returns: says so to the source, the observer and the digest.
    #[inline(always)]
    fn finish(&mut self, rank: Rank, op: &Op, context: &mut Context) {
        let now = context.now;
        let process = &mut self.processes[rank];
        if !matches!(op, Op::Compute(_) | Op::SleepUntil(_)) {
            process.close_call(op, now);
        }
        let call = &process.call;
        let begin = call.begin;
        let completion = &mut self.completion;
        completion.now = now;
        completion.status = call.status;
        completion.done.clear();
        completion.flag = call.flag;
        completion.matched = call.matched;
        completion.comm = CommId::NULL;
        completion.created = None;
        match op {
            Op::Wait(requests, until) => self.collect(rank, requests, *until, now),
            Op::WaitOne(request) => self.collect_one(rank, *request),
            Op::Test(requests, until) if self.completion.flag => self.collect(rank, requests, *until, now),
            Op::NewComm(..) | Op::TakeNewComm(_) => self.collect_communicator(rank),
            _ => {}
        }
        self.fold(rank, op);
        match op {
            Op::Compute(_) => context.observer.record(now, &Record::Compute { rank, begin, end: now }),
            Op::SleepUntil(_) => {}
            _ => {
                let bytes = Bytes(text::sent_by(op) + received(op, &self.completion));
                let name = context.source.function(rank).unwrap_or_else(|| text::name(op));
                let causes = &self.processes[rank].call.causes;
                let record = Record::Call { rank, name, begin, end: now, causes: *causes, bytes };
                context.observer.record(now, &record);
            }
        }
    }

    /// Folds what the call has given into the rank's digest.
    fn fold(&mut self, rank: Rank, op: &Op) {
        let completion = &self.completion;
        let digest = &mut self.processes[rank].digest;
        let mut status = |status: &Status| {
            digest.fold(u64::from(status.source) << 32 | u64::from(status.tag));
            digest.fold(status.bytes << 1 | u64::from(status.cancelled));
        };
        status(&completion.status);
        completion.done.iter().for_each(|(_, done)| status(done));
        digest.fold(completion.now.0);
        digest.fold(u64::from(completion.flag) << 40 | u64::from(completion.comm.0) << 8 | text::code(op));
    }

    /// The requests that a call names.
    pub(super) fn requests_of(op: &Op) -> &[Request] {
        match op {
            Op::Wait(requests, _) | Op::Test(requests, _) => requests,
            Op::Start(requests) | Op::StartAs(requests, _) => requests,
            Op::WaitOne(request) => std::slice::from_ref(request),
            _ => &[],
        }
    }
}

/// Payload that the call itself received.
fn received(op: &Op, completion: &Completion) -> u64 {
    match op {
        Op::Receive(Receive { .. }, Start::Blocking)
        | Op::SendReceive(..)
        | Op::ReceiveMatched(_, Start::Blocking) => completion.status.bytes,
        _ => 0,
    }
}
