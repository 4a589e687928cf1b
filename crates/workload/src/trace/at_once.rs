//! The mode `none`: all messages of a trace at time zero, what a simulation gets that knows a trace's
//! messages but not what they waited for.
//!
//! The trace is gone through three times: communicators are made (in the recorded order; they must be
//! there), all receives are posted, then all sends and collectives are started. Waits, tests, probes and
//! computing are left out; one wait at the end is for everything. Requests take memory in proportion to
//! the rank's messages, as they are all under way together.

use std::sync::Arc;

use engine::hash::Map;
use mpi::collective::Collective;
use mpi::operation::{CommId, Request, Start, Until};
use mpi::{Completion, Op, Rank};

use super::error::TraceError;
use super::set::{Clocks, RankCalls, TraceSet};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pass {
    Communicators,
    Receives,
    Rest,
    Wait,
    Over,
}

/// One rank's part of the replay.
pub struct AtOnce {
    set: Arc<dyn TraceSet>,
    rank: Rank,
    clocks: Clocks,
    calls: Box<dyn RankCalls>,
    pass: Pass,
    /// What the first pass has made, in order; and how many of them this pass has come by.
    comms: Vec<CommId>,
    seen: usize,
    makes_comm: bool,
    /// What each persistent request does when started.
    persistent: Map<Request, Op>,
    /// Operations that one call has started beside the first.
    more: Vec<Op>,
    requests: u32,
}

impl AtOnce {
    /// Begins with the first pass.
    pub fn new(set: Arc<dyn TraceSet>, rank: Rank, clocks: Clocks) -> Result<AtOnce, TraceError> {
        let calls = set.calls(rank, clocks)?;
        Ok(AtOnce {
            set,
            rank,
            clocks,
            calls,
            pass: Pass::Communicators,
            comms: Vec::new(),
            seen: 0,
            makes_comm: false,
            persistent: Map::default(),
            more: Vec::new(),
            requests: 0,
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
                    let all: Arc<[Request]> = (0..self.requests).map(Request).collect();
                    if !all.is_empty() {
                        return Ok(Op::Wait(all, Until::All));
                    }
                }
                Pass::Over => return Ok(Op::Finish),
                _ => match self.calls.next()? {
                    None => self.next_pass()?,
                    Some(step) => {
                        if let Some(op) = self.translate(step.op) {
                            return Ok(op);
                        }
                    }
                },
            }
        }
    }

    /// Where the rank stands, for reports of failures.
    pub fn place(&self) -> String {
        match self.pass {
            Pass::Communicators => "making the trace's communicators".into(),
            Pass::Receives => "posting the trace's receives".into(),
            Pass::Rest => "starting the trace's sends and collectives".into(),
            Pass::Wait | Pass::Over => format!("waiting for all {} operations of the trace", self.requests),
        }
    }

    /// Those of the pass that is under way.
    pub fn warnings(&self) -> Vec<String> {
        self.calls.warnings()
    }

    fn next_pass(&mut self) -> Result<(), TraceError> {
        self.pass = match self.pass {
            Pass::Communicators => Pass::Receives,
            Pass::Receives => Pass::Rest,
            _ => Pass::Wait,
        };
        if self.pass != Pass::Wait {
            self.calls = self.set.calls(self.rank, self.clocks)?;
            self.persistent.clear();
            self.seen = 0;
        }
        Ok(())
    }

    /// What of this call belongs into the pass.
    fn translate(&mut self, op: Op) -> Option<Op> {
        match (self.pass, op) {
            (Pass::Communicators, op @ Op::NewComm(..)) => {
                self.makes_comm = true;
                Some(op)
            }
            (Pass::Communicators, _) => None,
            (_, Op::NewComm(..)) => {
                self.calls.made(self.comms[self.seen]);
                self.seen += 1;
                None
            }
            (_, Op::Send(send, Start::Persistent(request))) => {
                self.persistent.insert(request, Op::Send(send, Start::Blocking));
                None
            }
            (_, Op::Receive(receive, Start::Persistent(request))) => {
                self.persistent.insert(request, Op::Receive(receive, Start::Blocking));
                None
            }
            (_, Op::Start(requests)) => {
                for request in requests.iter().rev() {
                    let started = self.persistent.get(request).cloned().and_then(|op| self.start(op));
                    self.more.extend(started);
                }
                None
            }
            (_, op) => self.start(op),
        }
    }

    /// Starts an operation under a request of its own, if it belongs into the pass.
    fn start(&mut self, op: Op) -> Option<Op> {
        let op = match (self.pass, op) {
            (Pass::Receives, Op::Receive(receive, _) | Op::SendReceive(_, receive)) => {
                Op::Receive(receive, Start::Request(Request(self.requests)))
            }
            (Pass::Rest, Op::Send(send, _) | Op::SendReceive(send, _)) => {
                Op::Send(send, Start::Request(Request(self.requests)))
            }
            (Pass::Rest, Op::Collective(call, _)) => {
                Op::Collective(call, Start::Request(Request(self.requests)))
            }
            (Pass::Rest, Op::Finalize) => {
                let barrier = Arc::new(Collective::barrier(CommId::WORLD));
                Op::Collective(barrier, Start::Request(Request(self.requests)))
            }
            _ => return None,
        };
        self.requests += 1;
        Some(op)
    }
}
