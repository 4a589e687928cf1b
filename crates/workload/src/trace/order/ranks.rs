//! Advance of the ranks of a recording, call by call.

use std::cmp::Reverse;

use engine::Time;
use engine::hash::Map;
use mpi::operation::{CommId, Peer, Receive, Request, Send, SendMode, Start, TagMatch, Until, Work};
use mpi::source::{Completion, Status};
use mpi::{Op, Rank};

use super::check;
use super::findings::Kind;
use super::mail::{BLOCKING, Mailbox, Message, Place, Posted};
use super::meeting::{Meeting, What, Which};
use super::{Order, TraceError};
use crate::trace::monotonic_clock::MonotonicClock;
use crate::trace::set::{RankCalls, Step};

/// State of one rank.
pub struct RankState {
    calls: Box<dyn RankCalls>,
    /// Logical clock of its last call.
    pub clock: u64,
    number: u64,
    /// Number of the current node of a graph.
    of_graph: bool,
    /// Length of the message that the call receives, according to the trace \[bytes\].
    said: Option<u64>,
    /// True until its computing ends.
    pub computing: bool,
    /// Call that it is in.
    pub standing: Option<Step>,
    /// Requests by number, and that of a blocking call.
    pub slots: Map<u32, Slot>,
    /// Number of meetings of each identity that it has arrived at.
    meetings: Map<Meeting, u64>,
    pub mail: Mailbox,
    /// True if it is in the queue of ranks that may go on.
    pub queued: bool,
    /// True if it has finished.
    pub over: bool,
    time: MonotonicClock,
}

/// A request, or the operation of a blocking call.
pub struct Slot {
    pub state: State,
    /// Operation that a start of a persistent request begins.
    template: Option<Op>,
}

/// Progress of an operation.
pub enum State {
    /// Not started, or complete and seen by the program.
    Idle,
    /// Waits for a message from a rank, or for the receive of a message to it.
    Waits(Option<Rank>),
    /// Waits at a meeting.
    Meets(Which, usize),
    /// Complete.
    Done(Waited),
}

/// Messages that an operation has waited for.
#[derive(Clone, Copy, Default)]
pub struct Waited {
    /// Latest logical clock.
    clock: Option<u64>,
    /// Call that sent a message, and its time on the sender's host.
    sent: Option<(Place, Time)>,
}

impl Waited {
    fn and(self, other: Waited) -> Waited {
        let later = match (self.sent, other.sent) {
            (Some(one), Some(other)) if other.1 > one.1 => Some(other),
            (one, other) => one.or(other),
        };
        Waited { clock: self.clock.max(other.clock), sent: later }
    }
}

impl RankState {
    /// Begins at the rank's first call, or before the first node of its graph.
    pub fn new(calls: Box<dyn RankCalls>, of_graph: bool) -> RankState {
        RankState {
            calls,
            clock: 0,
            number: 0,
            of_graph,
            said: None,
            computing: false,
            standing: None,
            slots: Map::default(),
            meetings: Map::default(),
            mail: Mailbox::default(),
            queued: true,
            over: false,
            time: MonotonicClock::default(),
        }
    }

    /// Counts one more meeting of this identity and returns its number.
    pub fn count(&mut self, meeting: Meeting) -> u64 {
        let count = self.meetings.entry(meeting).or_default();
        *count += 1;
        *count
    }

    /// Call that it is in.
    pub fn place(&self, rank: Rank) -> Place {
        let call = self.standing.as_ref().map_or("", |step| step.call.name);
        Place { rank, number: self.number, call, of_graph: self.of_graph }
    }

