//! Translates events to operations.

use std::sync::Arc;

use engine::{Bytes, Duration, Time};
use mpi::Op;
use mpi::collective::{Collective, Kind, Sizes};
use mpi::operation::{CommId, NewComm, Peer, Receive, Request, Send, SendMode, Start, TagMatch, Until, Via};

use super::event::{Event, Values};
use super::functions::{Becomes, datatype_size};
use super::set::Parsed;
use super::walk::Walk;
use crate::trace::error::TraceError;
use crate::trace::requests::Requests;
use crate::trace::set::{RankCalls, RecordedCall, Step};

/// Numbers of parameters.
mod parameter {
    pub const ARRAY_OF_REQUESTS: u32 = 12;
    pub const COMM: u32 = 16;
    pub const COUNT: u32 = 18;
    pub const DATATYPE: u32 = 20;
    pub const RECVCOUNT: u32 = 21;
    pub const RECVTYPE: u32 = 22;
    pub const ROOT: u32 = 25;
    pub const DEST: u32 = 26;
    pub const TAG: u32 = 27;
    pub const REQUEST: u32 = 28;
    pub const COLOR: u32 = 35;
    pub const KEY: u32 = 36;
    pub const SOURCE: u32 = 43;
}

/// Places of the ring of requests.
const RING: i64 = 10_000;
/// Number of the first communicator that the program makes.
const OWN: i64 = 1000;
/// Number of MPI_ANY_SOURCE.
const ANY_SOURCE: i64 = i32::MAX as i64;
/// Largest message that is not taken for damage \[bytes\].
const LARGEST_MESSAGE: u64 = 1 << 40;
/// Largest number of requests of a call that is not taken for damage.
const MOST_AT_ONCE: i64 = 1 << 20;

/// Yields the calls of one rank as operations.
pub struct Translator {
    parsed: Arc<Parsed>,
    walk: Walk,
    rank: u32,
    ranks: u32,
    /// End of the last call.
    now: Time,
    /// Stack of the last call.
    stack: Option<u32>,
    requests: Requests,
    /// Number of requests that have begun.
    begun: i64,
    /// Communicators that the program has made.
    comms: Vec<CommId>,
    /// True if a number of elements was a mean.
    has_means: bool,
}

type Reason = String;

impl Translator {
    /// Begins before the first call of `rank`.
    pub fn new(parsed: Arc<Parsed>, rank: u32, ranks: u32) -> Translator {
        Translator {
            walk: Walk::new(parsed.events.clone(), rank),
            parsed,
            rank,
            ranks,
            now: Time::ZERO,
            stack: None,
            requests: Requests::default(),
            begun: 0,
            comms: Vec::new(),
            has_means: false,
        }
    }

    fn error(&self, at: usize, reason: &str) -> TraceError {
        let Event { line, function, .. } = &self.parsed.events[at];
        TraceError::new(&*self.parsed.file.name, format!("line {line}: {}: {reason}", function.name))
    }

    fn step(&mut self, at: usize) -> Result<Step, Reason> {
        let events = self.parsed.events.clone();
        let event = &events[at];
        let [before, within] = &event.times;
        let us = |us: f64| Duration::from_seconds(us / 1e6);
        let begin = self.now + us(before.after(self.stack));
        let lasted = us(within.after(self.stack));
        (self.now, self.stack) = (begin + lasted, Some(event.stack));
        let name = event.function.name;
        let op = match event.function.becomes {
            Becomes::Overhead => Op::Call(name, lasted),
            Becomes::Operation => self.operation(at, event, lasted)?,
        };
        Ok(Step { call: RecordedCall { name, begin, end: self.now }, op })
    }

    fn operation(&mut self, at: usize, event: &Event, lasted: Duration) -> Result<Op, Reason> {
        let name = event.function.name;
        let nothing = Op::Call(name, lasted);
        Ok(match name {
            "MPI_Finalize" => Op::Finalize(Duration::ZERO),
            "MPI_Recv" => Op::Receive(self.receive(at, event)?, Start::Blocking),
            "MPI_Irecv" => Op::Receive(self.receive(at, event)?, self.begin()),
            "MPI_Wait" => {
                let offset = self.number(at, event, parameter::REQUEST)?;
                self.complete(offset).map_or(nothing, Op::WaitOne)
            }
            "MPI_Waitall" => {
                let count = self.number(at, event, parameter::COUNT)?;
                if !(0..=MOST_AT_ONCE).contains(&count) {
                    return Err(format!("waits for {count} requests"));
                }
                let mut all = Vec::new();
                for _ in 0..count {
                    let offset = self.number(at, event, parameter::ARRAY_OF_REQUESTS)?;
                    all.extend(self.complete(offset));
                }
                if all.is_empty() { nothing } else { Op::Wait(all.into(), Until::All) }
            }
            "MPI_Comm_dup" => Op::NewComm(self.comm(at, event)?, NewComm::Dup),
            "MPI_Comm_split" => {
                let colour = self.number(at, event, parameter::COLOR)?;
                let key = self.number(at, event, parameter::KEY)?;
                let key = self.relative(key);
                let colour = (colour >= 0).then_some(colour);
                Op::NewComm(self.comm(at, event)?, NewComm::Split { colour, key: i64::from(key) })
            }
            "MPI_Comm_free" => Op::FreeComm(self.comm(at, event)?),
            _ if name.ends_with("send") || name == "MPI_Send" => {
                let send = self.send(at, event)?;
                let start = if name.starts_with("MPI_I") { self.begin() } else { Start::Blocking };
                Op::Send(send, start)
            }
            _ => self.collective(at, event)?,
        })
    }

