//! A run gives the same report and the same tables, to the bit, into however many domains it is cut, in one
//! process or several.

use crate::cuts;

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use cuts::{CUTS, assert_same, is_cut};
use engine::{Bytes, Duration};
use mpi::collective::{Collective, Kind, Sizes};
use mpi::compute::COMPUTE_MODELS;
use mpi::operation::{
    CartGrid, CommId, Neighbours, NewComm, Peer, Receive, Send, SendMode, Start, TagMatch, Via, Work,
};
use mpi::{Completion, Op, Rank, Source};
use sim::report::Outcome;
use sim::request::Overrides;
use sim::run::{Control, Monitor, Progress, Unwatched};
use sim::{RunRequest, Sources, Workload, prepare};
use workload::pattern::PATTERNS;

const MODELS: [&str; 3] = ["postal", "max-rate", "loggp"];

fn request(platform: &str, model: &str, ranks: Option<u32>, workload: Workload, threads: u32) -> RunRequest {
    RunRequest {
        ranks,
        model: Some(model.to_string()),
        seed: Some(7),
        placement: Some("random".into()),
        ppn: Some(2),
        records: Some(300),
        threads: Some(threads),
        ..RunRequest::new(platform, workload)
    }
}

fn run(request: &RunRequest) -> Outcome {
    let prepared = prepare(request).unwrap_or_else(|error| panic!("{error}"));
    prepared.run(None, &mut Unwatched).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs it whole and cut, compares the outcomes, and returns the whole.
fn same_for_every_cut(request: &RunRequest, what: &str) -> Outcome {
    let whole = run(&RunRequest { threads: Some(1), ..request.clone() });
    for threads in CUTS {
        let parts = run(&RunRequest { threads: Some(threads), ..request.clone() });
        assert!(is_cut(&parts) || parts.report.failure.is_some(), "{what}: {:?}", parts.report.warnings);
        assert_same(&parts, &whole, &format!("{what} on {threads} threads"));
    }
    let parts = cuts::run_in_processes(&RunRequest { threads: Some(2), ..request.clone() }, 2);
    let parts = parts.unwrap_or_else(|error| panic!("{what}: {error}"));
    cuts::assert_same_in_processes(&parts, &whole, &format!("{what} in 2 processes"));
    whole
}

#[test]
fn every_pattern_is_the_same_for_every_cut() {
    for pattern in PATTERNS {
        for (number, bytes) in ["8 B", "100 KB"].into_iter().enumerate() {
            let sized = pattern.parameters.iter().any(|parameter| parameter.name == "bytes");
            let arguments = if sized { vec![("bytes".to_string(), bytes.to_string())] } else { Vec::new() };
            let ranks = if pattern.name == "pingpong" { 2 } else { 24 };
            let model = MODELS[(number + pattern.name.len()) % 3];
            let workload = Workload::pattern(pattern.name.to_string(), arguments);
            let mut request = request("hopper", model, Some(ranks), workload, 1);
            if pattern.name == "pingpong" {
                request.ppn = Some(1);
            }
            let whole = same_for_every_cut(&request, &format!("{} {bytes} under {model}", pattern.name));
            assert_eq!(whole.report.failure.map(|failure| failure.text), None, "{}", pattern.name);
        }
    }
}

/// Overrides of `[compute]` that choose a model with an example's parameters.
fn compute_model(name: &str, example: &str) -> Overrides {
    let parameters: toml::Table = example.parse().expect("an example is TOML");
    let own = parameters.into_iter().map(|(key, value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_string);
        (format!("compute.{name}.{key}"), value)
    });
    Overrides(own.chain([("compute.model".to_string(), name.to_string())]).collect())
}

fn computing_halo() -> RunRequest {
    let arguments = vec![("compute".to_string(), "1 ms".to_string())];
    request("hopper", "loggp", Some(24), Workload::pattern("halo3d".to_string(), arguments), 1)
}

/// A compute model knows ranks, hosts and streams of the seed, and none of these depends on where the run is cut.
#[test]
fn every_compute_model_is_the_same_for_every_cut() {
    for entry in COMPUTE_MODELS {
        for example in entry.examples {
            let set = Some(compute_model(entry.name, example));
            let what = format!("{} {example}", entry.name);
            let whole = same_for_every_cut(&RunRequest { set, ..computing_halo() }, &what);
            assert_eq!(whole.report.failure.map(|failure| failure.text), None, "{what}");
        }
    }
}

