//! Translates recorded calls to operations, one for each call.
//!
//! - Sends, receives, waits, collectives and calls that make communicators keep their kind. Handles of the trace
//!   become those of the simulation, elements become bytes.
//! - The recorded outcome decides: a test that found something becomes a wait for exactly that, one that did not
//!   becomes an overhead of its recorded length; a wait for any or some becomes a wait for the requests that were
//!   complete; a wildcard receive becomes a receive from the recorded source, if the trace has it (persistent
//!   wildcards stay open), unless wildcards are to be matched anew.
//! - MPI_Finalize becomes a barrier, as ranks leave it together; if some rank's trace does not reach it, nothing.
//! - All other calls, among them one-sided and file operations, become overheads of their recorded length.

use std::sync::{Arc, LazyLock};

use engine::hash::Map;
use engine::{Bytes, Duration};
use mpi::Op;
use mpi::operation::{CommId, Peer, Receive, Send, SendMode, Start, TagMatch, Until, Via};

use super::calls::{CALLS, Call};
use super::comms::{Comm, Comms};
use super::completion::{Scout, completed, is_wildcard};
use super::datatypes::Datatypes;
use super::file::DumpiFile;
use super::record::{Record, Records, Status};
use super::set::{self, is_mpi};
use crate::trace::clock::Times;
use crate::trace::error::TraceError;
use crate::trace::replay::Wildcards;
use crate::trace::requests::Requests;
use crate::trace::set::{RankCalls, RecordedCall, Step};

/// A larger message is a damaged count \[bytes\].
const LARGEST_MESSAGE: u64 = 1 << 40;

/// Facts about the run that a rank's translation needs.
#[derive(Debug, Clone, Copy)]
pub struct Run {
    /// The rank.
    pub rank: u32,
    /// Number of ranks.
    pub ranks: u32,
    /// True if every rank's trace reaches MPI_Finalize.
    pub all_finalize: bool,
    /// Matching of wildcard receives: recorded or anew.
    pub wildcards: Wildcards,
}

/// Yields the calls of one rank as operations.
pub struct Translator {
    file: DumpiFile,
    records: Records,
    times: Times,
    /// Warning about the last call's clock, if it had been set back.
    set_back: Option<String>,
    buffer: usize,
    state: State,
}

/// State that calls are translated with.
pub(super) struct State {
    pub(super) run: Run,
    pub(super) types: Datatypes,
    pub(super) comms: Comms,
    /// Reductions that the program made: true for the commutative ones.
    pub(super) reductions: Map<i64, bool>,
    /// Communicator that the last call makes: the trace's handle, and everything but the simulation's handle.
    pub(super) making: Option<(i64, Comm)>,
    requests: Requests,
    scout: Option<Scout>,
    threads: bool,
    lost_requests: u64,
}

/// Kind of operation that a function becomes.
#[derive(Clone, Copy)]
enum Class {
    /// No operation: it makes or queries a datatype.
    Datatype,
    /// No operation: it makes or queries a group.
    Group,
    PointToPoint,
    /// Wait or test of requests.
    Completion,
    Collective,
    /// Makes, frees or queries communicators.
    Communicator,
    Abort,
    /// Takes its recorded time: all others.
    Overhead,
}

/// Classes of all functions, by number.
static CLASSES: LazyLock<Vec<Class>> = LazyLock::new(|| CALLS.iter().map(class).collect());

