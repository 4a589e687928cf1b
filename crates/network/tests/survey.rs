//! The survey of a network, held to counting on random small ones and to published numbers.

use crate::support;

use engine::Bandwidth;
use network::survey::{Found, Survey, searched_bisection, survey};
use network::topology::{LinkDefaults, TOPOLOGIES};
use network::{Fabric, Node, RouterId, Topology};
use support::{distances, links, topology, try_routing};

fn fabric(topology: Box<dyn Topology>) -> Fabric {
    let routing = try_routing(topology.default_routing(), "", &*topology).unwrap();
    Fabric { topology, routing }
}

fn survey_of(name: &str, text: &str) -> Survey {
    survey(&fabric(topology(name, text)))
}

/// The least cut over all ways to put the hosts on two sides that differ by at most `lean` hosts.
fn least_cut(topology: &dyn Topology, lean: usize) -> Option<Bandwidth> {
    let routers = topology.routers();
    let hosts: Vec<usize> = (0..routers).map(|router| topology.hosts_of(RouterId(router)).len()).collect();
    let between: Vec<(u32, u32, u64)> = links(topology)
        .filter_map(|id| match topology.link(id) {
            link if link.bandwidth == Bandwidth::INFINITE => panic!("a finite network was wanted"),
            network::Link { from: Node::Router(from), to: Node::Router(to), bandwidth, .. } => {
                Some((from.0, to.0, bandwidth.0))
            }
            _ => None,
        })
        .collect();
    let cut = |side: u32| {
        let half: usize =
            (0..routers).filter(|router| side >> router & 1 == 1).map(|router| hosts[router as usize]).sum();
        if (2 * half).abs_diff(topology.hosts() as usize) > lean {
            return None;
        }
        let way = |one: u32| {
            let crosses = |(from, to, _): &&(u32, u32, u64)| side >> from & 1 == one && side >> to & 1 != one;
            between.iter().filter(crosses).map(|(_, _, rate)| rate).sum::<u64>()
        };
        Some(Bandwidth(way(0).min(way(1))))
    };
    (0..1u32 << routers).filter_map(cut).min()
}

#[test]
fn surveys_of_random_networks_are_what_counting_gives() {
    for entry in TOPOLOGIES {
        let mut runner = support::runner(40);
        let result = runner.run(&support::parameters(entry.name), |text| {
            let fabric = fabric(topology(entry.name, &text));
            let topology = &*fabric.topology;
            let found = survey(&fabric);
            let counted: u64 = found.classes.iter().map(|class| class.links).sum();
            assert_eq!(counted, found.links);
            let (mut hops, mut most) = (0.0, 0);
            for router in (0..topology.routers()).map(RouterId) {
                let distances = distances(topology, router);
                for other in (0..topology.routers()).map(RouterId) {
                    let [here, there] = [router, other].map(|router| topology.hosts_of(router).len() as f64);
                    if here * there > 0.0 {
                        hops += here * there * f64::from(distances[other.0 as usize]);
                        most = most.max(distances[other.0 as usize]);
                    }
                }
            }
            let pairs = f64::from(topology.hosts()) * (f64::from(topology.hosts()) - 1.0);
            assert_eq!(found.diameter.value, most);
            match found.mean_hops {
                Some(mean) => assert!((mean.value - hops / pairs).abs() < 1e-9, "{mean:?} {}", hops / pairs),
                None => assert_eq!(topology.hosts(), 1),
            }
            if topology.routers() <= 10 {
                check_bisection(topology, &found);
            } else if let (Some(formula), Some(searched)) =
                (topology.formula().bisection, searched_bisection(topology))
            {
                assert!(formula <= searched, "the formula, {formula}, is above a cut of {searched}");
            }
            Ok(())
        });
        result.unwrap_or_else(|error| panic!("{}: {error}", entry.name));
    }
}

fn check_bisection(topology: &dyn Topology, survey: &Survey) {
    let Some(found) = survey.bisection else { return };
    let each = (0..topology.routers()).map(|router| topology.hosts_of(RouterId(router)).len());
    if found.found == Found::Formula {
        assert_eq!(Some(found.value), least_cut(topology, 0), "the formula is not the least cut");
    } else {
        let least = least_cut(topology, each.max().unwrap()).expect("whole routers come out that even");
        assert!(found.value >= least, "{found:?} is below the least cut, {least}");
    }
}

