//! Operations of ranks: one value of [`Op`] for each MPI call, with sizes in bytes.

use std::sync::Arc;

use engine::{Bytes, Duration, Time};
pub use network::{NicPair, Nics};

pub use crate::cartesian::{CartGrid, Neighbours};
use crate::collective::Collective;
pub use crate::communicator::CommId;
use crate::file_system;
use crate::group::Group;
pub use crate::rank::Rank;

/// A request of one rank. **The source chooses the number**: small and dense, unused while active.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Request(pub u32);

/// A message tag, 0 or more.
pub type Tag = u32;

/// User data that only the source can open; 0 is "phantom": size without content.
pub type Data = u64;

/// The other side of a message, a rank **within the communicator**.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// That rank.
    Rank(u32),
    /// Receives only: whoever sends.
    Any,
    /// Nobody (MPI_PROC_NULL): completes at once.
    Null,
}

/// The tag that a receive or probe accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TagMatch {
    /// That tag.
    Tag(Tag),
    /// Any tag.
    Any,
}

/// The four send modes of the standard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendMode {
    /// Buffered or not, by size: the library's choice.
    Standard,
    /// Always buffered: completes locally.
    Buffered,
    /// Completes when the receive has started.
    Synchronous,
    /// The receive is posted already; an error if it is not.
    Ready,
}

/// Copies of a message on its way from the user's memory to another host's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Copying {
    /// The NICs read and write the user's memory. The sender waits for the receive first, by rendezvous.
    ZeroCopy,
    /// Both ranks copy: the NICs read and write MPI's own memory.
    TwoCopy,
}

/// A message's own choices for its way between hosts; the platform decides those that it leaves open.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Via {
    /// The NICs of both hosts.
    pub nics: Option<NicPair>,
    /// Copies that it asks for.
    pub copying: Option<Copying>,
}

impl Via {
    /// As the platform says.
    pub const PLATFORM: Via = Via { nics: None, copying: None };
}

/// One message to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Send {
    /// Destination within `comm`; never [`Peer::Any`].
    pub to: Peer,
    /// Its tag.
    pub tag: Tag,
    /// Its communicator.
    pub comm: CommId,
    /// Its length.
    pub bytes: Bytes,
    /// Its mode.
    pub mode: SendMode,
    /// Its way between hosts.
    pub via: Via,
    /// Its content.
    pub data: Data,
}

/// One message to receive (or to probe for).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receive {
    /// Source within `comm`.
    pub from: Peer,
    /// Its tag.
    pub tag: TagMatch,
    /// Its communicator.
    pub comm: CommId,
    /// The room for it: a longer message is a truncation failure. `Bytes(u64::MAX)` takes any.
    pub capacity: Bytes,
}

/// Start of an operation: it blocks its rank, or leaves a request behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// Returns when the operation is complete.
    Blocking,
    /// Returns at once; the operation completes under this request.
    Request(Request),
    /// Persistent: only prepares the request; [`Op::Start`] starts it, any number of times.
    Persistent(Request),
}

/// A one-sided operation: what goes to the target, and what comes back. The source says what it does there
/// ([`Source::access`]).
///
/// [`Source::access`]: crate::Source::access
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// The target, a rank within the communicator.
    pub to: u32,
    /// The communicator.
    pub comm: CommId,
    /// Sent to the target.
    pub bytes: Bytes,
    /// Sent back.
    pub answer: Bytes,
    /// Agent that applies it at the target.
    pub applied: Applied,
    /// Its content.
    pub data: Data,
}

/// Agent that applies a one-sided operation at its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applied {
    /// The NIC.
    ByNic,
    /// The target's library, at the rate of reductions.
    ByTarget,
}

/// Mode of [`Op::Drain`]: it waits, or asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Draining {
    /// Until all has left (MPI_Buffer_flush, MPI_Buffer_detach).
    Wait,
    /// Only asks.
    Ask,
}

/// Requests that must be complete before a wait returns, or a test succeeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// All of them.
    All,
    /// One of them; the lowest index of those that are.
    Any,
    /// At least one; all that are.
    Some,
}

