//! The files of all ranks.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::registry::Entry;
use mpi::Rank;

use super::call::Call;
use super::translate::{self, Run, Translator};
use crate::trace::Format;
use crate::trace::clock::{Begin, ClockTable, FARTHEST, SYNCHRONISING, Times};
use crate::trace::error::TraceError;
use crate::trace::input::TraceFile;
use crate::trace::lines::{Lines, Part};
use crate::trace::set::{Alone, Clocks, RankCalls, RankSummary, RecordedCalls, Summary, TraceSet};

/// The entry of this format.
pub const FORMAT: Entry<Format> = Entry {
    name: "allprof",
    summary: "liballprof (collprof), one text file per rank",
    source: "liballprof of LogGOPSim (Hoefler, Schneider, Lumsdaine, HPDC 2010), and what its schedgen reads",
    parameters: &[],
    examples: &[""],
    build: Format { recognise, open: |files| Ok(Arc::new(AllprofSet::open(files)?)) },
};

/// Bytes that are read to know the format and to find the last call.
const LOOK: usize = 4096;

/// Largest difference of two clocks that is no damage: a hundred years \[ns\].
const FARTHEST_CLOCK_NS: f64 = 3e18;

/// A recorded run.
pub struct AllprofSet {
    files: Vec<TraceFile>,
    hosts: Vec<String>,
    recorded: ClockTable,
    aligned: ClockTable,
    all_finalize: bool,
    warnings: Vec<String>,
    /// The rank, if this is the file of one rank alone.
    alone: Option<Alone>,
}

/// True if the first line is "# collprof … output file", "# htor's PMPI Tracer … Output File" or the like.
fn recognise(file: &TraceFile) -> Result<bool, TraceError> {
    let begin = file.peek(0, 128)?;
    let begin = String::from_utf8_lossy(&begin);
    let first = begin.lines().next().unwrap_or_default();
    let tracer = |rest: &str| rest.contains("prof ") || rest.starts_with("htor's PMPI Tracer");
    Ok(first
        .strip_prefix("# ")
        .is_some_and(|rest| tracer(rest) && rest.trim_end().to_ascii_lowercase().ends_with("output file")))
}

impl AllprofSet {
    /// Opens the traces among `files`, which must be of one run and complete.
    pub fn open(files: Vec<TraceFile>) -> Result<AllprofSet, TraceError> {
        let (files, alone) = by_rank(files)?;
        let ranks = alone.map_or(files.len() as i64, |alone| i64::from(alone.ranks));
        let begins: Vec<_> = files.iter().map(|file| read_begin(file, ranks)).collect::<Result<_, _>>()?;
        let hosts: Vec<String> = files.iter().map(host).collect::<Result<_, _>>()?;
        let names: Vec<_> = hosts.iter().map(String::as_str).collect();
        let (recorded, by_calls, warnings) = ClockTable::align(&begins, &names);
        let differences: Option<Vec<i64>> = files.iter().map(clock_difference).collect::<Result<_, _>>()?;
        let (aligned, mut warnings) = match differences.filter(|all| all.iter().any(|ns| *ns != 0)) {
            Some(differences) => (ClockTable::shifted(&begins, &names, &differences), Vec::new()),
            None => (by_calls, warnings),
        };
        let cut: Vec<_> = files.iter().map(finalizes).collect::<Result<_, _>>()?;
        let cut: Vec<_> = files.iter().zip(cut).filter(|(_, finalizes)| !finalizes).collect();
        if let Some((first, _)) = cut.first() {
            warnings.push(format!(
                "{} of {} ranks end without MPI_Finalize (first {}): the recording may be incomplete",
                cut.len(),
                files.len(),
                first.name
            ));
        }
        let all_finalize = cut.is_empty();
        Ok(AllprofSet { files, hosts, recorded, aligned, all_finalize, warnings, alone })
    }

    fn lines(&self, rank: Rank) -> Result<Lines, TraceError> {
        let file = self.files.get(rank.0 as usize).ok_or_else(|| {
            TraceError::new("liballprof trace", format!("rank {} is not among {}", rank.0, self.files.len()))
        })?;
        Ok(Lines::one_of(self.ranks(), Part::whole(file.clone())))
    }

