//! Short messages that are held up elsewhere than at their NIC, under `flow`: others wait no longer than the NIC needs.

use crate::common;

use std::sync::Arc;

use common::graph::Graph;
use engine::{Bandwidth, Bytes, Duration, Time};
use network::{Fabric, HostParameters};

use crate::turns::{PACKET, TIME, hosts, star};

/// Time, sending host, receiving host, bytes.
type Sent = (u64, u32, u32, u64);

/// Times of delivery, in packet times.
fn delivered(model: &str, fabric: &Arc<Fabric>, hosts: HostParameters, sent: &[Sent]) -> Vec<u64> {
    let message = |(number, (at, from, to, size)): (u64, &Sent)| {
        (Time(*at), common::message((*from, 0), (*to, 0), *size, number))
    };
    let messages: Vec<_> = (0u64..).zip(sent).map(message).collect();
    let mut model = common::model(model, fabric, &hosts.into());
    common::run(&mut *model, &messages).iter().map(|times| times.delivered.0 / TIME).collect()
}

/// Long messages from 200 hosts to each of hosts 1 to 4, and behind them a short one from host 0.
fn crowd(at: u64) -> Vec<Sent> {
    let long = (0..200u32).flat_map(|from| (1..=4).map(move |to| (0, 50 + from, to, 1000 * PACKET)));
    long.chain((1..=4).map(|to| (at, 0, to, PACKET))).collect()
}

/// Host 0 at a router with links of 1 GB/s to others, each with one host, all of whose NICs are faster.
fn spokes(count: u32, nic: Bandwidth) -> Arc<Fabric> {
    let edges = (1..=count).map(|to| (0, to, Bandwidth(1_000_000_000), Duration(0))).collect();
    let host_link = (nic, Duration(500));
    Graph { routers: count + 1, hosts_per_router: 1, host_link, edges, routes: Default::default() }.fabric()
}

#[test]
fn a_short_message_behind_a_long_one_gets_its_turn() {
    let mut sent = crowd(0);
    sent.extend([(0, 0, 5, 5 * PACKET), (0, 0, 5, PACKET)]);
    let found = delivered("flow", &star(260), hosts(), &sent);
    assert!(*found.last().unwrap() <= 30, "{} packet times", found.last().unwrap());
}

#[test]
fn a_nic_is_used_that_others_have_left() {
    let mut sent = crowd(0);
    // Two long messages of host 0 share their ways in with two others each: they use two thirds of the NIC until 30.
    sent.extend((0..4).map(|number| (0, 255 + number, 5 + number / 2, 100 * PACKET)));
    sent.extend([5, 6].map(|to| (0, 0, to, 10 * PACKET)));
    sent.extend((7..10).map(|to| (0, 0, to, PACKET)));
    let found = delivered("flow", &star(260), hosts(), &sent);
    let last = &found[found.len() - 3..];
    assert!(last.iter().all(|time| *time <= 60), "{last:?}");
}

#[test]
fn slow_links_behind_it_keep_no_nic_idle() {
    let sent: Vec<_> = (1..=64).map(|to| (0, 0, to, PACKET)).collect();
    for (nic, most) in [(Bandwidth(16_000_000_000), 9), (Bandwidth::INFINITE, 2)] {
        for model in ["flow", "flow equal-share"] {
            let last = delivered(model, &spokes(64, nic), hosts(), &sent).into_iter().max().unwrap();
            assert!(last <= most, "{model}, {nic:?}: {last} packet times of a link");
        }
    }
}

#[test]
fn what_has_been_sent_keeps_no_nic_busy() {
    // 400 messages over links of a quarter of the NIC's rate. After them four that are held up, and one that is not.
    let mut sent: Vec<_> = (0..400).map(|number| (0, 0, 5 + number % 40, PACKET)).collect();
    let at = 105;
    sent.extend(crowd(at * TIME).into_iter().map(|(_, from, to, size)| match from {
        0 => (at * TIME, from, to, size),
        _ => ((at - 1) * TIME, from, to, size),
    }));
    sent.push((at * TIME, 0, 45, PACKET));
    let found = delivered("flow", &spokes(260, Bandwidth(4_000_000_000)), hosts(), &sent);
    let last = found.last().unwrap() - at;
    assert!(last <= 8, "{last} packet times");
}

#[test]
fn packets_may_be_of_any_size() {
    let size = Bytes(1 << 63);
    let hosts = HostParameters { packet_payload: size, packet_wire: size, ..common::transparent(1) };
    assert_eq!(delivered("flow", &star(2), hosts, &[(0, 0, 1, PACKET)]), [1]);
}

/// Hosts of two routers; one link, no faster than a NIC, leads from the first to the second.
fn two_routers(hosts_per_router: u32) -> Arc<Fabric> {
    let edges = vec![(0, 1, Bandwidth(1_000_000_000), Duration(500))];
    let host_link = (Bandwidth(1_000_000_000), Duration(500));
    Graph { routers: 2, hosts_per_router, host_link, edges, routes: Default::default() }.fabric()
}

#[test]
fn few_are_under_way_where_the_fabric_holds_them_up() {
    let sent: Vec<Sent> =
        (0..16u32).flat_map(|to| (0..16).map(move |from| (0, from, 16 + (from + to) % 16, PACKET))).collect();
    let mean = |model: &str| {
        let times = delivered(model, &two_routers(16), hosts(), &sent);
        assert!(times.iter().max().unwrap().abs_diff(256) <= 2, "{model}: the link is never idle");
        times.iter().sum::<u64>() as f64 / 256.0
    };
    let (flow, packet) = (mean("flow"), mean("packet"));
    // Four of each host at a time are done after 64, 128, 192, 256 packet times; as fluids, all would be after 256.
    assert_eq!(flow.round(), 160.0, "packet: {packet}");
    assert!(packet > 120.0 && packet < flow, "{packet}");
}

#[test]
fn a_link_that_others_fill_is_as_good_as_none_to_what_waits_for_slower_ones() {
    let mut sent = crowd(0);
    sent.extend([(0, 255, 5, 1000 * PACKET), (0, 256, 5, 1000 * PACKET), (0, 0, 5, PACKET)]);
    let found = delivered("flow", &star(260), hosts(), &sent);
    assert!(*found.last().unwrap() <= 8, "{} packet times", found.last().unwrap());
}
