//! Short messages under `flow`, whose packets wait in queues of links: closed forms, and `packet` beside it.

use crate::{common, support};

use std::ops::Range;
use std::sync::Arc;

use common::graph::Graph;
use engine::{Bandwidth, Bytes, Duration, Time};
use network::{Fabric, HostParameters, NicOrder, Nics};

use crate::adaptive::fabric;

/// Bytes of a packet, and the time [ps] that it takes on each link: 1 GB/s.
const PACKET: u64 = 2048;
const TIME: u64 = 2_048_000;

/// Time [ps] that all links together add to a message of the star.
const LATENCY: u64 = 1000;

/// Time, sending host, receiving host, bytes.
type Sent = (u64, u32, u32, u64);

/// One router with its hosts.
fn star(hosts: u32) -> Arc<Fabric> {
    let host_link = (Bandwidth(1_000_000_000), Duration(500));
    Graph { routers: 1, hosts_per_router: hosts, host_link, edges: vec![], routes: Default::default() }
        .fabric()
}

fn hosts() -> HostParameters {
    HostParameters { packet_payload: Bytes(PACKET), packet_wire: Bytes(PACKET), ..common::transparent(1) }
}

/// Hosts whose NICs send one message after the other.
fn in_turn() -> HostParameters {
    HostParameters { nics: Nics { order: Some(NicOrder::InTurn), ..Nics::ONE }, ..hosts() }
}

/// Host 0 at a router with links of 1 GB/s to others, each with one host, all of whose NICs are faster.
fn spokes(count: u32, nic: Bandwidth) -> Arc<Fabric> {
    let edges = (1..=count).map(|to| (0, to, Bandwidth(1_000_000_000), Duration(0))).collect();
    let host_link = (nic, Duration(500));
    Graph { routers: count + 1, hosts_per_router: 1, host_link, edges, routes: Default::default() }.fabric()
}

/// Times of delivery [ps], between the first processes of hosts.
fn times(model: &str, fabric: &Arc<Fabric>, hosts: HostParameters, sent: &[Sent]) -> Vec<u64> {
    let sent: Vec<_> = sent.iter().map(|(at, from, to, size)| (*at, (*from, 0), (*to, 0), *size)).collect();
    times_between(model, fabric, hosts, &sent)
}

/// Time, host and process of the sender, of the receiver, bytes.
type SentBetween = (u64, (u32, u16), (u32, u16), u64);

/// Times of delivery [ps], between processes of hosts.
fn times_between(model: &str, fabric: &Arc<Fabric>, hosts: HostParameters, sent: &[SentBetween]) -> Vec<u64> {
    let message = |(number, (at, from, to, size)): (u64, &SentBetween)| {
        (Time(*at), common::message(*from, *to, *size, number))
    };
    let messages: Vec<_> = (0u64..).zip(sent).map(message).collect();
    let mut model = common::model(model, fabric, &hosts.into());
    common::run(&mut *model, &messages).iter().map(|times| times.delivered.0).collect()
}

/// The same in whole packet times.
fn in_packets(model: &str, fabric: &Arc<Fabric>, hosts: HostParameters, sent: &[Sent]) -> Vec<u64> {
    times(model, fabric, hosts, sent).iter().map(|time| time / TIME).collect()
}

/// Messages of `size` from host 0 to each of so many others, all handed over at once.
fn scatter(count: u32, size: u64) -> Vec<Sent> {
    (1..=count).map(|to| (0, 0, to, size)).collect()
}

/// The same from each of the others to host 0.
fn gather(from: Range<u32>, size: u64) -> Vec<Sent> {
    from.map(|from| (0, from, 0, size)).collect()
}

fn mean(times: &[u64]) -> f64 {
    times.iter().map(|time| *time as f64).sum::<f64>() / times.len() as f64
}

fn last(times: &[u64]) -> u64 {
    *times.iter().max().expect("there are messages")
}

#[test]
fn one_leaves_a_nic_after_the_other() {
    for (size, time) in [(PACKET, TIME), (PACKET / 4, TIME / 4)] {
        let expected: Vec<u64> = (1..=32).map(|number| number * time + LATENCY).collect();
        for model in ["flow", "flow equal-share"] {
            for hosts in [hosts(), in_turn()] {
                assert_eq!(times(model, &star(33), hosts, &scatter(32, size)), expected, "{model}, {size} B");
            }
        }
    }
}

