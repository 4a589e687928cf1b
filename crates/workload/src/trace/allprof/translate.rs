//! Translates lines to operations, one for each.

use std::sync::Arc;

use engine::{Bytes, Duration};
use mpi::Op;
use mpi::collective::{Collective, Kind, Sizes};
use mpi::operation::{CommId, Peer, Receive, Request, Send, SendMode, Start, TagMatch, Until, Via};

use super::call::Call;
use crate::trace::clock::Times;
use crate::trace::error::TraceError;
use crate::trace::lines::Lines;
use crate::trace::requests::Requests;
use crate::trace::set::{RankCalls, RecordedCall, Step};

/// A larger message is a damaged count \[bytes\].
const LARGEST_MESSAGE: u64 = 1 << 40;
/// Distances between the elements of an array of requests: pointers in C, integers in Fortran \[bytes\].
const STRIDES: [i64; 2] = [8, 4];

/// Facts about the run that a rank's translation needs.
#[derive(Debug, Clone, Copy)]
pub struct Run {
    /// The rank.
    pub rank: u32,
    /// Number of ranks.
    pub ranks: u32,
    /// True if every rank's trace reaches MPI_Finalize.
    pub all_finalize: bool,
}

/// The calls of one rank.
pub struct Translator {
    lines: Lines,
    times: Times,
    run: Run,
    requests: Requests,
    tests: u64,
    /// True if the rank has another number than its own in a communicator of all ranks.
    renumbered: bool,
    /// Reason why the last call's clock was taken for set back, if it was.
    set_back: Option<String>,
}

type Reason = String;

