//! Transactions and lost packets in the packet model: closed forms, counts, and what must always hold.

use crate::common;

use std::collections::BTreeMap;
use std::sync::Arc;

use common::graph::Graph;
use engine::registry::{Arguments, Value, find};
use engine::{Bandwidth, Bytes, Duration, Time};
use network::model::{Arbitration, Packet, PacketOptions, Reliability, Switching, Transport};
use network::observe::{Hops, taken};
use network::routing::ROUTINGS;
use network::topology::several_nics::with_nics;
use network::topology::{LinkDefaults, TOPOLOGIES};
use network::{
    Fabric, HostParameters, Message, Network, NicChoice, NicOrder, NicPair, Nics, PacketEvents, Part,
};
use proptest::prelude::*;

/// 4 GB/s: 250 ps for a byte.
const BYTE: u64 = 250;
/// Latency of every link.
const LATENCY: u64 = 104_000;

/// As on Gemini: 64 B as 96 B, answered by 9 B; 24 B, answered by 64 B as 81 B.
const FMA: Transport = Transport {
    get_above: Bytes(4096),
    get_up_to: Bytes(256 << 10),
    put_response: Bytes(9),
    get_request: Bytes(24),
    get_header: Bytes(17),
    reliability: Reliability::LOSSLESS,
};
const PUT: Transport = Transport { get_above: Bytes(u64::MAX), ..FMA };
const GET: Transport = Transport { get_above: Bytes(0), get_up_to: Bytes(u64::MAX), ..FMA };

fn options() -> PacketOptions {
    PacketOptions {
        payload: Bytes(64),
        header: Bytes(32),
        flit: Bytes(1),
        buffer: Some(Bytes(4096)),
        crossbar: None,
        output_buffer: None,
        switching: Switching::VirtualCutThrough,
        arbitration: Arbitration::RoundRobin,
        pipeline: Duration(94_000),
    }
}

/// A torus with one host on each router.
fn torus(sizes: &[i64]) -> Arc<Fabric> {
    let (rate, latency) = (Bandwidth(4_000_000_000), Duration(LATENCY));
    let links = LinkDefaults { bandwidth: rate, latency, host_bandwidth: rate, host_latency: latency };
    let sizes = Value::List(sizes.iter().map(|size| Value::Integer(*size)).collect());
    let arguments = Arguments([("sizes", sizes), ("hosts_per_router", Value::Integer(1))].into());
    let topology = (find(TOPOLOGIES, "topology", "torus").unwrap().build)(&arguments, &links).unwrap();
    let routing = find(ROUTINGS, "routing", topology.default_routing()).unwrap();
    let routing = (routing.build)(&Arguments::default(), &*topology, 0).unwrap();
    Arc::new(Fabric { topology, routing })
}

fn network(fabric: &Arc<Fabric>, options: PacketOptions, transport: Transport) -> Packet {
    let hosts = Arc::new(common::transparent(2));
    Packet::with_transport(fabric.clone(), hosts, options, Some(transport), &Part::whole())
}

/// Times at which each message was sent and delivered.
fn run(packet: &mut Packet, messages: &[(Time, Message)]) -> Vec<(Time, Time)> {
    let all = |(sent, delivered): (Option<Time>, Option<Time>)| {
        (sent.expect("sent"), delivered.expect("delivered"))
    };
    common::drive_answered(packet, messages).into_iter().map(all).collect()
}

/// Host 0 to host 19 of an 8 by 8 torus: three hops in x and two in y, and the hosts' own links.
const LINKS: u64 = 3 + 2 + 2;
const WAY: u64 = LINKS * LATENCY;

/// A PUT: all requests follow each other, and the last is answered.
#[test]
fn a_message_is_put() {
    for (size, transactions, on_wire) in
        [(0, 1, 32), (8, 1, 40), (64, 1, 96), (6400, 100, 9600), (65, 2, 96 + 33)]
    {
        let mut packet = network(&torus(&[8, 8]), options(), PUT);
        let times = run(&mut packet, &[(Time(0), common::message((0, 0), (19, 0), size, 0))]);
        let delivered = WAY + on_wire * BYTE;
        assert_eq!(times, [(Time(delivered + WAY + 9 * BYTE), Time(delivered))], "{size}");
        assert_eq!(packet.totals().packet_hops, 2 * transactions * LINKS);
    }
}

/// A GET: a notice of 32 B, the first request of 24 B, all data without a gap, and word of 32 B that it is
/// there.
#[test]
fn a_message_is_got() {
    for (size, transactions, on_wire) in [(64, 1, 81), (6400, 100, 8100), (6410, 101, 8100 + 27)] {
        let mut packet = network(&torus(&[8, 8]), options(), GET);
        let message = common::message((0, 0), (19, 0), size, 0);
        let times = run(&mut packet, &[(Time(0), message)]);
        let delivered = WAY + 32 * BYTE + WAY + 24 * BYTE + WAY + on_wire * BYTE;
        assert_eq!(times, [(Time(delivered + WAY + 32 * BYTE), Time(delivered))], "{size}");
        assert_eq!(packet.totals().packet_hops, 2 * (1 + transactions + 1) * LINKS);
        assert_eq!(packet.idle_time(&message), Duration(delivered));
    }
}

