//! Every flow has a bottleneck at all times, on networks too large for the oracle in `tests/`.

mod slack;

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::registry::{Arguments, Value, find};
use engine::{Bandwidth, Bytes, Duration, Key, Lane, Owner, Queue, Time, Token};
use rand_chacha::rand_core::RngCore;

use super::{Flow, Sharing};
use crate::routing::ROUTINGS;
use crate::topology::{HostId, LinkDefaults, TOPOLOGIES};
use crate::{Arrival, Endpoint, Fabric, HostParameters, Memory, Message, Network, Nics, Regime};

fn fabric(kind: &str, arguments: &[(&'static str, &[i64])]) -> Arc<Fabric> {
    let links = LinkDefaults {
        bandwidth: Bandwidth(10_000_000_000),
        latency: Duration::from_ns(100),
        host_bandwidth: Bandwidth(12_000_000_000),
        host_latency: Duration::from_ns(50),
    };
    let list = |values: &[i64]| Value::List(values.iter().map(|value| Value::Integer(*value)).collect());
    let arguments = arguments.iter().map(|(name, values)| (*name, list(values)));
    let topology =
        (find(TOPOLOGIES, "topology", kind).unwrap().build)(&Arguments(arguments.collect()), &links).unwrap();
    let routing = find(ROUTINGS, "routing", topology.default_routing()).unwrap();
    let routing = (routing.build)(&Arguments::default(), &*topology, 0).unwrap();
    Arc::new(Fabric { topology, routing })
}

fn hosts(nic_rates: [u64; 2]) -> Arc<HostParameters> {
    let regime = |nic_rate| Regime {
        process_rate: Bandwidth(6_000_000_000),
        process_rate_change: -1_000_000_000.0,
        nic_rate: Bandwidth(nic_rate),
        ..Regime::FREE
    };
    Arc::new(HostParameters {
        processes: 2,
        memory: Memory::new(
            [(5_000_000_000, 8_000_000_000), (9_000_000_000, 7_000_000_000)]
                .map(|(bandwidth, total)| {
                    Memory::uniform(Duration::ZERO, Bandwidth(bandwidth), Bandwidth(total)).regimes[0]
                })
                .to_vec(),
        ),
        regimes: nic_rates.map(regime).to_vec(),
        nics: Nics::ONE,
        nic_gap: Duration::ZERO,
        packet_payload: Bytes(64),
        packet_wire: Bytes(96),
    })
}

/// Flows that share a link may differ by what rounding left on it: less than a step for each flow.
const STEPS: u64 = 64;

/// A link is full if no flow on it could have a few rounding steps more.
fn check_bottlenecks(flow: &Flow, steps: u64) {
    let streams = &flow.streams;
    let mut satisfied: BTreeMap<u32, bool> = BTreeMap::new();
    for (at, link) in streams.links.all.iter().enumerate() {
        let capacity = streams.links.capacities[at];
        let flows: Vec<u32> = streams.on(at as u32).collect();
        let rate = |stream: &u32| streams.rate(*stream);
        let takes = |stream: &u32| {
            streams.classes.weight(link.class, streams.all[*stream as usize].regime).takes(rate(stream))
        };
        let used: u64 = flows.iter().map(takes).sum();
        assert_eq!(link.load as usize, flows.len());
        assert!(used <= capacity, "link {at} carries {used} of {capacity}");
        let top = flows.iter().map(|stream| rate(stream).0).max().unwrap_or(0);
        let is_full = capacity - used <= steps * u64::from(link.load);
        for stream in flows {
            let is_fastest = rate(&stream).0 + steps >= top;
            *satisfied.entry(stream).or_default() |= is_full && is_fastest;
        }
    }
    for (stream, satisfied) in satisfied {
        assert!(satisfied, "stream {stream} has no bottleneck: {:?}", streams.all[stream as usize]);
    }
}

/// Sends at random, to near and far, and checks after every change. Gives the times of arrivals, each with the number
/// of its message, and the most links that were bounded at a time. Links are bounded after `patience`, however few flows
/// they have.
fn run(fabric: Arc<Fabric>, nic_rates: [u64; 2], steps: u64, patience: u8) -> (Vec<(Time, u64)>, usize) {
    let count = fabric.topology.hosts();
    let mut flow = Flow::new(fabric, hosts(nic_rates), Sharing::MaxMin);
    (flow.streams.links.patience, flow.streams.links.few) = (patience, 0);
    // No link has slack: rates are exact.
    flow.streams.links.many = u32::MAX;
    let (mut seen, mut bounded) = (Vec::new(), 0);
    let mut random = engine::random::stream(5, "flow-test", 0);
    let mut queue = Queue::new();
    for number in 0..600 {
        let at = Time(u64::from(random.next_u32() % 50) * 1_000_000);
        queue.push(at, Owner::new(Lane::Rank, 0), Token::new(Lane::Rank, number));
    }
    let (mut arrivals, mut checks) = (Vec::new(), 0);
    while let Some(event) = queue.pop() {
        if event.token.lane() == Lane::Network {
            flow.wake(event.time, event.token, &mut queue, &mut arrivals);
        } else {
            let mut end = || Endpoint {
                host: HostId(random.next_u32() % count),
                process: (random.next_u32() % 2) as u16,
            };
            let message = Message {
                from: end(),
                to: end(),
                nics: None,
                regime: (random.next_u32() % 2) as u8,
                notify_sent: false,
                size: Bytes(1 + u64::from(random.next_u32() % 100_000)),
                key: Key::of_message(event.token.payload() as u32, 0),
                cargo: [event.token.payload(); crate::CARGO_WORDS],
            };
            flow.inject(event.time, &message, &mut queue);
        }
        let is_told = |arrival: &Arrival| (event.time, arrival.message.cargo[0]);
        seen.extend(arrivals.drain(..).map(|arrival| is_told(&arrival)));
        if queue.instant_is_over() {
            flow.end_instant(event.time, &mut queue);
        }
        if flow.streams.changed.is_empty() {
            check_bottlenecks(&flow, steps);
            checks += 1;
        }
        bounded = bounded.max(flow.streams.links.all.iter().filter(|link| link.is_bounded).count());
    }
    assert_eq!(seen.len(), 600);
    assert!(checks > 600, "{checks} checks");
    (seen, bounded)
}

/// Arrivals do not show when links are bounded: as soon as they may be, late, or never.
#[test]
fn bounded_links_change_nothing() {
    let torus = || fabric("torus", &[("sizes", &[4, 4, 4])]);
    let tree = || fabric("fat-tree", &[("m", &[6, 4, 3]), ("w", &[1, 2, 2])]);
    for (fabric, nic_rates, steps) in
        [(torus(), [6_000_000_000; 2], STEPS), (tree(), [6_000_000_000, 1_300_000_000], 1 << 18)]
    {
        let (tracked, none) = run(fabric.clone(), nic_rates, steps, 31);
        assert_eq!(none, 0);
        for patience in [0, 2] {
            let (seen, bounded) = run(fabric.clone(), nic_rates, steps, patience);
            assert_eq!(seen, tracked);
            assert!(bounded > 10 || patience > 0, "{bounded} links");
        }
    }
}

#[test]
fn every_flow_has_a_bottleneck_on_a_torus() {
    run(fabric("torus", &[("sizes", &[4, 4, 4])]), [6_000_000_000; 2], STEPS, super::bounds::PATIENCE);
}

#[test]
fn every_flow_has_a_bottleneck_on_a_tapered_fat_tree() {
    run(
        fabric("fat-tree", &[("m", &[6, 4, 3]), ("w", &[1, 2, 2])]),
        [6_000_000_000; 2],
        STEPS,
        super::bounds::PATIENCE,
    );
}

/// Weights of unequal regimes are rounded to 2⁻³².
#[test]
fn every_flow_has_a_bottleneck_where_regimes_differ() {
    run(
        fabric("torus", &[("sizes", &[4, 4, 4])]),
        [6_000_000_000, 1_300_000_000],
        1 << 18,
        super::bounds::PATIENCE,
    );
}

/// Ten thousand messages that wait for each other take two events each, the end of the flow and the delivery, and one
/// computation of shares in all: while the next one follows, no rate changes.
#[test]
fn messages_in_a_queue_change_no_rates() {
    const COUNT: u64 = 10_000;
    let regime =
        Regime { process_rate: Bandwidth::INFINITE, process_rate_change: 0.0, ..hosts([1; 2]).regimes[0] };
    let regimes = vec![Regime { nic_rate: Bandwidth::INFINITE, ..regime }];
    let parameters = HostParameters { regimes, ..HostParameters::clone(&hosts([1; 2])) };
    let mut flow = Flow::new(fabric("torus", &[("sizes", &[4])]), Arc::new(parameters), Sharing::MaxMin);
    let (mut queue, mut arrivals, mut events, mut computed) = (Queue::new(), Vec::new(), 0, 0);
    let end = |host| Endpoint { host: HostId(host), process: 0 };
    for number in 0..COUNT {
        // Half of them to one partner, half to another: the two connections share the NIC.
        let to = end(1 + (number % 2) as u32);
        let size = Bytes(1_000_000);
        let (key, cargo) = (Key::of_message(number as u32, 0), [number; crate::CARGO_WORDS]);
        let message =
            Message { from: end(0), to, nics: None, regime: 0, notify_sent: false, size, key, cargo };
        flow.inject(Time::ZERO, &message, &mut queue);
    }
    flow.end_instant(Time::ZERO, &mut queue);
    while let Some(event) = queue.pop() {
        events += 1;
        flow.wake(event.time, event.token, &mut queue, &mut arrivals);
        if queue.instant_is_over() {
            computed += usize::from(!flow.streams.changed.is_empty());
            flow.end_instant(event.time, &mut queue);
        }
    }
    assert_eq!(arrivals.len() as u64, COUNT);
    for (at, arrival) in arrivals.iter().enumerate() {
        assert_eq!(arrival.message.cargo[0] / 2, at as u64 / 2, "in order");
    }
    assert!(events <= 2 * COUNT + 2, "{events} events");
    assert!(computed <= 1, "{computed} computations of shares");
}

/// A thousand short messages, one after the other, take no more memory than ten; on paths of up to five links.
#[test]
fn packets_leave_no_paths_behind() {
    let fabric = fabric("torus", &[("sizes", &[8])]);
    let mut flow = Flow::new(fabric, hosts([6_000_000_000; 2]), Sharing::MaxMin);
    let (mut queue, mut arrivals, mut lengths) = (Queue::new(), Vec::new(), Vec::new());
    for number in 0..1000u64 {
        let end = |host| Endpoint { host: HostId(host), process: 0 };
        let (key, cargo) = (Key::of_message(number as u32, 0), [number; crate::CARGO_WORDS]);
        let message = Message {
            from: end(0),
            to: end(1 + (number % 4) as u32),
            nics: None,
            regime: 0,
            notify_sent: false,
            size: Bytes(64),
            key,
            cargo,
        };
        let now = queue.now();
        flow.inject(now, &message, &mut queue);
        flow.end_instant(now, &mut queue);
        while let Some(event) = queue.pop() {
            flow.wake(event.time, event.token, &mut queue, &mut arrivals);
            flow.end_instant(event.time, &mut queue);
        }
        lengths.push(flow.streams.hops.len());
    }
    assert_eq!((arrivals.len(), lengths[999]), (1000, lengths[10]));
}
