//! A tiny world for tests: scripted ranks on a wire.
//!
//! The wire takes `LATENCY + n / RATE` for each message, whatever else is on it, so a short message
//! overtakes a long one; a message has left its sender after `n / RATE`.

use std::sync::Arc;

use engine::registry::Arguments;
use engine::{Bandwidth, Bytes, Duration, FlopRate, Lane, LinearTime, Observer, Owner, Queue, Time, Token};
use mpi::collective::{Collective, Kind, Selection, Sizes};
use mpi::compute::{self, ComputeModel, Processor, Sockets};
use mpi::file_system::FileSystem;
use mpi::operation::{CommId, Peer, Receive, Request, Send, SendMode, Start, TagMatch, Until, Via, Work};
use mpi::source::Status;
use mpi::{Completion, Context, Failure, FunctionTimes, Op, Protocol, Rank, Record, Setup, Source, World};
use network::{
    Arrival, Endpoint, Happening, HostId, HostParameters, IdleTime, Memory, Message, Network, Nics, Regime,
};

/// Latency of the wire \[ps\].
pub const LATENCY: u64 = 1_000_000;
/// Time of a byte on the wire: 1 byte per ns.
pub const BYTE: u64 = 1_000;
/// Longest eager message \[bytes\].
pub const EAGER: u64 = 1_000;

/// `LATENCY + n / RATE`, for all messages at once.
#[derive(Default)]
pub struct Wire {
    flight: Vec<Option<(Time, Message)>>,
}

impl Network for Wire {
    fn inject(&mut self, now: Time, message: &Message, queue: &mut Queue) {
        let index = self.flight.len() as u64;
        self.flight.push(Some((now, *message)));
        let owner = Owner::new(Lane::Network, message.from.host.0);
        let left = now + Duration(message.size.0 * BYTE);
        if message.notify_sent {
            queue.push(left, owner, Token::new(Lane::Network, index << 1 | 1));
        }
        queue.push(left + Duration(LATENCY), owner, Token::new(Lane::Network, index << 1));
    }

    fn wake(&mut self, _now: Time, token: Token, _queue: &mut Queue, arrivals: &mut Vec<Arrival>) {
        let slot = &mut self.flight[(token.payload() >> 1) as usize];
        let (happening, (injected, message)) = if token.payload() & 1 == 1 {
            (Happening::Sent, slot.expect("a message leaves before it arrives"))
        } else {
            (Happening::Delivered, slot.take().expect("a message arrives once"))
        };
        arrivals.push(Arrival { happening, injected, idle: self.idle_parts(&message), message });
    }

    fn idle_parts(&self, message: &Message) -> IdleTime {
        IdleTime { latency: Duration(LATENCY), transfer: Duration(message.size.0 * BYTE) }
    }
}

/// One list of operations for each rank, and what each of them gave.
pub struct Script {
    pub ops: Vec<Vec<Op>>,
    at: Vec<usize>,
    pub done: Vec<Vec<Completion>>,
    pub heard: Vec<Heard>,
}

/// Answers that a source gets beside completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// The content, who receives it, and under which request.
    Matched(u64, u32, Option<u32>),
    /// Rank, request that it had let go, and the length of its message.
    Completed(u32, u32, u64),
    /// At whose memory a one-sided operation is applied, and its content.
    Applied(u32, u64),
}

impl Script {
    pub fn new(ops: Vec<Vec<Op>>) -> Script {
        let ranks = ops.len();
        Script { ops, at: vec![0; ranks], done: vec![Vec::new(); ranks], heard: Vec::new() }
    }
}

impl Source for Script {
    fn next(&mut self, rank: Rank, done: &Completion) -> Op {
        let rank = rank.0 as usize;
        if self.at[rank] > 0 {
            self.done[rank].push(done.clone());
        }
        self.at[rank] += 1;
        self.ops[rank].get(self.at[rank] - 1).cloned().unwrap_or(Op::Finish)
    }

    fn matched(&mut self, data: u64, receiver: Rank, request: Option<Request>) {
        self.heard.push(Heard::Matched(data, receiver.0, request.map(|request| request.0)));
    }

    fn completed(&mut self, rank: Rank, request: Request, status: &Status) {
        self.heard.push(Heard::Completed(rank.0, request.0, status.bytes));
    }

