//! The packet model beside a simulator that moves every flit by itself, and that simulator beside closed
//! forms.

use crate::common;
use crate::flits;

use std::collections::BTreeMap;
use std::sync::Arc;

use common::graph::Graph;
use engine::{Bandwidth, Bytes, Duration, Time};
use flits::platforms::{any_options, any_platform, any_traffic, messages};
use flits::{Channel, Hop, Outcome, simulate};
use network::model::{self, Arbitration, PacketOptions, Switching};
use network::{Fabric, HostParameters, LinkId, Message, NicOrder, Nics, PacketEvents, observe};
use proptest::prelude::*;

/// Packets of four flits of 32 B, which take 4 ns each at 8 GB/s.
const OPTIONS: PacketOptions = PacketOptions {
    payload: Bytes(120),
    header: Bytes(8),
    flit: Bytes(32),
    buffer: Some(Bytes(512)),
    crossbar: None,
    output_buffer: None,
    switching: Switching::VirtualCutThrough,
    arbitration: Arbitration::RoundRobin,
    pipeline: Duration::from_ns(50),
};
/// Length of a full packet at 8 GB/s.
const PACKET_NS: u64 = 16;
const GB: u64 = 1_000_000_000;

/// Routers in a line, with the bandwidth [GB/s] of the links between them and one latency for all.
fn line(host: u64, between: &[u64], hosts_per_router: u32, latency_ns: u64) -> Graph {
    let latency = Duration::from_ns(latency_ns);
    let edge = |(at, rate): (usize, &u64)| (at as u32, at as u32 + 1, Bandwidth(rate * GB), latency);
    Graph {
        routers: between.len() as u32 + 1,
        hosts_per_router,
        host_link: (Bandwidth(host * GB), latency),
        edges: between.iter().enumerate().map(edge).collect(),
        routes: BTreeMap::new(),
    }
}

fn send(at_ns: u64, from: (u32, u16), to: (u32, u16), size: u64) -> (Time, Message) {
    (Time(at_ns * 1000), common::message(from, to, size, 0))
}

fn delivered_ns(outcome: &Outcome) -> Vec<u64> {
    let ns = |at: &Option<Time>| {
        let at = at.expect("everything is delivered").0;
        assert_eq!(at % 1000, 0);
        at / 1000
    };
    outcome.delivered.iter().map(ns).collect()
}

/// `(begin, end)` of the hops over `link` [ns].
fn over(outcome: &Outcome, link: u32) -> Vec<(u64, u64)> {
    let hops = outcome.hops.iter().filter(|hop| hop.channel.link == LinkId(link));
    hops.map(|hop| (hop.begin.0 / 1000, hop.end.0 / 1000)).collect()
}

/// Cut-through: the head takes every latency, the tail comes one packet at the slowest rate later.
#[test]
fn one_packet_takes_all_latencies_and_its_length_once() {
    for (host, between) in [(8, vec![8]), (8, vec![8, 8, 8, 8]), (4, vec![8, 8]), (8, vec![4, 1, 8, 2, 8])] {
        let fabric = line(host, &between, 1, 200).fabric();
        let last = between.len() as u32;
        let outcome = simulate(&fabric, &OPTIONS, &[send(7, (0, 0), (last, 0), 120)]);
        let slowest = between.iter().fold(host, |least, rate| least.min(*rate));
        let links = between.len() as u64 + 2;
        assert_eq!(delivered_ns(&outcome), [7 + 200 * links + 128 / slowest]);
        assert_eq!(outcome.hops.len() as u64, links);
        for (number, hop) in outcome.hops.iter().enumerate() {
            assert_eq!(hop.begin, Time(7_000 + 200_000 * number as u64));
        }
    }
}

/// Store and forward: its length on every link.
#[test]
fn a_stored_packet_takes_its_length_on_every_link() {
    let fabric = line(8, &[4, 1, 8, 2], 1, 200).fabric();
    let options = PacketOptions { switching: Switching::StoreAndForward, ..OPTIONS };
    let outcome = simulate(&fabric, &options, &[send(0, (0, 0), (4, 0), 120)]);
    assert_eq!(delivered_ns(&outcome), [200 * 6 + 16 + 32 + 128 + 16 + 64 + 16]);
}

/// A slow link stretches the flits on a fast one behind it; bytes never leave before they have come.
#[test]
fn a_tail_leaves_a_fast_link_when_it_has_come_from_a_slow_one() {
    let fabric = line(1, &[8], 1, 200).fabric();
    let outcome = simulate(&fabric, &OPTIONS, &[send(0, (0, 0), (1, 0), 120)]);
    let hosts = fabric.topology.hosts();
    assert_eq!(over(&outcome, 0), [(0, 128)]);
    assert_eq!(over(&outcome, 2 * hosts), [(200, 328)]);
}

