//! Properties of every model in the registry.

use crate::common;

use std::collections::BTreeMap;
use std::sync::Arc;

use common::graph::Graph;
use common::parts;
use engine::{Bandwidth, Bytes, Duration, Observer, Time};
use network::model::Cutting;
use network::observe::taken;
use network::{
    Cut, Fabric, Happening, HostParameters, LinkId, Memory, Message, NetworkObserver, NetworkRecord,
    NicChoice, NicPair, Nics, Regime,
};
use proptest::prelude::*;

const ROUTERS: u32 = 6;
const PROCESSES: u16 = 3;
/// Groups of the processes of a host at the level inside it.
const GROUPS: [u16; PROCESSES as usize] = [0, 0, 1];
/// Regimes of messages between hosts, of those of the host's memory, and of those of the level.
const REGIMES: u8 = 3;
const RING: u32 = 7;

/// A ring of routers with a chord, whose links differ.
fn fabric(nics: Nics) -> Arc<Fabric> {
    let mut edges: Vec<_> = (0..ROUTERS)
        .map(|at| {
            let bandwidth = Bandwidth(1_000_000_000 + u64::from(at) * 37_000_001);
            (at, (at + 1) % ROUTERS, bandwidth, Duration(100_000 + u64::from(at)))
        })
        .collect();
    edges.push((0, 3, Bandwidth(700_000_000), Duration(50_000)));
    let host_link = (Bandwidth(1_100_000_000), Duration(20_000));
    Graph { routers: ROUTERS, hosts_per_router: 2, host_link, edges, routes: BTreeMap::new() }
        .fabric_with(nics)
}

fn hosts(nics: Nics) -> Arc<HostParameters> {
    let regime = |latency, process_rate, nic_rate| Regime {
        latency: Duration(latency),
        process_rate: Bandwidth(process_rate),
        nic_rate,
        process_rate_change: -100_000_000.0,
        ..Regime::FREE
    };
    let copies = |latency, bandwidth, total_bandwidth| {
        Memory::uniform(Duration(latency), Bandwidth(bandwidth), total_bandwidth).regimes[0]
    };
    let mut memory = Memory::new(vec![
        copies(90_000, 12_000_000_000, Bandwidth::INFINITE),
        copies(150_000, 8_000_000_003, Bandwidth(30_000_000_011)),
        copies(200_000, 5_000_000_001, Bandwidth(9_000_000_007)),
    ]);
    let in_cache = vec![
        copies(20_000, 21_000_000_000, Bandwidth(40_000_000_003)),
        copies(30_000, 19_000_000_000, Bandwidth(25_000_000_009)),
        copies(40_000, 17_000_000_000, Bandwidth::INFINITE),
    ];
    memory.add_level("cache".to_string(), GROUPS.to_vec(), in_cache);
    Arc::new(HostParameters {
        processes: PROCESSES,
        memory,
        regimes: vec![
            regime(10_000, 630_000_000, Bandwidth::INFINITE),
            regime(20_000, 1_700_000_000, Bandwidth(900_000_000)),
            regime(30_000, 3_600_000_000, Bandwidth(850_000_000)),
        ],
        nics,
        nic_gap: Duration(40_000),
        packet_payload: Bytes(64),
        packet_wire: Bytes(96),
    })
}

fn any_message() -> impl Strategy<Value = (Time, Message)> {
    let end = || (0..2 * ROUTERS, 0..PROCESSES);
    let size = prop_oneof![Just(0u64), 1..64u64, 1..100_000u64, 1..30_000_000u64];
    (0..3_000_000_000u64, end(), end(), size, 0..REGIMES, any::<bool>()).prop_map(
        |(at, from, to, size, regime, notify_sent)| {
            let [one, other] = [from, to].map(|(_, process)| GROUPS[usize::from(process)]);
            let in_level = from.0 == to.0 && one == other;
            let regime = if in_level { regime + REGIMES } else { regime };
            (Time(at), Message { regime, notify_sent, ..common::message(from, to, size, 0) })
        },
    )
}