/// The seed draws the noise, and without deviations every factor is one.
#[test]
fn noise_of_computing_is_drawn_by_the_seed() {
    let hash = |set: Option<Overrides>, seed| {
        run(&RunRequest { set, seed: Some(seed), ..computing_halo() }).report.outcome_hash
    };
    let plain = hash(None, 7);
    let noisy = |seed| hash(Some(compute_model("noise", "deviation = 0.1\nhost_deviation = 0.05")), seed);
    assert_ne!(noisy(7), noisy(8), "the seed changes nothing");
    assert_ne!(noisy(7), plain, "the noise changes nothing");
    let silent = compute_model("noise", "deviation = 0\nhost_deviation = 0");
    assert_eq!(hash(Some(silent), 7), plain);
}

/// Messages draw from streams of their ranks, whose events have one order wherever the run is cut.
#[test]
fn noise_of_messages_is_the_same_for_every_cut() {
    let modes =
        "[{ weight = 0.8, mean = \"0 ns\", deviation = \"80 ns\" }, { weight = 0.2, mean = \"1 us\" }]";
    let keys = ["send_modes", "receive_modes", "latency_modes"].map(|key| format!("{key} = {modes}"));
    let table = format!("name = \"noisy\", {}", keys.join(", "));
    let set = |table: String| Overrides(vec![("mpi.regimes".to_string(), format!("[{{ {table} }}]"))]);
    for (model, pattern) in [("packet", "allreduce"), ("loggp", "alltoall"), ("max-rate", "random-ring")] {
        let request =
            request("hopper", model, Some(24), Workload::pattern(pattern.to_string(), Vec::new()), 1);
        let noisy =
            same_for_every_cut(&RunRequest { set: Some(set(table.clone())), ..request.clone() }, pattern);
        let silent = run(&RunRequest { set: Some(set("name = \"silent\"".to_string())), ..request });
        assert_ne!(noisy.report.outcome_hash, silent.report.outcome_hash, "the noise changes nothing");
    }
}

/// Adaptive routings make the same choices wherever the network is cut.
#[test]
fn adaptive_routings_are_the_same_for_every_cut() {
    let set = |values: &[(&str, &str)]| -> Vec<(String, String)> {
        values.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect()
    };
    let dragonfly = |routing| {
        set(&[
            ("topology.groups", "9"),
            ("topology.routers_per_group", "4"),
            ("topology.hosts_per_router", "2"),
            ("topology.global_links_per_router", "2"),
            ("topology.global_links_per_pair", "1"),
            ("routing.kind", routing),
        ])
    };
    let platforms = [
        ("dragonfly", dragonfly("minimal")),
        ("dragonfly", dragonfly("ugal-l")),
        ("dragonfly", dragonfly("ugal-g")),
        ("dragonfly", dragonfly("progressive-adaptive")),
        ("endeavor", Vec::new()),
        ("hopper", Vec::new()),
    ];
    for (platform, overrides) in platforms {
        let arguments = vec![("bytes".to_string(), "5 KB".to_string())];
        let workload = Workload::pattern("alltoall".to_string(), arguments);
        let request = RunRequest {
            set: Some(Overrides(overrides)),
            ..request(platform, "packet", Some(24), workload, 1)
        };
        let request = RunRequest { ppn: Some(1), ..request };
        same_for_every_cut(&request, &format!("{platform} {:?}", request.set));
    }
}