    /// Misuse of a request by an operation, if there is any.
    fn misused(&self, op: &Op) -> Option<String> {
        let slot = |request: &Request| self.slots.get(&request.0);
        let absent = |request: &Request| {
            let cause = || {
                format!("names request {}, which no call before it has begun, or which is over", request.0)
            };
            slot(request).is_none().then(cause)
        };
        let unfit = |request: &Request| {
            let slot = slot(request)?;
            match slot.state {
                _ if slot.template.is_none() => {
                    Some(format!("starts request {}, which is not persistent", request.0))
                }
                State::Idle => None,
                _ => Some(format!("starts request {}, which is started already", request.0)),
            }
        };
        match op {
            Op::Send(_, Start::Request(request) | Start::Persistent(request))
            | Op::Receive(_, Start::Request(request) | Start::Persistent(request))
            | Op::Collective(_, Start::Request(request) | Start::Persistent(request)) => {
                slot(request).map(|_| format!("begins request {}, which is in use", request.0))
            }
            Op::WaitOne(request) | Op::Cancel(request) | Op::Free(request) => absent(request),
            Op::Wait(requests, _) => requests.iter().find_map(absent),
            Op::Start(requests) | Op::StartAs(requests, _) => {
                requests.iter().find_map(|request| absent(request).or_else(|| unfit(request)))
            }
            _ => None,
        }
    }

    fn set(&mut self, request: u32, state: State) {
        self.slots.entry(request).or_insert(Slot { state: State::Idle, template: None }).state = state;
    }
}