/// An answer to a request leaves by the NIC that it has come by, and a message comes by that which it names:
/// the links of others carry nothing. Each transfer waits for its set-up: a GET has two before the data.
#[test]
fn transfers_keep_their_nics() {
    const SETUP: u64 = 70_000;
    for (transport, size, setups) in [(PUT, 6400, 1), (GET, 6400, 2)] {
        let nics = Nics {
            count: 3,
            choice: NicChoice::RoundRobin,
            setup: Duration(SETUP),
            order: Some(NicOrder::InTurn),
            in_planes: false,
        };
        let base = Arc::into_inner(torus(&[8, 8])).unwrap();
        let fabric = Arc::new(Fabric { topology: with_nics(base.topology, 3), ..base });
        let hosts = Arc::new(HostParameters { nics, ..common::transparent(2) });
        let mut packet =
            Packet::with_transport(fabric.clone(), hosts, options(), Some(transport), &Part::whole());
        packet.observe(Box::<Hops>::default());
        let nics = Some(NicPair { from: 2, to: 1 });
        let message = Message { nics, ..common::message((0, 0), (19, 0), size, 0) };
        let times = run(&mut packet, &[(Time(0), message)]);
        let on_one_nic = Message { nics: None, ..message };
        let alone = network(&torus(&[8, 8]), options(), transport).idle_time(&on_one_nic);
        assert_eq!(times[0].1, Time(0) + alone + Duration(setups * SETUP));
        assert_eq!(packet.idle_time(&message), times[0].1.since(Time(0)));
        let (source, target) = (network::HostId(0), network::HostId(19));
        let topology = &fabric.topology;
        let used = [
            topology.nic_up(source, 2),
            topology.nic_down(target, 1),
            topology.nic_up(target, 1),
            topology.nic_down(source, 2),
        ];
        for hop in taken::<Hops>(&mut packet).0 {
            let link = topology.link(hop.link);
            assert!(link.is_between_routers() || used.contains(&hop.link), "{hop:?}");
        }
    }
}

/// A message that does not ask to hear that it is sent gets no such event at the end.
#[test]
fn a_source_that_does_not_ask_is_not_told() {
    for (transport, transfers) in [(PUT, 1), (GET, 2)] {
        let mut packet = network(&torus(&[8, 8]), options(), transport);
        let message = Message { notify_sent: false, ..common::message((0, 0), (19, 0), 64, 0) };
        let times = common::drive_answered(&mut packet, &[(Time(0), message)]);
        assert_eq!(times[0].0, None);
        assert_eq!(packet.totals().packet_hops, 2 * transfers * LINKS);
    }
}

/// As Cray's MPI: PUT up to 4 KiB and beyond 256 KiB, GET between. A message that is got takes a notice
/// and a word at the end, each with its answer.
#[test]
fn the_size_chooses() {
    for (size, more) in [(64, 0), (4096, 0), (4097, 4), (256 << 10, 4), ((256 << 10) + 1, 0)] {
        let mut packet = network(&torus(&[8, 8]), options(), FMA);
        run(&mut packet, &[(Time(0), common::message((0, 0), (19, 0), size, 0))]);
        assert_eq!(packet.totals().packet_hops, (2 * size.div_ceil(64) + more) * LINKS, "{size}");
    }
}

/// Two hosts on one router reach each other through it alone: two links of the hosts, none of the torus.
#[test]
fn hosts_of_one_router_meet_in_it() {
    let link = (Bandwidth(4_000_000_000), Duration(LATENCY));
    let edges = vec![(0, 1, link.0, link.1)];
    let graph = Graph { routers: 2, hosts_per_router: 2, host_link: link, edges, routes: BTreeMap::new() };
    let mut packet = network(&graph.fabric(), options(), PUT);
    let times = run(&mut packet, &[(Time(0), common::message((0, 0), (1, 0), 64, 0))]);
    assert_eq!(times[0].1, Time(2 * LATENCY + 96 * BYTE));
    assert_eq!(packet.totals().packet_hops, 2 * 2);
}