#[test]
fn connections_take_turns_packet_by_packet_unless_nics_send_in_turn() {
    // After three packets of each of twelve messages come the last ones.
    let expected: Vec<u64> = (1..=12).map(|number| (36 + number) * TIME + LATENCY).collect();
    assert_eq!(times("flow", &star(13), hosts(), &scatter(12, 4 * PACKET)), expected);
    let expected: Vec<u64> = (1..=12).map(|number| 4 * number * TIME + LATENCY).collect();
    assert_eq!(times("flow", &star(13), in_turn(), &scatter(12, 4 * PACKET)), expected);
}

#[test]
fn one_comes_to_a_receiver_after_the_other() {
    for packets in 1..=4 {
        let expected: Vec<u64> =
            (1..=12).map(|number| (12 * (packets - 1) + number) * TIME + LATENCY).collect();
        for model in ["flow", "flow equal-share"] {
            let found = times(model, &star(13), hosts(), &gather(1..13, packets * PACKET));
            assert_eq!(found, expected, "{model}, {packets} packets");
        }
    }
}

#[test]
fn crowds_take_the_time_of_packets() {
    for packets in 1..=4 {
        for sent in [scatter(64, packets * PACKET), gather(1..65, packets * PACKET)] {
            let [flow, packet] = ["flow", "packet"].map(|model| times(model, &star(65), hosts(), &sent));
            let off = |flow: f64, packet: f64| (flow / packet - 1.0).abs();
            assert!(off(mean(&flow), mean(&packet)) < 0.001, "{packets} packets: {flow:?} beside {packet:?}");
            assert!(off(last(&flow) as f64, last(&packet) as f64) < 0.001, "{packets} packets");
            let fluid = (packets * 64 * TIME) as f64;
            assert!(off(fluid, mean(&packet)) > 0.1, "{packets} packets: as fluids they are far off");
        }
    }
}

#[test]
fn longer_messages_share() {
    for sent in [scatter(8, 5 * PACKET), gather(1..9, 5 * PACKET)] {
        assert_eq!(times("flow", &star(9), hosts(), &sent), [40 * TIME + LATENCY; 8]);
    }
}

#[test]
fn a_message_alone_takes_its_time_to_the_picosecond() {
    // Rates at which a packet takes no whole number of picoseconds, so that the parts of a message have to add up.
    let (links, nic) = ([1_700_000_003, 900_000_001, 1_300_000_009], 1_900_000_001);
    let edges = (0u32..).zip(links).map(|(at, rate)| (at, at + 1, Bandwidth(rate), Duration(777))).collect();
    let host_link = (Bandwidth(nic), Duration(500));
    let fabric =
        Graph { routers: 4, hosts_per_router: 1, host_link, edges, routes: Default::default() }.fabric();
    for size in [1, 100, PACKET, PACKET + 1, 3 * PACKET - 7, 4 * PACKET] {
        let expected = Bandwidth(900_000_001).transfer(Bytes(size)).0 + 2 * 500 + 3 * 777;
        assert_eq!(times("flow", &fabric, hosts(), &[(0, 0, 3, size)]), [expected], "{size} B");
    }
}

#[test]
fn packets_that_meet_no_others_cost_no_events_on_their_way() {
    // Latencies are short beside packets: each link is taken by one packet before the one before it has begun on the next.
    let edges = (0..7).map(|at| (at, at + 1, Bandwidth(1_000_000_000), Duration(500))).collect();
    let host_link = (Bandwidth(1_000_000_000), Duration(500));
    let fabric =
        Graph { routers: 8, hosts_per_router: 1, host_link, edges, routes: Default::default() }.fabric();
    let mut network = common::model("flow", &fabric, &hosts().into());
    let mut instants = Vec::new();
    let sent = [(Time::ZERO, common::message((0, 0), (7, 0), 4 * PACKET, 0))];
    common::drive_watched(&mut *network, &sent, |now, _| instants.push(now.0));
    instants.dedup();
    assert_eq!(instants, [0, TIME, 2 * TIME, 3 * TIME, 4 * TIME, 4 * TIME + 9 * 500]);
}

