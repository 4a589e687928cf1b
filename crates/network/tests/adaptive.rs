//! Routings that choose on the way, beside what the channels of a network can carry.

use crate::common;
use crate::support;

use std::sync::Arc;

use engine::{Bytes, Duration, Time};
use network::model::{Arbitration, Packet, PacketOptions, Switching};
use network::{Fabric, Message};

const PAYLOAD: u64 = 2016;
const WIRE: u64 = 2048;
/// Time of a packet on a link between routers, of 7 GB/s \[ps\]. Those of hosts are a little faster.
const PACKET: u64 = WIRE * 1000 / 7 + 1;
/// Latencies of a link between routers, and of a host's.
const LATENCY: u64 = support::DEFAULTS.latency.0;
const HOST_LATENCY: u64 = support::DEFAULTS.host_latency.0;

/// Packets of 2 KiB, buffers for sixteen.
const OPTIONS: PacketOptions = PacketOptions {
    payload: Bytes(PAYLOAD),
    header: Bytes(32),
    flit: Bytes(16),
    buffer: Some(Bytes(16 * WIRE)),
    crossbar: None,
    output_buffer: None,
    switching: Switching::VirtualCutThrough,
    arbitration: Arbitration::RoundRobin,
    pipeline: Duration::from_ns(50),
};

pub fn fabric(kind: &str, text: &str, routing: &str, parameters: &str) -> Arc<Fabric> {
    let topology = support::topology(kind, text);
    let routing = support::try_routing(routing, parameters, &*topology).unwrap();
    Arc::new(Fabric { topology, routing })
}

fn delivered(fabric: &Arc<Fabric>, messages: &[(Time, Message)]) -> Vec<Time> {
    let mut packet = Packet::new(fabric.clone(), Arc::new(common::transparent(1)), OPTIONS);
    let times = common::run(&mut packet, messages);
    assert_eq!(network::deadlock::describe(&[&packet]), None);
    times.iter().map(|times| times.delivered).collect()
}

/// Numbers without pattern.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % u64::from(bound)) as u32
    }
}

/// A way that comes to a router again crosses a link twice: a flow takes one share of it, and is delivered.
#[test]
fn flows_whose_ways_come_to_a_link_again_are_delivered() {
    let mut numbers = Numbers(1);
    for (kind, text) in [("hyperx", "sizes = [3, 4]"), ("torus", "sizes = [3, 4]")] {
        let fabric = fabric(kind, text, "progressive-adaptive", "");
        for _ in 0..200 {
            let mut end = || (numbers.below(12), 0);
            let ends: Vec<_> = (0..15).map(|_| (end(), end())).collect();
            let message = |number: u64, (from, to)| common::message(from, to, 1024 << (number % 5), number);
            let messages: Vec<_> =
                (0..).zip(ends).map(|(number, ends)| (Time(0), message(number, ends))).collect();
            let hosts = Arc::new(common::transparent(1));
            for sharing in ["flow", "flow equal-share"] {
                common::run(&mut *common::model(sharing, &fabric, &hosts), &messages);
            }
        }
    }
}

/// Pairs of sender and receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pattern {
    /// Each to any other.
    Uniform,
    /// Each to any host of the next block of so many.
    NextBlock(u32),
}

const EACH: u64 = 300;

/// Each host sends a packet in every `period`, somewhere in it.
fn traffic(hosts: u32, pattern: Pattern, period: u64) -> Vec<(Time, Message)> {
    let mut numbers = Numbers(1);
    let mut messages = Vec::new();
    for (round, from) in (0..EACH).flat_map(|round| (0..hosts).map(move |from| (round, from))) {
        let to = match pattern {
            Pattern::Uniform => (from + 1 + numbers.below(hosts - 1)) % hosts,
            Pattern::NextBlock(size) => ((from / size + 1) * size + numbers.below(size)) % hosts,
        };
        let at = Time(round * period + u64::from(numbers.below(period as u32)));
        let number = messages.len() as u64;
        messages.push((at, common::message((from, 0), (to, 0), PAYLOAD, number)));
    }
    messages
}

/// Bytes that arrive in the second and third third of the time of sending, for each host as a share of
/// a link between routers.
fn accepted(delivered: &[Time], hosts: u32, period: u64) -> f64 {
    let end = EACH * period;
    let inside = delivered.iter().filter(|at| at.0 > end / 3 && at.0 <= end).count() as f64;
    inside * PACKET as f64 / (2.0 * end as f64 / 3.0) / f64::from(hosts)
}

/// The mean time from injection to delivery \[ps\].
fn latency(delivered: &[Time], messages: &[(Time, Message)]) -> f64 {
    let each = delivered.iter().zip(messages).map(|(delivered, (at, _))| delivered.since(*at).0 as f64);
    each.sum::<f64>() / messages.len() as f64
}

/// A kind of network in blocks of eight hosts that are all connected to each other; what of a link's
/// bandwidth each host can send to the next block, by Valiant, and by the best of both ways.
type Blocks = (&'static str, &'static str, f64, f64);

