//! A recording in hopcast's own format: the files of all ranks.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::registry::Entry;
use engine::{Duration, Time};
use mpi::operation::CommId;
use mpi::{Op, Rank};

use super::archive::{is_archive, members};
use super::gaps::{Count, Gap};
use super::op::{Comms, WildcardMatch, operation, start_as};
use super::rank::{self, Blocks, Calls, Clock, Counting, Ending, Event, Head, Numbered};
use super::shape::{Did, Matched, Received};
use super::wildcard_sources::{Open, Scout, is_open};
use super::write;
use crate::trace::Format;
use crate::trace::error::TraceError;
use crate::trace::input::TraceFile;
use crate::trace::replay::Wildcards;
use crate::trace::set::{
    Alone, Before, Clocks, EndsEarly, Events, RankCalls, RankSummary, RecordedCall, RecordedCalls, Step,
    Summary, TraceSet, until_error,
};

/// The entry of this format.
pub const FORMAT: Entry<Format> = Entry {
    name: "hct",
    summary: "hopcast's own, a folder NAME.hct or an archive of it",
    source: "docs/trace-format.md",
    parameters: &[],
    examples: &[""],
    build: Format { recognise, open: |files| Ok(Arc::new(HctSet::open(files)?)) },
};

fn recognise(file: &TraceFile) -> Result<bool, TraceError> {
    Ok(rank::is_magic(&file.peek(0, 4)?) || is_archive(file)? || is_of_run(file)?)
}

/// True for the recorder's file about the run, which stands beside the files of ranks.
fn is_of_run(file: &TraceFile) -> Result<bool, TraceError> {
    Ok(file.base_name() == "run.json"
        && String::from_utf8_lossy(&file.peek(0, 64)?).contains("\"format\": \"hct\""))
}

/// A recorded run.
pub struct HctSet {
    ranks: Vec<One>,
    warnings: Vec<String>,
}

struct One {
    head: Head,
    blocks: Blocks,
    file: TraceFile,
    /// End of the file.
    ending: Ending,
    /// Time at which its clock was 0, after that of the first rank of its host \[ns\].
    start_on_host_ns: i64,
}

impl HctSet {
    /// Opens the ranks' files among `files`, or those in an archive. They must be of one run, and complete.
    pub fn open(files: Vec<TraceFile>) -> Result<HctSet, TraceError> {
        let mut inside = Vec::new();
        for file in &files {
            if is_archive(file)? {
                inside.extend(members(file)?);
            }
        }
        let mut ranks: Vec<One> = Vec::new();
        for file in inside.into_iter().chain(files.iter().cloned()) {
            if rank::is_magic(&file.peek(0, 4)?) || write::is_rank_file(&file.name) {
                let (head, blocks) = rank::open(&file)?;
                let ending = blocks.ending()?;
                ranks.push(One { head, blocks, file, ending, start_on_host_ns: 0 });
            }
        }
        ranks.sort_by_key(|one| one.head.rank);
        let Some(first) = ranks.first() else {
            let run = files.iter().find(|file| file.base_name() == "run.json");
            return Err(match run {
                Some(run) => TraceError::new(
                    &*run.name,
                    "is of a recording that has no file of a rank: nothing was recorded",
                ),
                None => TraceError::new("HCT recording", "holds no file of a rank"),
            });
        };
        let count = first.head.ranks;
        if let [only] = &ranks[..]
            && count > 1
            && only.head.rank < count
        {
            let warnings = cut_off(&ranks).into_iter().collect();
            return Ok(HctSet { ranks, warnings });
        }
        for (expected, one) in ranks.iter().enumerate() {
            let (found, of) = (one.head.rank, one.head.ranks);
            if of == count && found as usize > expected {
                let reason = format!("rank {expected} of {count} is missing");
                return Err(TraceError::new(&*one.file.name, reason));
            }
            if found as usize != expected || of != count {
                let reason =
                    format!("is rank {found} of {of}, where rank {expected} of {count} was expected");
                return Err(TraceError::new(&*one.file.name, reason));
            }
        }
        if ranks.len() != count as usize {
            let reason = format!("rank {} of {count} is missing", ranks.len());
            return Err(TraceError::new(&*first.file.name, reason));
        }
        if let Some(other) = ranks.iter().find(|one| one.head.counts != ranks[0].head.counts) {
            let reason = format!("counts other things than {}", ranks[0].file.name);
            return Err(TraceError::new(&*other.file.name, reason));
        }
        let mut first: BTreeMap<String, u64> = BTreeMap::new();
        for One { head, .. } in &ranks {
            let first = first.entry(head.host.clone()).or_insert(u64::MAX);
            *first = head.start_unix_ns.min(*first);
        }
        for one in &mut ranks {
            let since = one.head.start_unix_ns - first[&one.head.host];
            let shares = one.head.clock == Clock::Wall;
            one.start_on_host_ns = if shares { since.min(i64::MAX as u64) as i64 } else { 0 };
        }
        let warnings = cut_off(&ranks).into_iter().chain(apart(&ranks)).collect();
        Ok(HctSet { ranks, warnings })
    }

