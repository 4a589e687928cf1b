//! Turns of short messages from many hosts to one, under `flow`: closed forms, and `packet` beside it.

use crate::{common, support};

use std::ops::Range;
use std::sync::Arc;

use common::graph::Graph;
use engine::{Bandwidth, Bytes, Duration, Time};
use network::{Fabric, HostParameters, Message, NicOrder, Nics, Regime};
use proptest::prelude::*;

use crate::adaptive::fabric;
use crate::turns::{PACKET, TIME, hosts, mean, star};
use crate::turns_held_up::{Sent, delivered, spokes};

/// Time [ps] that all links together add to a message of the star.
const LATENCY: u64 = 1000;

/// Times of delivery [ps] of messages of `size` from each of so many hosts to host 0, all handed over at once.
fn gathered(model: &str, count: u32, size: u64) -> Vec<u64> {
    gathered_on(&star(count + 1), 1..count + 1, model, size)
}

/// The same of messages from the hosts `from` of `fabric`.
fn gathered_on(fabric: &Arc<Fabric>, from: Range<u32>, model: &str, size: u64) -> Vec<u64> {
    let numbered = (0u64..).zip(from);
    let messages: Vec<_> = numbered
        .map(|(number, from)| (Time::ZERO, common::message((from, 0), (0, 0), size, number)))
        .collect();
    let mut model = common::model(model, fabric, &hosts().into());
    common::run(&mut *model, &messages).iter().map(|times| times.delivered.0).collect()
}

#[test]
fn messages_of_a_packet_come_four_at_a_time() {
    for (model, (size, time)) in ["flow", "flow equal-share"]
        .map(|model| [(PACKET, TIME), (PACKET / 4, TIME / 4)].map(|of| (model, of)))
        .concat()
    {
        let expected: Vec<u64> = (0..32).map(|number| (number / 4 + 1) * 4 * time + LATENCY).collect();
        assert_eq!(gathered(model, 32, size), expected, "{model}, messages of {size} B");
    }
}

#[test]
fn up_to_four_share() {
    assert_eq!(gathered("flow", 4, 3 * PACKET), [12 * TIME + LATENCY; 4]);
}

#[test]
fn the_last_packet_of_a_message_has_a_turn_of_its_own() {
    // Three times four messages but for a packet each, and then these packets.
    let ends = [40, 44, 48].map(|packets| packets * TIME + LATENCY);
    let expected: Vec<u64> = (0..12).map(|number| ends[number / 4]).collect();
    assert_eq!(gathered("flow", 12, 4 * PACKET), expected);
}

#[test]
fn the_mean_latency_of_a_gather_is_that_of_packets() {
    for packets in 1..=4 {
        let [flow, packet] = ["flow", "packet"].map(|model| mean(&gathered(model, 64, packets * PACKET)));
        let off = (flow / packet - 1.0).abs();
        assert!(off < 0.05, "{packets} packets: {flow} beside {packet} ps");
        let fluid = (packets * 64 * TIME) as f64;
        assert!((fluid / packet - 1.0).abs() > off, "{packets} packets: as fluids they are no further off");
    }
}

#[test]
fn long_messages_to_one_host_share() {
    assert_eq!(gathered("flow", 8, 5 * PACKET), [40 * TIME + LATENCY; 8]);
}

#[test]
fn messages_of_senders_that_have_others_wait_for_no_receiver() {
    // Each host sends to host 0, and to one of its own.
    let sent: Vec<Sent> = (1..=32).flat_map(|from| [0, 32 + from].map(|to| (0, from, to, PACKET))).collect();
    let found = delivered("flow", &star(65), hosts(), &sent);
    assert!(found.iter().step_by(2).all(|time| *time == 32), "{found:?}");
}

/// Hosts whose NICs send one message after the other.
fn in_turn() -> HostParameters {
    HostParameters { nics: Nics { order: Some(NicOrder::InTurn), ..Nics::ONE }, ..hosts() }
}

#[test]
fn messages_that_nics_send_in_turn_wait_for_the_receiver_if_their_senders_have_no_others() {
    let sent: Vec<Sent> = (1..=32).map(|from| (0, from, 0, PACKET)).collect();
    let expected: Vec<u64> = (0..32).map(|number| (number / 4 + 1) * 4).collect();
    assert_eq!(delivered("flow", &star(65), in_turn(), &sent), expected);
    // Each host sends to one of its own behind that, or before.
    for first in [0, 1] {
        let both = |from: u32| if first == 0 { [0, 32 + from] } else { [32 + from, 0] };
        let sent: Vec<Sent> = (1..=32).flat_map(|from| both(from).map(|to| (0, from, to, PACKET))).collect();
        let found = delivered("flow", &star(65), in_turn(), &sent);
        let to_all = found.iter().skip(first).step_by(2);
        assert!(to_all.clone().all(|time| *time == 32 + first as u64), "{first}: {found:?}");
    }
}

