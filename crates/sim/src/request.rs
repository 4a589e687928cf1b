//! From a request in words to a machine that is ready to run.

use std::sync::Arc;
use std::time::Instant;

use engine::registry::{Entry, find};
use mpi::Source;
use mpi::world::World;
use network::{Endpoint, Part, Topology};
use workload::pattern::{Build, PATTERNS, Setting, Steps};
use workload::trace::{Replay, ReplayOptions, SharedSet};

use crate::config::{self, Disk, InputError, Override};
use crate::memory::{self, Size};
use crate::observe::Detail;
use crate::report::{Outcome, Title, report};
use crate::run::{End, Machine, Monitor};
use crate::trace;

/// What a user asks for.
#[derive(Debug, Clone)]
pub struct Request {
    /// A preset's name, or the path of a platform file.
    pub platform: String,
    /// `--set section.key=value`, in order.
    pub overrides: Vec<(String, String)>,
    /// What to run.
    pub workload: Workload,
    /// How many ranks; a recording knows by itself.
    pub ranks: Option<u32>,
    /// The network model, where it is not the platform's own (`flow` where that is silent, too).
    pub model: Option<String>,
    /// Of all random streams.
    pub seed: u64,
    /// `linear`, `random`, `recorded` or a file, where it is not the platform's own.
    pub placement: Option<String>,
    /// Processes per host; as many as the host has slots if `None`.
    pub processes_per_host: Option<u16>,
    /// Factor on recorded computing (≥ 0).
    pub compute_scale: f64,
    /// What to keep.
    pub detail: Detail,
}

/// What to run.
#[derive(Debug, Clone)]
pub enum Workload {
    /// A synthetic pattern with its arguments as written.
    Pattern {
        /// Its name in the registry.
        name: String,
        /// `("bytes", "64KiB")` and the like.
        arguments: Vec<(String, String)>,
    },
    /// A recorded run.
    Trace {
        /// Its folder, or one of its files.
        path: String,
        /// What decides when its calls start.
        options: ReplayOptions,
    },
    /// A program whose operations the caller yields, under this name.
    Program(String),
}

/// The model where neither the request nor the platform names one.
pub const DEFAULT_MODEL: &str = "flow";

/// A request that has become a machine.
pub struct Prepared {
    machine: Machine,
    operations: Operations,
    title: Title,
}

/// Where the operations come from.
enum Operations {
    Pattern(Steps),
    Replay(Replay),
    /// The caller brings them.
    Program,
}

/// Builds what `request` asks for, or says what is wrong with it.
pub fn prepare(request: &Request) -> Result<Prepared, InputError> {
    #[expect(clippy::disallowed_methods, reason = "the time to build is part of the report")]
    let started = Instant::now();
    let platform = config::load(&request.platform, &overrides(request)?, &Disk::new("."))?;
    let recording = match &request.workload {
        Workload::Trace { path, .. } => Some(trace::open(path)?),
        // A name that is none matters more than what else is missing.
        Workload::Pattern { name, .. } => pattern(name).map(|_| None)?,
        Workload::Program(_) => None,
    };
    let ranks = ranks(request, recording.as_ref())?;
    let recorded = recording.as_ref().map(|recording| recording.hosts());
    let warnings = recording.as_ref().map_or(Vec::new(), |recording| recording.warnings());
    let operations = operations(request, recording, ranks)?;
    let model = request.model.clone().or_else(|| platform.model_name()).unwrap_or(DEFAULT_MODEL.to_string());
    let per_rank = if matches!(operations, Operations::Program) { memory::PER_PROGRAM } else { 0 };
    let fits = |topology: &dyn Topology| {
        if topology.hosts().saturating_mul(platform.host_parameters().processes.into()) < ranks {
            // The placement says so, in better words.
            return Ok(());
        }
        let size = Size::of(topology, platform.host_parameters(), ranks, per_rank);
        size.check(&model, memory::machine(), platform.topology_place())
    };
    let fabric = Arc::new(platform.fabric_that(request.seed, &fits)?);
    let placement = platform.place(&*fabric.topology, ranks, request.seed, recorded.as_deref())?;
    let hosts = Arc::new(platform.host_parameters().clone());
    let network = platform.model(&model, fabric.clone(), hosts.clone(), &Part::whole())?;
    let world = World::new(platform.world_setup(placement.clone(), hosts, request.compute_scale));
    let machine = Machine { world, network, fabric, ranks, detail: request.detail };
    let title = Title {
        platform: platform.name(),
        workload: workload_name(&request.workload),
        model,
        placement: platform.placement_kind().to_string(),
        seed: request.seed,
        setup_s: started.elapsed().as_secs_f64(),
        warnings,
        host_of_rank: placement.iter().map(|endpoint: &Endpoint| endpoint.host.0).collect(),
    };
    Ok(Prepared { machine, operations, title })
}

