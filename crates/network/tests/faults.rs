//! Packets that are lost where links and routers fail, go around, and are sent again.

use crate::common;
use crate::support;

use std::sync::Arc;

use common::parts::{run_with, times};
use engine::registry::find;
use engine::{Bandwidth, Bytes, Duration, Time};
use network::congestion::{Controller, Dctcp};
use network::faults::{Failing, Faults, Planned, Rates, links_named, router_named};
use network::model::{Arbitration, Packet, PacketOptions, Reliability, Switching, Transport};
use network::routing::around::Around;
use network::topology::nic_links::with_nic_links;
use network::topology::several_nics::with_nics;
use network::topology::{LinkDefaults, TOPOLOGIES};
use network::{
    Cut, Fabric, Grain, HostParameters, Inspect, LinkId, Losses, Message, NicChoice, NicOrder, Nics, Part,
    Topology,
};
use proptest::prelude::*;
use support::try_routing;

const NS: u64 = 1_000;
const US: u64 = 1_000_000;

/// A network in which all links are alike: 4 GB/s, 100 ns.
fn alike(kind: &str, text: &str) -> Box<dyn Topology> {
    let (rate, latency) = (Bandwidth(4_000_000_000), Duration(LATENCY));
    let links = LinkDefaults { bandwidth: rate, latency, host_bandwidth: rate, host_latency: latency };
    let entry = find(TOPOLOGIES, "topology", kind).unwrap();
    (entry.build)(&support::arguments(entry.parameters, text), &links).unwrap()
}

/// A network on which `faults` happen.
fn failing(kind: &str, text: &str, routing: &str, faults: impl Fn(&dyn Topology) -> Faults) -> Arc<Fabric> {
    failing_with([1; 2], [kind, text, routing], faults)
}

/// The same with so many NICs on each host, of so many links.
fn failing_with(
    [nics, links]: [u8; 2],
    named: [&str; 3],
    faults: impl Fn(&dyn Topology) -> Faults,
) -> Arc<Fabric> {
    let [kind, text, routing] = named;
    let topology = with_nic_links(with_nics(alike(kind, text), nics), links);
    let inner = try_routing(routing, "", &*topology).unwrap();
    let faults = faults(&*topology);
    let routing = Box::new(Around::new(inner, &*topology, faults));
    Arc::new(Fabric { topology, routing })
}

fn planned(topology: &dyn Topology, link: &str, fails_at: u64, returns_at: u64) -> Planned {
    let what = Failing::Links(links_named(topology, link, None).unwrap());
    Planned { what, fails_at: Time(fails_at), returns_at: Time(returns_at) }
}

fn given(planned: Vec<Planned>) -> Faults {
    Faults { planned, ..Faults::default() }
}

const NEVER: u64 = u64::MAX;

/// Six routers with a host each.
const RING: &str = "size = 6";
const LATENCY: u64 = 100 * NS;
const BYTE: u64 = 250;

fn options() -> PacketOptions {
    PacketOptions {
        payload: Bytes(1000),
        header: Bytes(0),
        flit: Bytes(1),
        buffer: Some(Bytes(4000)),
        crossbar: None,
        output_buffer: None,
        switching: Switching::VirtualCutThrough,
        arbitration: Arbitration::RoundRobin,
        pipeline: Duration(0),
    }
}

const TIMEOUT: u64 = 20 * US;

/// Packets of 1000 B without a header, acknowledged by 10 B, sent again after 20 us.
fn packets(fabric: &Arc<Fabric>) -> Packet {
    packets_through(fabric, 4000, None)
}

