//! The ranks of a run: a state machine that takes operations from a source, turns them into messages,
//! and answers to what the network delivers.
//!
//! A rank's state is touched by its own events and arrivals alone; all that a message needs at its
//! receiver travels in its cargo. So the ranks of a run can be in several worlds, one for each domain.
//! What they share, the communicators that are being made, they tell each other in messages (`comm_creation.rs`).
//!
//! Assumption: eager messages and the data of a rendezvous are stored while a rank computes; whether it
//! answers handshakes then, too, is a parameter ([`Progress`]). MPI's own work on a rank (overheads,
//! copies, reductions) is done one piece after the other, but beside the computing.

mod access;
mod arrivals;
mod calls;
mod cancel;
mod causes;
mod collective;
mod collectives;
mod comm_creation;
mod create;
mod failure;
mod file;
mod flight;
mod functions;
mod index;
pub mod leftover;
mod match_lists;
mod matching;
mod memberships;
mod memory;
mod mismatch;
mod noise;
mod overheads;
mod poll_loop;
mod predefined;
mod prefetch;
mod present_event;
mod process;
mod processes;
mod progress;
mod protocol_message;
mod receive;
mod rendezvous;
mod request;
mod round_causes;
mod rounds;
mod send;
mod small_map;
pub mod standing;
mod text;
mod traffic;
mod wait;

pub use progress::Progress;
pub use receive::NO_MESSAGE;

use std::sync::Arc;

use engine::{Bandwidth, Bytes, Duration, Lane, Observer, Owner, Queue, Time, Token};
use network::{Endpoint, HostParameters, Message, Network, Part};

use crate::collective::Selection;
use crate::communicator::Communicator;
use crate::compute::{ComputeModel, Sockets};
use crate::file_system::FileSystem;
use crate::function_times::FunctionTimes;
use crate::message_noise::MessageNoise;
use crate::operation::Rank;
use crate::record::{Failure, Record};
use crate::source::{Completion, Source};
use collectives::Collectives;
use comm_creation::Creations;
use file::Files;
use functions::Functions;
use index::{FileAccessIndex, LateIndex, Numbered, OutboxIndex, SocketIndex};
use memory::Memory;
use noise::Noise;
use overheads::{Late, begins_apart, overlap_of};
use predefined::Predefined;
use present_event::PresentEvent;
use processes::Processes;
use protocol_message::{Ends, set_path};
use traffic::Traffic;

/// Parameters of a world.
pub struct Setup {
    /// Place of each rank of the run.
    pub placement: Arc<[Endpoint]>,
    /// The first rank of each job, ascending from 0: programs that do not know of each other. What a rank calls
    /// the world ([`CommId::WORLD`]) is its job.
    ///
    /// [`CommId::WORLD`]: crate::operation::CommId::WORLD
    pub jobs: Arc<[u32]>,
    /// The part of the network whose ranks are in this world.
    pub part: Part,
    /// Overheads and regimes of the hosts.
    pub host: Arc<HostParameters>,
    /// Protocols of messages.
    pub protocol: Protocol,
    /// Noise of messages, if there is any.
    pub noise: Option<MessageNoise>,
    /// Times of named functions.
    pub functions: FunctionTimes,
    /// Times of the work of ranks.
    pub compute: Box<dyn ComputeModel>,
    /// Sockets, whose memory ranks share while they compute.
    pub sockets: Sockets,
    /// Rate at which a rank reduces the data of a collective \[bytes of one operand per second\].
    pub reduce_rate: Bandwidth,
    /// Bytes of a segment in pipelined collectives, where the library's rules name none.
    pub segment: Bytes,
    /// Rules that choose the algorithm of a collective.
    pub selection: Selection,
    /// File system of all ranks. One that is not free is in one world: there is no other part.
    pub file_system: FileSystem,
}

impl Setup {
    /// Is the rank in this world?
    fn owns(&self, rank: Rank) -> bool {
        self.part.is_whole() || self.part.owns_host(self.placement[rank.0 as usize].host)
    }

