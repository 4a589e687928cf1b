//! DCTCP in the packet model: what it keeps queues to, what it costs, and that nothing changes without it.

use crate::common;
use crate::support;

use std::sync::Arc;

use engine::registry::{Arguments, Value};
use engine::{Bytes, Duration, Lane, Owner, Queue, Time, Token};
use network::congestion::{Control, Dctcp};
use network::model::{Arbitration, Packet, PacketOptions, Reliability, Switching, Transport};
use network::topology::LinkDefaults;
use network::{Cut, Fabric, Grain, Happening, Message, Network, Part};

const WIRE: u64 = 2048;
const PAYLOAD: u64 = 2000;
/// A packet on a link of 8 GB/s: 256 ns.
const PACKET: u64 = WIRE * 125;
/// Between hosts and the router \[ps\].
const LATENCY: u64 = 2_000_000;
const THRESHOLD: u64 = 40 * WIRE;
const GAIN: f64 = 1.0 / 16.0;

const OPTIONS: PacketOptions = PacketOptions {
    payload: Bytes(PAYLOAD),
    header: Bytes(WIRE - PAYLOAD),
    flit: Bytes(1),
    buffer: Some(Bytes(1 << 20)),
    crossbar: None,
    output_buffer: None,
    switching: Switching::VirtualCutThrough,
    arbitration: Arbitration::RoundRobin,
    pipeline: Duration(0),
};

const TRANSPORT: Transport = Transport {
    get_above: Bytes(u64::MAX),
    get_up_to: Bytes(u64::MAX),
    put_response: Bytes(48),
    get_request: Bytes(1),
    get_header: Bytes(0),
    reliability: Reliability::LOSSLESS,
};

/// Hosts on one router.
fn fabric(hosts: u32) -> Arc<Fabric> {
    let bandwidth = engine::Bandwidth(8_000_000_000);
    let latency = Duration(LATENCY);
    let links = LinkDefaults { bandwidth, latency, host_bandwidth: bandwidth, host_latency: latency };
    let entry = engine::registry::find(network::topology::TOPOLOGIES, "topology", "crossbar").unwrap();
    let arguments = support::arguments(entry.parameters, &format!("hosts = {hosts}"));
    let topology = (entry.build)(&arguments, &links).unwrap();
    let routing = support::try_routing(topology.default_routing(), "", &*topology).unwrap();
    Arc::new(Fabric { topology, routing })
}

fn packet(fabric: &Arc<Fabric>, control: Option<Control>) -> Packet {
    let hosts = Arc::new(common::transparent(1));
    let packet = Packet::with_transport(fabric.clone(), hosts, OPTIONS, Some(TRANSPORT), &Part::whole());
    match control {
        None => packet,
        Some(control) => packet.with_congestion(control, Bytes(THRESHOLD)),
    }
}

fn dctcp() -> Control {
    Arc::new(|| Box::new(Dctcp::new(Bytes(WIRE), GAIN, Bytes(10 * WIRE))))
}

/// All but host 0 send `size` bytes to it; the bytes that wait for its link at every event, with its time, and the end.
fn incast(senders: u32, size: u64, control: Option<Control>) -> (Vec<(Time, u64)>, Time) {
    let fabric = fabric(senders + 1);
    let link = fabric.topology.down(network::HostId(0));
    let controlled = control.is_some();
    let mut packet = packet(&fabric, control);
    let mut queue = Queue::new();
    for from in 1..=senders {
        queue.push(
            Time(u64::from(from) * 1_000),
            Owner::new(Lane::Rank, from),
            Token::new(Lane::Rank, from.into()),
        );
    }
    let (mut seen, mut arrivals, mut end) = (Vec::new(), Vec::new(), Time(0));
    while let Some(event) = queue.pop() {
        if event.token.lane() == Lane::Rank {
            let from = event.token.payload() as u32;
            packet.inject(event.time, &common::message((from, 0), (0, 0), size, from.into()), &mut queue);
        } else {
            packet.wake(event.time, event.token, &mut queue, &mut arrivals);
        }
        if queue.instant_is_over() {
            packet.end_instant(event.time, &mut queue);
            if controlled {
                seen.push((event.time, packet.queued(link).0));
            }
        }
        for arrival in arrivals.drain(..) {
            common::delays_of(&packet, event.time, &arrival);
            if arrival.happening == Happening::Delivered {
                end = event.time;
            }
        }
    }
    assert_eq!(network::deadlock::describe(&[&packet]), None);
    (seen, end)
}

