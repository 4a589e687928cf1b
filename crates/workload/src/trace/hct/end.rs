//! End of a rank's file: the totals of its calls, or the call that the rank was in when it was killed.

use std::fmt;

use engine::hash::Map;
use serde::{Deserialize, Serialize};

use super::gaps::Gap;
use super::name::Name;
use super::shape::{Begun, Collected, Did, From, Received, Sent, Shape};

/// Summary of a rank's calls, at the end of its file.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// Number of its calls.
    pub calls: u64,
    /// Number of messages that it sent itself, without those of collectives.
    pub messages: u64,
    /// Total length of these messages \[bytes\].
    pub bytes: u64,
    /// Begin of its first call \[ns\].
    pub first_ns: u64,
    /// End of its last call \[ns\].
    pub last_ns: u64,
    /// Time spent in its calls \[ns\].
    pub in_mpi_ns: u64,
    /// Tests and probes that found nothing; the file does not count them as calls.
    #[serde(default)]
    pub polls: u64,
    /// Time that it waited in these tests and probes \[ns\].
    #[serde(default)]
    pub waited_ns: u64,
    /// Totals of the counts between its calls, in the order of the head.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counts: Vec<u64>,
    /// True if it reached MPI_Finalize.
    pub finalized: bool,
    /// Time in MPI_Finalize \[ns\].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finalize_ns: Option<u64>,
}

/// Sums up the calls of a rank.
#[derive(Debug, Clone)]
pub struct Counting {
    /// Their sum so far.
    pub end: End,
    /// Bytes that each start of a persistent request sends.
    persistent: Map<u32, Option<u64>>,
}

impl Counting {
    /// Begins with no calls, and `counts` kinds of counts between them.
    pub fn of(counts: usize) -> Counting {
        let end = End { counts: vec![0; counts], ..End::default() };
        Counting { end, persistent: Map::default() }
    }

    /// Adds a call, and the gap before it.
    pub fn count(&mut self, shape: &Shape, begin_ns: u64, end_ns: u64, between: &Gap) {
        self.end.count(shape, begin_ns, end_ns);
        self.end.polls = self.end.polls.saturating_add(between.polls);
        self.end.waited_ns = self.end.waited_ns.saturating_add(between.waited_ns);
        for (sum, count) in self.end.counts.iter_mut().zip(&between.counts) {
            *sum = sum.saturating_add(*count);
        }
        match &shape.did {
            Did::Send(Sent { to, bytes, request: Some(Begun::Persistent(number)), .. }) => {
                self.persistent.insert(*number, to.map(|_| *bytes));
            }
            Did::Receive(Received { request: Some(Begun::Persistent(number)), .. })
            | Did::Collective(Collected { request: Some(Begun::Persistent(number)), .. }) => {
                self.persistent.insert(*number, None);
            }
            Did::Start { requests } => {
                for bytes in requests.iter().filter_map(|number| *self.persistent.get(number)?) {
                    self.end.send(bytes);
                }
            }
            _ => {}
        }
    }
}

impl End {
    fn send(&mut self, bytes: u64) {
        self.messages += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }

    fn count(&mut self, shape: &Shape, begin_ns: u64, end_ns: u64) {
        if self.calls == 0 {
            self.first_ns = begin_ns;
        }
        self.calls += 1;
        self.last_ns = end_ns;
        self.in_mpi_ns = self.in_mpi_ns.saturating_add(end_ns.saturating_sub(begin_ns));
        if shape.did == Did::Finalize {
            self.finalized = true;
            self.finalize_ns = Some(end_ns.saturating_sub(begin_ns));
        }
        if let Some(bytes) = sent(&shape.did) {
            self.send(bytes);
        }
    }
}

/// Bytes of the message that a call sends.
fn sent(did: &Did) -> Option<u64> {
    match did {
        Did::Send(send) | Did::SendReceive { send, .. } => {
            let persistent = matches!(send.request, Some(Begun::Persistent(_)));
            let Sent { to, bytes, .. } = send;
            to.filter(|_| !persistent).map(|_| *bytes)
        }
        _ => None,
    }
}

/// A call that had not returned when this was written; it is not among the calls of the recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// The function: "MPI_Recv".
    pub call: Name,
    /// Begin of the call on the rank's clock \[ns\].
    pub since_ns: u64,
    /// True if the call has meanwhile returned without finding anything and been repeated.
    #[serde(default, skip_serializing_if = "is_no")]
    pub polls: bool,
    /// Message that the call sends or receives; `None` for functions that do neither.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Waited>,
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_no(yes: &bool) -> bool {
    !yes
}

/// A message that a call waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waited {
    /// Rank on the other side.
    pub peer: From,
    /// Tag; `None` for any.
    pub tag: Option<u32>,
    /// Communicator; `None` for one without a number.
    pub comm: Option<u32>,
}

/// Formats the call as "MPI_Recv with rank 2, tag 7".
impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.call.0)?;
        if self.polls {
            f.write_str(", which finds nothing")?;
        }
        let Some(Waited { peer, tag, comm }) = &self.message else { return Ok(()) };
        match peer {
            From::Rank(rank) => write!(f, " with rank {rank}")?,
            From::Any => f.write_str(" of any rank")?,
            From::Null => f.write_str(" with nobody")?,
        }
        match tag {
            Some(tag) => write!(f, ", tag {tag}")?,
            None => f.write_str(", any tag")?,
        }
        match comm {
            Some(0) | None => Ok(()),
            Some(comm) => write!(f, ", communicator {comm}"),
        }
    }
}
