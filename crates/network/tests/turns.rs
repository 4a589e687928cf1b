//! Turns of short messages under `flow`: closed forms, and `packet` beside it.

use crate::common;

use std::sync::Arc;

use common::graph::Graph;
use engine::{Bandwidth, Bytes, Duration, Time};
use network::{Fabric, HostParameters};

/// Bytes of a packet, and the time [ps] that it takes on each link: 1 GB/s.
const PACKET: u64 = 2048;
const TIME: u64 = 2_048_000;

/// One router with its hosts.
fn star(hosts: u32) -> Arc<Fabric> {
    let host_link = (Bandwidth(1_000_000_000), Duration(500));
    Graph { routers: 1, hosts_per_router: hosts, host_link, edges: vec![], routes: Default::default() }
        .fabric()
}

fn hosts() -> HostParameters {
    HostParameters { packet_payload: Bytes(PACKET), packet_wire: Bytes(PACKET), ..common::transparent(1) }
}

/// Times of delivery of messages of `size` from host 0 to each of so many others, all handed over at once.
fn delivered(model: &str, count: u32, size: u64) -> Vec<u64> {
    let messages: Vec<_> =
        (1..=count).map(|to| (Time::ZERO, common::message((0, 0), (to, 0), size, u64::from(to)))).collect();
    let mut model = common::model(model, &star(count + 1), &hosts().into());
    common::run(&mut *model, &messages).iter().map(|times| times.delivered.0).collect()
}

fn mean(times: &[u64]) -> f64 {
    times.iter().map(|time| *time as f64).sum::<f64>() / times.len() as f64
}

#[test]
fn messages_of_a_packet_leave_four_at_a_time() {
    for (size, time) in [(PACKET, TIME), (PACKET / 4, TIME / 4)] {
        let found = delivered("flow", 32, size);
        let expected: Vec<u64> = (0..32).map(|number| (number / 4 + 1) * 4 * time + 1000).collect();
        assert_eq!(found, expected, "messages of {size} B");
    }
}

#[test]
fn those_of_four_packets_take_two_turns() {
    let found = delivered("flow", 12, 4 * PACKET);
    // The first four begin while nobody waits: 16 packets. Four halves, four halves, and the other halves.
    let ends = [16, 40, 48];
    let expected: Vec<u64> = (0..12).map(|number| ends[number / 4] * TIME + 1000).collect();
    assert_eq!(found, expected);
}

#[test]
fn the_mean_latency_of_a_crowd_is_that_of_packets() {
    for (packets, most_off) in [(1, 0.06), (2, 0.03), (3, 0.11), (4, 0.14)] {
        let (flow, packet) =
            (delivered("flow", 64, packets * PACKET), delivered("packet", 64, packets * PACKET));
        let (flow, packet) = (mean(&flow), mean(&packet));
        let off = (flow / packet - 1.0).abs();
        assert!(off < most_off, "{packets} packets: {flow} beside {packet} ps");
        let fluid = (packets * 64 * TIME) as f64;
        assert!((fluid / packet - 1.0).abs() > off, "{packets} packets: as fluids they are no further off");
    }
}

#[test]
fn long_messages_share() {
    let found = delivered("flow", 8, 5 * PACKET);
    assert_eq!(found, [40 * TIME + 1000; 8]);
}

#[test]
fn messages_of_a_connection_keep_their_order_and_their_bytes() {
    let sizes = [3 * PACKET, 10, 9 * PACKET, 4 * PACKET, 1];
    let mut messages = Vec::new();
    for (round, size) in sizes.into_iter().enumerate() {
        for to in 1..=8u32 {
            let number = (round * 8) as u64 + u64::from(to);
            messages.push((Time::ZERO, common::message((0, 0), (to, 0), size, number)));
        }
    }
    let mut model = common::model("flow", &star(9), &hosts().into());
    let found = common::run(&mut *model, &messages);
    let all = sizes.iter().sum::<u64>() * 8 * 1000;
    let last = found.iter().map(|times| times.delivered.0).max().unwrap();
    // The NIC is never idle; rates round down.
    assert!(last.abs_diff(all + 1000) < 1000, "{last} beside {all}");
    for to in 0..8 {
        let times: Vec<_> = (0..sizes.len()).map(|round| found[round * 8 + to].delivered).collect();
        assert!(times.is_sorted(), "to host {}: {times:?}", to + 1);
    }
}