/// N senders share a link of rate C. When their windows have settled, the queue rises to at most `K + N MSS`, for each notices
/// marks a round trip later, in which its window grows by a packet at the most, and falls below that by the swing
/// `A = ½ √(2 N (C RTT + K) MSS)` (Alizadeh et al. 2010, equations 8 and 10). The link stays busy, since K is above
/// `C RTT / 7` (their equation 13): C RTT is 8 us of 8 GB/s, 64,000 B, and K 81,920 B. Packets of equal senders may meet at the
/// router in a burst, so that the queue may rise by a packet of each above its bound.
#[test]
fn the_queue_of_an_incast_stays_near_the_threshold() {
    for senders in [2, 4, 8] {
        let packets = 6_000;
        let (seen, end) = incast(senders, packets * PAYLOAD, Some(dctcp()));
        let (n, round_trip) = (f64::from(senders), 4.0 * LATENCY as f64 * 8e-3);
        let most = THRESHOLD as f64 + 2.0 * n * WIRE as f64;
        let swing = 0.5 * (2.0 * n * (round_trip + THRESHOLD as f64) * WIRE as f64).sqrt();
        let busy = u64::from(senders) * packets * PACKET;
        let (first, last) = (Time(busy / 3), Time(busy * 2 / 3));
        let settled =
            seen.iter().filter(|(at, _)| (first..last).contains(at)).map(|(_, bytes)| *bytes as f64);
        let (high, low) =
            settled.fold((0f64, f64::MAX), |(high, low), bytes| (high.max(bytes), low.min(bytes)));
        assert!(high <= most, "{senders}: {high}, at most {most}");
        assert!(high >= THRESHOLD as f64, "{senders}: {high} never reaches the threshold");
        assert!(low >= most - 2.0 * swing - 2.0 * n * WIRE as f64, "{senders}: {low}, {most} less {swing}");
        // The first third of the way there, in which windows settle, may leave the link idle for some round trips.
        let slack = 60 * LATENCY;
        assert!(end.0 < busy + slack, "{senders}: {end:?}, alone {busy}");
    }
}

/// Without control the credits alone hold senders back: their buffers fill.
#[test]
fn one_sender_is_not_slowed() {
    let packets = 2_000;
    let (_, free) = incast(1, packets * PAYLOAD, None);
    let (seen, controlled) = incast(1, packets * PAYLOAD, Some(dctcp()));
    assert!(seen.iter().all(|(_, bytes)| *bytes <= THRESHOLD), "no queue, no mark");
    // Slow start: a window of 10 packets doubles with each round trip of 8 us until it covers 64,000 B, 31 packets.
    assert!(controlled >= free && controlled < free + Duration(4 * 4 * LATENCY), "{controlled:?}, {free:?}");
}

/// A window of one packet: each packet waits for the answer to the one before, which is a round trip and both packets' times.
#[test]
fn a_window_of_one_packet_stops_and_waits() {
    #[derive(Debug)]
    struct One;
    impl network::congestion::Controller for One {
        fn on_acknowledgement(&mut self, _: Time, _: Bytes) {}
        fn on_mark(&mut self, _: Time, _: Bytes) {}
        fn on_loss(&mut self, _: Time, _: Bytes) {}
        fn window(&self) -> Bytes {
            Bytes(WIRE)
        }
    }
    let control: Control = Arc::new(|| Box::new(One));
    let (_, end) = incast(1, 10 * PAYLOAD, Some(control));
    let round_trip = 4 * LATENCY + PACKET + 48 * 125;
    assert_eq!(end, Time(1_000 + 9 * round_trip + 2 * LATENCY + PACKET));
}

