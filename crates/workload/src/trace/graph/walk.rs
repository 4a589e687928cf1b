//! The replay of one rank's schedule: it finds the order of its operations while the simulation runs.
//!
//! ```text
//! all that is ready to be sent or received is begun, without waiting;
//! then every idle processor begins what is ready for it, in the order in which it has become so;
//! all processors together compute until the first of them is done;
//! what has arrived meanwhile is asked for, and the same again;
//! where nothing is left to compute, the rank waits until one of its messages is complete.
//! ```
//!
//! Assumptions: a rank sees that a message is complete when one of its processors ends what it computes, or when all
//! of them are idle (as LogGOPSim's single processor does; with several, another one would see it at once). Asking
//! costs what a test costs on the platform; sending and receiving cost what they cost any MPI program there.

use std::collections::VecDeque;
use std::sync::Arc;

use engine::{Bytes, Duration, Time};
use mpi::operation::{CommId, Peer, Receive, Request, Send, Start, Until, Via};
use mpi::{Completion, Op};

use super::{After, SharedGraph, Work};
use crate::trace::error::TraceError;
use crate::trace::set::{Begun, RankCalls, RecordedCall, Step};

/// Effect of the completion of the operation that was issued last.
enum Last {
    Nothing,
    /// Completes some of the messages under way: all of them if the completion lists none.
    Wait,
    /// Like `Wait`, but possibly none is complete.
    Test,
    /// Advances the processors' computing by this time.
    Computed(Duration),
}

/// Replay of one rank's graph.
pub struct Walk {
    graph: SharedGraph,
    /// Number of unmet dependencies of each node.
    held: Vec<u32>,
    messages: VecDeque<u32>,
    /// Nodes that each processor may begin, and the node that it computes, with its remaining time.
    ready: Vec<VecDeque<u32>>,
    running: Vec<Option<(u32, Duration)>>,
    /// Messages under way, in the order in which they were begun.
    under_way: Vec<(Request, u32)>,
    free: Vec<Request>,
    requests: u32,
    last: Last,
    /// Node that the last issued operation begins, if it begins one.
    begun: Option<u32>,
    /// True if processors have computed since messages were last tested.
    computed: bool,
    done: u64,
    warnings: Vec<String>,
}

impl Walk {
    /// Begins before the first node; `warnings` are those of the rank.
    pub fn new(graph: SharedGraph, warnings: Vec<String>) -> Walk {
        let processors = graph.nodes().iter().map(|node| match node {
            Work::Compute { processor, .. } => *processor as usize + 1,
            _ => 0,
        });
        let processors = processors.max().unwrap_or(0);
        let mut walk = Walk {
            held: graph.before.clone(),
            graph,
            messages: VecDeque::new(),
            ready: vec![VecDeque::new(); processors],
            running: vec![None; processors],
            under_way: Vec::new(),
            free: Vec::new(),
            requests: 0,
            last: Last::Nothing,
            begun: None,
            computed: false,
            done: 0,
            warnings,
        };
        for node in 0..walk.held.len() as u32 {
            if walk.held[node as usize] == 0 {
                walk.enqueue(node);
            }
        }
        walk
    }

    fn enqueue(&mut self, node: u32) {
        match self.graph.nodes[node as usize] {
            Work::Compute { processor, .. } => self.ready[processor as usize].push_back(node),
            _ => self.messages.push_back(node),
        }
    }

    /// Releases the edges of a node that has begun or ended.
    fn release(&mut self, node: u32, what: After) {
        let graph = self.graph.clone();
        for (next, after) in graph.edges_of(node) {
            if *after == what {
                self.held[*next as usize] -= 1;
                if self.held[*next as usize] == 0 {
                    self.enqueue(*next);
                }
            }
        }
        if what == After::Finish {
            self.done += 1;
        }
    }

    /// Begins the next message.
    fn message(&mut self, node: u32) -> Op {
        let request = self.free.pop().unwrap_or(Request(self.requests));
        self.requests = self.requests.max(request.0 + 1);
        self.under_way.push((request, node));
        let (comm, start) = (CommId::WORLD, Start::Request(request));
        let op = match self.graph.nodes[node as usize] {
            Work::Send { to, tag, bytes } => {
                let (to, mode) = (Peer::Rank(to), self.graph.sends);
                Op::Send(Send { to, tag, comm, bytes, mode, via: Via::PLATFORM, data: 0 }, start)
            }
            Work::Receive { from, tag, .. } => {
                Op::Receive(Receive { from, tag, comm, capacity: Bytes(u64::MAX) }, start)
            }
            Work::Collective(number) => {
                Op::Collective(self.graph.collectives[number as usize].clone(), start)
            }
            Work::Compute { .. } => unreachable!("computing is in other queues"),
        };
        self.release(node, After::Start);
        op
    }

