//! Packets that wait for room, and what they wait for: delays of messages beside times that are worked out by hand.
//!
//! A packet of 2,016 bytes has 2,048 on the wire, 512 ns at 4 GB/s. The head of a packet can leave a router 104 ns after it
//! has left the one before (a cable of 10 ns, a pipeline of 94 ns); room comes back a cable after the tail has left.

use crate::common;

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::registry::{Arguments, Value, find};
use engine::{Bandwidth, Bytes, Duration, Lane, Owner, Queue, Time, Token};
use network::model::{Arbitration, Packet, PacketOptions, Switching};
use network::routing::ROUTINGS;
use network::topology::{LinkDefaults, TOPOLOGIES};
use network::{Fabric, Happening, HostParameters, Message, Network, Shared};

/// A tree of leaves under one switch, `hosts` on each of `leaves`; hosts' links have 4 GB/s, others `rate` GB/s.
fn tree(hosts: i64, leaves: i64, rate: u64) -> Arc<Fabric> {
    let latency = Duration(104_000);
    let links = LinkDefaults {
        bandwidth: Bandwidth(rate * 1_000_000_000),
        latency,
        host_bandwidth: Bandwidth(4_000_000_000),
        host_latency: latency,
    };
    let list = |values: [i64; 2]| Value::List(values.map(Value::Integer).into());
    let arguments = Arguments([("m", list([hosts, leaves])), ("w", list([1, 1]))].into_iter().collect());
    let topology = (find(TOPOLOGIES, "topology", "fat-tree").unwrap().build)(&arguments, &links).unwrap();
    let routing = find(ROUTINGS, "routing", topology.default_routing()).unwrap();
    let routing = (routing.build)(&Arguments::default(), &*topology, 0).unwrap();
    Arc::new(Fabric { topology, routing })
}

/// A model of packets with room for `buffer` of them at the end of a link.
fn packets(fabric: &Arc<Fabric>, buffer: u64) -> Packet {
    let options = PacketOptions {
        payload: Bytes(2016),
        header: Bytes(32),
        flit: Bytes(16),
        buffer: Some(Bytes(buffer * 2048)),
        crossbar: None,
        output_buffer: None,
        switching: Switching::VirtualCutThrough,
        arbitration: Arbitration::RoundRobin,
        pipeline: Duration(94_000),
    };
    Packet::new(fabric.clone(), hosts(), options)
}

fn hosts() -> Arc<HostParameters> {
    let (packet_payload, packet_wire) = (Bytes(2016), Bytes(2048));
    Arc::new(HostParameters { packet_payload, packet_wire, ..common::transparent(1) })
}

/// Sends `(at [ns], from, to, packets)`; gives where each message was delayed, by the name of the resource \[ns\].
fn delays(
    network: &mut dyn Network,
    fabric: &Fabric,
    sends: &[(u64, u32, u32, u64)],
) -> Vec<BTreeMap<String, f64>> {
    let classes = fabric.topology.classes();
    let name = |at: Shared| match at {
        Shared::Links(class) => classes[usize::from(class)].clone(),
        at => format!("{at:?}"),
    };
    let message = |number: u64| -> Message {
        let (_, from, to, packets) = sends[number as usize];
        common::message((from, 0), (to, 0), packets * 2016, number)
    };
    let mut queue = Queue::new();
    for (number, (at, ..)) in (0..).zip(sends) {
        let token = Token::new(Lane::Rank, number);
        queue.push(Time(at * 1000), Owner::new(Lane::Rank, number as u32), token);
    }
    let (mut arrivals, mut found) = (Vec::new(), vec![BTreeMap::new(); sends.len()]);
    while let Some(event) = queue.pop() {
        match event.token.lane() {
            Lane::Rank => network.inject(event.time, &message(event.token.payload()), &mut queue),
            _ => network.wake(event.time, event.token, &mut queue, &mut arrivals),
        }
        if queue.instant_is_over() {
            network.end_instant(event.time, &mut queue);
        }
        for arrival in arrivals.drain(..).filter(|arrival| arrival.happening == Happening::Delivered) {
            let delays = common::delays_of(network, event.time, &arrival);
            let delays = delays.0.iter().filter(|(_, time)| time.0 > 0);
            found[arrival.message.cargo[0] as usize] =
                delays.map(|(at, time)| (name(*at), time.0 as f64 / 1e3)).collect();
        }
    }
    found
}

