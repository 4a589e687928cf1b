//! From a request in words to a machine that is ready to run.

use std::sync::Arc;
use std::time::Instant;

use engine::registry::find;
use mpi::Source;
use mpi::world::World;
use network::Endpoint;
use workload::pattern::{PATTERNS, Setting, Steps};

use crate::config::{self, Disk, InputError};
use crate::observe::Detail;
use crate::report::{Outcome, Title, report};
use crate::run::{Machine, Monitor};

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
    /// A program whose operations the caller yields, under this name.
    Program(String),
}

/// The model where neither the request nor the platform names one.
pub const DEFAULT_MODEL: &str = "flow";

/// A request that has become a machine.
pub struct Prepared {
    machine: Machine,
    source: Option<Box<dyn Source>>,
    title: Title,
}

/// Builds what `request` asks for, or says what is wrong with it.
pub fn prepare(request: &Request) -> Result<Prepared, InputError> {
    #[expect(clippy::disallowed_methods, reason = "the time to build is part of the report")]
    let started = Instant::now();
    let platform = config::load(&request.platform, &overrides(request), &Disk::new("."))?;
    let ranks =
        request.ranks.ok_or_else(|| InputError::whole("-n", "is missing: how many ranks?".to_string()))?;
    if ranks == 0 {
        return Err(InputError::whole("-n 0", "a run has at least one rank".to_string()));
    }
    let source = source(request, ranks)?;
    let fabric = Arc::new(platform.fabric(request.seed)?);
    let placement = platform.place(&*fabric.topology, ranks, request.seed, None)?;
    let hosts = Arc::new(platform.host_parameters().clone());
    let model = request.model.clone().or_else(|| platform.model_name()).unwrap_or(DEFAULT_MODEL.to_string());
    let network = platform.model(&model, fabric.clone(), hosts.clone())?;
    let world = World::new(platform.world_setup(placement.clone(), hosts, request.compute_scale));
    let machine = Machine { world, network, fabric, ranks, detail: request.detail };
    let title = Title {
        platform: platform.name(),
        workload: workload_name(&request.workload),
        model,
        placement: platform.placement_kind().to_string(),
        seed: request.seed,
        setup_s: started.elapsed().as_secs_f64(),
        warnings: Vec::new(),
        host_of_rank: placement.iter().map(|endpoint: &Endpoint| endpoint.host.0).collect(),
    };
    Ok(Prepared { machine, source, title })
}

/// The request's own flags are overrides of the platform like any other.
fn overrides(request: &Request) -> Vec<(String, String)> {
    let mut overrides = request.overrides.clone();
    overrides.extend(config::placement_overrides(request.placement.as_deref(), request.processes_per_host));
    overrides
}

/// The source of the operations, if the caller does not bring its own.
fn source(request: &Request, ranks: u32) -> Result<Option<Box<dyn Source>>, InputError> {
    match &request.workload {
        Workload::Program(_) => Ok(None),
        Workload::Pattern { name, arguments } => {
            let entry = find(PATTERNS, "pattern", name).map_err(|reason| InputError::whole(name, reason))?;
            let arguments = config::arguments(entry.name, entry.parameters, arguments, &Disk::new("."))?;
            let pattern = (entry.build)(&arguments, Setting { ranks, seed: request.seed })
                .map_err(|error| InputError::whole(format!("--{}", error.parameter), error.reason))?;
            Ok(Some(Box::new(Steps::new(pattern, ranks))))
        }
    }
}

fn workload_name(workload: &Workload) -> String {
    match workload {
        Workload::Program(name) => name.clone(),
        Workload::Pattern { name, arguments } => {
            let arguments = arguments.iter().map(|(key, value)| format!(" --{key} {value}"));
            format!("{name}{}", arguments.collect::<String>())
        }
    }
}

impl Prepared {
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
        let ended = match (&mut self.source, program) {
            (Some(source), _) => self.machine.run(&mut **source, monitor),
            (None, Some(program)) => self.machine.run(program, monitor),
            (None, None) => panic!("a program workload needs its program"),
        };
        Ok(report(&self.machine, &ended, &self.title))
    }
}