    /// Head of each rank's file.
    pub fn heads(&self) -> impl Iterator<Item = &Head> {
        self.ranks.iter().map(|one| &one.head)
    }

    /// The calls of a rank as its file has them.
    pub fn calls_of(&self, rank: Rank) -> Result<Calls, TraceError> {
        let one = self.ranks.get(rank.0 as usize);
        let one = one.ok_or_else(|| {
            TraceError::new("HCT recording", format!("rank {} is not among {}", rank.0, self.ranks.len()))
        })?;
        Ok(Calls::new(&one.head, one.blocks.clone()))
    }

    /// The calls of a rank, on its own clock, until an error.
    fn unshifted(
        &self,
        rank: Rank,
    ) -> Result<impl Iterator<Item = Result<Event, TraceError>> + use<>, TraceError> {
        let mut calls = self.calls_of(rank)?;
        Ok(until_error(move || calls.read()))
    }

    /// Offset that is added to a rank's times, so that the earliest call of all ranks begins at 0 \[ns\].
    fn shift(&self, rank: usize, clocks: Clocks) -> i64 {
        match clocks {
            // The ranks of a host share a clock; clocks of hosts are aligned where the ranks meet.
            Clocks::Aligned => self.ranks[rank].start_on_host_ns,
            Clocks::Recorded => {
                let start = |one: &One| one.head.start_unix_ns;
                let first = self.ranks.iter().map(start).min().unwrap_or(0);
                (start(&self.ranks[rank]) - first).min(i64::MAX as u64) as i64
            }
        }
    }
}

/// Largest spread of the returns from MPI_Init on one host \[ns\].
const MOST_APART_NS: i64 = 10_000_000_000;

/// Warning about files that seem to belong to several runs.
fn apart(ranks: &[One]) -> Option<String> {
    let late = ranks.iter().find(|one| one.start_on_host_ns > MOST_APART_NS)?;
    Some(format!(
        "{} begins {:.0} s after another rank on the same host: these files seem to be of different runs",
        late.file.name,
        late.start_on_host_ns as f64 / 1e9
    ))
}

/// Warning about files without an end.
fn cut_off(ranks: &[One]) -> Option<String> {
    let cut: Vec<&One> = ranks.iter().filter(|one| one.ending.end.is_none()).collect();
    let first = cut.first()?;
    let standing = cut.iter().find_map(|one| {
        let standing = one.ending.standing.as_ref()?;
        Some(format!("; rank {} stood in {standing}", one.head.rank))
    });
    Some(format!(
        "a partial recording: {} of {} ranks have no MPI_Finalize (first {}), as the program was killed or ended \
         without it{}",
        cut.len(),
        ranks.len(),
        first.file.name,
        standing.unwrap_or_default()
    ))
}

fn recorded(name: &'static str, begin_ns: u64, end_ns: u64, shift_ns: i64) -> RecordedCall {
    let time = |ns: u64| Time(ns.saturating_add_signed(shift_ns).saturating_mul(1000));
    RecordedCall { name, begin: time(begin_ns), end: time(end_ns) }
}