    fn access(&mut self, target: Rank, data: u64, answers: &mut Vec<u64>) {
        self.heard.push(Heard::Applied(target.0, data));
        answers.push(data);
    }

    fn place(&self, rank: Rank) -> Option<String> {
        Some(format!("script:{}", self.at[rank.0 as usize]))
    }
}

/// Keeps all records.
#[derive(Default)]
pub struct Records(pub Vec<Record>);

impl Observer<Record> for Records {
    fn record(&mut self, _now: Time, record: &Record) {
        self.0.push(*record);
    }
}

/// Outcome of a run.
pub struct Run {
    /// Outcome of each operation of each rank.
    pub done: Vec<Vec<Completion>>,
    /// Other answers to the source.
    pub heard: Vec<Heard>,
    pub records: Vec<Record>,
    pub failure: Option<Failure>,
    pub digest: u64,
    pub end: Time,
    pub messages: u64,
    pub bytes: u64,
}

impl Run {
    /// Time at which operation `index` of `rank` returned \[ps\].
    pub fn at(&self, rank: usize, index: usize) -> u64 {
        self.done[rank][index].now.0
    }

    /// The waiting time in the calls of `rank` named `name` \[ps\].
    pub fn waiting(&self, of: u32, wanted: &str) -> u64 {
        let waiting = |record: &Record| match record {
            Record::Call { rank, name, causes, .. } if rank.0 == of && *name == wanted => causes.waiting().0,
            _ => 0,
        };
        self.records.iter().map(waiting).sum()
    }
}

/// Overheads of the regimes: up to `EAGER` bytes, and above.
#[derive(Clone, Copy, Default)]
pub struct Overheads {
    pub send: [u64; 2],
    pub receive: [u64; 2],
}

/// Every rank on a host of its own, no overheads, 1 byte per ns to reduce.
pub fn setup(ranks: u32, overheads: Overheads) -> Setup {
    let regime = |up_to, index: usize| Regime {
        up_to: Bytes(up_to),
        send_overhead: LinearTime::constant(Duration(overheads.send[index])),
        receive_overhead: LinearTime::constant(Duration(overheads.receive[index])),
        ..Regime::FREE
    };
    let memory = Memory::uniform(Duration::ZERO, Bandwidth::INFINITE, Bandwidth::INFINITE);
    let host = HostParameters {
        processes: 1,
        memory,
        regimes: vec![regime(EAGER, 0), regime(u64::MAX, 1)],
        nics: Nics::ONE,
        nic_gap: Duration::ZERO,
        packet_payload: Bytes(1),
        packet_wire: Bytes(1),
    };
    Setup {
        part: network::Part::whole(),
        jobs: [0].into(),
        placement: (0..ranks).map(|rank| Endpoint { host: HostId(rank), process: 0 }).collect(),
        host: Arc::new(host),
        protocol: Protocol {
            eager_limit: Bytes(EAGER),
            memory_eager_limit: Bytes(EAGER),
            ..Protocol::default()
        },
        noise: None,
        functions: FunctionTimes::default(),
        compute: roofline(),
        sockets: Sockets::UNLIMITED,
        reduce_rate: Bandwidth(1_000_000_000),
        segment: Bytes(0),
        selection: Selection::default(),
        file_system: FileSystem::default(),
    }
}

/// Processors of 1 Gflop/s and 1 GB/s.
fn roofline() -> Box<dyn ComputeModel> {
    let processor = Processor {
        flop_rate: FlopRate(1_000_000_000),
        memory_bandwidth: Bandwidth(1_000_000_000),
        sockets: Sockets::UNLIMITED,
    };
    compute::build("roofline", &Arguments::default(), processor, 1).expect("it has no parameters")
}

/// Runs the operations of all ranks without overheads.
pub fn run(ops: Vec<Vec<Op>>) -> Run {
    let setup = setup(ops.len() as u32, Overheads::default());
    run_with(setup, ops)
}

