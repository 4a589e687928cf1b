//! An OTF2 archive: the files of all ranks, and the facts about the run that they give together.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use engine::Time;
use engine::registry::Entry;
use mpi::Rank;
use mpi::operation::CommId;

use super::archive::{Anchor, Definitions};
use super::calls::Calls;
use super::event::{Event, Events};
use super::location::Location;
use super::ranks::Ranks;
use super::stream::{Holds, Stream};
use super::sums::AllSums;
use super::translate::Translator;
use crate::trace::Format;
use crate::trace::error::TraceError;
use crate::trace::input::TraceFile;
use crate::trace::set::{Clocks, RankCalls, RankSummary, RecordedCall, RecordedCalls, Summary, TraceSet};

/// The entry of this format.
pub const FORMAT: Entry<Format> = Entry {
    name: "otf2",
    summary: "Open Trace Format 2 (Score-P and others), an anchor .otf2 with its .def and folder",
    source: "OTF2 3.2: Open Trace Format Version 2, Score-P project",
    parameters: &[],
    examples: &[""],
    build: Format { recognise: Anchor::recognise, open: |files| Ok(Arc::new(Otf2Set::open(files)?)) },
};

/// Buffers of all ranks together, and the largest and smallest buffer of one \[bytes\].
const BUFFERS: usize = 256 << 20;
const LARGEST_BUFFER: usize = 64 << 10;
const SMALLEST_BUFFER: usize = 4 << 10;
/// A run of more than 100 days is a damaged clock \[s\].
const LONGEST_S: u64 = 100 * 24 * 3600;

/// Files and clock of one rank.
struct RankFiles {
    /// File of its events; `None` if the archive has none of it.
    events: Option<TraceFile>,
    location: Arc<Location>,
    /// Begin of its first call, on the common clock and on its own \[ticks\].
    first: [u64; 2],
}

/// The run, shared by all that read from it.
pub(super) struct Run {
    anchor: Anchor,
    pub ranks: Ranks,
    files: Vec<RankFiles>,
    /// Ticks per second.
    pub resolution: u64,
    /// Begin of the first call of any rank, on the common clock and on the ranks' own \[ticks\].
    origin: [u64; 2],
    sums: OnceLock<Result<AllSums, TraceError>>,
}

impl Run {
    /// The events of `rank`.
    pub(super) fn events(&self, rank: u32, clocks: Clocks) -> Result<Events, TraceError> {
        let files = &self.files[rank as usize];
        open_events(files.events.as_ref(), &files.location, &self.anchor, self.files.len(), clocks)
    }

    /// Begin of the first call of `rank` \[ticks\].
    pub(super) fn first(&self, rank: u32, clocks: Clocks) -> u64 {
        self.files[rank as usize].first[clocks as usize]
    }

    /// Time in the run of `ticks` on the clock of `rank`; `offset` is their place in the file, for errors.
    pub(super) fn time(
        &self,
        ticks: u64,
        clocks: Clocks,
        rank: u32,
        offset: u64,
    ) -> Result<Time, TraceError> {
        let since = ticks.saturating_sub(self.origin[clocks as usize]);
        if since / self.resolution >= LONGEST_S {
            let name = self.files[rank as usize].events.as_ref().map_or("", |file| &file.name);
            let reason = format!("a call {} s after the run began, over 100 days", since / self.resolution);
            return Err(TraceError::at(name, offset, reason));
        }
        Ok(Time((u128::from(since) * 1_000_000_000_000 / u128::from(self.resolution)) as u64))
    }

    /// Sums of the collectives whose blocks differ by rank, read when the first such collective is met.
    pub(super) fn sums(&self) -> Result<&AllSums, TraceError> {
        let read = || {
            let mut sums = AllSums::default();
            for rank in 0..self.ranks.count() {
                sums.read(&self.ranks, rank, self.events(rank, Clocks::Recorded)?)?;
            }
            Ok(sums)
        };
        self.sums.get_or_init(read).as_ref().map_err(Clone::clone)
    }
}

