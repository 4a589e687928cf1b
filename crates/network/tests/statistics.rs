//! Statistics over time of the packet model beside closed forms, and what must hold for any traffic.

use crate::common;

use std::sync::Arc;

use common::parts;
use engine::registry::{Arguments, Value, find};
use engine::{Bandwidth, Bytes, Duration, Observer, Time};
use network::model::{Arbitration, Packet, PacketOptions, Switching};
use network::routing::ROUTINGS;
use network::statistics::{
    Detail, Held, MOST_REGIONS, Options, Regions, Row, Sent, Statistics, StatisticsObserver, Traffic,
};
use network::topology::{LinkDefaults, TOPOLOGIES};
use network::{
    Cut, Fabric, Grain, HostParameters, LinkId, Message, Network, NetworkRecord, PacketEvents, Part, observe,
};
use proptest::prelude::*;

/// 4 GB/s: 250 ps for a byte, 512 ns for a full packet.
const BYTE: u64 = 250;
const WIRE: u64 = 2048 * BYTE;
const NS: u64 = 1000;

const LINKS: LinkDefaults = LinkDefaults {
    bandwidth: Bandwidth(4_000_000_000),
    latency: Duration(104 * NS),
    host_bandwidth: Bandwidth(4_000_000_000),
    host_latency: Duration(104 * NS),
};

fn integers(values: &[i64]) -> Value {
    Value::List(values.iter().map(|value| Value::Integer(*value)).collect())
}

