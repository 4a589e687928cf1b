//! Short messages that are held up elsewhere than at their NIC, under `flow`: others wait no longer than the NIC needs.

use crate::common;

use std::sync::Arc;

use common::graph::Graph;
use engine::{Bandwidth, Bytes, Duration, Time};
use network::{Fabric, HostParameters};
use proptest::prelude::*;

use crate::turns::{PACKET, TIME, hosts, star};

/// Time, sending host, receiving host, bytes.
pub type Sent = (u64, u32, u32, u64);

/// Times of delivery, in packet times.
pub fn delivered(model: &str, fabric: &Arc<Fabric>, hosts: HostParameters, sent: &[Sent]) -> Vec<u64> {
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
pub fn spokes(count: u32, nic: Bandwidth) -> Arc<Fabric> {
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
fn short_messages_beside_many_long_ones_have_their_share_of_the_nic() {
    let mut sent: Vec<Sent> = (1..=64).map(|to| (0, 0, to, 1000 * PACKET)).collect();
    sent.extend((65..=128).map(|to| (0, 0, to, PACKET)));
    for (model, most) in [("packet", 128), ("flow", 200), ("flow equal-share", 200)] {
        let found = delivered(model, &star(129), hosts(), &sent);
        let last = *found[64..].iter().max().unwrap();
        assert!(last <= most, "{model}: {last} packet times");
    }
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

/// Sixteen hosts at each of two routers; the link from the first to the second has six times the rate of a NIC.
fn two_routers() -> Arc<Fabric> {
    let edges = vec![(0, 1, Bandwidth(6_000_000_000), Duration(500))];
    let host_link = (Bandwidth(1_000_000_000), Duration(500));
    Graph { routers: 2, hosts_per_router: 16, host_link, edges, routes: Default::default() }.fabric()
}

#[test]
fn few_are_under_way_where_the_fabric_holds_them_up() {
    let sent: Vec<Sent> =
        (0..16u32).flat_map(|to| (0..16).map(move |from| (0, from, 16 + (from + to) % 16, PACKET))).collect();
    let mean = |model: &str| {
        let times = delivered(model, &two_routers(), hosts(), &sent);
        let (last, least) = (*times.iter().max().unwrap(), 256 / 6);
        assert!(last.abs_diff(least) <= 2, "{model}: the link is never idle, and ends at {last}");
        times.iter().sum::<u64>() as f64 / 256.0
    };
    let (flow, packet) = (mean("flow"), mean("packet"));
    // Four of each host at a time are done after 64, 128, 192, 256 sixths of a packet time; as fluids, all would be after 256.
    assert!((flow - 160.0 / 6.0).abs() < 1.0, "{flow}");
    assert!(packet < flow, "{packet}");
}

#[test]
fn a_link_that_others_fill_is_as_good_as_none_to_what_waits_for_slower_ones() {
    let mut sent = crowd(0);
    sent.extend([(0, 255, 5, 1000 * PACKET), (0, 256, 5, 1000 * PACKET), (0, 0, 5, PACKET)]);
    let found = delivered("flow", &star(260), hosts(), &sent);
    assert!(*found.last().unwrap() <= 8, "{} packet times", found.last().unwrap());
}

#[test]
fn a_full_link_keeps_waiting_what_gets_little_there() {
    // Four messages of host 0 have a twelfth of its NIC each. A fifth would have a third, or an eighth, of a full way.
    for (others, range) in [(2, 1..=10), (7, 16..=24)] {
        let mut sent: Vec<Sent> =
            (0..11u32).flat_map(|from| (1..=4).map(move |to| (0, 50 + from, to, 1000 * PACKET))).collect();
        sent.extend((0..others).map(|from| (0, 100 + from, 5, 1000 * PACKET)));
        sent.extend((1..=5).map(|to| (0, 0, to, PACKET)));
        let last = *delivered("flow", &star(120), hosts(), &sent).last().unwrap();
        assert!(range.contains(&last), "beside {others}: {last} packet times");
    }
}

#[test]
fn messages_to_crowds_do_not_wait_for_each_other() {
    // Long messages from 200 hosts to each of hosts 1 to 16. Host 0 sends to all of these, then to twenty others.
    let mut sent: Vec<Sent> =
        (0..200u32).flat_map(|from| (1..=16).map(move |to| (0, 50 + from, to, 300 * PACKET))).collect();
    sent.extend((1..=16).chain(20..40).map(|to| (0, 0, to, PACKET)));
    let found = delivered("flow", &star(260), hosts(), &sent);
    let (crowds, others) = found[3200..].split_at(16);
    // A share of a way into a host is a 201st; as fluids alone all are there after that.
    assert!(crowds.iter().all(|time| (200..=220).contains(time)), "{crowds:?}");
    assert!(others.iter().all(|time| *time <= 40), "{others:?}");
}

/// Bursts of short messages, each of one process, and long ones, between the 20 hosts of a ring.
fn bursts() -> impl Strategy<Value = Vec<Sent>> {
    let short = (0..20u32, prop_oneof![8 => Just(64u64), 1 => Just(128u64), 1 => Just(32u64)]);
    let burst = (0..4u64, 0..20u32, prop::collection::vec(short, 6..20));
    let long = (0..4u64, 0..20u32, 0..20u32, prop::sample::select(vec![640u64, 1280, 6400]));
    (prop::collection::vec(long, 0..60), prop::collection::vec(burst, 2..16)).prop_map(|(long, bursts)| {
        let short = bursts
            .into_iter()
            .flat_map(|(at, from, to)| to.into_iter().map(move |(to, size)| (at, from, to, size)));
        let all = long.into_iter().chain(short).filter(|(_, from, to, _)| from != to);
        all.map(|(at, from, to, size)| (at * 64_000, from, to, size)).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(8), ..Default::default() })]

    /// Numbers decide which of two links that are full of flows at the same rate holds these back. With hosts renumbered along a
    /// ring of links that are all alike, messages take the same times.
    #[test]
    fn which_of_two_full_links_holds_flows_back_changes_no_turn(
        sent in bursts(),
        shift in 1..5u32,
        (edge, nic) in prop::sample::select(vec![(500_000_000, 1_000_000_000), (1_000_000_000, 8_000_000_000)]),
    ) {
        let edges = (0..5).map(|at| (at, (at + 1) % 5, Bandwidth(edge), Duration(100_000))).collect();
        let host_link = (Bandwidth(nic), Duration(20_000));
        let fabric = Graph { routers: 5, hosts_per_router: 4, host_link, edges, routes: Default::default() }.fabric();
        let hosts = Arc::new(HostParameters { packet_payload: Bytes(64), packet_wire: Bytes(64), ..common::transparent(1) });
        let times = |shift: u32| {
            let turned = |host: u32| ((host + 4 * shift) % 20, 0);
            let messages: Vec<_> = (0u64..)
                .zip(&sent)
                .map(|(number, (at, from, to, size))| {
                    (Time(*at), common::message(turned(*from), turned(*to), *size, number))
                })
                .collect();
            common::run(&mut *common::model("flow", &fabric, &hosts), &messages)
        };
        prop_assert_eq!(times(0), times(shift));
    }
}