/// One NIC, or some that messages choose in any way.
fn any_nics() -> impl Strategy<Value = Nics> {
    let choice = prop::sample::select(NicChoice::NAMES).prop_map(|name| NicChoice::named(name).unwrap());
    let setup = prop_oneof![Just(0u64), 1..2_000_000u64];
    let nics = (2..=4u8, choice, setup);
    let several = (nics, any::<bool>()).prop_map(|((count, choice, setup), in_planes)| Nics {
        count,
        choice,
        setup: Duration(setup),
        order: None,
        in_planes,
    });
    prop_oneof![Just(Nics::ONE), several]
}

/// Lets some messages name their NICs.
fn name_nics(messages: &mut [(Time, Message)], named: &[(u8, u8)], nics: Nics) {
    for ((_, message), (from, to)) in messages.iter_mut().zip(named) {
        let to = if nics.in_planes { from } else { to };
        if *from < nics.count && *to < nics.count {
            message.nics = Some(NicPair { from: *from, to: *to });
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..Default::default() })]

    /// `run` checks that each message is delivered once, unchanged, and that sent comes before.
    #[test]
    fn every_message_is_delivered_once(
        mut messages in prop::collection::vec(any_message(), 1..60),
        nics in any_nics(),
        named in prop::collection::vec((0..8u8, 0..8u8), 60),
    ) {
        let (fabric, hosts) = (fabric(nics), hosts(nics));
        name_nics(&mut messages, &named, nics);
        for (number, (_, message)) in messages.iter_mut().enumerate() {
            common::renumber(message, number as u64);
        }
        for name in common::fluid_models() {
            let mut model = common::model(&name, &fabric, &hosts);
            let alone: Vec<Duration> = messages.iter().map(|(_, message)| model.idle_time(message)).collect();
            let times = common::run(&mut *model, &messages);
            let again = common::run(&mut *common::model(&name, &fabric, &hosts), &messages);
            prop_assert_eq!(&times, &again, "{} is not deterministic", name);
            for ((times, (at, _)), alone) in times.iter().zip(&messages).zip(alone) {
                prop_assert!(times.delivered >= *at + alone, "{}: faster than alone", name);
            }
        }
    }

    /// However the network is cut, each part sees what it sees in the whole, in the same order.
    #[test]
    fn cuts_change_nothing(
        mut messages in prop::collection::vec(any_message(), 1..60),
        weights in prop::collection::vec(0..4u32, (2 * ROUTERS) as usize),
        parts in 2..7u32,
        nics in any_nics(),
        named in prop::collection::vec((0..8u8, 0..8u8), 60),
    ) {
        let (fabric, hosts) = (fabric(nics), hosts(nics));
        name_nics(&mut messages, &named, nics);
        for (number, (at, message)) in messages.iter_mut().enumerate() {
            common::renumber(message, number as u64);
            // Many at the same time, so that ties are decided.
            at.0 = at.0 / 100_000_000 * 100_000_000;
        }
        for name in common::fluid_models() {
            let Cutting::At(grain) = parts::cutting(&name) else { continue };
            let whole = parts::run_in_parts(&name, &fabric, &hosts, &Arc::new(Cut::whole()), &messages);
            let times = common::run(&mut *common::model(&name, &fabric, &hosts), &messages);
            prop_assert_eq!(parts::times(&whole, messages.len()), times, "{}", name);
            let cut = Arc::new(Cut::new(&*fabric.topology, grain, parts, &weights));
            let cut_up = parts::run_in_parts(&name, &fabric, &hosts, &cut, &messages);
            for (me, log) in cut_up.iter().enumerate() {
                let expected = parts::restricted(&whole[0], &cut, me as u32, &messages);
                prop_assert_eq!(log, &expected, "{}: part {} of {}", name, me, cut.parts());
            }
        }
    }

    /// On an odd ring of equal links all hosts are alike: with hosts renumbered along it, messages take
    /// the same times, to the picosecond.
    #[test]
    fn renumbered_hosts_change_nothing(
        mut messages in prop::collection::vec(any_message(), 1..60),
        shift in 1..RING,
    ) {
        let edges = (0..RING).map(|at| (at, (at + 1) % RING, Bandwidth(1_700_000_003), Duration(100_000)));
        let host_link = (Bandwidth(1_900_000_001), Duration(20_000));
        let edges = edges.collect();
        let graph = Graph { routers: RING, hosts_per_router: 1, host_link, edges, routes: BTreeMap::new() };
        let (fabric, hosts) = (graph.fabric(), hosts(Nics::ONE));
        for (number, (_, message)) in messages.iter_mut().enumerate() {
            common::renumber(message, number as u64);
            message.from.host.0 %= RING;
            message.to.host.0 %= RING;
            let sizes = message.regime % REGIMES;
            let ends = [message.from, message.to].map(|end| (end.host, GROUPS[usize::from(end.process)]));
            message.regime = if ends[0] == ends[1] { sizes + REGIMES } else { sizes };
        }
        let mut shifted = messages.clone();
        for (_, message) in &mut shifted {
            message.from.host.0 = (message.from.host.0 + shift) % RING;
            message.to.host.0 = (message.to.host.0 + shift) % RING;
        }
        for name in common::fluid_models() {
            let times = common::run(&mut *common::model(&name, &fabric, &hosts), &messages);
            let other = common::run(&mut *common::model(&name, &fabric, &hosts), &shifted);
            prop_assert_eq!(times, other, "{}", name);
        }
    }

    /// Alone on the network a message takes the same time in every model, to the picosecond.
    #[test]
    fn all_models_agree_on_an_idle_network((at, message) in any_message(), nics in any_nics()) {
        let (fabric, hosts) = (fabric(nics), hosts(nics));
        for name in common::fluid_models() {
            let mut model = common::model(&name, &fabric, &hosts);
            let alone = model.idle_time(&message);
            if name == "infinite" {
                prop_assert_eq!(alone, Duration::ZERO);
                continue;
            }
            let times = common::run(&mut *model, &[(at, message)]);
            prop_assert_eq!(times[0].delivered.since(at), alone, "{}", name);
            let by_hand = if message.from.host == message.to.host {
                let memory = &hosts.memory.regimes[usize::from(message.regime)];
                memory.latency + memory.bandwidth.transfer(message.size)
            } else {
                let regime = &hosts.regimes[usize::from(message.regime)];
                let idle = fabric.idle(message.from.host, message.to.host);
                let path = idle.bandwidth.scaled(64.0 / 96.0);
                let rate = path.min(regime.process_rate).min(regime.nic_rate);
                nics.setup + idle.latency + regime.latency + rate.transfer(message.size)
            };
            prop_assert_eq!(alone, by_hand, "{}", name);
        }
    }
}

