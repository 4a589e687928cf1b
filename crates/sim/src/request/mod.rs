//! Request of a run: everything that decides it, as one value, which files hold as JSON.
//!
//! The command line, Python's keywords, a request file and whatever else starts runs write one of these; [`OPTIONS`] is
//! the table of its options, in the order in which the help shows them.

mod check;
mod schema;
mod table;
mod workload;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use check::Spelling;
pub use schema::schema;
pub use table::{RunOption, Takes, WorkloadKind};
pub use workload::{Job, Overrides, Sources, Workload};

use crate::config::{InputError, PlacementChoice, PlatformSource};
use crate::observe::{Detail, Kept};
use crate::trace::Flags;
use table::{COMPILED, JOBS, PROGRAMS, TRACES, TRACES_AND_PROGRAMS, run_request};

/// Version of the format of requests.
pub const VERSION: u32 = 1;

run_request! {
    /// Request of a run.
    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct RunRequest {
        /// Version of the format; [`VERSION`] where it is not said.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub version: Option<u32>,
        /// Platform to run on.
        pub platform: PlatformSource,
        /// Workload to run.
        pub workload: Workload,
        /// Folder in which relative paths begin and programs run; that of the process if there is none.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub directory: Option<String>,
        /// Record of the run that this request has made: versions, and inputs with their hashes.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub made_by: Option<Value>,
    }

    /// Number of ranks; a trace knows its own, and a placement that lists hosts has one for each.
    ranks: u32 => Takes::Whole { least: 1, most: 0x7fff_ffff }, short: Some("-n"), metavar: "RANKS", of_jobs: true;

    /// Network model.
    model: String => Takes::Text, metavar: "NAME", registry: Some("models"),
        otherwise: Some("the platform's; see 'hopcast list models'");

    /// Threads to run on, best as many as there are free cores; under mpiexec, of each process. Never changes the
    /// result.
    threads: u32 = 1 => Takes::Whole { least: 1, most: u32::MAX as u64 }, metavar: "N";

    /// End the run at this simulated time, such as 2.5ms, with a report of what had happened by then.
    stop_at: String => Takes::Time, metavar: "TIME";

    /// Seed of all random choices.
    seed: u64 = 1 => Takes::Whole { least: 0, most: u64::MAX }, metavar: "N";

    /// Ranks to hosts: linear, cyclic, block (or block:4x3x2), random, recorded, or a file; in Python and in requests
    /// also a list with the host of each rank.
    placement: PlacementChoice => Takes::Placement, metavar: "NAME|FILE", registry: Some("placements"), of_jobs: true;

    /// Processes per host.
    ppn: u16 => Takes::Whole { least: 1, most: u16::MAX as u64 }, metavar: "N",
        otherwise: Some("as many as a host has slots"), of_jobs: true;

    /// Override one value of the platform; may be repeated. In Python and in requests, values by section.key.
    set: Overrides => Takes::Overrides, metavar: "SECTION.KEY=VALUE";

    /// Replay of a trace: after the messages and collectives that calls wait for, at the recorded times, or by neither.
    mode: String => Takes::Choice(&["dependencies", "timestamps", "none"]), workloads: TRACES,
        otherwise: Some("dependencies"), of_jobs: true;

    /// In mode timestamps: delay a rank by what its late messages cost it.
    time_shift: bool => Takes::OnOff, workloads: TRACES, of_jobs: true;

    /// In mode dependencies: replay without dependencies (no call waits for another), without compute (nothing is
    /// computed between calls), or without both: dependencies,compute, which is mode none.
    ignore: String => Takes::Text, metavar: "WHAT", workloads: TRACES, of_jobs: true;

    /// Receives of a trace from any source take what comes first here, not the message of the recorded source.
    rematch: bool => Takes::Switch, workloads: TRACES, of_jobs: true;

    /// Warn where a replay receives a message that in the recorded run was not sent yet, by its logical clocks.
    check_clocks: bool => Takes::OnOff, workloads: TRACES,
        otherwise: Some("of traces of no more than a million calls"), of_jobs: true;

    /// Compute between the calls of a trace not as long as was recorded, but as much as was counted there ('hopcast
    /// trace record --count'): instructions=2.4e9/s. flops take the platform's compute.flop_rate if no rate is given.
    compute_by: String => Takes::Text, metavar: "NAME[=RATE]", workloads: TRACES, of_jobs: true;

    /// Multiply the computing of a trace, in time or in operations, by X; of a program, the times of kernels and those
    /// that are measured.
    compute_scale: f64 => Takes::Number { least: 0.0 }, metavar: "X", workloads: TRACES_AND_PROGRAMS, of_jobs: true;

    /// Keep the first N MPI calls for the timeline.
    records: u32 = 0 => Takes::Whole { least: 0, most: u32::MAX as u64 }, metavar: "N";

    /// Keep traffic over time, in the model packet: none, classes, links, channels.
    statistics: String => Takes::Choice(&["none", "classes", "links", "channels"]), metavar: "DETAIL",
        otherwise: Some("the platform's");

    /// Keep each message with its latency, in at most this many rows; of more messages an equal share, which halves
    /// when the rows are full.
    messages: u32 = 0 => Takes::Whole { least: 0, most: u32::MAX as u64 }, metavar: "ROWS";

    /// Keep messages and bytes from rank to rank and from router to router by period of simulated time, in at most this
    /// many rows each; periods double when the rows are full.
    matrix_periods: u32 = 0 => Takes::Whole { least: 0, most: u32::MAX as u64 }, metavar: "ROWS";

    /// Run these of several jobs, names with commas, where they would be beside all.
    only: Vec<String> => Takes::Names, metavar: "NAMES", workloads: JOBS;

    /// Run each of several jobs by itself, too, to see how much the others slow it down.
    alone: bool => Takes::Switch, workloads: JOBS;

    /// Cost of computing between the MPI calls of a program: measured, or measured=X, the time on this CPU times X,
    /// freed of its noise; profile=FILE, what FILE says, which is measured in the first run and the same in all others;
    /// none.
    compute: String = "measured" => Takes::Text, metavar: "HOW", workloads: PROGRAMS;

    /// Speed at which the platform's cores compute what is measured: that of this machine, or by the rates of both: the
    /// peak of a core, and for memory, which a profile knows, its bandwidth.
    compute_rates: String = "this-machine" => Takes::Choice(&["this-machine", "platform"]), workloads: PROGRAMS;

    /// Times of a profile are drawn from its distributions instead of being their centres.
    compute_noise: bool => Takes::OnOff, workloads: PROGRAMS;

    /// Room for the stack of each rank of a program, such as 64MiB.
    stack_size: String = "8MiB" => Takes::Size, metavar: "SIZE", workloads: PROGRAMS;

    /// Functions of a compiled program whose time the platform gives in [[compute.kernels]]: do they run? As the
    /// platform says, all or none of them; off: as if it gave none.
    kernels: String = "platform" => Takes::Choice(&["platform", "run", "skip", "off"]), workloads: COMPILED;

    /// Fold large allocations of a compiled program onto one block of this size, such as 64KiB, which all ranks share:
    /// their contents mean nothing, and take no memory.
    fold_memory: String => Takes::Size, metavar: "SIZE", workloads: COMPILED;

    /// Fold only allocations of at least this size.
    fold_above: String = "1MiB" => Takes::Size, metavar: "SIZE", workloads: COMPILED;

    /// Fold only what these functions allocate, names with commas.
    fold_site: Vec<String> => Takes::Names, metavar: "FUNCTIONS", workloads: COMPILED;

    /// Keep the pages that each rank writes of what these functions allocate.
    fold_private: Vec<String> => Takes::Names, metavar: "FUNCTIONS", workloads: COMPILED;

    /// Loops of MPI_Iprobe or MPI_Test that find nothing: each poll of one stands for up to 1,024 from the 33rd on; or,
    /// endless, for as many as it takes until a message comes, for programs that end such loops for no other reason.
    polls: String = "few" => Takes::Choice(&["few", "endless"]), workloads: PROGRAMS;

    /// Parts of a compiled program that each rank has of its own: its global variables; a process, for programs with
    /// threads or at fixed addresses; or nothing, for programs that write to no variable.
    isolation: String => Takes::Choice(&["globals", "process", "none"]), workloads: COMPILED,
        otherwise: Some("globals, or process where the program is not position-independent");

    /// Say what becomes of each library of a compiled program.
    verbose: bool => Takes::Switch, workloads: COMPILED;

    /// Start the run in gdb, which stops in the main of this rank of a compiled program.
    debug_rank: u32 => Takes::Whole { least: 0, most: 0x7fff_fffe }, metavar: "RANK", workloads: COMPILED;

    /// Start the process of a program's ranks with this before it, such as 'valgrind -q'.
    tool: String => Takes::Text, metavar: "COMMAND", workloads: PROGRAMS;

    /// Simulate the changes of the platform or placement that the report proposes, one run each, instead of estimating
    /// what they save.
    what_if: bool => Takes::Switch;

    /// Say where the simulator itself spends time and memory, layer by layer: set-up, event queue, network model, MPI, the
    /// workload's source, observers, report, Python. Never changes the result.
    profile_simulator: bool => Takes::Switch;

    /// Write report.html, report.json, request.json and the tables here.
    out: String => Takes::Folder, metavar: "DIR";
}

