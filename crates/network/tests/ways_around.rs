//! Elements that can fail, when they do, and ways through what is left, without packets.

use crate::support;

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::{Duration, Time};
use network::faults::{Elements, Failing, Faults, Rates, links_named, router_named};
use network::routing::around::Around;
use network::routing::escape::Escape;
use network::topology::TOPOLOGIES;
use network::topology::several_nics::with_nics;
use network::{HostId, LinkId, Node, Topology};
use proptest::prelude::*;
use support::{runner, topology, try_routing};

const US: u64 = 1_000_000;

/// Names are those of reports; what is wrong with others is told with names that would do.
#[test]
fn names_are_told_from_each_other() {
    let ring = topology("ring", "size = 6");
    let links = |text, lane| links_named(&*ring, text, lane);
    assert_eq!(links("host 2 -> (2)", None), Ok(vec![LinkId(2)]));
    assert_eq!(links("(2)->host 2", None), Ok(vec![LinkId(8)]));
    assert_eq!(links("( 0 ) <-> (1)", None).unwrap().len(), 2);
    let two = with_nics(topology("ring", "size = 6"), 2);
    let cables = links_named(&*two, "host 2 <-> (2)", None).unwrap();
    assert_eq!(cables, [2, ring.links() + 2, 8, ring.links() + 8].map(LinkId), "of all NICs");
    assert_eq!(router_named(&*ring, "(5)").map(|router| router.0), Ok(5));
    for (text, lane, expected) in [
        ("(0)", None, "write \"A -> B\""),
        ("(0) -> (7)", None, "unknown router or host '(7)'; known: (0), (1), "),
        ("(0) -> (2)", None, "no link leads from (0) to (2); links from (0) lead to (1), (5), host 0"),
        ("(0) -> (1)", Some(1), "lane 1: one link leads from (0) to (1), and its lane is 0"),
    ] {
        let error = links(text, lane).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
    let error = router_named(&*ring, "host 1").unwrap_err();
    assert!(error.contains("unknown router 'host 1'; known: (0), (1)"), "{error}");
}

fn at_random(to_failure: u64, to_repair: u64) -> Option<Rates> {
    Some(Rates { to_failure: Duration(to_failure), to_repair: Duration(to_repair) })
}

/// Times between failures are exponential with the means that were asked for, for each cable its own, and do
/// not change with what else fails.
#[test]
fn random_failures_keep_to_their_rates() {
    let torus = topology("torus", "sizes = [4, 4, 4]");
    let faults = Faults { cables: at_random(900 * US, 100 * US), seed: 7, ..Faults::default() };
    let outages =
        |faults: &Faults| Arc::new(Elements::new(&*torus, faults.clone())).outages(Time(300_000 * US));
    let all = outages(&faults);
    // 192 cables for 300 ms, one failure each millisecond.
    let count = all.len() as f64 / (192.0 * 300.0);
    assert!((count - 1.0).abs() < 0.02, "{count}");
    let ended = all.iter().filter_map(|outage| Some(outage.returned_at?.since(outage.failed_at).seconds()));
    let lengths: Vec<f64> = ended.collect();
    let mean = lengths.iter().sum::<f64>() / lengths.len() as f64;
    assert!((mean / 100e-6 - 1.0).abs() < 0.02, "{mean}");
    // Exponential: a share of 1/e is longer than the mean.
    let longer = lengths.iter().filter(|length| **length > 100e-6).count() as f64 / lengths.len() as f64;
    assert!((longer - (-1f64).exp()).abs() < 0.01, "{longer}");
    let more = Faults { routers: at_random(5_000 * US, 100 * US), ..faults.clone() };
    let links_alone: Vec<_> =
        outages(&more).into_iter().filter(|outage| matches!(outage.what, Failing::Links(_))).collect();
    assert_eq!(links_alone, all);
    assert_ne!(outages(&Faults { seed: 8, ..faults }), all);
}

/// The channels that packets on ways around wait for, while the order stays.
type Waits = BTreeMap<LinkId, Vec<LinkId>>;

/// Walks from every host to every other through what is left, and notes what waits for what.
fn walk_all(topology: &dyn Topology, escape: &mut Escape, waits: &mut Waits) {
    for from in 0..topology.hosts() {
        for to in (0..topology.hosts()).filter(|to| *to != from) {
            let (from, to) = (HostId(from), HostId(to));
            if !escape.joins(topology, from, to) {
                continue;
            }
            let mut last = topology.up(from);
            for hops in 0.. {
                assert!(hops <= 2 * topology.routers(), "a way around ends");
                let next = escape.next_link(topology, last, to, 1);
                let next = next.expect("hosts of one piece reach each other");
                assert!(!escape.is_down(next), "a way around is in service");
                assert_eq!(topology.link(next).from, topology.link(last).to);
                let between = |link| {
                    matches!(
                        (topology.link(link).from, topology.link(link).to),
                        (Node::Router(_), Node::Router(_))
                    )
                };
                if between(last) && between(next) {
                    waits.entry(last).or_default().push(next);
                    waits.entry(next).or_default();
                }
                if topology.link(next).to == Node::Host(to) {
                    break;
                }
                last = next;
            }
        }
    }
}

fn has_circle(waits: &mut Waits) -> bool {
    let mut waiting: BTreeMap<LinkId, usize> = waits.keys().map(|link| (*link, 0)).collect();
    for next in waits.values_mut() {
        next.sort();
        next.dedup();
        next.iter().for_each(|next| *waiting.get_mut(next).unwrap() += 1);
    }
    let mut free: Vec<_> = waiting.iter().filter(|(_, count)| **count == 0).map(|(link, _)| *link).collect();
    let mut taken = 0;
    while let Some(link) = free.pop() {
        taken += 1;
        for next in &waits[&link] {
            let count = waiting.get_mut(next).unwrap();
            *count -= 1;
            if *count == 0 {
                free.push(*next);
            }
        }
    }
    taken < waits.len()
}

/// On every topology, through every random failure and return: all hosts of a piece reach each other, and
/// the channel of ways around has no circle of waits, over all times in which one order holds.
#[test]
fn ways_around_are_complete_and_acyclic() {
    let orders = std::cell::Cell::new(0);
    for kind in TOPOLOGIES {
        let mut runner = runner(12);
        let strategy = (support::parameters(kind.name), any::<u64>(), any::<bool>());
        let result = runner.run(&strategy, |(text, seed, routers)| {
            let topology = topology(kind.name, &text);
            if topology.hosts() > 100 {
                return Ok(());
            }
            let inner = try_routing(topology.default_routing(), "", &*topology).unwrap();
            let cables = at_random(700 * US, 300 * US);
            let routers = if routers { at_random(900 * US, 100 * US) } else { None };
            let around =
                Around::new(inner, &*topology, Faults { cables, routers, seed, ..Faults::default() });
            let mut escape = Escape::new(&around, &*topology);
            let mut waits = Waits::new();
            let mut order = escape.order();
            walk_all(&*topology, &mut escape, &mut waits);
            for _ in 0..25 {
                if escape.advance(Time::LAST).is_none() {
                    break;
                }
                if escape.order() != order {
                    orders.set(orders.get() + 1);
                    order = escape.order();
                    prop_assert!(!has_circle(&mut waits));
                    waits.clear();
                }
                walk_all(&*topology, &mut escape, &mut waits);
            }
            prop_assert!(!has_circle(&mut waits));
            Ok(())
        });
        result.unwrap_or_else(|error| panic!("{}: {error}", kind.name));
    }
    assert!(orders.get() > 20, "new orders began: {}", orders.get());
}
