//! Job of a run and its answer: files between the command line and this library.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use engine::Bytes;
use serde::{Deserialize, Serialize};
use sim::observe::Given;
use sim::table::{Column, Table};
use sim::{InputError, Progress, RunRequest};

use crate::fold::Settings;
use crate::live::Fault;
pub use crate::live::Isolation;
use crate::live::debugger::Debugged;
use crate::peers::PeersPlace;

/// Job of the launcher: a request, and what belongs to the place and time of its run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Request of the run.
    pub request: RunRequest,
    /// The program and its arguments: bytes, of which not all are text.
    command: Vec<Vec<u8>>,
    /// File for the progress of the run.
    pub progress: Option<PathBuf>,
    /// Folder for the rows that are new while the run goes on, if somebody follows it.
    pub live: Option<PathBuf>,
    /// Today's date, such as "2026-11-22".
    pub date: String,
    /// Path of the file that keeps the rates of this machine.
    pub machine: Option<PathBuf>,
    /// The rank in which a debugger stops, if in any.
    pub debug: Option<Debugged>,
    /// Folder for files while it runs.
    pub folder: PathBuf,
    /// Place among the processes of the run, if there are several.
    #[serde(default)]
    pub peers: Option<PeersPlace>,
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

    /// Isolation of ranks that was asked for.
    pub fn asked_isolation(&self) -> Option<Isolation> {
        match self.request.isolation.as_deref() {
            Some("globals") => Some(Isolation::Globals),
            Some("process") => Some(Isolation::Process),
            Some("none") => Some(Isolation::None),
            _ => None,
        }
    }

    /// Isolation of ranks: by default, a program at fixed addresses needs a process for each.
    pub fn isolation(&self) -> Isolation {
        self.asked_isolation().unwrap_or_else(|| {
            let mut start = [0; 18];
            let read = File::open(self.program()).and_then(|mut file| file.read_exact(&mut start));
            let fixed = read.is_ok() && start.starts_with(b"\x7fELF") && start[16..] == [2, 0];
            if fixed { Isolation::Process } else { Isolation::Globals }
        })
    }

    /// True if nothing but messages ends its loops of polls.
    pub fn polls_are_endless(&self) -> bool {
        self.request.polls() == "endless"
    }

    /// Room for the stack of a rank \[bytes\].
    pub fn stack_bytes(&self) -> Result<usize, InputError> {
        size("stack_size", &self.request.stack_size())
    }

    /// Factor on the times of kernels, and on measured times.
    pub fn compute_scale(&self) -> f64 {
        self.request.compute_scale.unwrap_or(1.0)
    }

    /// Folding of memory.
    pub fn fold(&self) -> Result<Settings, InputError> {
        let RunRequest { fold_memory, fold_site, fold_private, .. } = &self.request;
        Ok(Settings {
            block: fold_memory.as_deref().map_or(Ok(0), |text| size("fold_memory", text))?,
            above: size("fold_above", &self.request.fold_above())?,
            sites: fold_site.clone().unwrap_or_default(),
            private: fold_private.clone().unwrap_or_default(),
        })
    }
}

/// Size in bytes that an option gives with its unit.
fn size(option: &str, text: &str) -> Result<usize, InputError> {
    let size = text.parse::<Bytes>().map_err(|error| InputError::whole(option, error.to_string()))?;
    usize::try_from(size.0).map_err(|_| InputError::whole(option, format!("{text} is too large")))
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
    tables: TableHeads<'a>,
}

/// The first line of a file of new rows; the columns of its tables follow.
#[derive(Debug, Serialize)]
struct LiveHead<'a> {
    /// Simulated time \[s\].
    now_s: f64,
    events: u64,
    restarts: u32,
    tables: TableHeads<'a>,
}

/// Tables of a file, each with its columns.
type TableHeads<'a> = Vec<(&'a str, Vec<Part<'a>>)>;

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
    let (heads, contents) = parts(tables);
    write_parts(path, &Head { report, faults, warnings, computing, tables: heads }, &contents)
}

/// Writes rows that are new while a run goes on; whoever sees the file sees it whole.
pub fn write_live(path: &Path, progress: &Progress, given: &Given) -> io::Result<()> {
    let draft = path.with_extension("draft");
    let (tables, contents) = parts(&given.tables);
    let (now_s, events, restarts) = (progress.now.seconds(), progress.events, given.restarts);
    write_parts(&draft, &LiveHead { now_s, events, restarts, tables }, &contents)?;
    std::fs::rename(draft, path)
}

/// Heads of tables, and the contents of their columns.
fn parts(tables: &[Table]) -> (TableHeads<'_>, Vec<Vec<u8>>) {
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
    (heads, contents)
}

/// Writes a line of JSON, and contents.
fn write_parts(path: &Path, head: &impl Serialize, contents: &[Vec<u8>]) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    serde_json::to_writer(&mut file, head)?;
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
