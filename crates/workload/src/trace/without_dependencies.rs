//! Replay without dependencies: the simulation of a trace whose messages are known, but not their dependencies.
//!
//! Three passes over the trace: communicators are created (in the recorded order, since later calls need them), all
//! receives are posted, then all sends and collectives are started, in the mode `none` at once, in `no-dependencies`
//! with the recorded computing between them. Waits, tests and probes are left out; one wait at the end covers
//! everything. Receives that the program cancelled are posted after all others, so that they take no message of
//! those, and nothing that was cancelled is waited for. Memory for requests grows with the number of the rank's
//! messages, as all are in progress together.

use std::collections::BTreeSet;
use std::sync::Arc;

use engine::Duration;
use engine::hash::Map;
use mpi::collective::Collective;
use mpi::operation::{CommId, Peer, Request, Start, TagMatch, Until, Work};
use mpi::{Completion, Op};

use super::error::TraceError;
use super::monotonic_clock::{self, MonotonicClock};
use super::replay::{Mode, Opening, sleep};
use super::set::{RankCalls, RecordedCall, Step};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pass {
    Communicators,
    Receives,
    Rest,
    Wait,
    Over,
}

/// Replay of one rank.
pub struct WithoutDependencies {
    open: Opening,
    calls: Box<dyn RankCalls>,
    pass: Pass,
    /// Communicators that the first pass has created, in order; and the number of them that this pass has reached.
    comms: Vec<CommId>,
    seen: usize,
    makes_comm: bool,
    /// Operation that each persistent request starts.
    persistent: Map<Request, Op>,
    /// Operations to issue next, in reverse order.
    more: Vec<Op>,
    /// Number of sends and receives that this pass has reached; from the first pass, the latest of each request, and
    /// the cancelled ones.
    messages: u64,
    latest: Map<Request, u64>,
    cancelled: BTreeSet<u64>,
    /// Receives to post after all others.
    last: Vec<Op>,
    /// Number of requests, and those that nothing waits for.
    requests: u32,
    unwaited: BTreeSet<Request>,
    /// Previous call, and the computing since the previous operation.
    call: Option<RecordedCall>,
    computed: Duration,
    time: MonotonicClock,
    /// Warning that the clock runs backwards.
    backwards: Option<String>,
}

impl WithoutDependencies {
    /// Begins with the first pass.
    pub fn new(open: Opening) -> Result<WithoutDependencies, TraceError> {
        Ok(WithoutDependencies {
            calls: open.calls()?,
            open,
            pass: Pass::Communicators,
            comms: Vec::new(),
            seen: 0,
            makes_comm: false,
            persistent: Map::default(),
            more: Vec::new(),
            messages: 0,
            latest: Map::default(),
            cancelled: BTreeSet::new(),
            last: Vec::new(),
            requests: 0,
            unwaited: BTreeSet::new(),
            call: None,
            computed: Duration::ZERO,
            time: MonotonicClock::default(),
            backwards: None,
        })
    }

    /// The next operation.
    pub fn next(&mut self, done: &Completion) -> Result<Op, TraceError> {
        if self.makes_comm {
            self.makes_comm = false;
            self.comms.push(done.comm);
            self.calls.made(done.comm);
        }
        loop {
            if let Some(op) = self.more.pop() {
                return Ok(op);
            }
            match self.pass {
                Pass::Wait => {
                    self.pass = Pass::Over;
                    let all = (0..self.requests).map(Request).filter(|one| !self.unwaited.contains(one));
                    let all: Arc<[Request]> = all.collect();
                    if !all.is_empty() {
                        return Ok(Op::Wait(all, Until::All));
                    }
                }
                Pass::Over => return Ok(Op::Finish),
                _ => match self.calls.next()? {
                    None => self.next_pass()?,
                    Some(step) => {
                        let first = self.compute(&step, done);
                        let op = self.translate(step.op);
                        self.more.extend(op);
                        if !self.more.is_empty() {
                            self.more.extend(work(std::mem::take(&mut self.computed)));
                        }
                        self.more.extend(first);
                    }
                },
            }
        }
    }

    /// Position of the rank, for reports of failures.
    pub fn place(&self) -> String {
        match self.pass {
            Pass::Communicators => "making the trace's communicators".into(),
            Pass::Receives => "posting the trace's receives".into(),
            Pass::Rest => "starting the trace's sends and collectives".into(),
            Pass::Wait | Pass::Over => format!("waiting for all {} operations of the trace", self.requests),
        }
    }

    /// Warnings of the current pass.
    pub fn warnings(&self) -> Vec<String> {
        self.backwards.iter().cloned().chain(self.calls.warnings()).collect()
    }