/// The same, through buffers of that size at inputs, and at outputs, if they have some.
fn packets_through(fabric: &Arc<Fabric>, buffer: u64, output_buffer: Option<u64>) -> Packet {
    let never = Bytes(u64::MAX);
    let transport = Transport {
        get_above: never,
        get_up_to: never,
        put_response: Bytes(10),
        get_request: Bytes(10),
        get_header: Bytes(10),
        reliability: Reliability { timeout: Duration(TIMEOUT), doublings: 0, ..Reliability::LOSSLESS },
    };
    let hosts = Arc::new(common::transparent(2));
    let output_buffer = output_buffer.map(Bytes);
    let crossbar = output_buffer.map(|_| Bandwidth(16_000_000_000));
    let options = PacketOptions { buffer: Some(Bytes(buffer)), crossbar, output_buffer, ..options() };
    Packet::with_transport(fabric.clone(), hosts, options, Some(transport), &Part::whole())
}

fn ring(faults: impl Fn(&dyn Topology) -> Vec<Planned>) -> Arc<Fabric> {
    failing("ring", RING, "dimension-order", |topology| given(faults(topology)))
}

/// Times at which messages of 1000 B are delivered, sent at these times between these hosts.
fn delivered(packet: &mut Packet, messages: &[(u64, u32, u32)]) -> Vec<u64> {
    let number = 0..messages.len() as u64;
    let messages: Vec<_> = (messages.iter().zip(number))
        .map(|((at, from, to), number)| (Time(*at), common::message((*from, 0), (*to, 0), 1000, number)))
        .collect();
    let all = common::drive_answered(packet, &messages).into_iter();
    all.map(|(_, delivered)| delivered.map_or(NEVER, |at| at.0)).collect()
}

/// From host 0 to host 1 it is one hop; where the cable between them is down, five hops the other way.
#[test]
fn a_message_goes_the_other_way_round_a_broken_ring() {
    let on_wire = 1000 * BYTE;
    for (fails_at, hops) in [(0, 5), (10 * US, 5), (10 * US + 1, 1), (NEVER, 1)] {
        let fabric = ring(|topology| vec![planned(topology, "(0) <-> (1)", fails_at.min(NEVER - 1), NEVER)]);
        let mut packet = packets(&fabric);
        // The tail of one that leaves before the failure must be over before it.
        let at = 10 * US;
        let late = fails_at == at + 1;
        let times = delivered(&mut packet, &[(at, 0, 1)]);
        let expected = at + (2 + if late { 5 } else { hops }) * LATENCY + on_wire;
        let resent = if late { TIMEOUT + on_wire } else { 0 };
        assert_eq!(times, [expected + resent], "fails at {fails_at}");
        assert_eq!(packet.missing_credit(Time(NEVER - 1)), 0);
    }
}

/// Packets on their way around wait in queues of routers that mark packets, too, once they know for which link.
#[test]
fn packets_that_are_marked_go_around_as_others_do() {
    let fabric = ring(|topology| vec![planned(topology, "(0) <-> (1)", 0, NEVER)]);
    let messages = [(0, 0, 1), (0, 5, 1), (0, 0, 2), (0, 4, 1), (5 * US, 0, 1)];
    let control = || Box::new(Dctcp::new(Bytes(1000), 0.0625, Bytes(10_000))) as Box<dyn Controller>;
    let mut marked = packets(&fabric).with_congestion(Arc::new(control), Bytes(1000));
    assert_eq!(delivered(&mut marked, &messages), delivered(&mut packets(&fabric), &messages));
    let waiting: Vec<_> = (0..fabric.topology.links()).map(|link| marked.queued(LinkId(link)).0).collect();
    assert!(waiting.iter().all(|bytes| *bytes == 0), "{waiting:?}");
}