    fn times(&self, rank: Rank, clocks: Clocks) -> Times {
        match clocks {
            Clocks::Aligned => self.aligned.of_rank(rank.0),
            Clocks::Recorded => self.recorded.of_rank(rank.0),
        }
    }
}

/// The files in the order of their ranks: the last number in the name without its ending. A single file may belong to one
/// of several ranks.
fn by_rank(files: Vec<TraceFile>) -> Result<(Vec<TraceFile>, Option<Alone>), TraceError> {
    let mut found: BTreeMap<u32, TraceFile> = BTreeMap::new();
    for file in files {
        if !recognise(&file)? {
            continue;
        }
        let name = file.base_name();
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        let from = stem.trim_end_matches(|letter: char| letter.is_ascii_digit()).len();
        let rank: u32 = stem[from..].parse().map_err(|_| {
            TraceError::new(&*file.name, "does not end in a number: the rank whose calls it holds")
        })?;
        if let Some(other) = found.insert(rank, file.clone()) {
            let reason = format!("is of rank {rank}, but so is {}: two runs; name one", other.name);
            return Err(TraceError::new(&*file.name, reason));
        }
    }
    if found.len() == 1
        && let Some((&rank, file)) = found.first_key_value()
    {
        let ranks = ranks_of_run(file)?.max(rank.saturating_add(1));
        let alone = (ranks > 1).then_some(Alone { rank, ranks });
        return Ok((found.into_values().collect(), alone));
    }
    let ranks = found.len() as u32;
    match (0..ranks).find(|rank| !found.contains_key(rank)) {
        Some(missing) => {
            let (rank, last) = found.last_key_value().expect("one of them is missing");
            Err(TraceError::new(
                &*last.name,
                format!("is of rank {rank}, but the file of rank {missing} is missing"),
            ))
        }
        None => Ok((found.into_values().collect(), None)),
    }
}

/// The size of the largest communicator that the first calls name, which in most programs is the world.
fn ranks_of_run(file: &TraceFile) -> Result<u32, TraceError> {
    let mut lines = Lines::new(Part::whole(file.clone()));
    let mut ranks = 1;
    for _ in 0..FARTHEST {
        if !translate::advance(&mut lines)? {
            break;
        }
        let call = Call::read(lines.text().trim()).map_err(|reason| lines.error(reason))?;
        let size = call.in_comm().map_err(|reason| lines.error(reason))?.map_or(1, |[_, size]| size);
        ranks = ranks.max(u32::try_from(size).unwrap_or(1));
    }
    Ok(ranks)
}

/// Value of the first line of the head that begins with one of `keys`.
fn head(file: &TraceFile, keys: [&str; 2]) -> Result<Option<String>, TraceError> {
    let begin = file.peek(0, LOOK)?;
    let begin = String::from_utf8_lossy(&begin);
    let value = |line: &str| {
        let rest = line.strip_prefix("# ")?;
        Some(keys.iter().find_map(|key| rest.strip_prefix(key))?.trim().to_string())
    };
    Ok(begin.lines().take_while(|line| line.starts_with('#')).find_map(value))
}

/// The name of the host, without the domain "(none)" of one that is not set.
fn host(file: &TraceFile) -> Result<String, TraceError> {
    let name = head(file, ["host:", "hostname:"])?.unwrap_or_default();
    Ok(name.trim_end_matches("(none)").trim_end_matches('.').to_string())
}

/// Clock difference between the rank and rank 0 \[ns\], if the head states one.
fn clock_difference(file: &TraceFile) -> Result<Option<i64>, TraceError> {
    let Some(line) = head(file, ["Init clockdiff:", "clockdiff:"])? else { return Ok(None) };
    let us = line.split_whitespace().next().and_then(|word| word.parse::<f64>().ok());
    let ns = us.map(|us| us * 1e3).filter(|ns| ns.abs() < FARTHEST_CLOCK_NS);
    match ns {
        Some(ns) => Ok(Some(ns.round() as i64)),
        None => Err(TraceError::new(
            &*file.name,
            format!("'{line}' is no difference of two clocks in microseconds"),
        )),
    }
}