    /// The other parts that have members of `communicator`, asked by `me`.
    fn others_of(&self, me: Rank, communicator: &Communicator) -> Vec<u32> {
        if self.part.is_whole() {
            return Vec::new();
        }
        let mut has_members = vec![false; self.part.cut.parts() as usize];
        for place in 0..communicator.everybody() {
            let member = communicator.at_place(me, place).expect("the place is below the size");
            has_members[self.part.cut.of_host(self.placement[member.0 as usize].host) as usize] = true;
        }
        has_members[self.part.me as usize] = false;
        has_members.iter().zip(0..).filter(|(has, _)| **has).map(|(_, part)| part).collect()
    }
}

/// A message from one world to another, at the end of a window: for [`World::deliver`].
#[derive(Debug, Clone)]
pub struct DomainMessage {
    /// The part whose world it is for.
    pub to: u32,
    /// Content of the message.
    pub words: Arc<[u64]>,
}

/// Protocols of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Protocol {
    /// The longest payload that is sent without asking, between hosts; longer ones by rendezvous.
    pub eager_limit: Bytes,
    /// The same between processes of one host.
    pub memory_eager_limit: Bytes,
    /// The longest payload whose standard send is complete when it has begun, though its data wait for the receive.
    pub detached_limit: Bytes,
    /// The longest payload between hosts that is copied by both ranks, through MPI's own memory; the NICs
    /// read and write the user's memory for longer ones.
    pub two_copy_limit: Bytes,
    /// At which MPI copies between the user's memory and its own: two-copy messages at both ends, a buffered
    /// send into its buffer, and an eager message that had come before its receive.
    pub copy_rate: Bandwidth,
    /// CPU time of every call, before what it does.
    pub call_overhead: Duration,
    /// CPU time for each block, empty or not, of a collective that reads the lengths of its blocks one by one before it
    /// sends anything: alltoallv, alltoallw and those of neighbours.
    pub block_overhead: Duration,
    /// CPU time of a test or probe that finds nothing, so that a loop of them lets time pass. Above 0.
    pub poll: Duration,
    /// Times at which a rank answers the messages of handshakes.
    pub progress: Progress,
}

impl Default for Protocol {
    /// Eager up to 8 KiB (16 KiB in memory), no copies and none that take time, 100 ns for a poll, asynchronous
    /// progress: for tests and examples; a platform states its own.
    fn default() -> Protocol {
        Protocol {
            eager_limit: Bytes(8192),
            memory_eager_limit: Bytes(16_384),
            detached_limit: Bytes(0),
            two_copy_limit: Bytes(0),
            copy_rate: Bandwidth::INFINITE,
            call_overhead: Duration::ZERO,
            block_overhead: Duration::ZERO,
            poll: Duration::from_ns(100),
            progress: Progress::Asynchronous,
        }
    }
}

/// Surroundings of the world while it handles an event.
pub struct Context<'a> {
    /// The time of the event.
    pub now: Time,
    /// Queue in which events are scheduled.
    pub queue: &'a mut Queue,
    /// Network that messages go to.
    pub network: &'a mut dyn Network,
    /// Source of the ranks' operations.
    pub source: &'a mut dyn Source,
    /// Observer of the run.
    pub observer: &'a mut dyn Observer<Record>,
}

/// All ranks of a run, or those of one domain.
pub struct World {
    setup: Setup,
    processes: Processes,
    predefined: Predefined,
    creations: Creations,
    collectives: Collectives,
    traffic: Traffic,
    memory: Memory,
    files: Files,
    event: PresentEvent,
    noise: Option<Noise>,
    /// True if copies within a host have CPU times of their own.
    copies_have_overheads: bool,
    /// True if calls that begin to send may have times of their own.
    begins_apart: bool,
    /// True if messages may be later than the network delivers them: by noise, or by latency that overlaps with its work.
    may_hold_back: bool,
    functions: Functions,
    late: Numbered<LateIndex, Late>,
    /// Result for the source; one for all ranks, so that its memory is used again.
    completion: Completion,
    failure: Option<Box<Failure>>,
    finished: u32,
}

