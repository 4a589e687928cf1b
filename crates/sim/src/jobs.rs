//! Several jobs in one run: independent programs that share the network.
//!
//! Each job has ranks of its own, numbered from 0, a world communicator of its own, hosts of its own and a start. In
//! the run, the ranks of the second job follow those of the first. A job replays a recording or runs a pattern; its
//! times count from its start.

use engine::Time;
use network::{Endpoint, Topology};

use crate::config::{self, Disk, InputError, Override, Platform, PlatformSource};
use crate::feed::PlacedJob;
use crate::operations::{Opened, Operations, PlacedWorkload};
use crate::request::Job;
use crate::request::Workload;

/// Machine that jobs are placed on.
pub(crate) struct Machine<'a> {
    /// Platform as the user names it.
    pub name: &'a PlatformSource,
    /// Overrides of the platform by flags.
    pub overrides: &'a [Override],
    /// Processes per host from a flag, for jobs that do not set it themselves.
    pub processes_per_host: Option<u16>,
    /// Topology.
    pub topology: &'a dyn Topology,
}

/// Opens the workloads of the jobs. `asked`, a number of ranks for the whole run, is refused.
pub(crate) fn open(jobs: &[Job], asked: Option<u32>, seed: u64) -> Result<Vec<Opened>, InputError> {
    if let Some(asked) = asked {
        return Err(InputError::whole(format!("-n {asked}"), "each job has its own number of ranks"));
    }
    if jobs.is_empty() {
        return Err(InputError::whole("jobs", "there is no job"));
    }
    for (at, job) in jobs.iter().enumerate() {
        if !matches!(job.workload, Workload::Pattern { .. } | Workload::Trace { .. }) {
            let reason = "a job is a pattern or a recording";
            return Err(InputError::whole(format!("job '{}'", job.name), reason));
        }
        if jobs[..at].iter().any(|before| before.name == job.name) {
            return Err(InputError::whole(format!("job '{}'", job.name), "another job has this name"));
        }
    }
    let open = |job: &Job| {
        Opened::of(&job.workload, &job.replay, job.ranks, seed).map_err(|error| error.of_job(&job.name))
    };
    jobs.iter().map(open).collect()
}

/// Places all jobs, and keeps the jobs `only`, or all if it is empty.
pub(crate) fn place(
    jobs: &[Job],
    only: &[String],
    opened: Vec<Opened>,
    machine: &Machine,
    seed: u64,
) -> Result<PlacedWorkload, InputError> {
    if let Some(unknown) = only.iter().find(|name| jobs.iter().all(|job| job.name != **name)) {
        let known: Vec<_> = jobs.iter().map(|job| job.name.as_str()).collect();
        let reason = format!("no job is called so; known: {}", known.join(", "));
        return Err(InputError::whole(format!("--only {unknown}"), reason));
    }
    let places = endpoints(jobs, &opened, machine, seed)?;
    let (mut placement, mut running) = (Vec::new(), Vec::new());
    for ((job, opened), (kind, endpoints)) in jobs.iter().zip(opened).zip(places) {
        if !only.is_empty() && !only.contains(&job.name) {
            continue;
        }
        let placed = PlacedJob {
            name: job.name.clone(),
            workload: job.workload.title(),
            placement: kind,
            first: placement.len() as u32,
            ranks: opened.ranks,
            start: start(job)?,
        };
        placement.extend(endpoints);
        running.push((placed, opened.operations));
    }
    let jobs = running.iter().map(|(placed, _)| placed.clone()).collect();
    Ok(PlacedWorkload {
        operations: Operations::Jobs(running),
        placement,
        placement_kind: "by job".to_string(),
        jobs,
    })
}

