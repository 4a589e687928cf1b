//! A Chakra set: the files of all ranks.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::Time;
use engine::registry::Entry;
use mpi::Rank;

use super::nodes::Nodes;
use super::parts::{Kind, UNKNOWN};
use super::replay::Replay;
use super::schedule::collective_kind;
use super::{json, proto};
use crate::trace::Format;
use crate::trace::error::TraceError;
use crate::trace::graph::Graph;
use crate::trace::input::TraceFile;
use crate::trace::set::{Clocks, RankCalls, RankSummary, RecordedCall, RecordedCalls, Summary, TraceSet};

/// The entry of this format.
pub const FORMAT: Entry<Format> = Entry {
    name: "chakra",
    summary: "MLCommons Chakra execution traces, one .et or .json file per rank",
    source: "Sridharan et al., Chakra: Advancing Performance Benchmarking and Co-design using Standardized Execution \
             Traces (2023); schema 0.0.4",
    parameters: &[],
    examples: &[""],
    build: Format { recognise, open: |files| Ok(Arc::new(ChakraSet::open(files)?)) },
};

fn recognise(file: &TraceFile) -> Result<bool, TraceError> {
    Ok(json::recognise(file)? || json::is_unconverted(file)? || proto::recognise(file)?)
}

/// A recorded run.
pub struct ChakraSet {
    files: Vec<TraceFile>,
    warnings: Vec<String>,
    /// Reason why the set cannot be replayed, if it cannot.
    incomplete: Option<TraceError>,
}

/// Name of a file up to its rank, and the rank: `NAME.RANK.et`.
fn numbered(file: &TraceFile) -> Option<(&str, u32)> {
    let stem = file.name.rsplit_once('.')?.0;
    let (prefix, rank) = stem.rsplit_once('.')?;
    Some((prefix, rank.parse().ok()?))
}

impl ChakraSet {
    /// Opens the traces among `files`, which must be of one run and complete.
    pub fn open(files: Vec<TraceFile>) -> Result<ChakraSet, TraceError> {
        let mut by_rank: BTreeMap<u32, TraceFile> = BTreeMap::new();
        let mut prefix: Option<String> = None;
        for file in files {
            if json::is_unconverted(&file)? && !json::recognise(&file)? {
                let reason = "this is what PyTorch's observer wrote; chakra_trace_link and chakra_converter of \
                              MLCommons' Chakra make a trace of it";
                return Err(TraceError::new(&*file.name, reason));
            }
            if !recognise(&file)? {
                continue;
            }
            let (name, rank) = numbered(&file).ok_or_else(|| {
                TraceError::new(&*file.name, "the name lacks the rank: NAME.RANK.et or NAME.RANK.json")
            })?;
            if prefix.get_or_insert_with(|| name.to_string()) != name {
                let other = by_rank.values().next().map_or("", |file| &file.name);
                let reason = format!("two runs in one folder, the other is {other}; name a file of one");
                return Err(TraceError::new(&*file.name, reason));
            }
            if let Some(other) = by_rank.insert(rank, file.clone()) {
                let reason = format!("two files of rank {rank}, the other is {}", other.name);
                return Err(TraceError::new(&*file.name, reason));
            }
        }
        let absent = by_rank.keys().zip(0..).find(|(rank, place)| *rank != place).map(|(_, place)| place);
        if let Some(rank) = absent {
            let last = by_rank.values().next_back().map_or("", |file| &file.name);
            return Err(TraceError::new(last, format!("there is no file of rank {rank}")));
        }
        let mut set =
            ChakraSet { files: by_rank.into_values().collect(), warnings: Vec::new(), incomplete: None };
        set.check()?;
        Ok(set)
    }

