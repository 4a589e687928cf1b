//! The flow model against an oracle: plain progressive filling over all flows at every change; of each pair of
//! processes only the first message flows.
//! Drawn are random graphs with messages between all hosts, and many processes of few hosts by unlike regimes.

use crate::common;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use common::graph::Graph;
use engine::{Bandwidth, Bytes, Duration, Lane, Observer, Owner, Queue, Time, Token};
use network::routing::{Trip, Unloaded};
use network::{Fabric, HostParameters, Memory, Message, NetworkRecord, Regime};
use proptest::prelude::*;

/// A thing that flows share: the names of the oracle's links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Link(u32),
    WayOut(u32, u16),
    WayIn(u32, u16),
    Copy(u32, u16),
    Memory(u32, u32),
}

/// More than any bandwidth that is drawn \[B/s\].
const UNLIMITED: f64 = 1e14;

struct Oracle<'a> {
    fabric: &'a Fabric,
    hosts: &'a HostParameters,
    equal_share: bool,
}

struct Running {
    number: usize,
    message: Message,
    /// [bytes]
    left: f64,
}

impl Oracle<'_> {
    fn route(&self, message: &Message) -> Vec<u32> {
        let mut path = Vec::new();
        self.fabric.route(Trip::new(message.from.host, message.to.host, 0), &Unloaded, &mut path);
        path.iter().map(|link| link.0).collect()
    }

    fn payload(&self, link: u32) -> f64 {
        let share = self.hosts.packet_payload.0 as f64 / self.hosts.packet_wire.0 as f64;
        self.fabric.topology.link(network::LinkId(link)).bandwidth.scaled(share).0 as f64
    }

    /// The parts that a message passes, each with the rate it would have there alone while `active`
    /// processes of its host send. A part that is without limit for a message is none that it shares, however
    /// others share it.
    fn parts(&self, message: &Message, active: usize) -> Vec<(Part, f64)> {
        let is_within = message.from.host == message.to.host;
        let mut parts = if is_within { self.copy(message) } else { self.path(message, active) };
        parts.retain(|(_, rate)| *rate < UNLIMITED);
        parts
    }

    fn copy(&self, message: &Message) -> Vec<(Part, f64)> {
        let (from, all) = (message.from, &self.hosts.memory);
        let memory = &all.regimes[usize::from(message.regime)];
        let group = all.group_of(message.regime, from.process);
        vec![
            (Part::Copy(from.host.0, from.process), memory.bandwidth.0 as f64),
            (Part::Memory(from.host.0, group), memory.total_bandwidth.0 as f64),
        ]
    }

    fn path(&self, message: &Message, active: usize) -> Vec<(Part, f64)> {
        let (from, to) = (message.from, message.to);
        let regime = &self.hosts.regimes[usize::from(message.regime)];
        let (base, k) = (regime.process_rate.0 as f64, active as f64);
        let out = (base + (k - 1.0) * (base + regime.process_rate_change)) / k;
        let mut parts =
            vec![(Part::WayOut(from.host.0, from.process), out), (Part::WayIn(to.host.0, to.process), base)];
        let hosts = self.fabric.topology.hosts();
        for link in self.route(message) {
            let own = self.payload(link);
            let nic = if link < 2 * hosts { regime.nic_rate.0 as f64 } else { f64::INFINITY };
            parts.push((Part::Link(link), own.min(nic)));
        }
        parts
    }

    /// The rates of all flows, from nothing but the definition.
    fn rates(&self, running: &[Running]) -> Vec<f64> {
        let active = |host: u32| {
            let over = running.iter().filter(|other| other.message.from.host != other.message.to.host);
            let here = over.filter(|other| other.message.from.host.0 == host);
            here.map(|other| other.message.from.process).collect::<std::collections::BTreeSet<_>>().len()
        };
        let mut parts: BTreeMap<Part, Vec<(usize, f64)>> = BTreeMap::new();
        for (flow, own) in running.iter().enumerate() {
            for (part, rate) in self.parts(&own.message, active(own.message.from.host.0)) {
                parts.entry(part).or_default().push((flow, 1.0 / rate));
            }
        }
        let mut rates = vec![None; running.len()];
        if self.equal_share {
            for flows in parts.values() {
                let share = 1.0 / flows.iter().map(|(_, takes)| takes).sum::<f64>();
                for (flow, _) in flows {
                    rates[*flow] = Some(rates[*flow].unwrap_or(f64::INFINITY).min(share));
                }
            }
        }
        while rates.contains(&None) {
            let share = |flows: &Vec<(usize, f64)>| {
                let taken: f64 = flows.iter().filter_map(|(flow, takes)| Some(rates[*flow]? * takes)).sum();
                let open = flows.iter().filter(|(flow, _)| rates[*flow].is_none());
                (1.0 - taken) / open.map(|(_, takes)| takes).sum::<f64>()
            };
            let is_open = |flows: &&Vec<(usize, f64)>| flows.iter().any(|(flow, _)| rates[*flow].is_none());
            let least = parts
                .values()
                .filter(is_open)
                .map(|flows| (share(flows), flows))
                .min_by(|a, b| a.0.total_cmp(&b.0))
                .unwrap();
            let held: Vec<usize> =
                least.1.iter().map(|(flow, _)| *flow).filter(|flow| rates[*flow].is_none()).collect();
            for flow in held {
                rates[flow] = Some(least.0);
            }
        }
        rates.into_iter().map(Option::unwrap).collect()
    }

    /// Adds what the links have carried when `moved` bytes of the message have left.
    fn carry(&self, message: &Message, moved: f64, carried: &mut [f64]) {
        if message.from.host != message.to.host {
            let wire = self.hosts.packet_wire.0 as f64 / self.hosts.packet_payload.0 as f64;
            self.route(message).iter().for_each(|link| carried[*link as usize] += moved * wire);
        }
    }

    /// Times at which each message has left its sender \[ps\], and at each of `looks` what each link has carried.
    fn simulate(&self, messages: &[(Time, Message)], looks: &[u64]) -> (Vec<f64>, Vec<Vec<f64>>) {
        let mut arrivals: Vec<usize> = (0..messages.len()).collect();
        arrivals.sort_by_key(|number| (messages[*number].0, *number));
        let (mut arrivals, mut looks) = (arrivals.into_iter().peekable(), looks.iter().peekable());
        let mut running: Vec<Running> = Vec::new();
        // The messages of each pair that have not ended, in the order in which they were handed over.
        let mut pairs: BTreeMap<[network::Endpoint; 2], VecDeque<usize>> = BTreeMap::new();
        let mut ends = vec![f64::NAN; messages.len()];
        let mut carried = vec![0.0; self.fabric.topology.links() as usize];
        let mut seen = Vec::new();
        let mut now = 0.0;
        loop {
            let rates = self.rates(&running);
            let end = |(at, flow): (usize, &Running)| now + flow.left / rates[at] * 1e12;
            let first_end = running.iter().enumerate().map(end).fold(f64::INFINITY, f64::min);
            let arrival = arrivals.peek().map_or(f64::INFINITY, |number| messages[*number].0.0 as f64);
            let look = looks.peek().map_or(f64::INFINITY, |look| **look as f64);
            let next = first_end.min(arrival).min(look);
            if next.is_infinite() {
                return (ends, seen);
            }
            for (at, flow) in running.iter_mut().enumerate() {
                let moved = (rates[at] * (next - now) / 1e12).min(flow.left);
                flow.left -= moved;
                self.carry(&flow.message, moved, &mut carried);
            }
            now = next;
            running.retain(|flow| {
                // Less than a picosecond's worth at the rates of these tests.
                let done = flow.left < 1e-3;
                if done {
                    ends[flow.number] = now;
                    pairs.get_mut(&[flow.message.from, flow.message.to]).unwrap().pop_front();
                }
                !done
            });
            while arrivals.peek().is_some_and(|number| messages[*number].0.0 as f64 <= now) {
                let number = arrivals.next().unwrap();
                let message = messages[number].1;
                pairs.entry([message.from, message.to]).or_default().push_back(number);
            }
            for pair in pairs.values_mut() {
                while let Some(number) = pair.front().copied() {
                    let message = messages[number].1;
                    if running.iter().any(|other| other.number == number) {
                        break;
                    }
                    if !self.parts(&message, 1).is_empty() {
                        running.push(Running { number, message, left: message.size.0 as f64 });
                        break;
                    }
                    // Nothing limits it.
                    ends[number] = now;
                    self.carry(&message, message.size.0 as f64, &mut carried);
                    pair.pop_front();
                }
            }
            if look <= now {
                looks.next();
                seen.push(carried.clone());
            }
        }
    }
}

