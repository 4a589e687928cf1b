//! Programs of scenarios, one line for each rank: `0: send 1 1 GB; receive 1; compute 2 us`.
//!
//! `send`, `isend`, `ssend TO SIZE`, of those `nic FROM TO`, `zero-copy` or `two-copy` behind it; `receive`, `ireceive FROM|any`; `sendreceive TO SIZE FROM`; `wait`
//! (for all requests so far); `compute TIME`; `stream TIME SIZE`; `write`, `iwrite SIZE at OFFSET`, behind it `times N every SIZE` and
//! `file NUMBER` (0); `open`; `sync FILE`; `barrier`; `bcast SIZE`, `reduce SIZE`, `allreduce SIZE`,
//! each with an algorithm behind if wanted. A rank range `2-5:` gives several ranks one line, in which
//! `+n` and `-n` name ranks relative to its own.

use std::collections::VecDeque;
use std::sync::Arc;

use engine::Bytes;
use mpi::collective::{self, Collective, Kind, Sizes};
use mpi::file_system::{self, File};
use mpi::operation::{
    CommId, Copying, NicPair, Peer, Receive, Request, Send, SendMode, Start, TagMatch, Until, Via, Work,
};
use mpi::{Completion, Op, Rank, Source};

/// Remaining operations of each rank.
pub struct Script(Vec<VecDeque<Op>>);

impl Source for Script {
    fn next(&mut self, rank: Rank, _done: &Completion) -> Op {
        self.0[rank.0 as usize].pop_front().unwrap_or(Op::Finish)
    }
}

impl Script {
    /// Reads a program; `name` is for messages.
    pub fn read(text: &str, name: &str) -> Script {
        let mut ranks: Vec<VecDeque<Op>> = Vec::new();
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let (who, what) =
                line.split_once(':').unwrap_or_else(|| panic!("{name}: '{line}' names no rank"));
            let (first, last) = who.trim().split_once('-').unwrap_or((who.trim(), who.trim()));
            for rank in first.parse::<u32>().unwrap()..=last.parse::<u32>().unwrap() {
                assert_eq!(rank as usize, ranks.len(), "{name}: ranks come in order");
                ranks.push(operations(what, rank, name));
            }
        }
        Script(ranks)
    }

    /// Number of ranks that it lists.
    pub fn ranks(&self) -> u32 {
        self.0.len() as u32
    }
}

fn operations(line: &str, rank: u32, name: &str) -> VecDeque<Op> {
    let mut requests = Vec::new();
    let mut operations = VecDeque::new();
    for text in line.split(';').map(str::trim).filter(|text| !text.is_empty()) {
        let words: Vec<&str> = text.split_whitespace().collect();
        operations
            .push_back(operation(&words, rank, &mut requests).unwrap_or_else(|| panic!("{name}: '{text}'?")));
    }
    operations
}

fn operation(words: &[&str], rank: u32, requests: &mut Vec<Request>) -> Option<Op> {
    let mut request = || {
        requests.push(Request(requests.len() as u32));
        Start::Request(requests[requests.len() - 1])
    };
    let kind = |kind| collective_call(kind, &words[1..]);
    Some(match words[0] {
        "send" => Op::Send(send(words, rank, SendMode::Standard)?, Start::Blocking),
        "ssend" => Op::Send(send(words, rank, SendMode::Synchronous)?, Start::Blocking),
        "isend" => Op::Send(send(words, rank, SendMode::Standard)?, request()),
        "receive" => Op::Receive(receive(words[1], rank)?, Start::Blocking),
        "ireceive" => Op::Receive(receive(words[1], rank)?, request()),
        "sendreceive" => {
            let last = words.len() - 1;
            Op::SendReceive(send(&words[..last], rank, SendMode::Standard)?, receive(words[last], rank)?)
        }
        "wait" => Op::Wait(std::mem::take(requests).into(), Until::All),
        "compute" => Op::Compute(Work::Time(words[1..].join(" ").parse().ok()?)),
        "stream" => {
            let (time, bytes) = (words[1..3].join(" ").parse().ok()?, words[3..5].join(" ").parse().ok()?);
            Op::Compute(Work::Moving { time, bytes })
        }
        "write" => Op::File(Arc::new(write(words)?), Start::Blocking),
        "iwrite" => Op::File(Arc::new(write(words)?), request()),
        "open" => access("MPI_File_open", file_system::Work::Metadata),
        "sync" => access("MPI_File_sync", file_system::Work::Sync(file(words[1].parse().ok()?))),
        "barrier" => kind(Kind::Barrier)?,
        "bcast" => kind(Kind::Bcast)?,
        "reduce" => kind(Kind::Reduce)?,
        "allreduce" => kind(Kind::Allreduce)?,
        _ => return None,
    })
}

