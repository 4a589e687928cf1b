//! A DUMPI set: the files of all ranks, and the facts about the run that they give together.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::Duration;
use engine::registry::Entry;
use mpi::Rank;

use super::calls::{CALLS, COUNTED};
use super::clock;
use super::datatypes::Datatypes;
use super::file::DumpiFile;
use super::names::COMM_WORLD;
use super::naming::{Meta, by_rank, numbered};
use super::record::{Record, Records};
use super::translate::{Run, Translator};
use crate::trace::Format;
use crate::trace::clock::{ClockTable, FARTHEST, Times};
use crate::trace::error::TraceError;
use crate::trace::input::TraceFile;
use crate::trace::replay::Wildcards;
use crate::trace::set::{
    Alone, Clocks, RankCalls, RankSummary, RecordedCall, RecordedCalls, Summary, TraceSet,
};

/// The entry of this format.
pub const FORMAT: Entry<Format> = Entry {
    name: "dumpi",
    summary: "SST DUMPI, one .bin file per rank",
    source: "sst-dumpi 1.1: the binary trace format of the Structural Simulation Toolkit",
    parameters: &[],
    examples: &[""],
    build: Format { recognise: DumpiFile::recognise, open: |files| Ok(Arc::new(DumpiSet::open(files)?)) },
};

/// Buffers of all ranks together [bytes].
const BUFFERS: usize = 256 << 20;
/// The largest and the smallest buffer of one rank [bytes].
const LARGEST_BUFFER: usize = 64 << 10;
const SMALLEST_BUFFER: usize = 4 << 10;

/// Calls whose counterpart the simulated MPI does not have: they make communicators out of processes
/// that the trace does not show, or between two groups.
const NOT_REPLAYABLE: &[&str] = &[
    "MPI_Intercomm_create",
    "MPI_Intercomm_merge",
    "MPI_Comm_accept",
    "MPI_Comm_connect",
    "MPI_Comm_join",
    "MPI_Comm_spawn",
    "MPI_Comm_spawn_multiple",
];

/// A recorded run.
pub struct DumpiSet {
    files: Vec<DumpiFile>,
    recorded: ClockTable,
    aligned: ClockTable,
    warnings: Vec<String>,
    /// The rank, if this is the file of one rank alone.
    alone: Option<Alone>,
    /// Least time of any rank in MPI_Finalize.
    shutdown: Duration,
}

impl DumpiSet {
    /// Opens the `.bin` files among `files`, which must be of one run and complete.
    pub fn open(files: Vec<TraceFile>) -> Result<DumpiSet, TraceError> {
        let mut metas = files.iter().filter(|file| file.name.ends_with(".meta"));
        let meta = metas.next();
        if let (Some(one), Some(other)) = (meta, metas.next()) {
            let reason =
                format!("two runs in one folder, the other is {}; name the .meta of one", other.name);
            return Err(TraceError::new(&*one.name, reason));
        }
        let meta = meta.map(Meta::read).transpose()?;
        let files = by_rank(files, meta.as_ref())?;
        let files: Vec<_> = files.into_iter().map(DumpiFile::open).collect::<Result<_, _>>()?;
        let buffer = (BUFFERS / files.len()).clamp(SMALLEST_BUFFER, LARGEST_BUFFER);
        let alone = match &files[..] {
            [only] => alone(only, buffer)?,
            _ => None,
        };
        let finalized = files.iter().map(DumpiFile::finalize_time).collect::<Result<Option<Vec<_>>, _>>()?;
        let shutdown = finalized.and_then(|all| all.into_iter().min()).unwrap_or(Duration::ZERO);
        let (recorded, aligned, mut warnings) = clock::read(&files, buffer)?;
        let cut: Vec<_> = files.iter().filter(|file| file.count_of("MPI_Finalize") == 0).collect();
        if let Some(first) = cut.first() {
            let name = &first.file.name;
            warnings.push(format!(
                "{} of {} ranks end without MPI_Finalize (first {name}): the recording may be incomplete",
                cut.len(),
                files.len()
            ));
        }
        warnings.extend(unsimulated(&files));
        Ok(DumpiSet { files, recorded, aligned, warnings, alone, shutdown })
    }

    /// The file of each rank.
    pub fn files(&self) -> &[DumpiFile] {
        &self.files
    }

    fn buffer(&self) -> usize {
        (BUFFERS / self.files.len()).clamp(SMALLEST_BUFFER, LARGEST_BUFFER)
    }

