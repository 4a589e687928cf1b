//! Schedules: what a rank does as a graph of dependencies instead of an order of calls.
//!
//! A node is a message to send or to receive, a collective, or computing. It may begin when those before it have ended
//! (`finish` edges) or begun (`start` edges). The formats that record such graphs (GOAL, BigSim, Chakra) make a [`Graph`] of
//! each rank, and [`Walk`] replays it.

mod walk;

pub use walk::Walk;

use std::sync::Arc;

use engine::{Bytes, Duration};
use mpi::collective::Collective;
use mpi::operation::{Peer, SendMode, TagMatch};

/// What one node does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Work {
    /// Sends.
    Send {
        /// To which rank.
        to: u32,
        /// With which tag.
        tag: u32,
        /// How much.
        bytes: Bytes,
    },
    /// Receives.
    Receive {
        /// From whom: a rank, or anyone.
        from: Peer,
        /// With which tag.
        tag: TagMatch,
        /// How much, where the trace says: for those who look at it. The replay takes what comes.
        bytes: Option<Bytes>,
    },
    /// Takes part in this of the graph's collectives.
    Collective(u32),
    /// Computes, for a time that was recorded on another machine.
    Compute {
        /// How long.
        time: Duration,
        /// On which of the rank's processors: one does one thing at a time.
        processor: u32,
    },
}

/// What must have happened to a node before another may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// It has ended: the message has been sent or received, the time is over.
    Finish,
    /// It has begun: the send or receive is posted, the computing goes on.
    Start,
}

/// The schedule of one rank.
#[derive(Debug)]
pub struct Graph {
    nodes: Vec<Work>,
    /// How many edges lead to each node.
    before: Vec<u32>,
    /// The edges by the node that they leave: those of node `n` are `edges[first[n]..first[n + 1]]`.
    first: Vec<u32>,
    edges: Vec<(u32, After)>,
    collectives: Vec<Arc<Collective>>,
    sends: SendMode,
}

impl Graph {
    /// Of `nodes` and edges `(before, after, kind)`, whose nodes must exist.
    pub fn new(nodes: Vec<Work>, edges: &[(u32, u32, After)]) -> Graph {
        let mut before = vec![0; nodes.len()];
        let mut first = vec![0_u32; nodes.len() + 1];
        for (from, to, _) in edges {
            before[*to as usize] += 1;
            first[*from as usize + 1] += 1;
        }
        for at in 1..first.len() {
            first[at] += first[at - 1];
        }
        let mut next = first.clone();
        let mut sorted = vec![(0, After::Finish); edges.len()];
        for (from, to, after) in edges {
            let place = &mut next[*from as usize];
            sorted[*place as usize] = (*to, *after);
            *place += 1;
        }
        Graph { nodes, before, first, edges: sorted, collectives: Vec::new(), sends: SendMode::Standard }
    }

    /// With the collectives that its nodes name.
    pub fn with_collectives(self, collectives: Vec<Arc<Collective>>) -> Graph {
        Graph { collectives, ..self }
    }

    /// With sends that are over when their bytes are buffered, whether or not somebody receives them.
    pub fn with_buffered_sends(self) -> Graph {
        Graph { sends: SendMode::Buffered, ..self }
    }

    /// The nodes, in the order of the trace.
    pub fn nodes(&self) -> &[Work] {
        &self.nodes
    }

    /// The collective with this number.
    pub fn collective(&self, number: u32) -> &Collective {
        &self.collectives[number as usize]
    }

    /// After which nodes each may begin, in the order of the trace.
    pub fn earlier(&self) -> Vec<Vec<(u32, After)>> {
        let mut earlier = vec![Vec::new(); self.nodes.len()];
        for node in 0..self.nodes.len() as u32 {
            self.edges_of(node).iter().for_each(|(next, after)| earlier[*next as usize].push((node, *after)));
        }
        earlier
    }

    fn edges_of(&self, node: u32) -> &[(u32, After)] {
        &self.edges[self.first[node as usize] as usize..self.first[node as usize + 1] as usize]
    }

    /// A node that waits for itself, by way of others: none of them can ever begin. The first of the trace in the
    /// cycle that holds back the first that is held back.
    pub fn in_a_cycle(&self) -> Option<u32> {
        let mut before = self.before.clone();
        let mut ready: Vec<u32> =
            (0..self.nodes.len() as u32).filter(|&node| before[node as usize] == 0).collect();
        while let Some(node) = ready.pop() {
            for (next, _) in self.edges_of(node) {
                before[*next as usize] -= 1;
                if before[*next as usize] == 0 {
                    ready.push(*next);
                }
            }
        }
        // What is left waits for something that is left: back along that, until it comes again.
        let left = |node: &u32| before[*node as usize] > 0;
        let mut earlier = vec![0; self.nodes.len()];
        let all = 0..self.nodes.len() as u32;
        for node in all.clone().filter(left) {
            self.edges_of(node).iter().for_each(|(next, _)| earlier[*next as usize] = node);
        }
        let mut at = all.clone().find(left)?;
        let mut seen = vec![false; self.nodes.len()];
        while !std::mem::replace(&mut seen[at as usize], true) {
            at = earlier[at as usize];
        }
        let (start, mut first) = (at, at);
        while earlier[at as usize] != start {
            at = earlier[at as usize];
            first = first.min(at);
        }
        Some(first)
    }
}

/// A graph that several walk over.
pub type SharedGraph = Arc<Graph>;
