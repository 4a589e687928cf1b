//! Packets and flows beside the closed form: on an idle network, and where k senders share one link.
//!
//! ```text
//! alone        L + W / b                     W = n + 32 ceil(n / 2016) bytes on the wire
//! bottleneck   L + k W / b                   the last of k equal messages that start together
//! ```
//!
//! with L the latency of the links on the way and b the bandwidth of the narrowest. A packet is forwarded as
//! soon as its head is there, so that it is on the wire once; from when the first head has reached the
//! narrowest link, that link is never idle until all has passed. A flow has the share of headers of a full
//! packet in all of its bytes, n · 2048 / 2016 instead of W, and its rate from its start: what is shared out
//! is b / k until k n · 2048 / 2016 / b, and L comes on top.
//!
//! Cases that agree within 5 %: alone, for every size; behind one bottleneck, for the last of the messages,
//! if they are long against a packet and the differences of L are small against k W / b; for each of them,
//! too, if each sender comes to the router before the link by an input of its own. Elsewhere they cannot:
//! - Routers take turns among inputs, not among senders: of several that come by one input each gets a
//!   part of that input's turn, while flows share alike (the parking lot problem: Dally and Towles, 15.4.1).
//! - Short messages from different distances: packets from near by use the link before those from far away
//!   have come, while flows share it from the start, and each has its whole L to go after that. The last of
//!   k flows is later by the difference of the L, which is 5 to 20 % of the time where k W / b is about L.
//! - A message that does not fill its packets has more headers than a flow has.

use crate::common;
use crate::support;

use std::collections::BTreeMap;
use std::sync::Arc;

use common::parts;
use engine::{Bandwidth, Bytes, Duration, Time};
use network::routing::{Trip, Unloaded};
use network::{Cut, Fabric, Happening, HostId, HostParameters, LinkId, Message, Shared};

const PAYLOAD: u64 = 2016;
const HEADER: u64 = 32;

/// A topology with its parameters, and which host sends to which, in the order in which they join.
type Case = (&'static str, &'static str, fn(u32) -> (u32, u32));

/// One link that all messages share, with nothing in the way of any before or behind it. Links between
/// routers have 7 GB/s, those of hosts 8 GB/s; latencies of a case are alike.
const CASES: &[Case] = &[
    // Into one host.
    ("crossbar", "hosts = 9", |sender| (sender + 1, 0)),
    // From the hosts of one router to those of a neighbour.
    ("mesh", "sizes = [2, 3]\nhosts_per_router = 8", |sender| (sender, 8 + sender)),
    ("torus", "sizes = [4, 3]\nhosts_per_router = 8", |sender| (sender, 24 + sender)),
    ("hypercube", "dimensions = 3\nhosts_per_router = 8", |sender| (sender, 8 + sender)),
    ("hyperx", "sizes = [3, 3]\nhosts_per_router = 8", |sender| (sender, 9 * 8 - 8 + sender)),
    ("ring", "size = 5\nhosts_per_router = 8", |sender| (8 + sender, sender)),
    // Up by the only link of a switch, and down by that of another.
    ("fat-tree", "m = [8, 3]\nw = [1, 1]", |sender| (sender, 8 + sender)),
    // One link between any two groups, at a router of which all hosts send.
    ("dragonfly", "routers_per_group = 1\nhosts_per_router = 8\nglobal_links_per_router = 4", |sender| {
        (sender, 16 + sender)
    }),
];

fn fabric(kind: &str, text: &str) -> Arc<Fabric> {
    let topology = support::topology(kind, text);
    let routing = support::try_routing(topology.default_routing(), "", &*topology).unwrap();
    Arc::new(Fabric { topology, routing })
}

fn hosts() -> Arc<HostParameters> {
    let (packet_payload, packet_wire) = (Bytes(PAYLOAD), Bytes(PAYLOAD + HEADER));
    Arc::new(HostParameters { packet_payload, packet_wire, ..common::transparent(1) })
}

/// Latency and narrowest link of a way, and its links.
fn way(fabric: &Fabric, (from, to): (u32, u32)) -> (Duration, Bandwidth, Vec<LinkId>) {
    let mut path = Vec::new();
    fabric.route(Trip::new(HostId(from), HostId(to), 0), &Unloaded, &mut path);
    let links = path.iter().map(|link| fabric.topology.link(*link));
    let latency = links.clone().fold(Duration(0), |sum, link| sum + link.latency);
    let narrowest = links.map(|link| link.bandwidth).min().expect("a way has links");
    (latency, narrowest, path)
}

