//! Makes recorded runs in hopcast's own format from others: converts them, scales them to more ranks, or cuts a part
//! out.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use engine::units::QuantityError;
use engine::{FlopRate, Time};
use mpi::Rank;
use serde_json::{Value, json};
use workload::trace::SharedSet;
use workload::trace::hct::rank::End;
use workload::trace::hct::write::{self, ConvertError};
use workload::trace::scale::Scaled;
use workload::trace::slice::{Among, Cut, Outside, Slice, Window};

use super::stop::Stop;
use super::{input_error, open};
use crate::config::InputError;

/// Source and target of a conversion to hopcast's own format.
#[derive(Debug, Clone, Copy)]
pub struct Task<'a> {
    /// Path of the recorded run.
    pub path: &'a str,
    /// Folder, which exists.
    pub out: &'a str,
    /// Rate of computing, such as "1 Gflop/s", for formats that count operations.
    pub flop_rate: Option<&'a str>,
}

impl Task<'_> {
    fn open(&self, stop: &Stop) -> Result<SharedSet, InputError> {
        let recording = open(self.path)?;
        let Some(text) = self.flop_rate else { return Ok(stop.stopping(recording)) };
        let error = |reason: String| InputError::whole(format!("--flop-rate {text}"), reason);
        let rate: FlopRate = text.parse().map_err(|QuantityError(reason)| error(reason))?;
        if rate.0 == 0 {
            return Err(error("a rate is at least 1 flop/s".to_string()));
        }
        let format = recording.format();
        let at_rate = recording.at_rate(rate).ok_or_else(|| {
            error(format!(
                "is for traces that compute operations, and of the format {format} all computing is in time"
            ))
        })?;
        Ok(stop.stopping(at_rate))
    }
}

/// Writes the recorded run in hopcast's own format, with times tallied by place if `tallied`, else as they are.
/// Returns `ranks`, `calls`, `messages`, `bytes`.
pub fn convert(task: &Task, tallied: Option<bool>, stop: &Stop) -> Result<Value, InputError> {
    let recording = task.open(stop)?;
    in_order(task.path, &recording)?;
    recording.replayable().map_err(|error| input_error(&error))?;
    let hosts = recording.hosts();
    write_all(recording.ranks(), task.out, &|rank, file| {
        let mut head = recording.head(Rank(rank), &hosts[rank as usize]);
        head.tallied = tallied.unwrap_or(head.tallied);
        write::convert(&*recording, &head, file)
    })
}

/// Checks that the recording has an order of calls, without which it cannot be written.
fn in_order(path: &str, recording: &SharedSet) -> Result<(), InputError> {
    if recording.ordered() {
        return Ok(());
    }
    let reason = format!(
        "has no order of calls that could be written: in the format {} a rank has a graph of what depends on what, and \
         each replay finds the order anew, by when messages come",
        recording.format()
    );
    Err(InputError::whole(path, reason))
}

/// Scales the regular recorded run to more ranks: `to` has the sizes of the larger grid, or its number of ranks;
/// `grid` the sizes of the recorded one, if no MPI_Cart_create tells.
pub fn scale(
    task: &Task,
    grid: Option<Vec<u32>>,
    to: &[u32],
    tallied: Option<bool>,
    stop: &Stop,
) -> Result<Value, InputError> {
    let recording = task.open(stop)?;
    in_order(task.path, &recording)?;
    recording.replayable().map_err(|error| input_error(&error))?;
    let scaled = Scaled::new(recording.clone(), grid, to).map_err(|error| {
        let reason = error.to_string();
        InputError::whole(task.path, reason.split_once(": ").map_or(&*reason, |(_, reason)| reason))
    })?;
    let mut written = write_all(scaled.ranks(), task.out, &|rank, file| {
        let mut head = recording.head(scaled.repeats(Rank(rank)), "");
        head.tallied = tallied.unwrap_or(head.tallied);
        (head.rank, head.ranks) = (rank, scaled.ranks());
        let early = recording.ends_early(scaled.repeats(Rank(rank)));
        write::write(scaled.events(Rank(rank))?, early.as_ref(), &head, file)
    })?;
    let (from, to) = scaled.grids();
    written["from"] = json!(from);
    written["to"] = json!(to);
    Ok(written)
}