/// Amount of computing of a rank.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Work {
    /// A time on the target.
    Time(Duration),
    /// The same, with tests and probes all through it, so that the rank makes progress meanwhile.
    Polled(Duration),
    /// Floating-point operations, and bytes moved through memory (0: not the limit).
    Flops {
        /// Operations.
        flops: f64,
        /// Bytes of memory traffic.
        bytes: Bytes,
    },
    /// Floating-point operations with tests and probes all through them, as [`Work::Polled`].
    PolledFlops(f64),
    /// A time on the target, and bytes moved through memory meanwhile.
    Moving {
        /// Its time alone on its socket.
        time: Duration,
        /// Bytes of memory traffic.
        bytes: Bytes,
    },
}

impl Work {
    /// Multiplies the work by `factor`.
    pub fn scaled(self, factor: f64) -> Work {
        match self {
            Work::Time(time) => Work::Time(time.scaled(factor)),
            Work::Polled(time) => Work::Polled(time.scaled(factor)),
            Work::Flops { flops, bytes } => {
                Work::Flops { flops: flops * factor, bytes: Bytes((bytes.0 as f64 * factor) as u64) }
            }
            Work::PolledFlops(flops) => Work::PolledFlops(flops * factor),
            Work::Moving { time, bytes } => {
                Work::Moving { time: time.scaled(factor), bytes: Bytes((bytes.0 as f64 * factor) as u64) }
            }
        }
    }

    /// Bytes that it states to move through memory; 0 if it states none.
    pub fn memory_bytes(self) -> Bytes {
        match self {
            Work::Flops { bytes, .. } | Work::Moving { bytes, .. } => bytes,
            Work::Time(_) | Work::Polled(_) | Work::PolledFlops(_) => Bytes(0),
        }
    }
}

/// Construction of a new communicator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NewComm {
    /// A copy with the same members.
    Dup,
    /// One for each colour, ordered by key, then by old rank; `None` is MPI_UNDEFINED.
    Split {
        /// The group to join.
        colour: Option<i64>,
        /// The order in it.
        key: i64,
    },
    /// One for each host (MPI_COMM_TYPE_SHARED), ordered by key.
    SplitHost {
        /// The order in it.
        key: i64,
    },
    /// A communicator of these members, ranks in the old one, the same list on all of them. Others give an empty list,
    /// or another one without a common member.
    Create(Arc<[u32]>),
    /// As `Create`, but only the members call (MPI_Comm_create_group); `tag` keeps calls apart.
    CreateGroup(Arc<[u32]>, Tag),
    /// With a Cartesian topology, in row-major order; ranks beyond the grid get `NULL`.
    Cart(Arc<CartGrid>),
    /// The sub-grids of a Cartesian communicator that keep the dimensions marked here (MPI_Cart_sub).
    CartSub(Arc<[bool]>),
    /// With a distributed graph topology: this rank's neighbours, in order.
    Graph(Arc<Neighbours>),
    /// Takes part in making a communicator with a graph topology, and is not in it.
    OutsideGraph,
    /// An inter-communicator, which the members of both groups make (MPI_Intercomm_create_from_groups, and the
    /// agreement at the end of MPI_Intercomm_create). The old communicator is the world;
    /// the tag keeps calls apart.
    Inter(Arc<TwoGroups>, Tag),
    /// Both groups of an inter-communicator as one (MPI_Intercomm_merge).
    Merge {
        /// True if this rank's group comes last.
        high: bool,
    },
}

/// The groups of a new inter-communicator, of world ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TwoGroups {
    /// That of the rank that calls.
    pub local: Group,
    /// The other one.
    pub remote: Group,
}

/// Polls in a row that find nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Polls {
    /// That many at most.
    AtMost(u32),
    /// As many as it takes until something comes, if anything does.
    Endless,
}

