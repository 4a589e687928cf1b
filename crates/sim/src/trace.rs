//! Recorded runs on disk: finds the files of a trace, opens them for the readers, and gives the recorded calls as a
//! table.

mod convert;
mod inspect;
mod nodes;
mod stop;

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::units::{Duration, EventRate, FlopRate, QuantityError};
use mpi::Rank;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use workload::trace::causality::Check;
use workload::trace::computing::{Computing, Rate};
use workload::trace::hct::gaps::Count;
use workload::trace::{
    self, Clocks, Mode, RankSummary, ReadAt, ReplayOptions, SharedSet, TraceError, TraceFile, Wildcards,
};

use crate::config::InputError;
use crate::table::{Column, Table};

pub use convert::{Part, Task, convert, scale, slice};
pub use inspect::{dump, lint, recorded};
pub use stop::Stop;

/// A file that is opened for each read of a block, so that a trace with any number of ranks stays below the limit of
/// open files.
struct OnDisk {
    path: PathBuf,
    size: u64,
}

impl ReadAt for OnDisk {
    fn size(&self) -> u64 {
        self.size
    }
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        File::open(&self.path)?.read_at(buffer, offset)
    }
}

/// Files of the recorded run at `path`, with their sizes: all of a folder, those of the set that one file belongs to,
/// or those that a file lists.
pub fn files(path: &str) -> Result<Vec<(PathBuf, u64)>, InputError> {
    let error = |reason: String| InputError::whole(path, reason);
    let at = Path::new(path);
    let metadata =
        std::fs::metadata(at).map_err(|reason| error(format!("cannot read this trace: {reason}")))?;
    if !metadata.is_dir() && !metadata.is_file() {
        let what = "is neither a file nor a folder; a workload is a trace (its folder or one of its files), a \
                    program (NAME.py), or a pattern ('hopcast list patterns')";
        return Err(error(what.to_string()));
    }
    let files = match listed(at, metadata.len()) {
        Ok(None) if metadata.is_dir() => files_of(at),
        Ok(None) => set_of(at),
        Ok(Some(listed)) => Ok(listed),
        Err(reason) => Err(reason),
    };
    let files =
        files.and_then(with_events).map_err(|reason| error(format!("cannot read this trace: {reason}")))?;
    if files.is_empty() {
        return Err(error("this folder holds no files; name the folder of a trace".to_string()));
    }
    Ok(files)
}

/// Opens the recorded run at `path`: see [`files`].
pub fn open(path: &str) -> Result<SharedSet, InputError> {
    let at = Path::new(path);
    let files = files(path)?;
    let files: Vec<TraceFile> = files
        .into_iter()
        .map(|(path, size)| TraceFile::new(path.to_string_lossy().into_owned(), OnDisk { path, size }))
        .collect();
    let executable = std::fs::metadata(at)
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0);
    trace::recognise_named(at, files).map_err(|error| match executable {
        false => input_error(&error),
        true => InputError::whole(path, format!("not a compiled program, and {}", error.reason)),
    })
}

/// Options of a replay, as flags of the command line; `None` for those that are not given.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Flags {
    /// Name of a mode in [`MODES`]; `dependencies` by default.
    pub mode: Option<String>,
    /// True if delays move the recorded starts; for the mode `timestamps`.
    pub time_shift: Option<bool>,
    /// `dependencies`, `compute`, or both with a comma; for the mode `dependencies`.
    pub ignore: Option<String>,
    /// True if wildcard receives are matched anew.
    pub rematch: Option<bool>,
    /// True if the replay is checked against the logical clocks of the recorded run; by default only for short ones.
    pub check_clocks: Option<bool>,
    /// Count that computing between calls is derived from instead of its time: `NAME=RATE`, or `flops`.
    pub compute_by: Option<String>,
    /// Factor of recorded computing, 0 or more, in modes whose calls start by it.
    pub compute_scale: Option<f64>,
}

impl Flags {
    /// Options of the replay; the error says which flags do not go together.
    pub fn options(&self) -> Result<ReplayOptions, InputError> {
        let wildcards = if self.rematch == Some(true) { Wildcards::Anew } else { Wildcards::Recorded };
        let check = match self.check_clocks {
            None => Check::Short(Arc::default()),
            Some(true) => Check::On(Arc::default()),
            Some(false) => Check::Off,
        };
        let computing = self.compute_by.as_deref().map_or(Ok(Computing::Recorded), counted)?;
        let (mode, clocks) = (self.mode()?, Clocks::default());
        Ok(ReplayOptions { mode, clocks, wildcards, check, computing, scale: self.scale(mode)? })
    }

