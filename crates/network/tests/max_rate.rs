//! The max-rate model against its formula, with the published parameters of the Cray XE6.

use crate::common;

use std::collections::BTreeMap;

use common::graph::Graph;
use engine::{Bandwidth, Bytes, Duration, Time};
use network::{HostParameters, Regime};

/// `(up to, s, R_Cb, R_Ci, R_N)` in bytes, seconds and bytes per second: Gropp, Olson, Samfass, "New
/// model" (full ping-pong time, four parameters). The sizes are those of the XE6's MPI.
const CRAY_XE6: [(u64, f64, f64, f64, f64); 3] = [
    (512, 4e-6, 0.63e9, -0.18e9, f64::INFINITY),
    (8192, 11e-6, 1.7e9, 0.062e9, f64::INFINITY),
    (u64::MAX, 20e-6, 3.6e9, 0.61e9, 5.5e9),
];

fn cray_xe6(three_parameters: bool) -> HostParameters {
    let regimes = CRAY_XE6.map(|(up_to, s, base, further, nic)| Regime {
        up_to: Bytes(up_to),
        latency: Duration::from_seconds(s),
        process_rate: Bandwidth(base as u64),
        process_rate_change: if three_parameters { 0.0 } else { further - base },
        nic_rate: if nic.is_finite() { Bandwidth(nic as u64) } else { Bandwidth::INFINITE },
        ..Regime::FREE
    });
    HostParameters { regimes: regimes.to_vec(), ..common::transparent(16) }
}

/// Two hosts side by side, with links that are no limit.
fn two_hosts() -> Graph {
    Graph {
        routers: 2,
        hosts_per_router: 1,
        host_link: (Bandwidth::INFINITE, Duration(0)),
        edges: vec![(0, 1, Bandwidth::INFINITE, Duration(0))],
        routes: BTreeMap::new(),
    }
}

/// k processes of one host send n bytes each to their counterparts on another, all at once, under `model`.
fn simulate(model: &str, hosts: &HostParameters, regime: u8, k: u16, n: u64) -> Vec<Duration> {
    let graph = two_hosts();
    let messages: Vec<_> = (0..k)
        .map(|process| {
            let mut message = common::message((0, process), (1, process), n, process.into());
            message.regime = regime;
            (Time::ZERO, message)
        })
        .collect();
    let mut model = common::model(model, &graph.fabric(), &hosts.clone().into());
    common::run(&mut *model, &messages).iter().map(|times| times.delivered.since(Time::ZERO)).collect()
}

/// Relative to the formula, or 2 ps for shares that round down.
fn assert_formula(found: &[Duration], seconds: f64, what: &str) {
    for time in found {
        let error = (time.0 as f64 - seconds * 1e12).abs();
        assert!(
            error <= 2.0 + seconds * 1e12 * 1e-12,
            "{what}: {} ps, formula {} ps",
            time.0,
            seconds * 1e12
        );
    }
}

#[test]
fn k_senders_take_what_the_four_parameter_formula_says() {
    let hosts = cray_xe6(false);
    for (regime, (_, s, base, further, nic)) in CRAY_XE6.into_iter().enumerate() {
        for k in 1..=16u16 {
            let aggregate = nic.min(base + f64::from(k - 1) * further);
            if aggregate <= 0.0 {
                assert!(regime == 0 && k >= 5, "the published fit is negative here");
                continue;
            }
            for n in [8, 512, 4096, 65_536, 10_000_000] {
                let found = simulate("max-rate", &hosts, regime as u8, k, n);
                let formula = s + f64::from(k) * n as f64 / aggregate;
                assert_formula(&found, formula, &format!("regime {regime}, k {k}, n {n}"));
            }
        }
    }
}

#[test]
fn k_senders_take_what_the_three_parameter_formula_says() {
    let hosts = cray_xe6(true);
    for (regime, (_, s, rate, _, nic)) in CRAY_XE6.into_iter().enumerate() {
        for k in 1..=16u16 {
            let n = 1_000_000;
            let found = simulate("max-rate", &hosts, regime as u8, k, n);
            let formula = s + f64::from(k) * n as f64 / nic.min(f64::from(k) * rate);
            assert_formula(&found, formula, &format!("regime {regime}, k {k}"));
        }
    }
}