#[test]
fn short_messages_share_with_a_long_one() {
    let mut sent: Vec<Sent> = vec![(0, 17, 0, 100 * PACKET)];
    sent.extend((1..=16).map(|from| (0, from, 0, PACKET)));
    assert_eq!(delivered("flow", &star(18), hosts(), &sent), [vec![116], vec![17; 16]].concat());
}

#[test]
fn what_waits_shares_with_a_long_one_that_comes() {
    let mut sent: Vec<Sent> = (1..=16).map(|from| (0, from, 0, PACKET)).collect();
    sent.push((TIME, 17, 0, 100 * PACKET));
    let found = delivered("flow", &star(18), hosts(), &sent);
    // Four have three quarters left when the long one comes: they need fifteen quarters. Then twelve and the long one share.
    assert_eq!(found, [vec![4; 4], vec![4 + 13; 12], vec![116]].concat());
}

#[test]
fn messages_follow_others_where_no_way_into_the_receiver_limits_them() {
    let sent: Vec<Sent> = (1..=8).flat_map(|from| [(0, from, 0, PACKET); 3]).collect();
    let found = delivered("flow", &spokes(8, Bandwidth::INFINITE), hosts(), &sent);
    assert_eq!(found, [1, 2, 3].repeat(8));
}

#[test]
fn slow_senders_keep_no_receiver_idle() {
    let sent: Vec<Sent> = (1..=64).map(|from| (0, from, 0, PACKET)).collect();
    for (nic, time) in [(Bandwidth(16_000_000_000), 4), (Bandwidth::INFINITE, 1)] {
        for model in ["flow", "flow equal-share"] {
            let last = delivered(model, &spokes(64, nic), hosts(), &sent).into_iter().max().unwrap();
            assert_eq!(last, time, "{model}, {nic:?}");
        }
    }
}

#[test]
fn what_is_held_up_at_its_sender_keeps_nobody_waiting_at_a_receiver() {
    // Hosts 1 to 4 send long messages to 32 hosts each, before or after a short one to host 0, as twenty others do.
    for (long_at, short_at) in [(0, 0), (0, TIME), (TIME, 0)] {
        let mut sent: Vec<Sent> = (1..=4u32)
            .flat_map(|from| (0..32).map(move |to| (long_at, from, 50 + 32 * from + to, 100 * PACKET)))
            .collect();
        sent.extend((1..=24).map(|from| (short_at, from, 0, 4 * PACKET)));
        let found = delivered("flow", &star(220), hosts(), &sent);
        let (held, others) = found[128..].split_at(4);
        assert!(held.iter().all(|time| (90..=150).contains(time)), "{long_at}: {held:?}");
        // Those of 80 packets begin at the latest after twice the time of the first sixteen.
        assert!(others.iter().all(|time| *time <= 112), "{long_at}: {others:?}");
    }
}

/// Two leaves of 32 hosts with links of 8 GB/s, under two spines with links of a half of that, of which messages take those
/// that carry the least.
fn two_spines() -> Arc<Fabric> {
    fabric("fat-tree", "m = [32, 2]\nw = [1, 2]\nbandwidth = \"4 GB/s\"", "least-loaded-up", "")
}

#[test]
fn messages_choose_their_routes_by_the_load_when_their_turns_begin() {
    let time = TIME / 8;
    let latency = 2 * (support::DEFAULTS.latency + support::DEFAULTS.host_latency).0;
    for sharing in ["flow", "flow equal-share"] {
        // Two of four take each spine. Routes that are all chosen at first, by no load, are random: spines would be narrower.
        let expected: Vec<u64> = (0..32).map(|number| (number / 4 + 1) * 4 * time + latency).collect();
        assert_eq!(gathered_on(&two_spines(), 32..64, sharing, PACKET), expected, "{sharing}");
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
        let times = ["flow", "packet"].map(|model| {
            let found = gathered_on(&fabric, 1..64, model, PACKET);
            [mean(&found), *found.iter().max().unwrap() as f64]
        });
        for (flow, packet) in times[0].into_iter().zip(times[1]) {
            assert!((flow / packet - 1.0).abs() < 0.1, "{kind}, {routing}: {flow} beside {packet} ps");
        }
    }
}

/// Routers of a ring, hosts at each, processes of each host.
const RING: u32 = 5;
const HOSTS: u32 = 6;
const PROCESSES: u16 = 2;

fn ring(edge: u64) -> Arc<Fabric> {
    let edges = (0..RING).map(|at| (at, (at + 1) % RING, Bandwidth(edge), Duration(100_000))).collect();
    let host_link = (Bandwidth(1_900_000_001), Duration(20_000));
    Graph { routers: RING, hosts_per_router: HOSTS, host_link, edges, routes: Default::default() }.fabric()
}