/// The request's own flags are overrides of the platform like any other.
fn overrides(request: &Request) -> Result<Vec<Override>, InputError> {
    let mut overrides: Vec<_> =
        request.overrides.iter().map(|(key, value)| Override::set(key, value)).collect();
    let (placement, each) = (request.placement.as_deref(), request.processes_per_host);
    overrides.extend(config::placement_overrides(placement, each, &Disk::new("."))?);
    Ok(overrides)
}

/// How many ranks: what the user says, and what a recording has.
fn ranks(request: &Request, recording: Option<&SharedSet>) -> Result<u32, InputError> {
    match (request.ranks, recording.map(|recording| recording.ranks())) {
        (Some(0), _) => Err(InputError::whole("-n 0", "a run has at least one rank")),
        (Some(asked), Some(recorded)) if asked != recorded => {
            let reason = format!("a trace is replayed on as many ranks as it was recorded on: {recorded}");
            Err(InputError::whole(format!("-n {asked}"), reason))
        }
        (_, Some(recorded)) => Ok(recorded),
        (Some(asked), None) => Ok(asked),
        (None, None) => Err(InputError::whole("-n", "is missing: how many ranks, such as -n 64?")),
    }
}

/// The pattern `name`; who writes a path means a file, which would have been found.
fn pattern(name: &str) -> Result<&'static Entry<Build>, InputError> {
    if name.contains('/') {
        return Err(InputError::whole(name, "there is no such file or folder"));
    }
    find(PATTERNS, "pattern", name).map_err(|reason| InputError::whole(name, reason))
}

fn operations(request: &Request, recording: Option<SharedSet>, ranks: u32) -> Result<Operations, InputError> {
    match &request.workload {
        Workload::Program(_) => Ok(Operations::Program),
        Workload::Trace { options, .. } => {
            let recording = recording.expect("a trace has been opened");
            let replay = workload::trace::replay(recording, *options);
            Ok(Operations::Replay(replay.map_err(|error| trace::input_error(&error))?))
        }
        Workload::Pattern { name, arguments } => {
            let entry = pattern(name)?;
            let arguments = config::arguments(entry.name, entry.parameters, arguments, &Disk::new("."))?;
            let pattern = (entry.build)(&arguments, Setting { ranks, seed: request.seed }).map_err(
                |error| match error.parameter {
                    "ranks" => InputError::whole(format!("-n {ranks}"), error.reason),
                    parameter => InputError::whole(format!("--{parameter}"), error.reason),
                },
            )?;
            Ok(Operations::Pattern(Steps::new(pattern, ranks)))
        }
    }
}

fn workload_name(workload: &Workload) -> String {
    match workload {
        Workload::Program(name) => name.clone(),
        Workload::Trace { path, .. } => path.clone(),
        Workload::Pattern { name, arguments } => {
            let arguments = arguments.iter().map(|(key, value)| format!(" --{key} {value}"));
            format!("{name}{}", arguments.collect::<String>())
        }
    }
}

impl Prepared {
    /// The host of each rank.
    pub fn host_of_rank(&self) -> &[u32] {
        &self.title.host_of_rank
    }

    /// How many ranks will run.
    pub fn ranks(&self) -> u32 {
        self.machine.ranks
    }

    /// Runs it. `program` yields the operations where the workload is a [`Workload::Program`].
    pub fn run(
        mut self,
        program: Option<&mut dyn Source>,
        monitor: &mut dyn Monitor,
    ) -> Result<Outcome, InputError> {
        let ended = match (&mut self.operations, program) {
            (Operations::Pattern(steps), _) => self.machine.run(steps, monitor),
            (Operations::Replay(replay), _) => {
                let ended = self.machine.run(replay, monitor);
                if let Some(error) = replay.take_error() {
                    return Err(trace::input_error(&error));
                }
                self.title.warnings.extend(replay.warnings());
                ended
            }
            (Operations::Program, Some(program)) => self.machine.run(program, monitor),
            (Operations::Program, None) => panic!("a program workload needs its program"),
        };
        if ended.end == End::Uncountable {
            let reason = "takes more than 213 days of simulated time or moves more than 16 EiB, which is more \
                          than can be counted; are its sizes, times and counts in the units that you mean?";
            return Err(InputError::whole(self.title.workload, reason));
        }
        Ok(report(&self.machine, &ended, &self.title))
    }
}