/// - Dragonfly, 9 groups of 8 hosts with a global channel to each other group. Minimal: 8 hosts on 1 channel.
///   Valiant: 7 third groups, so the direct channel is not used, and each of the 7 others carries a share of
///   first halves and one of second halves: `2 · 8 λ / 7 ≤ 1`, λ = 7/16. The best of both fills the direct
///   channel besides: `8 λ = 1 + 7/2`, λ = 9/16.
/// - HyperX, 8 routers of 8 hosts, all connected. Valiant's random router is any of 8, by which every channel
///   carries `2 · 8 λ / 8 ≤ 1`, λ = 1/2. The best: the direct channel, and halves on the 6 others:
///   `8 λ = 1 + 6/2`, λ = 1/2.
/// - Dragonfly+, 9 groups of 8 hosts on 4 leaves, under 4 spines with 8 global channels: as the dragonfly.
const BLOCKS: [Blocks; 3] = [
    (
        "dragonfly",
        "routers_per_group = 4\nhosts_per_router = 2\nglobal_links_per_router = 2",
        7.0 / 16.0,
        9.0 / 16.0,
    ),
    ("hyperx", "sizes = [8]\nhosts_per_router = 8", 1.0 / 2.0, 1.0 / 2.0),
    (
        "dragonfly-plus",
        "leaves_per_group = 4\nspines_per_group = 4\nhosts_per_leaf = 2\nglobal_links_per_spine = 2",
        7.0 / 16.0,
        9.0 / 16.0,
    ),
];

const ADAPTIVE: [&str; 3] = ["ugal-l", "ugal-g", "progressive-adaptive"];

/// All to the next block, each host a link's bandwidth. Queues are first in, first out, and outputs are chosen
/// without looking ahead: what a network accepts is a good part of what its channels can carry, not all.
#[test]
fn adversarial_traffic_takes_detours() {
    for (kind, text, valiant, best) in BLOCKS {
        let rate = |routing: &str| {
            let fabric = fabric(kind, text, routing, "");
            let hosts = fabric.topology.hosts();
            accepted(&delivered(&fabric, &traffic(hosts, Pattern::NextBlock(8), PACKET)), hosts, PACKET)
        };
        let minimal = rate("minimal");
        assert!((minimal - 1.0 / 8.0).abs() < 0.002, "{kind}: {minimal}");
        let random = rate("valiant");
        assert!(random > 0.8 * valiant && random < valiant, "{kind}: {random} of {valiant}");
        for routing in ADAPTIVE {
            let adaptive = rate(routing);
            assert!(adaptive > 0.7 * best && adaptive < best, "{kind} {routing}: {adaptive} of {best}");
        }
    }
}

/// On uniform traffic adaptive routings do as minimal ones: at a third of the load, and at all of it.
#[test]
fn uniform_traffic_goes_the_minimal_way() {
    for (kind, text, ..) in BLOCKS {
        let run = |routing: &str, period| {
            let fabric = fabric(kind, text, routing, "");
            let hosts = fabric.topology.hosts();
            let messages = traffic(hosts, Pattern::Uniform, period);
            let delivered = delivered(&fabric, &messages);
            (accepted(&delivered, hosts, period), latency(&delivered, &messages))
        };
        let (minimal, _) = run("minimal", PACKET);
        let (_, minimal_latency) = run("minimal", 3 * PACKET);
        for routing in ADAPTIVE {
            let (adaptive, _) = run(routing, PACKET);
            assert!(adaptive > 0.93 * minimal, "{kind} {routing}: {adaptive} of {minimal}");
            let (_, latency) = run(routing, 3 * PACKET);
            assert!(latency < 1.1 * minimal_latency, "{kind} {routing}: {latency} for {minimal_latency}");
        }
    }
}

/// Uniform traffic on the Slim Fly of q = 5 with 4 hosts on each router. A router sends to 49 others, to 7 over one hop and to
/// 42 over two; of a host's partners a share of 196/199 is elsewhere. So each of the 7 links of a router carries
/// `4 λ 196/199 (7 + 84)/49 / 7 ≤ 1`: λ ≤ 0.9566. The pairs of a router with its 4 hosts: minimal routes use one way for each
/// pair of routers (Moore's bound leaves no other), 4 hosts to 4 hosts of the next router over one link, λ ≤ 1/4 where they
/// are neighbours; with detours by any of 48 routers the other 6 links of each router carry more. Queues that are first in,
/// first out hold an input to 2 - √2 of its rate in the worst case (Karol, Hluchyj, Morgan, "Input versus output queueing on a
/// space-division packet switch", IEEE Trans. Comm. 35(12), 1987).
#[test]
fn slim_fly_carries_uniform_traffic_and_avoids_hot_links() {
    let rate = |routing: &str, pattern| {
        let fabric = fabric("slim-fly", "q = 5", routing, "");
        let hosts = fabric.topology.hosts();
        accepted(&delivered(&fabric, &traffic(hosts, pattern, PACKET)), hosts, PACKET)
    };
    let bound = 7.0 * 49.0 / (4.0 * (196.0 / 199.0) * 91.0);
    let minimal = rate("minimal", Pattern::Uniform);
    assert!(minimal > (2.0 - 2f64.sqrt()) * bound && minimal < bound, "{minimal} of {bound}");
    let (minimal, adaptive) = (rate("minimal", Pattern::NextBlock(4)), rate("ugal-l", Pattern::NextBlock(4)));
    assert!(adaptive > 1.2 * minimal, "{adaptive}, minimal {minimal}");
}