/// A link as fast as four hosts' links carries the messages of four hosts to four others in the time of one, but for what
/// its first packet wastes, which comes no faster than from its host, and the three that wait for it:
///
/// ```text
/// link     first packet [200, 328]; 4 k - 1 others, 32 ns each, until 328 + 96 + 128 (k - 1)
/// host 7   last packet begins 32 ns before that, is at the other router 200 ns later, takes 128 ns, and 200 ns to the host
/// ```
#[test]
fn a_fast_link_carries_what_slower_ones_bring_and_take() {
    let fabric = line(1, &[4], 4, 200).fabric();
    let options = PacketOptions { buffer: Some(Bytes(4096)), ..OPTIONS };
    for count in [1, 2, 10, 100] {
        let message = |host: u32| common::message((host, 0), (host + 4, 0), count * 120, host.into());
        let messages: Vec<_> = (0..4).map(|host| (Time(0), message(host))).collect();
        let outcome = simulate(&fabric, &options, &messages);
        assert_eq!(delivered_ns(&outcome)[3], 920 + 128 * (count - 1));
        let times = common::run(&mut model(&fabric, 1, &options), &messages);
        assert!(times.iter().zip(&outcome.delivered).all(|(model, flits)| Some(model.delivered) == *flits));
    }
}

/// Two packets from different hosts meet at one output: the second begins when the first has left.
#[test]
fn of_two_that_meet_the_second_waits_for_the_first() {
    let fabric = line(8, &[8], 2, 200).fabric();
    let messages = [send(0, (0, 0), (2, 0), 120), send(0, (1, 0), (3, 0), 120)];
    let outcome = simulate(&fabric, &OPTIONS, &messages);
    assert_eq!(over(&outcome, 8), [(200, 200 + PACKET_NS), (200 + PACKET_NS, 200 + 2 * PACKET_NS)]);
    assert_eq!(delivered_ns(&outcome), [600 + PACKET_NS, 600 + 2 * PACKET_NS]);
}

/// The processes of one host take turns, packet by packet; so do inputs at an output.
#[test]
fn round_robin_alternates() {
    let fabric = line(8, &[8], 2, 200).fabric();
    let full = |count: u64| count * 120;
    let processes = [send(0, (0, 0), (2, 0), full(3)), send(0, (0, 1), (3, 0), full(3))];
    let outcome = simulate(&fabric, &OPTIONS, &processes);
    let turns: Vec<usize> =
        outcome.hops.iter().filter(|hop| hop.channel.link == LinkId(0)).map(|hop| hop.message).collect();
    assert_eq!(turns, [0, 1, 0, 1, 0, 1]);
    let inputs = [send(0, (0, 0), (2, 0), full(3)), send(0, (1, 0), (3, 0), full(3))];
    let outcome = simulate(&fabric, &OPTIONS, &inputs);
    let turns: Vec<usize> =
        outcome.hops.iter().filter(|hop| hop.channel.link == LinkId(8)).map(|hop| hop.message).collect();
    assert_eq!(turns, [0, 1, 0, 1, 0, 1]);
}

/// By age, what was injected first goes first, whatever its input and its turn.
#[test]
fn the_oldest_goes_first_by_age() {
    let fabric = line(8, &[8], 2, 200).fabric();
    let options = PacketOptions { arbitration: Arbitration::Age, ..OPTIONS };
    let messages = [send(1, (0, 0), (2, 0), 360), send(0, (1, 0), (3, 0), 360)];
    let outcome = simulate(&fabric, &options, &messages);
    let turns: Vec<usize> =
        outcome.hops.iter().filter(|hop| hop.channel.link == LinkId(8)).map(|hop| hop.message).collect();
    // Message 1 comes without gaps, so message 0 finds the output idle only behind it.
    assert_eq!(turns, [1, 1, 1, 0, 0, 0]);
}

/// With room for n packets behind a link, n packets pass in the time that it takes a credit to return:
/// from its grant a packet needs a cable, a pipeline and its length to leave the buffer, and the credit
/// the cable back. With latency l = cable + pipeline that is `2 l - pipeline + L/b`.
#[test]
fn throughput_is_the_buffer_over_the_round_trip() {
    let count = 24;
    for room in 1..=30u64 {
        let options = PacketOptions { buffer: Some(Bytes(room * 128)), ..OPTIONS };
        // The links of the hosts are shorter, so that their loops never hold a packet up.
        let host_link = (Bandwidth(8 * GB), Duration::from_ns(100));
        let fabric = Graph { host_link, ..line(8, &[8], 1, 200) }.fabric();
        let outcome = simulate(&fabric, &options, &[send(0, (0, 0), (1, 0), count * 120)]);
        let round_trip = (2 * 200 - 50 + PACKET_NS).max(room * PACKET_NS);
        let begins: Vec<u64> = over(&outcome, 4).iter().map(|(begin, _)| *begin).collect();
        let expected = |number| 100 + number / room * round_trip + number % room * PACKET_NS;
        assert_eq!(begins, (0..count).map(expected).collect::<Vec<_>>(), "room {room}");
    }
}

