//! Several jobs in one run: each with its world, its hosts, its start and its times; they share the network.

use crate::cuts;

use std::sync::LazyLock;

use cuts::{CUTS, assert_same, is_cut};
use sim::report::Outcome;
use sim::request::Job;
use sim::request::Overrides;
use sim::run::Unwatched;
use sim::trace::Flags;
use sim::{RunRequest, Workload, prepare};

/// The mesh of `scenarios/shared-link.md`: 3 x 3 hosts, links of 5 GB/s, 0.6 s between any two.
const MESH: &str = r#"
name = "mesh"
[topology]
kind = "mesh"
sizes = [3, 3]
[link]
bandwidth = "5 GB/s"
latency = "0 s"
[host]
processes = 2
[host.memory]
latency = "0 s"
bandwidth = "5 GB/s"
[nic]
bandwidth = "infinite"
latency = "0.3 s"
[mpi]
eager_limit = "1 TiB"
[compute]
flop_rate = "1 Gflop/s"
"#;

/// File of the platform, written once: tests run at the same time, and none may read it half written.
fn mesh() -> String {
    static FILE: LazyLock<String> = LazyLock::new(|| {
        let path = format!("{}/mesh-of-jobs.toml", env!("CARGO_TARGET_TMPDIR"));
        std::fs::write(&path, MESH).unwrap();
        path
    });
    FILE.clone()
}

fn job(name: &str, pattern: &str, ranks: u32, arguments: &[(&str, &str)]) -> Job {
    let arguments = arguments.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    Job {
        name: name.to_string(),
        workload: Workload::pattern(pattern.to_string(), arguments),
        ranks: Some(ranks),
        start: None,
        placement: None,
        hosts: None,
        ppn: Some(1),
        replay: Flags::default(),
    }
}

fn request(platform: &str, model: &str, jobs: &[Job]) -> RunRequest {
    RunRequest {
        model: Some(model.to_string()),
        seed: Some(7),
        records: Some(1_000_000),
        threads: Some(1),
        ..RunRequest::new(platform, Workload::Jobs { path: None, jobs: jobs.to_vec() })
    }
}

fn run(request: &RunRequest) -> Outcome {
    let prepared = prepare(request).unwrap_or_else(|error| panic!("{error}"));
    prepared.run(None, &mut Unwatched).unwrap_or_else(|error| panic!("{error}"))
}

fn makespans(outcome: &Outcome) -> Vec<f64> {
    outcome.report.jobs.iter().map(|job| job.makespan_s.expect("it is done")).collect()
}

/// Two messages of 1 GB, 8-7-4-1 and 7-4, share one link: alone 0.6 s + 0.2 s, together 0.6 s + 0.4 s.
fn two_messages() -> [Job; 2] {
    let message = |name, hosts: &str| Job {
        hosts: Some(hosts.to_string()),
        ..job(name, "incast", 2, &[("bytes", "1 GB")])
    };
    [message("far", "1,8"), message("near", "4,7")]
}

#[test]
fn jobs_at_the_same_time_share_links() {
    let platform = mesh();
    let together = run(&request(&platform, "flow", &two_messages()));
    assert_eq!(makespans(&together), [1.0, 1.0]);
    assert_eq!(together.report.makespan_s, 1.0);
    let [far, near] = two_messages();
    let later = Job { start: Some("10 s".to_string()), ..near };
    let apart = run(&request(&platform, "flow", &[far, later]));
    assert_eq!(makespans(&apart), [0.8, 0.8]);
    let second = &apart.report.jobs[1];
    assert_eq!(
        (second.start_s, second.end_s, second.first_rank, second.hosts_used),
        (10.0, Some(10.8), 2, 2)
    );
}

/// A job that runs alone, in the place that it has beside others.
#[test]
fn one_of_several_jobs_can_run_alone_in_its_place() {
    let mut request = request(&mesh(), "flow", &two_messages());
    request.only = Some(vec!["near".to_string()]);
    let alone = run(&request);
    assert_eq!(makespans(&alone), [0.8]);
    assert_eq!(prepare(&request).map(|prepared| prepared.host_of_rank().to_vec()).unwrap(), [4, 7]);
    request.only = Some(vec!["nearer".to_string()]);
    let error = prepare(&request).err().expect("no job is called so");
    assert_eq!(error.to_string(), "--only nearer: no job is called so; known: far, near");
}

