//! Synthetic patterns by name: pure functions from `(rank, step)` to an operation.
//!
//! Nothing is stored but the step at which each rank is, so a million ranks cost four megabytes.
//! Adding one is a file here and a line in [`PATTERNS`].

mod bisection;
mod collective;
mod halo;
mod incast;
mod permutation;
mod pingpong;
mod random_ring;
mod ring;
mod uniform;

use engine::registry::{Arguments, BuildError, Entry, Kind, Parameter};
use engine::{Bytes, Duration};
use mpi::operation::{CommId, Peer, Receive, Request, Send, SendMode, Start, Tag, TagMatch, Work};
use mpi::{Completion, Op, Rank, Source};

/// What every pattern is told besides its own parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// How many ranks take part, 1 or more.
    pub ranks: u32,
    /// Of the run; random patterns draw from streams under it.
    pub seed: u64,
}

/// A pattern: what each rank does at each of its steps.
pub trait Pattern {
    /// The operation of `rank` at `step` (from 0); `None` once the rank is done.
    fn op(&self, rank: u32, step: u32) -> Option<Op>;
}

/// Makes a pattern.
pub type Build = fn(&Arguments, Setting) -> Result<Box<dyn Pattern>, BuildError>;

const BYTES: Parameter = Parameter {
    name: "bytes",
    kind: Kind::Size,
    default: Some("64 KiB"),
    summary: "length of each message (of each block, for collectives)",
};
const ITERATIONS: Parameter = Parameter {
    name: "iterations",
    kind: Kind::Integer(1, 1_000_000_000),
    default: Some("1"),
    summary: "how often the pattern repeats",
};
const COMPUTE: Parameter = Parameter {
    name: "compute",
    kind: Kind::Time,
    default: Some("0 s"),
    summary: "computing of each rank in each iteration",
};
const COMMON: &[Parameter] = &[BYTES, ITERATIONS, COMPUTE];

/// Every pattern by name.
pub const PATTERNS: &[Entry<Build>] = &[
    halo::HALO_1D,
    halo::HALO_2D,
    halo::HALO_3D,
    halo::HALO_4D,
    ring::ENTRY,
    permutation::ENTRY,
    uniform::ENTRY,
    bisection::ENTRY,
    incast::ENTRY,
    random_ring::ENTRY,
    pingpong::ENTRY,
    collective::BARRIER,
    collective::BCAST,
    collective::REDUCE,
    collective::ALLREDUCE,
    collective::GATHER,
    collective::SCATTER,
    collective::ALLGATHER,
    collective::ALLTOALL,
    collective::REDUCE_SCATTER,
    collective::SCAN,
    collective::EXSCAN,
];

/// Runs a pattern: the [`Source`] that keeps where each rank is.
pub struct Steps {
    pattern: Box<dyn Pattern>,
    steps: Vec<u32>,
}

impl Steps {
    /// Every rank at its first step.
    pub fn new(pattern: Box<dyn Pattern>, ranks: u32) -> Steps {
        Steps { pattern, steps: vec![0; ranks as usize] }
    }
}

impl Source for Steps {
    fn next(&mut self, rank: Rank, _done: &Completion) -> Op {
        let step = &mut self.steps[rank.0 as usize];
        let op = self.pattern.op(rank.0, *step);
        *step += 1;
        op.unwrap_or(Op::Finish)
    }

    fn place(&self, rank: Rank) -> Option<String> {
        Some(format!("step {} of the pattern", self.steps[rank.0 as usize]))
    }
}

/// The arguments that all patterns share.
#[derive(Debug, Clone, Copy)]
struct Common {
    bytes: Bytes,
    iterations: u32,
    compute: Duration,
}

impl Common {
    fn of(arguments: &Arguments) -> Common {
        Common {
            bytes: arguments.size("bytes").expect("bytes has a default"),
            iterations: arguments.integer("iterations").expect("iterations has a default") as u32,
            compute: arguments.time("compute").expect("compute has a default"),
        }
    }

    /// The computing at the end of an iteration.
    fn work(&self) -> Op {
        Op::Compute(Work::Time(self.compute))
    }

    /// `(iteration, step within it)` where each has `length` steps and the computing after them;
    /// `None` when all iterations are done.
    fn locate(&self, step: u32, length: u32) -> Option<(u32, u32)> {
        let length = length + u32::from(self.compute > Duration::ZERO);
        let iteration = step / length;
        (iteration < self.iterations).then_some((iteration, step % length))
    }
}

fn send(to: u32, tag: Tag, bytes: Bytes) -> Send {
    Send { to: Peer::Rank(to), tag, comm: CommId::WORLD, bytes, mode: SendMode::Standard, data: 0 }
}

fn receive(from: u32, tag: Tag, capacity: Bytes) -> Receive {
    Receive { from: Peer::Rank(from), tag: TagMatch::Tag(tag), comm: CommId::WORLD, capacity }
}

fn receive_any(tag: Tag, capacity: Bytes) -> Receive {
    Receive { from: Peer::Any, tag: TagMatch::Tag(tag), comm: CommId::WORLD, capacity }
}

fn posted(request: u32) -> Start {
    Start::Request(Request(request))
}

/// At least two ranks, or an error that says so.
fn at_least(ranks: u32, least: u32, pattern: &str) -> Result<(), BuildError> {
    if ranks < least {
        return Err(BuildError::new("ranks", format!("{pattern} needs at least {least} ranks, not {ranks}")));
    }
    Ok(())
}