#[test]
fn all_to_one_destination_after_the_other_takes_the_time_of_packets() {
    // Each host sends a packet to all, in the order of their numbers: all to the same at the same time.
    let hosts_of_all = 64;
    let others = |from: u32| (0..hosts_of_all).filter(move |to| *to != from);
    let sent: Vec<Sent> =
        (0..hosts_of_all).flat_map(|from| others(from).map(move |to| (0, from, to, PACKET))).collect();
    let [flow, packet] =
        ["flow", "packet"].map(|model| last(&times(model, &star(hosts_of_all), hosts(), &sent)));
    assert!(flow.abs_diff(packet) < 2 * TIME, "{flow} beside {packet} ps");
    assert!(flow > 2 * 62 * TIME, "twice the time of full NICs: {flow} ps");
}

#[test]
fn messages_of_a_connection_keep_their_order_and_their_bytes() {
    let sizes = [3 * PACKET, 10, 9 * PACKET, 4 * PACKET, 1];
    let sent: Vec<Sent> = sizes.iter().flat_map(|size| (1..=8).map(move |to| (0, 0, to, *size))).collect();
    let found = times("flow", &star(9), hosts(), &sent);
    let all = sizes.iter().sum::<u64>() * 8 * 1000;
    // The NIC is never idle; parts of picoseconds, and rates, are rounded.
    assert!(last(&found).abs_diff(all + LATENCY) < 10_000, "{} beside {all}", last(&found));
    for to in 0..8 {
        let times: Vec<_> = found.iter().skip(to).step_by(8).collect();
        assert!(times.is_sorted(), "to host {}: {times:?}", to + 1);
    }
}

#[test]
fn beside_a_long_message_packets_go_one_by_one_and_it_loses_what_they_take() {
    // The first lets a packet of the long one pass.
    let mut sent: Vec<Sent> = vec![(0, 17, 0, 100 * PACKET)];
    sent.extend(gather(1..17, PACKET));
    let expected: Vec<u64> = std::iter::once(116).chain(2..=17).collect();
    assert_eq!(in_packets("flow", &star(18), hosts(), &sent), expected);
    // A long one that comes when they wait is behind them.
    let mut sent = gather(1..17, PACKET);
    sent.push((TIME, 17, 0, 100 * PACKET));
    let expected: Vec<u64> = (1..=16).chain([116]).collect();
    assert_eq!(in_packets("flow", &star(18), hosts(), &sent), expected);
}

#[test]
fn beside_many_long_messages_packets_have_their_share_of_the_nic() {
    let mut sent = scatter(64, 1000 * PACKET);
    sent.extend((65..=128).map(|to| (0, 0, to, PACKET)));
    let (mut firsts, mut lasts) = (Vec::new(), Vec::new());
    for model in ["packet", "flow", "flow equal-share"] {
        let found = in_packets(model, &star(129), hosts(), &sent);
        firsts.push(last(&found[64..]));
        lasts.push(last(&found));
    }
    assert!(firsts.iter().all(|time| time.abs_diff(firsts[0]) <= 1), "{firsts:?}");
    assert!(lasts.iter().all(|time| time.abs_diff(lasts[0]) <= 64), "{lasts:?}");
}

#[test]
fn packets_of_one_connection_share_a_nic_with_a_long_message_evenly() {
    // Two hundred short messages, one after the other, beside one long one: a packet of each in turn.
    let mut sent: Vec<Sent> = vec![(0, 0, 1, 1000 * PACKET)];
    sent.extend([(0, 0, 2, PACKET); 200]);
    let [flow, packet] = ["flow", "packet"].map(|model| in_packets(model, &star(3), hosts(), &sent));
    assert!(packet[200].abs_diff(400) <= 1, "{packet:?}");
    assert!(flow[200].abs_diff(packet[200]) <= 1 && flow[0].abs_diff(packet[0]) <= 1, "{flow:?}");
}

/// The same with two processes on each.
fn two_processes() -> HostParameters {
    HostParameters { processes: 2, ..hosts() }
}

#[test]
fn a_message_is_there_with_the_last_of_its_packets() {
    // A slow link behind a long one with ten times its rate; the NIC is busy with a packet of the other process first.
    let host_link = (Bandwidth(10_000_000_000), Duration(2_000_000));
    let edges = vec![(0, 1, Bandwidth(1_000_000_000), Duration(0))];
    let fabric =
        Graph { routers: 2, hosts_per_router: 2, host_link, edges, routes: Default::default() }.fabric();
    let sent = |others| [(0, (0, 0), (1, 0), others), (0, (0, 1), (2, 0), 2 * PACKET)];
    for model in ["flow", "flow equal-share"] {
        let of_others = |others| times_between(model, &fabric, two_processes(), &sent(others))[1];
        assert_eq!(of_others(PACKET) - of_others(0), TIME / 10, "{model}");
    }
}