/// W, and what a flow has instead.
fn on_the_wire(size: u64) -> (f64, f64) {
    let packets = size.div_ceil(PAYLOAD).max(1);
    ((size + HEADER * packets) as f64, size as f64 * (PAYLOAD + HEADER) as f64 / PAYLOAD as f64)
}

/// Times at which the messages, all sent at time zero, are delivered \[s\].
fn deliveries(model: &str, fabric: &Arc<Fabric>, ways: &[(u32, u32)], size: u64) -> Vec<f64> {
    let messages: Vec<(Time, Message)> = (0..)
        .zip(ways)
        .map(|(number, (from, to))| (Time(0), common::message((*from, 0), (*to, 0), size, number)))
        .collect();
    let mut model = common::model(model, fabric, &hosts());
    common::run(&mut *model, &messages).iter().map(|times| times.delivered.0 as f64 * 1e-12).collect()
}

fn last(times: &[f64]) -> f64 {
    times.iter().copied().fold(0.0, f64::max)
}

/// Within a picosecond for each packet, for transmissions are whole picoseconds.
#[track_caller]
fn assert_exact(found: f64, expected: f64, packets: u64, what: &str) {
    let error = (found - expected).abs();
    assert!(error <= 1e-12 * (packets + 2) as f64, "{what}: {found} s, closed form {expected} s");
}

#[track_caller]
fn assert_near(found: f64, expected: f64, what: &str) {
    assert!((found / expected - 1.0).abs() <= 0.05, "{what}: {found} s beside {expected} s");
}

#[test]
fn alone_both_take_the_closed_form() {
    for (kind, text, _) in CASES {
        let fabric = fabric(kind, text);
        for to in [1, fabric.topology.hosts() / 2, fabric.topology.hosts() - 1] {
            for size in [0, 1, 100, 2016, 2017, 10_000, 1_000_000] {
                let what = format!("{kind}, {size} B to host {to}");
                let (latency, bandwidth, _) = way(&fabric, (0, to));
                let (wire, fluid) = on_the_wire(size);
                let idle = |bytes: f64| latency.0 as f64 * 1e-12 + bytes / bandwidth.0 as f64;
                let packets = deliveries("packet", &fabric, &[(0, to)], size)[0];
                let flow = deliveries("flow", &fabric, &[(0, to)], size)[0];
                assert_exact(packets, idle(wire), size.div_ceil(PAYLOAD), &what);
                assert_exact(flow, idle(fluid), 0, &what);
                assert_near(packets, flow, &what);
            }
        }
    }
}

#[test]
fn behind_one_bottleneck_both_take_the_closed_form() {
    for (kind, text, sends) in CASES {
        let fabric = fabric(kind, text);
        for senders in 2..=8 {
            let ways: Vec<(u32, u32)> = (0..senders).map(sends).collect();
            for size in [65_536, 100_000, 1_000_000] {
                let what = format!("{kind}, {senders} senders, {size} B");
                let (latency, bandwidth, path) = way(&fabric, ways[0]);
                let shared =
                    path.iter().find(|link| ways.iter().all(|to| way(&fabric, *to).2.contains(link)));
                let at = fabric.topology.link(*shared.expect("one link is shared"));
                assert_eq!(at.bandwidth, bandwidth, "{what}: the shared link is the narrowest");
                let (wire, fluid) = on_the_wire(size);
                let together =
                    |bytes: f64| latency.0 as f64 * 1e-12 + f64::from(senders) * bytes / bandwidth.0 as f64;
                let packets = deliveries("packet", &fabric, &ways, size);
                let flows = deliveries("flow", &fabric, &ways, size);
                let count = u64::from(senders) * size.div_ceil(PAYLOAD);
                assert_exact(last(&packets), together(wire), count, &what);
                for (packets, flow) in packets.iter().zip(&flows) {
                    // Shares of a flow are whole bytes per second.
                    assert!((flow / together(fluid) - 1.0).abs() < 1e-6, "{what}: {flow} s");
                    assert_near(*packets, *flow, &what);
                }
            }
        }
    }
}