    /// Lets idle processors begin what is ready. Returns true if that has made messages ready.
    fn begin_computing(&mut self) -> bool {
        for at in 0..self.running.len() {
            while self.running[at].is_none() {
                let Some(node) = self.ready[at].pop_front() else { break };
                let Work::Compute { time, .. } = self.graph.nodes[node as usize] else { unreachable!() };
                self.running[at] = Some((node, time));
                self.release(node, After::Start);
                if time == Duration::ZERO {
                    self.running[at] = None;
                    self.release(node, After::Finish);
                }
            }
        }
        // A computation of no length ends at once, and may release one on a processor that was visited before.
        let stalled =
            (0..self.running.len()).any(|at| self.running[at].is_none() && !self.ready[at].is_empty());
        stalled || !self.messages.is_empty()
    }

    /// Advances all processors by `time`.
    fn compute(&mut self, time: Duration) {
        self.computed = true;
        for at in 0..self.running.len() {
            if let Some((node, left)) = self.running[at] {
                let left = left.saturating_sub(time);
                self.running[at] = (left > Duration::ZERO).then_some((node, left));
                if left == Duration::ZERO {
                    self.release(node, After::Finish);
                }
            }
        }
    }

    /// Completes the messages at these indices, which ascend.
    fn complete(&mut self, places: impl Iterator<Item = usize>) {
        let mut over: Vec<(usize, u32)> = Vec::new();
        for place in places {
            let (request, node) = self.under_way[place];
            self.free.push(request);
            over.push((place, node));
        }
        let (mut at, mut gone) = (0, over.iter().map(|(place, _)| *place).peekable());
        self.under_way.retain(|_| {
            at += 1;
            gone.next_if_eq(&(at - 1)).is_none()
        });
        over.into_iter().for_each(|(_, node)| self.release(node, After::Finish));
    }

    fn all_under_way(&self) -> Arc<[Request]> {
        self.under_way.iter().map(|(request, _)| *request).collect()
    }
}

impl RankCalls for Walk {
    fn next(&mut self) -> Result<Option<Step>, TraceError> {
        match std::mem::replace(&mut self.last, Last::Nothing) {
            // The completion lists no requests: all are complete.
            Last::Wait => self.complete(0..self.under_way.len()),
            Last::Computed(time) => self.compute(time),
            Last::Nothing | Last::Test => {}
        }
        self.begun = None;
        loop {
            if let Some(node) = self.messages.pop_front() {
                self.begun = Some(node);
                let op = self.message(node);
                let name = match &op {
                    Op::Send(..) => "MPI_Isend",
                    Op::Collective(call, _) => call.kind.nonblocking_function(),
                    _ => "MPI_Irecv",
                };
                return Ok(Some(step(name, op)));
            }
            if self.begin_computing() {
                continue;
            }
            let least = self.running.iter().flatten().map(|(_, left)| *left).min();
            if self.computed && !self.under_way.is_empty() && least.is_some() {
                self.computed = false;
                self.last = Last::Test;
                return Ok(Some(step("MPI_Testsome", Op::Test(self.all_under_way(), Until::Some))));
            }
            if let Some(time) = least {
                self.last = Last::Computed(time);
                return Ok(Some(step("compute", Op::Compute(mpi::operation::Work::Time(time)))));
            }
            if self.under_way.is_empty() {
                return Ok(None);
            }
            self.last = Last::Wait;
            self.computed = false;
            return Ok(Some(step("MPI_Waitsome", Op::Wait(self.all_under_way(), Until::Some))));
        }
    }

    fn begun(&self) -> Option<Begun> {
        let node = self.begun?;
        let bytes = match self.graph.nodes[node as usize] {
            Work::Receive { bytes, .. } => bytes,
            _ => None,
        };
        Some(Begun { number: u64::from(node) + 1, bytes })
    }

    fn made(&mut self, _: CommId) {}

    fn returned(&mut self, done: &Completion) {
        if matches!(self.last, Last::Wait | Last::Test) {
            self.last = Last::Nothing;
            self.complete(done.done.iter().map(|(place, _)| *place as usize));
        }
    }

    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    fn share_read(&self) -> f64 {
        self.done as f64 / self.held.len().max(1) as f64
    }
}

/// Wraps an operation without recorded times.
fn step(name: &'static str, op: Op) -> Step {
    Step { call: RecordedCall { name, begin: Time::ZERO, end: Time::ZERO }, op }
}
