//! Runs in which links and routers fail: the same for every cut, under every routing, with the failures and their
//! cost in the report.

use crate::cuts;

use cuts::{CUTS, assert_same, assert_same_in_processes, is_cut, run_in_processes};
use sim::report::Outcome;
use sim::request::Overrides;
use sim::run::Unwatched;
use sim::table::Column;
use sim::{InputError, RunRequest, Workload, prepare};

/// Cables and routers that fail often.
const OFTEN: &[(&str, &str)] = &[
    ("faults.link_time_to_failure", "100 us"),
    ("faults.link_time_to_repair", "20 us"),
    ("faults.router_time_to_failure", "700 us"),
    ("faults.router_time_to_repair", "15 us"),
    ("faults.detection", "500 ns"),
    ("transport.timeout", "20 us"),
];

fn request(platform: &str, overrides: &[(&str, &str)]) -> RunRequest {
    let text = |(key, value): &(&str, &str)| (key.to_string(), value.to_string());
    RunRequest {
        set: Some(Overrides(overrides.iter().map(text).collect())),
        ranks: Some(12),
        model: Some("packet".to_string()),
        seed: Some(7),
        placement: Some("random".into()),
        ppn: Some(1),
        threads: Some(1),
        ..RunRequest::new(
            platform,
            Workload::pattern("alltoall".to_string(), vec![("bytes".to_string(), "16 KiB".to_string())]),
        )
    }
}

fn try_run(request: &RunRequest) -> Result<Outcome, InputError> {
    prepare(request)?.run(None, &mut Unwatched)
}

fn run(request: &RunRequest) -> Outcome {
    let outcome = try_run(request).unwrap_or_else(|error| panic!("{error}"));
    assert!(outcome.report.failure.is_none(), "{:?}", outcome.report.failure);
    outcome
}

/// Random, adaptive and deterministic choices of routings are the same for every cut.
#[test]
fn faults_are_the_same_for_every_cut() {
    for (platform, kind, protocol) in [
        ("nsim-torus", "topology.sizes=[4, 3, 2] dimension-order", "packets"),
        ("nsim-torus", "topology.sizes=[4, 3, 2] valiant", "fma"),
        ("nsim-torus", "topology.sizes=[4, 3, 2] ugal-l", "fma-get"),
    ] {
        let (topology, routing) = kind.rsplit_once(' ').unwrap();
        let (key, sizes) = topology.split_once('=').unwrap();
        let chosen = [(key, sizes), ("routing.kind", routing), ("transport.protocol", protocol)];
        let overrides: Vec<_> = chosen.iter().chain(OFTEN).copied().collect();
        let request = request(platform, &overrides);
        let whole = run(&request);
        let faults = whole.report.faults.as_ref().expect("something can fail");
        assert!(faults.links_failed > 0 && faults.packets_rerouted > 0, "{kind}: {faults:?}");
        assert_same(&run(&request), &whole, "a repeat");
        for threads in CUTS {
            let parts = run(&RunRequest { threads: Some(threads), ..request.clone() });
            assert!(is_cut(&parts), "{kind}: {:?}", parts.report.warnings);
            assert_same(&parts, &whole, &format!("{kind} on {threads} threads"));
        }
        let parts = run_in_processes(&request, 2).unwrap_or_else(|error| panic!("{error}"));
        assert_same_in_processes(&parts, &whole, &format!("{kind} in 2 processes"));
        let other = run(&RunRequest { seed: Some(8), ..request });
        assert_ne!(other.report.outcome_hash, whole.report.outcome_hash, "other faults with another seed");
    }
}

/// Planned failures are in the report and its table, with their repairs.
#[test]
fn what_failed_is_reported() {
    let planned = "[{link = \"(0,0,0) <-> (1,0,0)\", fails_at = \"1 us\", returns_at = \"3 us\"}, \
                   {router = \"(1,1,0)\", fails_at = \"2 us\", returns_at = \"50 us\"}, \
                   {link = \"(0,0,0) -> (0,1,0)\", fails_at = \"4 us\"}, \
                   {router = \"(0,0,1)\", fails_at = \"1 h\"}]";
    let overrides = [("topology.sizes", "[3, 3, 2]"), ("faults.planned", planned)];
    let outcome = run(&request("nsim-torus", &overrides));
    let faults = outcome.report.faults.expect("something can fail");
    assert_eq!((faults.links_failed, faults.routers_failed), (2, 1));
    let told: Vec<_> = faults.outages.iter().map(|one| (one.kind, &*one.name, one.returned_s)).collect();
    let expected = [
        ("link", "(0,0,0) <-> (1,0,0)", Some(3e-6)),
        ("router", "(1,1,0)", Some(50e-6)),
        ("link", "(0,0,0) -> (0,1,0)", None),
    ];
    assert_eq!(told, expected);
    let table = outcome.tables.iter().find(|table| table.name == "faults").expect("a table of faults");
    let column = |name| &table.columns.iter().find(|(column, _)| *column == name).unwrap().1;
    assert_eq!(column("returned"), &Column::U32(vec![1, 1, 0]));
    let makespan = outcome.report.makespan_s;
    assert_eq!(column("until_s"), &Column::F64(vec![3e-6, 50e-6, makespan]));
    assert!(run(&request("nsim-torus", &[])).report.faults.is_none(), "nothing can fail");
}

/// The error names unreachable hosts, with the ranks that wait.
#[test]
fn who_cannot_be_reached_is_reported() {
    let planned = "[{router = \"(1,1,0)\", fails_at = \"0 s\"}]";
    let overrides = [("topology.sizes", "[3, 3, 2]"), ("faults.planned", planned)];
    let request = RunRequest { ranks: Some(18), placement: None, ..request("nsim-torus", &overrides) };
    let outcome = try_run(&request).unwrap_or_else(|error| panic!("{error}"));
    let failure = outcome.report.failure.expect("nobody reaches host 4");
    assert_eq!(failure.kind, "unreachable");
    assert!(failure.text.contains("cannot reach host 4 "), "{}", failure.text);
    assert!(failure.ranks.iter().any(|rank| rank.rank == 4), "{:?}", failure.ranks);
}
