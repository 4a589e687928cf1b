//! Files of a run, and the parts of them that hold the actions of each rank.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::FlopRate;
use engine::registry::Entry;
use mpi::{Op, Rank};

use super::action::find;
use super::translate::{Run, Translator};
use crate::trace::error::TraceError;
use crate::trace::hct::write::Translated;
use crate::trace::input::TraceFile;
use crate::trace::lines::{Lines, Part};
use crate::trace::set::{
    Clocks, Events, Listing, RankCalls, RankSummary, RecordedCalls, Summary, TraceSet, until_error,
};
use crate::trace::{Format, SharedSet};

/// The entry of this format.
pub const FORMAT: Entry<Format> = Entry {
    name: "simgrid",
    summary: "SimGrid's time-independent traces: text, an action a line",
    source: "SimGrid 3.36, smpi_replay: the actions and their arguments",
    parameters: &[],
    examples: &[""],
    build: Format { recognise, open: |files| Ok(Arc::new(SimgridSet::open(files)?)) },
};

/// Length of the beginning of a file that format detection looks at \[bytes\].
const LOOK: usize = 4096;

/// A recorded run.
#[derive(Clone)]
pub struct SimgridSet {
    /// Part of a file for each rank: from its first to its last line.
    parts: Vec<Part>,
    untagged: bool,
    /// Rate of computing; `None` for the platform's.
    rate: Option<FlopRate>,
}

/// True if the first line that is not empty is an action of a rank.
fn recognise(file: &TraceFile) -> Result<bool, TraceError> {
    let begin = file.peek(0, LOOK)?;
    let begin = String::from_utf8_lossy(&begin);
    let first = begin.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
    let mut words = first.unwrap_or_default().split_whitespace();
    let is_rank = words.next().is_some_and(|word| word.parse::<u32>().is_ok());
    Ok(is_rank && words.next().is_some_and(|word| find(word).is_ok()))
}

impl SimgridSet {
    /// Opens the traces among `files`, which must be of one run.
    pub fn open(files: Vec<TraceFile>) -> Result<SimgridSet, TraceError> {
        let mut parts: BTreeMap<u32, Part> = BTreeMap::new();
        let mut untagged = false;
        for file in files {
            if recognise(&file)? {
                untagged |= find_ranks(&file, &mut parts)?;
            }
        }
        let last = parts.last_key_value().map_or(0, |(rank, _)| *rank);
        let missing = (0..=last).find(|rank| !parts.contains_key(rank));
        if let Some(missing) = missing {
            let name = parts[&last].file.name.to_string();
            return Err(TraceError::new(name, format!("has rank {last}, but rank {missing} is missing")));
        }
        Ok(SimgridSet { parts: parts.into_values().collect(), untagged, rate: None })
    }

    /// Translator for a replay.
    fn translator(&self, rank: Rank) -> Result<Translator, TraceError> {
        self.translator_that(rank, true)
    }

    /// Translator for a conversion to another format.
    fn translated(&self, rank: Rank) -> Result<Translated, TraceError> {
        Ok(Translated::new(Box::new(self.translator_that(rank, false)?)))
    }

    fn translator_that(&self, rank: Rank, asks: bool) -> Result<Translator, TraceError> {
        let ranks = self.ranks();
        let part = self.parts.get(rank.0 as usize).ok_or_else(|| {
            TraceError::new("SimGrid trace", format!("rank {} is not among {ranks}", rank.0))
        })?;
        let run = Run { rank: rank.0, ranks, untagged: self.untagged, asks, rate: self.rate };
        Ok(Translator::new(Lines::one_of(ranks, part.clone()), run))
    }
}

/// Finds the parts of the ranks in `file`. Returns true if messages have no tags: two arguments instead of three, or
/// the capitals of the versions that had no tags.
fn find_ranks(file: &TraceFile, parts: &mut BTreeMap<u32, Part>) -> Result<bool, TraceError> {
    let mut lines = Lines::new(Part::whole(file.clone()));
    let mut untagged = false;
    loop {
        let from = lines.position();
        if !lines.advance()? {
            return Ok(untagged);
        }
        let mut words = lines.text().split_whitespace();
        let Some(first) = words.next().filter(|word| !word.starts_with('#')) else { continue };
        let rank: u32 =
            first.parse().map_err(|_| lines.error(format!("begins with '{first}', which is no rank")))?;
        let word = words.next().unwrap_or_default();
        let action = find(word).map_err(|reason| lines.error(reason))?;
        let is_message = ["send", "isend", "recv", "irecv"].contains(&action.keyword);
        untagged |= word.bytes().any(|byte| byte.is_ascii_uppercase()) || is_message && words.count() < 3;
        let part = parts.entry(rank).or_insert_with(|| Part {
            file: file.clone(),
            from,
            to: from,
            lines_before: lines.number() - 1,
        });
        if part.file.name != file.name {
            let reason =
                format!("has rank {rank}, but so has {}: two runs; name the files of one", part.file.name);
            return Err(TraceError::new(&*file.name, reason));
        }
        part.to = lines.position();
    }
}

impl TraceSet for SimgridSet {
    fn format(&self) -> &'static str {
        FORMAT.name
    }
    fn ranks(&self) -> u32 {
        self.parts.len() as u32
    }
    fn hosts(&self) -> Vec<String> {
        vec![String::new(); self.parts.len()]
    }
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }
    fn timed(&self) -> bool {
        false
    }
    fn replayable(&self) -> Result<(), TraceError> {
        Ok(())
    }
    fn at_rate(&self, rate: FlopRate) -> Option<SharedSet> {
        Some(Arc::new(SimgridSet { rate: Some(rate), ..self.clone() }))
    }

    fn listing(&self, rank: Rank, _: Clocks) -> Result<Listing, TraceError> {
        let mut calls = self.translated(rank)?;
        Ok(Box::new(until_error(move || calls.list())))
    }

    fn events(&self, rank: Rank, _: Clocks) -> Result<Events, TraceError> {
        let mut calls = self.translated(rank)?;
        Ok(Box::new(until_error(move || calls.read())))
    }

    fn summary(&self, _: Clocks) -> Result<Summary, TraceError> {
        let mut counts: BTreeMap<&'static str, u64> = BTreeMap::new();
        let mut ranks = Vec::new();
        for rank in 0..self.ranks() {
            let mut translator = self.translator(Rank(rank))?;
            let mut summary = RankSummary::untimed(0, 0, 0);
            while let Some(step) = translator.next()? {
                summary.calls += 1;
                *counts.entry(step.call.name).or_default() += 1;
                if let Op::Send(send, _) = step.op {
                    summary.messages += 1;
                    summary.bytes += send.bytes.0;
                }
            }
            ranks.push(summary);
        }
        Ok(Summary { ranks, calls: counts.into_iter().collect() })
    }

    fn recorded_calls(&self, rank: Rank, _: Clocks) -> Result<RecordedCalls, TraceError> {
        let mut translator = self.translator(rank)?;
        let mut ended = false;
        Ok(Box::new(std::iter::from_fn(move || {
            let call = if ended {
                None
            } else {
                translator.next().map(|step| step.map(|step| step.call)).transpose()
            };
            ended = !matches!(call, Some(Ok(_)));
            call
        })))
    }

    fn calls(&self, rank: Rank, _: Clocks) -> Result<Box<dyn RankCalls>, TraceError> {
        Ok(Box::new(self.translator(rank)?))
    }
}
