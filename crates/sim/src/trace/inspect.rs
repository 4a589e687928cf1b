//! Inspects recorded runs: lists their calls, and reports errors.

use mpi::Rank;
use mpi::operation::Work;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use workload::trace::hct::gaps::{Count, Gap};
use workload::trace::hct::rank::{Event, Standing};
use workload::trace::hct::shape::Shape;
use workload::trace::hct::write::Listed;
use workload::trace::order::{self, Finding, Findings, Kind};
use workload::trace::set::EndsEarly;
use workload::trace::{Alone, Clocks, SharedSet, Summary, TraceError};

use super::{input_error, nodes, open};
use crate::config::InputError;

/// One call, in the JSON of `dump`.
#[derive(Serialize)]
struct Line<'a> {
    rank: u32,
    number: u64,
    begin_ns: u64,
    end_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    clock: Option<u64>,
    #[serde(flatten)]
    before: Option<Polled>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    counts: Map<String, Value>,
    #[serde(flatten)]
    shape: &'a Shape,
}

/// Polls of a rank before a call.
#[derive(Serialize)]
struct Polled {
    polls: u64,
    waited_ns: u64,
}

/// Lists the calls of `ranks` (of all if there are none) at `path`, with their logical clocks if `clocks`, or, for
/// traces of graphs, the nodes: lines of text or of JSON, some at a time, until `write` returns false.
pub fn dump(
    path: &str,
    ranks: &[u32],
    clocks: bool,
    as_json: bool,
    write: &mut dyn FnMut(&str) -> bool,
) -> Result<(), InputError> {
    let recording = open(path)?;
    let alone = recording.alone();
    // Numbers of ranks in the run: the only rank of a set may be any of the run's.
    let number = |rank: u32| alone.map_or(rank, |alone| alone.rank);
    let there = (0..recording.ranks()).map(number);
    let all: Vec<u32> = if ranks.is_empty() { there.collect() } else { ranks.to_vec() };
    if let Some(Alone { rank, ranks: of }) = alone
        && let Some(other) = all.iter().find(|other| **other != rank)
    {
        let reason = format!("rank {other} is not there: {path} is the file of rank {rank} of {of} alone");
        return Err(InputError::whole("--rank", reason));
    }
    if let Some(unknown) = all.iter().find(|rank| alone.is_none() && **rank >= recording.ranks()) {
        let count = recording.ranks();
        return Err(InputError::whole(
            "--rank",
            format!("rank {unknown} is not there: {path} has {count} ranks"),
        ));
    }
    let mut times: Vec<Vec<u64>> = vec![Vec::new(); recording.ranks() as usize];
    // The logical clocks of a rank depend on those of the ranks that it receives from.
    if clocks && recording.ordered() && alone.is_none() {
        recording.replayable().map_err(|error| input_error(&error))?;
        let asked = |rank: Rank| ranks.is_empty() || ranks.contains(&rank.0);
        let mut see = |rank: Rank, clock| {
            if asked(rank) {
                times[rank.0 as usize].push(clock);
            }
        };
        order::order(&*recording, &mut see).map_err(|error| input_error(&error))?;
    }
    for shown in all {
        let rank = if alone.is_some() { 0 } else { shown };
        if let Some(graph) = recording.graph(Rank(rank)).map_err(|error| input_error(&error))? {
            if nodes::dump(&graph, rank, as_json, write) {
                continue;
            }
            break;
        }
        let goes_on = dump_rank(&recording, [rank, shown], &times[rank as usize], as_json, write);
        if !goes_on.map_err(|error| input_error(&error))?
            || !dump_standing(&recording, [rank, shown], as_json, write)
        {
            break;
        }
    }
    Ok(())
}