impl TraceSet for HctSet {
    fn format(&self) -> &'static str {
        FORMAT.name
    }
    fn ranks(&self) -> u32 {
        self.ranks.len() as u32
    }
    fn hosts(&self) -> Vec<String> {
        self.ranks.iter().map(|one| one.head.host.clone()).collect()
    }
    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }
    fn common_time(&self) -> bool {
        self.ranks.iter().all(|one| one.head.clock == Clock::Wall)
    }
    fn counts(&self) -> Vec<Count> {
        self.ranks[0].head.counts.clone()
    }
    fn alone(&self) -> Option<Alone> {
        let Head { rank, ranks, .. } = self.ranks[0].head;
        (self.ranks.len() < ranks as usize).then_some(Alone { rank, ranks })
    }
    fn replayable(&self) -> Result<(), TraceError> {
        self.alone().map_or(Ok(()), |alone| Err(alone.refused(&self.ranks[0].file.name)))
    }

    fn shutdown(&self) -> Duration {
        let least = self.ranks.iter().map(|one| one.ending.end.as_ref()?.finalize_ns).min();
        Duration(least.flatten().unwrap_or(0).saturating_mul(1000))
    }

    fn summary(&self, clocks: Clocks) -> Result<Summary, TraceError> {
        let mut counts = BTreeMap::new();
        let mut ranks = Vec::with_capacity(self.ranks.len());
        for (rank, one) in self.ranks.iter().enumerate() {
            let mut calls = self.calls_of(Rank(rank as u32))?;
            let mut counting = Counting::of(one.head.counts.len());
            while let Some(event) = calls.read()? {
                counting.count(&event.shape, event.begin_ns, event.end_ns, &event.between);
                *counts.entry(event.shape.call.0).or_insert(0) += 1;
            }
            let all = counting.end;
            let time =
                |ns: u64| Time(ns.saturating_add_signed(self.shift(rank, clocks)).saturating_mul(1000));
            ranks.push(RankSummary {
                host: one.head.host.clone(),
                first_call: time(all.first_ns),
                last_return: time(all.last_ns),
                in_mpi: Duration(all.in_mpi_ns.saturating_mul(1000)),
                calls: all.calls,
                messages: all.messages,
                bytes: all.bytes,
                polls: all.polls,
                waited: Duration(all.waited_ns.saturating_mul(1000)),
                counts: all.counts,
            });
        }
        Ok(Summary { ranks, calls: counts.into_iter().collect() })
    }

    fn recorded_calls(&self, rank: Rank, clocks: Clocks) -> Result<RecordedCalls, TraceError> {
        let shift = self.shift(rank.0 as usize, clocks);
        let call = move |event: Event| recorded(event.shape.call.0, event.begin_ns, event.end_ns, shift);
        Ok(Box::new(self.unshifted(rank)?.map(move |event| event.map(call))))
    }

    fn events(&self, rank: Rank, clocks: Clocks) -> Result<Events, TraceError> {
        let shift = self.shift(rank.0 as usize, clocks);
        let moved = move |event: Event| Event {
            begin_ns: event.begin_ns.saturating_add_signed(shift),
            end_ns: event.end_ns.saturating_add_signed(shift),
            ..event
        };
        Ok(Box::new(self.unshifted(rank)?.map(move |event| event.map(moved))))
    }

    fn head(&self, rank: Rank, _: &str) -> Head {
        self.ranks[rank.0 as usize].head.clone()
    }

    fn starts_after(&self, rank: Rank) -> Duration {
        let ns = self.ranks[rank.0 as usize].start_on_host_ns;
        Duration(ns.unsigned_abs().saturating_mul(1000))
    }

    fn ends_early(&self, rank: Rank) -> Option<EndsEarly> {
        let Ending { end, standing } = &self.ranks[rank.0 as usize].ending;
        end.is_none().then(|| EndsEarly { standing: standing.clone() })
    }

    fn calls(&self, rank: Rank, clocks: Clocks) -> Result<Box<dyn RankCalls>, TraceError> {
        self.replayed(rank, clocks, Wildcards::Recorded)
    }

    fn calls_matched_anew(&self, rank: Rank, clocks: Clocks) -> Result<Box<dyn RankCalls>, TraceError> {
        self.replayed(rank, clocks, Wildcards::Anew)
    }
}

impl HctSet {
    fn replayed(
        &self,
        rank: Rank,
        clocks: Clocks,
        wildcards: Wildcards,
    ) -> Result<Box<dyn RankCalls>, TraceError> {
        Ok(Box::new(Replayed {
            wildcards,
            file: self.ranks[rank.0 as usize].file.name.clone(),
            start: self.calls_of(rank)?,
            calls: self.calls_of(rank)?,
            ready: Vec::new(),
            scout: None,
            open: Open::default(),
            comms: Comms::default(),
            shift_ns: self.shift(rank.0 as usize, clocks),
            making: None,
            unfinished: self.unfinished(),
        }))
    }

    /// True if some rank's file does not reach MPI_Finalize, so that nobody may wait for that rank there.
    fn unfinished(&self) -> bool {
        self.ranks.iter().any(|one| !one.ending.end.as_ref().is_some_and(|end| end.finalized))
    }
}