/// A packet for an idle output waits behind one of its channel whose output is taken.
#[test]
fn the_first_of_a_channel_blocks_the_others() {
    // Host 0 on router 0, hosts 2 and 3 on router 1; host 3 keeps the link down to host 2 busy with 20
    // packets, 200 ns to 520 ns. Host 0's packet for host 2 is there at 400 ns, and one for host 3 behind it.
    let fabric = line(8, &[8], 2, 200).fabric();
    let messages =
        [send(0, (3, 0), (2, 0), 2400), send(0, (0, 0), (2, 0), 120), send(0, (0, 0), (3, 0), 120)];
    let options = PacketOptions { arbitration: Arbitration::Age, buffer: Some(Bytes(4096)), ..OPTIONS };
    let outcome = simulate(&fabric, &options, &messages);
    assert_eq!(over(&outcome, 6)[20], (520, 536));
    assert_eq!(over(&outcome, 7), [(536, 552)]);
}

/// On a ring with one channel, everybody holds the buffer that the one behind waits for.
#[test]
fn a_ring_without_dateline_deadlocks() {
    let latency = Duration::from_ns(200);
    let edge = |at: u32| (at, (at + 1) % 4, Bandwidth(8 * GB), latency);
    let clockwise = |at: u32| ((at, (at + 2) % 4), vec![at, (at + 1) % 4, (at + 2) % 4]);
    let ring = Graph {
        routers: 4,
        hosts_per_router: 1,
        host_link: (Bandwidth(8 * GB), latency),
        edges: (0..4).map(edge).collect(),
        routes: (0..4).map(clockwise).collect(),
    };
    let options = PacketOptions { buffer: Some(Bytes(128)), ..OPTIONS };
    let fabric = ring.fabric();
    let message = |at: u32| (Time(0), common::message((at, 0), ((at + 2) % 4, 0), 120, at.into()));
    let messages: Vec<_> = (0..4).map(message).collect();
    let outcome = simulate(&fabric, &options, &messages);
    assert_eq!(outcome.delivered, [None; 4]);
    let forward = |edge: u32| Channel { link: LinkId(8 + 2 * edge), number: 0 };
    assert_eq!(outcome.cycle(), Some((0..4).map(forward).collect()));

    let mut packet = model(&fabric, 1, &options);
    assert!(common::drive(&mut packet, &messages).iter().all(|(_, delivered)| delivered.is_none()));
    let mut hops = hops(&mut packet);
    hops.sort();
    assert_eq!(hops, outcome.hops);
    let why = network::deadlock::describe(&[&packet]).expect("it is told of");
    for at in 0..4 {
        let channel = format!("{at} -> {} (channel 0)", (at + 1) % 4);
        assert!(why.contains(&channel), "{channel} is part of the cycle: {why}");
    }
}

/// The packet model between hosts that add nothing.
fn model(fabric: &Arc<Fabric>, processes: u16, options: &PacketOptions) -> model::Packet {
    // The flits' hosts send one message after the other.
    let nics = Nics { order: Some(NicOrder::InTurn), ..Nics::ONE };
    let hosts = HostParameters { nics, ..common::transparent(processes) };
    let mut packet = model::Packet::new(fabric.clone(), hosts.into(), *options);
    packet.observe(Box::<observe::Hops>::default());
    packet
}

/// Packets that the model has sent so far.
fn hops(packet: &mut model::Packet) -> Vec<Hop> {
    let hop = |hop: observe::Hop| Hop {
        begin: hop.begin,
        channel: Channel { link: hop.link, number: hop.channel },
        message: hop.message[0] as usize,
        number: hop.number,
        end: hop.end,
    };
    observe::taken::<observe::Hops>(packet).0.into_iter().map(hop).collect()
}