    fn clocks(&self, clocks: Clocks) -> &ClockTable {
        match clocks {
            Clocks::Aligned => &self.aligned,
            Clocks::Recorded => &self.recorded,
        }
    }

    fn file(&self, rank: Rank) -> Result<&DumpiFile, TraceError> {
        let missing =
            || TraceError::new("DUMPI set", format!("rank {} is not among {}", rank.0, self.files.len()));
        self.files.get(rank.0 as usize).ok_or_else(missing)
    }
}

impl TraceSet for DumpiSet {
    fn format(&self) -> &'static str {
        FORMAT.name
    }
    fn ranks(&self) -> u32 {
        self.files.len() as u32
    }
    fn hosts(&self) -> Vec<String> {
        self.files.iter().map(|file| file.header.host.clone()).collect()
    }
    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    fn alone(&self) -> Option<Alone> {
        self.alone
    }

    fn shutdown(&self) -> Duration {
        self.shutdown
    }

    fn replayable(&self) -> Result<(), TraceError> {
        if let Some(alone) = self.alone {
            return Err(alone.refused(&self.files[0].file.name));
        }
        for file in &self.files {
            if let Some(name) = NOT_REPLAYABLE.iter().find(|name| file.count_of(name) > 0) {
                return Err(TraceError::new(
                    &*file.file.name,
                    format!(
                        "calls {name}, which has no counterpart in the simulated MPI: cannot be replayed"
                    ),
                ));
            }
        }
        Ok(())
    }

    fn summary(&self, clocks: Clocks) -> Result<Summary, TraceError> {
        let mut counts = vec![0; COUNTED];
        let ranks = self.files.iter().enumerate().map(|(rank, file)| {
            summarise(file, self.clocks(clocks), rank as u32, self.buffer(), &mut counts)
        });
        let ranks = ranks.collect::<Result<Vec<_>, _>>()?;
        let mut calls: Vec<_> =
            CALLS.iter().zip(counts).filter(|(_, n)| *n > 0).map(|(call, n)| (call.name, n)).collect();
        calls.sort_unstable();
        Ok(Summary { ranks, calls })
    }

    fn recorded_calls(&self, rank: Rank, clocks: Clocks) -> Result<RecordedCalls, TraceError> {
        let records = self.file(rank)?.records(self.buffer())?;
        let times = self.clocks(clocks).of_rank(rank.0);
        Ok(Box::new(Calls { records, times, ended: false }))
    }

    fn calls(&self, rank: Rank, clocks: Clocks) -> Result<Box<dyn RankCalls>, TraceError> {
        self.translated(rank, clocks, Wildcards::Recorded)
    }

    fn calls_matched_anew(&self, rank: Rank, clocks: Clocks) -> Result<Box<dyn RankCalls>, TraceError> {
        self.translated(rank, clocks, Wildcards::Anew)
    }
}

impl DumpiSet {
    fn translated(
        &self,
        rank: Rank,
        clocks: Clocks,
        wildcards: Wildcards,
    ) -> Result<Box<dyn RankCalls>, TraceError> {
        let Alone { rank: own, ranks } = self.alone.unwrap_or(Alone { rank: rank.0, ranks: self.ranks() });
        let run = Run {
            rank: own,
            ranks,
            all_finalize: self.files.iter().all(|file| file.count_of("MPI_Finalize") > 0),
            wildcards,
        };
        let times = self.clocks(clocks).of_rank(rank.0);
        Ok(Box::new(Translator::new(self.file(rank)?.clone(), run, times, self.buffer())?))
    }
}

/// Rank of a single file, and the number of ranks if MPI_Comm_size and MPI_Comm_rank of the world among its first
/// calls say that there were more. The file's name may state the rank, too.
fn alone(file: &DumpiFile, buffer: usize) -> Result<Option<Alone>, TraceError> {
    let (mut rank, mut ranks) = (numbered(&file.file).map(|(_, rank)| rank), None);
    let mut records = file.records(buffer)?;
    for _ in 0..FARTHEST {
        let Some(record) = records.next()? else { break };
        if record.number("comm") != Some(COMM_WORLD) {
            continue;
        }
        let number = |key| record.number(key).and_then(|number| u32::try_from(number).ok());
        match record.call().name {
            "MPI_Comm_size" => ranks = ranks.or(number("size")),
            "MPI_Comm_rank" => rank = rank.or(number("rank")),
            _ => {}
        }
        if rank.is_some() && ranks.is_some() {
            break;
        }
    }
    let rank = rank.unwrap_or(0);
    let ranks = ranks.unwrap_or(1).max(rank.saturating_add(1));
    Ok((ranks > 1).then_some(Alone { rank, ranks }))
}

