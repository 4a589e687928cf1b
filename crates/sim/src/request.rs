//! From a request in words to a machine that is ready to run.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use engine::registry::{Arguments, Entry, find};
use mpi::Source;
use network::Topology;
use workload::pattern::{Build, PATTERNS, Setting, Steps};
use workload::trace::{Replay, ReplayOptions, SharedSet};

use crate::blueprint::{Blueprint, Feed};
use crate::config::{self, Disk, InputError, Override};
use crate::memory::{self, Size};
use crate::observe::Detail;
use crate::report::{Outcome, Title, report};
use crate::run::{Domain, End, Ended, Monitor, run, run_in_windows};
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
    /// Threads to run on, 1 or more; never changes the result.
    pub threads: u32,
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
    /// A program whose operations the caller yields, under this name. It runs on one thread.
    Program(String),
    /// A program under this name, of which each thread gets its own source.
    Sources(String, Sources),
}

/// Makes a source that can answer for any rank, any number of times.
#[derive(Clone)]
pub struct Sources(pub Arc<dyn Fn() -> Box<dyn Source + Send> + Send + Sync>);

impl fmt::Debug for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sources")
    }
}

/// The model where neither the request nor the platform names one.
pub const DEFAULT_MODEL: &str = "flow";

/// A request that has become a machine.
pub struct Prepared {
    blueprint: Blueprint,
    domains: Vec<Domain>,
    operations: Operations,
    title: Title,
}

/// Where the operations come from.
enum Operations {
    Pattern {
        build: Build,
        arguments: Arguments,
        setting: Setting,
    },
    Replay(SharedSet, ReplayOptions),
    Made(Sources),
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
        Workload::Program(_) | Workload::Sources(..) => None,
    };
    let ranks = ranks(request, recording.as_ref())?;
    let recorded = recording.as_ref().map(|recording| recording.hosts());
    let mut warnings = recording.as_ref().map_or(Vec::new(), |recording| recording.warnings());
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
    let host_of_rank = placement.iter().map(|endpoint| endpoint.host.0).collect();
    let placement_kind = platform.placement_kind().to_string();
    let blueprint = Blueprint {
        platform,
        model: model.clone(),
        fabric,
        placement: placement.into(),
        compute_scale: request.compute_scale,
        detail: request.detail,
    };
    let domains = domains(request, &blueprint, &operations, &mut warnings)?;
    let title = Title {
        platform: blueprint.platform.name(),
        workload: workload_name(&request.workload),
        model,
        placement: placement_kind,
        seed: request.seed,
        setup_s: started.elapsed().as_secs_f64(),
        warnings,
        host_of_rank,
    };
    Ok(Prepared { blueprint, domains, operations, title })
}

/// One domain for each thread, where the run can be cut; a warning says where it cannot.
fn domains(
    request: &Request,
    blueprint: &Blueprint,
    operations: &Operations,
    warnings: &mut Vec<String>,
) -> Result<Vec<Domain>, InputError> {
    if request.threads <= 1 {
        return Ok(vec![blueprint.whole()?]);
    }
    let reason = match (operations, blueprint.cut(request.threads)) {
        (Operations::Program, _) => "the ranks of such a program share one",
        (_, Err(reason)) => reason,
        (_, Ok(cut)) => match blueprint.domains(cut)? {
            Ok(domains) => return Ok(domains),
            Err(reason) => reason,
        },
    };
    warnings.push(format!("--threads {}: one thread is used: {reason}", request.threads));
    Ok(vec![blueprint.whole()?])
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
    let operations = match &request.workload {
        Workload::Program(_) => Operations::Program,
        Workload::Sources(_, sources) => Operations::Made(sources.clone()),
        Workload::Trace { options, .. } => {
            Operations::Replay(recording.expect("a trace has been opened"), *options)
        }
        Workload::Pattern { name, arguments } => {
            let entry = pattern(name)?;
            let arguments = config::arguments(entry.name, entry.parameters, arguments, &Disk::new("."))?;
            let setting = Setting { ranks, seed: request.seed };
            Operations::Pattern { build: entry.build, arguments, setting }
        }
    };
    // What is wrong with them shows when they are made.
    operations.feed()?;
    Ok(operations)
}

impl Operations {
    /// A source for one domain; `None` where the caller brings it.
    fn feed(&self) -> Result<Option<Feed>, InputError> {
        Ok(Some(match self {
            Operations::Program => return Ok(None),
            Operations::Made(sources) => Feed::Made((sources.0)()),
            Operations::Replay(recording, options) => {
                let replay = workload::trace::replay(recording.clone(), *options);
                Feed::Replay(replay.map_err(|error| trace::input_error(&error))?)
            }
            Operations::Pattern { build, arguments, setting } => {
                let pattern = build(arguments, *setting).map_err(|error| match error.parameter {
                    "ranks" => InputError::whole(format!("-n {}", setting.ranks), error.reason),
                    parameter => InputError::whole(format!("--{parameter}"), error.reason),
                })?;
                Feed::Pattern(Steps::new(pattern, setting.ranks))
            }
        }))
    }
}

fn workload_name(workload: &Workload) -> String {
    match workload {
        Workload::Program(name) | Workload::Sources(name, _) => name.clone(),
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
        self.title.host_of_rank.len() as u32
    }

    /// Runs it. `program` yields the operations where the workload is a [`Workload::Program`].
    pub fn run(
        mut self,
        program: Option<&mut dyn Source>,
        monitor: &mut dyn Monitor,
    ) -> Result<Outcome, InputError> {
        let domains = std::mem::take(&mut self.domains);
        let mut feeds = Vec::new();
        for _ in &domains {
            feeds.extend(self.operations.feed()?);
        }
        let mut ended = if let Operations::Program = self.operations {
            let program = program.expect("a program workload needs its program");
            let [domain] = <[Domain; 1]>::try_from(domains).ok().expect("a program runs in one domain");
            Some(run(domain, program, monitor))
        } else if feeds.len() == 1 {
            let domain = domains.into_iter().next().expect("a run has a domain");
            Some(run(domain, &mut feeds[0], monitor))
        } else {
            run_in_windows(domains, &mut feeds, monitor)
        };
        if ended.is_none() {
            // The program failed while others of its ranks went on: as one domain, they stop where it failed.
            feeds = self.operations.feed()?.into_iter().collect();
            ended = Some(run(self.blueprint.whole()?, &mut feeds[0], monitor));
        }
        self.close(ended.expect("a run of one domain ends"), &mut feeds)
    }

    /// The report of a run that has ended.
    fn close(mut self, ended: Ended, feeds: &mut [Feed]) -> Result<Outcome, InputError> {
        let mut replays = Vec::new();
        for feed in feeds {
            if let Feed::Replay(replay) = feed {
                if let Some(error) = replay.take_error() {
                    return Err(trace::input_error(&error));
                }
                replays.push(&*replay);
            }
        }
        self.title.warnings.extend(Replay::warnings_of(&replays));
        if ended.end == End::Uncountable {
            let reason = "takes more than 213 days of simulated time or moves more than 16 EiB, which is more \
                          than can be counted; are its sizes, times and counts in the units that you mean?";
            return Err(InputError::whole(self.title.workload, reason));
        }
        Ok(report(&self.blueprint.fabric, &ended, &self.title))
    }
}
