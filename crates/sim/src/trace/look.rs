//! What can be done with a recorded run beside its replay: convert it, list its calls, look for what is wrong.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use mpi::Rank;
use serde::Serialize;
use serde_json::{Value, json};
use workload::trace::hct::rank::{End, Event};
use workload::trace::hct::shape::Shape;
use workload::trace::hct::write::{self, ConvertError};
use workload::trace::order::{self, Findings, Kind};
use workload::trace::scale::Scaled;
use workload::trace::{Clocks, SharedSet, TraceError};

use super::{input_error, open};
use crate::config::InputError;

/// Writes the recorded run at `path` into the folder `out`, which is there, in hopcast's own format; with times
/// tallied by place if `tallied`, or as they are. Gives `ranks`, `calls`, `messages`, `bytes`.
pub fn convert(path: &str, out: &str, tallied: Option<bool>) -> Result<Value, InputError> {
    let recording = open(path)?;
    recording.replayable().map_err(|error| input_error(&error))?;
    let hosts = recording.hosts();
    write_all(recording.ranks(), out, &|rank, file| {
        let mut head = recording.head(Rank(rank), &hosts[rank as usize]);
        head.tallied = tallied.unwrap_or(head.tallied);
        write::convert(&*recording, &head, file)
    })
}

/// Writes into the folder `out` a run of more ranks, which stands for the regular one at `path`: `to` has the sizes of
/// the larger grid, or its number of ranks; `grid` the sizes of the recorded one, where no MPI_Cart_create tells.
pub fn scale(
    path: &str,
    out: &str,
    grid: Option<Vec<u32>>,
    to: &[u32],
    tallied: Option<bool>,
) -> Result<Value, InputError> {
    let recording = open(path)?;
    recording.replayable().map_err(|error| input_error(&error))?;
    let scaled = Scaled::new(recording.clone(), grid, to).map_err(|error| {
        let reason = error.to_string();
        InputError::whole(path, reason.split_once(": ").map_or(&*reason, |(_, reason)| reason))
    })?;
    let mut written = write_all(scaled.ranks(), out, &|rank, file| {
        let mut head = recording.head(scaled.repeats(Rank(rank)), "");
        head.tallied = tallied.unwrap_or(head.tallied);
        (head.rank, head.ranks, head.start_unix_ns) = (rank, scaled.ranks(), 0);
        write::write(scaled.events(Rank(rank))?, &head, file)
    })?;
    let (from, to) = scaled.grids();
    written["from"] = json!(from);
    written["to"] = json!(to);
    Ok(written)
}

type WriteRank<'a> = dyn Fn(u32, &mut BufWriter<File>) -> Result<End, ConvertError> + Sync + 'a;

/// Writes the files of all ranks, several at once.
fn write_all(ranks: u32, out: &str, write: &WriteRank) -> Result<Value, InputError> {
    let next = AtomicU32::new(0);
    let work = || {
        let mut sum = End::default();
        loop {
            let rank = next.fetch_add(1, Ordering::Relaxed);
            if rank >= ranks {
                return Ok(sum);
            }
            let end = write_rank(rank, out, write)?;
            sum.calls += end.calls;
            sum.messages += end.messages;
            sum.bytes = sum.bytes.saturating_add(end.bytes);
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get()).min(ranks as usize);
    let sums: Vec<Result<End, InputError>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|thread| thread.join().expect("converting does not panic")).collect()
    });
    let sums: Vec<End> = sums.into_iter().collect::<Result<_, _>>()?;
    let sum = |of: fn(&End) -> u64| sums.iter().map(of).fold(0, u64::saturating_add);
    Ok(json!({
        "ranks": ranks,
        "calls": sum(|end| end.calls),
        "messages": sum(|end| end.messages),
        "bytes": sum(|end| end.bytes),
    }))
}

fn write_rank(rank: u32, out: &str, write: &WriteRank) -> Result<End, InputError> {
    let path = Path::new(out).join(write::file_name(rank));
    let unwritten = |error: std::io::Error| InputError::whole(path.display().to_string(), error.to_string());
    let mut file = BufWriter::new(File::create_new(&path).map_err(unwritten)?);
    let end = write(rank, &mut file).map_err(|error| match error {
        ConvertError::Trace(error) => input_error(&error),
        ConvertError::Write(error) => unwritten(error),
    })?;
    file.flush().map_err(unwritten)?;
    Ok(end)
}

/// One call, as `dump` gives it in JSON.
#[derive(Serialize)]
struct Line<'a> {
    rank: u32,
    number: u64,
    begin_ns: u64,
    end_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    clock: Option<u64>,
    #[serde(flatten)]
    shape: &'a Shape,
}

