//! Drives a source without a network: sends are buffered, receives wait for their messages and collectives for their
//! members, and everything else takes no time.

use std::collections::{BTreeMap, VecDeque};

use engine::{Duration, Time};
use mpi::operation::{CommId, NewComm, Peer, Receive, Request, Send, Start, TagMatch, Until, Work};
use mpi::source::Status;
use mpi::{Completion, Op, Rank, Source};

/// Outcome of a run.
#[derive(Default)]
pub struct Run {
    /// Operations by rank, in order.
    pub ops: Vec<Vec<Op>>,
    /// Time at which each rank finished.
    pub ends: Vec<Time>,
    /// Ranks that could not go on.
    pub stuck: Vec<Rank>,
    /// Messages that nobody received.
    pub left_over: usize,
}

/// Envelope that a message is matched by: communicator, sender, tag.
type Key = (u32, u32, u32);

#[derive(Default)]
struct Mailbox {
    /// Number of messages of each envelope that wait to be received.
    arrived: BTreeMap<Key, usize>,
    /// Posted receives with their requests: those of one envelope, and wildcards.
    posted: BTreeMap<Key, VecDeque<Option<Request>>>,
    wildcards: Vec<(Receive, Option<Request>)>,
    /// Requests that have begun; true for complete ones.
    complete: BTreeMap<u32, bool>,
    /// True if a blocking receive waits.
    blocked: bool,
}

fn matches(receive: &Receive, (comm, from, tag): Key) -> bool {
    receive.comm.0 == comm
        && (receive.from == Peer::Any || receive.from == Peer::Rank(from))
        && (receive.tag == TagMatch::Any || receive.tag == TagMatch::Tag(tag))
}

impl Mailbox {
    fn deliver(&mut self, key: Key) {
        if let Some(request) = self.posted.get_mut(&key).and_then(VecDeque::pop_front) {
            return self.finish(request);
        }
        match self.wildcards.iter().position(|(receive, _)| matches(receive, key)) {
            Some(at) => {
                let (_, request) = self.wildcards.remove(at);
                self.finish(request);
            }
            None => *self.arrived.entry(key).or_default() += 1,
        }
    }

    fn post(&mut self, receive: &Receive, request: Option<Request>) {
        match request {
            Some(request) => drop(self.complete.insert(request.0, false)),
            None => self.blocked = true,
        }
        let found = self.find(receive);
        match (found, receive.from, receive.tag) {
            (_, Peer::Null, _) => self.finish(request),
            (Some(key), ..) => {
                *self.arrived.get_mut(&key).unwrap() -= 1;
                self.finish(request);
            }
            (None, Peer::Rank(from), TagMatch::Tag(tag)) => {
                self.posted.entry((receive.comm.0, from, tag)).or_default().push_back(request);
            }
            _ => self.wildcards.push((*receive, request)),
        }
    }

    fn find(&self, receive: &Receive) -> Option<Key> {
        if let (Peer::Rank(from), TagMatch::Tag(tag)) = (receive.from, receive.tag) {
            let key = (receive.comm.0, from, tag);
            return (self.arrived.get(&key).copied().unwrap_or(0) > 0).then_some(key);
        }
        self.arrived.iter().find(|(key, count)| **count > 0 && matches(receive, **key)).map(|(key, _)| *key)
    }

    fn finish(&mut self, request: Option<Request>) {
        match request {
            Some(request) => drop(self.complete.insert(request.0, true)),
            None => self.blocked = false,
        }
    }

    /// Requests that a wait or test finds complete.
    fn collect(&self, op: &Op, done: &mut Completion) {
        done.done.clear();
        if let Op::Wait(requests, until) | Op::Test(requests, until) = op {
            let complete = requests.iter().enumerate();
            let complete = complete.filter(|(_, request)| self.complete.get(&request.0) == Some(&true));
            done.done.extend(complete.map(|(at, _)| (at as u32, Status::EMPTY)));
            done.flag = !done.done.is_empty() && (*until != Until::All || done.done.len() == requests.len());
        }
    }

    fn ready(&self, op: &Op) -> bool {
        let complete = |request: &Request| self.complete.get(&request.0).copied().unwrap_or(true);
        match op {
            Op::Receive(_, Start::Blocking) | Op::SendReceive(..) => !self.blocked,
            Op::Probe(receive) => self.find(receive).is_some(),
            Op::WaitOne(request) => complete(request),
            Op::Wait(requests, Until::All) => requests.iter().all(complete),
            Op::Wait(requests, _) => requests.iter().any(complete),
            _ => true,
        }
    }
}

/// Members of the communicators that each rank has created from a list of members, by number.
type Members = Vec<BTreeMap<u32, Vec<u32>>>;

