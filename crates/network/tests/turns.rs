//! Turns of short messages under `flow`: closed forms, and `packet` beside it.

use crate::common;

use std::collections::BTreeMap;
use std::sync::Arc;

use common::graph::Graph;
use engine::registry::{Arguments, Value};
use engine::{Bandwidth, Bytes, Duration, Time};
use network::{Fabric, HostParameters, Message, Network, NicChoice, Nics, Part, Regime};
use proptest::prelude::*;

/// Bytes of a packet, and the time [ps] that it takes on each link: 1 GB/s.
pub const PACKET: u64 = 2048;
pub const TIME: u64 = 2_048_000;

/// One router with its hosts.
pub fn star(hosts: u32) -> Arc<Fabric> {
    let host_link = (Bandwidth(1_000_000_000), Duration(500));
    Graph { routers: 1, hosts_per_router: hosts, host_link, edges: vec![], routes: Default::default() }
        .fabric()
}

pub fn hosts() -> HostParameters {
    HostParameters { packet_payload: Bytes(PACKET), packet_wire: Bytes(PACKET), ..common::transparent(1) }
}

/// Times of delivery of messages of `size` from host 0 to each of so many others, all handed over at once.
fn delivered(model: &str, count: u32, size: u64) -> Vec<u64> {
    let messages: Vec<_> = (1..=count)
        .map(|to| (Time::ZERO, common::message((0, 0), (to, 0), size, u64::from(to - 1))))
        .collect();
    let mut model = common::model(model, &star(count + 1), &hosts().into());
    common::run(&mut *model, &messages).iter().map(|times| times.delivered.0).collect()
}

