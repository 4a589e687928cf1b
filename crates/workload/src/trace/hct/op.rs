//! Converts between the shapes of a file and the operations of a simulation.

use std::sync::Arc;

use engine::{Bytes, Duration};
use mpi::Op;
use mpi::collective::{Collective, Kind, Sizes};
use mpi::group::Group;
use mpi::operation::{
    CartGrid, CommId, Neighbours, NewComm, Peer, Receive, Request, Send, SendMode, Start, TagMatch,
    TwoGroups, Until, Via,
};

use super::shape::{Amount, Begun, Collected, Did, From, How, Made, Matched, Mode, Received, Sent, Shape};

/// Reason why a call has no operation.
pub type Reason = String;

/// Communicators of one rank: the simulation's handles, by the number of the file.
pub struct Comms(Vec<Option<CommId>>);

impl Default for Comms {
    /// Begins with the world and MPI_COMM_SELF.
    fn default() -> Comms {
        Comms(vec![Some(CommId::WORLD), Some(CommId::SELF)])
    }
}

impl Comms {
    /// Maps the file's `number` to the simulation's `id`.
    pub fn insert(&mut self, number: u32, id: CommId) -> Result<(), Reason> {
        let number = number as usize;
        if number > self.0.len() {
            return Err(format!("makes communicator {number}, but only {} were made before", self.0.len()));
        }
        if number == self.0.len() {
            self.0.push(None);
        }
        self.0[number] = Some(id);
        Ok(())
    }

    fn get(&self, number: u32) -> Result<CommId, Reason> {
        let known = self.0.get(number as usize).copied().flatten();
        known.ok_or_else(|| format!("uses communicator {number}, which no call before it has made"))
    }
}

/// Message that a wildcard receive matches.
#[derive(Debug, Clone, Copy)]
pub enum WildcardMatch {
    /// The message of the recorded run: that of the call itself, else this one, known from the receive's completion.
    Recorded(Option<Matched>),
    /// Any message, as the simulation delivers them.
    Any,
}

/// Operation of a call; `lasted` is its recorded length, `matched` the message of a wildcard receive.
pub fn operation(shape: &Shape, lasted: Duration, came: WildcardMatch, comms: &Comms) -> Result<Op, Reason> {
    Ok(match &shape.did {
        Did::Overhead | Did::Access { .. } => Op::Call(shape.call.0, lasted),
        Did::Send(send) => Op::Send(send_of(send, comms)?, start(send.request)?),
        Did::Receive(receive) => Op::Receive(receive_of(receive, came, comms)?, start(receive.request)?),
        Did::SendReceive { send, receive } => {
            Op::SendReceive(send_of(send, comms)?, receive_of(receive, came, comms)?)
        }
        Did::Probe(receive) => Op::Probe(receive_of(receive, came, comms)?),
        Did::Complete { requests, .. } => match requests[..] {
            [] => Op::Call(shape.call.0, Duration::ZERO),
            [one] => Op::WaitOne(request(one)?),
            _ => Op::Wait(all(requests)?, Until::All),
        },
        Did::Start { requests } => Op::Start(all(requests)?),
        Did::Cancel { request: which } => Op::Cancel(request(*which)?),
        Did::Free { request: which } => Op::Free(request(*which)?),
        Did::Collective(collected) => {
            Op::Collective(Arc::new(collective_of(collected, comms)?), start(collected.request)?)
        }
        Did::NewComm(made) => Op::NewComm(comms.get(made.parent)?, new_comm_of(&made.how)?),
        Did::FreeComm { comm } => Op::FreeComm(comms.get(*comm)?),
        Did::Finalize => Op::Finalize(Duration::ZERO),
        Did::Abort { code } => Op::Abort(*code),
    })
}

/// Largest number of requests of a rank at once, so that a damaged file cannot use up memory.
const MOST_REQUESTS: u32 = 1 << 24;

fn request(number: u32) -> Result<Request, Reason> {
    let reason = || format!("names request {number}, but no rank has more than {MOST_REQUESTS}");
    (number < MOST_REQUESTS).then_some(Request(number)).ok_or_else(reason)
}

fn all(requests: &[u32]) -> Result<Arc<[Request]>, Reason> {
    requests.iter().map(|one| request(*one)).collect()
}

fn start(begun: Option<Begun>) -> Result<Start, Reason> {
    Ok(match begun {
        None => Start::Blocking,
        Some(Begun::Active(number)) => Start::Request(request(number)?),
        Some(Begun::Persistent(number)) => Start::Persistent(request(number)?),
    })
}