/// Operation with ranks of its communicator translated to ranks of the world.
fn in_world(op: Op, rank: usize, members: &Members) -> Op {
    let peer = |peer: Peer, comm: CommId| match (peer, members[rank].get(&comm.0)) {
        (Peer::Rank(_), _) if comm == CommId::SELF => Peer::Rank(rank as u32),
        (Peer::Rank(place), Some(members)) => Peer::Rank(members[place as usize]),
        _ => peer,
    };
    let send = |send: Send| Send { to: peer(send.to, send.comm), ..send };
    let receive = |receive: Receive| Receive { from: peer(receive.from, receive.comm), ..receive };
    match op {
        Op::Send(one, start) => Op::Send(send(one), start),
        Op::Receive(one, start) => Op::Receive(receive(one), start),
        Op::SendReceive(one, other) => Op::SendReceive(send(one), receive(other)),
        Op::Probe(one) => Op::Probe(receive(one)),
        other => other,
    }
}

/// Runs all ranks to the end, or until no rank can go on.
pub fn run(source: &mut dyn Source, ranks: u32) -> Run {
    let mut run = Run {
        ops: vec![Vec::new(); ranks as usize],
        ends: vec![Time::ZERO; ranks as usize],
        ..Run::default()
    };
    let mut boxes: Vec<Mailbox> = (0..ranks).map(|_| Mailbox::default()).collect();
    let mut waiting: Vec<Option<Op>> = vec![None; ranks as usize];
    let mut arrivals: BTreeMap<(u32, usize), u32> = BTreeMap::new();
    let mut collectives = vec![0_usize; ranks as usize];
    let mut comms = vec![2_u32; ranks as usize];
    let mut done = vec![Completion::default(); ranks as usize];
    let mut finished = vec![false; ranks as usize];
    let mut members: Members = vec![BTreeMap::new(); ranks as usize];
    let mut moved = true;
    while moved {
        moved = false;
        for rank in 0..ranks as usize {
            while !finished[rank] {
                let op = match waiting[rank].take() {
                    Some(op) => op,
                    None => {
                        let op = source.next(Rank(rank as u32), &done[rank]);
                        run.ops[rank].push(op.clone());
                        let op = in_world(op, rank, &members);
                        let comm = match &op {
                            Op::Collective(call, _) => Some(call.comm),
                            Op::Finalize(_) => Some(CommId::WORLD),
                            _ => None,
                        };
                        if let Some(comm) = comm {
                            collectives[rank] += 1;
                            *arrivals.entry((comm.0, collectives[rank])).or_default() += 1;
                        }
                        post(&op, rank, &mut boxes);
                        op
                    }
                };
                let ready = match &op {
                    Op::Finish | Op::Abort(_) => {
                        finished[rank] = true;
                        run.ends[rank] = done[rank].now;
                        true
                    }
                    Op::Collective(call, Start::Blocking) if call.comm == CommId::WORLD => {
                        arrivals[&(0, collectives[rank])] == ranks
                    }
                    Op::Finalize(_) => arrivals[&(0, collectives[rank])] == ranks,
                    op => boxes[rank].ready(op),
                };
                if !ready {
                    waiting[rank] = Some(op);
                    break;
                }
                moved = true;
                boxes[rank].collect(&op, &mut done[rank]);
                advance(&op, &mut done[rank], &mut comms[rank]);
                if let Op::NewComm(_, NewComm::CreateGroup(group, _)) = &op {
                    members[rank].insert(done[rank].comm.0, group.to_vec());
                }
            }
        }
    }
    run.stuck = (0..ranks).filter(|&rank| !finished[rank as usize]).map(Rank).collect();
    run.left_over = boxes.iter().flat_map(|mailbox| mailbox.arrived.values()).sum();
    run
}

fn advance(op: &Op, done: &mut Completion, comms: &mut u32) {
    match op {
        Op::SleepUntil(time) => done.now = done.now.max(*time),
        Op::Compute(Work::Time(time) | Work::Polled(time)) | Op::Call(_, time) => {
            done.now = later(done.now, *time)
        }
        // Members create it in an order of their own, but with the same tag.
        Op::NewComm(_, NewComm::CreateGroup(_, tag)) => done.comm = CommId(1000 + tag),
        Op::NewComm(..) => {
            done.comm = CommId(*comms);
            *comms += 1;
        }
        _ => {}
    }
}

fn later(now: Time, by: Duration) -> Time {
    Time(now.0.saturating_add(by.0))
}

fn post(op: &Op, rank: usize, boxes: &mut [Mailbox]) {
    let mut deliver = |send: &Send| {
        if let Peer::Rank(to) = send.to {
            boxes[to as usize].deliver((send.comm.0, rank as u32, send.tag));
        }
    };
    match op {
        Op::Send(send, start) => {
            deliver(send);
            if let Start::Request(request) = start {
                boxes[rank].finish(Some(*request));
            }
        }
        Op::Receive(receive, Start::Blocking) => boxes[rank].post(receive, None),
        Op::Receive(receive, Start::Request(request)) => boxes[rank].post(receive, Some(*request)),
        Op::Collective(_, Start::Request(request)) => boxes[rank].finish(Some(*request)),
        Op::SendReceive(send, receive) => {
            deliver(send);
            boxes[rank].post(receive, None);
        }
        _ => {}
    }
}