/// Keeps the bytes of each link.
struct Collect(Vec<f64>);

impl Observer<NetworkRecord<'_>> for Collect {
    fn record(&mut self, _now: Time, record: &NetworkRecord) {
        let NetworkRecord::LinkUse(record) = record else { return };
        assert_eq!(record.link.0 as usize, self.0.len(), "links are reported in order");
        self.0.push(record.bytes.0 as f64);
    }
}

/// Times at which each message has left its sender, and what each link has carried at each of `looks`.
fn simulate(
    name: &str,
    fabric: &Arc<Fabric>,
    hosts: &Arc<HostParameters>,
    messages: &[(Time, Message)],
    looks: &[u64],
) -> (Vec<f64>, Vec<Vec<f64>>) {
    const LOOK: u64 = 1 << 40;
    let mut model = common::model(name, fabric, hosts);
    let mut queue = Queue::new();
    // Looks come after all that happens at their time.
    looks
        .iter()
        .for_each(|at| queue.push(Time(*at), Owner::new(Lane::Rank, 9_999), Token::new(Lane::Rank, LOOK)));
    for (number, (at, _)) in messages.iter().enumerate() {
        queue.push(*at, Owner::new(Lane::Rank, 0), Token::new(Lane::Rank, number as u64));
    }
    let mut ends = vec![f64::NAN; messages.len()];
    let (mut arrivals, mut seen) = (Vec::new(), Vec::new());
    while let Some(event) = queue.pop() {
        if event.token.lane() == Lane::Network {
            model.wake(event.time, event.token, &mut queue, &mut arrivals);
        } else if event.token.payload() == LOOK {
            let mut collect = Collect(Vec::new());
            model.report(event.time, &mut collect);
            seen.push(collect.0);
        } else {
            model.inject(event.time, &messages[event.token.payload() as usize].1, &mut queue);
        }
        for arrival in arrivals.drain(..) {
            if arrival.happening == network::Happening::Sent {
                ends[arrival.message.cargo[0] as usize] = event.time.0 as f64;
            }
        }
        if queue.instant_is_over() {
            model.end_instant(event.time, &mut queue);
        }
    }
    (ends, seen)
}

