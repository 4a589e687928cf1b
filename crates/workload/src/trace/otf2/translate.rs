//! Translates calls to operations.
//!
//! - Messages, requests and collectives keep their kind. A non-blocking receive gets the source and the tag that it
//!   had at its completion; one that never completed is left out.
//! - A call that started several operations (MPI_Startall) becomes as many, the later ones at its end; a call that
//!   completed several requests becomes one wait for them.
//! - The archive has the members of communicators, but not the calls that created them. All are created at the begin
//!   of the replay, by MPI_Comm_create_group, in the order of their numbers; the program's own calls that create them
//!   take no time.
//! - MPI_Finalize, probes, and waits that completed nothing take no time either: their recorded length is waiting
//!   time.
//! - All other functions, one-sided and file operations among them, become overheads of their recorded length.

use std::collections::VecDeque;
use std::sync::Arc;

use engine::hash::Map;
use engine::{Bytes, Duration, Time};
use mpi::Op;
use mpi::operation::{CommId, NewComm, Peer, Receive, Request, Send, SendMode, Start, TagMatch, Until, Via};

use super::calls::{Call, Calls};
use super::collective::{block, equal, kind, operation, varies};
use super::event::{CollectiveCall, Event, Message};
use super::ranks::Members;
use super::scout::Scout;
use super::set::Run;
use crate::trace::error::TraceError;
use crate::trace::requests::Requests;
use crate::trace::set::{Clocks, RankCalls, RecordedCall, Step};

/// A larger message is a damaged length \[bytes\].
const LARGEST_MESSAGE: u64 = 1 << 40;
/// Value of an absent peer of a message or root of a collective.
const NONE: u32 = u32::MAX;

/// Yields the calls of one rank as operations.
pub(super) struct Translator {
    calls: Calls,
    state: State,
    /// Steps that the next calls return.
    ready: VecDeque<Step>,
    /// Communicators that are still to be created, with the one in progress.
    making: VecDeque<u32>,
}

struct State {
    run: Arc<Run>,
    rank: u32,
    clocks: Clocks,
    comms: Map<u32, CommId>,
    requests: Requests,
    scout: Scout,
    /// Number of calls with differing blocks so far, by communicator.
    varied: Map<u32, usize>,
    lost_requests: u64,
}

/// Reason why a call cannot be translated.
type Reason = String;

impl Translator {
    pub(super) fn new(run: Arc<Run>, rank: u32, clocks: Clocks) -> Result<Translator, TraceError> {
        let calls = Calls::new(run.events(rank, clocks)?, run.ranks.functions.clone());
        let scout = Scout::new(run.events(rank, clocks)?);
        let state = State {
            run,
            rank,
            clocks,
            comms: Map::default(),
            requests: Requests::default(),
            scout,
            varied: Map::default(),
            lost_requests: 0,
        };
        let mut translator = Translator { calls, state, ready: VecDeque::new(), making: VecDeque::new() };
        translator.make_comms()?;
        Ok(translator)
    }

    fn make_comms(&mut self) -> Result<(), TraceError> {
        let (run, rank) = (self.state.run.clone(), self.state.rank);
        let begin = run.time(run.first(rank, self.state.clocks), self.state.clocks, rank, 0)?;
        let call = RecordedCall { name: "MPI_Comm_create_group", begin, end: begin };
        for (&number, members) in &run.ranks.comms {
            match members {
                Members::World => drop(self.state.comms.insert(number, CommId::WORLD)),
                Members::Alone => drop(self.state.comms.insert(number, CommId::SELF)),
                Members::Ranks(ranks) if ranks.contains(&rank) => {
                    let new = NewComm::CreateGroup(ranks.clone(), number);
                    self.making.push_back(number);
                    self.ready.push_back(Step { call, op: Op::NewComm(CommId::WORLD, new) });
                }
                Members::Ranks(_) => {}
            }
        }
        Ok(())
    }
}

