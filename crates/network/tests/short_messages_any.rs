//! Short messages under `flow`: what holds for all of them, whatever there is beside them.

use crate::common;

use std::collections::BTreeMap;
use std::sync::Arc;

use common::Times;
use common::graph::Graph;
use engine::{Bandwidth, Bytes, Duration, Time};
use network::{Fabric, HostParameters, Message, NicChoice, Nics, Regime};
use proptest::prelude::*;

use crate::adaptive::fabric;

/// Routers of a ring, hosts at each, processes of each host.
const RING: u32 = 5;
const HOSTS: u32 = 4;
const PROCESSES: u16 = 2;

fn ring(edge: u64, nics: Nics) -> Arc<Fabric> {
    let edges = (0..RING).map(|at| (at, (at + 1) % RING, Bandwidth(edge), Duration(100_000))).collect();
    let host_link = (Bandwidth(1_900_000_001), Duration(20_000));
    Graph { routers: RING, hosts_per_router: HOSTS, host_link, edges, routes: Default::default() }
        .fabric_with(nics)
}

/// Processes, one of whose regimes has a slow way to the NIC, slower where others send, and packets of so many bytes for a third
/// of headers.
fn processes(nics: Nics, payload: u64) -> Arc<HostParameters> {
    let slow =
        Regime { process_rate: Bandwidth(400_000_007), process_rate_change: -30_000_000.0, ..Regime::FREE };
    Arc::new(HostParameters {
        regimes: vec![Regime::FREE, slow],
        nics,
        packet_payload: Bytes(payload),
        packet_wire: Bytes(payload / 2 * 3),
        ..common::transparent(PROCESSES)
    })
}

/// Messages between hosts, most of up to four packets of 64 B, at few times.
fn any_messages() -> impl Strategy<Value = Vec<(Time, Message)>> {
    let end = || (0..RING * HOSTS, 0..PROCESSES);
    let size = prop_oneof![4 => 9..=256u64, 1 => Just(257u64), 1 => Just(0u64), 1 => 300..5_000u64];
    let message = (0..3u64, end(), end(), size, 0..2u8);
    prop::collection::vec(message, 1..250).prop_map(|drawn| {
        let all = drawn.into_iter().filter(|(_, from, to, ..)| from.0 != to.0).enumerate();
        all.map(|(number, (at, from, to, size, regime))| {
            (Time(at * 300_000), Message { regime, ..common::message(from, to, size, number as u64) })
        })
        .collect()
    })
}

fn last(times: &[Times]) -> Time {
    times.iter().map(|times| times.delivered).max().unwrap_or(Time::ZERO)
}

/// A message of a connection that is there before one that was handed over before it, if there is one.
fn overtaking<'a>(messages: &'a [(Time, Message)], times: &'a [Times]) -> Option<&'a Message> {
    let mut sent: Vec<_> = messages.iter().zip(times).collect();
    sent.sort_by_key(|((at, _), _)| *at);
    let mut before = BTreeMap::new();
    let mut overtakes = |message: &Message, delivered: Time| {
        let ends = [message.from, message.to].map(|end| (end.host, end.process));
        before.insert(ends, delivered).is_some_and(|last| last > delivered)
    };
    sent.into_iter()
        .find(|((_, message), times)| overtakes(message, times.delivered))
        .map(|((_, found), _)| found)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..Default::default() })]

    /// Nobody waits for ever or overtakes, and all are there after at most twice the time of fluids, whose packets are
    /// so small that no message is short.
    #[test]
    fn they_keep_their_order_and_waste_little(
        messages in any_messages(),
        count in 1..3u8,
        choice in prop::sample::select(NicChoice::NAMES),
    ) {
        let nics = Nics { count, choice: NicChoice::named(choice).unwrap(), ..Nics::ONE };
        for sharing in ["flow", "flow equal-share"] {
            let run = |payload| {
                let fabric = ring(1_700_000_003, nics);
                common::run(&mut *common::model(sharing, &fabric, &processes(nics, payload)), &messages)
            };
            let (packets, fluid) = (run(64), run(2));
            let (most, least) = (last(&packets), last(&fluid));
            prop_assert!(most.0 <= 2 * least.0, "{}: {} beside {} ps", sharing, most, least);
            if count == 1 {
                prop_assert_eq!(overtaking(&messages, &packets), None, "{}", sharing);
            }
        }
    }

    /// All hosts are alike: with hosts renumbered along the ring, messages take the same times, to the picosecond.
    #[test]
    fn numbers_of_hosts_change_nothing(
        messages in any_messages(),
        shift in 1..RING,
        edge in prop::sample::select(vec![700_000_001, 1_900_000_001, 20_000_000_003u64]),
    ) {
        let mut shifted = messages.clone();
        for (_, message) in &mut shifted {
            for end in [&mut message.from, &mut message.to] {
                end.host.0 = (end.host.0 + shift * HOSTS) % (RING * HOSTS);
            }
        }
        for sharing in ["flow", "flow equal-share"] {
            let run = |messages: &[(Time, Message)]| {
                common::run(&mut *common::model(sharing, &ring(edge, Nics::ONE), &processes(Nics::ONE, 64)), messages)
            };
            prop_assert_eq!(run(&messages), run(&shifted), "{}", sharing);
        }
    }

    /// None waits for ever, and those of a connection keep their order, where each message finds a route of its own.
    #[test]
    fn they_keep_their_order_on_routes_of_their_own(
        messages in any_messages(),
        routing in prop::sample::select(vec!["progressive-adaptive", "ugal-l", "valiant"]),
    ) {
        let torus = fabric("torus", "sizes = [5]\nhosts_per_router = 4", routing, "");
        for sharing in ["flow", "flow equal-share"] {
            let found =
                common::run(&mut *common::model(sharing, &torus, &processes(Nics::ONE, 64)), &messages);
            prop_assert_eq!(overtaking(&messages, &found), None, "{}", sharing);
        }
    }
}