fn open_events(
    file: Option<&TraceFile>,
    location: &Arc<Location>,
    anchor: &Anchor,
    ranks: usize,
    clocks: Clocks,
) -> Result<Events, TraceError> {
    let buffer = (BUFFERS / ranks.max(1)).clamp(SMALLEST_BUFFER, LARGEST_BUFFER);
    let stream = match file {
        Some(file) => Stream::new(file.clone(), Holds::Events, anchor.event_chunk, buffer)?,
        None => Stream::empty(),
    };
    Ok(Events::new(stream, location.clone(), clocks))
}

/// A recorded run.
pub struct Otf2Set {
    run: Arc<Run>,
    warnings: Vec<String>,
}

impl Otf2Set {
    /// Opens the archive among `files`: an anchor, the definitions beside it, and the files of the folder
    /// with its name.
    pub fn open(files: Vec<TraceFile>) -> Result<Otf2Set, TraceError> {
        let mut anchors = Vec::new();
        for file in &files {
            if Anchor::recognise(file)? {
                anchors.push(file);
            }
        }
        let name = &anchors[0].name;
        if let Some(other) = anchors.get(1) {
            let reason = format!("two archives in one folder, the other is {}; name one's .otf2", other.name);
            return Err(TraceError::new(&**name, reason));
        }
        let anchor = Anchor::read(anchors[0])?;
        let stem = name.strip_suffix(".otf2").unwrap_or(name);
        let by_name: BTreeMap<&str, &TraceFile> = files.iter().map(|file| (&*file.name, file)).collect();
        let part = |part: String| {
            let missing = || TraceError::new(&**name, format!("its part {part} is missing"));
            by_name.get(&*part).map(|file| (*file).clone()).ok_or_else(missing)
        };
        let definitions_file = part(format!("{stem}.def"))?;
        let definitions = Definitions::read(definitions_file.clone(), &anchor)?;
        let ranks = Ranks::new(&definitions, &definitions_file.name)?;
        let mut of_ranks = Vec::with_capacity(ranks.locations.len());
        for location in &ranks.locations {
            let has_events = definitions.locations[location].events > 0;
            let events = has_events.then(|| part(format!("{stem}/{location}.evt"))).transpose()?;
            let own = Arc::new(match by_name.get(&*format!("{stem}/{location}.def")) {
                Some(file) => Location::read((*file).clone(), &anchor)?,
                None => Location::plain(),
            });
            let mut first = [0; 2];
            for clocks in [Clocks::Aligned, Clocks::Recorded] {
                let events = open_events(events.as_ref(), &own, &anchor, ranks.locations.len(), clocks)?;
                let mut calls = Calls::new(events, ranks.functions.clone());
                first[clocks as usize] = calls.next()?.map_or(u64::MAX, |call| call.begin);
            }
            of_ranks.push(RankFiles { events, location: own, first });
        }
        let begin = |clock: usize| of_ranks.iter().map(|files| files.first[clock]).min().unwrap_or(0);
        let origin = [begin(0), begin(1)];
        for files in &mut of_ranks {
            // A rank without calls begins with the run.
            files.first = std::array::from_fn(|clock| match files.first[clock] {
                u64::MAX => origin[clock],
                first => first,
            });
        }
        let warnings = warnings(&anchor, &ranks, &of_ranks, name);
        let resolution = definitions.resolution;
        let run = Run { anchor, ranks, files: of_ranks, resolution, origin, sums: OnceLock::new() };
        Ok(Otf2Set { run: Arc::new(run), warnings })
    }

    /// The events of `rank`, with times in ticks of the archive's clock.
    pub fn events(&self, rank: Rank, clocks: Clocks) -> Result<Events, TraceError> {
        self.check(rank)?;
        self.run.events(rank.0, clocks)
    }