impl Order<'_> {
    /// Lets a rank go on as far as it can. Returns false once the limit of calls that may return is reached.
    pub fn advance(&mut self, rank: Rank) -> Result<bool, TraceError> {
        while !self.state(rank).over && !self.state(rank).computing {
            if self.state(rank).standing.is_none() {
                let Some(step) = self.next_step(rank)? else { break };
                let set_back = self.state(rank).calls.set_back();
                if !step.is_call() {
                    self.compute(rank, &step.op);
                    continue;
                }
                let (op, state) = (step.op.clone(), self.state(rank));
                let begun = state.calls.begun();
                state.number =
                    if state.of_graph { begun.map_or(0, |node| node.number) } else { state.number + 1 };
                state.said = begun.and_then(|node| node.bytes).map(|bytes| bytes.0);
                let (_, backwards) = state.time.call(step.call);
                state.standing = Some(step);
                if let Some(cause) = backwards.or(set_back) {
                    let by = state.place(rank);
                    self.findings.add(Kind::ClockBackwards, by, cause);
                }
                self.begin(rank, op);
            }
            let Some(waited) = self.waited(rank) else { break };
            if self.left == 0 {
                return Ok(false);
            }
            self.left -= 1;
            self.finish(rank, waited);
            let clock = self.state(rank).clock;
            self.watch.call(rank, clock);
        }
        Ok(true)
    }

    /// Next step of a rank, if it has one. Reports a node of a graph that has no operation, since a replay ends
    /// there.
    fn next_step(&mut self, rank: Rank) -> Result<Option<Step>, TraceError> {
        let state = self.state(rank);
        let step = match state.calls.next() {
            Err(error) if state.of_graph => {
                state.number = 0;
                let by = state.place(rank);
                self.ended = true;
                self.findings.add(Kind::NotFollowed, by, error.to_string());
                None
            }
            step => step?,
        };
        self.state(rank).over = step.is_none();
        Ok(step)
    }

    /// Starts the computing of a graph: nodes that become ready meanwhile depend on how long it takes.
    fn compute(&mut self, rank: Rank, op: &Op) {
        if let (true, Op::Compute(Work::Time(time))) = (self.of_graphs, op) {
            self.state(rank).computing = true;
            self.computing.push(Reverse((self.now + *time, rank.0)));
        }
    }

    /// Starts the operation of a call, which becomes the rank's current one.
    fn begin(&mut self, rank: Rank, op: Op) {
        if let Some(cause) = self.state(rank).misused(&op) {
            let by = self.state(rank).place(rank);
            self.findings.add(Kind::NotFollowed, by, cause);
        }
        let clock = self.state(rank).clock + 1;
        match op {
            Op::Send(_, Start::Persistent(request))
            | Op::Receive(_, Start::Persistent(request))
            | Op::Collective(_, Start::Persistent(request)) => {
                let template = Some(op);
                self.state(rank).slots.insert(request.0, Slot { state: State::Idle, template });
            }
            Op::Send(send, start) => self.send(rank, clock, &send, number(start)),
            Op::Receive(receive, start) => self.receive(rank, clock, receive, number(start)),
            Op::SendReceive(send, receive) => {
                self.send(rank, clock, &send, BLOCKING);
                self.receive(rank, clock, receive, BLOCKING);
            }
            Op::Collective(call, start) => {
                self.come(rank, clock, call.comm, What::Collective(call), number(start));
            }
            Op::NewComm(parent, how) => self.come(rank, clock, parent, What::Make(how), BLOCKING),
            Op::Finalize(_) => self.come(rank, clock, CommId::WORLD, What::Finalize, BLOCKING),
            Op::Probe(receive) => {
                let by = self.state(rank).place(rank);
                let _ = self.senders(by, &receive);
            }
            Op::Start(requests) => requests.iter().for_each(|request| self.start(rank, *request, None)),
            Op::StartAs(requests, whose) => {
                requests.iter().zip(&*whose).for_each(|(request, whose)| self.start(rank, *request, *whose));
            }
            Op::Cancel(request) if self.state(rank).mail.cancel(request.0) => {
                self.state(rank).set(request.0, State::Done(Waited::default()));
            }
            Op::Free(request) => drop(self.state(rank).slots.remove(&request.0)),
            _ => {}
        }
    }

    fn start(&mut self, rank: Rank, request: Request, whose: Option<(Peer, TagMatch)>) {
        let template = self.state(rank).slots.get(&request.0).and_then(|slot| slot.template.clone());
        let clock = self.state(rank).clock + 1;
        match template {
            Some(Op::Send(send, _)) => self.send(rank, clock, &send, request.0),
            Some(Op::Receive(receive, _)) => {
                let (from, tag) = whose.unwrap_or((receive.from, receive.tag));
                self.receive(rank, clock, Receive { from, tag, ..receive }, request.0);
            }
            Some(Op::Collective(call, _)) => {
                self.come(rank, clock, call.comm, What::Collective(call), request.0);
            }
            _ => {}
        }
    }

    fn send(&mut self, rank: Rank, clock: u64, send: &Send, request: u32) {
        self.state(rank).set(request, State::Done(Waited::default()));
        let Peer::Rank(to) = send.to else { return };
        let by = self.state(rank).place(rank);
        if let Some(cause) = check::of_message(self, rank, send.comm, Some(to), Some(send.tag)) {
            self.findings.add(Kind::NotFollowed, by, cause);
        }
        let (Some(to), Some(from)) = (self.peer(rank, send.comm, to), self.rank_of(rank, send.comm)) else {
            return;
        };
        let answer = (send.mode == SendMode::Synchronous).then_some(request);
        if answer.is_some() {
            self.state(rank).set(request, State::Waits(Some(to)));
        }
        let begin = self.state(rank).standing.as_ref().map_or(Time::ZERO, |step| step.call.begin);
        let message = Message { by, clock, begin, bytes: send.bytes.0, request, answer };
        if let Some(posted) = self.state(to).mail.deliver((send.comm.0, from, send.tag), message) {
            self.matched(to, posted, message);
        } else if let Some(Step { op: Op::Probe(_), .. }) = self.state(to).standing {
            self.wake(to);
        }
    }

    fn receive(&mut self, rank: Rank, clock: u64, receive: Receive, request: u32) {
        let by = self.state(rank).place(rank);
        let from = match self.senders(by, &receive) {
            None => return self.state(rank).set(request, State::Done(Waited::default())),
            Some(from) => from,
        };
        self.state(rank).set(request, State::Waits(from));
        let posted = Posted { receive, request, by, clock, said: self.state(rank).said };
        if let Some(message) = self.state(rank).mail.post(posted) {
            self.matched(rank, posted, message);
        }
    }

    /// Possible senders of a receive: `Some(None)` for any, one rank, or `None` for MPI_PROC_NULL and ranks that do
    /// not exist.
    fn senders(&mut self, by: Place, receive: &Receive) -> Option<Option<Rank>> {
        let from = match receive.from {
            Peer::Null => return None,
            Peer::Any => None,
            Peer::Rank(from) => Some(from),
        };
        let tag = match receive.tag {
            TagMatch::Tag(tag) => Some(tag),
            TagMatch::Any => None,
        };
        if let Some(cause) = check::of_message(self, by.rank, receive.comm, from, tag) {
            self.findings.add(Kind::NotFollowed, by, cause);
        }
        from.map_or(Some(None), |from| self.peer(by.rank, receive.comm, from).map(Some))
    }

    /// Matches a message and a receive of `rank`.
    fn matched(&mut self, rank: Rank, posted: Posted, message: Message) {
        let capacity = posted.receive.capacity.0;
        if message.bytes > capacity {
            let cause = format!("has room for {capacity} bytes, but {} sends {}", message.by, message.bytes);
            self.findings.add(Kind::Truncated, posted.by, cause);
        }
        if let Some(said) = posted.said.filter(|said| *said != message.bytes) {
            let cause = format!("receives {said} bytes, but {} sends {}", message.by, message.bytes);
            self.findings.add(Kind::OtherSize, posted.by, cause);
        }
        self.watch.message(message.by.beginning(message.request), posted.by.beginning(posted.request));
        let waited = Waited { clock: Some(message.clock), sent: Some((message.by, message.begin)) };
        self.complete(rank, posted.request, waited);
        if let Some(answer) = message.answer {
            self.complete(message.by.rank, answer, Waited { clock: Some(posted.clock), sent: None });
        }
    }

    /// Completes an operation, unless its request has been freed.
    fn complete(&mut self, rank: Rank, request: u32, waited: Waited) {
        if let Some(slot) = self.state(rank).slots.get_mut(&request) {
            slot.state = State::Done(waited);
            self.wake(rank);
        }
    }

    fn come(&mut self, rank: Rank, clock: u64, comm: CommId, what: What, request: u32) {
        let by = self.state(rank).place(rank);
        let state = match self.meet(by, clock, comm, what, request) {
            Some((which, place)) => State::Meets(which, place),
            None => State::Done(Waited::default()),
        };
        self.state(rank).set(request, state);
    }

    /// Messages that the current call of a rank has waited for; `None` while it must still wait.
    fn waited(&self, rank: Rank) -> Option<Waited> {
        let state = &self.ranks[rank.0 as usize];
        let requests: &[Request] = match &state.standing.as_ref()?.op {
            Op::Send(_, Start::Blocking)
            | Op::Receive(_, Start::Blocking)
            | Op::Collective(_, Start::Blocking)
            | Op::SendReceive(..)
            | Op::NewComm(..)
            | Op::Finalize(_) => &[Request(BLOCKING)],
            Op::WaitOne(request) => std::slice::from_ref(request),
            Op::Wait(requests, Until::All) => requests,
            Op::Wait(requests, _) => {
                let mut done = requests.iter().filter_map(|request| self.done(rank, *request));
                return done.next();
            }
            Op::Probe(receive) => {
                let from_nobody = match receive.from {
                    Peer::Null => true,
                    Peer::Any => false,
                    Peer::Rank(from) => self.peer(rank, receive.comm, from).is_none(),
                };
                let found =
                    state.mail.look(receive).map(|found| Waited { clock: Some(found.clock), sent: None });
                return if from_nobody { Some(Waited::default()) } else { found };
            }
            _ => &[],
        };
        requests.iter().try_fold(Waited::default(), |all, request| Some(all.and(self.done(rank, *request)?)))
    }

    /// Messages that a complete operation has waited for; `None` while it is not complete. A request that nobody has
    /// begun counts as complete.
    fn done(&self, rank: Rank, request: Request) -> Option<Waited> {
        match self.ranks[rank.0 as usize].slots.get(&request.0).map(|slot| &slot.state) {
            None | Some(State::Idle) => Some(Waited::default()),
            Some(State::Done(waited)) => Some(*waited),
            Some(State::Waits(_)) => None,
            Some(State::Meets(which, place)) => {
                let clock = self.meetings.ready(which, *place)?;
                Some(Waited { clock, sent: None })
            }
        }
    }

    /// Returns from the current call of a rank.
    fn finish(&mut self, rank: Rank, waited: Waited) {
        let by = self.state(rank).place(rank);
        let Some(step) = self.state(rank).standing.take() else { return };
        if let Op::Probe(receive) = &step.op
            && let Some(found) = self.ranks[rank.0 as usize].mail.look(receive)
        {
            self.watch.probe(found.by.beginning(found.request), by.beginning(BLOCKING));
        }
        let state = self.state(rank);
        state.clock = (state.clock + 1).max(waited.clock.map_or(0, |clock| clock + 1));
        if let Some((sender, begin)) = waited.sent
            && self.common_time
            && begin > step.call.end
        {
            let early = begin.since(step.call.end).seconds();
            let cause = format!("returns {early:.6} s before {sender} begins, whose message it has received");
            self.findings.add(Kind::ClockInversion, by, cause);
        }
        match &step.op {
            Op::WaitOne(request) => self.seen(rank, *request),
            Op::Wait(requests, Until::All) => requests.iter().for_each(|request| self.seen(rank, *request)),
            Op::Wait(requests, _) => self.some_seen(rank, requests),
            // In traces with an order of calls, successful tests have become waits for the requests that they found.
            Op::Test(requests, _) if self.of_graphs => self.some_seen(rank, requests),
            _ => {
                if let Some(made) = self.made(rank) {
                    self.state(rank).calls.made(made);
                }
                self.seen(rank, Request(BLOCKING));
            }
        }
    }

    /// Removes the complete operations among these, and reports them to the graph.
    fn some_seen(&mut self, rank: Rank, requests: &[Request]) {
        let all = (0..).zip(requests);
        let done: Vec<(u32, Request)> =
            all.filter(|(_, one)| self.done(rank, **one).is_some()).map(|(at, one)| (at, *one)).collect();
        done.iter().for_each(|(_, request)| self.seen(rank, *request));
        if self.of_graphs {
            let done = done.into_iter().map(|(at, _)| (at, Status::EMPTY)).collect();
            self.state(rank).calls.returned(&Completion { done, ..Completion::default() });
        }
    }

    /// Communicator that the returning call has created.
    fn made(&mut self, rank: Rank) -> Option<CommId> {
        let Some(Slot { state: State::Meets(which, place), .. }) = self.state(rank).slots.get(&BLOCKING)
        else {
            return None;
        };
        let (which, place) = (which.clone(), *place);
        let instance = self.meetings.get_mut(&which)?;
        let makes = matches!(instance.entries[place].as_ref()?.what, What::Make(_));
        makes.then(|| CommId(instance.made.get(place).copied().unwrap_or(CommId::NULL.0)))
    }

    /// Removes a complete operation, or makes its persistent request idle again.
    fn seen(&mut self, rank: Rank, request: Request) {
        let Some(slot) = self.state(rank).slots.get_mut(&request.0) else { return };
        let state = std::mem::replace(&mut slot.state, State::Idle);
        if slot.template.is_none() {
            self.state(rank).slots.remove(&request.0);
        }
        if let State::Meets(which, _) = state {
            self.meetings.leave(&which);
        }
    }
}

/// Request number of an operation that is not persistent.
fn number(start: Start) -> u32 {
    match start {
        Start::Blocking => BLOCKING,
        Start::Request(request) | Start::Persistent(request) => request.0,
    }
}
