//! Calls in words: MPI's names, and arguments for failures.

use crate::collective::{Collective, Sizes};
use engine::Bytes;

use crate::communicator::name as comm_name;
use crate::operation::{
    Access, Applied, CommId, Draining, NewComm, Op, Peer, Receive, Send, SendMode, Start, TagMatch,
    TwoGroups, Until,
};

impl Op {
    /// Its MPI function.
    pub fn function(&self) -> &'static str {
        name(self)
    }

    /// Bytes that it sends, reads or writes itself.
    pub fn payload(&self) -> u64 {
        sent_by(self)
    }
}

/// The MPI function of an operation.
pub(super) fn name(op: &Op) -> &'static str {
    match op {
        Op::Compute(_) => "compute",
        Op::SleepUntil(_) => "sleep",
        Op::Linger(..) => "polling",
        Op::Send(send, start) => send_name(send.mode, *start),
        Op::Receive(_, Start::Blocking) => "MPI_Recv",
        Op::Receive(_, Start::Request(_)) => "MPI_Irecv",
        Op::Receive(_, Start::Persistent(_)) => "MPI_Recv_init",
        Op::SendReceive(..) => "MPI_Sendrecv",
        Op::Probe(_) => "MPI_Probe",
        Op::ProbeNow(_) => "MPI_Iprobe",
        Op::ProbeMatched(_, true) => "MPI_Mprobe",
        Op::ProbeMatched(_, false) => "MPI_Improbe",
        Op::ReceiveMatched(_, Start::Blocking) => "MPI_Mrecv",
        Op::ReceiveMatched(..) => "MPI_Imrecv",
        Op::Wait(_, Until::All) => "MPI_Waitall",
        Op::Wait(_, Until::Any) => "MPI_Waitany",
        Op::Wait(_, Until::Some) => "MPI_Waitsome",
        Op::WaitOne(_) => "MPI_Wait",
        Op::Test(requests, Until::All) if requests.len() == 1 => "MPI_Test",
        Op::Test(_, Until::All) => "MPI_Testall",
        Op::Test(_, Until::Any) => "MPI_Testany",
        Op::Test(_, Until::Some) => "MPI_Testsome",
        Op::Start(requests) | Op::StartAs(requests, _) if requests.len() == 1 => "MPI_Start",
        Op::Start(_) | Op::StartAs(..) => "MPI_Startall",
        Op::Cancel(_) => "MPI_Cancel",
        Op::Free(_) | Op::LetGo(_) => "MPI_Request_free",
        Op::Drain(_) => "MPI_Buffer_flush",
        Op::Access(Access { bytes: Bytes(0), answer: Bytes(0), .. }, _) => "MPI_Win_lock",
        Op::Access(Access { bytes: Bytes(0), .. }, _) => "MPI_Get",
        Op::Access(Access { applied: Applied::ByNic, .. }, _) => "MPI_Put",
        Op::Access(..) => "MPI_Accumulate",
        Op::File(access, _) => access.name,
        Op::Collective(call, Start::Blocking) => call.kind.function(),
        Op::Collective(call, Start::Request(_)) => call.kind.nonblocking_function(),
        Op::Collective(call, Start::Persistent(_)) => call.kind.persistent_function(),
        Op::NewComm(_, new) => creation_name(new),
        Op::BeginNewComm(_, NewComm::Dup, _) => "MPI_Comm_idup",
        Op::BeginNewComm(_, new, _) => creation_name(new),
        Op::TakeNewComm(_) => "MPI_Wait",
        Op::FreeComm(_) => "MPI_Comm_free",
        Op::Call(name, _) => name,
        Op::Abort(_) => "MPI_Abort",
        Op::Finalize(_) | Op::Finish => "MPI_Finalize",
    }
}

fn send_name(mode: SendMode, start: Start) -> &'static str {
    match (mode, start) {
        (SendMode::Standard, Start::Blocking) => "MPI_Send",
        (SendMode::Standard, Start::Request(_)) => "MPI_Isend",
        (SendMode::Standard, Start::Persistent(_)) => "MPI_Send_init",
        (SendMode::Buffered, Start::Blocking) => "MPI_Bsend",
        (SendMode::Buffered, Start::Request(_)) => "MPI_Ibsend",
        (SendMode::Buffered, Start::Persistent(_)) => "MPI_Bsend_init",
        (SendMode::Synchronous, Start::Blocking) => "MPI_Ssend",
        (SendMode::Synchronous, Start::Request(_)) => "MPI_Issend",
        (SendMode::Synchronous, Start::Persistent(_)) => "MPI_Ssend_init",
        (SendMode::Ready, Start::Blocking) => "MPI_Rsend",
        (SendMode::Ready, Start::Request(_)) => "MPI_Irsend",
        (SendMode::Ready, Start::Persistent(_)) => "MPI_Rsend_init",
    }
}