/// True if the file's last lines have MPI_Finalize.
fn finalizes(file: &TraceFile) -> Result<bool, TraceError> {
    let end = file.peek(file.bytes.size().saturating_sub(LOOK as u64), LOOK)?;
    Ok(String::from_utf8_lossy(&end).lines().any(|line| line.starts_with("MPI_Finalize:")))
}

fn read_begin(file: &TraceFile, ranks: i64) -> Result<Begin, TraceError> {
    let mut lines = Lines::new(Part::whole(file.clone()));
    let mut first_ns = None;
    for _ in 0..FARTHEST {
        if !translate::advance(&mut lines)? {
            break;
        }
        let call = Call::read(lines.text().trim()).map_err(|reason| lines.error(reason))?;
        let first = *first_ns.get_or_insert(call.ns[0]);
        let of_all = call.is_overhead() || call.comm().is_ok_and(|[_, size]| size == ranks);
        if of_all && SYNCHRONISING.contains(&call.name) {
            return Ok(Begin { first_ns: first, together: Some((call.name, call.ns[1])) });
        }
    }
    Ok(Begin { first_ns: first_ns.unwrap_or(0), together: None })
}

impl TraceSet for AllprofSet {
    fn format(&self) -> &'static str {
        FORMAT.name
    }
    fn ranks(&self) -> u32 {
        self.files.len() as u32
    }
    fn hosts(&self) -> Vec<String> {
        self.hosts.clone()
    }
    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }
    fn alone(&self) -> Option<Alone> {
        self.alone
    }
    fn replayable(&self) -> Result<(), TraceError> {
        self.alone.map_or(Ok(()), |alone| Err(alone.refused(&self.files[0].name)))
    }

    fn summary(&self, clocks: Clocks) -> Result<Summary, TraceError> {
        let mut counts: BTreeMap<&'static str, u64> = BTreeMap::new();
        let mut ranks = Vec::new();
        for rank in 0..self.ranks() {
            let mut lines = self.lines(Rank(rank))?;
            let times = self.times(Rank(rank), clocks);
            let mut sum = RankSummary::begin(self.hosts[rank as usize].clone());
            while translate::advance(&mut lines)? {
                let read = Call::read(lines.text().trim()).map_err(|reason| lines.error(reason))?;
                let call = translate::recorded(&read, times).map_err(|reason| lines.error(reason))?;
                sum.first_call = sum.first_call.min(call.begin);
                sum.last_return = sum.last_return.max(call.end);
                sum.in_mpi += call.end.since(call.begin);
                sum.calls += 1;
                *counts.entry(call.name).or_default() += 1;
                if let Some(bytes) = translate::sent(&read).map_err(|reason| lines.error(reason))? {
                    sum.messages += 1;
                    sum.bytes = sum.bytes.saturating_add(bytes);
                }
            }
            sum.first_call = sum.first_call.min(sum.last_return);
            ranks.push(sum);
        }
        Ok(Summary { ranks, calls: counts.into_iter().collect() })
    }

    fn recorded_calls(&self, rank: Rank, clocks: Clocks) -> Result<RecordedCalls, TraceError> {
        let (mut lines, times) = (self.lines(rank)?, self.times(rank, clocks));
        let mut ended = false;
        Ok(Box::new(std::iter::from_fn(move || {
            let mut next = || {
                if ended || !translate::advance(&mut lines)? {
                    return Ok(None);
                }
                let call = Call::read(lines.text().trim()).and_then(|read| translate::recorded(&read, times));
                call.map(Some).map_err(|reason| lines.error(reason))
            };
            let call = next().transpose();
            ended = !matches!(call, Some(Ok(_)));
            call
        })))
    }

    fn calls(&self, rank: Rank, clocks: Clocks) -> Result<Box<dyn RankCalls>, TraceError> {
        let Alone { rank: own, ranks } = self.alone.unwrap_or(Alone { rank: rank.0, ranks: self.ranks() });
        let run = Run { rank: own, ranks, all_finalize: self.all_finalize };
        Ok(Box::new(Translator::new(self.lines(rank)?, self.times(rank, clocks), run)))
    }
}
