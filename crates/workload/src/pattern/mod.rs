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
use mpi::operation::{CommId, Peer, Receive, Request, Send, SendMode, Start, Tag, TagMatch, Via, Work};
use mpi::{Completion, Issued, Op, Rank, Source};

/// Arguments that every pattern gets besides its own parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// Number of ranks that take part, 1 or more.
    pub ranks: u32,
    /// Seed of the run; random patterns draw from streams under it.
    pub seed: u64,
}

/// A pattern: what each rank does at each of its steps.
pub trait Pattern: std::marker::Send {
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
const MEMORY: Parameter = Parameter {
    name: "memory",
    kind: Kind::Size,
    default: Some("0 B"),
    summary: "bytes that each rank moves through memory while it computes, in each iteration",
};
const COMMON: &[Parameter] = &[BYTES, ITERATIONS, COMPUTE, MEMORY];

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
    /// Number of steps of the rank that asked last for its first operation.
    length: u32,
    /// Steps that ranks have begun, and the total steps of the ranks that have asked for an operation.
    given: u64,
    all: u64,
}

impl Steps {
    /// Puts every rank at its first step.
    pub fn new(pattern: Box<dyn Pattern>, ranks: u32) -> Steps {
        Steps { pattern, steps: vec![0; ranks as usize], length: 0, given: 0, all: 0 }
    }
}

/// Number of steps of `rank`: the index of the first step at which it is done. Tries `like`, the number of another
/// rank, first; else doubles and then bisects.
fn length(pattern: &dyn Pattern, rank: u32, like: u32) -> u32 {
    let goes_on = |step| pattern.op(rank, step).is_some();
    if !goes_on(like) && (like == 0 || goes_on(like - 1)) {
        return like;
    }
    let mut above = 1;
    while above < u32::MAX / 2 && goes_on(above) {
        above *= 2;
    }
    let (mut low, mut high) = (0, above);
    while low < high {
        let middle = low + (high - low) / 2;
        if goes_on(middle) { low = middle + 1 } else { high = middle }
    }
    low
}

impl Source for Steps {
    fn next(&mut self, rank: Rank, _done: &Completion) -> Op {
        let step = &mut self.steps[rank.0 as usize];
        if *step == 0 {
            self.length = length(&*self.pattern, rank.0, self.length);
            self.all += u64::from(self.length);
        }
        let op = self.pattern.op(rank.0, *step);
        *step += 1;
        self.given += u64::from(op.is_some());
        op.unwrap_or(Op::Finish)
    }

    /// Counts each step as one: all iterations cost the same.
    fn issued(&self) -> Option<Issued> {
        Some(Issued { given: self.given as f64, all: self.all as f64 })
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
    memory: Bytes,
}

impl Common {
    fn of(arguments: &Arguments) -> Common {
        Common {
            bytes: arguments.size("bytes").expect("bytes has a default"),
            iterations: arguments.integer("iterations").expect("iterations has a default") as u32,
            compute: arguments.time("compute").expect("compute has a default"),
            memory: arguments.size("memory").expect("memory has a default"),
        }
    }

    /// The computing at the end of an iteration.
    fn work(&self) -> Op {
        Op::Compute(match self.memory {
            Bytes(0) => Work::Time(self.compute),
            bytes => Work::Moving { time: self.compute, bytes },
        })
    }

    /// True if ranks compute.
    fn computes(&self) -> bool {
        self.compute > Duration::ZERO || self.memory > Bytes(0)
    }

    /// `(iteration, step within it)` where each has `length` steps and the computing after them;
    /// `None` when all iterations are done.
    fn locate(&self, step: u32, length: u32) -> Option<(u32, u32)> {
        let length = length + u32::from(self.computes());
        let iteration = step / length;
        (iteration < self.iterations).then_some((iteration, step % length))
    }
}

fn send(to: u32, tag: Tag, bytes: Bytes) -> Send {
    Send {
        to: Peer::Rank(to),
        tag,
        comm: CommId::WORLD,
        bytes,
        mode: SendMode::Standard,
        via: Via::PLATFORM,
        data: 0,
    }
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

/// Fails unless there are at least `least` ranks.
fn at_least(ranks: u32, least: u32, pattern: &str) -> Result<(), BuildError> {
    if ranks < least {
        return Err(BuildError::new("ranks", format!("{pattern} needs at least {least} ranks, not {ranks}")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pattern in which each rank only computes, as often as the list says.
    struct Counted(Vec<u32>);

    impl Pattern for Counted {
        fn op(&self, rank: u32, step: u32) -> Option<Op> {
            (step < self.0[rank as usize]).then_some(Op::Compute(Work::Time(Duration(1))))
        }
    }

    #[test]
    fn the_steps_of_all_ranks_are_counted_whatever_their_number() {
        let lengths = [1, 2, 2, 3, 7, 64, 0, 0, 1_000, 1_000, 999, 65_537];
        let mut source = Steps::new(Box::new(Counted(lengths.to_vec())), lengths.len() as u32);
        let (mut given, mut all) = (0, 0);
        assert_eq!(source.issued(), Some(Issued::default()));
        for (rank, length) in (0..).zip(lengths) {
            all += length;
            for _ in 0..length {
                source.next(Rank(rank), &Completion::default());
                given += 1;
                assert_eq!(source.issued(), Some(Issued { given: given.into(), all: all.into() }));
            }
            assert_eq!(source.next(Rank(rank), &Completion::default()), Op::Finish);
            assert_eq!(source.issued(), Some(Issued { given: given.into(), all: all.into() }));
        }
    }
}
