//! Transactions and lost packets in whole runs: rendezvous that wait for responses, counts in the report, and equal
//! outcomes for every cut.

use crate::cuts;

use cuts::{CUTS, is_cut};
use sim::report::Outcome;
use sim::request::Overrides;
use sim::run::Unwatched;
use sim::{RunRequest, Workload, prepare};

fn request(platform: &str, pattern: &str, bytes: &str, overrides: &[(&str, &str)]) -> RunRequest {
    let arguments = vec![("bytes".to_string(), bytes.to_string())];
    let text = |(key, value): &(&str, &str)| (key.to_string(), value.to_string());
    RunRequest {
        set: Some(Overrides(overrides.iter().map(text).collect())),
        ranks: Some(if pattern == "pingpong" { 2 } else { 12 }),
        model: Some("packet".to_string()),
        seed: Some(7),
        placement: Some("random".into()),
        ppn: Some(1),
        threads: Some(1),
        ..RunRequest::new(platform, Workload::pattern(pattern.to_string(), arguments))
    }
}

fn run(request: &RunRequest) -> Outcome {
    let prepared = prepare(request).unwrap_or_else(|error| panic!("{error}"));
    let outcome = prepared.run(None, &mut Unwatched).unwrap_or_else(|error| panic!("{error}"));
    assert!(outcome.report.failure.is_none(), "{:?}", outcome.report.failure);
    outcome
}

/// Outcome of the ranks, finish of the last one, and counts of packets.
fn facts(outcome: &Outcome) -> (String, String, [u64; 6]) {
    let report = &outcome.report;
    let (lost, resent) = (report.packets_lost, report.packets_resent);
    let counts = [report.messages, report.bytes, report.packet_hops, lost, resent, report.packets_duplicate];
    (report.outcome_hash.clone(), format!("{:e} s", report.makespan_s), counts)
}

/// Eager and rendezvous messages, with and without loss.
#[test]
fn every_transport_is_the_same_for_every_cut() {
    for protocol in ["packets", "fma-put", "fma-get", "fma"] {
        for loss in ["0", "0.02"] {
            for bytes in ["8 B", "3 KB"] {
                let overrides = [
                    ("transport.protocol", protocol),
                    ("transport.loss", loss),
                    ("mpi.eager_limit", "1 KiB"),
                ];
                let request = request("nsim-torus", "alltoall", bytes, &overrides);
                let what = format!("{protocol}, {loss} lost, {bytes}");
                let whole = run(&request);
                let losses = whole.report.packets_lost + whole.report.packets_resent;
                assert_eq!(losses > 0, loss != "0", "{what}");
                for threads in CUTS {
                    let parts = run(&RunRequest { threads: Some(threads), ..request.clone() });
                    assert!(is_cut(&parts), "{what}: {:?}", parts.report.warnings);
                    assert_eq!(facts(&parts), facts(&whole), "{what} on {threads} threads");
                }
            }
        }
    }
}

/// A small message between the two nodes of a Gemini takes 2 x 635 ns and its 40 bytes at the narrower of NIC
/// and PUT, between nodes n routers apart n x 108.75 ns more (section 6 of the paper: 1.27 us to 3.88 us).
#[test]
fn hopper_has_the_latencies_of_its_paper() {
    let half_round_trip = |hosts: &str| {
        let folder = std::env::temp_dir().join(format!("hopcast-gemini-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("place.txt");
        std::fs::write(&file, hosts).unwrap();
        // The paper has no costs of MPI's software, which the preset has.
        let platform = concat!(env!("CARGO_MANIFEST_DIR"), "/../../validation/platforms/hopper-2016.toml");
        let mut request = request(platform, "pingpong", "8 B", &[]);
        request.placement = Some(file.to_str().unwrap().into());
        request.ppn = None;
        request.workload = Workload::pattern(
            "pingpong".to_string(),
            vec![("bytes".into(), "8 B".into()), ("iterations".into(), "1".into())],
        );
        let seconds = run(&request).report.makespan_s / 2.0;
        std::fs::remove_dir_all(&folder).unwrap();
        (seconds * 1e12).round() as u64
    };
    // 40 B over the last link of 10.105 GB/s: 3.959 ns. Over the torus at 4.6875 GB/s they take 8.533 ns.
    assert_eq!(half_round_trip("0\n1\n"), 1_270_000 + 3_959);
    assert_eq!(half_round_trip("0\n2\n"), 1_270_000 + 108_750 + 8_534);
}