fn fabric(kind: &str, arguments: &[(&'static str, Value)]) -> Arc<Fabric> {
    let arguments = Arguments(arguments.iter().cloned().collect());
    let topology = (find(TOPOLOGIES, "topology", kind).unwrap().build)(&arguments, &LINKS).unwrap();
    let routing = find(ROUTINGS, "routing", topology.default_routing()).unwrap();
    let routing = (routing.build)(&Arguments::default(), &*topology, 0).unwrap();
    Arc::new(Fabric { topology, routing })
}

/// A torus with one host on each router.
fn torus(sizes: &[i64]) -> Arc<Fabric> {
    fabric("torus", &[("sizes", integers(sizes)), ("hosts_per_router", Value::Integer(1))])
}

/// Packets of 2 KiB with a header of 32 bytes, so many to a buffer; 94 ns of the latency are the router's.
fn packets(to_a_buffer: u64) -> PacketOptions {
    PacketOptions {
        payload: Bytes(2016),
        header: Bytes(32),
        flit: Bytes(16),
        buffer: Some(Bytes(to_a_buffer * 2048)),
        crossbar: None,
        output_buffer: None,
        switching: Switching::VirtualCutThrough,
        arbitration: Arbitration::RoundRobin,
        pipeline: Duration(94 * NS),
    }
}

const ALL: Options = Options {
    detail: Detail::Channels,
    period: Duration(1_000 * NS),
    periods: 512,
    rows: 100_000,
    residence: Duration(700 * NS),
    slow_packets: 10,
};

fn hosts() -> Arc<HostParameters> {
    Arc::new(common::transparent(2))
}

/// Statistics that `messages` leave, all sent at time 0: the sender, the receiver, the size.
fn statistics(
    fabric: &Arc<Fabric>,
    packets: PacketOptions,
    options: &Options,
    messages: &[(u32, u32, u64)],
) -> Statistics {
    let mut packet = Packet::new(fabric.clone(), hosts(), packets);
    keep_statistics(&mut packet, fabric, &Part::whole(), options);
    let message = |(number, (from, to, size)): (usize, &(u32, u32, u64))| {
        (Time(0), common::message((*from, 0), (*to, 0), *size, number as u64))
    };
    let messages: Vec<_> = messages.iter().enumerate().map(message).collect();
    let times = common::run(&mut packet, &messages);
    let end = times.iter().map(|times| times.delivered).max().unwrap();
    take_statistics(&mut packet, end)
}

/// Lets an observer keep statistics of a part of `fabric`.
fn keep_statistics(network: &mut dyn PacketEvents, fabric: &Fabric, part: &Part, options: &Options) {
    network.observe(Box::new(StatisticsObserver::new(options, fabric, part)));
}

/// Statistics up to `end` of a network whose packets were observed.
fn take_statistics(network: &mut dyn PacketEvents, end: Time) -> Statistics {
    observe::taken::<StatisticsObserver>(network).finish(end)
}

/// The rows of one class, its virtual channels together.
fn of_class(statistics: &Statistics, fabric: &Fabric, name: &str) -> Vec<(Sent, Held)> {
    let class = fabric.topology.classes().iter().position(|class| class == name).unwrap() as u32;
    let classes = (0..fabric.topology.classes().len() as u32).collect();
    let by_class = |group: u32| Some(group / statistics.channels);
    let all = statistics.classes.regrouped(classes, by_class, by_class);
    all.rows().filter(|row| row.group == class).map(|row| (row.sent, row.held)).collect()
}

fn total(rows: &[(Sent, Held)]) -> (Sent, Held) {
    let mut sum = (Sent::default(), Held::default());
    for (sent, held) in rows {
        sum.0.busy_ps += sent.busy_ps;
        sum.0.waited_ps += sent.waited_ps;
        sum.0.stalled_ps += sent.stalled_ps;
        sum.0.bytes += sent.bytes;
        sum.0.payload += sent.payload;
        sum.0.packets += sent.packets;
        sum.0.waited_max_ps = sum.0.waited_max_ps.max(sent.waited_max_ps);
        sum.1.byte_ps += held.byte_ps;
        sum.1.max = sum.1.max.max(held.max);
        sum.1.slow += held.slow;
    }
    sum
}

/// A message of 100 packets over one hop: its link is busy without a gap from 104 ns on for 100 packets'
/// time, so each full period carries 4,000 bytes.
#[test]
fn a_link_at_its_full_rate() {
    let fabric = torus(&[8]);
    let statistics = statistics(&fabric, packets(4), &ALL, &[(0, 1, 100 * 2016)]);
    let rows = of_class(&statistics, &fabric, "x+");
    let (first, last) = (1_000 - 104, (104 + 51_200) % 1_000);
    let busy: Vec<u128> = rows.iter().map(|(sent, _)| sent.busy_ps / u128::from(NS)).collect();
    let expected = [vec![first], vec![1_000; 50], vec![last]].concat();
    assert_eq!(busy, expected);
    for ((sent, held), busy_ns) in rows.iter().zip(expected) {
        let bytes = busy_ns as u64 * NS / BYTE;
        assert_eq!(sent.bytes, bytes);
        // The buffer behind it holds one packet, from its head on until its tail has left: a little later.
        assert!(held.max == 2048 || held.max == 0);
    }
    let (sent, held) = total(&rows);
    assert_eq!((sent.bytes, sent.payload, sent.packets), (204_800, 201_600, 100));
    assert_eq!((sent.waited_ps, sent.stalled_ps), (0, 0));
    assert_eq!(held.byte_ps, 100 * 2048 * u128::from(WIRE));
    // One message, from 0 to the end of the run.
    let latencies = statistics.latencies();
    assert_eq!((latencies.count, latencies.max), (1, Duration(3 * 104 * NS + 100 * WIRE)));
    assert_eq!(statistics.until, Time(latencies.max.0));
}

/// Two packets that reach a router at once for the same host: one goes on, the other waits for its tail,
/// stands in its buffer for two packets' time, and in the router for the pipeline's, too.
#[test]
fn two_flows_at_one_output() {
    let fabric = torus(&[9]);
    let statistics = statistics(&fabric, packets(4), &ALL, &[(1, 0, 2016), (8, 0, 2016)]);
    let (down, _) = total(&of_class(&statistics, &fabric, "host down"));
    assert_eq!((down.packets, down.waited_ps, down.waited_max_ps), (2, u128::from(WIRE), WIRE));
    let held = ["x+", "x-"].map(|class| total(&of_class(&statistics, &fabric, class)).1.byte_ps / 2048);
    assert_eq!(held.iter().max(), Some(&u128::from(2 * WIRE)));
    assert_eq!(held.iter().min(), Some(&u128::from(WIRE)));
    let slowest = statistics.slow.slowest();
    assert_eq!((statistics.slow.count(), slowest.len()), (1, 1));
    let slow = slowest[0];
    assert_eq!(slow.residence, Duration(94 * NS + 2 * WIRE));
    assert_eq!((slow.ready, slow.waited), (Time(208 * NS), Duration(WIRE)));
    assert_eq!((slow.next, slow.to.0, slow.number), (LinkId(9), 0, 0));
    assert_eq!(fabric.topology.link(slow.link).to, fabric.topology.link(slow.next).from);
}

/// The same two, stored before they cross at once into output buffers. No input holds them for any time. Outputs do, from
/// the crossing until the tail has left, which counts for the link that the packet goes by: a packet's time at each link of
/// the ring, one and two packets' times at the link to the host.
#[test]
fn packets_that_have_crossed_are_held_at_their_output() {
    let fabric = torus(&[9]);
    let stored = PacketOptions {
        crossbar: Some(Bandwidth::INFINITE),
        output_buffer: Some(Bytes(4096)),
        switching: Switching::StoreAndForward,
        ..packets(4)
    };
    let statistics = statistics(&fabric, stored, &ALL, &[(1, 0, 2016), (8, 0, 2016)]);
    let (down, held) = total(&of_class(&statistics, &fabric, "host down"));
    assert_eq!((down.packets, down.waited_ps, down.waited_max_ps), (2, u128::from(WIRE), WIRE));
    let on_ring = ["x+", "x-"].map(|class| total(&of_class(&statistics, &fabric, class)).1.byte_ps);
    assert_eq!(on_ring, [2048 * u128::from(WIRE); 2]);
    assert_eq!((held.byte_ps, held.max), (3 * 2048 * u128::from(WIRE), 4096));
    let slowest = statistics.slow.slowest();
    assert_eq!((slowest.len(), slowest[0].waited), (1, Duration(WIRE)));
    assert_eq!(slowest[0].residence, Duration(94 * NS + 2 * WIRE));
}

/// A buffer of one packet. With s, d and u the grants at the link between routers, to the host, and from
/// the host, in ns: room at the host is known 208 after a tail has left, at a router 10 after it.
///
/// ```text
/// d(k+1) = d(k) + 512 + 208   requests 114 after d(k) + 512 (10 for the credit, 10 the cable, 94): 94 without
/// s(k+1) = d(k) + 512 + 10    requests 626 after s(k) (512, and 114 likewise)
/// u(k+1) = s(k) + 512 + 10    requests at u(k), and is idle from u(k) + 512
/// ```
///
/// with s(0) = 104, d(0) = 208, u(0) = 0: s and d go on by 720, all but s(1) = s(0) + 626.
#[test]
fn a_buffer_of_one_packet_stalls() {
    let fabric = torus(&[8, 8]);
    let statistics = statistics(&fabric, packets(1), &ALL, &[(0, 1, 50 * 2016)]);
    let stalled = |class| total(&of_class(&statistics, &fabric, class)).0.stalled_ps / u128::from(NS);
    assert_eq!(stalled("host down"), 49 * 94);
    assert_eq!(stalled("x+"), 48 * 94);
    assert_eq!(stalled("host up"), 2 * 114 + 47 * 208);
    let (up, held) = total(&of_class(&statistics, &fabric, "host up"));
    // The first packet of the process waits for nothing, the last begins at u(49) = s(48) + 522.
    assert_eq!(up.waited_ps / u128::from(NS), 104 + 626 + 47 * 720 + 522);
    assert_eq!(held.max, 2048);
}

#[test]
fn copies_within_a_host_are_no_traffic() {
    let statistics = statistics(&torus(&[4]), packets(4), &ALL, &[(1, 1, 5000)]);
    assert_eq!(statistics.classes.rows().count(), 0);
    assert_eq!(statistics.latencies().count, 0);
}

/// Periods never outnumber their bound, nor rows theirs; places are put together where they would.
#[test]
fn a_long_run_is_bounded() {
    let fabric = torus(&[4, 4]);
    let lanes = fabric.topology.links() * 2;
    for (rows, groups) in [(lanes * 16, lanes), (lanes * 8, lanes / 2), (16 * 16, 16), (16 * 15, 0)] {
        let options = Options { periods: 20, rows, residence: Duration(NS), ..ALL };
        let statistics = statistics(&fabric, packets(4), &options, &[(0, 10, 5_000 * 2016)]);
        let end = statistics.until.0;
        let length = statistics.classes.length().0;
        assert!(end / length < 20 && end / (length / 2) >= 20, "the least length that is enough");
        assert_eq!(options.places(&*fabric.topology, 2).map_or(0, |(_, count)| count), groups);
        let periods = |table: &Traffic| table.rows().map(|row| row.period).max().unwrap() as u32 + 1;
        let regions = Regions::of(&*fabric.topology, rows).count();
        assert!(periods(&statistics.regions) * regions <= rows);
        assert!(periods(&statistics.classes) <= 20 && statistics.latency.count() <= 20);
        assert!(statistics.slow.slowest().len() <= 10 && statistics.slow.count() > 10);
        match &statistics.by_place {
            None => assert_eq!(groups, 0),
            Some(places) => assert!(periods(places) <= rows / groups),
        }
        let coarser = [(Detail::Links, groups.min(lanes / 2)), (Detail::Classes, 0)];
        for (detail, groups) in coarser {
            let places = Options { detail, ..options }.places(&*fabric.topology, 2);
            assert_eq!(places.map_or(0, |(_, count)| count), groups, "{detail:?}");
        }
    }
}

/// A message from x = 0 to x = 2 counts for the links upwards in x at 0 and 1, wherever they are in y, and
/// for the regions of its hosts' routers.
#[test]
fn links_count_where_they_are() {
    let fabric = torus(&[8, 4]);
    let statistics = statistics(&fabric, packets(4), &ALL, &[(0, 2, 10 * 2016), (8, 10, 20 * 2016)]);
    let (topology, packets) = (&*fabric.topology, |row: &Row| row.sent.packets);
    let regions = Regions::of(topology, ALL.rows);
    let mut found = vec![0; regions.count() as usize];
    rows(&statistics.regions).iter().for_each(|row| found[row.group as usize] += packets(row));
    let named = |number: usize| regions.get(number as u32);
    let found: Vec<(String, u32, u64)> = (0..found.len())
        .filter(|number| found[*number] > 0)
        .map(|number| {
            (topology.classes()[usize::from(named(number).class)].clone(), named(number).first, found[number])
        })
        .collect();
    let expected = [("host up", 0, 10), ("host up", 8, 20), ("host down", 2, 10), ("host down", 10, 20)];
    let expected = expected.into_iter().chain([("x+", 0, 30), ("x+", 1, 30)]);
    let expected: Vec<_> = expected.map(|(class, first, count)| (class.to_string(), first, count)).collect();
    assert_eq!(found, expected);
}

/// Four of 200 positions make a region, so that there are no more than 64.
#[test]
fn wide_machines_have_few_regions() {
    let fabric = torus(&[200, 2]);
    let regions = Regions::of(&*fabric.topology, 500_000);
    let all: Vec<_> = (0..regions.count()).map(|number| regions.get(number)).collect();
    for (class, name) in fabric.topology.classes().iter().enumerate() {
        let mine: Vec<_> = all.iter().filter(|region| usize::from(region.class) == class).collect();
        let (of, count, width) = match name.as_str() {
            "x+" | "x-" => ("x", 200, 4),
            "y+" | "y-" => ("y", 2, 1),
            _ => ("router", 400, 7),
        };
        assert!(
            mine.len() == (count as usize).div_ceil(width as usize) && mine.len() <= MOST_REGIONS as usize
        );
        for (number, region) in (0..).zip(&mine) {
            let last = (number * width + width - 1).min(count - 1);
            assert_eq!((region.positions_of.as_str(), region.first, region.last), (of, number * width, last));
        }
    }
    let few = Regions::of(&*fabric.topology, 16 * 6 * 3);
    assert_eq!((0..few.count()).filter(|number| few.get(*number).class == 2).count(), 3);
}

fn any_message(hosts: u32) -> impl Strategy<Value = (Time, Message)> {
    let end = move || (0..hosts, 0..2u16);
    let size = prop_oneof![Just(0u64), 1..64u64, 1..20_000u64, Just(2016u64)];
    (0..6u64, end(), end(), size)
        .prop_map(|(at, from, to, size)| (Time(at * 128_000), common::message(from, to, size, 0)))
}

struct Bytewise(Vec<u64>);

impl Observer<NetworkRecord<'_>> for Bytewise {
    fn record(&mut self, _now: Time, record: &NetworkRecord) {
        let NetworkRecord::LinkUse(link) = record else { return };
        self.0[link.link.0 as usize] += link.bytes.0;
    }
}

/// Bytes, waiting, stalls, and bytes in buffers times time.
fn sums<'a>(rows: impl Iterator<Item = &'a Row>) -> (u64, u128, u128, u128) {
    rows.fold((0, 0, 0, 0), |sum, Row { sent, held, .. }| {
        (sum.0 + sent.bytes, sum.1 + sent.waited_ps, sum.2 + sent.stalled_ps, sum.3 + held.byte_ps)
    })
}