/// Few values, so that ties happen; and odd ones, so that shares round.
fn any_bandwidth() -> impl Strategy<Value = Bandwidth> {
    prop_oneof![
        prop::sample::select(vec![1_000_000_000, 2_000_000_000, 3_000_000_000]),
        500_000_000..4_000_000_000u64,
    ]
    .prop_map(Bandwidth)
}

/// A connected graph: a random tree, and some more edges.
fn any_graph() -> impl Strategy<Value = Graph> {
    let tree = prop::collection::vec((any::<prop::sample::Index>(), any_bandwidth()), 1..9);
    let more = prop::collection::vec((any::<[prop::sample::Index; 2]>(), any_bandwidth()), 0..6);
    (tree, more, 1..3u32, any_rate()).prop_map(|(tree, more, hosts_per_router, host)| {
        let mut edges: Vec<(u32, u32, Bandwidth, Duration)> = Vec::new();
        for (at, (parent, bandwidth)) in tree.iter().enumerate() {
            edges.push((parent.index(at + 1) as u32, at as u32 + 1, *bandwidth, Duration(0)));
        }
        let routers = tree.len() as u32 + 1;
        for (ends, bandwidth) in more {
            let [a, b] = ends.map(|end| end.index(routers as usize) as u32);
            let known = |edge: &(u32, u32, Bandwidth, Duration)| [(a, b), (b, a)].contains(&(edge.0, edge.1));
            if a != b && !edges.iter().any(known) {
                edges.push((a, b, bandwidth, Duration(0)));
            }
        }
        Graph { routers, hosts_per_router, host_link: (host, Duration(0)), edges, routes: BTreeMap::new() }
    })
}

/// Rate of a part of a host: without limit now and then, or in some regimes, so that their flows take nothing of it.
fn any_rate() -> impl Strategy<Value = Bandwidth> {
    prop_oneof![3 => any_bandwidth(), 1 => Just(Bandwidth::INFINITE)]
}

/// Hosts of so many processes and regimes, each regime with rates of its own.
fn any_hosts(processes: u16, regimes: usize) -> impl Strategy<Value = HostParameters> {
    let change = prop_oneof![Just(0.0), -300_000_000.0..300_000_000.0];
    let regime =
        (any_bandwidth(), any_rate(), change).prop_map(|(process_rate, nic_rate, process_rate_change)| {
            Regime { process_rate, nic_rate, process_rate_change, ..Regime::FREE }
        });
    let packet = prop::sample::select(vec![(1, 1), (64, 96)]);
    let copies = (any_bandwidth(), any_rate()).prop_map(|(bandwidth, total_bandwidth)| {
        Memory::uniform(Duration(0), bandwidth, total_bandwidth).regimes[0]
    });
    // With and without a level inside the host.
    let copies = (prop::collection::vec(copies, 2 * regimes), any::<bool>());
    let each = (prop::collection::vec(regime, regimes), copies, packet);
    each.prop_map(move |(of_network, (mut copies, has_level), (payload, wire))| {
        let inside = copies.split_off(regimes);
        let mut memory = Memory::new(copies);
        if has_level {
            memory.add_level("pair".to_string(), (0..processes).map(|slot| slot / 2).collect(), inside);
        }
        HostParameters {
            regimes: of_network,
            memory,
            packet_payload: Bytes(payload),
            packet_wire: Bytes(wire),
            ..common::transparent(processes)
        }
    })
}