impl RunRequest {
    /// Request of this workload on a platform, by name or file.
    pub fn new(platform: impl Into<String>, workload: Workload) -> RunRequest {
        RunRequest { platform: PlatformSource::Named(platform.into()), workload, ..RunRequest::default() }
    }

    /// Reads a request; errors name options in this spelling.
    pub fn from_json(text: &str, spelling: Spelling) -> Result<RunRequest, InputError> {
        let wrong = |error: serde_json::Error| InputError::whole("request", format!("not JSON: {error}"));
        check::check(&serde_json::from_str(text).map_err(wrong)?, spelling)?;
        // From the text, not from the checked value: overrides apply in the order of the text.
        serde_json::from_str(text).map_err(|error| InputError::whole("request", error.to_string()))
    }

    /// The request as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a request becomes JSON")
    }

    /// Options of its replay, if it replays a trace.
    pub(crate) fn replay(&self) -> Flags {
        Flags {
            mode: self.mode.clone(),
            time_shift: self.time_shift,
            ignore: self.ignore.clone(),
            rematch: self.rematch,
            check_clocks: self.check_clocks,
            compute_by: self.compute_by.clone(),
            compute_scale: self.compute_scale,
        }
    }

    /// Records to keep.
    pub(crate) fn kept(&self) -> Kept {
        let detail = match self.records() {
            0 => Detail::Tables,
            records => Detail::Records(records),
        };
        Kept { detail, messages: self.messages(), matrix_periods: self.matrix_periods() }
    }
}

/// All options as JSON; see [`RunOption::to_json`].
pub fn options() -> Value {
    OPTIONS.iter().map(RunOption::to_json).collect()
}
