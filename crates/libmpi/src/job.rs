//! Job of a run and its answer: files between the command line and this library.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use engine::Time;
use serde::{Deserialize, Serialize};
use sim::observe::Detail;
use sim::table::{Column, Table};
use sim::{InputError, Request, Workload};

use crate::fold::Settings;
use crate::live::Fault;
use crate::live::debugger::Debugged;

/// Job that the command line asks for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    platform: String,
    overrides: Vec<(String, String)>,
    ranks: Option<u32>,
    model: Option<String>,
    /// Seed of all random streams.
    pub seed: u64,
    placement: Option<String>,
    ppn: Option<u16>,
    records: u32,
    threads: u32,
    statistics: Option<String>,
    stop_at: Option<String>,
    /// The program and its arguments: bytes, of which not all are text.
    command: Vec<Vec<u8>>,
    /// True to report what becomes of the program's libraries.
    pub verbose: bool,
    /// File for the progress of the run.
    pub progress: Option<PathBuf>,
    /// Isolation of ranks.
    pub isolation: Option<Isolation>,
    /// Cost of computing; see `live::accounting`.
    pub compute: String,
    /// Factor on the times of kernels, and on measured times.
    pub compute_scale: f64,
    /// True if measured times are converted by the rates of this machine and the platform's.
    pub compute_by_rates: bool,
    /// True if times are drawn from the distributions of a profile.
    pub compute_draws: bool,
    /// Today's date, such as "2026-11-22".
    pub date: String,
    /// Path of the file that keeps the rates of this machine.
    pub machine: Option<PathBuf>,
    /// See [`crate::kernels::Mode`].
    pub kernels: String,
    /// Memory that is folded.
    pub fold: Settings,
    /// The rank in which a debugger stops, if in any.
    pub debug: Option<Debugged>,
    /// Folder for files while it runs.
    pub folder: PathBuf,
    /// Room for the stack of a rank \[bytes\].
    #[serde(rename = "stack_size_B")]
    pub stack_size_bytes: usize,
}

/// Isolation of ranks: parts that they do not share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// Their variables.
    Globals,
    /// Anything: each is a process of its own.
    Process,
    /// Nothing but their stacks: for programs that write to no global variable.
    None,
}

impl Job {
    /// The program's file.
    pub fn program(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.command[0]))
    }

    /// The words of its command line.
    pub fn words(&self) -> &[Vec<u8>] {
        &self.command
    }

    /// Default isolation of ranks: a program at fixed addresses needs a process for each.
    pub fn isolation(&self) -> Isolation {
        self.isolation.unwrap_or_else(|| {
            let mut start = [0; 18];
            let read = File::open(self.program()).and_then(|mut file| file.read_exact(&mut start));
            let fixed = read.is_ok() && start.starts_with(b"\x7fELF") && start[16..] == [2, 0];
            if fixed { Isolation::Process } else { Isolation::Globals }
        })
    }

    /// For `sim`.
    pub fn request(&self) -> Result<Request, InputError> {
        let stop_at = self.stop_at.as_deref().map(str::parse::<Time>).transpose();
        let stop_at = stop_at.map_err(|error| InputError::whole("stop-at", error.to_string()))?;
        Ok(Request {
            platform: self.platform.clone(),
            overrides: self.overrides.clone(),
            workload: Workload::Program(String::from_utf8_lossy(&self.command.join(&b' ')).into_owned()),
            ranks: self.ranks,
            model: self.model.clone(),
            seed: self.seed,
            placement: self.placement.clone(),
            processes_per_host: self.ppn,
            threads: self.threads,
            statistics: self.statistics.clone(),
            stop_at,
            detail: if self.records > 0 { Detail::Records(self.records) } else { Detail::Tables },
        })
    }
}

/// The first line of the file of a result; the columns of its tables follow, as they lie in memory.
#[derive(Debug, Serialize)]
struct Head<'a> {
    /// `report.json`, as text.
    report: &'a str,
    faults: &'a [Fault],
    warnings: &'a [String],
    /// Source of the computing times, for the report.
    computing: &'a serde_json::Value,
    tables: Vec<(&'a str, Vec<Part<'a>>)>,
}

/// A column: its name, what its values are ("u32", "u64", "f64"; "text": a JSON list), its length \[bytes\].
type Part<'a> = (&'a str, &'static str, usize);

/// Writes why there is no run.
pub fn write_refusal(path: &Path, error: &InputError) -> io::Result<()> {
    let head = serde_json::json!({ "error": error.to_string() });
    std::fs::write(path, format!("{head}\n"))
}

/// Writes what a run says at its end.
pub fn write_result(
    path: &Path,
    report: &str,
    faults: &[Fault],
    (computing, warnings): (&serde_json::Value, &[String]),
    tables: &[Table],
) -> io::Result<()> {
    let mut contents = Vec::new();
    let mut heads = Vec::new();
    for table in tables {
        let mut parts = Vec::new();
        for (name, column) in &table.columns {
            let (kind, bytes) = plain(column);
            parts.push((*name, kind, bytes.len()));
            contents.push(bytes);
        }
        heads.push((table.name, parts));
    }
    let mut file = BufWriter::new(File::create(path)?);
    serde_json::to_writer(&mut file, &Head { report, faults, warnings, computing, tables: heads })?;
    file.write_all(b"\n")?;
    contents.iter().try_for_each(|bytes| file.write_all(bytes))?;
    file.flush()
}

/// The kind of a column's values, and the values, little endian.
fn plain(column: &Column) -> (&'static str, Vec<u8>) {
    match column {
        Column::U32(values) => ("u32", values.iter().flat_map(|value| value.to_le_bytes()).collect()),
        Column::U64(values) => ("u64", values.iter().flat_map(|value| value.to_le_bytes()).collect()),
        Column::F64(values) => ("f64", values.iter().flat_map(|value| value.to_le_bytes()).collect()),
        Column::Text(values) => ("text", serde_json::to_vec(values).expect("texts become JSON")),
    }
}