    fn check(&self, rank: Rank) -> Result<(), TraceError> {
        let count = self.run.ranks.count();
        if rank.0 >= count {
            return Err(TraceError::new("OTF2 archive", format!("rank {} is not among {count}", rank.0)));
        }
        Ok(())
    }
}

fn warnings(anchor: &Anchor, ranks: &Ranks, files: &[RankFiles], name: &str) -> Vec<String> {
    let mut warnings = Vec::new();
    if anchor.incomplete {
        warnings.push(format!(
            "{name}: the archive says that MPI's communication is not complete in it: a message may lack one \
             of its ends"
        ));
    }
    if ranks.others > 0 {
        warnings.push(format!(
            "{name}: {} other locations with events (threads, accelerators) are not replayed; what they did \
             is part of the computing between calls",
            ranks.others
        ));
    }
    let first = ranks.hosts.first();
    if ranks.hosts.iter().any(|host| Some(host) != first) && files.iter().all(|f| !f.location.has_clock()) {
        warnings.push(format!("{name}: the archive does not tell how the hosts' clocks differ"));
    }
    warnings
}

impl TraceSet for Otf2Set {
    fn format(&self) -> &'static str {
        FORMAT.name
    }
    fn ranks(&self) -> u32 {
        self.run.ranks.count()
    }
    fn hosts(&self) -> Vec<String> {
        self.run.ranks.hosts.clone()
    }
    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }
    fn replayable(&self) -> Result<(), TraceError> {
        Ok(())
    }

    fn summary(&self, clocks: Clocks) -> Result<Summary, TraceError> {
        let mut counts = BTreeMap::new();
        let ranks = (0..self.ranks()).map(|rank| summarise(&self.run, rank, clocks, &mut counts));
        let ranks = ranks.collect::<Result<_, _>>()?;
        Ok(Summary { ranks, calls: counts.into_iter().collect() })
    }

    fn recorded_calls(&self, rank: Rank, clocks: Clocks) -> Result<RecordedCalls, TraceError> {
        Ok(Box::new(Recorded { calls: Some(self.calls(rank, clocks)?) }))
    }

    fn calls(&self, rank: Rank, clocks: Clocks) -> Result<Box<dyn RankCalls>, TraceError> {
        self.check(rank)?;
        Ok(Box::new(Translator::new(self.run.clone(), rank.0, clocks)?))
    }
}

/// Recorded calls, one for each translated one.
struct Recorded {
    calls: Option<Box<dyn RankCalls>>,
}

impl Iterator for Recorded {
    type Item = Result<RecordedCall, TraceError>;
    fn next(&mut self) -> Option<Self::Item> {
        let calls = self.calls.as_mut()?;
        let step = calls.next().transpose()?;
        match &step {
            Ok(step) if matches!(step.op, mpi::Op::NewComm(..)) => calls.made(CommId::NULL),
            Ok(_) => {}
            Err(_) => self.calls = None,
        }
        Some(step.map(|step| step.call))
    }
}

fn summarise(
    run: &Run,
    rank: u32,
    clocks: Clocks,
    counts: &mut BTreeMap<&'static str, u64>,
) -> Result<RankSummary, TraceError> {
    let mut calls = Calls::new(run.events(rank, clocks)?, run.ranks.functions.clone());
    let mut summary = RankSummary::begin(run.ranks.hosts[rank as usize].clone());
    while let Some(call) = calls.next()? {
        let time = |ticks| run.time(ticks, clocks, rank, call.offset);
        let (begin, end) = (time(call.begin)?, time(call.end)?);
        summary.first_call = summary.first_call.min(begin);
        summary.last_return = summary.last_return.max(end);
        summary.in_mpi += end.since(begin);
        summary.calls += 1;
        *counts.entry(call.name).or_default() += 1;
        for (_, event) in &call.events {
            if let Event::Send(message) | Event::SendBegins(message, _) = event {
                summary.messages += 1;
                summary.bytes = summary.bytes.saturating_add(message.bytes);
            }
        }
    }
    summary.first_call = summary.first_call.min(summary.last_return);
    Ok(summary)
}
