//! Recorded runs: readers of trace formats, and their replay.
//!
//! `recognise` finds the format of some files by their content and gives a [`TraceSet`]; `replay`
//! makes of it a [`mpi::Source`]:
//!
//! ```no_run
//! # use workload::trace::{self, ReplayOptions, TraceFile};
//! # fn run(files: Vec<TraceFile>) -> Result<(), trace::TraceError> {
//! let set = trace::recognise(files)?;
//! println!("{} ranks on {:?}", set.ranks(), set.hosts());
//! let mut source = trace::replay(set, ReplayOptions::default())?;
//! // Hand `source` to the simulation. If that ends with an abort, ask why:
//! if let Some(error) = source.take_error() {
//!     return Err(error); // the trace is damaged: bad input, not a failure of the program
//! }
//! # Ok(())
//! # }
//! ```
//!
//! This crate opens no files: who calls hands over [`TraceFile`]s, names with bytes to be read.

pub mod allprof;
pub mod bigsim;
pub mod causality;
pub mod chakra;
pub mod clock;
pub mod computing;
pub mod dumpi;
pub mod error;
pub mod goal;
pub mod graph;
pub mod hct;
pub mod input;
pub mod lines;
pub mod monotonic_clock;
pub mod order;
pub mod otf2;
mod outlook;
pub mod replay;
mod requests;
pub mod scalatrace;
pub mod scale;
pub mod set;
pub mod simgrid;
pub mod slice;
mod without_dependencies;

use std::path::Path;
use std::sync::Arc;

use engine::registry::Entry;

pub use error::TraceError;
pub use input::{ReadAt, TraceFile};
pub use replay::{Mode, Replay, ReplayOptions, Wildcards, replay};
pub use set::{Alone, Clocks, RankSummary, RecordedCall, Summary, TraceSet};

/// An opened run, shared by all that read from it.
pub type SharedSet = Arc<dyn TraceSet>;

/// Detection and opening of one trace format.
#[derive(Clone, Copy)]
pub struct Format {
    /// True if this file is of the format, by its first bytes.
    pub recognise: fn(&TraceFile) -> Result<bool, TraceError>,
    /// Opens a set, given all files that the user named, also those of other formats.
    pub open: fn(Vec<TraceFile>) -> Result<SharedSet, TraceError>,
}

/// All trace formats.
pub const FORMATS: &[Entry<Format>] = &[
    dumpi::FORMAT,
    hct::FORMAT,
    otf2::FORMAT,
    simgrid::FORMAT,
    goal::FORMAT,
    allprof::FORMAT,
    bigsim::FORMAT,
    chakra::FORMAT,
    scalatrace::FORMAT,
];

/// Opens the recorded run that these files hold, in any known format.
pub fn recognise(files: Vec<TraceFile>) -> Result<SharedSet, TraceError> {
    for format in FORMATS {
        for file in &files {
            if (format.build.recognise)(file)? {
                return (format.build.open)(files);
            }
        }
    }
    let known: Vec<_> =
        FORMATS.iter().map(|format| format!("{} ({})", format.name, format.summary)).collect();
    let names: Vec<_> = files.iter().take(3).map(|file| &*file.name).collect();
    let more = if files.len() > names.len() { ", …" } else { "" };
    let name = if files.is_empty() { "no files".into() } else { names.join(", ") + more };
    Err(TraceError::new(name, format!("not a trace in a known format; known: {}", known.join(", "))))
}

/// Like [`recognise`], for a file that a user has named and the files beside it: the format is that of the named
/// file.
pub fn recognise_named(named: &Path, files: Vec<TraceFile>) -> Result<SharedSet, TraceError> {
    if let Some(file) = files.iter().find(|file| Path::new(&*file.name).file_name() == named.file_name()) {
        for format in FORMATS {
            if (format.build.recognise)(file)? {
                return (format.build.open)(files);
            }
        }
    }
    recognise(files)
}
