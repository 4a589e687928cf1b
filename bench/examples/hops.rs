//! Packet-hops per second of CPU time, which a busy machine disturbs less than the criterion benches:
//! `cargo run --release -p benches --example hops [2048|65536|lanes|dragonfly] [classes|links]`, with
//! statistics over time in that detail; `lanes` and `dragonfly` compare routings.

use std::sync::Arc;

use benches::fabrics::{double_torus, dragonfly, nsim_hosts, nsim_packets, nsim_torus};
use benches::traffic::Traffic;
use engine::Duration;
use network::model::Packet;
use network::statistics::{Detail, Options, StatisticsObserver};
use network::{Fabric, PacketEvents, Part};

/// User time of this process so far \[s\]; Linux alone tells.
fn cpu_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("/proc/self/stat");
    let fields = stat.rsplit(')').next().expect("a name in brackets").split_whitespace();
    fields.skip(11).map(|ticks| ticks.parse::<f64>().expect("ticks")).next().expect("utime") / 100.0
}

/// Options of `[statistics]` by default.
fn statistics(detail: Detail) -> Options {
    Options {
        detail,
        period: Duration(1_000_000),
        periods: 512,
        rows: 500_000,
        residence: Duration(u64::MAX),
        slow_packets: 1000,
    }
}

fn measure(name: &str, fabric: &Arc<Fabric>, rounds: u32) {
    let traffic = Traffic::shifts(fabric.topology.hosts(), rounds, 32 << 10);
    let detail = match std::env::args().nth(2).as_deref() {
        Some("classes") => Some(Detail::Classes),
        Some("links") => Some(Detail::Links),
        _ => None,
    };
    for _ in 0..3 {
        let mut network = Packet::new(fabric.clone(), nsim_hosts(), nsim_packets());
        if let Some(detail) = detail {
            let observer = StatisticsObserver::new(&statistics(detail), fabric, &Part::whole());
            network.observe(Box::new(observer));
        }
        let before = cpu_s();
        let outcome = traffic.run(&mut network);
        let (spent, hops) = (cpu_s() - before, network.totals().packet_hops as f64);
        println!(
            "{name}: {:.2} million packet-hops/s, {:.2} events for each, {} simulated",
            hops / spent / 1e6,
            outcome.events as f64 / hops,
            outcome.end,
        );
    }
}

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("65536") => measure("65,536 hosts", &nsim_torus(&[64, 32, 32]), 4),
        Some("lanes") => {
            for lanes in ["first", "hashed", "least-loaded"] {
                measure(lanes, &double_torus(lanes), 48);
            }
        }
        Some("dragonfly") => {
            for routing in ["minimal", "valiant", "ugal-l", "ugal-g", "progressive-adaptive"] {
                measure(routing, &dragonfly(routing), 96);
            }
        }
        _ => measure("2,048 hosts", &nsim_torus(&[16, 16, 8]), 48),
    }
}