/// Runs the operations of all ranks until nothing is left to happen.
pub fn run_with(setup: Setup, ops: Vec<Vec<Op>>) -> Run {
    let mut world = World::new(setup);
    let mut script = Script::new(ops);
    let (mut queue, mut wire, mut records) = (Queue::new(), Wire::default(), Records::default());
    let mut arrivals = Vec::new();
    macro_rules! context {
        ($now:expr) => {
            &mut Context {
                now: $now,
                queue: &mut queue,
                network: &mut wire,
                source: &mut script,
                observer: &mut records,
            }
        };
    }
    for place in 0..world.ranks() {
        world.start(place, context!(Time::ZERO));
    }
    while let Some(event) = queue.pop() {
        match event.token.lane() {
            Lane::Rank => world.wake(event.token, context!(event.time)),
            Lane::Network => {
                wire.wake(event.time, event.token, &mut queue, &mut arrivals);
                for arrival in arrivals.drain(..) {
                    world.arrive(&arrival, context!(event.time));
                }
            }
        }
        if queue.instant_is_over() {
            wire.end_instant(event.time, &mut queue);
        }
        if world.failed().is_some() {
            break;
        }
    }
    let failure = match world.failed() {
        Some(failure) => Some(failure.clone()),
        None if !world.finished() => Some(stuck(&world, &script)),
        None => None,
    };
    Run {
        done: script.done,
        heard: script.heard,
        records: records.0,
        failure,
        digest: digest(&world),
        end: queue.now(),
        messages: world.messages(),
        bytes: world.bytes(),
    }
}

/// Reason why nothing can happen any more.
fn stuck(world: &World, script: &Script) -> Failure {
    let mismatch = world.hidden_mismatch().map(|(_, failure)| failure);
    mismatch.unwrap_or_else(|| Failure::Deadlock(world.blocked(script)))
}

/// The hash of what happened to all ranks.
fn digest(world: &World) -> u64 {
    let mut all = engine::hash::Digest::default();
    world.digests().for_each(|(_, digest)| all.fold(digest));
    all.value()
}

/// Runs and expects success.
pub fn succeed(ops: Vec<Vec<Op>>) -> Run {
    let run = run(ops);
    assert_eq!(run.failure, None);
    run
}

pub fn to(rank: u32, bytes: u64, tag: u32) -> Send {
    Send {
        to: Peer::Rank(rank),
        tag,
        comm: CommId::WORLD,
        bytes: Bytes(bytes),
        mode: SendMode::Standard,
        via: Via::PLATFORM,
        data: u64::from(tag) + 1_000,
    }
}

pub fn from(rank: u32, tag: u32) -> Receive {
    Receive {
        from: Peer::Rank(rank),
        tag: TagMatch::Tag(tag),
        comm: CommId::WORLD,
        capacity: Bytes(u64::MAX),
    }
}

pub fn from_any() -> Receive {
    Receive { from: Peer::Any, tag: TagMatch::Any, comm: CommId::WORLD, capacity: Bytes(u64::MAX) }
}

pub fn send(rank: u32, bytes: u64, tag: u32) -> Op {
    Op::Send(to(rank, bytes, tag), Start::Blocking)
}

pub fn isend(rank: u32, bytes: u64, tag: u32, request: u32) -> Op {
    Op::Send(to(rank, bytes, tag), Start::Request(Request(request)))
}

pub fn send_mode(mode: SendMode, rank: u32, bytes: u64, tag: u32) -> Op {
    Op::Send(Send { mode, ..to(rank, bytes, tag) }, Start::Blocking)
}

pub fn receive(rank: u32, tag: u32) -> Op {
    Op::Receive(from(rank, tag), Start::Blocking)
}

pub fn ireceive(rank: u32, tag: u32, request: u32) -> Op {
    Op::Receive(from(rank, tag), Start::Request(Request(request)))
}

pub fn receive_any() -> Op {
    Op::Receive(from_any(), Start::Blocking)
}

pub fn compute(ps: u64) -> Op {
    Op::Compute(Work::Time(Duration(ps)))
}

pub fn wait(request: u32) -> Op {
    Op::WaitOne(Request(request))
}

pub fn requests(numbers: &[u32]) -> Arc<[Request]> {
    numbers.iter().map(|number| Request(*number)).collect()
}

pub fn wait_for(numbers: &[u32], until: Until) -> Op {
    Op::Wait(requests(numbers), until)
}

pub fn test(numbers: &[u32], until: Until) -> Op {
    Op::Test(requests(numbers), until)
}

pub fn collective(kind: Kind, root: u32, bytes: u64) -> Collective {
    Collective {
        kind,
        comm: CommId::WORLD,
        root,
        sizes: Sizes::Equal(Bytes(bytes)),
        element: 1,
        commutative: true,
        algorithm: None,
    }
}