fn send_of(send: &Sent, comms: &Comms) -> Result<Send, Reason> {
    let mode = match send.mode {
        Mode::Standard => SendMode::Standard,
        Mode::Buffered => SendMode::Buffered,
        Mode::Synchronous => SendMode::Synchronous,
        Mode::Ready => SendMode::Ready,
    };
    let (to, comm) = (send.to.map_or(Peer::Null, Peer::Rank), comms.get(send.comm)?);
    Ok(Send { to, tag: send.tag, comm, bytes: Bytes(send.bytes), mode, via: Via::PLATFORM, data: 0 })
}

/// Starts persistent requests; wildcard receives among them take the messages `came`.
pub fn start_as(requests: &[u32], came: &[Option<(Received, Matched)>]) -> Result<Op, Reason> {
    let whose = |(receive, came): &(Received, Matched)| {
        let from = match receive.from {
            From::Rank(rank) => Peer::Rank(rank),
            From::Any => Peer::Rank(came.source),
            From::Null => Peer::Null,
        };
        (from, TagMatch::Tag(receive.tag.unwrap_or(came.tag)))
    };
    Ok(Op::StartAs(all(requests)?, came.iter().map(|came| came.as_ref().map(whose)).collect()))
}

fn receive_of(receive: &Received, came: WildcardMatch, comms: &Comms) -> Result<Receive, Reason> {
    let came = match came {
        WildcardMatch::Recorded(came) => receive.matched.or(came),
        WildcardMatch::Any => None,
    };
    let from = match (receive.from, came) {
        (From::Rank(rank), _) => Peer::Rank(rank),
        (From::Any, Some(came)) => Peer::Rank(came.source),
        (From::Any, None) => Peer::Any,
        (From::Null, _) => Peer::Null,
    };
    let tag = receive.tag.or(came.map(|came| came.tag)).map_or(TagMatch::Any, TagMatch::Tag);
    Ok(Receive { from, tag, comm: comms.get(receive.comm)?, capacity: Bytes(receive.capacity) })
}

fn collective_of(collected: &Collected, comms: &Comms) -> Result<Collective, Reason> {
    let sizes = match &collected.sizes {
        Amount::Equal(bytes) => Sizes::Equal(Bytes(*bytes)),
        Amount::ByRank(sizes) => Sizes::ByRank(sizes[..].into()),
        Amount::Own { send, receive } => Sizes::Own { send: send[..].into(), receive: receive[..].into() },
    };
    Ok(Collective {
        kind: Kind::named(&collected.kind)?,
        comm: comms.get(collected.comm)?,
        root: collected.root,
        sizes,
        element: collected.element.max(1),
        commutative: collected.commutative,
        algorithm: None,
    })
}

fn new_comm_of(how: &How) -> Result<NewComm, Reason> {
    let group = |members: &Vec<u32>| {
        Group::new(members.clone()).map_err(|twice| format!("has rank {twice} twice in a group"))
    };
    Ok(match how {
        How::Dup => NewComm::Dup,
        How::Split { colour, key } => NewComm::Split { colour: *colour, key: *key },
        How::SplitHost { key } => NewComm::SplitHost { key: *key },
        How::Create { members } => NewComm::Create(members[..].into()),
        How::CreateGroup { members, tag } => NewComm::CreateGroup(members[..].into(), *tag),
        How::Cart { sizes, periodic } => {
            NewComm::Cart(Arc::new(CartGrid { sizes: sizes.clone(), periodic: periodic.clone() }))
        }
        How::CartSub { keep } => NewComm::CartSub(keep[..].into()),
        How::Graph { sources, destinations } => NewComm::Graph(Arc::new(Neighbours {
            sources: sources.clone(),
            destinations: destinations.clone(),
        })),
        How::OutsideGraph => NewComm::OutsideGraph,
        How::Inter { local, remote, tag } => {
            NewComm::Inter(Arc::new(TwoGroups { local: group(local)?, remote: group(remote)? }), *tag)
        }
        How::Merge { high } => NewComm::Merge { high: *high },
    })
}

