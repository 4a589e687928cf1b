//! Records for observers, and failures of simulated programs.

use std::fmt;

use engine::{Bytes, Duration, Time};
use network::Shared;
use serde::{Deserialize, Serialize};

use crate::cause::{Causes, Path};
use crate::operation::{CommId, Rank};

/// One thing that has happened to a rank.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Record {
    /// A stretch of computing.
    Compute {
        /// Rank that the record is about.
        rank: Rank,
        /// Time at which it began.
        begin: Time,
        /// Time at which it ended.
        end: Time,
    },
    /// An MPI call has returned.
    Call {
        /// Rank that the record is about.
        rank: Rank,
        /// The MPI function, such as "MPI_Waitall".
        name: &'static str,
        /// Time of the call.
        begin: Time,
        /// Time of the return.
        end: Time,
        /// Causes of its time, which sum to the time between `begin` and `end`.
        causes: Causes,
        /// Bytes sent, received, read or written by the call itself (not by requests that it waits for).
        bytes: Bytes,
    },
    /// A message of the program, or of a collective, has been delivered.
    Message {
        /// The sender.
        from: Rank,
        /// The receiver.
        to: Rank,
        /// Number among all messages of the sender, with those of the protocol.
        number: u32,
        /// Payload.
        bytes: Bytes,
        /// Time of the sender's call.
        sent: Time,
        /// Time at which the receiver had it.
        received: Time,
        /// True if a collective sent it.
        collective: bool,
    },
    /// A part of a rank's time in MPI was due to contention.
    Contention {
        /// The rank.
        rank: Rank,
        /// Resource at which messages delayed each other.
        at: Shared,
        /// The delay.
        time: Duration,
    },
    /// The first member of a communicator has begun a collective on it.
    Collective {
        /// The collective, as in `mpi.collectives`: "allreduce".
        kind: &'static str,
        /// The algorithm that was chosen for it.
        algorithm: &'static str,
        /// Members of the communicator.
        members: u32,
        /// Size of the buffer that this member states; the sum of all sizes in calls with one for each rank.
        bytes: Bytes,
    },
    /// The rank is done.
    Finish {
        /// Rank that it happened to.
        rank: Rank,
        /// Time at which it happened.
        at: Time,
        /// The critical path that ends there.
        path: Path,
    },
}

/// A rank that cannot go on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Blocked {
    /// Rank that it happened to.
    pub rank: Rank,
    /// Since when.
    pub since: Time,
    /// The call in which it stands, with its arguments: "MPI_Recv(source=3, tag=0, comm=world)".
    pub call: String,
    /// Event that it waits for, in words: "a message from rank 3".
    pub waits_for: String,
    /// The ranks that it waits for, as far as they are known.
    pub ranks: Vec<Rank>,
    /// Place in the user's program ("cannon.py:31"), if its source knows.
    pub place: Option<String>,
}

/// A rank's part in a collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartCall {
    /// Rank that the record is about.
    pub rank: Rank,
    /// On which communicator.
    pub comm: CommId,
    /// Number among the collectives on it, from 0.
    pub number: u32,
}

/// Failure of a simulated program: a result, not an error of ours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Failure {
    /// Nothing can happen any more, and these ranks are not done.
    Deadlock(Vec<Blocked>),
    /// A message was longer than the receive that matched it.
    Truncation {
        /// The receiver.
        rank: Rank,
        /// The sender.
        from: Rank,
        /// Length of the message.
        bytes: Bytes,
        /// Room for it.
        capacity: Bytes,
        /// The receiving call.
        call: String,
    },
    /// Members of a communicator called different collectives, or with different roots.
    Mismatch {
        /// Two ranks and what they called.
        calls: Vec<(Rank, String)>,
        /// The call of the second in full, if it is in another world, whose `part_call` knows more of it.
        elsewhere: Option<PartCall>,
    },
    /// A rank called MPI_Abort.
    Abort {
        /// Rank that it happened to.
        rank: Rank,
        /// With what.
        code: i32,
    },
    /// A rank used MPI wrongly: an unknown communicator, a rank out of range, a request that is not active.
    Misuse {
        /// Rank that it happened to.
        rank: Rank,
        /// Mistake, and what would be right.
        reason: String,
    },
}

impl Failure {
    /// Describes the failure, with ranks by their `name`.
    pub fn text(&self, name: impl Fn(Rank) -> String) -> String {
        match self {
            Failure::Deadlock(blocked) => format!(
                "deadlock: nothing can happen any more, and {} rank{} not done",
                blocked.len(),
                if blocked.len() == 1 { " is" } else { "s are" }
            ),
            Failure::Truncation { rank, from, bytes, capacity, call } => format!(
                "truncation: a message of {} bytes from {} does not fit into the {} bytes of {}'s {call}",
                bytes.0,
                name(*from),
                capacity.0,
                name(*rank)
            ),
            Failure::Mismatch { calls, .. } => {
                let calls: Vec<_> =
                    calls.iter().map(|(rank, call)| format!("{} calls {call}", name(*rank))).collect();
                format!("mismatched collectives: {}", calls.join(", but "))
            }
            Failure::Abort { rank, code } => format!("{} called MPI_Abort with code {code}", name(*rank)),
            Failure::Misuse { rank, reason } => format!("{} uses MPI wrongly: {reason}", name(*rank)),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(|rank| format!("rank {}", rank.0)))
    }
}