/// A packet whose tail has not come when its link fails is lost, and goes again a timeout after its tail has
/// left the NIC: over the same link if that is back, else around. One that has set out for a way around
/// takes the shortest that there is at each router, so a link that is back by then will do.
#[test]
fn a_packet_lost_on_its_way_is_sent_again() {
    let on_wire = 1000 * BYTE;
    // Its head is at router 0 at 100 ns, its tail at router 1 at 200 ns and 250 ns on the wire.
    let tail = 2 * LATENCY + on_wire;
    let sets_out = on_wire + TIMEOUT;
    for (fails_at, returns_at, again, around, hops) in [
        (tail, NEVER, false, false, 1),
        (tail - 1, tail + 1, true, false, 1),
        (tail - 1, sets_out, true, false, 1),
        (tail - 1, sets_out + 1, true, true, 1),
        (tail - 1, sets_out + LATENCY + 1, true, true, 5),
        (LATENCY + 1, NEVER, true, true, 5),
    ] {
        let fabric = ring(|topology| vec![planned(topology, "(0) -> (1)", fails_at, returns_at)]);
        let mut packet = packets(&fabric);
        let times = delivered(&mut packet, &[(0, 0, 1)]);
        let begins = if again { sets_out } else { 0 };
        assert_eq!(times, [begins + (2 + hops) * LATENCY + on_wire], "fails at {fails_at}");
        let losses = packet.totals().losses;
        let once = u64::from(again);
        assert_eq!((losses.lost, losses.broken, losses.resent), (once, once, once));
        assert_eq!(losses.rerouted, u64::from(around));
        assert_eq!(losses.rerouted_messages, losses.rerouted);
        assert_eq!(packet.missing_credit(Time(NEVER - 1)), 0);
    }
}

/// A failure that nobody knows yet changes no route: a packet waits at the failed link until that is back or known to
/// have failed.
#[test]
fn nothing_goes_around_before_the_failure_is_known() {
    let on_wire = 1000 * BYTE;
    let fails_at = 10 * US;
    let fabric = |returns_at| {
        failing("ring", RING, "dimension-order", |topology| Faults {
            detection: Duration(2 * US),
            ..given(vec![planned(topology, "(0) <-> (1)", fails_at, returns_at)])
        })
    };
    // Back before anybody has noticed: it goes on at once.
    let mut packet = packets(&fabric(fails_at + US));
    let times = delivered(&mut packet, &[(fails_at, 0, 1)]);
    assert_eq!(times, [fails_at + US + 2 * LATENCY + on_wire]);
    assert_eq!(packet.totals().losses.lost, 0);
    // Known after 2 us: dropped, and sent again around; one that comes later goes around at once.
    let mut packet = packets(&fabric(NEVER));
    let later = fails_at + 2 * US;
    let times = delivered(&mut packet, &[(fails_at, 0, 1), (later, 0, 1)]);
    let around = 7 * LATENCY + on_wire;
    assert_eq!(times, [fails_at + on_wire + TIMEOUT + around, later + around]);
    assert_eq!((packet.totals().losses.lost, packet.totals().losses.resent), (1, 1));
}

/// A message that waits for its host's own link goes on when that is back, long after anything has happened.
#[test]
fn a_message_waits_for_the_link_of_its_host() {
    let (fails_at, returns_at) = (10 * US, 900 * US);
    for detection in [0, 5 * US, 2_000 * US] {
        let fabric = failing("ring", RING, "dimension-order", |topology| Faults {
            detection: Duration(detection),
            ..given(vec![planned(topology, "host 0 <-> (0)", fails_at, returns_at)])
        });
        let mut packet = packets(&fabric);
        let times = delivered(&mut packet, &[(11 * US, 0, 1)]);
        // Who waits for a way hears of the return when all do; who has asked for the link goes on at once.
        let known = if detection == 5 * US { detection } else { 0 };
        assert_eq!(times, [returns_at + known + 3 * LATENCY + 1000 * BYTE], "detection {detection}");
    }
}