/// Shape of an operation of the call `name`; its communicators have the numbers of the file.
pub fn shape(name: &'static str, op: &Op) -> Shape {
    let begun = |start: &Start| match start {
        Start::Blocking => None,
        Start::Request(request) => Some(Begun::Active(request.0)),
        Start::Persistent(request) => Some(Begun::Persistent(request.0)),
    };
    let all = |requests: &[Request]| requests.iter().map(|one| one.0).collect();
    let did = match op {
        Op::Send(send, start) => Did::Send(sent_of(send, begun(start))),
        Op::Receive(receive, start) => Did::Receive(received_of(receive, begun(start))),
        Op::SendReceive(send, receive) => {
            Did::SendReceive { send: sent_of(send, None), receive: received_of(receive, None) }
        }
        Op::Probe(receive) => Did::Probe(received_of(receive, None)),
        // A recorded test found its requests complete: tests without success become overheads.
        Op::Wait(requests, _) | Op::Test(requests, _) => {
            Did::Complete { requests: all(requests), matched: Vec::new() }
        }
        Op::WaitOne(request) => Did::Complete { requests: vec![request.0], matched: Vec::new() },
        Op::Start(requests) | Op::StartAs(requests, _) => Did::Start { requests: all(requests) },
        Op::Cancel(request) => Did::Cancel { request: request.0 },
        Op::Free(request) => Did::Free { request: request.0 },
        Op::Collective(collective, start) => Did::Collective(collected_of(collective, begun(start))),
        Op::NewComm(parent, how) => {
            Did::NewComm(Made { parent: parent.0, comm: None, how: how_of(how), members: Vec::new() })
        }
        Op::FreeComm(comm) => Did::FreeComm { comm: comm.0 },
        Op::Finalize(_) => Did::Finalize,
        Op::Abort(code) => Did::Abort { code: *code },
        _ => Did::Overhead,
    };
    Shape { call: super::name::Name(name), did }
}

fn sent_of(send: &Send, request: Option<Begun>) -> Sent {
    let to = match send.to {
        Peer::Rank(rank) => Some(rank),
        Peer::Any | Peer::Null => None,
    };
    let mode = match send.mode {
        SendMode::Standard => Mode::Standard,
        SendMode::Buffered => Mode::Buffered,
        SendMode::Synchronous => Mode::Synchronous,
        SendMode::Ready => Mode::Ready,
    };
    Sent { to, tag: send.tag, comm: send.comm.0, bytes: send.bytes.0, mode, request }
}

fn received_of(receive: &Receive, request: Option<Begun>) -> Received {
    let from = match receive.from {
        Peer::Rank(rank) => From::Rank(rank),
        Peer::Any => From::Any,
        Peer::Null => From::Null,
    };
    let tag = match receive.tag {
        TagMatch::Tag(tag) => Some(tag),
        TagMatch::Any => None,
    };
    let (comm, capacity) = (receive.comm.0, receive.capacity.0);
    Received { from, tag, comm, capacity, matched: None, request }
}

fn collected_of(collective: &Collective, request: Option<Begun>) -> Collected {
    let sizes = match &collective.sizes {
        Sizes::Equal(bytes) => Amount::Equal(bytes.0),
        Sizes::ByRank(sizes) => Amount::ByRank(sizes.to_vec()),
        Sizes::Own { send, receive } => Amount::Own { send: send.to_vec(), receive: receive.to_vec() },
    };
    Collected {
        kind: collective.kind.name().into(),
        comm: collective.comm.0,
        root: collective.root,
        sizes,
        element: collective.element,
        commutative: collective.commutative,
        request,
    }
}

fn how_of(how: &NewComm) -> How {
    match how {
        NewComm::Dup => How::Dup,
        NewComm::Split { colour, key } => How::Split { colour: *colour, key: *key },
        NewComm::SplitHost { key } => How::SplitHost { key: *key },
        NewComm::Create(members) => How::Create { members: members.to_vec() },
        NewComm::CreateGroup(members, tag) => How::CreateGroup { members: members.to_vec(), tag: *tag },
        NewComm::Cart(grid) => How::Cart { sizes: grid.sizes.clone(), periodic: grid.periodic.clone() },
        NewComm::CartSub(keep) => How::CartSub { keep: keep.to_vec() },
        NewComm::Graph(neighbours) => {
            How::Graph { sources: neighbours.sources.clone(), destinations: neighbours.destinations.clone() }
        }
        NewComm::OutsideGraph => How::OutsideGraph,
        NewComm::Inter(groups, tag) => How::Inter {
            local: groups.local.members().collect(),
            remote: groups.remote.members().collect(),
            tag: *tag,
        },
        NewComm::Merge { high } => How::Merge { high: *high },
    }
}