    fn next_pass(&mut self) -> Result<(), TraceError> {
        self.pass = match self.pass {
            Pass::Communicators => Pass::Receives,
            Pass::Receives => Pass::Rest,
            _ => Pass::Wait,
        };
        self.more.extend(std::mem::take(&mut self.last).into_iter().rev());
        if self.pass == Pass::Wait {
            self.more.extend(work(std::mem::take(&mut self.computed)));
        } else {
            self.calls = self.open.calls()?;
            self.persistent.clear();
            (self.seen, self.messages) = (0, 0);
        }
        Ok(())
    }

    /// Accumulates the computing before a call, or the step's own. Returns computing that must be issued at once.
    fn compute(&mut self, step: &Step, done: &Completion) -> Option<Op> {
        if self.open.options.mode != Mode::NoDependencies || self.pass != Pass::Rest {
            return None;
        }
        let (call, cause) = self.time.call(step.call);
        if let (Some(cause), None) = (cause.or_else(|| self.calls.set_back()), &self.backwards) {
            self.backwards = Some(monotonic_clock::warning(&step.call, self.open.rank.0, &cause));
        }
        let before = self.call.replace(call);
        let gap = before.map_or(Duration::ZERO, |before| call.begin.since(before.end));
        let gap = before.and_then(|_| self.open.gaps.work(gap, &self.calls.before()));
        match gap {
            Some(Work::Time(time) | Work::Polled(time)) => self.computed += time,
            // Computing at the platform's rate, in a recording with an order of calls.
            Some(work) => return Some(Op::Compute(work)),
            None => {}
        }
        match &step.op {
            Op::Compute(Work::Time(time)) => {
                self.computed += *time;
                None
            }
            Op::Compute(other) => Some(Op::Compute(*other)),
            _ if before.is_none() => sleep(self.open.first(step.call.begin), done.now),
            _ => None,
        }
    }

    /// Part of this call that belongs to the pass.
    fn translate(&mut self, op: Op) -> Option<Op> {
        match (self.pass, op) {
            (Pass::Communicators, op @ Op::NewComm(..)) => {
                self.makes_comm = true;
                Some(op)
            }
            (_, Op::NewComm(..)) => {
                self.calls.made(self.comms[self.seen]);
                self.seen += 1;
                None
            }
            (Pass::Communicators, Op::Cancel(request)) => {
                self.cancelled.extend(self.latest.get(&request));
                None
            }
            (_, Op::Send(send, Start::Persistent(request))) => {
                self.persistent.insert(request, Op::Send(send, Start::Request(request)));
                None
            }
            (_, Op::Receive(receive, Start::Persistent(request))) => {
                self.persistent.insert(request, Op::Receive(receive, Start::Request(request)));
                None
            }
            (_, Op::Start(requests)) => {
                requests.iter().rev().for_each(|request| self.start_persistent(*request, None));
                None
            }
            (_, Op::StartAs(requests, whose)) => {
                let all = requests.iter().zip(&*whose).rev();
                all.for_each(|(request, whose)| self.start_persistent(*request, *whose));
                None
            }
            (_, op) => self.start(op),
        }
    }

    /// Starts the operation of a persistent request; `whose` overrides the source and tag of a receive.
    fn start_persistent(&mut self, request: Request, whose: Option<(Peer, TagMatch)>) {
        let mut op = self.persistent.get(&request).cloned();
        if let (Some(Op::Receive(receive, _)), Some((from, tag))) = (&mut op, whose) {
            (receive.from, receive.tag) = (from, tag);
        }
        let started = op.and_then(|op| self.start(op));
        self.more.extend(started);
    }

    /// Starts an operation under a new request, if it belongs to the pass.
    fn start(&mut self, op: Op) -> Option<Op> {
        if let Op::Send(_, start) | Op::Receive(_, start) = &op {
            self.messages += 1;
            if let (Pass::Communicators, Start::Request(request)) = (self.pass, start) {
                self.latest.insert(*request, self.messages);
            }
        }
        let is_message = matches!(op, Op::Send(..) | Op::Receive(..));
        let cancelled = is_message && self.cancelled.contains(&self.messages);
        let request = Request(self.requests);
        let op = match (self.pass, op) {
            (Pass::Receives, Op::Receive(receive, _) | Op::SendReceive(_, receive)) => {
                Op::Receive(receive, Start::Request(request))
            }
            (Pass::Rest, Op::Send(send, _) | Op::SendReceive(send, _)) => {
                Op::Send(send, Start::Request(request))
            }
            (Pass::Rest, Op::Collective(call, _)) => Op::Collective(call, Start::Request(request)),
            (Pass::Rest, Op::Finalize(_)) => {
                let barrier = Arc::new(Collective::barrier(CommId::WORLD));
                Op::Collective(barrier, Start::Request(request))
            }
            _ => return None,
        };
        self.requests += 1;
        if cancelled {
            self.unwaited.insert(request);
            if self.pass == Pass::Receives {
                self.last.push(op);
                return None;
            }
        }
        Some(op)
    }
}

fn work(time: Duration) -> Option<Op> {
    (time > Duration::ZERO).then_some(Op::Compute(Work::Time(time)))
}
