//! Prepares a request: builds the machine that is ready to run.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Instant;

use engine::Time;
use engine::registry::respelled;
use engine::units::QuantityError;
use mpi::compute::{Kernel, Processor};
use mpi::file_system::FileSystem;
use mpi::{FunctionTimes, Protocol, Source};
use network::model::MODELS;
use network::{Endpoint, Topology};
use workload::trace::Replay;

use crate::blueprint::Blueprint;
use crate::config::{self, Disk, InputError, Override, PlacementChoice, Platform};
use crate::feed::{Feed, PlacedJob};
use crate::hardware_levels::{HardwareLevel, hardware_levels};
use crate::jobs::{self, Machine};
use crate::memory::{self, Size};
use crate::observe::{LiveRows, restored, saved};
use crate::operations::{Opened, Operations, PlacedWorkload};
use crate::profile::{MarkedSource, Phases};
use crate::profiling::Profiling;
use crate::report::{Outcome, Title, report};
use crate::request::{RunRequest, Workload};
use crate::run::{
    Domain, End, Ended, InWindows, Monitor, Peers, SingleProcess, Until, domains_of, run, run_in_windows,
    run_share_in_windows,
};
use crate::trace;

/// Default model, if neither the request nor the platform names one.
pub const DEFAULT_MODEL: &str = "flow";

/// A machine that is ready to run a request.
pub struct Prepared {
    blueprint: Blueprint,
    /// Domains of this process; none if another process runs all of them.
    domains: Vec<Domain>,
    /// Number of domains in all processes.
    all: u32,
    operations: Operations,
    until: Until,
    title: Title,
    kernels: Vec<Kernel>,
    workload: Workload,
    /// Stretches of set-up, for a profile of the simulator.
    phases: Phases,
}

/// Builds the machine of `request`; the error lists its mistakes.
pub fn prepare(request: &RunRequest) -> Result<Prepared, InputError> {
    prepare_share(request, &SingleProcess)
}

/// Builds this process's share of `request` in a run of several processes; the error lists its mistakes.
pub fn prepare_share(request: &RunRequest, peers: &dyn Peers) -> Result<Prepared, InputError> {
    #[expect(clippy::disallowed_methods, reason = "the time to build is part of the report")]
    let started = Instant::now();
    let phases = RefCell::new(Phases::start(request.profile_simulator == Some(true), "set-up"));
    let (overrides, seed) = (overrides(request)?, request.seed());
    let until = Until(stop_at(request)?);
    let platform = config::load_source(&request.platform, &overrides, &Disk::new("."))?;
    phases.borrow_mut().end("platform file");
    let opened = match &request.workload {
        Workload::Jobs { jobs, .. } => jobs::open(jobs, request.ranks, seed)?,
        workload => vec![Opened::of(workload, &request.replay(), ranks(request), seed)?],
    };
    let ranks = ranks_of_all(&opened)?;
    phases.borrow_mut().end("workload");
    let (model, old_model) = model_of(request, &platform);
    let is_program = opened.iter().any(|opened| matches!(opened.operations, Operations::Program));
    let per_rank = if is_program { memory::PER_PROGRAM } else { 0 };
    let fits = |topology: &dyn Topology| {
        phases.borrow_mut().end("topology");
        if topology.hosts().saturating_mul(platform.host_parameters().processes.into()) < ranks {
            // The placement reports this with a better message.
            return Ok(());
        }
        let links = platform.nic_links(&model);
        let size = Size::of(topology, platform.host_parameters(), links, ranks, per_rank);
        size.check(&model, memory::machine(), platform.topology_place())
    };
    platform.check_faults(&model)?;
    platform.check_nic_order(&model)?;
    let mut warnings = warnings_of(&opened, &platform, &model);
    warnings.extend(old_model);
    let fabric = Arc::new(platform.fabric_that(seed, &model, &fits)?);
    phases.borrow_mut().end("routing tables");
    let machine = Machine {
        name: &request.platform,
        overrides: &overrides,
        processes_per_host: request.ppn,
        topology: &*fabric.topology,
    };
    let PlacedWorkload { operations, placement, placement_kind, jobs } = match &request.workload {
        Workload::Jobs { jobs, .. } => {
            let only = request.only.as_deref().unwrap_or_default();
            jobs::place(jobs, only, opened, &machine, seed)?
        }
        _ => place_single(opened, &platform, &*fabric.topology, seed)?,
    };
    let kernels = platform.kernels(&*fabric.topology)?;
    let blueprint = Blueprint {
        platform,
        model,
        seed,
        fabric,
        placement: placement.into(),
        jobs: if jobs.is_empty() { [0].into() } else { jobs.iter().map(|job| job.first).collect() },
        kept: request.kept(),
        live: None,
    };
    phases.borrow_mut().end("placement");
    warnings.extend(blueprint.statistics_warning()?);
    let (domains, all) = domains(request, &blueprint, &operations, peers, &mut warnings)?;
    phases.borrow_mut().end("network model, ranks and observers");
    let setup_s = started.elapsed().as_secs_f64();
    let title = Title { placement: placement_kind, setup_s, warnings, ..title(request, &blueprint, jobs) };
    let (workload, phases) = (request.workload.clone(), phases.into_inner());
    Ok(Prepared { blueprint, domains, all, operations, until, title, kernels, workload, phases })
}