fn class(call: &Call) -> Class {
    let name = call.name.strip_prefix("MPI_").unwrap_or("");
    let has = |wanted: &str| call.arguments.iter().any(|argument| argument.name == wanted);
    match name {
        _ if name.starts_with("Type_") => Class::Datatype,
        _ if name.starts_with("Group_") || name == "Comm_group" => Class::Group,
        "Abort" => Class::Abort,
        "Iprobe" | "Probe" => Class::PointToPoint,
        _ if has("dest") && has("tag") || name.starts_with("Sendrecv") || name.contains("ecv") => {
            Class::PointToPoint
        }
        "Start" | "Startall" | "Cancel" | "Request_free" | "Test" | "Testany" | "Testall" | "Testsome" => {
            Class::Completion
        }
        _ if name.starts_with("Wait") => Class::Completion,
        "Comm_size" | "Comm_rank" | "Comm_free" | "Comm_disconnect" | "Comm_dup" | "Comm_create"
        | "Comm_split" | "Cart_create" | "Cart_sub" | "Graph_create" => Class::Communicator,
        "Barrier" | "Finalize" | "Op_create" | "Bcast" | "Reduce" | "Allreduce" | "Reduce_scatter"
        | "Scan" | "Exscan" => Class::Collective,
        _ if ["Gather", "Scatter", "Allgather", "Alltoall"].iter().any(|kind| name.starts_with(kind)) => {
            Class::Collective
        }
        _ => Class::Overhead,
    }
}

/// Reason why a call cannot be translated.
pub(super) type Reason = String;

impl Translator {
    /// Begins with the file's first call.
    pub(super) fn new(
        file: DumpiFile,
        run: Run,
        times: Times,
        buffer: usize,
    ) -> Result<Translator, TraceError> {
        let state = State {
            run,
            types: Datatypes::new(&file.sizes),
            comms: Comms::new(run.rank, run.ranks),
            reductions: Map::default(),
            making: None,
            requests: Requests::default(),
            scout: None,
            threads: false,
            lost_requests: 0,
        };
        Ok(Translator { records: file.records(buffer)?, file, times, set_back: None, buffer, state })
    }
}

impl RankCalls for Translator {
    fn next(&mut self) -> Result<Option<Step>, TraceError> {
        let record = loop {
            match self.records.next()? {
                None => return Ok(None),
                Some(record) if is_mpi(record) => break self.records.current(),
                Some(_) => {}
            }
        };
        let call = set::call(self.times, record, &self.file.file.name)?;
        self.set_back = self.times.set_back(record.wall_ns);
        let received = if record.call().name == "MPI_Irecv" && is_wildcard(record) {
            if self.state.scout.is_none() {
                self.state.scout = Some(Scout::new(&self.file, self.buffer)?);
            }
            self.state.scout.as_mut().map(Scout::next).transpose()?.flatten()
        } else {
            record.statuses("status").first().copied()
        };
        let op = self.state.translate(record, &call, received).map_err(|reason| {
            let reason = format!("{}: {reason}", record.call().name);
            TraceError::at(&*self.file.file.name, record.offset, reason)
        })?;
        Ok(Some(Step { call, op }))
    }

    fn made(&mut self, id: CommId) {
        if let Some((handle, comm)) = self.state.making.take() {
            if id != CommId::NULL {
                self.state.comms.insert(handle, Comm { id, ..comm });
            }
        }
    }

    fn share_read(&self) -> f64 {
        self.records.share_read()
    }

    fn set_back(&self) -> Option<String> {
        self.set_back.clone()
    }

    fn warnings(&self) -> Vec<String> {
        let (file, mut warnings) = (&self.file.file.name, Vec::new());
        if self.state.threads {
            warnings.push(format!("{file}: calls of several threads are replayed one after the other"));
        }
        if self.state.lost_requests > 0 {
            let count = self.state.lost_requests;
            warnings.push(format!(
                "{file}: {count} waits name a request that no recorded call made; they do not wait"
            ));
        }
        warnings
    }
}