/// Fails the run with the simulated program's failure. Boxed: it is rare and large.
type Outcome<T> = Result<T, Box<Failure>>;

impl World {
    /// A world at time zero. There is at least one rank, and less than 2³¹.
    pub fn new(mut setup: Setup) -> World {
        let ranks = setup.placement.len();
        assert!((1..1 << 31).contains(&ranks), "a world has 1 to 2^31 - 1 ranks, not {ranks}");
        assert!(setup.protocol.poll > Duration::ZERO, "a poll takes time, or loops of tests never end");
        let seen = setup.protocol.progress.seen_at_first();
        let noise = setup.noise.take().map(Noise::new);
        World {
            processes: Processes::new(ranks as u32, seen, |rank| setup.owns(rank)),
            predefined: Predefined::new(ranks as u32, setup.jobs.clone()),
            creations: Creations::default(),
            collectives: Collectives::default(),
            traffic: Traffic::default(),
            memory: Memory::default(),
            files: Files::new(setup.file_system),
            event: PresentEvent::default(),
            copies_have_overheads: setup.host.memory.has_overheads(),
            begins_apart: begins_apart(&setup.host),
            may_hold_back: overlap_of(&setup.host) || noise.as_ref().is_some_and(Noise::delays_messages),
            noise,
            late: Numbered::default(),
            functions: Functions::new(std::mem::take(&mut setup.functions)),
            completion: Completion::default(),
            failure: None,
            finished: 0,
            setup,
        }
    }

    /// Ranks of this world.
    pub fn ranks(&self) -> usize {
        self.processes.len()
    }

    /// Asks a rank of this world, by its place among them, for its first operations. Call once for each, in
    /// ascending order, at time zero.
    pub fn start(&mut self, place: usize, context: &mut Context) {
        let rank = self.processes.rank(place);
        let outcome = self.proceed(rank, context);
        self.record_failure(outcome);
    }

    /// Handles an event that this world scheduled on [`Lane::Rank`].
    pub fn wake(&mut self, token: Token, context: &mut Context) {
        if self.failure.is_some() {
            return;
        }
        let outcome = match Wake::decode(token) {
            Wake::Return(rank) => self.resume(rank, context),
            Wake::Lingered(rank) => self.lingered(rank, context),
            Wake::FileDone(index) => self.file_done(index, context),
            Wake::MemoryDone(socket) => self.memory_done(socket, context),
            Wake::Late(index) => {
                self.deliver_late(index, context);
                return;
            }
            Wake::Inject(index) => {
                self.inject(index, context);
                Ok(())
            }
            Wake::InjectAndReturn(index) => {
                let rank = self.inject(index, context);
                self.resume(rank, context)
            }
        };
        self.record_failure(outcome);
    }

    /// Are all ranks of this world done?
    pub fn finished(&self) -> bool {
        self.unfinished() == 0
    }

    /// Number of ranks of this world that are not done.
    pub fn unfinished(&self) -> u32 {
        self.processes.len() as u32 - self.finished
    }

    /// Failure of the simulated program, if it has failed.
    pub fn failed(&self) -> Option<&Failure> {
        self.failure.as_deref()
    }

    /// The hash of what happened to each rank of this world, in the order of ranks.
    pub fn digests(&self) -> impl Iterator<Item = (Rank, u64)> {
        self.processes.iter().map(|(rank, process)| (rank, process.digest.value()))
    }

    /// Takes what this world has to tell others since the last call.
    pub fn take_domain_messages(&mut self) -> Vec<DomainMessage> {
        self.creations.take_messages()
    }

    /// Takes in a message of another world.
    pub fn deliver(&mut self, words: &[u64]) {
        self.creations.deliver(words, &self.setup);
    }

    /// Messages with payload sent so far, those of collectives included.
    pub fn messages(&self) -> u64 {
        self.traffic.messages()
    }

    /// Number of messages, sent by any world, that have come to this one.
    pub fn arrived(&self) -> u64 {
        self.traffic.arrived()
    }