/// Facts about a run that its request and its blueprint know.
fn title(request: &RunRequest, blueprint: &Blueprint, jobs: Vec<PlacedJob>) -> Title {
    let platform = &blueprint.platform;
    let (sockets, socket_of_rank) = sockets_of(platform, &blueprint.placement);
    Title {
        platform: platform.name(),
        platform_toml: platform.to_toml(),
        calibration: platform.calibration().cloned(),
        workload: workload_title(request, &jobs),
        model: blueprint.model.clone(),
        seed: blueprint.seed,
        unshared_memory: platform.unshared_memory(),
        host_of_rank: blueprint.placement.iter().map(|endpoint| endpoint.host.0).collect(),
        sockets,
        socket_of_rank,
        jobs,
        powers: platform.powers().copied(),
        ..Title::default()
    }
}

/// Name of the run's network model, and a warning if the request spells it with underscores.
fn model_of(request: &RunRequest, platform: &Platform) -> (String, Option<String>) {
    let Some(named) = &request.model else {
        return (platform.model_name().unwrap_or(DEFAULT_MODEL.to_string()), None);
    };
    match respelled(named, MODELS.iter().map(|entry| entry.name)) {
        Some(name) => (name.to_string(), Some(config::old_spelling("--model", named, name))),
        None => (named.clone(), None),
    }
}

/// Total number of ranks of all workloads.
fn ranks_of_all(opened: &[Opened]) -> Result<u32, InputError> {
    let ranks = opened.iter().map(|opened| u64::from(opened.ranks)).sum::<u64>();
    u32::try_from(ranks).map_err(|_| {
        InputError::whole("jobs", format!("together they have {ranks} ranks, which are too many"))
    })
}

/// Warnings about the workloads, then those about the platform as `model` sees it.
fn warnings_of(opened: &[Opened], platform: &Platform, model: &str) -> Vec<String> {
    let mut warnings: Vec<String> = opened.iter().flat_map(|opened| opened.warnings.clone()).collect();
    warnings.extend(platform.old_spellings());
    warnings.extend(platform.unheard(model));
    warnings.extend(platform.unmeasured());
    warnings.extend(platform.note());
    warnings.extend(platform.doubts());
    warnings
}

/// Number of sockets of a host, and the socket on its host of each rank in these places.
fn sockets_of(platform: &Platform, placement: &[Endpoint]) -> (u16, Vec<u32>) {
    let (sockets, slots) = (platform.processor().sockets, platform.host_parameters().processes);
    let socket = |endpoint: &Endpoint| u32::from(sockets.of_slot(endpoint.process, slots));
    (sockets.count, placement.iter().map(socket).collect())
}

/// Places a run of one workload.
fn place_single(
    mut opened: Vec<Opened>,
    platform: &Platform,
    topology: &dyn Topology,
    seed: u64,
) -> Result<PlacedWorkload, InputError> {
    let Opened { operations, ranks, recorded, .. } = opened.pop().expect("there is one workload");
    let placement = platform.place(topology, ranks, seed, recorded.as_deref())?;
    Ok(PlacedWorkload {
        operations,
        placement,
        placement_kind: platform.placement_kind().to_string(),
        jobs: Vec::new(),
    })
}

/// Reason why a process runs a rank program on one thread.
const SHARED_THREAD: &str = "the ranks of such a program share one";

