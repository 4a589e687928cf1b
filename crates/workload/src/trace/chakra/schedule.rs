//! Makes a rank's schedule of its nodes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

use engine::{Bytes, Duration};
use mpi::collective::{Collective, Kind as CollectiveKind, Sizes};
use mpi::operation::{CommId, Peer, TagMatch};

use super::nodes::Nodes;
use super::parts::{Kind, Node};
use crate::trace::graph::{After, Graph, Work};

/// The processors of a rank.
const HOST: u32 = 0;
const ACCELERATOR: u32 = 1;

/// Kinds of collectives, indexed by the schema's number.
const COLLECTIVES: &[CollectiveKind] = &[
    CollectiveKind::Allreduce,
    CollectiveKind::Reduce,
    CollectiveKind::Allgather,
    CollectiveKind::Gather,
    CollectiveKind::Scatter,
    CollectiveKind::Bcast,
    CollectiveKind::Alltoall,
    CollectiveKind::ReduceScatterBlock,
    CollectiveKind::ReduceScatterBlock,
    CollectiveKind::Barrier,
];

/// Kind of the collective that the schema calls `number`.
pub(super) fn collective_kind(number: u64) -> Option<CollectiveKind> {
    COLLECTIVES.get(usize::try_from(number).ok()?).copied()
}

/// A process group that contains the rank: its communicator and its number of members.
#[derive(Debug, Clone, Copy)]
pub(super) struct Member {
    pub comm: CommId,
    pub size: u32,
}

/// Reason why a schedule cannot be made.
type Reason = String;

/// Schedule of `nodes` in a run of `ranks` ranks; `members` are the rank's groups by name.
pub(super) fn schedule(
    nodes: &Nodes,
    ranks: u32,
    members: &BTreeMap<String, Member>,
) -> Result<Graph, Reason> {
    let nodes = &nodes.nodes;
    let mut edges = Vec::new();
    for (place, node) in nodes.iter().enumerate() {
        edges.extend(node.after.iter().map(|&before| (before as u32, place as u32, After::Finish)));
    }
    // The last collective of each group so far.
    let mut last: BTreeMap<CommId, u32> = BTreeMap::new();
    for place in sorted(nodes, &edges)? {
        let node = &nodes[place as usize];
        if matches!(node.kind, Kind::Collective(_)) {
            let member = member_of(node, members)?;
            if let Some(before) = last.insert(member.comm, place) {
                edges.push((before, place, After::Start));
            }
        }
    }
    let mut collectives = Vec::new();
    let mut work = Vec::with_capacity(nodes.len());
    for node in nodes {
        work.push(work_of(node, ranks, members, &mut collectives)?);
    }
    Ok(Graph::new(work, &edges).with_collectives(collectives).with_buffered_sends())
}

fn member_of<'a>(node: &Node, members: &'a BTreeMap<String, Member>) -> Result<&'a Member, Reason> {
    members.get(&node.group).ok_or_else(|| {
        let known: Vec<_> = members.keys().map(|name| format!("'{name}'")).collect();
        format!(
            "node {} is a collective of group '{}', which this rank is not in; its groups are {}",
            node.id,
            node.group,
            known.join(", ")
        )
    })
}

fn work_of(
    node: &Node,
    ranks: u32,
    members: &BTreeMap<String, Member>,
    collectives: &mut Vec<Arc<Collective>>,
) -> Result<Work, Reason> {
    let peer = |rank: u32| {
        let wrong = || format!("node {} names rank {rank}, but the trace has {ranks} ranks", node.id);
        if rank < ranks { Ok(rank) } else { Err(wrong()) }
    };
    Ok(match node.kind {
        Kind::Compute => Work::Compute {
            time: Duration(node.duration_us * 1_000_000),
            processor: if node.on_cpu == Some(true) { HOST } else { ACCELERATOR },
        },
        Kind::Send(to) => Work::Send { to: peer(to)?, tag: node.tag, bytes: Bytes(node.bytes) },
        Kind::Receive(from) => {
            let (from, tag) = (Peer::Rank(peer(from)?), TagMatch::Tag(node.tag));
            Work::Receive { from, tag, bytes: Some(Bytes(node.bytes)) }
        }
        Kind::Collective(number) => {
            let kind = collective_kind(number).ok_or_else(|| {
                let known: Vec<_> = COLLECTIVES.iter().map(|kind| kind.name()).collect();
                format!("node {} is collective {number}; known are 0 to 9: {}", node.id, known.join(", "))
            })?;
            let Member { comm, size } = *member_of(node, members)?;
            if node.root >= size {
                return Err(format!("node {} has root {} in a group of {size}", node.id, node.root));
            }
            let bytes = match kind {
                CollectiveKind::Barrier => 0,
                CollectiveKind::Alltoall | CollectiveKind::ReduceScatterBlock | CollectiveKind::Scatter => {
                    node.bytes.div_ceil(size.into())
                }
                _ => node.bytes,
            };
            let root = node.root;
            let sizes = Sizes::Equal(Bytes(bytes));
            collectives.push(Arc::new(Collective {
                kind,
                comm,
                root,
                sizes,
                element: 1,
                commutative: true,
                algorithm: None,
            }));
            Work::Collective(collectives.len() as u32 - 1)
        }
    })
}

/// Topological order of the nodes, which follows the order of the file where dependencies allow.
fn sorted(nodes: &[Node], edges: &[(u32, u32, After)]) -> Result<Vec<u32>, Reason> {
    let mut before: Vec<usize> = nodes.iter().map(|node| node.after.len()).collect();
    let mut next: Vec<Vec<u32>> = vec![Vec::new(); nodes.len()];
    for (place, node) in nodes.iter().enumerate() {
        node.after.iter().for_each(|&earlier| next[earlier as usize].push(place as u32));
    }
    let free = (0..nodes.len() as u32).filter(|&place| before[place as usize] == 0);
    let mut ready: BinaryHeap<_> = free.map(Reverse).collect();
    let mut order = Vec::with_capacity(nodes.len());
    while let Some(Reverse(place)) = ready.pop() {
        order.push(place);
        for &later in &next[place as usize] {
            before[later as usize] -= 1;
            if before[later as usize] == 0 {
                ready.push(Reverse(later));
            }
        }
    }
    if order.len() == nodes.len() {
        return Ok(order);
    }
    let nothing = Work::Compute { time: Duration::ZERO, processor: 0 };
    let of_cycle = Graph::new(vec![nothing; nodes.len()], edges).in_a_cycle();
    let id = of_cycle.map_or(0, |at| nodes[at as usize].id);
    Err(format!("node {id} depends on itself, by way of others"))
}