/// Goes to the next line with a call.
pub fn advance(lines: &mut Lines) -> Result<bool, TraceError> {
    while lines.advance()? {
        let text = lines.text().trim();
        if !text.is_empty() && !text.starts_with('#') {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The call's name and times.
pub fn recorded(call: &Call, times: Times) -> Result<RecordedCall, Reason> {
    let time = |ns| times.time(ns).map_err(|reason| format!("{} {reason}", call.name));
    Ok(RecordedCall { name: call.name, begin: time(call.ns[0])?, end: time(call.ns[1])? })
}

/// Bytes that the call sends, if it sends a message itself.
pub fn sent(call: &Call) -> Result<Option<u64>, Reason> {
    let sends = call.name.ends_with("end") || call.name == "MPI_Sendrecv";
    (sends && !call.is_overhead()).then(|| bytes(call, 0)).transpose()
}

impl Translator {
    /// Makes the translator, which stands before the first of `lines`.
    pub fn new(lines: Lines, times: Times, run: Run) -> Translator {
        Translator {
            lines,
            times,
            run,
            requests: Requests::default(),
            tests: 0,
            renumbered: false,
            set_back: None,
        }
    }

    fn step(&mut self) -> Result<Step, Reason> {
        let text = self.lines.text().trim().to_string();
        let read = Call::read(&text)?;
        let call = recorded(&read, self.times)?;
        self.set_back = self.times.set_back(read.ns);
        let op = self.translate(&read, &call).map_err(|reason| format!("{}: {reason}", read.name))?;
        Ok(Step { call, op })
    }

    fn translate(&mut self, read: &Call, call: &RecordedCall) -> Result<Op, Reason> {
        let overhead = Op::Call(read.name, call.end.since(call.begin));
        if read.name == "MPI_Finalize" && self.run.all_finalize {
            return Ok(Op::Finalize(Duration::ZERO));
        }
        if let Some([rank, size]) = read.in_comm()? {
            self.renumbered |= size == i64::from(self.run.ranks) && rank != i64::from(self.run.rank);
        }
        if read.is_overhead() {
            self.tests += u64::from(read.name.starts_with("MPI_Test"));
            return Ok(overhead);
        }
        Ok(match read.name {
            "MPI_Sendrecv" => Op::SendReceive(self.send(read)?, self.receive(read, 1)?),
            "MPI_Recv" => Op::Receive(self.receive(read, 0)?, Start::Blocking),
            "MPI_Irecv" => Op::Receive(self.receive(read, 0)?, self.begin(read)?),
            "MPI_Probe" => Op::Probe(self.receive(read, 0)?),
            "MPI_Wait" => {
                let request = self.requests.complete(read.number('r', 0, 0)?);
                request.map_or(overhead, Op::WaitOne)
            }
            "MPI_Waitall" => {
                let all = self.array(read.number('r', 0, 0)?, read.number('n', 0, 0)?)?;
                if all.is_empty() { overhead } else { Op::Wait(all, Until::All) }
            }
            name if name.ends_with("send") && name.starts_with("MPI_I") => {
                Op::Send(self.send(read)?, self.begin(read)?)
            }
            name if name.to_ascii_lowercase().ends_with("send") => {
                Op::Send(self.send(read)?, Start::Blocking)
            }
            _ => self.collective(read)?,
        })
    }

    fn begin(&mut self, read: &Call) -> Result<Start, Reason> {
        Ok(Start::Request(self.requests.begin(read.number('r', 0, 0)?, false)))
    }

    /// The requests in use among `count` that stand at `address`.
    fn array(&mut self, address: i64, count: i64) -> Result<Arc<[Request]>, Reason> {
        if !(0..=1 << 20).contains(&count) {
            return Err(format!("waits for {count} requests"));
        }
        let place = |stride: i64, k: i64| address.saturating_add(stride * k);
        let found = |stride| (0..count).filter(|k| self.requests.get(place(stride, *k)).is_some()).count();
        let stride = if found(STRIDES[1]) > found(STRIDES[0]) { STRIDES[1] } else { STRIDES[0] };
        Ok((0..count).filter_map(|k| self.requests.complete(place(stride, k))).collect())
    }

    /// The communicator that the call names.
    fn comm(&self, read: &Call) -> Result<CommId, Reason> {
        let [rank, size] = read.comm()?;
        if size == i64::from(self.run.ranks) {
            return Ok(CommId::WORLD);
        }
        if size == 1 && rank == 0 {
            return Ok(CommId::SELF);
        }
        Err(format!(
            "is in a communicator where this rank has number {rank} of {size}, of which the trace does not name the \
             members; the run has {} ranks",
            self.run.ranks
        ))
    }

    /// The `nth` rank that the call names.
    fn peer(&self, read: &Call, nth: usize) -> Result<Option<u32>, Reason> {
        let [_, size] = read.comm()?;
        match read.number('d', nth, 0)? {
            rank if rank < 0 => Ok(None),
            rank if rank >= size => Err(format!("names rank {rank} of a communicator of {size}")),
            rank => Ok(Some(rank as u32)),
        }
    }

    fn send(&self, read: &Call) -> Result<Send, Reason> {
        let tag = read.number('g', 0, 0)?;
        let tag = u32::try_from(tag).map_err(|_| format!("sends with tag {tag}"))?;
        let mode = match &read.name[4..] {
            "Ssend" | "Issend" => SendMode::Synchronous,
            "Bsend" | "Ibsend" => SendMode::Buffered,
            "Rsend" | "Irsend" => SendMode::Ready,
            _ => SendMode::Standard,
        };
        let to = self.peer(read, 0)?.map_or(Peer::Null, Peer::Rank);
        Ok(Send {
            to,
            tag,
            comm: self.comm(read)?,
            bytes: Bytes(bytes(read, 0)?),
            mode,
            via: Via::PLATFORM,
            data: 0,
        })
    }

    fn receive(&self, read: &Call, nth: usize) -> Result<Receive, Reason> {
        let [any, nobody] = read.wildcards();
        let from = match self.peer(read, nth)? {
            Some(rank) => Peer::Rank(rank),
            None => match read.number('d', nth, 0)? {
                source if source == any => Peer::Any,
                source if source == nobody => Peer::Null,
                source => {
                    return Err(format!(
                        "receives from rank {source}, which is neither MPI_ANY_SOURCE nor MPI_PROC_NULL"
                    ));
                }
            },
        };
        let tag = u32::try_from(read.number('g', nth, 0)?).map_or(TagMatch::Any, TagMatch::Tag);
        Ok(Receive { from, tag, comm: self.comm(read)?, capacity: Bytes(u64::MAX) })
    }

    fn collective(&self, read: &Call) -> Result<Op, Reason> {
        let short = read.name[4..].to_ascii_lowercase();
        let kind = Kind::named(&short)?;
        // Of two blocks the one that is received counts, as MPI_IN_PLACE hides what is sent; of a gather, what is sent
        // by all but the root is the same.
        let (sizes, element) = match kind {
            Kind::Barrier => (Sizes::Equal(Bytes(0)), 1),
            Kind::Scatter | Kind::Alltoall | Kind::Allgather => {
                (Sizes::Equal(Bytes(bytes(read, 1)?)), read.number('t', 1, 1)?)
            }
            _ => (Sizes::Equal(Bytes(bytes(read, 0)?)), read.number('t', 0, 1)?),
        };
        let root = if kind.rooted() { self.peer(read, 0)?.ok_or("names no root")? } else { 0 };
        let element = element.clamp(1, u32::MAX.into()) as u32;
        let comm = self.comm(read)?;
        let call = Collective { kind, comm, root, sizes, element, commutative: true, algorithm: None };
        Ok(Op::Collective(Arc::new(call), Start::Blocking))
    }
}

/// Bytes of the `nth` buffer: its count times the size of its datatype.
fn bytes(read: &Call, nth: usize) -> Result<u64, Reason> {
    let (count, size) = (read.number('n', nth, 0)?, read.number('t', nth, 1)?);
    let bytes =
        u64::try_from(count).ok().zip(u64::try_from(size).ok()).and_then(|(n, size)| n.checked_mul(size));
    bytes
        .filter(|bytes| *bytes <= LARGEST_MESSAGE)
        .ok_or_else(|| format!("{count} elements of {size} bytes are no length of a message"))
}

impl RankCalls for Translator {
    fn next(&mut self) -> Result<Option<Step>, TraceError> {
        if !advance(&mut self.lines)? {
            return Ok(None);
        }
        self.step().map(Some).map_err(|reason| self.lines.error(reason))
    }

    fn made(&mut self, _: CommId) {}

    fn warnings(&self) -> Vec<String> {
        let (file, mut warnings) = (self.lines.file_name(), Vec::new());
        if self.tests > 0 {
            let tests = self.tests;
            warnings.push(format!(
                "{file}: {tests} tests take their recorded time, as their results are not recorded"
            ));
        }
        if self.renumbered {
            warnings.push(format!(
                "{file}: rank {} has another number in a communicator of all ranks, which is taken for the world",
                self.run.rank
            ));
        }
        warnings
    }

    fn share_read(&self) -> f64 {
        self.lines.share_read()
    }

    fn set_back(&self) -> Option<String> {
        self.set_back.clone()
    }
}
