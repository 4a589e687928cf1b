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
    /// How many steps rank 0 has.
    length: u32,
}

impl Steps {
    /// Every rank at its first step.
    pub fn new(pattern: Box<dyn Pattern>, ranks: u32) -> Steps {
        let length = length(&*pattern);
        Steps { pattern, steps: vec![0; ranks as usize], length }
    }
}

/// How many steps rank 0 has: the first at which it is done, found by doubling, then by halving.
fn length(pattern: &dyn Pattern) -> u32 {
    let goes_on = |step| pattern.op(0, step).is_some();
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
        let op = self.pattern.op(rank.0, *step);
        *step += 1;
        op.unwrap_or(Op::Finish)
    }

    /// Of rank 0: its step before the next is asked for is not done yet.
    fn share_done(&self) -> Option<f64> {
        let done = self.steps[0].saturating_sub(1);
        (self.length > 0).then(|| f64::from(done) / f64::from(self.length))
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

/// At least two ranks, or an error that says so.
fn at_least(ranks: u32, least: u32, pattern: &str) -> Result<(), BuildError> {
    if ranks < least {
        return Err(BuildError::new("ranks", format!("{pattern} needs at least {least} ranks, not {ranks}")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computes so many times.
    struct Counted(u32);

    impl Pattern for Counted {
        fn op(&self, _rank: u32, step: u32) -> Option<Op> {
            (step < self.0).then_some(Op::Compute(Work::Time(Duration(1))))
        }
    }

    #[test]
    fn the_share_done_grows_from_nothing_to_all_whatever_the_length() {
        for steps in [1, 2, 3, 7, 64, 1_000, 65_537] {
            let mut source = Steps::new(Box::new(Counted(steps)), 1);
            assert_eq!(source.share_done(), Some(0.0));
            for step in 0..steps {
                source.next(Rank(0), &Completion::default());
                assert_eq!(source.share_done(), Some(f64::from(step) / f64::from(steps)));
            }
            assert_eq!(source.next(Rank(0), &Completion::default()), Op::Finish);
            assert_eq!(source.share_done(), Some(1.0));
        }
        assert_eq!(Steps::new(Box::new(Counted(0)), 1).share_done(), None);
    }
}
