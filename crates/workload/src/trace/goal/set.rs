//! A GOAL file: the places of its ranks, and their schedules.

use std::sync::Arc;

use engine::Time;
use engine::registry::Entry;
use mpi::Rank;

use super::schedule::Uses;
use super::{binary, text};
use crate::trace::Format;
use crate::trace::error::TraceError;
use crate::trace::graph::{Graph, Walk, Work};
use crate::trace::input::TraceFile;
use crate::trace::lines::Part;
use crate::trace::set::{Clocks, RankCalls, RankSummary, RecordedCall, RecordedCalls, Summary, TraceSet};

/// The entry of this format.
pub const FORMAT: Entry<Format> = Entry {
    name: "goal",
    summary: "GOAL schedules of LogGOPSim, text or binary, one file",
    source: "Hoefler, Siebert, Lumsdaine, Group Operation Assembly Language (ICPP 2009); LogGOPSim's txt2bin",
    parameters: &[],
    examples: &[""],
    build: Format { recognise, open: |files| Ok(Arc::new(GoalSet::open(files)?)) },
};

/// Length of the beginning of a file that format detection looks at \[bytes\].
const LOOK: usize = 4096;

/// Places of the ranks in the file.
enum Ranks {
    Text(Vec<Part>),
    Binary(u32),
}

/// A schedule.
pub struct GoalSet {
    file: TraceFile,
    ranks: Ranks,
    summary: Summary,
    warnings: Vec<String>,
}

/// Names of the kinds of nodes, in terms of MPI.
const NAMES: [&str; 3] = ["MPI_Irecv", "MPI_Isend", "calc"];

fn kind(node: &Work) -> usize {
    match node {
        Work::Receive { .. } => 0,
        Work::Send { .. } => 1,
        Work::Compute { .. } => 2,
        Work::Collective(_) => unreachable!("GOAL has no collectives"),
    }
}

fn is_binary(file: &TraceFile) -> Result<bool, TraceError> {
    let begin = file.peek(0, 8)?;
    Ok([binary::MAGIC, binary::USED_UP].iter().any(|magic| begin == magic.to_le_bytes()))
}

/// True if the file begins like one of the two forms; the text begins with "num_ranks", after comments.
fn recognise(file: &TraceFile) -> Result<bool, TraceError> {
    if is_binary(file)? {
        return Ok(true);
    }
    let begin = file.peek(0, LOOK)?;
    let begin = String::from_utf8_lossy(&begin);
    let mut left = begin.trim_start();
    loop {
        left = match left {
            _ if left.starts_with("//") => left.split_once('\n').map_or("", |(_, rest)| rest),
            _ if left.starts_with("/*") => left.split_once("*/").map_or("", |(_, rest)| rest),
            _ => break,
        }
        .trim_start();
    }
    Ok(left.strip_prefix("num_ranks").is_some_and(|rest| rest.starts_with([' ', '\t'])))
}

impl GoalSet {
    /// Opens the one schedule among `files`.
    pub fn open(files: Vec<TraceFile>) -> Result<GoalSet, TraceError> {
        let mut schedules = Vec::new();
        for file in files {
            if recognise(&file)? {
                schedules.push(file);
            }
        }
        if let [one, other, ..] = &schedules[..] {
            let reason = format!("one of several schedules, another is {}; name one", other.name);
            return Err(TraceError::new(&*one.name, reason));
        }
        let file = schedules.pop().ok_or_else(|| TraceError::new("no files", "no GOAL schedule"))?;
        let ranks = if is_binary(&file)? {
            Ranks::Binary(binary::ranks(&file)?)
        } else {
            Ranks::Text(text::find_ranks(&file)?)
        };
        let mut set = GoalSet {
            file,
            ranks,
            summary: Summary { ranks: Vec::new(), calls: Vec::new() },
            warnings: Vec::new(),
        };
        set.sum_up()?;
        Ok(set)
    }

    /// Reads the whole schedule.
    fn sum_up(&mut self) -> Result<(), TraceError> {
        let mut counts = [0_u64; 3];
        let (mut processor, mut nic) = (0, 0);
        for rank in 0..self.ranks() {
            let (graph, uses) = self.read(Rank(rank))?;
            processor = uses.processor.max(processor);
            nic = uses.nic.max(nic);
            let nodes = graph.nodes();
            self.summary.ranks.push(RankSummary::untimed(nodes.len() as u64, uses.messages, uses.bytes));
            for node in nodes {
                counts[kind(node)] += 1;
            }
        }
        let counted = NAMES.iter().zip(counts).filter(|(_, count)| *count > 0);
        self.summary.calls = counted.map(|(name, count)| (*name, count)).collect();
        if processor > 0 {
            self.warnings.push(format!(
                "ranks compute on up to {} processors at a time; a message that arrives while one computes is seen when \
                 one of them ends",
                u32::from(processor) + 1
            ));
        }
        if nic > 0 {
            self.warnings.push(format!("NIC numbers up to {nic} are left to the platform, which chooses"));
        }
        Ok(())
    }

    fn read(&self, rank: Rank) -> Result<(Graph, Uses), TraceError> {
        let ranks = self.ranks();
        if rank.0 >= ranks {
            return Err(TraceError::new(&*self.file.name, format!("rank {} is not among {ranks}", rank.0)));
        }
        match &self.ranks {
            Ranks::Text(parts) => text::read(&parts[rank.0 as usize], ranks),
            Ranks::Binary(_) => binary::read(&self.file, rank.0, ranks),
        }
    }
}

impl TraceSet for GoalSet {
    fn format(&self) -> &'static str {
        FORMAT.name
    }
    fn ranks(&self) -> u32 {
        match &self.ranks {
            Ranks::Text(parts) => parts.len() as u32,
            Ranks::Binary(ranks) => *ranks,
        }
    }
    fn hosts(&self) -> Vec<String> {
        vec![String::new(); self.ranks() as usize]
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
        Ok(Some(self.read(rank)?.0))
    }
    fn node_name(&self, rank: Rank, number: u64) -> Result<Option<String>, TraceError> {
        match &self.ranks {
            Ranks::Text(parts) => {
                parts.get(rank.0 as usize).map_or(Ok(None), |part| text::name(part, self.ranks(), number))
            }
            Ranks::Binary(_) => Ok(None),
        }
    }
    fn replayable(&self) -> Result<(), TraceError> {
        Ok(())
    }
    fn summary(&self, _: Clocks) -> Result<Summary, TraceError> {
        Ok(self.summary.clone())
    }

    fn recorded_calls(&self, rank: Rank, _: Clocks) -> Result<RecordedCalls, TraceError> {
        let (graph, _) = self.read(rank)?;
        let names: Vec<_> = graph.nodes().iter().map(|node| NAMES[kind(node)]).collect();
        Ok(Box::new(
            names.into_iter().map(|name| Ok(RecordedCall { name, begin: Time::ZERO, end: Time::ZERO })),
        ))
    }

    fn calls(&self, rank: Rank, _: Clocks) -> Result<Box<dyn RankCalls>, TraceError> {
        let (graph, _) = self.read(rank)?;
        Ok(Box::new(Walk::new(Arc::new(graph), Vec::new())))
    }
}