impl RankCalls for Translator {
    fn next(&mut self) -> Result<Option<Step>, TraceError> {
        if let Some(step) = self.ready.pop_front() {
            return Ok(Some(step));
        }
        let file = self.calls.events.file_name().clone();
        let Some(call) = self.calls.next()? else { return Ok(None) };
        let time = |ticks| self.state.run.time(ticks, self.state.clocks, self.state.rank, call.offset);
        let (begin, end) = (time(call.begin)?, time(call.end)?);
        let ops = self.state.translate(call, begin, end).map_err(|error| match error {
            Wrong::Place(offset, reason) => {
                TraceError::at(&*file, offset, format!("{}: {reason}", call.name))
            }
            Wrong::Trace(error) => error,
        })?;
        let recorded = RecordedCall { name: call.name, begin, end };
        let later = RecordedCall { begin: end, ..recorded };
        let mut ops = ops.into_iter();
        let first = ops.next().map(|op| Step { call: recorded, op });
        self.ready.extend(ops.map(|op| Step { call: later, op }));
        Ok(first)
    }

    fn made(&mut self, id: CommId) {
        if let Some(number) = self.making.pop_front() {
            self.state.comms.insert(number, id);
        }
    }

    fn share_read(&self) -> f64 {
        self.calls.events.share_read()
    }

    fn warnings(&self) -> Vec<String> {
        let (file, mut warnings) = (self.calls.events.file_name(), Vec::new());
        let (unrecorded, seen) = self.calls.unrecorded_of();
        if unrecorded > seen / 100 {
            let seconds = unrecorded as f64 / self.state.run.resolution as f64;
            warnings.push(format!(
                "{file}: recording was off for {seconds:.6} s between calls, which is replayed as computing"
            ));
        }
        if self.state.lost_requests > 0 {
            let count = self.state.lost_requests;
            warnings.push(format!("{file}: {count} operations are completed that no recorded call began"));
        }
        warnings
    }
}

/// Error at an offset of the rank's events, or in the archive.
enum Wrong {
    Place(u64, Reason),
    Trace(TraceError),
}

impl State {
    /// Operations of a call, at least one.
    fn translate(&mut self, call: &Call, begin: Time, end: Time) -> Result<Vec<Op>, Wrong> {
        let mut ops = Vec::with_capacity(1);
        let mut waits: Vec<Request> = Vec::new();
        for &(offset, event) in &call.events {
            let at = |reason| Wrong::Place(offset, reason);
            match event {
                Event::Send(message) => {
                    ops.push(Op::Send(self.send(call.name, &message).map_err(at)?, Start::Blocking));
                }
                Event::SendBegins(message, request) => {
                    let send = self.send(call.name, &message).map_err(at)?;
                    ops.push(Op::Send(send, self.begin(request)));
                }
                Event::Receive(message) => {
                    ops.push(Op::Receive(self.receive(&message).map_err(at)?, Start::Blocking));
                }
                Event::ReceiveBegins(request) => {
                    if let Some(message) = self.scout.receive().map_err(Wrong::Trace)? {
                        let receive = self.receive(&message).map_err(at)?;
                        ops.push(Op::Receive(receive, self.begin(request)));
                    }
                }
                Event::Collective(call) => {
                    if let Some(call) = self.collective(&call, offset)? {
                        ops.push(Op::Collective(call, Start::Blocking));
                    }
                }
                Event::CollectiveStarts(request) => {
                    if let Some(call) = self.scout.collective().map_err(Wrong::Trace)? {
                        if let Some(call) = self.collective(&call, offset)? {
                            let start = self.begin(request);
                            ops.push(Op::Collective(call, start));
                        }
                    }
                }
                Event::SendComplete(request)
                | Event::ReceiveComplete(_, request)
                | Event::CollectiveComplete(_, request) => match self.requests.complete(request as i64) {
                    Some(request) => waits.push(request),
                    None => self.lost_requests += 1,
                },
                _ => {}
            }
        }
        if let [Op::Send(send, Start::Blocking), Op::Receive(receive, Start::Blocking)]
        | [Op::Receive(receive, Start::Blocking), Op::Send(send, Start::Blocking)] = ops[..]
        {
            ops = vec![Op::SendReceive(send, receive)];
        }
        match waits[..] {
            [] => {}
            [one] => ops.push(Op::WaitOne(one)),
            _ => ops.push(Op::Wait(waits.into(), Until::All)),
        }
        if ops.is_empty() {
            let length = if only_waits(call.name) { Duration::ZERO } else { end.since(begin) };
            ops.push(Op::Call(call.name, length));
        }
        Ok(ops)
    }

    fn begin(&mut self, request: u64) -> Start {
        Start::Request(self.requests.begin(request as i64, false))
    }