/// Two packets of host 0, A and C, and one of host 5, B, go over the link from router 0 to router 1, in ns:
///
/// ```text
/// crossing   A [100, 350]   B [350, 450]   C [450, 600]     B may cross from 200 on, C from 350: as fast as they come
/// link       A [100, 350]   B [350, …]
/// ```
///
/// The link fails at 500, when A is at router 1, B on the link and C at the output. B is lost. C goes on if the link returns
/// before anybody knows, and is lost once that is known; so it is when the router fails.
#[test]
fn a_failed_link_takes_what_has_crossed_to_it() {
    let (at, fails_at) = (10 * US, 10 * US + 500 * NS);
    let run = |link: bool, returns_at, detection| {
        let fabric = failing("ring", RING, "dimension-order", |topology| {
            let what = match link {
                true => Failing::Links(links_named(topology, "(0) -> (1)", None).unwrap()),
                false => Failing::Router(router_named(topology, "(0)").unwrap()),
            };
            let planned = Planned { what, fails_at: Time(fails_at), returns_at: Time(returns_at) };
            Faults { detection: Duration(detection), ..given(vec![planned]) }
        });
        let mut packet = packets_through(&fabric, 4000, Some(1000));
        let times = delivered(&mut packet, &[(at, 0, 1), (at, 0, 1), (at, 5, 1)]);
        assert_eq!(packet.missing_credit(Time(NEVER - 1)), 0);
        let losses = packet.totals().losses;
        assert_eq!(losses.lost, losses.broken);
        (times.iter().map(|time| (time - at) / NS).collect::<Vec<_>>(), losses.lost)
    };
    // From the timeout on: B sets out 250 ns after the first time, C 500 ns.
    let again = |sets_out: u64, hops: u64| sets_out + TIMEOUT / NS + (2 + hops) * 100 + 250;
    let returns_at = fails_at + 150 * NS;
    assert_eq!(run(true, returns_at, 2 * US), (vec![550, 650 + 450, again(250, 2)], 1));
    assert_eq!(run(true, NEVER, 0), (vec![550, again(500, 5), again(250, 4)], 2));
    // The answer to A finds no way at 550, so that A is sent again, too: B and C wait behind it at the link, until 600 and
    // 850 ns from the timeout on, where they are at 450 and 600.
    assert_eq!(run(false, returns_at, 0), (vec![550, again(500, 1) + 250, again(250, 2) + 150], 3));
}

/// A router that fails takes what is in its buffers, and cuts off its hosts until it is back.
#[test]
fn messages_to_a_failed_router_wait_until_it_returns() {
    let on_wire = 1000 * BYTE;
    let (fails_at, returns_at) = (10 * US, 50 * US);
    let fabric = ring(|topology| {
        let what = Failing::Router(router_named(topology, "(1)").unwrap());
        vec![Planned { what, fails_at: Time(fails_at), returns_at: Time(returns_at) }]
    });
    let mut packet = packets(&fabric);
    // To it, through it (two hops, or four the other way), from it, and past the one that waits.
    let messages = [(fails_at, 0, 1), (fails_at, 5, 1), (20 * US, 0, 2), (20 * US, 1, 0), (20 * US, 0, 5)];
    let times = delivered(&mut packet, &messages);
    let takes = |hops: u64| (2 + hops) * LATENCY + on_wire;
    let expected = [
        returns_at + takes(1),
        returns_at + takes(2),
        20 * US + takes(4),
        returns_at + takes(1),
        // Behind the one to host 2 on the link of host 0.
        20 * US + on_wire + takes(1),
    ];
    // The messages of hosts 0 and 5 to host 1 come by the same link of the ring: the second follows.
    assert_eq!(times[..1], expected[..1]);
    assert_eq!(times[2..], expected[2..]);
    assert!(times[1] >= expected[1] && times[1] <= expected[1] + 2 * on_wire, "{times:?}");
    assert_eq!(packet.totals().losses.waited, 3);
    assert_eq!(packet.totals().losses.lost, 0);
}

