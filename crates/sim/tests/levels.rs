//! Levels inside hosts: the same results and traffic wherever a run is cut.

use crate::cuts;

use cuts::{CUTS, assert_same, is_cut};
use sim::report::Outcome;
use sim::request::Overrides;
use sim::run::Unwatched;
use sim::{RunRequest, Workload, prepare};

fn request(model: &str, workload: Workload) -> RunRequest {
    RunRequest {
        ranks: Some(32),
        model: Some(model.to_string()),
        seed: Some(7),
        placement: Some("random".into()),
        ppn: Some(8),
        records: Some(300),
        ..RunRequest::new("hopper", workload)
    }
}

/// Runs it whole and cut, compares the outcomes, and returns the whole.
fn same_for_every_cut(request: &RunRequest, what: &str) -> Outcome {
    let run = |threads| {
        let prepared = prepare(&RunRequest { threads: Some(threads), ..request.clone() });
        prepared
            .and_then(|prepared| prepared.run(None, &mut Unwatched))
            .unwrap_or_else(|error| panic!("{error}"))
    };
    let whole = run(1);
    for threads in CUTS {
        let parts = run(threads);
        assert!(is_cut(&parts), "{what}: {:?}", parts.report.warnings);
        assert_same(&parts, &whole, &format!("{what} on {threads} threads"));
    }
    let parts = cuts::run_in_processes(&RunRequest { threads: Some(2), ..request.clone() }, 2);
    let parts = parts.unwrap_or_else(|error| panic!("{what}: {error}"));
    cuts::assert_same_in_processes(&parts, &whole, &format!("{what} in 2 processes"));
    whole
}

/// Messages within hosts go by levels, whose groups have a memory each: their traffic is the same wherever the run is cut,
/// and so is that of hosts without levels. Their latencies are longer than what the network takes, so that ends show them.
#[test]
fn levels_inside_hosts_are_the_same_for_every_cut() {
    let levels = r#"[
        { name = "cache", processes = 2, latency = "100 ms", bandwidth = "20 GB/s", total_bandwidth = "30 GB/s" },
        { name = "socket", processes = 4, latency = "200 ms", bandwidth = "10 GB/s", regimes = [
            { up_to = "8 kB", bandwidth = "15 GB/s", latency = "150 ms" },
        ] },
    ]"#;
    let set = |levels: Option<&str>| {
        let sizes = [("host.processes", "8"), ("host.sockets", "2")];
        let all = sizes.into_iter().chain(levels.map(|levels| ("host.levels", levels)));
        Some(Overrides(all.map(|(key, value)| (key.to_string(), value.to_string())).collect()))
    };
    for (model, bytes) in [("postal", "1 KB"), ("max-rate", "100 KB"), ("loggp", "8 KB")] {
        let arguments = vec![("bytes".to_string(), bytes.to_string())];
        let workload = || Workload::pattern("alltoall".to_string(), arguments.clone());
        let with = |levels| RunRequest { set: set(levels), ..request(model, workload()) };
        let plain = same_for_every_cut(&with(None), &format!("hosts without levels under {model}"));
        let whole = same_for_every_cut(&with(Some(levels)), &format!("hosts with levels under {model}"));
        assert_ne!(whole.report.outcome_hash, plain.report.outcome_hash, "levels change nothing");
        // Of 7 partners on the host one has the cache, two more the socket, and four the other socket.
        let memory = &whole.report.node_memory;
        let messages = |level: &str| memory.levels.iter().find(|one| one.level == level).unwrap().messages;
        assert_eq!(["cache", "socket", "host"].map(messages), [32, 64, 128]);
        assert_eq!(memory.messages, 224);
        assert!(plain.report.node_memory.levels.is_empty());
        let table =
            whole.tables.iter().find(|table| table.name == "memory_levels").expect("levels have a table");
        // On each of four hosts: the host, four caches and two sockets.
        assert_eq!(table.columns[0].1.len(), 4 * 7);
    }
}