/// Everybody sends to everybody at once, through buffers of a single packet: requests wait for requests and
/// responses on every ring, and yet all arrives.
#[test]
fn requests_and_responses_do_not_block_each_other() {
    for transport in [PUT, GET] {
        for sizes in [&[9][..], &[5, 5]] {
            let fabric = torus(sizes);
            let hosts = fabric.topology.hosts();
            let pairs = (0..hosts).flat_map(|from| (0..hosts).map(move |to| (from, to)));
            let pairs = pairs.filter(|(from, to)| from != to).enumerate();
            let messages: Vec<_> = pairs
                .map(|(number, (from, to))| {
                    (Time(0), common::message((from, 0), (to, 0), 1000, number as u64))
                })
                .collect();
            let options = PacketOptions { buffer: Some(Bytes(96)), ..options() };
            let mut packet = network(&fabric, options, transport);
            run(&mut packet, &messages);
            assert_eq!(network::deadlock::describe(&[&packet]), None);
        }
    }
}

/// With loss p on each of h links there and back, a transaction is sent 1/(1-p)^2h times in the mean and
/// comes 1/(1-p)^h times. Where timeouts are long, each follows from exactly one lost packet.
#[test]
fn losses_cost_what_they_must() {
    const MESSAGES: u64 = 20_000;
    let reliability = Reliability { loss: (0.1 * 2f64.powi(32)) as u32, ..Reliability::LOSSLESS };
    let mut packet = network(&torus(&[8, 8]), options(), Transport { reliability, ..PUT });
    let messages: Vec<_> = (0..MESSAGES)
        .map(|number| (Time(number * 100_000), common::message((0, 0), (1, 0), 64, number)))
        .collect();
    run(&mut packet, &messages);
    let losses = packet.totals().losses;
    assert_eq!(losses.lost, losses.resent);
    let near = |count: u64, expected: f64| {
        let mean = count as f64 / MESSAGES as f64;
        assert!((mean / expected - 1.0).abs() < 0.05, "{mean} is not about {expected}");
    };
    near(losses.resent, 0.9f64.powi(-6) - 1.0);
    near(losses.duplicates, 0.9f64.powi(-3) - 1.0);
}

/// A request that is lost goes again a timeout after its tail has left, and the timeout doubles.
#[test]
fn timeouts_are_kept() {
    let fabric = torus(&[8, 8]);
    for (doublings, factor) in [(0, 1), (6, 2)] {
        // Everything is lost at first; the number of times shows in when it arrives.
        let loss = u32::MAX / 2;
        let reliability = Reliability { loss, doublings, timeout: Duration(50_000_000), seed: 1 };
        let mut packet = network(&fabric, options(), Transport { reliability, ..PUT });
        packet.observe(Box::<Hops>::default());
        let times = run(&mut packet, &[(Time(0), common::message((0, 0), (1, 0), 64, 0))]);
        let up = fabric.topology.up(network::HostId(0));
        let begins: Vec<u64> =
            taken::<Hops>(&mut packet).0.iter().filter(|hop| hop.link == up).map(|hop| hop.begin.0).collect();
        assert!(begins.len() > 3 && times[0].0 > Time(*begins.last().unwrap()), "{begins:?}");
        let waits = begins.windows(2).map(|pair| pair[1] - pair[0] - 96 * BYTE);
        let mut expected = 50_000_000;
        for wait in waits.take(6) {
            assert_eq!(wait, expected);
            expected *= factor;
        }
    }
}

fn any_message(hosts: u32) -> impl Strategy<Value = (Time, Message)> {
    let end = move || (0..hosts, 0..2u16);
    let size = prop_oneof![Just(0u64), 1..64u64, 1..3_000u64];
    (0..6u64, end(), end(), size)
        .prop_map(|(at, from, to, size)| (Time(at * 128_000), common::message(from, to, size, 0)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(5), ..Default::default() })]

    /// If nearly a third of all packets is lost on every link, each message arrives exactly once, and
    /// each sender is told so once (the driver checks that).
    #[test]
    fn all_arrives_once_under_heavy_loss(
        mut messages in prop::collection::vec(any_message(27), 1..40),
        seed in any::<u64>(),
        transport in prop::sample::select(&[PUT, GET, FMA]),
        doublings in 0..7u32,
        one in any::<bool>(),
    ) {
        for (number, (_, message)) in messages.iter_mut().enumerate() {
            common::renumber(message, number as u64);
        }
        let loss = (0.3 * 2f64.powi(32)) as u32;
        let reliability = Reliability { loss, timeout: Duration(5_000_000), doublings, seed };
        let options = PacketOptions { buffer: Some(Bytes(if one { 96 } else { 4096 })), ..options() };
        let mut packet = network(&torus(&[3, 3, 3]), options, Transport { reliability, ..transport });
        run(&mut packet, &messages);
        prop_assert_eq!(network::deadlock::describe(&[&packet]), None);
        let losses = packet.totals().losses;
        let crosses = messages.iter().filter(|(_, message)| message.from.host != message.to.host).count();
        prop_assert!(losses.resent >= losses.duplicates && (crosses < 10 || losses.lost > 0), "{:?}", losses);
    }
}