/// Writes the calls of a rank, given by its numbers in the set and in the run. Returns true if more may be written.
fn dump_rank(
    recording: &SharedSet,
    [of, rank]: [u32; 2],
    clocks: &[u64],
    as_json: bool,
    write: &mut dyn FnMut(&str) -> bool,
) -> Result<bool, TraceError> {
    let mut text = String::new();
    let counted = recording.counts();
    if !as_json {
        let clock = if clocks.is_empty() { "" } else { "    clock" };
        let _ = writeln!(text, "rank {rank}\n       #         begin [s]           end [s]{clock}  call");
    }
    let mut number = 0;
    for listed in recording.listing(Rank(of), Clocks::default())? {
        let Event { shape, begin_ns, end_ns, between } = match listed? {
            Listed::Call(event) => event,
            Listed::Computing(what, work) => {
                computing(&mut text, rank, what, work, as_json);
                continue;
            }
        };
        number += 1;
        let Gap { polls, waited_ns, counts } = between;
        let counts = || counted.iter().zip(counts);
        let clock = clocks.get(number as usize - 1).copied();
        let _ = if as_json {
            let before = (polls > 0).then_some(Polled { polls, waited_ns });
            let counts = counts().map(|(Count { name, .. }, count)| (name.clone(), count.into())).collect();
            let line = Line { rank, number, begin_ns, end_ns, clock, before, counts, shape: &shape };
            writeln!(text, "{}", serde_json::to_string(&line).expect("a call is plain data"))
        } else {
            let clock = clock.map_or(String::new(), |clock| format!(" {clock:>8}"));
            let (begin, end) = (seconds(begin_ns), seconds(end_ns));
            let (call, did) = (shape.call.0, shape.did.to_string());
            if polls > 0 {
                let waited = seconds(waited_ns);
                let _ = writeln!(text, "{:>8} {polls} polls found nothing, {waited} s of waiting", "");
            }
            let some = counts().filter(|(_, count)| *count > 0);
            let some: Vec<String> =
                some.map(|(Count { unit, .. }, count)| format!("{count} {unit}")).collect();
            if !some.is_empty() {
                let _ = writeln!(text, "{:>8} {}", "", some.join(", "));
            }
            let line = format!("{number:>8} {begin:>17} {end:>17}{clock}  {call:<24} {did}");
            writeln!(text, "{}", line.trim_end())
        };
        if text.len() > 1 << 16 {
            if !write(&text) {
                return Ok(false);
            }
            text.clear();
        }
    }
    Ok(write(&text))
}

/// Writes the call that a rank was in when its recording ended early. Returns true if more may be written.
fn dump_standing(
    recording: &SharedSet,
    [of, rank]: [u32; 2],
    as_json: bool,
    write: &mut dyn FnMut(&str) -> bool,
) -> bool {
    let Some(EndsEarly { standing: Some(standing) }) = recording.ends_early(Rank(of)) else { return true };
    let begin_ns = standing.since_ns.saturating_add(recording.starts_after(Rank(of)).0 / 1000);
    if as_json {
        let Standing { call, polls, message, .. } = standing;
        let line = json!({"rank": rank, "begin_ns": begin_ns, "call": call, "did": "standing", "polls": polls, "message": message});
        return write(&format!("{line}\n"));
    }
    write(&format!("       - {:>17} {:>17}  {standing}\n", seconds(begin_ns), "not returned"))
}

/// Writes an action that computes.
fn computing(text: &mut String, rank: u32, what: &str, work: Work, as_json: bool) {
    let (key, amount, unit) = match work {
        Work::Time(time) | Work::Polled(time) | Work::Moving { time, .. } => ("seconds", time.seconds(), "s"),
        Work::Flops { flops, .. } | Work::PolledFlops(flops) => ("flops", flops, "flop"),
    };
    let _ = if as_json {
        writeln!(text, "{}", json!({"rank": rank, "call": what, "did": "compute", key: amount}))
    } else {
        writeln!(text, "{:>8} {what} {amount} {unit}", "")
    };
}

/// Formats nanoseconds as seconds, with all digits.
fn seconds(ns: u64) -> String {
    format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000)
}

/// Findings in the recorded run at `path`, and their effect on a replay.
pub fn lint(path: &str) -> Result<Value, InputError> {
    let recording = open(path)?;
    let summary = recording.summary(Clocks::default()).map_err(|error| input_error(&error))?;
    let not_replayable = recording.replayable().err().map(|error| input_error(&error).to_string());
    let findings = match not_replayable {
        None => order::lint(&*recording).map_err(|error| input_error(&error))?,
        Some(_) => Findings::default(),
    };
    let of_kind = |(kind, name, replay): &(Kind, &str, &str)| {
        let of_kind = findings.first.iter().filter(|finding| finding.kind == *kind);
        let first = of_kind.map(|finding| one(&recording, finding)).collect::<Result<Vec<_>, _>>()?;
        let replay = match kind {
            // Operations that a graph has begun must end.
            Kind::UnmatchedReceive if !recording.ordered() => "a replay ends there as a deadlock",
            Kind::Stuck | Kind::Cycle if recording.is_partial() => PARTIAL,
            _ => replay,
        };
        Ok(json!({"kind": name, "count": findings.count(*kind), "replay": replay, "first": first}))
    };
    let found = Kind::ALL.iter().filter(|(kind, ..)| findings.count(*kind) > 0).map(of_kind);
    let found = found.collect::<Result<Vec<_>, TraceError>>().map_err(|error| input_error(&error))?;
    let found = ends_early(&recording, &summary).into_iter().chain(found);
    let only_time = summary.calls.iter().filter(|(call, _)| moves_data_unseen(call));
    Ok(json!({
        "format": recording.format(),
        "ranks": recording.ranks(),
        "ordered": recording.ordered(),
        "findings": found.collect::<Vec<_>>(),
        "only_time": only_time.map(|(call, count)| json!({"call": call, "count": count})).collect::<Vec<_>>(),
        "not_replayable": not_replayable,
        "warnings": recording.warnings(),
    }))
}

