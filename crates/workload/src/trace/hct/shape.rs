//! What a call was, without when: calls with equal shapes are stored once.

use std::borrow::Cow;

#[cfg(doc)]
use mpi::collective::Sizes;
#[cfg(doc)]
use mpi::operation::NewComm;
use serde::{Deserialize, Serialize};

use super::name::Name;

/// One call of MPI: its name, and what it did.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Shape {
    /// The function: "MPI_Isend".
    pub call: Name,
    /// What it did.
    #[serde(flatten)]
    pub did: Did,
}

/// What a call did. Ranks are those of the communicator; communicators have the numbers of [`Made::comm`], with 0
/// for the world and 1 for the rank alone; requests have the lowest number that was free.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "did")]
pub enum Did {
    /// Took time, and nothing else that others see.
    Overhead,
    /// Reached into the memory of another rank; a replay keeps the time that the call took, and no more.
    Access {
        /// The target, a rank of the window's group; none for MPI_PROC_NULL.
        to: Option<u32>,
        /// Sent to it \[bytes\].
        bytes: u64,
        /// Sent back \[bytes\].
        answer: u64,
    },
    /// Sent.
    Send(Sent),
    /// Received, or began to.
    Receive(Received),
    /// Both, complete at its return.
    SendReceive {
        /// What it sent.
        send: Sent,
        /// What it received.
        receive: Received,
    },
    /// Found a message, which stays.
    Probe(Received),
    /// Waited for these requests, or found them complete: for none where it waited for what is not simulated.
    Complete {
        /// Which.
        requests: Vec<u32>,
        /// What came for those that any source or any tag would do.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        matched: Vec<(u32, Matched)>,
    },
    /// Started persistent requests.
    Start {
        /// Which.
        requests: Vec<u32>,
    },
    /// Cancelled a request.
    Cancel {
        /// Which.
        request: u32,
    },
    /// Forgot a request.
    Free {
        /// Which.
        request: u32,
    },
    /// Took part in a collective.
    Collective(Collected),
    /// Took part in making a communicator.
    NewComm(Made),
    /// Freed a communicator.
    FreeComm {
        /// Which.
        comm: u32,
    },
    /// Ended with the others.
    Finalize,
    /// Gave up.
    Abort {
        /// With this code.
        code: i32,
    },
}

/// One message sent.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Sent {
    /// To whom; none for MPI_PROC_NULL.
    pub to: Option<u32>,
    /// Its tag.
    pub tag: u32,
    /// Its communicator.
    pub comm: u32,
    /// Its length.
    pub bytes: u64,
    /// Its mode.
    #[serde(default, skip_serializing_if = "Mode::is_standard")]
    pub mode: Mode,
    /// Under which request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Begun>,
}

/// One message received.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Received {
    /// From whom.
    pub from: From,
    /// With which tag; none for any.
    pub tag: Option<u32>,
    /// In which communicator.
    pub comm: u32,
    /// The room for it \[bytes\].
    pub capacity: u64,
    /// What came, where any source or any tag would do and the call itself received it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matched: Option<Matched>,
    /// Under which request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Begun>,
}

/// Whose message a receive takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum From {
    /// That rank's.
    Rank(u32),
    /// Whoever's.
    Any,
    /// Nobody's (MPI_PROC_NULL).
    Null,
}

/// Which message came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Matched {
    /// From whom.
    pub source: u32,
    /// With which tag.
    pub tag: u32,
}

/// A request that a call leaves behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Begun {
    /// Under way.
    Active(u32),
    /// To be started.
    Persistent(u32),
}

/// The modes of sends.
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
    /// Which: "allreduce".
    pub kind: Cow<'static, str>,
    /// Over whom.
    pub comm: u32,
    /// Who starts or collects.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub root: u32,
    /// How much \[bytes\].
    pub sizes: Amount,
    /// Bytes of one element.
    pub element: u32,
    /// Whether a reduction may be reordered.
    pub commutative: bool,
    /// Under which request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Begun>,
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// The blocks of a collective, as in [`Sizes`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Amount {
    /// All equal.
    Equal(u64),
    /// By rank.
    ByRank(Vec<u64>),
    /// This rank's to and from each other or neighbour.
    Own {
        /// To each.
        send: Vec<u64>,
        /// From each.
        receive: Vec<u64>,
    },
}

/// A communicator that was made.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Made {
    /// Out of which.
    pub parent: u32,
    /// The number of the new one; none where this rank is not in it.
    pub comm: Option<u32>,
    /// How.
    pub how: How,
    /// Its members in their order, ranks of the world, where the recording knows them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<u32>,
}

/// How a communicator was made: what this rank asked for, as in [`NewComm`].
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