/// Domains of this process, and the number of all: one for each thread of each process, if the run can be cut. If
/// not, the first process runs it, with a warning.
fn domains(
    request: &RunRequest,
    blueprint: &Blueprint,
    operations: &Operations,
    peers: &dyn Peers,
    warnings: &mut Vec<String>,
) -> Result<(Vec<Domain>, u32), InputError> {
    let (me, processes) = (peers.rank(), peers.count());
    let is_program = matches!(operations, Operations::Program);
    let threads = if is_program && processes > 1 { 1 } else { request.threads().max(1) };
    let wanted = threads.saturating_mul(processes);
    if wanted == 1 {
        return Ok((vec![blueprint.whole()?], 1));
    }
    let reason = match (operations, blueprint.cut(wanted)) {
        (Operations::Program, _) if processes == 1 => SHARED_THREAD,
        (Operations::Made(_), _) if !blueprint.platform.file_system().is_free() => {
            "all ranks share the servers of [filesystem]"
        }
        (_, Err(reason)) => reason,
        (_, Ok(cut)) if cut.parts() < processes => "there are more processes than places with ranks",
        (_, Ok(cut)) => {
            let all = cut.parts();
            match blueprint.domains(cut, domains_of(me, processes, all))? {
                Ok(domains) => {
                    if request.threads() > threads {
                        let asked = request.threads();
                        warnings.push(format!(
                            "--threads {asked}: one thread in each process is used: {SHARED_THREAD}"
                        ));
                    }
                    return Ok((domains, all));
                }
                Err(reason) => reason,
            }
        }
    };
    let asked = match processes {
        1 => format!("--threads {}", request.threads()),
        _ => format!("{processes} processes"),
    };
    warnings.push(format!("{asked}: one thread is used: {reason}"));
    Ok((if me == 0 { vec![blueprint.whole()?] } else { Vec::new() }, 1))
}

/// Requested end of the run, if there is one.
fn stop_at(request: &RunRequest) -> Result<Option<Time>, InputError> {
    let time = request.stop_at.as_deref().map(str::parse).transpose();
    time.map_err(|error: QuantityError| InputError::whole("stop_at", error.to_string()))
}

/// Requested number of ranks: the length of a list of places, if no number is given.
fn ranks(request: &RunRequest) -> Option<u32> {
    request.ranks.or(match &request.placement {
        Some(PlacementChoice::Listed(places)) => Some(places.len() as u32),
        _ => None,
    })
}

/// Workload's name in the report, from the jobs that run if there are several.
fn workload_title(request: &RunRequest, running: &[PlacedJob]) -> String {
    if running.is_empty() {
        return request.workload.title();
    }
    running.iter().map(|job| job.name.as_str()).collect::<Vec<_>>().join(" + ")
}

/// Overrides of the platform, with the request's own flags among them.
fn overrides(request: &RunRequest) -> Result<Vec<Override>, InputError> {
    let set = request.set.iter().flat_map(|set| &set.0);
    let mut overrides: Vec<_> = set.map(|(key, value)| Override::set(key, value)).collect();
    overrides.extend(config::placement_overrides(request.placement.as_ref(), request.ppn, &Disk::new("."))?);
    overrides.extend(request.statistics.as_ref().map(|detail| Override {
        key: "statistics.detail".to_string(),
        value: detail.clone(),
        flag: format!("--statistics {detail}"),
    }));
    Ok(overrides)
}

impl Prepared {
    /// Host of each rank.
    pub fn host_of_rank(&self) -> &[u32] {
        &self.title.host_of_rank
    }

    /// Process of each rank, if the run is cut into one domain for each process.
    pub fn process_of_rank(&self) -> Option<Vec<u32>> {
        let part = self.domains.first().filter(|_| self.all > 1)?.part();
        Some(self.blueprint.placement.iter().map(|endpoint| part.cut.of_host(endpoint.host)).collect())
    }

    /// Levels inside hosts by which a program can split a communicator, from the outermost inwards.
    pub fn hardware_levels(&self) -> Vec<HardwareLevel> {
        hardware_levels(&self.blueprint.platform, &self.blueprint.placement)
    }

    /// Socket of each rank on its host.
    pub fn socket_of_rank(&self) -> &[u32] {
        &self.title.socket_of_rank
    }

    /// Protocol of the messages.
    pub fn protocol(&self) -> Protocol {
        self.blueprint.platform.protocol()
    }

    /// Times of the functions that the platform names.
    pub fn function_times(&self) -> &FunctionTimes {
        self.blueprint.platform.function_times()
    }

    /// Processor of a process.
    pub fn processor(&self) -> Processor {
        self.blueprint.platform.processor()
    }

    /// File system.
    pub fn file_system(&self) -> FileSystem {
        *self.blueprint.platform.file_system()
    }

    /// Functions of compiled programs whose time the platform's formulas give.
    pub fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    /// Number of ranks.
    pub fn ranks(&self) -> u32 {
        self.title.host_of_rank.len() as u32
    }

    /// Lets a reader follow the run of this process's share.
    pub fn follow(&mut self, live: Arc<LiveRows>) {
        self.domains.iter_mut().for_each(|domain| domain.follow(Some(live.clone())));
        self.blueprint.live = Some(live);
    }