/// Hosts with packets of 64 B, with a slow way into processes, or none.
fn processes(way_in: Option<u64>) -> Arc<HostParameters> {
    let slow = way_in.map(|rate| Regime { process_rate: Bandwidth(rate), ..Regime::FREE });
    Arc::new(HostParameters {
        regimes: slow.into_iter().chain([Regime::FREE]).collect(),
        packet_payload: Bytes(64),
        packet_wire: Bytes(64),
        ..common::transparent(PROCESSES)
    })
}

/// Messages to few processes, most of up to four packets, one or two from each process at few times.
fn gathers() -> impl Strategy<Value = Vec<(Time, Message)>> {
    let size = prop_oneof![8 => Just(64u64), 4 => 9..=256u64, 1 => 300..5_000u64];
    let to = (0..3u32, 0..PROCESSES);
    let end = (0..RING * HOSTS, 0..PROCESSES);
    let message = (0..2u64, end, to, size, prop::bool::weighted(0.1));
    prop::collection::vec(message, 20..120).prop_map(|drawn| {
        let all = drawn.into_iter().filter(|(_, from, to, ..)| from.0 != to.0);
        let repeated = all.flat_map(|(at, from, to, size, twice)| {
            std::iter::repeat_n((at, from, to, size), 1 + usize::from(twice))
        });
        let numbered = repeated.enumerate();
        numbered
            .map(|(number, (at, from, to, size))| {
                (Time(at * 150_000), common::message(from, to, size, number as u64))
            })
            .collect()
    })
}

/// Times of delivery and of their being sent.
fn times(edge: u64, way_in: Option<u64>, sharing: &str, messages: &[(Time, Message)]) -> Vec<common::Times> {
    common::run(&mut *common::model(sharing, &ring(edge), &processes(way_in)), messages)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(3), ..Default::default() })]

    /// Messages take the same times with hosts renumbered along the ring, and with processes that hand them over in another
    /// order; none waits for ever.
    #[test]
    fn order_and_numbers_of_others_change_no_turn_at_a_receiver(
        messages in gathers(),
        shift in 1..RING,
        seed in any::<u64>(),
        edge in prop::sample::select(vec![700_000_001, 1_900_000_001, 20_000_000_003u64]),
        way_in in prop::sample::select(vec![None, Some(900_000_007)]),
    ) {
        let mut shifted = messages.clone();
        for (_, message) in &mut shifted {
            for end in [&mut message.from, &mut message.to] {
                end.host.0 = (end.host.0 + shift * HOSTS) % (RING * HOSTS);
            }
        }
        let mut order: Vec<usize> = (0..messages.len()).collect();
        order.sort_by_key(|at| {
            let (time, Message { from, .. }) = messages[*at];
            let process = u64::from(from.host.0) * u64::from(PROCESSES) + u64::from(from.process);
            (time, (process + 1).wrapping_mul(seed | 1) >> 7, *at)
        });
        // Keys are those that senders gave them.
        let mut others: Vec<_> = order.iter().map(|at| messages[*at]).collect();
        others.iter_mut().zip(0..).for_each(|((_, message), number)| message.cargo[0] = number);
        for sharing in ["flow", "flow equal-share"] {
            let found = times(edge, way_in, sharing, &messages);
            prop_assert_eq!(&found, &times(edge, way_in, sharing, &shifted), "{}: hosts", sharing);
            let by_order: Vec<_> = order.iter().map(|at| found[*at]).collect();
            prop_assert_eq!(by_order, times(edge, way_in, sharing, &others), "{}: order", sharing);
        }
    }

    /// None waits for ever, and those of a connection keep their order, where each message finds a route of its own.
    #[test]
    fn messages_with_routes_of_their_own_are_all_delivered(
        messages in gathers(),
        way_in in prop::sample::select(vec![None, Some(900_000_007)]),
        routing in prop::sample::select(vec!["progressive-adaptive", "ugal-l", "valiant"]),
    ) {
        let torus = fabric("torus", "sizes = [5]\nhosts_per_router = 6", routing, "");
        for sharing in ["flow", "flow equal-share"] {
            let found = common::run(&mut *common::model(sharing, &torus, &processes(way_in)), &messages);
            for (number, (at, message)) in messages.iter().enumerate() {
                let rest = messages[number + 1..].iter().zip(&found[number + 1..]);
                let behind = rest.filter(|((later, other), _)| {
                    later >= at && (other.from, other.to) == (message.from, message.to)
                });
                for (_, other) in behind {
                    prop_assert!(found[number].delivered <= other.delivered, "{}", sharing);
                }
            }
        }
    }
}