#[test]
fn turns_of_long_ago_change_nothing() {
    // A packet lets one of the long message pass, whether its process has sent others before or not.
    let late = 100 * TIME + TIME / 2;
    let sent = [(0, (0, 0), (1, 0), 1000 * PACKET), (late, (0, 1), (2, 0), PACKET)];
    let before: Vec<SentBetween> = (3..6).map(|to| (0, (0, 1), (to, 0), PACKET / 32)).collect();
    let alone = times_between("flow", &star(6), two_processes(), &sent);
    let behind_others = times_between("flow", &star(6), two_processes(), &[&sent[..], &before].concat());
    assert_eq!(alone[1], late + 2 * TIME + LATENCY);
    assert_eq!(behind_others[1], alone[1]);
}

#[test]
fn a_flow_loses_a_packet_once_on_all_links_that_it_shares_with_it() {
    // Without and with ways between processes and NICs; the packets go to the process that the flow goes to, or to another.
    let mut with_ways = two_processes();
    with_ways.regimes[0].process_rate = Bandwidth(999_999_999);
    for (hosts, to) in [(two_processes(), 1), (with_ways.clone(), 1), (with_ways, 0)] {
        let mut sent = vec![(0, (0, 0), (1, 0), 1000 * PACKET)];
        sent.extend((0..100).map(|number| (number * 8 * TIME, (0, 1), (1, to), PACKET)));
        for model in ["flow", "flow equal-share", "packet"] {
            let found = times_between(model, &star(2), hosts.clone(), &sent)[0] / TIME;
            assert!(found.abs_diff(1100) <= 1, "{model}: {found} packet times");
        }
    }
}

#[test]
fn messages_held_up_elsewhere_keep_no_others_waiting() {
    // 32 hosts send long messages to each of four hosts: what host 0 sends there waits for a packet of each.
    let (busy, senders, free) = (1..=4, 5..37, 37..57);
    let mut sent: Vec<Sent> = Vec::new();
    sent.extend(senders.flat_map(|from| busy.clone().map(move |to| (0, from, to, 100 * PACKET))));
    sent.extend(busy.clone().chain(free).map(|to| (0, 0, to, PACKET)));
    let found = in_packets("flow", &star(57), hosts(), &sent);
    let (held, others) = found[4 * 32..].split_at(4);
    assert!(held.iter().all(|end| (32..=37).contains(end)), "{held:?}");
    assert!(others.iter().all(|end| *end <= 24), "{others:?}");
}

#[test]
fn slow_links_behind_it_keep_no_nic_idle() {
    for (nic, most) in [(Bandwidth(16_000_000_000), 5), (Bandwidth::INFINITE, 1)] {
        for (sent, what) in [(scatter(64, PACKET), "scatter"), (gather(1..65, PACKET), "gather")] {
            for model in ["flow", "flow equal-share"] {
                let found = last(&in_packets(model, &spokes(64, nic), hosts(), &sent));
                assert!(found <= most, "{model}, {what}, {nic:?}: {found} packet times of a link");
            }
        }
    }
}

#[test]
fn packets_may_be_of_any_size() {
    let size = Bytes(1 << 63);
    let hosts = HostParameters { packet_payload: size, packet_wire: size, ..common::transparent(1) };
    assert_eq!(in_packets("flow", &star(2), hosts, &[(0, 0, 1, PACKET)]), [1]);
}

/// Sixteen hosts at each of two routers; the link from the first to the second has six times the rate of a NIC.
fn two_routers() -> Arc<Fabric> {
    let edges = vec![(0, 1, Bandwidth(6_000_000_000), Duration(500))];
    let host_link = (Bandwidth(1_000_000_000), Duration(500));
    Graph { routers: 2, hosts_per_router: 16, host_link, edges, routes: Default::default() }.fabric()
}

#[test]
fn a_link_of_the_fabric_that_all_wait_for_is_never_idle() {
    let sent: Vec<Sent> =
        (0..16u32).flat_map(|to| (0..16).map(move |from| (0, from, 16 + (from + to) % 16, PACKET))).collect();
    let found = ["flow", "packet"].map(|model| in_packets(model, &two_routers(), hosts(), &sent));
    for times in &found {
        assert!(last(times).abs_diff(256 / 6) <= 2, "it ends at {}", last(times));
    }
    // As fluids, all would be there after 256 sixths.
    let [flow, packet] = found.map(|times| mean(&times));
    assert!((flow / packet - 1.0).abs() < 0.05, "{flow} beside {packet}");
}