    /// Runs the machine. `program` provides the operations of workloads that the caller runs.
    pub fn run(
        self,
        program: Option<&mut dyn Source>,
        monitor: &mut dyn Monitor,
    ) -> Result<Outcome, InputError> {
        let outcome = self.run_share(program, monitor, &mut SingleProcess)?;
        Ok(outcome.expect("a process by itself reports"))
    }

    /// Runs this process's share; `None` in all processes but the first.
    pub fn run_share(
        mut self,
        mut program: Option<&mut dyn Source>,
        monitor: &mut dyn Monitor,
        peers: &mut dyn Peers,
    ) -> Result<Option<Outcome>, InputError> {
        let domains = std::mem::take(&mut self.domains);
        let mut feeds = Vec::new();
        for _ in &domains {
            feeds.extend(self.operations.feed()?);
        }
        let (mut profile, mut domains) = Profiling::start(self.phases.is_on(), domains);
        feeds = profile.feeds(feeds);
        if let (true, Some(source)) = (self.all > 1, program.as_deref_mut()) {
            let domain = domains.pop().expect("a process of several has a domain");
            let ended = match profile.marker() {
                Some(marker) => {
                    let source = &mut MarkedSource { source, marker };
                    run_share_in_windows(domain, self.all, source, monitor, self.until, peers)
                }
                None => run_share_in_windows(domain, self.all, source, monitor, self.until, peers),
            };
            return self.close(ended, &mut feeds, peers, profile);
        }
        if self.all > 1 {
            match run_in_windows(domains, self.all, &mut feeds, monitor, self.until, peers) {
                InWindows::Ended(ended) => return self.close(Some(*ended), &mut feeds, peers, profile),
                InWindows::Elsewhere => return self.close(None, &mut feeds, peers, profile),
                InWindows::FailedAhead => self.blueprint.live.iter().for_each(|live| live.restart()),
            }
            (profile, domains) = Profiling::start(self.phases.is_on(), vec![self.blueprint.whole()?]);
            feeds = profile.feeds(self.operations.feed()?.into_iter().collect());
        }
        let Some(domain) = domains.pop() else { return Ok(None) };
        let ended = match (feeds.first_mut(), program, profile.marker()) {
            (Some(feed), ..) => run(domain, feed, monitor, self.until),
            (None, Some(source), Some(marker)) => {
                run(domain, &mut MarkedSource { source, marker }, monitor, self.until)
            }
            (None, Some(program), None) => run(domain, program, monitor, self.until),
            (None, None, _) => panic!("a program workload needs its program"),
        };
        self.close(Some(ended), &mut feeds, &mut SingleProcess, profile)
    }

    /// Report of a run that has ended, in the first process.
    fn close(
        mut self,
        ended: Option<Ended>,
        feeds: &mut [Feed],
        peers: &mut dyn Peers,
        profile: Profiling,
    ) -> Result<Option<Outcome>, InputError> {
        let wall_s = ended.as_ref().map_or(0.0, |ended| ended.wall_s);
        let mut profile = profile.finish(&self.phases, &self.workload, wall_s);
        let mut phases = Phases::start(profile.is_some(), "report");
        let (mut errors, mut warnings) = (Vec::new(), Vec::new());
        for feed in feeds {
            for (first, replay) in feed.replays() {
                errors.extend(replay.take_error().map(|error| trace::input_error(&error)));
                warnings.extend(replay.warnings().iter().map(|(rank, text)| (first + rank.0, text.clone())));
            }
        }
        let told: Vec<_> = errors.iter().map(|error| (error.file.clone(), error.message.clone())).collect();
        let all = peers.share(saved(&(told, warnings)));
        let mut warnings = Vec::new();
        for (told, more) in all.iter().map(|all| restored::<(Vec<(String, String)>, Vec<_>)>(all)) {
            if let Some((file, message)) = told.into_iter().next() {
                return Err(InputError::whole(file, message));
            }
            warnings.extend(more);
        }
        self.title.warnings.extend(Replay::first(warnings));
        let Some(mut ended) = ended else { return Ok(None) };
        self.operations.end_of_recording(&mut ended);
        if ended.end == End::Uncountable {
            let reason = "takes more than 213 days of simulated time or moves more than 16 EiB, which is more \
                          than can be counted; are its sizes, times and counts in the units that you mean?";
            return Err(InputError::whole(self.title.workload, reason));
        }
        let hosts = self.blueprint.platform.host_parameters();
        let mut outcome = report(&self.blueprint.fabric, hosts, &ended, &self.title);
        phases.end("summary and tables");
        if let Some(profile) = &mut profile {
            profile.layers.extend_from_slice(phases.done());
        }
        outcome.report.profile_simulator = profile;
        Ok(Some(outcome))
    }
}