/// A model that may be cut, by its line in the registry, is a part of a network and says how soon it has an effect on
/// another; no other has to.
#[test]
fn models_that_may_be_cut_are_parts() {
    for entry in network::model::MODELS {
        let mut model = common::model(entry.name, &fabric(Nics::ONE), &hosts(Nics::ONE));
        let may_be_cut = matches!(entry.build.cut, Cutting::At(_));
        assert_eq!(model.as_part().is_some(), may_be_cut, "{}", entry.name);
        assert_eq!(model.lookahead(), Duration(u64::MAX), "{} of one part waits for no other", entry.name);
    }
}

/// Bytes of each link, by the last record of it.
#[derive(Default)]
struct Latest(BTreeMap<LinkId, Bytes>);

impl Latest {
    /// Links that have carried some.
    fn bytes(&self) -> Vec<(LinkId, Bytes)> {
        self.0.iter().filter(|(_, bytes)| bytes.0 > 0).map(|(link, bytes)| (*link, *bytes)).collect()
    }
}

impl Observer<NetworkRecord<'_>> for Latest {
    fn record(&mut self, _now: Time, record: &NetworkRecord) {
        if let NetworkRecord::LinkUse(link) = record {
            self.0.insert(link.link, link.bytes);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(2), ..Default::default() })]

    /// Reports of changes alone, at any times, tell at each of them what all links have carried.
    #[test]
    fn changes_leave_nothing_out(
        mut messages in prop::collection::vec(any_message(), 1..40),
        looks in prop::collection::vec(any::<bool>(), 64),
    ) {
        for (number, (_, message)) in messages.iter_mut().enumerate() {
            common::renumber(message, number as u64);
            message.size.0 %= 200_000;
        }
        for entry in network::model::MODELS {
            let mut model = common::model(entry.name, &fabric(Nics::ONE), &hosts(Nics::ONE));
            let (mut heard, mut instant) = (Latest::default(), 0);
            common::drive_watched(&mut *model, &messages, |now, network| {
                instant += 1;
                if !looks[instant % looks.len()] {
                    return;
                }
                network.report_changes(now, &mut heard);
                let mut whole = Latest::default();
                network.report(now, &mut whole);
                assert_eq!(heard.bytes(), whole.bytes(), "{}", entry.name);
            });
        }
    }
}

