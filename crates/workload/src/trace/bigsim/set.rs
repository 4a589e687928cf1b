//! The files of a log, and the schedule that is made of each processor's events.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::hash::Map;
use engine::registry::Entry;
use engine::{Bytes, Duration, Time};
use mpi::Rank;
use mpi::operation::{Peer, TagMatch};

use super::file::{self, Event};
use crate::trace::Format;
use crate::trace::error::TraceError;
use crate::trace::graph::{After, Graph, Walk, Work};
use crate::trace::input::TraceFile;
use crate::trace::set::{Clocks, RankCalls, RankSummary, RecordedCall, RecordedCalls, Summary, TraceSet};

/// The entry of this format.
pub const FORMAT: Entry<Format> = Entry {
    name: "bigsim",
    summary: "BigSim logs of Charm++ and AMPI, a folder of bgTrace files",
    source: "BigSim of Charm++ 6.10, bigsim_logs (version 6); TraceR",
    parameters: &[],
    examples: &[""],
    build: Format { recognise: file::recognise, open: |files| Ok(Arc::new(BigsimSet::open(files)?)) },
};

/// A log.
pub struct BigsimSet {
    files: Vec<TraceFile>,
    /// For each processor the index of its file and the byte range of its log there.
    places: Vec<(usize, (u64, u64))>,
    summary: Summary,
}

impl BigsimSet {
    /// Opens the log among `files`: the overview has no number at the end of its name.
    pub fn open(files: Vec<TraceFile>) -> Result<BigsimSet, TraceError> {
        let mut overviews = Vec::new();
        let mut numbered: BTreeMap<u32, TraceFile> = BTreeMap::new();
        for file in files {
            if !file::recognise(&file)? {
                continue;
            }
            let name = file.base_name();
            let stem = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
            match name[stem.len()..].parse() {
                Ok(number) => drop(numbered.insert(number, file)),
                Err(_) => overviews.push(file),
            }
        }
        let some = overviews
            .first()
            .or(numbered.values().next())
            .map_or("no files".into(), |file| file.name.clone());
        let [overview] = &overviews[..] else {
            let reason = format!(
                "{} files like bgTrace are here, of which there must be one; name its folder",
                overviews.len()
            );
            return Err(TraceError::new(&*some, reason));
        };
        let said = file::overview(overview)?;
        let whole = |reason: String| TraceError::new(&*overview.name, reason);
        if let Some(missing) = (0..said.files).find(|number| !numbered.contains_key(number)) {
            return Err(whole(format!(
                "has {} files, but that with number {missing} is missing",
                said.files
            )));
        }
        let files: Vec<_> = numbered.into_values().take(said.files as usize).collect();
        let mut places = Vec::new();
        let all: Vec<_> = files.iter().map(file::places).collect::<Result<_, _>>()?;
        let known: usize = all.iter().map(Vec::len).sum();
        if known != said.processors as usize || known == 0 {
            return Err(whole(format!("has {} processors, but its files have {known}", said.processors)));
        }
        for processor in 0..known {
            let (number, row) = (processor % files.len(), processor / files.len());
            let place = all[number].get(row).copied();
            let missing =
                || whole(format!("processor {processor} is not in file {number}, where it must be"));
            places.push((number, place.ok_or_else(missing)?));
        }
        let mut set = BigsimSet { files, places, summary: Summary { ranks: Vec::new(), calls: Vec::new() } };
        set.sum_up()?;
        Ok(set)
    }

    fn events(&self, rank: u32) -> Result<Vec<Event>, TraceError> {
        let (number, place) = self.places[rank as usize];
        file::events(&self.files[number], place, self.ranks())
    }

    /// Reads the whole log. Fails if an event waits for a message that nobody sends, or if a message is not received
    /// as often as it is sent.
    fn sum_up(&mut self) -> Result<(), TraceError> {
        let ranks = self.ranks();
        let mut open: Map<(u32, u32), i64> = Map::default();
        let (mut events, mut sends, mut receives) = (0, 0, 0);
        for rank in 0..ranks {
            let all = self.events(rank)?;
            let mut sum = RankSummary::untimed(all.len() as u64, 0, 0);
            for event in &all {
                let [begin, end] = event.times_s.map(|time| Time(Duration::from_seconds(time.max(0.0)).0));
                sum.last_return = sum.last_return.max(begin).max(end);
                if let Some(message) = event.message {
                    *open.entry(message).or_default() -= 1;
                    receives += 1;
                }
                for sent in &event.sends {
                    let copies = sent.to.of(ranks).count() as u64;
                    *open.entry((rank, sent.number)).or_default() += copies as i64;
                    sum.messages += copies;
                    sum.bytes += copies * u64::from(sent.bytes);
                }
            }
            events += all.len() as u64;
            sends += sum.messages;
            self.summary.ranks.push(sum);
        }
        for rank in 0..ranks {
            for event in self.events(rank)? {
                let sent = event.sends.iter().map(|sent| (rank, sent.number));
                for message in sent.chain(event.message) {
                    let left = open.get(&message).copied().unwrap_or(0);
                    if left != 0 {
                        let (number, _) = self.places[rank as usize];
                        let (more, of) = if left > 0 { ("sent", "received") } else { ("received", "sent") };
                        let (from, which) = message;
                        let times = left.abs();
                        let reason = format!(
                            "message {which} of processor {from} is {more} {times} times more than {of}"
                        );
                        return Err(TraceError::new(&*self.files[number].name, reason));
                    }
                }
            }
            self.graph(rank)?;
        }
        self.summary.calls = vec![("MPI_Irecv", receives), ("MPI_Isend", sends), ("event", events)];
        Ok(())
    }