fn creation_name(new: &NewComm) -> &'static str {
    match new {
        NewComm::Dup => "MPI_Comm_dup",
        NewComm::Split { .. } => "MPI_Comm_split",
        NewComm::SplitHost { .. } => "MPI_Comm_split_type",
        NewComm::Create(_) => "MPI_Comm_create",
        NewComm::CreateGroup(..) => "MPI_Comm_create_group",
        NewComm::Cart(_) => "MPI_Cart_create",
        NewComm::CartSub(_) => "MPI_Cart_sub",
        NewComm::Graph(_) => "MPI_Dist_graph_create_adjacent",
        NewComm::OutsideGraph => "MPI_Graph_create",
        NewComm::Inter(..) => "MPI_Intercomm_create",
        NewComm::Merge { .. } => "MPI_Intercomm_merge",
    }
}

/// Can the call wait for others?
pub(super) fn blocks(op: &Op) -> bool {
    match op {
        Op::Send(_, start)
        | Op::Receive(_, start)
        | Op::ReceiveMatched(_, start)
        | Op::Access(_, start)
        | Op::Collective(_, start) => *start == Start::Blocking,
        Op::SendReceive(..)
        | Op::Linger(..)
        | Op::Probe(_)
        | Op::ProbeMatched(_, true)
        | Op::Wait(..)
        | Op::WaitOne(_)
        | Op::Drain(Draining::Wait)
        | Op::NewComm(..)
        | Op::Finalize(_) => true,
        _ => false,
    }
}

/// Bytes that the call itself sends, or reads from a file or writes to it.
pub(super) fn sent_by(op: &Op) -> u64 {
    match op {
        Op::Send(send, Start::Blocking | Start::Request(_)) | Op::SendReceive(send, _) => {
            if send.to == Peer::Null { 0 } else { send.bytes.0 }
        }
        Op::Access(access, _) => access.bytes.0,
        Op::File(access, _) => access.work.bytes().0,
        Op::Collective(call, Start::Blocking | Start::Request(_)) => match &call.sizes {
            Sizes::Equal(bytes) => bytes.0,
            Sizes::ByRank(list) => list.iter().sum(),
            Sizes::Own { send, .. } => send.iter().sum(),
        },
        _ => 0,
    }
}

/// A number of the operation's kind, for digests.
pub(super) fn code(op: &Op) -> u64 {
    match op {
        Op::Compute(_) => 0,
        Op::SleepUntil(_) => 1,
        Op::Send(..) => 2,
        Op::Receive(..) => 3,
        Op::SendReceive(..) => 4,
        Op::Probe(_) => 5,
        Op::ProbeNow(_) => 6,
        Op::ProbeMatched(..) => 7,
        Op::ReceiveMatched(..) => 8,
        Op::Wait(..) => 9,
        Op::WaitOne(_) => 10,
        Op::Test(..) => 11,
        Op::Start(_) | Op::StartAs(..) => 12,
        Op::Cancel(_) => 13,
        Op::Free(_) => 14,
        Op::NewComm(..) => 15,
        Op::FreeComm(_) => 16,
        Op::Call(..) => 17,
        Op::Abort(_) => 18,
        Op::Finish => 19,
        Op::Finalize(_) => 20,
        Op::BeginNewComm(..) => 21,
        Op::TakeNewComm(_) => 22,
        Op::LetGo(_) => 23,
        Op::Drain(_) => 24,
        Op::Access(..) => 25,
        Op::Linger(..) => 26,
        Op::File(..) => 27,
        Op::Collective(call, _) => 32 + call.kind as u64,
    }
}