/// Collectives, communicators and barriers of a job see its own ranks: without a shared network, each takes what
/// it takes alone, and moves what it moves alone.
#[test]
fn a_job_is_a_world_of_its_own() {
    let kinds = ["allreduce", "alltoall", "barrier", "halo2d", "scan"];
    let jobs: Vec<_> = kinds
        .into_iter()
        .zip(3..)
        .map(|(kind, ranks)| job(kind, kind, ranks, &[("iterations", "3")]))
        .collect();
    let crossbar = |jobs: &[Job]| {
        let mut request = request("crossbar", "loggp", jobs);
        request.set = Some(Overrides(vec![("topology.hosts".to_string(), "64".to_string())]));
        run(&request)
    };
    let together = crossbar(&jobs);
    for (at, job) in jobs.iter().enumerate() {
        let alone = crossbar(std::slice::from_ref(job));
        assert_eq!(makespans(&together)[at], makespans(&alone)[0], "{}", job.name);
    }
    let messages: u64 = jobs.iter().map(|job| crossbar(std::slice::from_ref(job)).report.messages).sum();
    assert_eq!(together.report.messages, messages);
}

#[test]
fn threads_change_nothing() {
    let late = |job: Job| Job { start: Some("3 us".to_string()), ..job };
    let jobs = [
        job("a", "allreduce", 12, &[("bytes", "10 KB"), ("iterations", "2")]),
        late(job("b", "halo3d", 20, &[("bytes", "20 KB")])),
        Job { placement: Some("random".into()), ..job("c", "uniform", 16, &[("bytes", "5 KB")]) },
    ];
    for model in ["packet", "max-rate"] {
        let whole = run(&request("dragonfly", model, &jobs));
        for threads in CUTS {
            let parts = run(&RunRequest { threads: Some(threads), ..request("dragonfly", model, &jobs) });
            assert_same(&whole, &parts, &format!("{model}, {threads} threads"));
            assert!(threads == 1 || is_cut(&parts), "{model} runs on {threads} threads");
        }
    }
}

/// A flag for all jobs applies to those without a setting of their own, even if they have a placement of their own.
#[test]
fn processes_per_host_are_those_of_the_job_or_of_the_run() {
    let own = Job { ppn: Some(2), ..job("own", "ring", 4, &[]) };
    let of_run = Job { ppn: None, ..job("of the run", "ring", 3, &[]) };
    let placed = Job { placement: Some("random".into()), name: "placed".to_string(), ..of_run.clone() };
    let request = RunRequest { ppn: Some(1), ..request(&mesh(), "flow", &[own, of_run, placed]) };
    let hosts: Vec<u32> = run(&request).report.jobs.iter().map(|job| job.hosts_used).collect();
    assert_eq!(hosts, [2, 3, 3]);
}

#[test]
fn what_cannot_be_placed_is_named() {
    let platform = mesh();
    let with = |change: &dyn Fn(&mut [Job; 2])| {
        let mut jobs = two_messages();
        change(&mut jobs);
        prepare(&request(&platform, "flow", &jobs)).err().expect("it is wrong").to_string()
    };
    assert_eq!(
        with(&|jobs| jobs[1].hosts = Some("7,8".to_string())),
        "job 'near': hosts: host 8 is taken by job 'far'"
    );
    assert_eq!(
        with(&|jobs| jobs[1].hosts = Some("9".to_string())),
        "job 'near': hosts: no host 9: there are 9, from 0"
    );
    assert_eq!(with(&|jobs| jobs[1].name = "far".to_string()), "job 'far': another job has this name");
    assert_eq!(
        with(&|jobs| (jobs[1].hosts, jobs[1].ranks) = (None, Some(8))),
        "job 'near': ranks: 8 ranks do not fit: 7 hosts with 1 each take 7; all 2 slots of each host would do"
    );
    let request = RunRequest { ranks: Some(4), ..request(&platform, "flow", &two_messages()) };
    let error = prepare(&request).err().expect("it is wrong").to_string();
    assert_eq!(error, "-n 4: each job has its own number of ranks");
}