impl State {
    /// Operation of `record`; `received` is the recorded status of a receive, if known.
    fn translate(
        &mut self,
        record: &Record,
        call: &RecordedCall,
        received: Option<Status>,
    ) -> Result<Op, Reason> {
        self.threads |= record.thread != 0;
        let op = match CLASSES[usize::from(record.function)] {
            Class::Datatype => {
                self.types.observe(record);
                None
            }
            Class::Group => {
                self.comms.observe(record)?;
                None
            }
            Class::PointToPoint => self.point_to_point(record, received)?,
            Class::Completion => self.completion(record),
            Class::Collective => self.collective(record)?,
            Class::Communicator => self.communicator(record)?,
            Class::Abort => Some(Op::Abort(self.int(record, "errorcode")? as i32)),
            Class::Overhead => None,
        };
        Ok(op.unwrap_or_else(|| {
            // MPI_Finalize becomes a barrier or nothing: its recorded length is waiting time.
            let finalize = call.name == "MPI_Finalize";
            Op::Call(call.name, if finalize { Duration::ZERO } else { call.end.since(call.begin) })
        }))
    }

    fn point_to_point(&mut self, record: &Record, received: Option<Status>) -> Result<Option<Op>, Reason> {
        let name = record.call().name;
        let persistent = name.ends_with("_init");
        let mode = match name {
            "MPI_Send" | "MPI_Isend" | "MPI_Send_init" => SendMode::Standard,
            "MPI_Bsend" | "MPI_Ibsend" | "MPI_Bsend_init" => SendMode::Buffered,
            "MPI_Ssend" | "MPI_Issend" | "MPI_Ssend_init" => SendMode::Synchronous,
            "MPI_Rsend" | "MPI_Irsend" | "MPI_Rsend_init" => SendMode::Ready,
            "MPI_Recv" | "MPI_Irecv" | "MPI_Recv_init" => {
                let receive = self.receive(record, "tag", received)?;
                let start = self.start(record, persistent);
                return Ok(Some(Op::Receive(receive, start)));
            }
            "MPI_Sendrecv" => {
                let bytes = self.bytes(record, "sendcount", "sendtype")?;
                let send = self.send(record, "sendtag", SendMode::Standard, bytes)?;
                return Ok(Some(Op::SendReceive(send, self.receive(record, "recvtag", received)?)));
            }
            "MPI_Sendrecv_replace" => {
                let bytes = self.bytes(record, "count", "datatype")?;
                let send = self.send(record, "sendtag", SendMode::Standard, bytes)?;
                return Ok(Some(Op::SendReceive(send, self.receive(record, "recvtag", received)?)));
            }
            "MPI_Probe" => return Ok(Some(Op::Probe(self.receive(record, "tag", received)?))),
            // A probe that found nothing becomes an overhead.
            "MPI_Iprobe" if record.number("flag") != Some(0) => {
                return Ok(Some(Op::Probe(self.receive(record, "tag", received)?)));
            }
            _ => return Ok(None),
        };
        let bytes = self.bytes(record, "count", "datatype")?;
        let send = self.send(record, "tag", mode, bytes)?;
        Ok(Some(Op::Send(send, self.start(record, persistent))))
    }

    fn start(&mut self, record: &Record, persistent: bool) -> Start {
        match record.number("request") {
            None => Start::Blocking,
            Some(handle) if persistent => Start::Persistent(self.requests.begin(handle, true)),
            Some(handle) => Start::Request(self.requests.begin(handle, false)),
        }
    }

    fn send(&self, record: &Record, tag: &str, mode: SendMode, bytes: Bytes) -> Result<Send, Reason> {
        let tag = self.int(record, tag)?;
        let tag = u32::try_from(tag).map_err(|_| format!("sends with tag {tag}, below zero"))?;
        let to = match self.int(record, "dest")? {
            // Only MPI_PROC_NULL is below zero.
            to if to < 0 => Peer::Null,
            to => Peer::Rank(self.rank(to)?),
        };
        let comm = self.comms.get(self.int(record, "comm")?)?.id;
        Ok(Send { to, tag, comm, bytes, mode, via: Via::PLATFORM, data: 0 })
    }