/// Yields the calls of one rank as operations.
struct Replayed {
    wildcards: Wildcards,
    file: Arc<str>,
    /// Stream before the first call.
    start: Calls,
    calls: Calls,
    /// Cache by shape: name and operation of calls that depend on nothing but the shape, valid while communicators do
    /// not change.
    ready: Vec<Option<(&'static str, Op)>>,
    scout: Option<Scout>,
    open: Open,
    comms: Comms,
    shift_ns: i64,
    /// Number of the communicator that the last call makes.
    making: Option<u32>,
    unfinished: bool,
}

impl Replayed {
    /// Translates a call.
    fn translate(&mut self, call: Numbered) -> Result<Step, TraceError> {
        let shape = self.calls.shape(call.shape).clone();
        let name = shape.call.0;
        let recorded = recorded(name, call.begin_ns, call.end_ns, self.shift_ns);
        let came = match &shape.did {
            Did::Receive(receive) if is_open(receive) => self.came()?,
            _ => None,
        };
        let lasted = match shape.did {
            Did::Finalize if self.unfinished => return Ok(Step { call: recorded, op: overhead(&recorded) }),
            _ => recorded.end.since(recorded.begin),
        };
        let came = match self.wildcards {
            Wildcards::Recorded => WildcardMatch::Recorded(came),
            Wildcards::Anew => WildcardMatch::Any,
        };
        let op = match &shape.did {
            Did::Start { requests } if self.starts_open(requests) => {
                start_as(requests, &self.came_of(requests)?)
            }
            _ => operation(&shape, lasted, came, &self.comms),
        };
        let op = op.map_err(|reason| TraceError::new(&*self.file, format!("{name}: {reason}")))?;
        self.making = match &shape.did {
            Did::NewComm(made) => made.comm,
            _ => None,
        };
        if self.open.see(&shape.did) {
            // Starts of a persistent request are now other operations.
            self.ready.clear();
        } else if is_steady(&shape.did) && !matches!(op, Op::StartAs(..)) {
            let number = call.shape as usize;
            self.ready.resize(self.ready.len().max(number + 1), None);
            self.ready[number] = Some((name, op.clone()));
        }
        Ok(Step { call: recorded, op })
    }

    /// Recorded match of the next wildcard receive; `None` if wildcards are matched anew.
    fn came(&mut self) -> Result<Option<Matched>, TraceError> {
        if self.wildcards == Wildcards::Anew {
            return Ok(None);
        }
        let start = &self.start;
        self.scout.get_or_insert_with(|| Scout::new(start.clone())).next()
    }

    /// True if a wildcard receive among these persistent requests is to take its recorded match.
    fn starts_open(&self, requests: &[u32]) -> bool {
        self.wildcards == Wildcards::Recorded
            && requests.iter().any(|request| self.open.get(*request).is_some())
    }

    /// Wildcard receives among these requests, with their recorded matches.
    fn came_of(&mut self, requests: &[u32]) -> Result<Vec<Option<(Received, Matched)>>, TraceError> {
        let mut all = Vec::with_capacity(requests.len());
        for request in requests {
            all.push(match self.open.get(*request).cloned() {
                Some(receive) => self.came()?.map(|came| (receive, came)),
                None => None,
            });
        }
        Ok(all)
    }
}

impl RankCalls for Replayed {
    fn next(&mut self) -> Result<Option<Step>, TraceError> {
        let Some(call) = self.calls.read_number()? else { return Ok(None) };
        if let Some(Some((name, op))) = self.ready.get(call.shape as usize) {
            self.making = None;
            let call = recorded(name, call.begin_ns, call.end_ns, self.shift_ns);
            return Ok(Some(Step { call, op: op.clone() }));
        }
        self.translate(call).map(Some)
    }

    fn before(&self) -> Before {
        let Gap { polls, waited_ns, counts } = *self.calls.between();
        Before { polls, waited: Duration(waited_ns.saturating_mul(1000)), counts }
    }

    fn made(&mut self, id: CommId) {
        if let Some(number) = self.making.take() {
            // A number out of order becomes an error when the communicator is used.
            let _ = self.comms.insert(number, id);
            self.ready.clear();
        }
    }

    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }

    fn share_read(&self) -> f64 {
        self.calls.share_read()
    }
}

fn overhead(call: &RecordedCall) -> Op {
    Op::Call(call.name, Duration::ZERO)
}

/// True if a call of this shape is the same operation each time, while communicators do not change.
fn is_steady(did: &Did) -> bool {
    match did {
        Did::Send(_) | Did::SendReceive { .. } | Did::Complete { .. } | Did::Start { .. } => true,
        Did::Receive(receive) => !is_open(receive),
        Did::Collective(_) => true,
        _ => false,
    }
}
