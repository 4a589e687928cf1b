//! Opens workloads, and makes the operations of their ranks.

use engine::registry::{Arguments, Entry, find};
use mpi::{Blocked, Failure};
use network::Endpoint;
use workload::pattern::{Build, PATTERNS, Setting, Steps};
use workload::trace::{ReplayOptions, SharedSet};

use crate::config::{self, Disk, InputError};
use crate::feed::{Feed, Jobs, PlacedJob};
use crate::request::{Sources, Workload};
use crate::run::{End, Ended, MOST_BEHIND, Stop};
use crate::trace::{self, Flags};

/// Source of the operations.
pub(crate) enum Operations {
    Pattern {
        build: Build,
        arguments: Arguments,
        setting: Setting,
    },
    Replay(SharedSet, ReplayOptions),
    Made(Sources),
    Jobs(Vec<(PlacedJob, Operations)>),
    /// A program whose operations the caller provides.
    Program,
}

/// A workload after its check: the recording is open, or the arguments of the pattern are read.
pub(crate) struct Opened {
    pub operations: Operations,
    pub ranks: u32,
    /// Name of each rank's host in the recording.
    pub recorded: Option<Vec<String>>,
    pub warnings: Vec<String>,
}

/// A workload with its ranks in place.
pub(crate) struct PlacedWorkload {
    pub operations: Operations,
    pub placement: Vec<Endpoint>,
    pub placement_kind: String,
    /// Jobs of a run of several.
    pub jobs: Vec<PlacedJob>,
}

impl Opened {
    /// Opens `workload` for `ranks` ranks, or for its own number. `replay` has the options of a recording's replay.
    pub fn of(
        workload: &Workload,
        replay: &Flags,
        asked: Option<u32>,
        seed: u64,
    ) -> Result<Opened, InputError> {
        let recording = match workload {
            Workload::Trace { path } => Some(trace::open(path)?),
            // An unknown name matters more than missing ranks.
            Workload::Pattern { name, .. } => pattern(name).map(|_| None)?,
            Workload::Function { .. }
            | Workload::Compiled { .. }
            | Workload::Mpi4py { .. }
            | Workload::Sources { .. } => None,
            Workload::Jobs { .. } => {
                return Err(InputError::whole("jobs", "a job is a pattern or a recording, not several jobs"));
            }
        };
        let ranks = ranks(asked, recording.as_ref())?;
        let recorded = recording.as_ref().map(|recording| recording.hosts());
        let warnings = recording.as_ref().map_or(Vec::new(), |recording| recording.warnings());
        let operations = operations(workload, replay, recording, ranks, seed)?;
        Ok(Opened { operations, ranks, recorded, warnings })
    }
}

/// Number of ranks, from the user and the recording, which must agree.
fn ranks(asked: Option<u32>, recording: Option<&SharedSet>) -> Result<u32, InputError> {
    match (asked, recording.map(|recording| recording.ranks())) {
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

/// Pattern called `name`. The error for a name with a path or suffix says that there is no such file.
fn pattern(name: &str) -> Result<&'static Entry<Build>, InputError> {
    if name.contains(['/', '.']) {
        return Err(InputError::whole(name, "there is no such file or folder"));
    }
    find(PATTERNS, "pattern", name).map_err(|reason| InputError::whole(name, reason))
}

fn operations(
    workload: &Workload,
    replay: &Flags,
    recording: Option<SharedSet>,
    ranks: u32,
    seed: u64,
) -> Result<Operations, InputError> {
    let operations = match workload {
        Workload::Sources { make, .. } => Operations::Made(make.clone()),
        Workload::Trace { .. } => {
            Operations::Replay(recording.expect("a trace has been opened"), replay.options()?)
        }
        Workload::Pattern { name, arguments } => {
            let entry = pattern(name)?;
            let arguments = config::arguments(entry.name, entry.parameters, &arguments.0, &Disk::new("."))?;
            Operations::Pattern { build: entry.build, arguments, setting: Setting { ranks, seed } }
        }
        Workload::Function { .. }
        | Workload::Compiled { .. }
        | Workload::Mpi4py { .. }
        | Workload::Jobs { .. } => Operations::Program,
    };
    // Making the pattern checks its arguments.
    operations.feed()?;
    Ok(operations)
}

impl Operations {
    /// Marks a run that has reached the end of a partial recording as stopped there: its ranks have finished, or wait
    /// for operations that were not recorded.
    pub fn end_of_recording(&self, ended: &mut Ended) {
        let partial = |rank: &Blocked| self.is_partial(Some(rank.rank.0));
        match &mut ended.end {
            End::Finished if self.is_partial(None) => {}
            End::Failed(Failure::Deadlock(blocked)) if blocked.iter().all(partial) => {
                ended.behind = std::mem::take(blocked);
                ended.behind.sort_by_key(|behind| (behind.since, behind.rank));
                ended.behind.truncate(MOST_BEHIND);
            }
            _ => return,
        }
        ended.end = End::Stopped(Stop::Recorded);
    }

    /// True if the recording that `rank` replays is partial, or any recording without a `rank`.
    fn is_partial(&self, rank: Option<u32>) -> bool {
        match self {
            Operations::Replay(recording, _) => recording.is_partial(),
            Operations::Jobs(jobs) => jobs.iter().any(|(job, operations)| {
                let own = rank.is_none_or(|rank| (job.first..job.first + job.ranks).contains(&rank));
                own && operations.is_partial(rank)
            }),
            _ => false,
        }
    }

    /// Source for one domain; `None` if the caller provides it.
    pub fn feed(&self) -> Result<Option<Feed>, InputError> {
        Ok(Some(match self {
            Operations::Program => return Ok(None),
            Operations::Made(sources) => Feed::Made((sources.0)()),
            Operations::Replay(recording, options) => {
                let replay = workload::trace::replay(recording.clone(), options.clone());
                Feed::Replay(replay.map_err(|error| trace::input_error(&error))?)
            }
            Operations::Pattern { build, arguments, setting } => {
                let pattern = build(arguments, *setting).map_err(|error| match error.parameter {
                    "ranks" => InputError::whole(format!("-n {}", setting.ranks), error.reason),
                    parameter => InputError::whole(format!("--{parameter}"), error.reason),
                })?;
                Feed::Pattern(Steps::new(pattern, setting.ranks))
            }
            Operations::Jobs(jobs) => {
                let feed = |(job, operations): &(PlacedJob, Operations)| {
                    Ok((job.clone(), operations.feed()?.expect("a job brings its operations")))
                };
                Feed::Jobs(Jobs::new(jobs.iter().map(feed).collect::<Result<Vec<_>, InputError>>()?))
            }
        }))
    }
}
