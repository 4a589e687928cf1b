//! Shape of a call: everything but its times. Calls with equal shapes are stored once.

use std::borrow::Cow;

#[cfg(doc)]
use mpi::collective::Sizes;
#[cfg(doc)]
use mpi::operation::NewComm;
use serde::{Deserialize, Serialize};

use super::name::Name;

/// One call of MPI: its function and its effect.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Shape {
    /// The function: "MPI_Isend".
    pub call: Name,
    /// Effect of the call.
    #[serde(flatten)]
    pub did: Did,
}

/// Effect of a call. Ranks are those of the communicator; communicators have the numbers of [`Made::comm`], with 0
/// for the world and 1 for MPI_COMM_SELF; requests have the lowest number that was free.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "did")]
pub enum Did {
    /// Took time, without an effect on other ranks.
    Overhead,
    /// Accessed the memory of another rank; a replay keeps the time of the call and nothing else.
    Access {
        /// Target, a rank of the window's group; `None` for MPI_PROC_NULL.
        to: Option<u32>,
        /// Bytes sent to the target.
        bytes: u64,
        /// Bytes sent back.
        answer: u64,
    },
    /// Sent a message, or began to.
    Send(Sent),
    /// Received a message, or began to.
    Receive(Received),
    /// Sent and received; both are complete at the return.
    SendReceive {
        /// Message that it sent.
        send: Sent,
        /// Message that it received.
        receive: Received,
    },
    /// Found a message, which stays unreceived.
    Probe(Received),
    /// Completed these requests in a wait or test; none if it waited for something that is not simulated.
    Complete {
        /// Completed requests.
        requests: Vec<u32>,
        /// Matches of the wildcard receives among them, by request.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        matched: Vec<(u32, Matched)>,
    },
    /// Started persistent requests.
    Start {
        /// Started requests.
        requests: Vec<u32>,
    },
    /// Cancelled a request.
    Cancel {
        /// Cancelled request.
        request: u32,
    },
    /// Freed a request.
    Free {
        /// Freed request.
        request: u32,
    },
    /// Took part in a collective.
    Collective(Collected),
    /// Took part in the creation of a communicator.
    NewComm(Made),
    /// Freed a communicator.
    FreeComm {
        /// Freed communicator.
        comm: u32,
    },
    /// Returned from MPI_Finalize, with all ranks.
    Finalize,
    /// Aborted the program.
    Abort {
        /// Error code.
        code: i32,
    },
}

/// A message to send.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Sent {
    /// Receiver; `None` for MPI_PROC_NULL.
    pub to: Option<u32>,
    /// Tag.
    pub tag: u32,
    /// Communicator.
    pub comm: u32,
    /// Length \[bytes\].
    pub bytes: u64,
    /// Mode of the send.
    #[serde(default, skip_serializing_if = "Mode::is_standard")]
    pub mode: Mode,
    /// Request of a send that does not block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Begun>,
}

/// A message to receive.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Received {
    /// Source.
    pub from: From,
    /// Tag; `None` for any.
    pub tag: Option<u32>,
    /// Communicator.
    pub comm: u32,
    /// Length of the receive buffer \[bytes\].
    pub capacity: u64,
    /// Match of a blocking wildcard receive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matched: Option<Matched>,
    /// Request of a receive that does not block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Begun>,
}

/// Source of a receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum From {
    /// This rank.
    Rank(u32),
    /// Any rank (MPI_ANY_SOURCE).
    Any,
    /// No rank (MPI_PROC_NULL).
    Null,
}

/// Message that a wildcard receive matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Matched {
    /// Source.
    pub source: u32,
    /// Tag.
    pub tag: u32,
}

/// A request that a call leaves behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Begun {
    /// Active from now on.
    Active(u32),
    /// Persistent and not started.
    Persistent(u32),
}

/// Modes of sends.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Mode {
    #[default]
    Standard,
    Buffered,
    Synchronous,
    Ready,
}

impl Mode {
    fn is_standard(&self) -> bool {
        *self == Mode::Standard
    }
}

/// One collective.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Collected {
    /// Kind: "allreduce".
    pub kind: Cow<'static, str>,
    /// Communicator.
    pub comm: u32,
    /// Root, for kinds that have one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub root: u32,
    /// Sizes of the blocks \[bytes\].
    pub sizes: Amount,
    /// Bytes of one element.
    pub element: u32,
    /// True if a reduction may be reordered.
    pub commutative: bool,
    /// Request of a collective that does not block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Begun>,
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Blocks of a collective, as in [`Sizes`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Amount {
    /// One size for all blocks.
    Equal(u64),
    /// One size for each rank.
    ByRank(Vec<u64>),
    /// Sizes of this rank's blocks, by other rank or neighbour.
    Own {
        /// Bytes sent to each.
        send: Vec<u64>,
        /// Bytes received from each.
        receive: Vec<u64>,
    },
}

/// A new communicator.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Made {
    /// Communicator that it was made of.
    pub parent: u32,
    /// Number of the new one; `None` if this rank is not in it.
    pub comm: Option<u32>,
    /// Arguments of its creation.
    pub how: How,
    /// Members in their order, ranks of the world; empty if the recording does not know them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<u32>,
}

/// Arguments that this rank passed to the creation of a communicator, as in [`NewComm`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum How {
    Dup,
    Split { colour: Option<i64>, key: i64 },
    SplitHost { key: i64 },
    Create { members: Vec<u32> },
    CreateGroup { members: Vec<u32>, tag: u32 },
    Cart { sizes: Vec<u32>, periodic: Vec<bool> },
    CartSub { keep: Vec<bool> },
    Graph { sources: Vec<u32>, destinations: Vec<u32> },
    OutsideGraph,
    Inter { local: Vec<u32>, remote: Vec<u32>, tag: u32 },
    Merge { high: bool },
}