pub fn mean(times: &[u64]) -> f64 {
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
fn the_last_packet_of_a_message_has_a_turn_of_its_own() {
    let found = delivered("flow", 12, 4 * PACKET);
    // The first four begin while nobody waits: 16 packets. Twice four messages but for a packet each, and these packets.
    let ends = [16, 44, 48].map(|packets| packets * TIME + 1000);
    let expected: Vec<u64> = (0..12).map(|number| ends[number / 4]).collect();
    assert_eq!(found, expected);
}

#[test]
fn the_mean_latency_of_a_crowd_is_that_of_packets() {
    for packets in 1..=4 {
        let (flow, packet) =
            (delivered("flow", 64, packets * PACKET), delivered("packet", 64, packets * PACKET));
        let (flow, packet) = (mean(&flow), mean(&packet));
        let off = (flow / packet - 1.0).abs();
        assert!(off < 0.05, "{packets} packets: {flow} beside {packet} ps");
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
    for size in sizes {
        for to in 1..=8u32 {
            let number = messages.len() as u64;
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

/// Time of the last delivery of an all-to-all of messages of a packet, which each host sends in the order of their
/// destinations, all to the same at the same time.
fn last_in_order(model: &str, hosts_of_all: u32) -> u64 {
    let mut messages = Vec::new();
    for from in 0..hosts_of_all {
        for to in (0..hosts_of_all).filter(|to| *to != from) {
            messages.push((Time::ZERO, common::message((from, 0), (to, 0), PACKET, messages.len() as u64)));
        }
    }
    let mut model = common::model(model, &star(hosts_of_all), &hosts().into());
    common::run(&mut *model, &messages).iter().map(|times| times.delivered.0).max().unwrap()
}

#[test]
fn a_nic_whose_messages_are_held_elsewhere_sends_more() {
    for sharing in ["flow", "flow equal-share"] {
        let (last, least) = (last_in_order(sharing, 64), 63 * TIME);
        assert!(last < 4 * least, "{sharing}: {} of the time of a full NIC", last as f64 / least as f64);
    }
}

#[test]
fn messages_held_elsewhere_keep_no_others_waiting() {
    // 32 hosts send long messages to each of four hosts: what host 0 sends there takes 33 times as long as alone.
    let (busy, senders, free) = (1..=4, 5..37, 37..57);
    let mut sent: Vec<(u32, u32, u64)> = Vec::new();
    sent.extend(senders.flat_map(|from| busy.clone().map(move |to| (from, to, 100 * PACKET))));
    sent.extend(busy.clone().chain(free).map(|to| (0, to, PACKET)));
    let messages: Vec<_> = (0u64..)
        .zip(&sent)
        .map(|(number, (from, to, size))| (Time::ZERO, common::message((*from, 0), (*to, 0), *size, number)))
        .collect();
    let mut model = common::model("flow", &star(57), &hosts().into());
    let found = common::run(&mut *model, &messages);
    let ends = |to: std::ops::RangeInclusive<u32>| {
        let ends = sent.iter().zip(&found).filter(|((from, end, _), _)| *from == 0 && to.contains(end));
        ends.map(|(_, times)| times.delivered.0 / TIME).collect::<Vec<_>>()
    };
    let (held, others) = (ends(1..=4), ends(37..=56));
    assert!(held.iter().all(|end| (30..=34).contains(end)), "{held:?}");
    assert!(others.iter().all(|end| *end <= 30), "{others:?}");
}

/// Routers of a ring, hosts at each, processes of each host.
const RING: u32 = 5;
const HOSTS: u32 = 4;
const PROCESSES: u16 = 2;

fn ring(nics: Nics) -> Arc<Fabric> {
    let edges = (0..RING).map(|at| (at, (at + 1) % RING, Bandwidth(1_700_000_003), Duration(100_000)));
    let (edges, host_link) = (edges.collect(), (Bandwidth(1_900_000_001), Duration(20_000)));
    Graph { routers: RING, hosts_per_router: HOSTS, host_link, edges, routes: Default::default() }
        .fabric_with(nics)
}

/// Processes, one of whose regimes has a slow way to the NIC, and packets of so many bytes for a third of headers.
fn processes(nics: Nics, payload: u64) -> Arc<HostParameters> {
    let slow = Regime { process_rate: Bandwidth(400_000_007), ..Regime::FREE };
    Arc::new(HostParameters {
        regimes: vec![Regime::FREE, slow],
        nics,
        packet_payload: Bytes(payload),
        packet_wire: Bytes(payload / 2 * 3),
        ..common::transparent(PROCESSES)
    })
}

/// Messages between hosts, most of up to four packets of 64 B, at few times.
fn any_messages() -> impl Strategy<Value = Vec<(Time, Message)>> {
    let end = || (0..RING * HOSTS, 0..PROCESSES);
    let size = prop_oneof![4 => 9..=256u64, 1 => Just(257u64), 1 => Just(0u64), 1 => 300..5_000u64];
    let message = (0..3u64, end(), end(), size, 0..2u8);
    prop::collection::vec(message, 1..250).prop_map(|drawn| {
        let all = drawn.into_iter().filter(|(_, from, to, ..)| from.0 != to.0).enumerate();
        all.map(|(number, (at, from, to, size, regime))| {
            (Time(at * 300_000), Message { regime, ..common::message(from, to, size, number as u64) })
        })
        .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..Default::default() })]

    /// Nobody waits for ever or overtakes, and all are there after at most a quarter more than fluids, whose packets are
    /// so small that no message is short.
    #[test]
    fn turns_keep_order_and_waste_little(
        messages in any_messages(),
        count in 1..3u8,
        choice in prop::sample::select(NicChoice::NAMES),
    ) {
        let nics = Nics { count, choice: NicChoice::named(choice).unwrap(), ..Nics::ONE };
        for sharing in ["flow", "flow equal-share"] {
            let run = |payload| {
                common::run(&mut *common::model(sharing, &ring(nics), &processes(nics, payload)), &messages)
            };
            let (turns, fluid) = (run(64), run(2));
            let last = |times: &[common::Times]| times.iter().map(|times| times.delivered.0).max().unwrap_or(0);
            let (most, least) = (last(&turns), last(&fluid));
            prop_assert!(4 * most <= 5 * least, "{}: {} beside {} ps", sharing, most, least);
            if count > 1 {
                continue;
            }
            let mut sent: Vec<_> = messages.iter().zip(&turns).collect();
            sent.sort_by_key(|((at, _), _)| *at);
            let mut before = BTreeMap::new();
            for ((_, message), times) in sent {
                let ends = [message.from, message.to].map(|end| (end.host, end.process));
                let last = before.insert(ends, times.delivered);
                prop_assert!(last.is_none_or(|last| last <= times.delivered), "{}: {:?} overtakes", sharing, message);
            }
        }
    }

    /// All hosts are alike: with hosts renumbered along the ring, messages take the same times, to the picosecond. So they do
    /// where processes hand them over in another order, if those of each process keep theirs.
    #[test]
    fn order_and_numbers_of_others_change_no_turn(
        messages in any_messages(),
        shift in 1..RING,
        ranks in prop::collection::vec(any::<u32>(), (RING * HOSTS) as usize * usize::from(PROCESSES)),
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
            (time, ranks[from.host.0 as usize * usize::from(PROCESSES) + usize::from(from.process)], *at)
        });
        let mut others: Vec<_> = order.iter().map(|at| messages[*at]).collect();
        // Keys are those that senders gave them.
        others.iter_mut().zip(0..).for_each(|((_, message), number)| message.cargo[0] = number);
        for sharing in ["max-min", "equal-share"] {
            let run = |messages: &[(Time, Message)]| common::run(&mut *exact(sharing), messages);
            let found = run(&messages);
            prop_assert_eq!(&found, &run(&shifted), "{}: hosts", sharing);
            let by_order: Vec<_> = order.iter().map(|at| found[*at]).collect();
            prop_assert_eq!(by_order, run(&others), "{}: order", sharing);
        }
    }
}

/// The model with exact rates, on the ring.
fn exact(sharing: &str) -> Box<dyn Network> {
    let entry = engine::registry::find(network::model::MODELS, "model", "flow").unwrap();
    let mut arguments = Arguments::default();
    arguments.0.insert("sharing", Value::Text(sharing.into()));
    arguments.0.insert("exact", Value::Flag(true));
    (entry.build.make)(&arguments, ring(Nics::ONE), processes(Nics::ONE, 64), &Part::whole()).unwrap()
}