/// One group of four routers, and of two rows of three: all hosts of a router send to the next router, each a link's
/// bandwidth. Minimal: three hosts on the one link between the two. With detours by a third router of the group
/// each of the other two ways, whose links carry first halves of its own and second halves of others', gives as
/// much again: `3 λ = 1 + 2/2`, λ = 2/3. In rows there is one such router in the row, `3 λ = 1 + 1/2`, and
/// detours by the other row have three links: more than minimal, at most 2/3.
#[test]
fn detours_within_a_group_go_by_a_third_router() {
    let group = "groups = 1\nhosts_per_router = 3\nglobal_links_per_router = 1";
    for (text, least) in
        [("routers_per_group = 4", 0.7 * 2.0 / 3.0), ("routers_per_group = 6\nrows = 2", 0.36)]
    {
        let rate = |routing: &str| {
            let fabric = fabric("dragonfly", &format!("{group}\n{text}"), routing, "");
            let hosts = fabric.topology.hosts();
            accepted(&delivered(&fabric, &traffic(hosts, Pattern::NextBlock(3), PACKET)), hosts, PACKET)
        };
        let minimal = rate("minimal");
        assert!(minimal < 0.36, "{text}: {minimal}");
        for routing in ADAPTIVE {
            let adaptive = rate(routing);
            assert!(adaptive > least && adaptive < 2.0 / 3.0, "{text} {routing}: {adaptive}");
        }
    }
}

/// Two messages between two routers with two links: each packet takes the one that is free, and neither
/// message is later than alone. Over one link they share, and the last is later by all of one.
#[test]
fn packets_take_the_free_one_of_parallel_links() {
    let text = "sizes = [4]\nhosts_per_router = 2\nlanes = 2\nbandwidth = \"8 GB/s\"";
    let packets = 100;
    let both = [(0, 2), (1, 3)]
        .map(|(from, to)| (Time(0), common::message((from, 0), (to, 0), packets * PAYLOAD, u64::from(from))));
    let wire = WIRE * 125;
    let alone = 2 * HOST_LATENCY + LATENCY + packets * wire;
    let last = |lanes: &str| {
        let fabric = fabric("torus", text, "dimension-order", lanes);
        delivered(&fabric, &both).into_iter().max().unwrap()
    };
    assert_eq!(last("lanes = \"least-loaded\""), Time(alone));
    assert_eq!(last("lanes = \"first\""), Time(alone + packets * wire));
}

/// Two hosts of a leaf send to two leaves. By the destinations' numbers both go up the same way; by load,
/// each goes up its own.
#[test]
fn packets_take_the_free_way_up() {
    let text = "m = [2, 4]\nw = [1, 2]\nbandwidth = \"8 GB/s\"";
    let packets = 100;
    let both = [(0, 2), (1, 4)]
        .map(|(from, to)| (Time(0), common::message((from, 0), (to, 0), packets * PAYLOAD, u64::from(from))));
    let wire = WIRE * 125;
    let alone = 2 * HOST_LATENCY + 2 * LATENCY + packets * wire;
    let last = |routing: &str| delivered(&fabric("fat-tree", text, routing, ""), &both).into_iter().max();
    assert_eq!(last("least-loaded-up"), Some(Time(alone)));
    assert_eq!(last("d-mod-k"), Some(Time(alone + packets * wire)));
}

/// Models that move whole messages ask when one starts, and see the messages on the links: eight hosts of a
/// group send to the next over one channel by minimal ways; by adaptive ones at most half of them share one.
#[test]
fn messages_choose_when_they_start() {
    let (kind, text, ..) = BLOCKS[0];
    let size = 1_000_000;
    let messages: Vec<_> =
        (0..8).map(|from| (Time(0), common::message((from, 0), (8 + from, 0), size, from.into()))).collect();
    let last = |model: &str, routing: &str| {
        let hosts = Arc::new(common::transparent(1));
        let mut network = common::model(model, &fabric(kind, text, routing, ""), &hosts);
        common::run(&mut *network, &messages).iter().map(|times| times.delivered).max().unwrap()
    };
    let alone = (size * 1000).div_ceil(7);
    for routing in ADAPTIVE {
        let minimal = last("flow", "minimal").0;
        assert!(minimal > 8 * alone && minimal < 8 * alone + 2_000_000, "{minimal}");
        let adaptive = last("flow", routing).0;
        assert!(adaptive < 5 * alone, "{routing}: {adaptive} of {minimal}");
        assert_eq!(last("loggp", routing), last("loggp", "minimal"), "{routing}");
    }
}
