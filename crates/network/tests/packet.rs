//! The packet model beside closed forms, and what must hold for any traffic.

use crate::common;
use crate::support;

use std::sync::Arc;

use common::parts;
use engine::registry::{Arguments, Value, find};
use engine::{Bandwidth, Bytes, Duration, Time};
use network::model::{Arbitration, Packet, PacketOptions, Switching};
use network::routing::{ROUTINGS, Routing};
use network::topology::nic_links::with_nic_links;
use network::topology::planes::with_planes;
use network::topology::several_nics::with_nics;
use network::topology::{LinkDefaults, TOPOLOGIES};
use network::{
    Cut, Fabric, Grain, HostParameters, Message, Network, NicChoice, NicOrder, NicPair, Nics, Topology,
};
use proptest::prelude::*;
use proptest::sample::select;
use support::Example;

/// 4 GB/s: 250 ps for a byte.
const BYTE: u64 = 250;
const PIPELINE: Duration = Duration(94_000);
const CABLE: Duration = Duration(10_000);

const LINKS: LinkDefaults = LinkDefaults {
    bandwidth: Bandwidth(4_000_000_000),
    latency: Duration(104_000),
    host_bandwidth: Bandwidth(4_000_000_000),
    host_latency: Duration(104_000),
};

fn integers(values: &[i64]) -> Value {
    Value::List(values.iter().map(|value| Value::Integer(*value)).collect())
}

