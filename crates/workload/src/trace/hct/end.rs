//! How the file of a rank ends: with what its calls come to, or with where the rank stood when it was killed.

use std::fmt;

use engine::hash::Map;
use serde::{Deserialize, Serialize};

use super::gaps::Gap;
use super::name::Name;
use super::shape::{Begun, Collected, Did, From, Received, Sent, Shape};

/// Summary of a rank's calls, at the end of its file.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// How many calls it made.
    pub calls: u64,
    /// How many messages it sent itself, not by collectives.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Time at which its first call began \[ns\].
    pub first_ns: u64,
    /// Time at which its last call returned \[ns\].
    pub last_ns: u64,
    /// The time in its calls \[ns\].
    pub in_mpi_ns: u64,
    /// Tests and probes that found nothing, which are no calls.
    #[serde(default)]
    pub polls: u64,
    /// How long it waited in them \[ns\].
    #[serde(default)]
    pub waited_ns: u64,
    /// How much was counted between its calls, in the order of the head.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counts: Vec<u64>,
    /// True if it came to MPI_Finalize.
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
    /// Bytes that persistent requests send when they are started.
    persistent: Map<u32, Option<u64>>,
}

impl Counting {
    /// Summary of no calls, between which this many kinds of events are counted.
    pub fn of(counts: usize) -> Counting {
        let end = End { counts: vec![0; counts], ..End::default() };
        Counting { end, persistent: Map::default() }
    }

    /// Takes a call in, and what was before it.
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

/// The bytes of the message that a call sends.
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

/// A call that had not returned when this was written: not among the calls of the recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// The function: "MPI_Recv".
    pub call: Name,
    /// Time at which it began, on the rank's clock \[ns\].
    pub since_ns: u64,
    /// True if it did return, having found nothing, and was called again, since then.
    #[serde(default, skip_serializing_if = "is_no")]
    pub polls: bool,
    /// The message that it sends or receives, of functions that do so themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Waited>,
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_no(yes: &bool) -> bool {
    !yes
}

/// A message that a call stands in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waited {
    /// The other side.
    pub peer: From,
    /// Its tag; none for any.
    pub tag: Option<u32>,
    /// Its communicator; none if that has no number.
    pub comm: Option<u32>,
}

/// "MPI_Recv with rank 2, tag 7".
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