#[test]
fn packets_that_wait_take_no_links_ahead() {
    // Sixteen hosts wait for one link; a message to one of their receivers finds that idle, whatever will come there later.
    let edges = vec![(0, 1, Bandwidth(1_000_000_000), Duration(500))];
    let host_link = (Bandwidth(1_000_000_000), Duration(500));
    let fabric =
        Graph { routers: 2, hosts_per_router: 16, host_link, edges, routes: Default::default() }.fabric();
    let waiting: Vec<Sent> = (0..16).map(|from| (0, from, 16 + from, 4 * PACKET)).collect();
    for (size, model) in
        [PACKET, 10 * PACKET].into_iter().flat_map(|size| ["flow", "packet"].map(|model| (size, model)))
    {
        let sent = [&waiting[..], &[(5 * TIME / 2, 30, 31, size)]].concat();
        let found = in_packets(model, &fabric, hosts(), &sent);
        assert_eq!(found[16], 5 / 2 + size / PACKET, "{model}, {size} B");
    }
}

#[test]
fn messages_of_a_connection_do_not_overtake_each_other_on_their_way() {
    // A wide link that many wait for, then a narrow one, which a small message takes ahead while a larger one is on its way.
    let wide = Bandwidth(4_000_000_000);
    let edges = vec![(0, 1, wide, Duration(500_000)), (1, 2, Bandwidth(1_000_000_000), Duration(500))];
    let fabric = Graph {
        routers: 3,
        hosts_per_router: 16,
        host_link: (wide, Duration(500)),
        edges,
        routes: Default::default(),
    }
    .fabric();
    let mut sent: Vec<Sent> = vec![(0, 9, 41, 8)];
    sent.extend((0..8).map(|from| (0, from, 16 + from, PACKET)));
    sent.extend([(0, 10, 42, PACKET), (0, 10, 42, 1)]);
    let [flow, packet] = ["flow", "packet"].map(|model| times(model, &fabric, hosts(), &sent));
    for at in [9, 10] {
        assert!(flow[at].abs_diff(packet[at]) < TIME / 100, "{} beside {}", flow[at], packet[at]);
    }
}

/// Two leaves of 32 hosts with links of 8 GB/s, under two spines with links of a half of that, of which messages take those
/// that carry the least.
fn two_spines() -> Arc<Fabric> {
    fabric("fat-tree", "m = [32, 2]\nw = [1, 2]\nbandwidth = \"4 GB/s\"", "least-loaded-up", "")
}

#[test]
fn packets_choose_routes_with_the_shortest_queues() {
    // The receiver is full after its first packets, as both spines are used alike: by random routes one would be idle at times.
    let latency = 2 * (support::DEFAULTS.latency + support::DEFAULTS.host_latency).0;
    for sharing in ["flow", "flow equal-share"] {
        let mut found = times(sharing, &two_spines(), hosts(), &gather(32..64, PACKET));
        found.sort_unstable();
        let late: Vec<u64> =
            (1u64..).zip(&found).map(|(number, time)| time - latency - number * TIME / 8).collect();
        assert!(late.iter().all(|late| *late <= TIME / 8), "{sharing}: {late:?}");
    }
}

#[test]
fn gathers_on_adaptive_routes_take_the_time_of_packets() {
    let dragonfly = "routers_per_group = 4\nhosts_per_router = 2\nglobal_links_per_router = 2";
    for (kind, text, routing) in [
        ("fat-tree", "m = [8, 8]\nw = [1, 8]", "least-loaded-up"),
        ("dragonfly", dragonfly, "ugal-l"),
        ("dragonfly", dragonfly, "progressive-adaptive"),
    ] {
        let fabric = fabric(kind, text, routing, "");
        let found = ["flow", "packet"].map(|model| {
            let found = times(model, &fabric, hosts(), &gather(1..64, PACKET));
            [mean(&found), last(&found) as f64]
        });
        for (flow, packet) in found[0].into_iter().zip(found[1]) {
            assert!((flow / packet - 1.0).abs() < 0.05, "{kind}, {routing}: {flow} beside {packet} ps");
        }
    }
}
