//! Schedule of one rank, while it is read.

use engine::{Bytes, Duration};
use mpi::operation::{Peer, TagMatch};

use crate::trace::graph::{After, Graph, Work};

/// The number that stands for any source or any tag.
const ANY: u32 = u32::MAX;
/// Longer computing is a damaged number \[ns\]: 100 days.
const LONGEST_NS: u64 = 100 * 24 * 3600 * 1_000_000_000;
/// Largest message; more is a damaged number \[bytes\].
const LARGEST_MESSAGE: u64 = 1 << 40;

/// Arguments of a send or a receive.
#[derive(Debug, Clone, Copy)]
pub struct Message {
    /// Rank on the other side, or the number that stands for any.
    pub peer: u32,
    /// Length \[bytes\].
    pub bytes: u64,
    /// Tag, or the number that stands for any.
    pub tag: u32,
}

/// Resources that a schedule uses, and its messages.
#[derive(Debug, Default, Clone, Copy)]
pub struct Uses {
    /// Highest number of a processor.
    pub processor: u8,
    /// Highest number of a NIC.
    pub nic: u8,
    /// Number of messages that it sends.
    pub messages: u64,
    /// Total length of its messages \[bytes\].
    pub bytes: u64,
}

/// Nodes and edges that have been read.
#[derive(Debug, Default)]
pub struct Schedule {
    /// Number of ranks of the run.
    ranks: u32,
    nodes: Vec<Work>,
    edges: Vec<(u32, u32, After)>,
    uses: Uses,
}

type Reason = String;

impl Schedule {
    /// Begins an empty schedule for one of `ranks` ranks.
    pub fn new(ranks: u32) -> Schedule {
        Schedule { ranks, ..Schedule::default() }
    }

    /// Number of nodes.
    pub fn len(&self) -> u32 {
        self.nodes.len() as u32
    }

    /// Notes that a node uses this processor and this NIC.
    pub fn uses(&mut self, processor: u8, nic: u8) {
        self.uses.processor = self.uses.processor.max(processor);
        self.uses.nic = self.uses.nic.max(nic);
    }

    fn rank(&self, rank: u32) -> Result<u32, Reason> {
        if rank < self.ranks {
            return Ok(rank);
        }
        Err(format!("names rank {rank}, but the schedule has {} ranks", self.ranks))
    }

    /// Adds a send.
    pub fn send(&mut self, message: Message) -> Result<(), Reason> {
        let Message { peer, bytes, tag } = message;
        if bytes > LARGEST_MESSAGE {
            return Err(format!("sends {bytes} bytes, no length of a message"));
        }
        if tag == ANY {
            return Err("sends with any tag; only a receive may take any".to_string());
        }
        self.uses.messages += 1;
        self.uses.bytes += bytes;
        let to = self.rank(peer)?;
        self.nodes.push(Work::Send { to, tag, bytes: Bytes(bytes) });
        Ok(())
    }

    /// Adds a receive.
    pub fn receive(&mut self, message: Message) -> Result<(), Reason> {
        let from = if message.peer == ANY { Peer::Any } else { Peer::Rank(self.rank(message.peer)?) };
        let tag = if message.tag == ANY { TagMatch::Any } else { TagMatch::Tag(message.tag) };
        self.nodes.push(Work::Receive { from, tag, bytes: Some(Bytes(message.bytes)) });
        Ok(())
    }

    /// Adds a computation.
    pub fn compute(&mut self, time_ns: u64, processor: u8) -> Result<(), Reason> {
        if time_ns > LONGEST_NS {
            return Err(format!("computes for {time_ns} ns, over 100 days"));
        }
        self.nodes.push(Work::Compute { time: Duration(time_ns * 1000), processor: processor.into() });
        Ok(())
    }

    /// Makes `later` begin after `earlier` has begun or ended. Both must exist.
    pub fn depend(&mut self, later: u32, earlier: u32, after: After) {
        self.edges.push((earlier, later, after));
    }

    /// Graph and its uses; an error with a node that can never begin if there is a cycle.
    pub fn finish(self) -> Result<(Graph, Uses), u32> {
        let graph = Graph::new(self.nodes, &self.edges);
        graph.in_a_cycle().map_or(Ok((graph, self.uses)), Err)
    }
}