    /// The schedule of one processor.
    fn graph(&self, rank: u32) -> Result<Graph, TraceError> {
        let ranks = self.ranks();
        let mut build = Builder::default();
        let events = self.events(rank)?;
        let mut ends = Vec::with_capacity(events.len());
        for event in &events {
            let first = build.event(event, ranks);
            ends.push((first, build.nodes.len() as u32 - 1));
        }
        for (event, (first, _)) in events.iter().zip(&ends) {
            for before in &event.before {
                build.edges.push((ends[*before as usize].1, *first, After::Finish));
            }
        }
        let graph = Graph::new(build.nodes, &build.edges);
        if graph.in_a_cycle().is_some() {
            let (number, (from, _)) = self.places[rank as usize];
            let reason = format!("events of processor {rank} wait for each other in a cycle");
            return Err(TraceError::at(&*self.files[number].name, from, reason));
        }
        Ok(graph)
    }
}

/// Builds the nodes of a processor's events: computing until a message is sent, the message, computing until the
/// next.
#[derive(Default)]
struct Builder {
    nodes: Vec<Work>,
    edges: Vec<(u32, u32, After)>,
}

impl Builder {
    /// Adds an event and returns its last node. Its first node waits for the event's dependencies.
    fn event(&mut self, event: &Event, ranks: u32) -> u32 {
        let received = event.message.map(|(from, number)| {
            let (from, tag) = (Peer::Rank(from), TagMatch::Tag(number));
            self.nodes.push(Work::Receive { from, tag, bytes: None });
            self.nodes.len() as u32 - 1
        });
        let first = self.nodes.len() as u32;
        let mut last = None;
        let mut now = Duration::ZERO;
        let mut sends = event.sends.clone();
        sends.sort_by_key(|sent| sent.at);
        for sent in &sends {
            last = Some(self.compute(sent.at.saturating_sub(now), last));
            now = sent.at;
            for to in sent.to.of(ranks) {
                self.nodes.push(Work::Send { to, tag: sent.number, bytes: Bytes(sent.bytes.into()) });
                self.edges.extend(last.map(|last| (last, self.nodes.len() as u32 - 1, After::Finish)));
            }
        }
        self.compute(event.length.saturating_sub(now), last);
        self.edges.extend(received.map(|received| (received, first, After::Finish)));
        first
    }

    fn compute(&mut self, time: Duration, after: Option<u32>) -> u32 {
        self.nodes.push(Work::Compute { time, processor: 0 });
        let node = self.nodes.len() as u32 - 1;
        self.edges.extend(after.map(|after| (after, node, After::Finish)));
        node
    }
}

impl TraceSet for BigsimSet {
    fn format(&self) -> &'static str {
        FORMAT.name
    }
    fn ranks(&self) -> u32 {
        self.places.len() as u32
    }
    fn hosts(&self) -> Vec<String> {
        vec![String::new(); self.places.len()]
    }
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }
    fn timed(&self) -> bool {
        false
    }
    fn ordered(&self) -> bool {
        false
    }
    fn graph(&self, rank: Rank) -> Result<Option<Graph>, TraceError> {
        self.graph(rank.0).map(Some)
    }
    fn node_name(&self, rank: Rank, number: u64) -> Result<Option<String>, TraceError> {
        let mut build = Builder::default();
        for (event, place) in self.events(rank.0)?.iter().zip(0..) {
            build.event(event, self.ranks());
            if build.nodes.len() as u64 >= number {
                return Ok(Some(format!("event {place} of the log")));
            }
        }
        Ok(None)
    }
    fn replayable(&self) -> Result<(), TraceError> {
        Ok(())
    }
    fn summary(&self, _: Clocks) -> Result<Summary, TraceError> {
        Ok(self.summary.clone())
    }

    fn recorded_calls(&self, rank: Rank, _: Clocks) -> Result<RecordedCalls, TraceError> {
        let at = |time: f64| Time(Duration::from_seconds(time.max(0.0)).0);
        let calls = self.events(rank.0)?.into_iter().map(move |event| {
            let [begin, end] = event.times_s.map(at);
            Ok(RecordedCall { name: "event", begin, end: end.max(begin) })
        });
        Ok(Box::new(calls))
    }

    fn calls(&self, rank: Rank, _: Clocks) -> Result<Box<dyn RankCalls>, TraceError> {
        Ok(Box::new(Walk::new(Arc::new(self.graph(rank.0)?), Vec::new())))
    }
}