#[track_caller]
fn assert_are(found: &[BTreeMap<String, f64>], expected: &[&[(&str, f64)]]) {
    let expected: Vec<BTreeMap<String, f64>> =
        expected.iter().map(|one| one.iter().map(|(at, time)| (at.to_string(), *time)).collect()).collect();
    assert_eq!(found, expected);
}

/// Three packets, each with room enough. A and B leave one leaf, A and C go to another; C is sent 100 ns later.
///
/// ```text
/// link up from the leaf       A [104, 616]   B [616, 1128]                 B waits for 512 ns
/// link down to the other      A [208, 720]   C [720, 1232]   B [1232, …]   C asks at 308: 412 ns; B at 720: 512 ns
/// ```
#[test]
fn turns_count_at_their_links() {
    let fabric = tree(2, 3, 4);
    let found = delays(&mut packets(&fabric, 4), &fabric, &[(0, 0, 2, 1), (0, 1, 3, 1), (100, 4, 2, 1)]);
    assert_are(&found, &[&[], &[("up 2", 512.0), ("down 2", 512.0)], &[("down 2", 412.0)]]);
}

/// Two messages of two packets each, A and C, from two leaves to the same third one, and room for one packet at the end
/// of each link.
///
/// ```text
/// hosts' links    A1, C1 [0, 512], out of the leaf at 616: room is known at 626
///                 A2, C2 [626, …]    wait for 114 ns, for room that nothing has kept from them: their NICs'
/// links up        A1, C1 [104, 616]
///                 A2 [730, …]        A1 leaves the top at 720, so that there is room at 730
///                 C2 [1356, …]       C1 leaves it at 1346; C2 waits since 730: 626 ns, for what C1 has waited for
/// link down       A1 [208, 720]      and on [312, 824]: room at the other leaf is known at 834
///                 C1 [834, 1346]     waits since 208: 626 ns; and on [938, 1450]: room at 1460
///                 A2 [1460, 1972]    waits since 834: 626 ns; and on [1564, 2076]: room at 2086
///                 C2 [2086, …]       waits since 1460: 626 ns
/// ```
///
/// No packet waits for a link up, though C2 waits in front of one, which is idle then.
#[test]
fn a_wait_for_room_counts_where_the_room_is_held() {
    let fabric = tree(2, 3, 4);
    let mut network = packets(&fabric, 1);
    let found = delays(&mut network, &fabric, &[(0, 0, 2, 2), (0, 4, 3, 2)]);
    assert_are(&found, &[&[("Nic", 114.0), ("down 2", 626.0)], &[("Nic", 114.0), ("down 2", 1252.0)]]);
}

/// Share of the delays of `found` that are at NICs.
fn at_nics(found: &[BTreeMap<String, f64>]) -> f64 {
    let all: f64 = found.iter().flat_map(|one| one.values()).sum();
    found.iter().filter_map(|one| one.get("Nic")).sum::<f64>() / all
}

/// Four hosts of two leaves and one of the third send to a host of that; links between switches are twice as fast as those of
/// hosts, or as fast. The buffers fill from that host's link back to the senders, and all wait for it. What packets waited for their
/// turns until the buffers were full is less than what these hold: 2 leaves × 2 links on the way × 4 packets of 800.
///
/// A fifth host sends to a neighbour of the crowded host. Flows pass each other; its packets wait in the same buffers, behind
/// those that wait for the crowded host's link.
#[test]
fn an_incast_counts_at_the_receiver() {
    for rate in [8, 4] {
        let fabric = tree(4, 3, rate);
        let incast = [1, 4, 5, 8, 9].map(|from| (0, from, 0, 200));
        let found = delays(&mut packets(&fabric, 4), &fabric, &incast);
        assert!(at_nics(&found) > 0.98, "{found:?}");
        let mut flow = common::model("flow", &fabric, &hosts());
        assert_eq!(at_nics(&delays(&mut *flow, &fabric, &incast)), 1.0);

        let mut sends = incast.to_vec();
        sends.push((20_000, 6, 2, 20));
        let found = delays(&mut packets(&fabric, 4), &fabric, &sends);
        let behind: f64 = found[5].values().sum();
        assert!(behind > 20.0 * 512.0 && at_nics(&found[5..]) > 0.95, "{rate} GB/s: {found:?}");
        let mut flow = common::model("flow", &fabric, &hosts());
        assert_eq!(delays(&mut *flow, &fabric, &sends)[5].is_empty(), rate == 8);
    }
}