/// Writes the part of the recorded run in the window of `part`, and returns a summary with what was `cut`.
pub fn slice(task: &Task, part: &Part, stop: &Stop) -> Result<Value, InputError> {
    let window = part.window()?;
    let recording = task.open(stop)?;
    let among = part.among(recording.ranks())?;
    in_order(task.path, &recording)?;
    recording.replayable().map_err(|error| input_error(&error))?;
    let hosts = recording.hosts();
    let slice = Slice::new(recording.clone(), window, among.as_ref())
        .map_err(|error| InputError::whole(task.path, error.reason))?;
    let mut written = write_all(slice.ranks(), task.out, &|rank, file| {
        let recorded = slice.recorded(Rank(rank));
        let mut head = recording.head(recorded, &hosts[recorded.0 as usize]);
        (head.rank, head.ranks) = (rank, slice.ranks());
        head.start_unix_ns = head.start_unix_ns.saturating_add(slice.clock_starts_later_ns(Rank(rank)));
        write::write(slice.events(Rank(rank))?, slice.ends_early(Rank(rank)).as_ref(), &head, file)
    })?;
    let Cut { sends, receives, collectives, outside, restricted } = slice.cut();
    written["begin_s"] = json!(slice.begin().seconds());
    written["cut"] = json!({
        "sends": sends,
        "receives": receives,
        "collectives": collectives,
        "outside": outside,
        "restricted": restricted,
    });
    Ok(written)
}

/// Part of a run that a user selects: between times or meetings of all ranks, not both; of all ranks, or some.
#[derive(Debug, Default, Clone)]
pub struct Part {
    /// Begin, such as "1.5 s".
    pub from: Option<String>,
    /// End.
    pub to: Option<String>,
    /// Numbers of two meetings: the part begins after the first and ends with the second.
    pub meetings: Option<(u64, u64)>,
    /// Ranks to keep, as ranges from the first to the last of each pair, in any order.
    pub ranks: Option<Vec<(u32, u32)>>,
    /// Treatment of their calls that involve others: a name of [`Outside::ALL`]; the first by default.
    pub outside: Option<String>,
}

impl Part {
    fn window(&self) -> Result<Window, InputError> {
        let time = |flag: &str, text: &Option<String>, default: Time| {
            let parsed = text.as_ref().map_or(Ok(default), |text| text.parse::<Time>());
            parsed.map_err(|error| InputError::whole(flag, error.to_string()))
        };
        let times = (time("--from", &self.from, Time::ZERO)?, time("--to", &self.to, Time::NEVER)?);
        match (self.meetings, &self.from, &self.to) {
            (Some((after, last)), None, None) => Ok(Window::Meetings(after, last)),
            (Some(_), ..) => Err(InputError::whole(
                "--meetings",
                "says where the part begins and ends, and so do --from and --to",
            )),
            (None, None, None) if self.ranks.is_some() => Ok(Window::Whole),
            (None, None, None) => Err(InputError::whole(
                "--from, --to, --meetings, --ranks",
                "which part? None of these is given",
            )),
            (None, ..) if times.0 >= times.1 => {
                Err(InputError::whole("--from, --to", "the part ends before it begins"))
            }
            (None, ..) => Ok(Window::Times(times.0, times.1)),
        }
    }

    /// Ranks to keep, out of `count`.
    fn among(&self, count: u32) -> Result<Option<Among>, InputError> {
        let name = self.outside.as_deref().unwrap_or("refuse");
        let Some((_, outside)) = Outside::ALL.iter().find(|(known, _)| *known == name) else {
            let known: Vec<_> = Outside::ALL.iter().map(|(name, _)| *name).collect();
            let reason = format!("unknown: '{name}'; known: {}", known.join(", "));
            return Err(InputError::whole("--outside", reason));
        };
        let Some(spans) = &self.ranks else {
            let alone = || InputError::whole("--outside", "is for --ranks, of which none are given");
            return self.outside.as_ref().map_or(Ok(None), |_| Err(alone()));
        };
        // The check precedes the expansion, since a typing error may name a billion ranks.
        if let Some((_, last)) = spans.iter().find(|(_, last)| *last >= count) {
            let reason = format!("rank {last} is not there: it has {count} ranks");
            return Err(InputError::whole("--ranks", reason));
        }
        let ranks: BTreeSet<u32> = spans.iter().flat_map(|(first, last)| *first..=*last).collect();
        if ranks.is_empty() {
            return Err(InputError::whole("--ranks", "names no rank"));
        }
        Ok(Some(Among { ranks: ranks.into_iter().collect(), outside: *outside }))
    }
}

type WriteRank<'a> = dyn Fn(u32, &mut BufWriter<File>) -> Result<End, ConvertError> + Sync + 'a;

/// Writes the files of all ranks, several at a time.
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