/// One link has 1 GB/s throughout.
const PLAIN: LinkDefaults = LinkDefaults {
    bandwidth: Bandwidth(1_000_000_000),
    host_bandwidth: Bandwidth(1_000_000_000),
    ..support::DEFAULTS
};

/// Textbook bisections, in links of one direction: Dally and Towles 2004, table 3.1 and section 5.2.2
/// (k-ary n-cube: 2 k^(n-1), mesh: half), and full fat trees: half of the hosts.
#[test]
fn published_bisections() {
    for (name, text, links) in [
        ("torus", "sizes = [8, 8, 8]", 2 * 64),
        ("mesh", "sizes = [8, 8, 8]", 64),
        ("ring", "size = 10", 2),
        ("hypercube", "dimensions = 6", 32),
        ("fat-tree", "k = 4\nlevels = 3", 32),
        // Two parents where a full tree has four: half.
        ("fat-tree", "k = 4\nlevels = 2\nuplinks = 2", 4),
        // Ahn et al. 2009: S/2 x S/2 pairs in each of the other coordinates.
        ("hyperx", "sizes = [4, 4]", 4 * 4),
        // Gemini of Hopper is cut across Z, whose two lanes beat Y's one only by its length.
        ("torus", "sizes = [17, 8, 24]\nlanes = [2, 1, 2]", 2 * 2 * 17 * 8),
    ] {
        let entry = engine::registry::find(TOPOLOGIES, "topology", name).unwrap();
        let topology = (entry.build)(&support::arguments(entry.parameters, text), &PLAIN).unwrap();
        let found = survey(&fabric(topology)).bisection.unwrap();
        assert_eq!((found.value.0 / 1_000_000_000, found.found), (links, Found::Formula), "{name} {text}");
    }
}

/// Without a formula, the search finds what is known: a dragonfly of 6 groups is cut between groups.
#[test]
fn the_estimate_finds_known_cuts() {
    // A ring of six rings of five as a file: the least cut parts three rings from three, two cables.
    let mut text = String::from("file = \"\"\"\n");
    for ring in 0..6 {
        for place in 0..5 {
            text += &format!("host h{ring}_{place}\nh{ring}_{place} r{ring}_{place}\n");
            text += &format!("r{ring}_{place} r{ring}_{} 10 GB/s\n", (place + 1) % 5);
        }
        text += &format!("r{ring}_0 r{}_2 3 GB/s\n", (ring + 1) % 6);
    }
    let found = survey_of("graph", &(text + "\"\"\"")).bisection.unwrap();
    assert_eq!((found.value, found.found), ("6 GB/s".parse().unwrap(), Found::AtMost));
}

/// Ways between two routers: one per differing dimension on a grid, the ports up in a full tree, and
/// the lanes where links are parallel.
#[test]
fn disjoint_ways() {
    let diversity = |name, text| survey_of(name, text).diversity.unwrap();
    let hypercube = diversity("hypercube", "dimensions = 4");
    assert!(hypercube.least == 1 && hypercube.mean > 1.5 && hypercube.mean < 3.0, "{hypercube:?}");
    let tree = diversity("fat-tree", "k = 4\nlevels = 3");
    assert_eq!((tree.least, tree.mean), (4, 4.0));
    let lanes = diversity("ring", "size = 5\nlanes = 3");
    assert_eq!((lanes.least, lanes.mean), (3, 3.0));
    assert_eq!(survey_of("crossbar", "hosts = 4").diversity, None);
}

#[test]
fn hopper_in_numbers() {
    let found = survey_of("torus", "sizes = [17, 8, 24]\nhosts_per_router = 2\nlatency = \"108.75 ns\"");
    let routed = found.routed.unwrap();
    assert_eq!((found.hosts, found.diameter.value), (6_528, 24));
    assert_eq!(routed.channels, 2);
    // 17 odd: (17² - 1) / (4 · 17); 8 and 24 even: a quarter; 6,527 partners of 6,528 hosts.
    let mean = (288.0 / 68.0 + 2.0 + 6.0) * 6_528.0 / 6_527.0;
    assert!((found.mean_hops.unwrap().value - mean).abs() < 1e-9);
    assert!((routed.mean_hops - mean).abs() < 0.2, "{routed:?}");
}