/// Placement kind of each job, and the place of each of its ranks. Jobs with named hosts choose first, then the
/// others in order.
fn endpoints(
    jobs: &[Job],
    opened: &[Opened],
    machine: &Machine,
    seed: u64,
) -> Result<Vec<(&'static str, Vec<Endpoint>)>, InputError> {
    let own = jobs.iter().map(|job| platform_for(job, machine).map_err(|error| error.of_job(&job.name)));
    let platforms = own.collect::<Result<Vec<_>, _>>()?;
    let topology = machine.topology;
    let is_named = |at: &usize| {
        jobs[*at].hosts.is_some() || matches!(platforms[*at].placement_kind(), "file" | "list" | "recorded")
    };
    let (named, others): (Vec<usize>, Vec<usize>) = (0..jobs.len()).partition(is_named);
    let mut holder: Vec<Option<usize>> = vec![None; topology.hosts() as usize];
    let mut placed: Vec<_> = jobs.iter().map(|_| ("", Vec::new())).collect();
    for at in named.into_iter().chain(others) {
        let (job, Opened { ranks, recorded, .. }) = (&jobs[at], &opened[at]);
        let wrong = |error: InputError| error.of_job(&job.name);
        let free = |host: &u32| holder[*host as usize].is_none();
        let among = match &job.hosts {
            None => (0..topology.hosts()).filter(free).collect::<Vec<_>>(),
            Some(list) => {
                let hosts = hosts_of(list, topology.hosts());
                let hosts = hosts.map_err(|reason| wrong(InputError::whole("hosts", reason)))?;
                if let Some(host) = hosts.iter().find(|host| !free(host)) {
                    let other = &jobs[holder[*host as usize].expect("it is taken")].name;
                    let reason = format!("host {host} is taken by job '{other}'");
                    return Err(wrong(InputError::whole("hosts", reason)));
                }
                hosts
            }
        };
        let recorded = recorded.as_deref();
        let endpoints = platforms[at].place_among(topology, *ranks, seed, recorded, Some(&among), "ranks");
        let endpoints = endpoints.map_err(wrong)?;
        endpoints.iter().for_each(|endpoint| holder[endpoint.host.0 as usize] = Some(at));
        placed[at] = (platforms[at].placement_kind(), endpoints);
    }
    Ok(placed)
}

/// Platform with the placement of `job`.
fn platform_for(job: &Job, machine: &Machine) -> Result<Platform, InputError> {
    let disk = Disk::new(".");
    // A job's own placement replaces the whole placement section of the platform.
    let each = job.ppn.or(machine.processes_per_host);
    let own = config::placement_overrides(job.placement.as_ref(), each, &disk)?;
    config::load_source(machine.name, &[machine.overrides, &own].concat(), &disk)
}

/// Start of a job.
fn start(job: &Job) -> Result<Time, InputError> {
    let time = job.start.as_deref().map_or(Ok(Time::ZERO), str::parse);
    time.map_err(|error| InputError::whole("start", error.to_string()).of_job(&job.name))
}

/// Host numbers of a list such as `0-15,32,64-127:4`, ascending, below `hosts`.
fn hosts_of(list: &str, hosts: u32) -> Result<Vec<u32>, String> {
    let number = |word: &str| {
        let number = word.trim().parse::<u32>();
        let number =
            number.map_err(|_| format!("'{word}' is not a host's number, as in 0-15,32,64-127:4"))?;
        if number < hosts { Ok(number) } else { Err(format!("no host {number}: there are {hosts}, from 0")) }
    };
    let mut all = Vec::new();
    for part in list.split(',') {
        let (range, step) = part.split_once(':').unwrap_or((part, "1"));
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let step = step.trim().parse::<usize>().ok().filter(|step| *step > 0);
        let step = step.ok_or_else(|| format!("'{part}': the step after ':' is a number above 0"))?;
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return Err(format!("'{part}': the range ends before it begins"));
        }
        all.extend((first..=last).step_by(step));
    }
    all.sort_unstable();
    all.dedup();
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::hosts_of;

    #[test]
    fn hosts_are_numbers_ranges_and_steps() {
        assert_eq!(hosts_of("3,0-2,8-15:4", 16), Ok(vec![0, 1, 2, 3, 8, 12]));
        for (list, wrong) in [
            ("4-x", "'x' is not a host's number"),
            ("5-2", "'5-2': the range ends before it begins"),
            ("2,16", "no host 16: there are 16"),
            ("0-3:0", "the step after ':' is a number above 0"),
            ("", "'' is not a host's number"),
        ] {
            assert!(hosts_of(list, 16).unwrap_err().contains(wrong), "{list}");
        }
    }
}