/// The call with its arguments.
pub(super) fn describe(op: &Op) -> String {
    let name = name(op);
    match op {
        Op::Send(send, _) => format!("{name}({})", send_arguments(send)),
        Op::Receive(receive, _)
        | Op::Probe(receive)
        | Op::ProbeNow(receive)
        | Op::ProbeMatched(receive, _) => format!("{name}({})", receive_arguments(receive)),
        Op::SendReceive(send, receive) => {
            format!("{name}({}; {})", send_arguments(send), receive_arguments(receive))
        }
        Op::Collective(call, _) => format!("{name}({})", collective_arguments(call)),
        Op::NewComm(comm, new) | Op::BeginNewComm(comm, new, _) => creation(*comm, new),
        Op::TakeNewComm(number) => format!("{name}(new communicator {number})"),
        Op::FreeComm(comm) => format!("{name}(comm={})", comm_name(*comm)),
        Op::ReceiveMatched(number, _) => format!("{name}(message={number})"),
        Op::Access(access, _) => {
            format!("{name}(target={}, bytes={}, {} back)", access.to, access.bytes.0, access.answer.0)
        }
        Op::File(access, _) => format!("{name}(bytes={})", access.work.bytes().0),
        Op::WaitOne(request) => format!("{name}(request={})", request.0),
        Op::Wait(requests, _) | Op::Test(requests, _) | Op::Start(requests) | Op::StartAs(requests, _) => {
            format!("{name}({} requests)", requests.len())
        }
        Op::Cancel(request) | Op::Free(request) | Op::LetGo(request) => {
            format!("{name}(request={})", request.0)
        }
        Op::Abort(code) => format!("{name}(code={code})"),
        Op::Linger(_, function) => format!("{name} with {function}"),
        Op::Compute(_) | Op::SleepUntil(_) | Op::Call(..) | Op::Drain(_) | Op::Finalize(_) | Op::Finish => {
            name.into()
        }
    }
}

/// A collective with its arguments.
pub(super) fn collective(call: &Collective) -> String {
    format!("{}({})", call.kind.function(), collective_arguments(call))
}

/// The making of a communicator with its arguments.
pub(super) fn creation(comm: CommId, new: &NewComm) -> String {
    let arguments = match new {
        NewComm::Dup | NewComm::Graph(_) | NewComm::OutsideGraph => String::new(),
        NewComm::Split { colour: Some(colour), key } => format!(", color={colour}, key={key}"),
        NewComm::Split { colour: None, key } => format!(", color=MPI_UNDEFINED, key={key}"),
        NewComm::SplitHost { key } => format!(", MPI_COMM_TYPE_SHARED, key={key}"),
        NewComm::Create(members) => format!(", group of {}", members.len()),
        NewComm::CreateGroup(members, tag) => format!(", group of {}, tag={tag}", members.len()),
        NewComm::Cart(grid) => format!(", dims={:?}", grid.sizes),
        NewComm::CartSub(remain) => format!(", remain_dims={remain:?}"),
        NewComm::Inter(groups, tag) => {
            let TwoGroups { local, remote } = &**groups;
            format!(", groups of {} and {}, tag={tag}", local.size(), remote.size())
        }
        NewComm::Merge { high } => format!(", high={high}"),
    };
    format!("{}(comm={}{arguments})", creation_name(new), comm_name(comm))
}

fn collective_arguments(call: &Collective) -> String {
    let root = if call.kind.rooted() { format!("root={}, ", call.root) } else { String::new() };
    let bytes = match &call.sizes {
        Sizes::Equal(bytes) => format!("bytes={}", bytes.0),
        Sizes::ByRank(list) => format!("bytes={} in {} blocks", list.iter().sum::<u64>(), list.len()),
        Sizes::Own { send, receive } => {
            format!("bytes={} out, {} in", send.iter().sum::<u64>(), receive.iter().sum::<u64>())
        }
    };
    format!("{root}{bytes}, comm={}", comm_name(call.comm))
}

fn send_arguments(send: &Send) -> String {
    let comm = comm_name(send.comm);
    format!("dest={}, tag={}, bytes={}, comm={comm}", peer(send.to), send.tag, send.bytes.0)
}

fn receive_arguments(receive: &Receive) -> String {
    let tag = match receive.tag {
        TagMatch::Tag(tag) => tag.to_string(),
        TagMatch::Any => "MPI_ANY_TAG".into(),
    };
    format!("source={}, tag={tag}, comm={}", peer(receive.from), comm_name(receive.comm))
}

fn peer(peer: Peer) -> String {
    match peer {
        Peer::Rank(rank) => rank.to_string(),
        Peer::Any => "MPI_ANY_SOURCE".into(),
        Peer::Null => "MPI_PROC_NULL".into(),
    }
}