/// Time of all delays at a resource, of messages that are all sent at time zero.
fn delays(model: &str, fabric: &Arc<Fabric>, ways: &[(u32, u32)], size: u64) -> BTreeMap<Shared, u64> {
    let message = |number, (from, to): (u32, u32)| common::message((from, 0), (to, 0), size, number);
    let messages: Vec<_> = (0..).zip(ways).map(|(number, way)| (Time(0), message(number, *way))).collect();
    let logs = parts::run_in_parts(model, fabric, &hosts(), &Arc::new(Cut::whole()), &messages);
    let mut sums = BTreeMap::new();
    for (_, _, happening, delays) in &logs[0] {
        for (at, time) in delays.0.iter().filter(|(_, time)| time.0 > 0 && *happening == Happening::Delivered)
        {
            *sums.entry(*at).or_insert(0) += time.0;
        }
    }
    sums
}

/// All delays are at the link that all share, and last as long in both models as the closed form says: each of k messages takes
/// `L + k W / b` instead of `L + W / b`. Packets wait for room in front of that link,
/// and for those of their own message, where the NIC is faster. Until the first has waited, no credit says for what.
#[test]
fn behind_one_bottleneck_both_say_which() {
    for (kind, text, sends) in CASES {
        let fabric = fabric(kind, text);
        for senders in [2, 5, 8] {
            let ways: Vec<(u32, u32)> = (0..senders).map(sends).collect();
            let what = format!("{kind}, {senders} senders");
            let (_, bandwidth, path) = way(&fabric, ways[0]);
            let shared = path.iter().find(|link| ways.iter().all(|to| way(&fabric, *to).2.contains(link)));
            let at = Shared::of_class(fabric.topology.link(*shared.expect("one link is shared")).class);
            let (_, fluid) = on_the_wire(1_000_000);
            let closed = f64::from(senders * (senders - 1)) * fluid / bandwidth.0 as f64;
            for model in ["flow", "packet"] {
                let found = delays(model, &fabric, &ways, 1_000_000);
                let elsewhere: u64 =
                    found.iter().filter(|(there, _)| **there != at).map(|(_, time)| time).sum();
                let most = if model == "flow" { 0 } else { found[&at] / 1000 };
                assert!(elsewhere <= most, "{what}, {model}: {found:?}");
                assert_near(found[&at] as f64 * 1e-12, closed, &what);
            }
        }
    }
}

/// Each host of a line of routers sends to that of the first. All come by the same input of it, by the link
/// from the second, so that only the last one's time is the bottleneck's. Packets from the second router are
/// on that link while those from the last are on their way: L of the first sender and k W / b, of short messages under both
/// models; flows have L of the last sender.
#[test]
fn from_different_distances_all_agree() {
    let fabric = fabric("mesh", "sizes = [8]");
    let ways: Vec<(u32, u32)> = (1..8).map(|host| (host, 0)).collect();
    let seconds = |end: (u32, u32)| way(&fabric, end).0.0 as f64 * 1e-12;
    let (near, far) = (seconds(ways[0]), seconds(ways[6]));
    for size in [2016, 4032] {
        let (wire, _) = on_the_wire(size);
        let [packets, flow] = ["packet", "flow"].map(|model| last(&deliveries(model, &fabric, &ways, size)));
        assert_exact(packets, near + 7.0 * wire / 7e9, 7 * size.div_ceil(PAYLOAD), "packets");
        assert!((flow / packets - 1.0).abs() < 0.01, "{size} B: {flow} beside {packets} s");
    }
    for size in [16_384, 65_536, 1_000_000] {
        let (wire, fluid) = on_the_wire(size);
        let packets = last(&deliveries("packet", &fabric, &ways, size));
        let flow = last(&deliveries("flow", &fabric, &ways, size));
        assert_exact(packets, near + 7.0 * wire / 7e9, 7 * size.div_ceil(PAYLOAD), "packets");
        assert!((flow / (far + 7.0 * fluid / 7e9) - 1.0).abs() < 1e-6, "flow: {flow} s");
        let apart = flow / packets - 1.0;
        assert!((0.0..=0.05).contains(&apart), "{size} B: {apart}");
    }
}
