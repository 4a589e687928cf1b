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

/// Work of one node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Work {
    /// Sends a message.
    Send {
        /// Receiver.
        to: u32,
        /// Tag.
        tag: u32,
        /// Length.
        bytes: Bytes,
    },
    /// Receives a message.
    Receive {
        /// Source: a rank, or any.
        from: Peer,
        /// Tag, or any.
        tag: TagMatch,
        /// Length, if the trace states it, for tools that read the graph. The replay receives messages of any length.
        bytes: Option<Bytes>,
    },
    /// Takes part in the graph's collective with this number.
    Collective(u32),
    /// Computes for a time that was recorded on another machine.
    Compute {
        /// Duration.
        time: Duration,
        /// Processor of the rank; each processor does one thing at a time.
        processor: u32,
    },
}

/// Condition of a dependency on an earlier node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// The earlier node has ended: its message has been sent or received, or its time is over.
    Finish,
    /// The earlier node has begun: its send or receive is posted, or its computing goes on.
    Start,
}

/// The schedule of one rank.
#[derive(Debug)]
pub struct Graph {
    nodes: Vec<Work>,
    /// Number of edges that lead to each node.
    before: Vec<u32>,
    /// Edges by the node that they leave: those of node `n` are `edges[first[n]..first[n + 1]]`.
    first: Vec<u32>,
    edges: Vec<(u32, After)>,
    collectives: Vec<Arc<Collective>>,
    sends: SendMode,
}

impl Graph {
    /// Makes the graph of `nodes` and edges `(before, after, kind)`, whose nodes must exist.
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

    /// Adds the collectives that its nodes name.
    pub fn with_collectives(self, collectives: Vec<Arc<Collective>>) -> Graph {
        Graph { collectives, ..self }
    }

    /// Lets sends complete when their bytes are buffered, whether or not somebody receives them.
    pub fn with_buffered_sends(self) -> Graph {
        Graph { sends: SendMode::Buffered, ..self }
    }

    /// Nodes in the order of the trace.
    pub fn nodes(&self) -> &[Work] {
        &self.nodes
    }

    /// Collective with this number.
    pub fn collective(&self, number: u32) -> &Collective {
        &self.collectives[number as usize]
    }

    /// Dependencies of each node, in the order of the trace.
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

    /// A node that depends on itself through others, so that none of them can begin: the trace's first node of the
    /// cycle that blocks the first blocked node.
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
        // Every node that is left waits for another one that is left: walk back until one repeats.
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

/// A graph that several replays share.
pub type SharedGraph = Arc<Graph>;