/// A run in which nothing returns ends, and the model says who waits.
#[test]
fn who_is_cut_off_is_told() {
    let fabric = ring(|topology| vec![planned(topology, "host 1 <-> (1)", 3 * US, NEVER)]);
    let mut packet = packets(&fabric);
    let times = delivered(&mut packet, &[(5 * US, 0, 1), (5 * US, 1, 0), (5 * US, 0, 2)]);
    assert_eq!(times[..2], [NEVER, NEVER]);
    assert_eq!(times[2], 5 * US + 4 * LATENCY + 1000 * BYTE);
    let cut_off: Vec<_> = packet.cut_off().iter().map(|cut| (cut.from.0, cut.to.0, cut.since.0)).collect();
    assert_eq!(cut_off, [(0, 1, 5 * US), (1, 0, 5 * US)]);
}

/// One of two parallel links serves for both, without a way around.
#[test]
fn a_parallel_link_does_for_one_that_has_failed() {
    let text = format!("{RING}\nlanes = 2");
    let fabric = failing("ring", &text, "dimension-order", |topology| {
        let lane = |lane| links_named(topology, "(0) <-> (1)", Some(lane)).unwrap();
        assert_eq!([lane(0), lane(1)].map(|links| links.len()), [2, 2]);
        let planned = Planned { what: Failing::Links(lane(1)), fails_at: Time(0), returns_at: Time::NEVER };
        given(vec![planned])
    });
    let mut packet = packets(&fabric);
    for at in 1..20 {
        let at = at * 10 * US;
        assert_eq!(delivered(&mut packet, &[(at, 0, 1)]), [at + 3 * LATENCY + 1000 * BYTE]);
    }
    assert_eq!(packet.totals().losses.rerouted, 0);
}

fn at_random(to_failure: u64, to_repair: u64) -> Option<Rates> {
    Some(Rates { to_failure: Duration(to_failure), to_repair: Duration(to_repair) })
}

/// Networks with parallel links, levels, groups, and choices on the way.
const NETWORKS: [(&str, &str, &str); 9] = [
    ("torus", "sizes = [4, 3]\nhosts_per_router = 2", "dimension-order"),
    ("torus", "sizes = [3, 3]\nlanes = [2, 1, 1, 2]", "valiant"),
    ("mesh", "sizes = [3, 3]", "minimal"),
    ("hyperx", "sizes = [3, 3]", "ugal-l"),
    ("fat-tree", "k = 4\nlevels = 3", "d-mod-k"),
    ("fat-tree", "k = 4\nlevels = 3", "least-loaded-up"),
    ("dragonfly", "routers_per_group = 3\nhosts_per_router = 1\nglobal_links_per_router = 1", "minimal"),
    (
        "dragonfly",
        "routers_per_group = 3\nhosts_per_router = 1\nglobal_links_per_router = 1",
        "progressive-adaptive",
    ),
    ("ring", "size = 5", "shortest-path"),
];