/// One MPI call, or the computing between two.
#[derive(Debug, Clone, PartialEq)]
pub enum Op {
    /// Computes.
    Compute(Work),
    /// Does nothing until that time; at once if it has passed.
    SleepUntil(Time),
    /// Stays in MPI for polls of a function ([`Protocol::poll`]), or until a message comes ([`Completion::flag`]): what a
    /// loop of tests does that each find nothing, in one operation.
    ///
    /// [`Protocol::poll`]: crate::Protocol::poll
    /// [`Completion::flag`]: crate::Completion::flag
    Linger(Polls, &'static str),
    /// Sends.
    Send(Send, Start),
    /// Receives.
    Receive(Receive, Start),
    /// Sends and receives, both complete at return.
    SendReceive(Send, Receive),
    /// Waits for a matching message without receiving it.
    Probe(Receive),
    /// Asks for a matching message without receiving it ([`Completion::flag`]).
    ///
    /// [`Completion::flag`]: crate::Completion::flag
    ProbeNow(Receive),
    /// Probes, and takes the message out of matching; [`Op::ReceiveMatched`] receives it.
    /// The bool says whether to wait for it.
    ProbeMatched(Receive, bool),
    /// Receives the message that a matched probe gave, by its number.
    ReceiveMatched(u64, Start),
    /// Waits for requests. Persistent ones become inactive, others are freed.
    Wait(Arc<[Request]>, Until),
    /// Waits for one request, the common case.
    WaitOne(Request),
    /// Asks whether requests are complete; never blocks.
    Test(Arc<[Request]>, Until),
    /// Starts persistent requests.
    Start(Arc<[Request]>),
    /// The same, of receives that take whatever comes: each request with whose message it takes this time, if that
    /// is not what it was made with.
    StartAs(Arc<[Request]>, Arc<[Option<(Peer, TagMatch)>]>),
    /// Cancels a receive that has not matched, or calls a message back: its request is complete when that is known.
    Cancel(Request),
    /// Forgets a request; its operation completes without being waited for.
    Free(Request),
    /// Forgets a request that is under way; when its operation is complete, the source hears of it
    /// ([`Source::completed`]), and only then its number may be used again.
    ///
    /// [`Source::completed`]: crate::Source::completed
    LetGo(Request),
    /// Reads or writes memory of another rank (MPI_Put and its kin). Complete when the answer is there; never
    /// persistent.
    Access(Access, Start),
    /// Accesses a file. Complete when the file system is done with it; never persistent.
    File(Arc<file_system::Access>, Start),
    /// Flushes messages in buffered mode that have not left the rank's memory: waits until nothing is left, or
    /// asks. The bytes are in [`Completion::status`], how many messages in [`Completion::matched`].
    ///
    /// [`Completion::status`]: crate::Completion::status
    /// [`Completion::matched`]: crate::Completion::matched
    Drain(Draining),
    /// A collective of all members of its communicator; of an inter-communicator, of both groups as if they were
    /// one, first the group whose first member has the lower world rank.
    Collective(Arc<Collective>, Start),
    /// Makes a communicator; collective over `CommId`. [`Completion::comm`] is the new one.
    ///
    /// [`Completion::comm`]: crate::Completion::comm
    NewComm(CommId, NewComm),
    /// The same under a request (MPI_Comm_idup). [`Completion::matched`] is a number, with which
    /// [`Op::TakeNewComm`] gives the communicator once the request is complete.
    ///
    /// [`Completion::matched`]: crate::Completion::matched
    BeginNewComm(CommId, NewComm, Request),
    /// The communicator that was begun with this number, in [`Completion::comm`].
    ///
    /// [`Completion::comm`]: crate::Completion::comm
    TakeNewComm(u64),
    /// Frees a communicator; collective.
    FreeComm(CommId),
    /// An overhead that is MPI's own (a call that does not communicate), for recorded traces.
    Call(&'static str, Duration),
    /// MPI_Finalize of a recorded run: keeps the rank busy for this time, and returns when all ranks have been in it for
    /// theirs.
    Finalize(Duration),
    /// The program gives up (MPI_Abort) with this code: ends the run as a failure.
    Abort(i32),
    /// The rank is done.
    Finish,
}