/// True if a record is a call of MPI, not of a function of the program.
pub(super) fn is_mpi(record: &Record) -> bool {
    usize::from(record.function) < COUNTED
}

/// Name and times of the recorded call.
pub(super) fn call(times: Times, record: &Record, file: &str) -> Result<RecordedCall, TraceError> {
    let time = |ns: i64| {
        times
            .time(ns)
            .map_err(|reason| TraceError::at(file, record.offset, format!("{} {reason}", record.call().name)))
    };
    let [begin, end] = record.wall_ns;
    Ok(RecordedCall { name: record.call().name, begin: time(begin)?, end: time(end)? })
}

struct Calls {
    records: Records,
    times: Times,
    ended: bool,
}

impl Iterator for Calls {
    type Item = Result<RecordedCall, TraceError>;
    fn next(&mut self) -> Option<Self::Item> {
        while !self.ended {
            let name = self.records.file_name();
            let call = match self.records.next() {
                Ok(Some(record)) if !is_mpi(record) => continue,
                Ok(Some(record)) => call(self.times, record, &name),
                Ok(None) => return None,
                Err(error) => Err(error),
            };
            self.ended = call.is_err();
            return Some(call);
        }
        None
    }
}

fn summarise(
    file: &DumpiFile,
    clocks: &ClockTable,
    rank: u32,
    buffer: usize,
    counts: &mut [u64],
) -> Result<RankSummary, TraceError> {
    let mut types = Datatypes::new(&file.sizes);
    let mut records = file.records(buffer)?;
    let times = clocks.of_rank(rank);
    let mut summary = RankSummary::begin(file.header.host.clone());
    while let Some(record) = records.next()? {
        if !is_mpi(record) {
            continue;
        }
        types.observe(record);
        let call = call(times, record, &file.file.name)?;
        summary.first_call = summary.first_call.min(call.begin);
        summary.last_return = summary.last_return.max(call.end);
        summary.in_mpi += call.end.since(call.begin);
        summary.calls += 1;
        counts[usize::from(record.function)] += 1;
        if let Some((count, datatype)) = sent(record) {
            summary.messages += 1;
            let bytes = count.saturating_mul(types.size(datatype).unwrap_or(0));
            summary.bytes = summary.bytes.saturating_add(bytes);
        }
    }
    summary.first_call = summary.first_call.min(summary.last_return);
    Ok(summary)
}

/// Count and datatype of the message that the call sends; `None` if it sends none, or to MPI_PROC_NULL.
fn sent(record: &Record) -> Option<(u64, i64)> {
    let to = record.number("dest")?;
    let name = record.call().name;
    if to < 0 || name.ends_with("_init") || name == "MPI_Cart_shift" {
        return None;
    }
    let [count, datatype] =
        if record.has("sendcount") { ["sendcount", "sendtype"] } else { ["count", "datatype"] };
    Some((u64::try_from(record.number(count)?).ok()?, record.number(datatype)?))
}

/// Warnings, one for each group of functions that take their recorded time on any machine.
fn unsimulated(files: &[DumpiFile]) -> Vec<String> {
    type Belongs = fn(&str) -> bool;
    let sorts: [(&str, Belongs); 2] = [
        ("one-sided communication", |name| {
            name.starts_with("MPI_Win_") || ["MPI_Put", "MPI_Get", "MPI_Accumulate"].contains(&name)
        }),
        ("input and output", |name| name.starts_with("MPI_File_") || name.starts_with("MPIO_")),
    ];
    let mut warnings = Vec::new();
    for (sort, belongs) in sorts {
        let mut counts = BTreeMap::new();
        for file in files {
            for (call, &count) in
                CALLS.iter().zip(&file.called).filter(|(call, n)| **n > 0 && belongs(call.name))
            {
                *counts.entry(call.name).or_insert(0_u64) += u64::from(count);
            }
        }
        if !counts.is_empty() {
            let listed: Vec<_> = counts.iter().map(|(name, count)| format!("{name} {count}×")).collect();
            warnings.push(format!(
                "{sort} is not simulated; these calls take their recorded time: {}",
                listed.join(", ")
            ));
        }
    }
    warnings
}