    /// Factor on computing, for a replay that computes the recorded amount.
    fn scale(&self, mode: Mode) -> Result<f64, InputError> {
        let Some(scale) = self.compute_scale else { return Ok(1.0) };
        let error = |reason: String| Err(InputError::whole("--compute-scale", reason));
        match mode {
            _ if !scale.is_finite() || scale < 0.0 => {
                error(format!("a finite factor of 0 or more, not {scale}"))
            }
            _ if self.compute_by.is_some() => {
                error("is for recorded times, which --compute-by replaces".into())
            }
            Mode::Dependencies | Mode::NoDependencies => Ok(scale),
            Mode::NoCompute | Mode::None => {
                error("this replay computes nothing that it could multiply".into())
            }
            Mode::Timestamps | Mode::ShiftedTimestamps => error(
                "is for --mode dependencies, and in mode timestamps calls start when they were recorded"
                    .into(),
            ),
        }
    }

    fn mode(&self) -> Result<Mode, InputError> {
        let name = self.mode.as_deref().unwrap_or("dependencies");
        let known = || MODES.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        let found = MODES.iter().find(|(known, _)| *known == name);
        let (_, mode) = *found.ok_or_else(|| {
            InputError::whole("--mode", format!("unknown mode '{name}'; known: {}", known()))
        })?;
        let other = |flag: &str, wanted: &str| {
            let reason = format!("is for --mode {wanted}, and this replay is in mode {name}");
            Err(InputError::whole(flag, reason))
        };
        match (mode, self.time_shift, &self.ignore) {
            (Mode::Dependencies, None, Some(ignored)) => without(ignored),
            (_, _, Some(_)) => other("--ignore", "dependencies"),
            (Mode::Timestamps, Some(true), None) => Ok(Mode::ShiftedTimestamps),
            (Mode::Timestamps, _, None) | (_, None, None) => Ok(mode),
            _ => other("--time-shift", "timestamps"),
        }
    }
}

/// Computing by a count: its name and its rate, which for floating-point operations may be the platform's.
fn counted(text: &str) -> Result<Computing, InputError> {
    let error = |reason: String| InputError::whole(format!("--compute-by {text}"), reason);
    let (name, rate) = text.split_once('=').map_or((text, None), |(name, rate)| (name, Some(rate)));
    let name = name.trim();
    let rate = match (name, rate) {
        ("flops", None) => Rate::Platform,
        (_, None) => {
            return Err(error(format!("how fast? Write {name}=2.4e9/s; of flops the platform has a rate")));
        }
        ("flops", Some(rate)) => {
            let FlopRate(rate) = rate.parse().map_err(|QuantityError(reason)| error(reason))?;
            Rate::Given(EventRate(rate))
        }
        (_, Some(rate)) => Rate::Given(rate.parse().map_err(|QuantityError(reason)| error(reason))?),
    };
    match rate {
        Rate::Given(EventRate(0)) => Err(error("a rate is at least 1/s".into())),
        rate => Ok(Computing::Counted(name.to_string(), rate)),
    }
}

/// Modes by name; the time shift is a flag of its own.
const MODES: &[(&str, Mode)] =
    &[("dependencies", Mode::Dependencies), ("timestamps", Mode::Timestamps), ("none", Mode::None)];

/// Mode of a replay without these, names separated by commas.
fn without(ignored: &str) -> Result<Mode, InputError> {
    let (mut dependencies, mut compute) = (false, false);
    for name in ignored.split(',') {
        match name.trim() {
            "dependencies" => dependencies = true,
            "compute" => compute = true,
            other => {
                let reason = format!("'{other}' cannot be ignored; known: dependencies, compute");
                return Err(InputError::whole("--ignore", reason));
            }
        }
    }
    Ok(match (dependencies, compute) {
        (true, true) => Mode::None,
        (true, false) => Mode::NoDependencies,
        _ => Mode::NoCompute,
    })
}

/// Table of every MPI call of the recorded run at `path`, by rank, with the columns of the table `call_records`. The
/// clocks of hosts are aligned as for replay.
pub fn recorded_calls(path: &str) -> Result<Table, InputError> {
    let recording = open(path)?;
    let mut calls = Vec::new();
    for rank in 0..recording.ranks() {
        let of_rank = recording.recorded_calls(Rank(rank), Clocks::default());
        for call in of_rank.map_err(|error| input_error(&error))? {
            calls.push((rank, call.map_err(|error| input_error(&error))?));
        }
    }
    let columns = vec![
        ("rank", Column::U32(calls.iter().map(|(rank, _)| *rank).collect())),
        ("call", Column::Text(calls.iter().map(|(_, call)| call.name.to_string()).collect())),
        ("begin_s", Column::F64(calls.iter().map(|(_, call)| call.begin.seconds()).collect())),
        ("end_s", Column::F64(calls.iter().map(|(_, call)| call.end.seconds()).collect())),
    ];
    Ok(Table::new("recorded_calls", columns))
}