/// Bytes that take no time, on links without a limit, are told of, too.
#[test]
fn changes_on_links_without_a_limit_are_told() {
    let edges = vec![(0, 1, Bandwidth::INFINITE, Duration(100_000))];
    let host_link = (Bandwidth::INFINITE, Duration(20_000));
    let fabric =
        Graph { routers: 2, hosts_per_router: 1, host_link, edges, routes: BTreeMap::new() }.fabric();
    for entry in network::model::MODELS {
        let mut model = common::model(entry.name, &fabric, &Arc::new(common::transparent(1)));
        let (mut changes, mut whole) = (Latest::default(), Latest::default());
        common::drive_watched(
            &mut *model,
            &[(Time(5), common::message((0, 0), (1, 0), 100, 0))],
            |now, network| {
                network.report_changes(now, &mut changes);
                network.report(now, &mut whole);
            },
        );
        assert_eq!(changes.bytes(), whole.bytes(), "{}", entry.name);
    }
}

/// Records of packets, of links and totals, each counted by itself.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Counted {
    hops: u64,
    bytes: u64,
    delivered: u64,
}

impl Observer<NetworkRecord<'_>> for Counted {
    fn record(&mut self, _now: Time, record: &NetworkRecord) {
        match record {
            NetworkRecord::Hop(hop) => {
                self.hops += 1;
                self.bytes += hop.size.0;
                assert!(hop.arrived <= hop.ready && hop.ready <= hop.begin && hop.begin <= hop.end);
            }
            NetworkRecord::Arrival(arrival) => {
                self.delivered += u64::from(arrival.happening == Happening::Delivered);
            }
            NetworkRecord::LinkUse(link) => {
                self.hops += link.transfers;
                self.bytes += link.bytes.0;
            }
            _ => {}
        }
    }
}

impl NetworkObserver for Counted {}

/// Each model that offers its packets tells of every one, on every link: an observer of packets counts what the links and
/// the totals report in the end, and every message.
#[test]
fn packets_are_told_of_one_by_one() {
    let mut observed = 0;
    for entry in network::model::MODELS {
        let mut model = common::model(entry.name, &fabric(Nics::ONE), &hosts(Nics::ONE));
        let Some(packets) = model.as_packets() else { continue };
        packets.observe(Box::<Counted>::default());
        let messages: Vec<_> = (0..20)
            .map(|number| {
                (Time(number * 50_000), common::message((0, 0), (number as u32 % 11 + 1, 0), 5_000, number))
            })
            .collect();
        common::run(&mut *model, &messages);
        let told = *taken::<Counted>(model.as_packets().unwrap());
        let mut reported = Counted { delivered: messages.len() as u64, ..Counted::default() };
        model.report(Time::LAST, &mut reported);
        assert_eq!(told, reported, "{}", entry.name);
        assert_eq!(model.totals(Time::LAST).packet_hops, told.hops, "{}", entry.name);
        observed += 1;
    }
    assert!(observed > 0, "a model has packets");
}