/// Gives `packets` the routes that the model has chosen for them, if they are routes.
fn follow(fabric: &Fabric, messages: &[(Time, Message)], packets: &mut [flits::Packet], hops: &[Hop]) {
    let mut routes: BTreeMap<(usize, u32), Vec<Channel>> = BTreeMap::new();
    hops.iter().for_each(|hop| routes.entry((hop.message, hop.number)).or_default().push(hop.channel));
    for packet in packets {
        let route = routes.remove(&(packet.message, packet.number)).expect("every packet has gone");
        let links: Vec<LinkId> = route.iter().map(|channel| channel.link).collect();
        let ends = links.windows(2).map(|pair| (fabric.topology.link(pair[0]).to, pair[1]));
        ends.for_each(|(node, next)| assert_eq!(fabric.topology.link(next).from, node));
        let Message { from, to, .. } = messages[packet.message].1;
        // The flits choose among the links of a host by themselves.
        let first = |link: LinkId| fabric.topology.first_nic_link(link);
        let (up, down) = (first(links[0]), first(links[links.len() - 1]));
        assert_eq!([up, down], [fabric.topology.up(from.host), fabric.topology.down(to.host)]);
        let links: Vec<LinkId> = links.into_iter().map(first).collect();
        let mut channels = Vec::new();
        fabric.routing.channels(&*fabric.topology, &links, &mut channels);
        assert_eq!(route.iter().map(|channel| channel.number).collect::<Vec<_>>(), channels);
        packet.route =
            links.into_iter().zip(channels).map(|(link, number)| Channel { link, number }).collect();
    }
}

/// The same cases every time.
fn cases(cases: u32) -> ProptestConfig {
    let rng_seed = proptest::test_runner::RngSeed::Fixed(1);
    ProptestConfig { cases, failure_persistence: None, rng_seed, ..Default::default() }
}

proptest! {
    #![proptest_config(cases(60))]

    /// Condition under which a packet model needs no flits: a packet's tail leaves its length after its head, or one
    /// pipeline after it has come, whichever is later, and never sooner where its crossbar is slower. And all of it arrives:
    /// the channels that routings name keep buffers of a single packet free of deadlock, at inputs and at outputs.
    #[test]
    fn tails_follow_from_heads_and_everything_arrives(
        platform in any_platform(),
        options in any_options(),
        traffic in any_traffic(),
    ) {
        let fabric = platform.fabric();
        let topology = &*fabric.topology;
        let messages = messages(&traffic, &platform, topology.hosts(), &options);
        let outcome = simulate(&fabric, &options, &messages);
        prop_assert!(!outcome.delivered.contains(&None), "waiting: {:?}", outcome.waiting);
        // A packet takes one of the links that it shares at a host.
        let first = |channel: Channel| Channel { link: topology.first_nic_link(channel.link), ..channel };
        let hop = |hop: &Hop| ((hop.message, hop.number, first(hop.channel)), *hop);
        let hops: BTreeMap<_, Hop> = outcome.hops.iter().map(hop).collect();
        prop_assert_eq!(hops.len(), outcome.hops.len());
        for packet in flits::cut(&fabric, &options, &messages) {
            let mut tail_may_leave = packet.injected;
            for channel in &packet.route {
                let link = topology.link(channel.link);
                let length = link.bandwidth.transfer(Bytes(packet.flits * options.flit.0));
                let hop = hops[&(packet.message, packet.number, *channel)];
                let soonest = (hop.begin + length).max(tail_may_leave);
                prop_assert!(hop.end >= soonest);
                let is_slow = options.crossbar.is_some_and(|rate| rate < link.bandwidth);
                prop_assert!(is_slow || hop.end == soonest);
                tail_may_leave = hop.end + link.latency;
            }
            prop_assert!(outcome.delivered[packet.message].unwrap() >= tail_may_leave);
        }
    }
}

proptest! {
    #![proptest_config(cases(240))]

    /// Every packet of the model begins and ends on every link when its head and tail do as flits.
    #[test]
    fn packets_go_as_their_flits(
        platform in any_platform(),
        options in any_options(),
        traffic in any_traffic(),
    ) {
        let fabric = platform.fabric();
        let messages = messages(&traffic, &platform, fabric.topology.hosts(), &options);
        let mut packet = model(&fabric, platform.processes, &options);
        let times = common::run(&mut packet, &messages);
        let mut hops = hops(&mut packet);
        let mut packets = flits::cut(&fabric, &options, &messages);
        if fabric.routing.is_adaptive() {
            follow(&fabric, &messages, &mut packets, &hops);
        }
        let outcome = flits::send(&fabric, &options, &packets, messages.len());
        hops.sort();
        let differing = hops.iter().zip(&outcome.hops).find(|(model, flits)| model != flits);
        prop_assert!(differing.is_none(), "the model, and its flits: {:#?}", differing);
        prop_assert_eq!(hops.len(), outcome.hops.len());
        for (message, times) in times.iter().enumerate() {
            prop_assert_eq!(Some(times.delivered), outcome.delivered[message]);
            let up = fabric.topology.up(messages[message].1.from.host);
            let is_up = |link| fabric.topology.first_nic_link(link) == up;
            let left = hops.iter().filter(|hop| hop.message == message && is_up(hop.channel.link));
            prop_assert_eq!(times.sent, left.map(|hop| hop.end).max());
        }
    }
}