fn any_message() -> impl Strategy<Value = (Time, u32, u32, u64)> {
    let size = prop_oneof![Just(0u64), 1..3_000u64, 1..40_000u64];
    (0..400u64, any::<u32>(), any::<u32>(), size)
        .prop_map(|(at, from, to, size)| (Time(at * US), from, to, size))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(11), ..Default::default() })]

    /// Through failures and returns of links and routers each message is delivered once, in the same way
    /// however the network is cut, and in the end every buffer is known to be empty.
    #[test]
    fn all_arrives_once_for_every_cut(
        drawn in prop::collection::vec(any_message(), 1..40),
        seed in any::<u64>(),
        protocol in prop::sample::select(&["packet packets", "packet fma", "packet packets 0.05", "packet packets buffered"]),
        detection in 0..3u64,
        nics in 1..4u8,
        links in 1..4u8,
    ) {
        for (kind, text, routing) in NETWORKS {
            let fabric = failing_with([nics, links], [kind, text, routing], |_| Faults {
                cables: at_random(400 * US, 60 * US),
                routers: at_random(2_000 * US, 80 * US),
                detection: Duration(detection * 700 * NS),
                seed,
                ..Faults::default()
            });
            let hosts_count = fabric.topology.hosts();
            let messages: Vec<(Time, Message)> = drawn.iter().enumerate().map(|(number, (at, from, to, size))| {
                (*at, common::message((from % hosts_count, 0), (to % hosts_count, 0), *size, number as u64))
            }).collect();
            let nics = Nics { count: nics, choice: NicChoice::LeastLoaded, setup: Duration(300 * NS), order: Some(NicOrder::InTurn), in_planes: false };
            let hosts = Arc::new(HostParameters { nics, ..common::transparent(2) });
            let whole = Arc::new(Cut::whole());
            let run = |cut: &Arc<Cut>| {
                let parts = run_with(protocol, &fabric, &hosts, cut, &messages, |_, _| {});
                let losses = parts.iter().map(|(_, network)| network.totals(Time::LAST).losses);
                let losses = losses.reduce(|one, other| one + other).unwrap();
                let logs: Vec<_> = parts.into_iter().map(|(log, _)| log).collect();
                (times(&logs, messages.len()), losses)
            };
            let (alone, losses) = run(&whole);
            for (number, times) in alone.iter().enumerate() {
                prop_assert!(times.delivered < Time::NEVER, "{kind} {routing}: message {number} is lost");
            }
            let most = fabric.most_parts().unwrap_or(1);
            for parts in [2, 3, 5] {
                let weights = vec![1; hosts_count as usize];
                let cut = Arc::new(Cut::new(&*fabric.topology, Grain::Routers, parts.min(most), &weights));
                let (cut_up, cut_losses) = run(&cut);
                prop_assert_eq!(&cut_up, &alone, "{} {} in {} parts", kind, routing, cut.parts());
                prop_assert_eq!(cut_losses, losses, "{} {} in {} parts", kind, routing, cut.parts());
            }
        }
    }

    /// No credit is lost for ever, and nothing waits in a circle, not even in buffers of a single packet.
    #[test]
    fn credits_are_conserved(
        drawn in prop::collection::vec(any_message(), 20..60),
        seed in any::<u64>(),
        buffer in prop::sample::select(&[1000, 4000]),
        output_buffer in prop::sample::select(&[None, Some(1000), Some(3000)]),
        links in 1..4u8,
    ) {
        let mut cost = Losses::default();
        for (kind, text, routing) in NETWORKS {
            let fabric = failing_with([1, links], [kind, text, routing], |_| Faults {
                cables: at_random(60 * US, 20 * US),
                routers: at_random(300 * US, 10 * US),
                seed,
                ..Faults::default()
            });
            let hosts = fabric.topology.hosts();
            let messages: Vec<_> = drawn.iter().enumerate().map(|(number, (at, from, to, size))| {
                (*at, common::message((from % hosts, 0), (to % hosts, 0), *size, number as u64))
            }).collect();
            let mut packet = packets_through(&fabric, buffer, output_buffer);
            let times = common::drive_answered(&mut packet, &messages);
            let done = times.iter().all(|(sent, delivered)| sent.is_some() && delivered.is_some());
            prop_assert!(
                done,
                "{kind} {routing}: {:?} waits {:?}, missing {}, cut off {:?}",
                network::deadlock::describe(&[&packet]),
                packet.waits(),
                packet.missing_credit(Time(u64::MAX - 1)),
                packet.cut_off()
            );
            prop_assert_eq!(packet.missing_credit(Time(u64::MAX - 1)), 0, "{} {}", kind, routing);
            let losses = packet.totals().losses;
            prop_assert!(losses.broken == losses.lost, "{:?}", losses);
            cost = cost + losses;
        }
        let Losses { broken, rerouted, waited, .. } = cost;
        prop_assert!([broken, rerouted, waited].iter().all(|count| *count > 20), "too quiet: {cost:?}");
    }
}