/// From k = 5 the published short regime has a negative rate; the model stays at that of k = 4.
#[test]
fn a_negative_fit_stays_at_its_last_positive_rate() {
    let (_, s, base, further, _) = CRAY_XE6[0];
    let (k, n) = (9, 512);
    let aggregate = base + 3.0 * further;
    let found = simulate("max-rate", &cray_xe6(false), 0, k, n);
    assert_formula(&found, s + f64::from(k) * n as f64 / aggregate, "k 9");
}

/// Under `flow`, short messages go in packets, which keep the rate that they begin with. All begin at once, and no NIC is a limit.
#[test]
fn packets_that_begin_at_once_have_the_rate_of_all_that_do() {
    let hosts = cray_xe6(false);
    for (regime, (_, s, base, further, _)) in CRAY_XE6.into_iter().enumerate().take(2) {
        for (k, n) in [(1, 512), (2, 512), (3, 100), (4, 512), (4, 1000)] {
            let found = simulate("flow", &hosts, regime as u8, k, n);
            let aggregate = base + f64::from(k - 1) * further;
            let formula = s + f64::from(k) * n as f64 / aggregate;
            assert_formula(&found, formula, &format!("regime {regime}, k {k}, n {n}"));
        }
    }
}

/// A process that goes on in an instant counts as one that begins in it: the numbers of messages change the order at the NIC, and no rate.
#[test]
fn who_goes_on_has_the_rate_of_those_that_do() {
    let (n, s) = (512, CRAY_XE6[0].1);
    let rate = |active: f64| (0.63e9 - 0.18e9 * (active - 1.0)) / active;
    // Process 0 sends twice as much as process 1, in messages of one packet.
    let sent = |processes: [u16; 3]| {
        let all = processes.into_iter().zip(0..);
        let all =
            all.map(|(process, number)| (Time(1), common::message((0, process), (1, process), n, number)));
        let mut model = common::model("flow", &two_hosts().fabric(), &cray_xe6(false).into());
        let times = common::run(&mut *model, &all.collect::<Vec<_>>());
        times.iter().map(|times| times.delivered.0 as f64 * 1e-12 - s).fold(0.0, f64::max)
    };
    let expected = n as f64 / rate(2.0) + n as f64 / rate(1.0);
    for processes in [[0, 0, 1], [1, 0, 0], [0, 1, 0]] {
        assert!((sent(processes) / expected - 1.0).abs() < 1e-4, "{} s, not {expected} s", sent(processes));
    }
}

/// A process that begins with two messages at once lets a flow of another pass before the first of each round, at time zero, too.
#[test]
fn rounds_at_time_zero_are_as_any() {
    let slow = Regime { process_rate: Bandwidth(800_000_000), process_rate_change: -0.1e9, ..Regime::FREE };
    let hosts = HostParameters {
        regimes: vec![Regime::FREE, slow],
        packet_payload: Bytes(512),
        packet_wire: Bytes(512),
        ..common::transparent(2)
    };
    let host_link = (Bandwidth(1_000_000_000), Duration(0));
    let star =
        Graph { routers: 1, hosts_per_router: 4, host_link, edges: vec![], routes: BTreeMap::new() }.fabric();
    let times = |start: u64| -> Vec<u64> {
        let mut messages = vec![(Time(start), common::message((0, 1), (1, 0), 100 * 512, 0))];
        messages
            .extend((2..4).map(|to| (Time(start), common::message((0, 0), (to, 0), 512, u64::from(to) - 1))));
        messages[1..].iter_mut().for_each(|(_, message)| message.regime = 1);
        let mut model = common::model("flow", &star, &hosts.clone().into());
        common::run(&mut *model, &messages).iter().map(|times| times.delivered.0 - start).collect()
    };
    assert_eq!(times(0), times(1));
}