fn fabric(kind: &str, arguments: &[(&'static str, Value)]) -> Arc<Fabric> {
    routed(kind, arguments, |topology| {
        let routing = find(ROUTINGS, "routing", topology.default_routing()).unwrap();
        (routing.build)(&Arguments::default(), topology, 0).unwrap()
    })
}

fn routed(
    kind: &str,
    arguments: &[(&'static str, Value)],
    routing: impl FnOnce(&dyn Topology) -> Box<dyn Routing>,
) -> Arc<Fabric> {
    let arguments = Arguments(arguments.iter().cloned().collect());
    let topology = (find(TOPOLOGIES, "topology", kind).unwrap().build)(&arguments, &LINKS).unwrap();
    let routing = routing(&*topology);
    Arc::new(Fabric { topology, routing })
}

/// A torus with one host on each router.
fn torus(sizes: &[i64]) -> Arc<Fabric> {
    fabric("torus", &[("sizes", integers(sizes)), ("hosts_per_router", Value::Integer(1))])
}

/// Packets of 2 KiB with a header of 32 bytes in flits of 16, four to a buffer.
fn options() -> PacketOptions {
    PacketOptions {
        payload: Bytes(2016),
        header: Bytes(32),
        flit: Bytes(16),
        buffer: Some(Bytes(8192)),
        crossbar: None,
        output_buffer: None,
        switching: Switching::VirtualCutThrough,
        arbitration: Arbitration::RoundRobin,
        pipeline: PIPELINE,
    }
}

fn hosts() -> Arc<HostParameters> {
    Arc::new(common::transparent(2))
}

/// Times at which messages are delivered.
fn run(packet: &mut Packet, messages: &[(Time, Message)]) -> Vec<Time> {
    common::run(packet, messages).iter().map(|times| times.delivered).collect()
}

/// One packet over h links: it is on the wire once, and passes each link's latency.
#[test]
fn a_packet_cuts_through() {
    let mut packet = Packet::new(torus(&[8, 8]), hosts(), options());
    // Three hops in x, two in y, and the hosts' links. 100 bytes and a header are nine flits.
    let delivered = run(&mut packet, &[(Time(500), common::message((0, 0), (19, 0), 100, 0))]);
    let links = 3 + 2 + 2;
    assert_eq!(delivered, [Time(500 + (links - 1) * 104_000 + 104_000 + 9 * 16 * BYTE)]);
    assert_eq!(packet.totals().packet_hops, links);
}

/// Store and forward: it is on every wire once.
#[test]
fn a_stored_packet_is_on_every_wire() {
    let options = PacketOptions { switching: Switching::StoreAndForward, ..options() };
    let mut packet = Packet::new(torus(&[8, 8]), hosts(), options);
    let delivered = run(&mut packet, &[(Time(0), common::message((0, 0), (19, 0), 100, 0))]);
    assert_eq!(delivered, [Time(7 * (104_000 + 9 * 16 * BYTE))]);
}

/// A long message: its packets follow each other without a gap, for a buffer of four packets is more
/// than a round trip.
#[test]
fn a_long_message_runs_at_the_rate_of_the_wire() {
    let mut packet = Packet::new(torus(&[8, 8]), hosts(), options());
    let size = 1000 * 2016;
    let delivered = run(&mut packet, &[(Time(0), common::message((0, 0), (19, 0), size, 0))]);
    assert_eq!(delivered, [Time(7 * 104_000 + 1000 * 2048 * BYTE)]);
}

/// A buffer of one packet: a router's is free again a cable, a pipeline, a packet and a cable later;
/// a host's one packet and two cables later, which are longer here, for no router stands at their end.
#[test]
fn a_small_buffer_limits_the_rate() {
    let options = PacketOptions { buffer: Some(Bytes(2048)), ..options() };
    let mut packet = Packet::new(torus(&[8, 8]), hosts(), options);
    let size = 50 * 2016;
    let delivered = run(&mut packet, &[(Time(0), common::message((0, 0), (1, 0), size, 0))]);
    let wire = 2048 * BYTE;
    let router = CABLE.0 + PIPELINE.0 + wire + CABLE.0;
    let host = wire + 2 * LINKS.host_latency.0;
    let period = router.max(host);
    assert_eq!(delivered, [Time(3 * 104_000 + 49 * period + wire)]);
}

/// Alone, a packet waits for neither crossbar nor output: with a crossbar as fast as the links, or faster, it takes what it
/// takes without output buffers. A slower one is the narrowest place of the way.
#[test]
fn output_buffers_cost_an_idle_network_nothing() {
    let rates = [None, Some(4_000_000_000), Some(16_000_000_000), Some(u64::MAX), Some(1_000_000_000)];
    for (crossbar, packets) in rates.into_iter().flat_map(|rate| [1, 2, 1000].map(|packets| (rate, packets)))
    {
        for output_buffer in [None, Some(Bytes(2048)), Some(Bytes(8192))] {
            let crossbar = crossbar.map(Bandwidth);
            let mut packet =
                Packet::new(torus(&[8, 8]), hosts(), PacketOptions { crossbar, output_buffer, ..options() });
            let message = common::message((0, 0), (19, 0), packets * 2016, 0);
            let delivered = run(&mut packet, &[(Time(0), message)]);
            let byte = if crossbar == Some(Bandwidth(1_000_000_000)) { 4 * BYTE } else { BYTE };
            assert_eq!(
                delivered,
                [Time(7 * 104_000 + packets * 2048 * byte)],
                "{crossbar:?} {output_buffer:?}"
            );
            assert_eq!(packet.idle_time(&message), delivered[0].since(Time(0)));
        }
    }
}

/// Hosts 1, 2 and 3 each have a packet for host 0, stored at the router at 104 ns and a wire's time; host 3 has another
/// behind it, for host 4, whose link is idle. In wires' times after that, host 4's packet leaves:
///
/// ```text
/// no buffers, or room for one packet     at 2: the one before it crosses when the link to host 0 is idle
///             and a crossbar like links  at 3: and takes its time
/// room for two                           at 1, when it has come: the other two are in the buffer, or have left
///             and a crossbar like links  at 3: two have crossed before the one before it
/// ```
#[test]
fn a_packet_at_its_output_blocks_nobody() {
    let fabric = fabric("crossbar", &[("hosts", Value::Integer(5))]);
    let send = |(number, (from, to))| (Time(0), common::message((from, 0), (to, 0), 2016, number));
    let messages: Vec<_> = (0..).zip([(1, 0), (2, 0), (3, 0), (3, 4)]).map(send).collect();
    let wire = 2048 * BYTE;
    let none = (None, Bandwidth::INFINITE, 2);
    let (one, two) = ((Some(2048), Bandwidth::INFINITE, 2), (Some(4096), Bandwidth::INFINITE, 1));
    let slow = [None, Some(2048), Some(4096)].map(|buffer| (buffer, LINKS.bandwidth, 3));
    for (output_buffer, crossbar, leaves) in [none, one, two].into_iter().chain(slow) {
        let options = PacketOptions {
            switching: Switching::StoreAndForward,
            output_buffer: output_buffer.map(Bytes),
            crossbar: Some(crossbar),
            ..options()
        };
        let nics = Nics { order: Some(NicOrder::InTurn), ..Nics::ONE };
        let hosts = HostParameters { nics, ..common::transparent(1) };
        let mut packet = Packet::new(fabric.clone(), hosts.into(), options);
        let delivered = run(&mut packet, &messages);
        let stored = 104_000 + wire;
        assert_eq!(
            delivered[3],
            Time(stored + leaves * wire + wire + 104_000),
            "{output_buffer:?} {crossbar}"
        );
    }
}

/// Two messages for one host share its link packet by packet.
#[test]
fn two_senders_take_turns() {
    let mut packet = Packet::new(torus(&[9]), hosts(), options());
    let size = 100 * 2016;
    let messages =
        [(1, 0), (8, 1)].map(|(from, number)| (Time(0), common::message((from, 0), (0, 0), size, number)));
    let mut delivered = run(&mut packet, &messages);
    delivered.sort_unstable();
    let wire = 2048 * BYTE;
    assert_eq!(delivered, [Time(3 * 104_000 + 199 * wire), Time(3 * 104_000 + 200 * wire)]);
}

/// With a single channel on a ring of which every link is full, nothing moves, and the cycle is named.
#[test]
fn a_ring_without_a_dateline_is_stuck() {
    struct OneChannel(Arc<Fabric>);
    impl Routing for OneChannel {
        fn route(
            &self,
            topology: &dyn network::Topology,
            trip: network::routing::Trip,
            load: &dyn network::routing::Load,
            path: &mut Vec<network::LinkId>,
        ) {
            self.0.routing.route(topology, trip, load, path);
        }
        fn channels(&self, _: &dyn network::Topology, path: &[network::LinkId], channels: &mut Vec<u8>) {
            channels.clear();
            channels.resize(path.len(), 0);
        }
        fn channel_count(&self) -> u8 {
            1
        }
        fn longest(&self, topology: &dyn network::Topology) -> u32 {
            self.0.routing.longest(topology)
        }
        fn is_adaptive(&self) -> bool {
            false
        }
        fn idle(
            &self,
            topology: &dyn network::Topology,
            from: network::HostId,
            to: network::HostId,
        ) -> network::topology::Idle {
            self.0.routing.idle(topology, from, to)
        }
    }
    let arguments = [("sizes", integers(&[7])), ("hosts_per_router", Value::Integer(1))];
    let plain = fabric("torus", &arguments);
    let one = routed("torus", &arguments, |_| Box::new(OneChannel(plain.clone())));
    let messages: Vec<_> = (0..7)
        .map(|at| (Time(0), common::message((at, 0), ((at + 3) % 7, 0), 400_000, u64::from(at))))
        .collect();
    let mut stuck = Packet::new(one, hosts(), options());
    let mut queue = engine::Queue::new();
    for (at, message) in &messages {
        stuck.inject(*at, message, &mut queue);
    }
    stuck.end_instant(Time(0), &mut queue);
    let mut arrivals = Vec::new();
    while let Some(event) = queue.pop() {
        stuck.wake(event.time, event.token, &mut queue, &mut arrivals);
        if queue.instant_is_over() {
            stuck.end_instant(event.time, &mut queue);
        }
    }
    let delivered = |arrival: &network::Arrival| arrival.happening == network::Happening::Delivered;
    assert!(!arrivals.iter().any(delivered));
    let why = network::deadlock::describe(&[&stuck]).expect("a cycle");
    assert!(why.starts_with("7 channels wait for each other's room: "), "{why}");
    // With the dateline's two channels, all arrive.
    let mut free = Packet::new(plain, hosts(), options());
    run(&mut free, &messages);
    assert_eq!(network::deadlock::describe(&[&free]), None);
}

/// Some networks of different kinds, each with a routing that fits it.
fn any_networks() -> impl Strategy<Value = Vec<(Example, Example)>> {
    let network = select(support::fitting_networks(40))
        .prop_flat_map(select)
        .prop_flat_map(|(topology, routings)| select(routings).prop_map(move |routing| (topology, routing)));
    prop::collection::vec(network, 10)
}

fn any_message(hosts: u32) -> impl Strategy<Value = (Time, Message)> {
    let end = move || (0..hosts, 0..2u16);
    let size = prop_oneof![Just(0u64), 1..64u64, 1..20_000u64, Just(2016u64)];
    (0..6u64, end(), end(), size, any::<bool>()).prop_map(|(at, from, to, size, notify_sent)| {
        (Time(at * 128_000), Message { notify_sent, ..common::message(from, to, size, 0) })
    })
}

/// One NIC, or some that messages choose in any way and that take time for each.
fn any_nics() -> impl Strategy<Value = Nics> {
    let choice = prop::sample::select(NicChoice::NAMES).prop_map(|name| NicChoice::named(name).unwrap());
    let several = (2..=3u8, choice, prop::sample::select(&[0, 64_000u64]), any::<bool>());
    let several = several.prop_map(|(count, choice, setup, in_planes)| Nics {
        count,
        choice,
        setup: Duration(setup),
        order: None,
        in_planes,
    });
    prop_oneof![Just(Nics::ONE), several]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(3), ..Default::default() })]

    /// Whatever the traffic: all arrives (the driver checks: exactly once), no sooner than alone, and in
    /// the end every credit is where it was.
    #[test]
    fn everything_arrives(
        mut messages in prop::collection::vec(any_message(27), 1..200),
        age in any::<bool>(),
        crossbar in prop::option::of(select(&[1_000_000_000, 4_000_000_000, 9_000_000_001, u64::MAX][..])),
        output_buffer in prop::option::of(select(&[2048, 5000][..])),
        links in select(&[1, 1, 2, 3][..]),
        rated in any::<bool>(),
    ) {
        let (crossbar, output_buffer) = (crossbar.map(Bandwidth), output_buffer.map(Bytes));
        for (number, (_, message)) in messages.iter_mut().enumerate() {
            common::renumber(message, number as u64);
        }
        let arbitration = if age { Arbitration::Age } else { Arbitration::RoundRobin };
        let networks = [
            torus(&[3, 3, 3]),
            fabric("fat-tree", &[("m", integers(&[3, 3, 3])), ("w", integers(&[1, 2, 2]))]),
            fabric("crossbar", &[("hosts", Value::Integer(27))]),
        ];
        for fabric in networks {
            let options = PacketOptions { arbitration, crossbar, output_buffer, ..options() };
            let fabric = Arc::into_inner(fabric).expect("nobody else has it");
            let fabric = Fabric { topology: with_nic_links(fabric.topology, links), ..fabric };
            let mut of_hosts = HostParameters::clone(&hosts());
            if rated {
                of_hosts.regimes[0].nic_rate = Bandwidth(2_900_000_000);
            }
            let mut packet = Packet::new(fabric.into(), of_hosts.into(), options);
            let delivered = run(&mut packet, &messages);
            for (delivered, (at, message)) in delivered.iter().zip(&messages) {
                prop_assert!(*delivered >= *at + packet.idle_time(message));
            }
            prop_assert_eq!(packet.missing_credit(Time(u64::MAX - 1)), 0);
            prop_assert_eq!(network::deadlock::describe(&[&packet]), None);
        }
    }

    /// A network in parts, each with its own queue, does the same as the whole, to the picosecond.
    #[test]
    fn parts_do_what_the_whole_does(
        mut messages in prop::collection::vec(any_message(27), 1..120),
        count in 2..9u32,
        rated in any::<bool>(),
        nics in any_nics(),
        networks in any_networks(),
        named in prop::collection::vec((0..8u8, 0..8u8), 120),
        links in select(&[1, 1, 2, 3][..]),
        name in prop::sample::select(&["packet", "packet", "packet fma-put", "packet fma-get", "packet packets 0.2", "packet fma 0.05", "packet buffered", "packet fma buffered", "packet packets 0.2 buffered"]),
    ) {
        for (number, (_, message)) in messages.iter_mut().enumerate() {
            common::renumber(message, number as u64);
        }
        let mut hosts = HostParameters::clone(&hosts());
        (hosts.packet_payload, hosts.packet_wire) = (Bytes(2016), Bytes(2048));
        if rated {
            hosts.regimes[0].process_rate = Bandwidth(1_700_000_000);
            hosts.regimes[0].nic_rate = Bandwidth(2_900_000_000);
        }
        hosts.nics = nics;
        for ((_, message), (from, to)) in messages.iter_mut().zip(named) {
            let to = if nics.in_planes { from } else { to };
            message.nics = (from.max(to) < nics.count).then_some(NicPair { from, to });
        }
        let hosts = Arc::new(hosts);
        for ((kind, text), (routing, parameters)) in networks {
            let topology = support::topology(kind, text);
            let routing = support::try_routing(routing, parameters, &*topology).unwrap();
            let attached = match nics.in_planes {
                true => with_planes(with_nic_links(topology, links), nics.count),
                false => with_nic_links(with_nics(topology, nics.count), links),
            };
            let fabric = Arc::new(Fabric { topology: attached, routing });
            let own = fabric.topology.hosts();
            let messages: Vec<_> = messages.iter().map(|(at, message)| {
                let mut message = *message;
                (message.from.host.0, message.to.host.0) = (message.from.host.0 % own, message.to.host.0 % own);
                (*at, message)
            }).collect();
            let Ok(most) = fabric.most_parts() else { continue };
            let count = count.min(most);
            let (whole, carried) = parts::run_and_count(name, &fabric, &hosts, &Arc::new(Cut::whole()), &messages);
            let weights = vec![1; fabric.topology.hosts() as usize];
            let cut = Arc::new(Cut::new(&*fabric.topology, Grain::Routers, count, &weights));
            let (cut_up, carried_by_parts) = parts::run_and_count(name, &fabric, &hosts, &cut, &messages);
            prop_assert_eq!(&carried_by_parts, &carried, "{}", name);
            for (me, log) in cut_up.iter().enumerate() {
                let expected = parts::restricted(&whole[0], &cut, me as u32, &messages);
                prop_assert_eq!(log, &expected, "part {} of {} of {}", me, cut.parts(), kind);
            }
        }
    }
}
