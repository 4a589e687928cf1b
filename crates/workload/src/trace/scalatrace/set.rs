//! The files of a run, and the ranks of each.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::registry::Entry;
use mpi::{Op, Rank};

use super::event::{self, Event};
use super::translate::Translator;
use crate::trace::Format;
use crate::trace::error::TraceError;
use crate::trace::input::TraceFile;
use crate::trace::set::{Clocks, RankCalls, RankSummary, RecordedCalls, Summary, TraceSet, until_error};

/// The entry of this format.
pub const FORMAT: Entry<Format> = Entry {
    name: "scalatrace",
    summary: "ScalaTrace 2, one text file per rank or one of all ranks",
    source: "Wu, Mueller, \"Elastic and scalable tracing and accurate replay of non-deterministic events\" (ICS 2013)",
    parameters: &[],
    examples: &[""],
    build: Format { recognise, open: |files| Ok(Arc::new(ScalaTraceSet::open(files)?)) },
};

/// Length of the head from which the format is told \[bytes\].
const LOOK: usize = 1 << 16;

/// A file with its events.
pub struct Parsed {
    pub file: TraceFile,
    pub events: Arc<[Event]>,
}

/// A recorded run.
pub struct ScalaTraceSet {
    /// The file of each rank.
    of_rank: Vec<Arc<Parsed>>,
}

/// True if the first two lines are those of an event: its ranks and its number.
fn recognise(file: &TraceFile) -> Result<bool, TraceError> {
    if file.peek(0, 6)? != b"RANKS:" {
        return Ok(false);
    }
    let begin = file.peek(0, LOOK)?;
    Ok(String::from_utf8_lossy(&begin).lines().nth(1).is_some_and(|line| line.starts_with("EVENT")))
}

impl ScalaTraceSet {
    /// Opens the traces among `files`, which must be of one run and complete.
    pub fn open(files: Vec<TraceFile>) -> Result<ScalaTraceSet, TraceError> {
        let mut found: BTreeMap<u32, Arc<Parsed>> = BTreeMap::new();
        for file in files {
            if !recognise(&file)? {
                continue;
            }
            let events = event::read(&file)?;
            let ranks = events.first().map(|first| first.ranks.all()).unwrap_or_default();
            if ranks.is_empty() {
                return Err(TraceError::new(&*file.name, "holds no event of any rank"));
            }
            let parsed = Arc::new(Parsed { events: events.into(), file });
            for rank in ranks {
                if let Some(other) = found.insert(rank, parsed.clone()) {
                    let reason =
                        format!("has rank {rank}, but so has {}: two runs; name one", other.file.name);
                    return Err(TraceError::new(&*parsed.file.name, reason));
                }
            }
        }
        let Some((last, parsed)) = found.last_key_value() else {
            return Err(TraceError::new("ScalaTrace trace", "holds no event"));
        };
        if let Some(missing) = (0..*last).find(|rank| !found.contains_key(rank)) {
            let reason = format!("has rank {last}, but rank {missing} is missing");
            return Err(TraceError::new(&*parsed.file.name, reason));
        }
        Ok(ScalaTraceSet { of_rank: found.into_values().collect() })
    }

    fn translator(&self, rank: Rank) -> Result<Translator, TraceError> {
        let ranks = self.ranks();
        let parsed = self.of_rank.get(rank.0 as usize).ok_or_else(|| {
            TraceError::new("ScalaTrace trace", format!("rank {} is not among {ranks}", rank.0))
        })?;
        Ok(Translator::new(parsed.clone(), rank.0, ranks))
    }
}

impl TraceSet for ScalaTraceSet {
    fn format(&self) -> &'static str {
        FORMAT.name
    }
    fn ranks(&self) -> u32 {
        self.of_rank.len() as u32
    }
    fn hosts(&self) -> Vec<String> {
        vec![String::new(); self.of_rank.len()]
    }
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }
    fn common_time(&self) -> bool {
        false
    }
    fn replayable(&self) -> Result<(), TraceError> {
        Ok(())
    }

    fn summary(&self, _: Clocks) -> Result<Summary, TraceError> {
        let mut counts: BTreeMap<&'static str, u64> = BTreeMap::new();
        let mut ranks = Vec::with_capacity(self.of_rank.len());
        for rank in 0..self.ranks() {
            let mut translator = self.translator(Rank(rank))?;
            let mut sum = RankSummary::begin(String::new());
            while let Some(step) = translator.next()? {
                sum.first_call = sum.first_call.min(step.call.begin);
                sum.last_return = step.call.end;
                sum.in_mpi += step.call.end.since(step.call.begin);
                sum.calls += 1;
                *counts.entry(step.call.name).or_default() += 1;
                match step.op {
                    Op::Send(send, _) => {
                        sum.messages += 1;
                        sum.bytes = sum.bytes.saturating_add(send.bytes.0);
                    }
                    // Nothing creates a communicator here, but later calls may name it.
                    Op::NewComm(..) => translator.made(mpi::operation::CommId::WORLD),
                    _ => {}
                }
            }
            sum.first_call = sum.first_call.min(sum.last_return);
            ranks.push(sum);
        }
        Ok(Summary { ranks, calls: counts.into_iter().collect() })
    }

    fn recorded_calls(&self, rank: Rank, _: Clocks) -> Result<RecordedCalls, TraceError> {
        let mut translator = self.translator(rank)?;
        Ok(Box::new(until_error(move || {
            let step = translator.next()?;
            if let Some(Op::NewComm(..)) = step.as_ref().map(|step| &step.op) {
                translator.made(mpi::operation::CommId::WORLD);
            }
            Ok(step.map(|step| step.call))
        })))
    }

    fn calls(&self, rank: Rank, _: Clocks) -> Result<Box<dyn RankCalls>, TraceError> {
        Ok(Box::new(self.translator(rank)?))
    }
}