fn rows(traffic: &Traffic) -> Vec<Row> {
    traffic.rows().collect()
}

/// Statistics of the parts of `cut`, put together.
fn in_parts(
    model: &str,
    fabric: &Arc<Fabric>,
    cut: Cut,
    options: &Options,
    messages: &[(Time, Message)],
) -> Statistics {
    let mut hosts = HostParameters::clone(&hosts());
    (hosts.packet_payload, hosts.packet_wire) = (Bytes(2016), Bytes(2048));
    let cut = Arc::new(cut);
    let keep = |network: &mut dyn Network, part: &Part| {
        keep_statistics(network.as_packets().expect("packets"), fabric, part, options);
    };
    let done = parts::run_with(model, fabric, &Arc::new(hosts), &cut, messages, keep);
    let end = done.iter().flat_map(|(log, _)| log).map(|(at, ..)| *at).max().unwrap_or(Time::ZERO);
    let all = done.into_iter().map(|(_, mut network)| take_statistics(network.as_packets().unwrap(), end));
    all.reduce(Statistics::and).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(5), ..Default::default() })]

    /// Sums over periods are the totals that links count by themselves, and every payload byte is on each
    /// link of its way; periods that have doubled are those that were as long from the start.
    #[test]
    fn sums_are_totals(
        mut messages in prop::collection::vec(any_message(27), 1..100),
        period in 1..2_000_000u64,
        output_buffer in prop::option::of(Just(Bytes(5000))),
    ) {
        let packets = |to_a_buffer| PacketOptions { output_buffer, ..packets(to_a_buffer) };
        messages.iter_mut().zip(0..).for_each(|((_, message), number)| common::renumber(message, number));
        let fabric = torus(&[3, 3, 3]);
        let options = Options { period: Duration(period), periods: 40, ..ALL };
        let mut packet = Packet::new(fabric.clone(), hosts(), packets(4));
        keep_statistics(&mut packet, &fabric, &Part::whole(), &options);
        let end = common::run(&mut packet, &messages).iter().map(|times| times.delivered).max().unwrap();
        let statistics = take_statistics(&mut packet, end);
        let links = fabric.topology.links();
        let by_place = statistics.by_place.as_ref().unwrap();
        let mut counted = Bytewise(vec![0; links as usize]);
        packet.report(end, &mut counted);
        let mut found = vec![0; links as usize];
        rows(by_place).iter().for_each(|row| found[(row.group / statistics.channels) as usize] += row.sent.bytes);
        prop_assert_eq!(found, counted.0);

        let classes = rows(&statistics.classes);
        let sum = |of: fn(&Sent) -> u64| classes.iter().map(|row| of(&row.sent)).sum::<u64>();
        prop_assert_eq!(sum(|sent| sent.packets), packet.totals().packet_hops);
        let regions = Regions::of(&*fabric.topology, options.rows);
        for class in 0..fabric.topology.classes().len() as u32 {
            let of_class = classes.iter().filter(|row| row.group / statistics.channels == class);
            let by_region = rows(&statistics.regions);
            let by_region = by_region.iter().filter(|row| u32::from(regions.get(row.group).class) == class);
            prop_assert_eq!(sums(by_region), sums(of_class));
        }
        let on_links = |message: &Message| {
            let mut path = Vec::new();
            if message.from.host != message.to.host {
                fabric.route(network::routing::Trip::new(message.from.host, message.to.host, 0), &network::routing::Unloaded, &mut path);
            }
            path.len() as u64 * message.size.0
        };
        let payload: u64 = messages.iter().map(|(_, message)| on_links(message)).sum();
        prop_assert_eq!(sum(|sent| sent.payload), payload);
        let over = messages.iter().filter(|(_, message)| message.from.host != message.to.host).count();
        prop_assert_eq!(statistics.latencies().count, over as u64);

        let mut again = Packet::new(fabric.clone(), hosts(), packets(4));
        let longer = Options { period: statistics.classes.length(), ..options };
        keep_statistics(&mut again, &fabric, &Part::whole(), &longer);
        common::run(&mut again, &messages);
        let again = take_statistics(&mut again, end);
        prop_assert_eq!(rows(&again.classes), classes);
        prop_assert_eq!(again.latency.kept(), statistics.latency.kept());
    }

    /// However the network is cut, the parts together have seen the same.
    #[test]
    fn parts_add_up(
        mut messages in prop::collection::vec(any_message(27), 1..100),
        rows_most in 500..200_000u32,
        model in prop::sample::select(&["packet", "packet packets 0 buffered"]),
    ) {
        messages.iter_mut().zip(0..).for_each(|((_, message), number)| common::renumber(message, number));
        let tree = [("m", integers(&[3, 3, 3])), ("w", integers(&[1, 2, 2]))];
        let options = Options { period: Duration(50_000), periods: 30, rows: rows_most, ..ALL };
        for fabric in [torus(&[3, 3, 3]), fabric("fat-tree", &tree)] {
            let whole = in_parts(model, &fabric, Cut::whole(), &options, &messages);
            for count in [2, 3, 8] {
                let cut = Cut::new(&*fabric.topology, Grain::Routers, count, &[1; 27]);
                let parts = in_parts(model, &fabric, cut, &options, &messages);
                prop_assert_eq!(rows(&parts.classes), rows(&whole.classes));
                prop_assert_eq!(rows(&parts.regions), rows(&whole.regions));
                prop_assert_eq!(parts.by_place.as_ref().map(rows), whole.by_place.as_ref().map(rows));
                prop_assert_eq!(parts.latency.kept(), whole.latency.kept());
                prop_assert_eq!(parts.slow.slowest(), whole.slow.slowest());
                prop_assert_eq!(parts.slow.count(), whole.slow.count());
                prop_assert_eq!(parts.until, whole.until);
            }
        }
    }
}