fn peer(word: &str, rank: u32) -> Option<u32> {
    match word.as_bytes()[0] {
        b'+' | b'-' => u32::try_from(i64::from(rank) + word.parse::<i64>().ok()?).ok(),
        _ => word.parse().ok(),
    }
}

fn send(words: &[&str], rank: u32, mode: SendMode) -> Option<Send> {
    let to = Peer::Rank(peer(words[1], rank)?);
    let (size, mut rest) = words[2..].split_at(2);
    let mut via = Via::PLATFORM;
    while let Some((word, more)) = rest.split_first() {
        rest = more;
        match *word {
            "zero-copy" => via.copying = Some(Copying::ZeroCopy),
            "two-copy" => via.copying = Some(Copying::TwoCopy),
            "nic" => {
                let (pair, more) = rest.split_at(2);
                via.nics = Some(NicPair { from: pair[0].parse().ok()?, to: pair[1].parse().ok()? });
                rest = more;
            }
            _ => return None,
        }
    }
    let bytes = size.join(" ").parse().ok()?;
    Some(Send { to, tag: 0, comm: CommId::WORLD, bytes, mode, via, data: 0 })
}

fn receive(word: &str, rank: u32) -> Option<Receive> {
    let from = if word == "any" { Peer::Any } else { Peer::Rank(peer(word, rank)?) };
    Some(Receive { from, tag: TagMatch::Any, comm: CommId::WORLD, capacity: Bytes(u64::MAX) })
}

fn access(name: &'static str, work: file_system::Work) -> Op {
    Op::File(Arc::new(file_system::Access { name, work }), Start::Blocking)
}

fn file(number: u32) -> File {
    File { number, striping: None }
}

fn write(words: &[&str]) -> Option<file_system::Access> {
    let size = |words: &[&str]| words.join(" ").parse::<Bytes>().ok();
    let (bytes, begin) = (size(&words[1..3])?, size(&words[4..6])?);
    let (mut times, mut every, mut number, mut rest) = (1, Bytes(0), 0, &words[6..]);
    while let Some((word, more)) = rest.split_first() {
        rest = match *word {
            "times" => {
                (times, every) = (more[0].parse().ok()?, size(&more[2..4])?);
                &more[4..]
            }
            "file" => {
                number = more[0].parse().ok()?;
                &more[1..]
            }
            _ => return None,
        };
    }
    let parts = (0..times).map(|time: u64| (begin.0 + time * every.0, bytes)).collect();
    let work = file_system::Work::Transfer(file(number), parts);
    Some(file_system::Access { name: "MPI_File_write_at", work })
}

/// Parses `SIZE [UNIT] [ALGORITHM]`; a barrier has no size.
fn collective_call(kind: Kind, words: &[&str]) -> Option<Op> {
    let (bytes, rest) = match words {
        [number, unit, rest @ ..] if kind != Kind::Barrier => {
            (format!("{number} {unit}").parse().ok()?, rest)
        }
        rest => (Bytes(0), rest),
    };
    let algorithm = rest.first().map(|name| collective::find(kind, name).expect("a known algorithm").name);
    let call = Collective {
        kind,
        comm: CommId::WORLD,
        root: 0,
        sizes: Sizes::Equal(bytes),
        element: 1,
        commutative: true,
        algorithm,
    };
    Some(Op::Collective(Arc::new(call), Start::Blocking))
}