/// Effect on a replay of stuck ranks, perhaps as the operations that they wait for were not recorded.
const PARTIAL: &str = "a replay stops there, with a partial result";

/// Finding for ranks without MPI_Finalize, if there are some.
fn ends_early(recording: &SharedSet, summary: &Summary) -> Option<Value> {
    let ranks = (0..).zip(&summary.ranks);
    let early: Vec<Value> = ranks
        .filter_map(|(rank, of)| {
            let EndsEarly { standing } = recording.ends_early(Rank(rank))?;
            let (call, cause) = match standing {
                None => ("", "its recording ends after that call, and has no MPI_Finalize".to_string()),
                Some(standing) => {
                    let after_ns = recording.starts_after(Rank(rank)).0 / 1000;
                    let since = seconds(standing.since_ns.saturating_add(after_ns));
                    let cause = format!("has not returned when the recording ends: {standing}, begun at {since} s");
                    (standing.call.0, cause)
                }
            };
            Some(json!({"rank": rank, "call": call, "number": of.calls + u64::from(!call.is_empty()), "cause": cause}))
        })
        .collect();
    (!early.is_empty()).then(|| {
        let (count, first) = (early.len(), early.into_iter().take(FEW).collect::<Vec<_>>());
        json!({"kind": "missing MPI_Finalize", "count": count, "replay": PARTIAL, "first": first})
    })
}

/// Limit of findings named for each kind.
const FEW: usize = 10;

/// Summary of the recording that a program has just left in the folder `path`: the presence of any call, and
/// warnings. Reads no more than the first block of a rank.
pub fn recorded(path: &str) -> Result<Value, InputError> {
    let recording = open(path)?;
    let mut calls =
        (0..recording.ranks()).map(|rank| recording.recorded_calls(Rank(rank), Clocks::default()));
    let first = calls.find_map(|calls| calls.map(|mut calls| calls.next()).transpose());
    let first = first.transpose().and_then(|first| first.transpose()).map_err(|error| input_error(&error))?;
    Ok(json!({"ranks": recording.ranks(), "has_calls": first.is_some(), "warnings": recording.warnings()}))
}

/// Converts a finding to JSON. In traces of graphs, its number is that of a node, or none, and `name` is the node's
/// name in the trace.
fn one(recording: &SharedSet, finding: &Finding) -> Result<Value, TraceError> {
    let Finding { rank, call, number, cause, .. } = finding;
    if recording.ordered() {
        return Ok(json!({"rank": rank.0, "call": call, "number": number, "cause": cause}));
    }
    let (number, name) = match number {
        0 => (None, None),
        _ => (Some(number), recording.node_name(*rank, *number)?),
    };
    Ok(json!({"rank": rank.0, "call": call, "number": number, "name": name, "cause": cause}))
}

/// True for functions that move data or wait for others, of which a replay keeps only the recorded time.
fn moves_data_unseen(call: &str) -> bool {
    let starts = [
        "MPI_Win_",
        "MPI_File_",
        "MPI_Put",
        "MPI_Get",
        "MPI_Accumulate",
        "MPI_Rput",
        "MPI_Rget",
        "MPI_Raccumulate",
    ];
    let exact = ["MPI_Fetch_and_op", "MPI_Compare_and_swap"];
    let queries = [
        "MPI_Get_address",
        "MPI_Get_count",
        "MPI_Get_elements",
        "MPI_Get_elements_x",
        "MPI_Get_library_version",
        "MPI_Get_processor_name",
        "MPI_Get_version",
    ];
    (starts.iter().any(|start| call.starts_with(start)) || exact.contains(&call)) && !queries.contains(&call)
}