/// The tables of statistics over time are as much a result as any other.
#[test]
fn statistics_are_the_same_for_every_cut() {
    let names = [
        "class_periods",
        "region_periods",
        "link_periods",
        "router_periods",
        "latency_periods",
        "network_latency",
        "slow_packets",
    ];
    let cases = [
        ("nsim-torus", "channels", "500000", "packets"),
        ("nsim-torus", "channels", "500000", "fma-put"),
        ("fat-tree", "links", "500000", "packets"),
        ("fat-tree", "links", "40000", "packets"),
    ];
    for (platform, detail, rows, protocol) in cases {
        let arguments = vec![("bytes".to_string(), "20 KB".to_string())];
        let workload = Workload::pattern("alltoall".to_string(), arguments);
        let mut request = request(platform, "packet", Some(48), workload, 1);
        let small = (platform == "nsim-torus").then_some(("topology.sizes", "[4,4,4]"));
        let settings = [
            ("statistics.periods", "50"),
            ("statistics.residence", "2 us"),
            ("statistics.rows", rows),
            ("transport.protocol", protocol),
        ];
        let settings = settings.into_iter().chain(small);
        request.statistics = Some(detail.to_string());
        request.ppn = Some(if platform == "fat-tree" { 2 } else { 1 });
        let settings = settings.map(|(key, value)| (key.to_string(), value.to_string()));
        request.set = Some(Overrides(settings.collect()));
        // The number of times that the packet model checks an output depends on the arrival of credits across a cut.
        let no_events = |mut outcome: Outcome| {
            outcome.report.events = 0;
            outcome
        };
        let whole = no_events(run(&request));
        for threads in CUTS {
            let parts = no_events(run(&RunRequest { threads: Some(threads), ..request.clone() }));
            assert!(is_cut(&parts));
            assert_same(&parts, &whole, &format!("{platform} with {rows} rows on {threads} threads"));
        }
        let parts = cuts::run_in_processes(&RunRequest { threads: Some(2), ..request.clone() }, 2).unwrap();
        assert_same(&no_events(parts), &whole, &format!("{platform} with {rows} rows in 2 processes"));
        // 3,200 links of the tree need 16 rows each.
        let names = names.into_iter().filter(|name| rows != "40000" || *name != "link_periods");
        for name in names {
            let table = whole.tables.iter().find(|table| table.name == name);
            let count = table.map_or(0, |table| table.columns[0].1.len());
            let by_place = ["region_periods", "link_periods", "router_periods"].contains(&name);
            let most = if by_place { rows.parse().unwrap() } else { usize::MAX };
            assert!(count > 0 && count <= most, "{count} rows of {name} of {platform}");
        }
        let statistics = whole.report.statistics.unwrap();
        assert!(statistics.slow_packets > 0 && statistics.latency_p50_s < statistics.latency_max_s);
        let error = prepare(&RunRequest { model: Some("flow".to_string()), ..request }).err().unwrap();
        let expected =
            "statistics.detail: only the network model 'packet' keeps statistics over time, not 'flow'";
        assert_eq!(error.to_string(), format!("--statistics {detail}: {expected}"));
    }
}

/// Operations by rank, of which some make communicators that later ones are on.
struct Program {
    ranks: Vec<VecDeque<Step>>,
    /// Communicators that each rank has received.
    comms: Vec<Vec<CommId>>,
    makes: Vec<bool>,
}

/// Step of a rank, on one of its communicators: 0 is the world, then those it was given.
enum Step {
    Make(usize, NewComm),
    Call(usize, Kind),
    Send(usize, u32, u64),
    Receive(usize, u64),
    Compute(u64),
    Free(usize),
    Abort,
}

impl Source for Program {
    fn next(&mut self, rank: Rank, done: &Completion) -> Op {
        let index = rank.0 as usize;
        if std::mem::take(&mut self.makes[index]) {
            self.comms[index].push(done.comm);
        }
        loop {
            let Some(step) = self.ranks[index].pop_front() else { return Op::Finish };
            let comm = |number: usize| self.comms[index][number];
            let on = match step {
                Step::Make(on, _) | Step::Call(on, _) | Step::Send(on, ..) => comm(on),
                Step::Receive(on, _) | Step::Free(on) => comm(on),
                Step::Compute(_) | Step::Abort => CommId::WORLD,
            };
            if on == CommId::NULL {
                continue;
            }
            self.makes[index] = matches!(step, Step::Make(..));
            return operation(step, on);
        }
    }
}

fn operation(step: Step, comm: CommId) -> Op {
    match step {
        Step::Make(_, new) => Op::NewComm(comm, new),
        Step::Call(_, kind) => Op::Collective(
            Arc::new(Collective {
                kind,
                comm,
                root: 0,
                sizes: Sizes::Equal(Bytes(if kind == Kind::Barrier { 0 } else { 3_000 })),
                element: 4,
                commutative: true,
                algorithm: None,
            }),
            Start::Blocking,
        ),
        Step::Send(_, to, bytes) => {
            let (to, bytes, mode) = (Peer::Rank(to), Bytes(bytes), SendMode::Standard);
            Op::Send(Send { to, tag: 0, comm, bytes, mode, via: Via::PLATFORM, data: 0 }, Start::Blocking)
        }
        Step::Receive(_, capacity) => Op::Receive(
            Receive { from: Peer::Any, tag: TagMatch::Any, comm, capacity: Bytes(capacity) },
            Start::Blocking,
        ),
        Step::Compute(ns) => Op::Compute(Work::Time(Duration::from_ns(ns))),
        Step::Free(_) => Op::FreeComm(comm),
        Step::Abort => Op::Abort(3),
    }
}