/// Summary of the recorded run at `path`; reads all of it. Units end the names; `not_replayable` is `null` or the
/// reason.
pub fn summary(path: &str) -> Result<Value, InputError> {
    let recording = open(path)?;
    let summary = recording.summary(Clocks::default()).map_err(|error| input_error(&error))?;
    let ranks = &summary.ranks;
    let sum = |of: fn(&RankSummary) -> u64| ranks.iter().map(of).fold(0, u64::saturating_add);
    let starts_apart = (0..recording.ranks()).map(|rank| recording.starts_after(Rank(rank))).max();
    let starts_apart = starts_apart.unwrap_or(Duration::ZERO);
    let hosts: BTreeSet<_> = ranks.iter().map(|rank| &rank.host).filter(|host| !host.is_empty()).collect();
    Ok(json!({
        "format": recording.format(),
        "ranks": recording.ranks(),
        "alone": recording.alone().map(|alone| json!({"rank": alone.rank, "ranks": alone.ranks})),
        "hosts": hosts,
        "timed": recording.timed(),
        "common_time": recording.common_time(),
        "ordered": recording.ordered(),
        "total_s": summary.total().seconds(),
        "starts_apart_s": starts_apart.seconds(),
        "longest_rank_s": summary.longest().seconds(),
        "in_mpi_s": ranks.iter().map(|rank| rank.in_mpi.seconds()).sum::<f64>(),
        "wall_s": ranks.iter().map(|rank| rank.wall().seconds()).sum::<f64>(),
        "polls": sum(|rank| rank.polls),
        "waited_s": ranks.iter().map(|rank| rank.waited.seconds()).sum::<f64>(),
        "counts": recording.counts().iter().enumerate().map(|(at, Count { name, unit })| {
            let total = ranks.iter().map(|rank| rank.counts[at]).fold(0, u64::saturating_add);
            json!({"name": name, "unit": unit, "total": total})
        }).collect::<Vec<_>>(),
        "messages": sum(|rank| rank.messages),
        "bytes": sum(|rank| rank.bytes),
        "calls": summary.calls.iter().map(|(call, count)| json!({"call": call, "count": count})).collect::<Vec<_>>(),
        "warnings": recording.warnings(),
        "not_replayable": recording.replayable().err().map(|error| input_error(&error).to_string()),
    }))
}

/// Converts the error of a damaged trace to an input error.
pub fn input_error(error: &TraceError) -> InputError {
    let place = error.offset.map_or(String::new(), |offset| format!("byte {offset}: "));
    InputError::whole(error.file.clone(), format!("{place}{}", error.reason))
}

/// Files of a folder with their sizes, by name, without broken links.
fn files_of(folder: &Path) -> io::Result<Vec<(PathBuf, u64)>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        match std::fs::metadata(&path) {
            Ok(metadata) if metadata.is_file() => files.push((path, metadata.len())),
            Err(reason) if reason.kind() != io::ErrorKind::NotFound => return Err(reason),
            Ok(_) | Err(_) => {}
        }
    }
    files.sort();
    Ok(files)
}

/// Adds the files in the folder of each OTF2 anchor: `NAME.otf2` has its events in `NAME`.
fn with_events(mut files: Vec<(PathBuf, u64)>) -> io::Result<Vec<(PathBuf, u64)>> {
    let folders: Vec<PathBuf> = files
        .iter()
        .filter(|(path, _)| path.extension().is_some_and(|ending| ending == "otf2"))
        .map(|(path, _)| path.with_extension(""))
        .collect();
    for folder in folders.iter().filter(|folder| folder.is_dir()) {
        files.extend(files_of(folder)?);
    }
    Ok(files)
}

/// Largest list of files \[bytes\]: a longer one would have a hundred thousand ranks.
const LONGEST_LIST: u64 = 8 << 20;

/// Files with their sizes whose names `file`, of `length` bytes, lists, one per line: relative to its folder, to the
/// folder above it, or to the working directory. `None` if it is not such a list.
fn listed(file: &Path, length: u64) -> io::Result<Option<Vec<(PathBuf, u64)>>> {
    if length == 0 || length > LONGEST_LIST || !file.is_file() {
        return Ok(None);
    }
    let Ok(text) = String::from_utf8(std::fs::read(file)?) else { return Ok(None) };
    let names: Vec<_> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let folder = file.parent().unwrap_or(Path::new("."));
    for base in [folder, folder.parent().unwrap_or(folder), Path::new("")] {
        if names.first().is_some_and(|name| base.join(name).is_file()) {
            let found = names.iter().map(|name| {
                let path = base.join(name);
                let metadata = std::fs::metadata(&path).map_err(|reason| {
                    io::Error::new(reason.kind(), format!("it lists {}: {reason}", path.display()))
                })?;
                Ok((path, metadata.len()))
            });
            return found.collect::<io::Result<_>>().map(Some);
        }
    }
    Ok(None)
}

/// Files beside `file` that share its name up to the number of the rank or the ending.
fn set_of(file: &Path) -> io::Result<Vec<(PathBuf, u64)>> {
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let stem = |name: &str| {
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        let numbered =
            stem.rsplit_once(['-', '.']).filter(|(_, rank)| rank.bytes().all(|byte| byte.is_ascii_digit()));
        numbered.map_or(stem, |(prefix, _)| prefix).to_string()
    };
    let prefix = stem(&name(file));
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut files = files_of(folder)?;
    files.retain(|(path, _)| stem(&name(path)) == prefix);
    Ok(files)
}