    /// The next value of a parameter.
    fn number(&mut self, at: usize, event: &Event, number: u32) -> Result<i64, Reason> {
        let value = match event.parameters.get(&number) {
            Some(Values::Mean(mean)) if [parameter::COUNT, parameter::RECVCOUNT].contains(&number) => {
                self.has_means = true;
                Some(mean.round() as i64)
            }
            Some(values) => self
                .walk
                .value(at, number, values)
                .map_err(|reason| format!("parameter {number:x} {reason}"))?,
            None => None,
        };
        value.ok_or_else(|| format!("lacks parameter {number:x} on rank {}", self.rank))
    }

    /// Rank at this distance from the own one.
    fn relative(&self, number: i64) -> u32 {
        (number + i64::from(self.rank)).rem_euclid(i64::from(self.ranks)) as u32
    }

    fn bytes(&mut self, at: usize, event: &Event, [count, datatype]: [u32; 2]) -> Result<[u64; 2], Reason> {
        let (count, datatype) = (self.number(at, event, count)?, self.number(at, event, datatype)?);
        let element = datatype_size(datatype)?;
        let bytes = u64::try_from(count).ok().and_then(|count| count.checked_mul(element));
        let bytes = bytes.filter(|bytes| *bytes <= LARGEST_MESSAGE);
        Ok([bytes.ok_or_else(|| format!("{count} elements are no length of a message"))?, element])
    }

    fn comm(&mut self, at: usize, event: &Event) -> Result<CommId, Reason> {
        let number = self.number(at, event, parameter::COMM)?;
        let made = usize::try_from(number - OWN).ok().and_then(|at| self.comms.get(at)).copied();
        match number {
            1 => Ok(CommId::SELF),
            2 => Ok(CommId::WORLD),
            _ => made.ok_or_else(|| format!("uses communicator {number}, which no call before it has made")),
        }
    }

    fn begin(&mut self) -> Start {
        let request = self.requests.begin(self.begun % RING, false);
        self.begun += 1;
        Start::Request(request)
    }

    /// Completes the request at `offset` from the next place of the ring, if that is in use.
    fn complete(&mut self, offset: i64) -> Option<Request> {
        (offset >= 0).then(|| self.requests.complete((self.begun + offset) % RING)).flatten()
    }

    fn send(&mut self, at: usize, event: &Event) -> Result<Send, Reason> {
        let mode = match event.function.name {
            "MPI_Ssend" | "MPI_Issend" => SendMode::Synchronous,
            "MPI_Rsend" | "MPI_Irsend" => SendMode::Ready,
            _ => SendMode::Standard,
        };
        let [bytes, _] = self.bytes(at, event, [parameter::COUNT, parameter::DATATYPE])?;
        let to = self.number(at, event, parameter::DEST)?;
        let tag = self.number(at, event, parameter::TAG)?;
        Ok(Send {
            to: Peer::Rank(self.relative(to)),
            tag: u32::try_from(tag).map_err(|_| format!("sends with tag {tag}"))?,
            comm: self.comm(at, event)?,
            bytes: Bytes(bytes),
            mode,
            via: Via::PLATFORM,
            data: 0,
        })
    }

    fn receive(&mut self, at: usize, event: &Event) -> Result<Receive, Reason> {
        let from = match self.number(at, event, parameter::SOURCE)? {
            ANY_SOURCE => Peer::Any,
            from => Peer::Rank(self.relative(from)),
        };
        let tag = u32::try_from(self.number(at, event, parameter::TAG)?).map_or(TagMatch::Any, TagMatch::Tag);
        Ok(Receive { from, tag, comm: self.comm(at, event)?, capacity: Bytes(u64::MAX) })
    }

    fn collective(&mut self, at: usize, event: &Event) -> Result<Op, Reason> {
        let kind = Kind::named(&event.function.name[4..].to_ascii_lowercase())?;
        let [bytes, element] = match kind {
            Kind::Barrier => [0, 1],
            Kind::Allgather | Kind::Alltoall => {
                self.bytes(at, event, [parameter::RECVCOUNT, parameter::RECVTYPE])?
            }
            _ => self.bytes(at, event, [parameter::COUNT, parameter::DATATYPE])?,
        };
        let root = if kind.rooted() { self.number(at, event, parameter::ROOT)? } else { 0 };
        let call = Collective {
            kind,
            comm: self.comm(at, event)?,
            root: u32::try_from(root).map_err(|_| format!("has root {root}"))?,
            sizes: Sizes::Equal(Bytes(bytes)),
            element: element as u32,
            commutative: true,
            algorithm: None,
        };
        Ok(Op::Collective(Arc::new(call), Start::Blocking))
    }
}

impl RankCalls for Translator {
    fn next(&mut self) -> Result<Option<Step>, TraceError> {
        let next = self.walk.next().map_err(|(at, reason)| self.error(at, &reason))?;
        let Some(at) = next else { return Ok(None) };
        self.step(at).map(Some).map_err(|reason| self.error(at, &reason))
    }

    fn made(&mut self, comm: CommId) {
        self.comms.push(comm);
    }

    fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.has_means {
            let name = &self.parsed.file.name;
            warnings.push(format!(
                "{name}: rank {} has numbers of elements of which only a histogram is known: messages have its mean",
                self.rank
            ));
        }
        warnings
    }

    fn share_read(&self) -> f64 {
        self.walk.share_done()
    }
}