/// Step of a rank.
type Steps = fn(u32) -> Vec<Step>;

fn program(name: &str, ranks: u32, steps: Steps) -> Workload {
    let source = move || {
        Box::new(Program {
            ranks: (0..ranks).map(|rank| steps(rank).into()).collect(),
            comms: vec![vec![CommId::WORLD]; ranks as usize],
            makes: vec![false; ranks as usize],
        }) as Box<dyn Source + std::marker::Send>
    };
    Workload::Sources { name: name.to_string(), make: Sources(Arc::new(source)) }
}

/// Twelve ranks that make communicators of every kind, of each other's, some without them, and use them.
fn makes_communicators(rank: u32) -> Vec<Step> {
    let grid = Arc::new(CartGrid { sizes: vec![3, 3], periodic: vec![true, false] });
    let list: Arc<[u32]> = [11, 2, 5, 8].into();
    let around = Neighbours {
        sources: vec![(rank + 11) % 12, (rank + 5) % 12],
        destinations: vec![(rank + 1) % 12, (rank + 7) % 12],
    };
    let colour = (rank != 4).then_some(i64::from(rank % 3));
    let mut steps = vec![
        Step::Compute(u64::from(rank) * 700),
        Step::Make(0, NewComm::Split { colour, key: -i64::from(rank) }),
        Step::Call(1, Kind::Allreduce),
        Step::Make(1, NewComm::Dup),
    ];
    if rank == 4 {
        // The rank is in no group, and has nothing to copy.
        steps.truncate(2);
    } else {
        steps.extend([Step::Call(2, Kind::Alltoall), Step::Free(1)]);
    }
    let later = if rank == 4 { 2 } else { 3 };
    steps.extend([
        Step::Make(0, NewComm::Cart(grid)),
        Step::Call(later, Kind::NeighborAlltoall),
        Step::Make(later, NewComm::CartSub([true, false].into())),
        Step::Make(0, NewComm::Create(list.clone())),
    ]);
    let beyond_grid = rank >= 9;
    let created = later + if beyond_grid { 1 } else { 2 };
    steps.push(Step::Call(created, Kind::Bcast));
    if list.contains(&rank) {
        let group = || Step::Make(0, NewComm::CreateGroup(list.clone(), 9));
        steps.extend([group(), group(), Step::Call(created + 2, Kind::Barrier)]);
    }
    let graph = created + 1 + if list.contains(&rank) { 2 } else { 0 };
    steps.extend([
        Step::Make(0, NewComm::Graph(Arc::new(around))),
        Step::Call(graph, Kind::NeighborAllgather),
        Step::Make(0, NewComm::SplitHost { key: 0 }),
        Step::Call(graph + 1, Kind::Allgather),
        Step::Call(0, Kind::Barrier),
    ]);
    steps
}

#[test]
fn communicators_are_the_same_for_every_cut() {
    for model in MODELS {
        let workload = program("communicators", 12, makes_communicators);
        let whole = same_for_every_cut(&request("dragonfly", model, Some(12), workload, 1), model);
        assert_eq!(whole.report.failure.map(|failure| failure.text), None);
        let mut others =
            whole.report.warnings.iter().filter(|text| !text.contains("no measured MPI software"));
        assert_eq!(others.next(), None);
    }
}

/// Rank 5 receives a message that is too long, while the others compute, communicate and go on.
fn truncates(rank: u32) -> Vec<Step> {
    let mut steps: Vec<Step> = (0..40).flat_map(|round| talk(rank, round)).collect();
    match rank {
        5 => steps.insert(20, Step::Receive(0, 10)),
        6 => steps.insert(20, Step::Send(0, 5, 5_000)),
        _ => {}
    }
    steps
}

fn aborts(rank: u32) -> Vec<Step> {
    let mut steps: Vec<Step> = (0..40).flat_map(|round| talk(rank, round)).collect();
    if rank == 9 {
        steps.insert(31, Step::Abort);
    }
    steps
}

fn talk(rank: u32, round: u32) -> Vec<Step> {
    let partner = rank ^ 1;
    let exchange = [Step::Send(0, partner, u64::from(rank) * 97 + 1), Step::Receive(0, u64::MAX)];
    exchange.into_iter().chain([Step::Compute(u64::from(rank * 31 + round * 17))]).collect()
}

