//! Waits that are found beside delays that are known: their sum is exact where all links are as fast.

use std::sync::Arc;

use engine::registry::{Arguments, Value, find};
use engine::{Bandwidth, Bytes, Duration, Key, Lane, Owner, Queue, Time, Token};
use proptest::prelude::*;

use super::{RESOURCES, Waits};
use crate::model::packet::{Packet, PacketOptions};
use crate::routing::ROUTINGS;
use crate::topology::{HOST_CLASSES, HostId, LinkDefaults, TOPOLOGIES};
use crate::{Endpoint, Fabric, HostParameters, Memory, Message, NicOrder, Nics, Regime};

const RATE: Bandwidth = Bandwidth(4_000_000_000);
const HOSTS: u32 = 27;

fn fabric(kind: &str, arguments: &[(&'static str, &[i64])], routing: &str) -> Arc<Fabric> {
    let latency = Duration(104_000);
    let links = LinkDefaults { bandwidth: RATE, latency, host_bandwidth: RATE, host_latency: latency };
    let value = |values: &[i64]| match values {
        [one] => Value::Integer(*one),
        list => Value::List(list.iter().map(|value| Value::Integer(*value)).collect()),
    };
    let arguments = arguments.iter().map(|(name, values)| (*name, value(values))).collect();
    let topology =
        (find(TOPOLOGIES, "topology", kind).unwrap().build)(&Arguments(arguments), &links).unwrap();
    let routing = find(ROUTINGS, "routing", routing).unwrap();
    let routing = (routing.build)(&Arguments::default(), &*topology, 0).unwrap();
    Arc::new(Fabric { topology, routing })
}

fn hosts(order: Option<NicOrder>) -> Arc<HostParameters> {
    Arc::new(HostParameters {
        processes: 2,
        memory: Memory::uniform(Duration::ZERO, RATE, RATE),
        regimes: vec![Regime::FREE],
        nics: Nics { order, ..Nics::ONE },
        nic_gap: Duration::ZERO,
        packet_payload: Bytes(2016),
        packet_wire: Bytes(2048),
    })
}

fn options() -> PacketOptions {
    PacketOptions {
        payload: Bytes(2016),
        header: Bytes(32),
        flit: Bytes(16),
        buffer: Some(Bytes(8192)),
        crossbar: None,
        output_buffer: None,
        switching: super::super::Switching::VirtualCutThrough,
        arbitration: super::super::Arbitration::RoundRobin,
        pipeline: Duration(94_000),
    }
}

/// Time \[ps\], host and process of the sender, those of the receiver, bytes.
type Sending = (u64, (u32, u16), (u32, u16), u64);

/// Sends `messages`; for each that comes over the network its delay and waits.
fn run(packet: &mut Packet, messages: &[Sending]) -> Vec<(Duration, Waits)> {
    let end = |(host, process)| Endpoint { host: HostId(host), process };
    let message = |number: usize, (_, from, to, size): &Sending| Message {
        from: end(*from),
        to: end(*to),
        nics: None,
        regime: 0,
        notify_sent: false,
        size: Bytes(*size),
        key: Key::of_message(number as u32, 0),
        cargo: [number as u64; crate::CARGO_WORDS],
    };
    let mut queue = Queue::new();
    for (number, (at, ..)) in messages.iter().enumerate() {
        let token = Token::new(Lane::Rank, number as u64);
        queue.push(Time(*at), Owner::new(Lane::Rank, number as u32), token);
    }
    let (mut arrivals, mut found) = (Vec::new(), vec![(Duration::ZERO, Waits::default()); messages.len()]);
    while let Some(event) = queue.pop() {
        if event.token.lane() == Lane::Rank {
            let number = event.token.payload() as usize;
            crate::Network::inject(packet, event.time, &message(number, &messages[number]), &mut queue);
        } else {
            crate::Network::wake(packet, event.time, event.token, &mut queue, &mut arrivals);
        }
        if queue.instant_is_over() {
            crate::Network::end_instant(packet, event.time, &mut queue);
        }
        for arrival in arrivals.drain(..) {
            let (from, to) = (arrival.message.from.host, arrival.message.to.host);
            if from != to {
                let delay = event.time.since(arrival.injected).saturating_sub(arrival.idle.total());
                found[arrival.message.cargo[0] as usize] = (delay, packet.told);
            }
        }
    }
    found
}

fn sum(waits: Waits) -> Duration {
    waits.all().iter().map(|(_, time)| *time).sum()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(5), ..Default::default() })]

    /// On links of one rate, with routes that are fixed, no packet waits for one of its own message on an idle network:
    /// what a message waited is its delay, to the picosecond, however many full buffers it has waited behind. Where there
    /// are more resources than are kept, some of the delay may be missing.
    #[test]
    fn waits_sum_to_the_delay(
        messages in prop::collection::vec((0..6u64, (0..HOSTS, 0..2u16), (0..HOSTS / 3, 0..2u16), 0..20_000u64), 1..200),
        in_turn in any::<bool>(),
        crossbar in prop::sample::select(&[None, Some(RATE), Some(Bandwidth(9_000_000_001)), Some(Bandwidth::INFINITE)]),
        output_buffer in prop::sample::select(&[None, Some(Bytes(2048)), Some(Bytes(5000))]),
    ) {
        let messages: Vec<_> = messages.iter().map(|(at, from, to, size)| (at * 128_000, *from, *to, *size)).collect();
        let order = if in_turn { NicOrder::InTurn } else { NicOrder::Shared };
        let fabrics = [
            fabric("fat-tree", &[("m", &[9, 3]), ("w", &[1, 2])], "d-mod-k"),
            fabric("fat-tree", &[("m", &[3, 3, 3]), ("w", &[1, 2, 2])], "d-mod-k"),
            fabric("crossbar", &[("hosts", &[27])], "dimension-order"),
            fabric("mesh", &[("sizes", &[9, 3])], "dimension-order"),
        ];
        for fabric in fabrics {
            // One class of hosts' NICs, and links between routers, both ways.
            let few = fabric.topology.classes().len() - HOST_CLASSES.len() < RESOURCES;
            let mut packet = Packet::new(fabric, hosts(Some(order)), PacketOptions { crossbar, output_buffer, ..options() });
            for (number, (delay, waits)) in run(&mut packet, &messages).into_iter().enumerate() {
                if waits.0.contains(&0) || few {
                    prop_assert_eq!(sum(waits), delay, "message {}", number);
                } else {
                    prop_assert!(sum(waits) <= delay, "message {}: {:?} of {:?}", number, waits, delay);
                }
            }
        }
    }
}