/// Lists the calls of `ranks` (of all if there are none) at `path`, with their logical clocks if `clocks`: lines of
/// text, or of JSON, some at a time, until `write` has enough.
pub fn dump(
    path: &str,
    ranks: &[u32],
    clocks: bool,
    as_json: bool,
    write: &mut dyn FnMut(&str) -> bool,
) -> Result<(), InputError> {
    let recording = open(path)?;
    let all: Vec<u32> = if ranks.is_empty() { (0..recording.ranks()).collect() } else { ranks.to_vec() };
    if let Some(unknown) = all.iter().find(|rank| **rank >= recording.ranks()) {
        let count = recording.ranks();
        return Err(InputError::whole(
            "--rank",
            format!("rank {unknown} is not there: {path} has {count} ranks"),
        ));
    }
    let mut times: Vec<Vec<u64>> = vec![Vec::new(); recording.ranks() as usize];
    if clocks && recording.ordered() {
        recording.replayable().map_err(|error| input_error(&error))?;
        let asked = |rank: Rank| ranks.is_empty() || ranks.contains(&rank.0);
        let mut see = |rank: Rank, clock| {
            if asked(rank) {
                times[rank.0 as usize].push(clock);
            }
        };
        order::order(&*recording, &mut see).map_err(|error| input_error(&error))?;
    }
    for rank in all {
        if !dump_rank(&recording, rank, &times[rank as usize], as_json, write)
            .map_err(|error| input_error(&error))?
        {
            break;
        }
    }
    Ok(())
}

/// Whether there is more to be written.
fn dump_rank(
    recording: &SharedSet,
    rank: u32,
    clocks: &[u64],
    as_json: bool,
    write: &mut dyn FnMut(&str) -> bool,
) -> Result<bool, TraceError> {
    let mut text = String::new();
    if !as_json {
        let clock = if clocks.is_empty() { "" } else { "    clock" };
        let _ = writeln!(text, "rank {rank}\n       #         begin [s]           end [s]{clock}  call");
    }
    for (event, number) in recording.events(Rank(rank), Clocks::default())?.zip(1..) {
        let Event { shape, begin_ns, end_ns } = event?;
        let clock = clocks.get(number as usize - 1).copied();
        let _ = if as_json {
            let line = Line { rank, number, begin_ns, end_ns, clock, shape: &shape };
            writeln!(text, "{}", serde_json::to_string(&line).expect("a call is plain data"))
        } else {
            let clock = clock.map_or(String::new(), |clock| format!(" {clock:>8}"));
            let (begin, end) = (seconds(begin_ns), seconds(end_ns));
            let (call, did) = (shape.call.0, shape.did.to_string());
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

/// Nanoseconds as seconds, all digits.
fn seconds(ns: u64) -> String {
    format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000)
}

/// What is wrong with the recorded run at `path`, and what a replay makes of it.
pub fn lint(path: &str) -> Result<Value, InputError> {
    let recording = open(path)?;
    let summary = recording.summary(Clocks::default()).map_err(|error| input_error(&error))?;
    let not_replayable = recording.replayable().err().map(|error| input_error(&error).to_string());
    let findings = match not_replayable {
        None if recording.ordered() => {
            order::order(&*recording, &mut |_, _| {}).map_err(|error| input_error(&error))?
        }
        _ => Findings::default(),
    };
    let of_kind = |(kind, name, replay): &(Kind, &str, &str)| {
        let first: Vec<_> = findings
            .first
            .iter()
            .filter(|finding| finding.kind == *kind)
            .map(|finding| json!({"rank": finding.rank.0, "call": finding.call, "number": finding.number, "cause": finding.cause}))
            .collect();
        json!({"kind": name, "count": findings.count(*kind), "replay": replay, "first": first})
    };
    let found = Kind::ALL.iter().filter(|(kind, ..)| findings.count(*kind) > 0).map(of_kind);
    let only_time = summary.calls.iter().filter(|(call, _)| moves_data_unseen(call));
    let mut warnings = recording.warnings();
    if !recording.ordered() {
        warnings.push("its calls stand in no order: their messages are not looked at".to_string());
    }
    Ok(json!({
        "format": recording.format(),
        "ranks": recording.ranks(),
        "findings": found.collect::<Vec<_>>(),
        "only_time": only_time.map(|(call, count)| json!({"call": call, "count": count})).collect::<Vec<_>>(),
        "not_replayable": not_replayable,
        "warnings": warnings,
    }))
}

/// Functions that move data or wait for others, of which a replay keeps the recorded time only.
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