/// One rank duplicates the world while the others split it; two call different collectives.
fn disagrees(rank: u32) -> Vec<Step> {
    let mut steps: Vec<Step> = (0..9).flat_map(|round| talk(rank, round)).collect();
    let split = NewComm::Split { colour: Some(1), key: 0 };
    steps.push(Step::Make(0, if rank == 10 { NewComm::Dup } else { split }));
    steps
}

fn calls_different_collectives(rank: u32) -> Vec<Step> {
    let mut steps: Vec<Step> = (0..rank).flat_map(|round| talk(rank, round)).collect();
    steps.truncate(6);
    steps.push(Step::Call(0, if rank == 3 { Kind::Barrier } else { Kind::Allreduce }));
    steps
}

fn waits_in_vain(rank: u32) -> Vec<Step> {
    let mut steps: Vec<Step> = (0..9).flat_map(|round| talk(rank, round)).collect();
    if rank % 5 == 0 {
        steps.push(Step::Receive(0, 1));
    }
    steps
}

/// A program that fails stands as it does when one domain runs it.
#[test]
fn failures_are_the_same_for_every_cut() {
    let programs: [(&str, Steps); 5] = [
        ("truncation", truncates),
        ("abort", aborts),
        ("mismatch", disagrees),
        ("mismatch", calls_different_collectives),
        ("deadlock", waits_in_vain),
    ];
    for (kind, steps) in programs {
        for model in MODELS {
            let workload = program(kind, 12, steps);
            let what = format!("{kind} under {model}");
            let whole = same_for_every_cut(&request("dragonfly", model, Some(12), workload, 1), &what);
            assert_eq!(whole.report.failure.map(|failure| failure.kind), Some(kind), "{what}");
        }
    }
}

/// A recorded run gives the same outcome for every cut.
#[test]
#[cfg_attr(not(recorded_data), ignore = "needs recordings of real machines: set HOPCAST_DATA")]
fn a_recording_is_the_same_for_every_cut() {
    let Some(data) = option_env!("RECORDED_DATA") else { panic!("this test is ignored without recordings") };
    let trace = Path::new(data).join("otf2/tracer/traces-32/traces.otf2");
    for model in ["max-rate", "loggp"] {
        let workload = Workload::Trace { path: trace.to_string_lossy().into_owned() };
        same_for_every_cut(&request("hopper", model, None, workload, 1), model);
    }
}

/// Stops a run when it is a tenth done.
struct Impatient(Vec<Progress>);

impl Monitor for Impatient {
    fn poll(&mut self, progress: Progress) -> Control {
        self.0.push(progress);
        if progress.share_done >= Some(0.1) { Control::Stop } else { Control::Continue }
    }
}

/// A monitor sees all domains, and stops all of them.
#[test]
fn a_stopped_run_leaves_a_partial_report() {
    let arguments = vec![("iterations".to_string(), "10000".to_string())];
    let workload = Workload::pattern("halo2d".to_string(), arguments);
    let mut monitor = Impatient(Vec::new());
    let prepared = prepare(&request("hopper", "loggp", Some(64), workload, 3)).unwrap();
    let outcome = prepared.run(None, &mut monitor).unwrap();
    assert!(outcome.report.partial && outcome.report.makespan_s > 0.0 && outcome.report.threads == 3);
    let last = monitor.0.last().unwrap();
    assert!(monitor.0.len() > 1 && monitor.0.is_sorted_by_key(|progress| progress.events));
    assert!((0.1..0.2).contains(&last.share_done.unwrap()), "{last:?}");
    assert!(outcome.report.events >= last.events && outcome.report.events < 2 * last.events);
}

/// A run that cannot be cut runs on one thread, and warns with the reason.
#[test]
fn what_cannot_be_cut_says_why() {
    let ring = || Workload::pattern("ring", Vec::new());
    let flow = run(&request("hopper", "flow", Some(8), ring(), 4));
    assert_eq!(flow.report.threads, 1);
    assert!(flow.report.warnings[0].contains("--threads 4: one thread is used: in the flow model"));
    let together = run(&request("hopper", "loggp", Some(2), ring(), 4));
    assert!(together.report.warnings[0].contains("all ranks are on one host"));
    let global = vec![("routing.kind".to_string(), "ugal-g".to_string())];
    let global =
        run(&RunRequest { set: Some(Overrides(global)), ..request("tofu", "packet", Some(8), ring(), 4) });
    let why = "its routing reads the queues of all routers at once";
    assert!(global.report.warnings.iter().any(|text| text.contains(why)), "{:?}", global.report.warnings);
}
