//! Replays one rank: creates its process groups first, then walks its schedule.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use engine::Time;
use mpi::operation::{CommId, NewComm};
use mpi::{Completion, Op};

use super::nodes::Nodes;
use super::schedule::{Member, schedule};
use crate::trace::error::TraceError;
use crate::trace::graph::{Graph, Walk};
use crate::trace::set::{Begun, RankCalls, RecordedCall, Step};

/// State of one rank's replay.
pub(super) struct Replay {
    file: Arc<str>,
    ranks: u32,
    nodes: Nodes,
    /// Process groups that are still to be created, with their members.
    groups: VecDeque<(String, Arc<[u32]>)>,
    number: u32,
    members: BTreeMap<String, Member>,
    walk: Option<Walk>,
}

impl Replay {
    /// Prepares the replay of `rank`, whose trace is `file`.
    pub(super) fn new(file: Arc<str>, rank: u32, ranks: u32, nodes: Nodes) -> Result<Replay, TraceError> {
        let world = Member { comm: CommId::WORLD, size: ranks };
        let mut members = BTreeMap::from([(String::new(), world)]);
        let mut groups = VecDeque::new();
        for (name, group) in &nodes.groups {
            let mut sorted = group.clone();
            sorted.sort_unstable();
            if let Some(wrong) = sorted.iter().find(|member| **member >= ranks) {
                let reason = format!("group '{name}' has rank {wrong}, but the trace has {ranks} ranks");
                return Err(TraceError::new(&*file, reason));
            }
            if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
                return Err(TraceError::new(&*file, format!("group '{name}' has rank {} twice", pair[0])));
            }
            if sorted.is_empty() {
                members.insert(name.clone(), world);
            } else if sorted.contains(&rank) {
                groups.push_back((name.clone(), group.as_slice().into()));
            }
        }
        Ok(Replay { file, ranks, nodes, groups, number: 0, members, walk: None })
    }
}

impl Replay {
    /// Graph of the rank, for use without a simulation: its process groups count as created.
    pub(super) fn graph(mut self) -> Result<Graph, TraceError> {
        while !self.groups.is_empty() {
            self.made(CommId(2 + self.number));
        }
        let graph = schedule(&self.nodes, self.ranks, &self.members);
        graph.map_err(|reason| TraceError::new(&*self.file, reason))
    }
}

impl RankCalls for Replay {
    fn next(&mut self) -> Result<Option<Step>, TraceError> {
        if let Some(walk) = &mut self.walk {
            return walk.next();
        }
        if let Some((_, members)) = self.groups.front() {
            let call = RecordedCall { name: "MPI_Comm_create_group", begin: Time::ZERO, end: Time::ZERO };
            let new = NewComm::CreateGroup(members.clone(), self.number);
            return Ok(Some(Step { call, op: Op::NewComm(CommId::WORLD, new) }));
        }
        let graph = schedule(&self.nodes, self.ranks, &self.members);
        let graph = graph.map_err(|reason| TraceError::new(&*self.file, reason))?;
        self.walk.insert(Walk::new(Arc::new(graph), Vec::new())).next()
    }

    fn begun(&self) -> Option<Begun> {
        self.walk.as_ref()?.begun()
    }

    fn made(&mut self, comm: CommId) {
        if let Some((name, members)) = self.groups.pop_front() {
            self.number += 1;
            self.members.insert(name, Member { comm, size: members.len() as u32 });
        }
    }

    fn returned(&mut self, done: &Completion) {
        if let Some(walk) = &mut self.walk {
            walk.returned(done);
        }
    }

    fn warnings(&self) -> Vec<String> {
        let missing = self.nodes.missing;
        if missing == 0 {
            return Vec::new();
        }
        vec![format!(
            "{}: {missing} dependencies on nodes that are not in the trace are taken to be met",
            self.file
        )]
    }

    fn share_read(&self) -> f64 {
        self.walk.as_ref().map_or(0.0, |walk| walk.share_read())
    }
}