    fn comm(&self, number: u32) -> Result<(CommId, u32, u32), Reason> {
        let members = self.run.ranks.comms.get(&number);
        let place = members.and_then(|members| self.run.ranks.place(members, self.rank));
        match (self.comms.get(&number), place) {
            (Some(id), Some((own, size))) => Ok((*id, own, size)),
            _ => Err(format!(
                "communicator {number} is not one of MPI processes with rank {} in it",
                self.rank
            )),
        }
    }

    fn message(&self, message: &Message) -> Result<CommId, Reason> {
        let (id, _, size) = self.comm(message.comm)?;
        if message.peer >= size {
            return Err(format!("names rank {} of a communicator of {size}", message.peer));
        }
        if message.bytes > LARGEST_MESSAGE {
            return Err(format!("{} bytes are no length of a message", message.bytes));
        }
        Ok(id)
    }

    fn send(&self, name: &str, message: &Message) -> Result<Send, Reason> {
        let comm = self.message(message)?;
        let mode = match name {
            "MPI_Ssend" | "MPI_Issend" => SendMode::Synchronous,
            "MPI_Bsend" | "MPI_Ibsend" => SendMode::Buffered,
            "MPI_Rsend" | "MPI_Irsend" => SendMode::Ready,
            _ => SendMode::Standard,
        };
        Ok(Send {
            to: Peer::Rank(message.peer),
            tag: message.tag,
            comm,
            bytes: Bytes(message.bytes),
            mode,
            via: Via::PLATFORM,
            data: 0,
        })
    }

    fn receive(&self, message: &Message) -> Result<Receive, Reason> {
        let comm = self.message(message)?;
        let capacity = Bytes(u64::MAX);
        Ok(Receive { from: Peer::Rank(message.peer), tag: TagMatch::Tag(message.tag), comm, capacity })
    }

    /// Operation of a collective; `None` for calls that make or free windows.
    fn collective(
        &mut self,
        call: &CollectiveCall,
        offset: u64,
    ) -> Result<Option<Arc<mpi::collective::Collective>>, Wrong> {
        let at = |reason| Wrong::Place(offset, reason);
        let Some(kind) = kind(call.operation) else { return Ok(None) };
        let (id, own, size) = self.comm(call.comm).map_err(at)?;
        if call.root != NONE && call.root >= size {
            return Err(at(format!("names root {} of a communicator of {size}", call.root)));
        }
        let longest = LARGEST_MESSAGE.saturating_mul(u64::from(size));
        if call.sent > longest || call.received > longest {
            let reason = format!("sends {} and receives {} bytes, no length", call.sent, call.received);
            return Err(at(reason));
        }
        let root = if call.root == NONE { 0 } else { call.root };
        let sizes = if !varies(kind) {
            equal(block(kind, call, own, size))
        } else if size == 1 {
            alone(kind)
        } else {
            let number = self.varied.entry(call.comm).or_default();
            *number += 1;
            let sums = self.run.sums().map_err(Wrong::Trace)?;
            let sizes = sums.sizes(call, kind, *number - 1, own);
            sizes.ok_or_else(|| at("was not found again among the calls of all ranks".into()))?
        };
        Ok(Some(Arc::new(operation(kind, id, root, sizes))))
    }
}

/// Sizes for a communicator of one rank, which moves no data.
fn alone(kind: mpi::collective::Kind) -> mpi::collective::Sizes {
    use mpi::collective::{Kind, Sizes};
    let none: Arc<[u64]> = Arc::new([0]);
    match kind {
        Kind::Alltoallv | Kind::Alltoallw => Sizes::Own { send: none.clone(), receive: none },
        _ => Sizes::ByRank(none),
    }
}

/// True for functions that only wait for other ranks, so that their recorded length must not be replayed.
fn only_waits(name: &str) -> bool {
    const MAKERS: &[&str] = &[
        "MPI_Cart_create",
        "MPI_Cart_sub",
        "MPI_Comm_create",
        "MPI_Comm_create_group",
        "MPI_Comm_disconnect",
        "MPI_Comm_dup",
        "MPI_Comm_dup_with_info",
        "MPI_Comm_free",
        "MPI_Comm_idup",
        "MPI_Comm_split",
        "MPI_Comm_split_type",
        "MPI_Dist_graph_create",
        "MPI_Dist_graph_create_adjacent",
        "MPI_Graph_create",
    ];
    name.starts_with("MPI_Wait")
        || ["MPI_Finalize", "MPI_Probe", "MPI_Mprobe"].contains(&name)
        || MAKERS.contains(&name)
}