/// `(when, from, to, size, regime)`, the hosts by an index into those that there are.
type Sending = (u64, (prop::sample::Index, u16), (prop::sample::Index, u16), u64, u8);

fn any_sending(processes: u16, regimes: u8) -> impl Strategy<Value = Sending> {
    let end = move || (any::<prop::sample::Index>(), 0..processes);
    // Many at the same time, and sizes that end together; none is short, whose packets would wait in queues.
    let at = prop_oneof![Just(0u64), Just(1_000_000_000), 0..4_000_000_000u64];
    let size = prop_oneof![Just(1_000_000u64), 8_193..100_000u64, 8_193..5_000_000u64];
    (at, end(), end(), size, 0..regimes)
}

/// Both ways of sharing beside the oracle; all are sent by the first `senders` hosts.
fn check(
    graph: Graph,
    hosts: HostParameters,
    sendings: &[Sending],
    senders: usize,
    looks: &[u64],
) -> Result<(), TestCaseError> {
    let count = (graph.routers * graph.hosts_per_router) as usize;
    let (fabric, hosts) = (graph.fabric(), Arc::new(hosts));
    let message = |(number, sending): (usize, &Sending)| {
        let (at, from, to, size, regime) = *sending;
        let from = (from.0.index(senders.min(count)) as u32, from.1);
        let to = (to.0.index(count) as u32, to.1);
        let inside =
            hosts.memory.levels().first().filter(|level| from.0 == to.0 && level.holds(from.1, to.1));
        let regime = if inside.is_some() { regime + hosts.regimes.len() as u8 } else { regime };
        (Time(at), Message { regime, ..common::message(from, to, size, number as u64) })
    };
    let messages: Vec<(Time, Message)> = sendings.iter().enumerate().map(message).collect();
    for (name, equal_share) in [("flow max-min", false), ("flow equal-share", true)] {
        let oracle = Oracle { fabric: &fabric, hosts: &hosts, equal_share };
        let (ends, carried) = oracle.simulate(&messages, looks);
        let (found, seen) = simulate(name, &fabric, &hosts, &messages, looks);
        for (number, (end, found)) in ends.iter().zip(&found).enumerate() {
            let near = (end - found).abs() <= 100.0 + end * 1e-9;
            prop_assert!(near, "{}: message {} ends at {}, oracle {}", name, number, found, end);
        }
        // Each flow on a link rounds its part to a byte; ends differ by picoseconds.
        let slack = 2.0 * messages.len() as f64;
        for (look, (carried, seen)) in looks.iter().zip(carried.iter().zip(&seen)) {
            for (link, (carried, seen)) in carried.iter().zip(seen).enumerate() {
                let near = (carried - seen).abs() <= slack;
                prop_assert!(near, "{}: link {} at {}: {} B, oracle {} B", name, link, look, seen, carried);
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..Default::default() })]

    #[test]
    fn flows_run_as_the_oracle_says(
        graph in any_graph(),
        hosts in any_hosts(2, 2),
        sendings in prop::collection::vec(any_sending(2, 2), 1..50),
        mut looks in prop::collection::vec(1..6_000_000_000u64, 0..8),
    ) {
        looks.sort_unstable();
        check(graph, hosts, &sendings, usize::MAX, &looks)?;
    }

    /// Many processes of one or two hosts send by regimes whose rates differ: each link of theirs has flows of
    /// unlike weights, and what a process gets changes with every other one that begins or ends.
    #[test]
    fn many_senders_of_a_host_run_as_the_oracle_says(
        graph in any_graph(),
        hosts in any_hosts(12, 4),
        sendings in prop::collection::vec(any_sending(12, 4), 8..70),
        senders in 1..3usize,
        mut looks in prop::collection::vec(1..20_000_000_000u64, 0..4),
    ) {
        looks.sort_unstable();
        check(graph, hosts, &sendings, senders, &looks)?;
    }
}