    fn receive(&self, record: &Record, tag: &str, received: Option<Status>) -> Result<Receive, Reason> {
        let recorded = self.run.wildcards == Wildcards::Recorded;
        let from = match (self.int(record, "source")?, received) {
            // MPI_ANY_SOURCE, and in some libraries MPI_PROC_NULL: the status tells them apart.
            (-1, Some(status)) if status.source < 0 => Peer::Null,
            (-1, Some(status)) if recorded => Peer::Rank(self.rank(status.source.into())?),
            (-1, _) => Peer::Any,
            (from, _) if from < 0 => Peer::Null,
            (from, _) => Peer::Rank(self.rank(from)?),
        };
        let tag = match (u32::try_from(self.int(record, tag)?), received) {
            (Ok(tag), _) => TagMatch::Tag(tag),
            (Err(_), Some(Status { tag, .. })) if recorded && tag >= 0 => TagMatch::Tag(tag as u32),
            _ => TagMatch::Any,
        };
        let comm = self.comms.get(self.int(record, "comm")?)?.id;
        // The recorded run had room for its messages, even where a datatype's size is not known.
        Ok(Receive { from, tag, comm, capacity: Bytes(u64::MAX) })
    }

    fn completion(&mut self, record: &Record) -> Option<Op> {
        let name = record.call().name;
        let nothing = Op::Call(name, Duration::ZERO);
        let handle = record.number("request").unwrap_or_default();
        match name {
            "MPI_Start" => Some(self.requests.get(handle).map_or(nothing, |one| Op::Start(Arc::new([one])))),
            "MPI_Startall" => {
                let all =
                    record.ints("requests").iter().filter_map(|&handle| self.requests.get(handle.into()));
                Some(Op::Start(all.collect()))
            }
            "MPI_Cancel" => Some(self.requests.get(handle).map_or(nothing, Op::Cancel)),
            "MPI_Request_free" => Some(self.requests.release(handle).map_or(nothing, Op::Free)),
            _ => completed(record).map(|done| {
                let mut requests = Vec::with_capacity(done.len());
                for (handle, _) in done {
                    match self.requests.complete(handle) {
                        Some(request) => requests.push(request),
                        // 0 and 1 stand for MPI_REQUEST_NULL.
                        None => self.lost_requests += u64::from(handle > 1),
                    }
                }
                match requests[..] {
                    [] => nothing,
                    [one] => Op::WaitOne(one),
                    _ => Op::Wait(requests.into(), Until::All),
                }
            }),
        }
    }

    /// Value of an argument that the function always has.
    pub(super) fn int(&self, record: &Record, name: &str) -> Result<i64, Reason> {
        record.number(name).ok_or_else(|| format!("the record has no {name}"))
    }

    /// Checks a rank of some communicator: it must be below the number of ranks of the run.
    pub(super) fn rank(&self, rank: i64) -> Result<u32, Reason> {
        let known = u32::try_from(rank).ok().filter(|&rank| rank < self.run.ranks);
        known.ok_or_else(|| format!("names rank {rank}, but the trace has {} ranks", self.run.ranks))
    }

    /// Bytes of `count` elements of a datatype, both arguments of the call.
    pub(super) fn bytes(&self, record: &Record, count: &str, datatype: &str) -> Result<Bytes, Reason> {
        self.bytes_of(self.int(record, count)?, self.int(record, datatype)?).map(Bytes)
    }

    /// Bytes of `count` elements of `datatype`.
    pub(super) fn bytes_of(&self, count: i64, datatype: i64) -> Result<u64, Reason> {
        if count == 0 {
            return Ok(0);
        }
        let size = self.types.size(datatype).ok_or_else(|| {
            format!(
                "datatype {datatype} is neither built in nor made by a recorded call, so its size is unknown"
            )
        })?;
        let bytes = u64::try_from(count).ok().and_then(|count| count.checked_mul(size));
        bytes
            .filter(|&bytes| bytes <= LARGEST_MESSAGE)
            .ok_or_else(|| format!("{count} elements of {size} bytes are no length of a message"))
    }
}