    /// Checks the number of files against what the first rank's trace says of the run.
    fn check(&mut self) -> Result<(), TraceError> {
        let nodes = Nodes::read(&self.files[0])?;
        let here = self.files.len() as u32;
        let file = &*self.files[0].name;
        let communicates = nodes.nodes.iter().filter(|node| node.kind != Kind::Compute).count();
        if let Some(ranks) = nodes.ranks.filter(|ranks| *ranks != here) {
            let reason = format!("the run had {ranks} ranks, but there are files of {here}");
            self.incomplete = Some(TraceError::new(file, reason));
        } else if let Some(node) = nodes.nodes.iter().find(|node| node.kind == Kind::Collective(UNKNOWN)) {
            let reason = format!("node {} does not say which collective it is (comm_type)", node.id);
            self.incomplete = Some(TraceError::new(file, reason));
        } else if here == 1 && communicates > 0 {
            let reason =
                format!("{communicates} nodes communicate, but there are no files of other ranks than 0");
            self.incomplete = Some(TraceError::new(file, reason));
        }
        let without = nodes.nodes.iter().filter(|node| node.kind == Kind::Compute && node.duration_us == 0);
        let without = without.count();
        if without > 0 {
            self.warnings.push(format!(
                "{file}: {without} of {} nodes are computations without a duration: they take no time",
                nodes.nodes.len()
            ));
        }
        Ok(())
    }

    fn file(&self, rank: Rank) -> Result<&TraceFile, TraceError> {
        let missing =
            || TraceError::new("Chakra set", format!("rank {} is not among {}", rank.0, self.files.len()));
        self.files.get(rank.0 as usize).ok_or_else(missing)
    }
}

fn name(kind: &Kind) -> &'static str {
    match kind {
        Kind::Compute => "compute",
        Kind::Send(_) => "MPI_Isend",
        Kind::Receive(_) => "MPI_Irecv",
        Kind::Collective(number) => {
            collective_kind(*number).map_or("collective", |kind| kind.nonblocking_function())
        }
    }
}

impl TraceSet for ChakraSet {
    fn format(&self) -> &'static str {
        FORMAT.name
    }
    fn ranks(&self) -> u32 {
        self.files.len() as u32
    }
    fn hosts(&self) -> Vec<String> {
        vec![String::new(); self.files.len()]
    }
    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }
    fn timed(&self) -> bool {
        false
    }
    fn ordered(&self) -> bool {
        false
    }
    fn graph(&self, rank: Rank) -> Result<Option<Graph>, TraceError> {
        let file = self.file(rank)?;
        Replay::new(file.name.clone(), rank.0, self.ranks(), Nodes::read(file)?)?.graph().map(Some)
    }
    fn node_name(&self, rank: Rank, number: u64) -> Result<Option<String>, TraceError> {
        let nodes = Nodes::read(self.file(rank)?)?.nodes;
        let node = number.checked_sub(1).and_then(|at| nodes.get(usize::try_from(at).ok()?));
        Ok(node.map(|node| format!("node {}", node.id)))
    }
    fn replayable(&self) -> Result<(), TraceError> {
        self.incomplete.clone().map_or(Ok(()), Err)
    }

    fn summary(&self, _: Clocks) -> Result<Summary, TraceError> {
        let mut counts: BTreeMap<&'static str, u64> = BTreeMap::new();
        let mut ranks = Vec::with_capacity(self.files.len());
        for file in &self.files {
            let nodes = Nodes::read(file)?.nodes;
            let sends = nodes.iter().filter(|node| matches!(node.kind, Kind::Send(_)));
            let (messages, bytes) =
                sends.fold((0, 0_u64), |(count, bytes), node| (count + 1, bytes.saturating_add(node.bytes)));
            nodes.iter().for_each(|node| *counts.entry(name(&node.kind)).or_default() += 1);
            ranks.push(RankSummary::untimed(nodes.len() as u64, messages, bytes));
        }
        Ok(Summary { ranks, calls: counts.into_iter().collect() })
    }

    fn recorded_calls(&self, rank: Rank, _: Clocks) -> Result<RecordedCalls, TraceError> {
        let nodes = Nodes::read(self.file(rank)?)?.nodes;
        let call = |name| Ok(RecordedCall { name, begin: Time::ZERO, end: Time::ZERO });
        Ok(Box::new(nodes.into_iter().map(move |node| call(name(&node.kind)))))
    }

    fn calls(&self, rank: Rank, _: Clocks) -> Result<Box<dyn RankCalls>, TraceError> {
        let file = self.file(rank)?;
        let nodes = Nodes::read(file)?;
        Ok(Box::new(Replay::new(file.name.clone(), rank.0, self.ranks(), nodes)?))
    }
}