/// Packets that are paced to a quarter of the link leave four of their times apart.
#[test]
fn paced_packets_leave_at_their_rate() {
    #[derive(Debug)]
    struct Paced;
    impl network::congestion::Controller for Paced {
        fn on_acknowledgement(&mut self, _: Time, _: Bytes) {}
        fn on_mark(&mut self, _: Time, _: Bytes) {}
        fn on_loss(&mut self, _: Time, _: Bytes) {}
        fn window(&self) -> Bytes {
            Bytes(1 << 40)
        }
        fn pacing(&self) -> Option<engine::Bandwidth> {
            Some(engine::Bandwidth(2_000_000_000))
        }
    }
    let control: Control = Arc::new(|| Box::new(Paced));
    let (_, end) = incast(1, 10 * PAYLOAD, Some(control));
    assert_eq!(end, Time(1_000 + 9 * 4 * PACKET + 2 * LATENCY + PACKET));
}

/// In parts, each with its own queue, marks and windows are the same.
#[test]
fn parts_control_as_the_whole_does() {
    let topology = support::topology("torus", "sizes = [4, 3]\nhosts_per_router = 2");
    let routing = support::try_routing("dimension-order", "", &*topology).unwrap();
    let fabric = Arc::new(Fabric { topology, routing });
    let hosts = Arc::new(common::transparent(1));
    let messages: Vec<(Time, Message)> = (1..24u32)
        .map(|from| {
            (Time(0), common::message((from, 0), (from % 3, 0), 40_000 + 7 * u64::from(from), from.into()))
        })
        .filter(|(_, message)| message.from.host != message.to.host)
        .enumerate()
        .map(|(number, (at, mut message))| {
            common::renumber(&mut message, number as u64);
            (at, message)
        })
        .collect();
    let name = "packet reliable 0 dctcp";
    let whole = common::parts::run_in_parts(name, &fabric, &hosts, &Arc::new(Cut::whole()), &messages);
    let plain =
        common::parts::run_in_parts("packet reliable", &fabric, &hosts, &Arc::new(Cut::whole()), &messages);
    assert_ne!(whole, plain, "windows and marks matter here");
    for parts in [2, 3, 5] {
        let weights = vec![1; fabric.topology.hosts() as usize];
        let cut = Arc::new(Cut::new(&*fabric.topology, Grain::Routers, parts, &weights));
        let cut_up = common::parts::run_in_parts(name, &fabric, &hosts, &cut, &messages);
        for (me, log) in cut_up.iter().enumerate() {
            assert_eq!(
                log,
                &common::parts::restricted(&whole[0], &cut, me as u32, &messages),
                "part {me} of {parts}"
            );
        }
    }
}

/// Congestion control that cannot work is refused, with what would do.
#[test]
fn refusals_say_what_would_do() {
    let error = |protocol: &str, threshold: bool| {
        let mut arguments = Arguments::default();
        arguments.0.insert("protocol", Value::Text(protocol.into()));
        arguments.0.insert("congestion", Value::Text("dctcp".into()));
        if threshold {
            arguments.0.insert("marking_threshold", Value::Size(Bytes(1000)));
        }
        let entry = engine::registry::find(network::model::MODELS, "model", "packet").unwrap();
        let built =
            (entry.build.make)(&arguments, fabric(2), Arc::new(common::transparent(1)), &Part::whole());
        built.err().map(|error| error.to_string())
    };
    assert_eq!(error("packets", true), None);
    for (protocol, threshold, part) in [
        ("packets", false, "router.marking_threshold"),
        ("fma-get", true, "known: packets, reliable, fma-put"),
    ] {
        let error = error(protocol, threshold).unwrap();
        assert!(error.contains(part), "{error}");
    }
}