    /// Messages that are sent or have come, or that calls have only begun to send.
    pub fn announced(&self) -> u64 {
        self.traffic.announced()
    }

    /// Progress of the announced messages: one for each that is handed to the network, and one for each that has come.
    pub fn moved(&self) -> u64 {
        self.traffic.moved()
    }

    /// Payload sent so far \[bytes\].
    pub fn bytes(&self) -> u64 {
        self.traffic.bytes()
    }

    /// Goes on with the rank whose call has become complete with the present event, if one has.
    fn resume_ready(&mut self, context: &mut Context) -> Outcome<()> {
        self.event.take_ready().map_or(Ok(()), |rank| self.resume(rank, context))
    }

    fn record_failure(&mut self, outcome: Outcome<()>) {
        if let Err(failure) = outcome {
            self.failure.get_or_insert(failure);
        }
    }

    /// Hands `message` to the network at `at`, when its sender's overhead ends. With `ride`, the
    /// sender's call returns at that time, too. Says whether an event was needed for it.
    #[inline(always)]
    fn transmit(&mut self, mut message: Message, at: Time, ride: bool, context: &mut Context) -> bool {
        set_path(&mut message.cargo, &self.event.path_after(at.since(context.now)));
        if at == context.now {
            context.network.inject(at, &message, context.queue);
            return false;
        }
        let rank = Ends::of(&message.cargo).source;
        let index = self.traffic.hold(message);
        let wake = if ride { Wake::InjectAndReturn(index) } else { Wake::Inject(index) };
        context.queue.push(at, Owner::new(Lane::Rank, rank.0), wake.encode());
        true
    }

    /// Hands a message of the outbox to the network, where it lies; gives its sender.
    fn inject(&mut self, index: OutboxIndex, context: &mut Context) -> Rank {
        let message = self.traffic.held(index);
        let rank = Ends::of(&message.cargo).source;
        context.network.inject(context.now, message, context.queue);
        self.traffic.release(index);
        rank
    }

    /// Schedules the return of the call of `rank`.
    fn return_at(&mut self, rank: Rank, at: Time, context: &mut Context) {
        context.queue.push(at, Owner::new(Lane::Rank, rank.0), Wake::Return(rank).encode());
    }
}

/// Content of an event of this layer.
enum Wake {
    /// The rank's call returns.
    Return(Rank),
    /// A message of the outbox is ready to go.
    Inject(OutboxIndex),
    /// Both.
    InjectAndReturn(OutboxIndex),
    /// The rank has lingered for as long as it wanted, if it still does.
    Lingered(Rank),
    /// An access to a file is done, by its index.
    FileDone(FileAccessIndex),
    /// A stretch of computing on a socket, by its index, may have ended.
    MemoryDone(SocketIndex),
    /// A message that noise has held back, by its index, is delivered.
    Late(LateIndex),
}

impl Wake {
    fn encode(self) -> Token {
        let (purpose, value) = match self {
            Wake::Return(rank) => (0, rank.0),
            Wake::Inject(index) => (1, index.0),
            Wake::InjectAndReturn(index) => (2, index.0),
            Wake::Lingered(rank) => (3, rank.0),
            Wake::FileDone(index) => (4, index.0),
            Wake::MemoryDone(socket) => (5, socket.0),
            Wake::Late(index) => (6, index.0),
        };
        Token::new(Lane::Rank, u64::from(value) << 3 | purpose)
    }

    fn decode(token: Token) -> Wake {
        let value = (token.payload() >> 3) as u32;
        match token.payload() & 7 {
            0 => Wake::Return(Rank(value)),
            1 => Wake::Inject(OutboxIndex(value)),
            2 => Wake::InjectAndReturn(OutboxIndex(value)),
            3 => Wake::Lingered(Rank(value)),
            4 => Wake::FileDone(FileAccessIndex(value)),
            5 => Wake::MemoryDone(SocketIndex(value)),
            _ => Wake::Late(LateIndex(value)),
        }
    }
}
