//! Properties of every cut of every kind of topology.

use crate::support;

use engine::Duration;
use network::topology::TOPOLOGIES;
use network::{Cut, Grain, HostId, Node, RouterId, Topology};
use support::{links, topology, try_routing};

/// All examples of all kinds.
fn topologies() -> impl Iterator<Item = Box<dyn Topology>> {
    let examples = TOPOLOGIES.iter().flat_map(|entry| entry.examples.iter().map(|text| (entry.name, *text)));
    examples.map(|(name, text)| topology(name, text))
}

fn even(topology: &dyn Topology) -> Vec<u32> {
    vec![1; topology.hosts() as usize]
}

fn hosts_of_parts(topology: &dyn Topology, cut: &Cut) -> Vec<u32> {
    let mut count = vec![0; cut.parts() as usize];
    (0..topology.hosts()).for_each(|host| count[cut.of_host(HostId(host)) as usize] += 1);
    count
}

#[test]
fn routers_keep_their_hosts_and_parts_are_ranges() {
    for topology in topologies() {
        for parts in [1, 2, 3, 8] {
            let cut = Cut::new(&*topology, Grain::Routers, parts, &even(&*topology));
            let hosts: Vec<u32> = (0..topology.hosts()).map(|host| cut.of_host(HostId(host))).collect();
            assert!(hosts.is_sorted(), "parts are ranges");
            for (host, part) in hosts.iter().enumerate() {
                assert_eq!(*part, cut.of_router(topology.router_of(HostId(host as u32))));
            }
            assert!(hosts_of_parts(&*topology, &cut).iter().all(|count| *count > 0), "no part is empty");
            let leaves = (0..topology.routers()).filter(|r| !topology.hosts_of(RouterId(*r)).is_empty());
            assert_eq!(cut.parts(), parts.min(leaves.count() as u32));
        }
    }
}

/// Hosts of a router may be dealt together, so that a part may have some more or less than its share.
#[test]
fn parts_are_balanced() {
    for topology in topologies() {
        for parts in [2, 3, 8] {
            let weights: Vec<u32> = (0..topology.hosts()).map(|host| host % 4).collect();
            let total: u32 = weights.iter().sum();
            let cut = Cut::new(&*topology, Grain::Hosts, parts, &weights);
            let mut load = vec![0; cut.parts() as usize];
            (0..topology.hosts())
                .for_each(|host| load[cut.of_host(HostId(host)) as usize] += weights[host as usize]);
            let share = total as f64 / f64::from(parts);
            assert!(load.iter().all(|load| (f64::from(*load) - share).abs() <= 3.0), "{load:?} of {total}");
        }
    }
}

/// A cut of a torus into as many parts as its slowest dimension has slabs crosses links of that dimension
/// alone; one of a dragonfly by groups crosses global links alone; a tree cut by subtrees keeps whole what
/// is below the top.
#[test]
fn cuts_follow_the_topology() {
    let crossed = |topology: &dyn Topology, parts| {
        let cut = Cut::new(topology, Grain::Routers, parts, &even(topology));
        let crosses = |id: &network::LinkId| {
            let link = topology.link(*id);
            cut.of_node(link.from) != cut.of_node(link.to)
        };
        let mut classes: Vec<u16> =
            links(topology).filter(crosses).map(|id| topology.link(id).class).collect();
        classes.sort_unstable();
        classes.dedup();
        let names = topology.classes();
        classes.into_iter().map(|class| names[usize::from(class)].clone()).collect::<Vec<_>>()
    };
    assert_eq!(crossed(&*topology("torus", "sizes = [5, 4, 8]"), 4), ["z+", "z-"]);
    let dragonfly = "routers_per_group = 4\nhosts_per_router = 2\nglobal_links_per_router = 2";
    assert_eq!(crossed(&*topology("dragonfly", dragonfly), 3), ["global"]);
    // Spines have no hosts, and stay with their leaves.
    let plus = "groups = 4\nleaves_per_group = 2\nspines_per_group = 3\nhosts_per_leaf = 2\nglobal_links_per_spine = 1";
    assert_eq!(crossed(&*topology("dragonfly-plus", plus), 4), ["global"]);
    assert_eq!(crossed(&*topology("slim-fly", "q = 5"), 5), ["global"]);
    assert_eq!(crossed(&*topology("fat-tree", "k = 4\nlevels = 3"), 4), ["up 3", "down 3"]);
}

/// The bound that windows rest on: no path between parts is shorter.
#[test]
fn no_path_between_parts_has_less_latency() {
    for topology in topologies() {
        let routing = try_routing(topology.default_routing(), "", &*topology).unwrap();
        for grain in [Grain::Hosts, Grain::Routers] {
            let cut = Cut::new(&*topology, grain, 3, &even(&*topology));
            if cut.parts() == 1 {
                continue;
            }
            let mut least = Duration(u64::MAX);
            for from in (0..topology.hosts()).map(HostId) {
                for to in (0..topology.hosts()).map(HostId) {
                    if cut.of_host(from) != cut.of_host(to) {
                        least = least.min(routing.idle(&*topology, from, to).latency);
                    }
                }
            }
            assert!(cut.least_path() <= least && cut.least_path() > Duration::ZERO);
            let borders = links(&*topology).map(|id| topology.link(id)).filter(|link| {
                matches!((link.from, link.to), (Node::Router(_), Node::Router(_)))
                    && cut.of_node(link.from) != cut.of_node(link.to)
            });
            let least = borders.map(|link| link.latency).min().unwrap_or(Duration(u64::MAX));
            assert_eq!(cut.least_border(), least);
        }
    }
}

/// Hosts without ranks are no part by themselves, wherever they are.
#[test]
fn every_part_has_weight() {
    let crossbar = topology("crossbar", "hosts = 6");
    for (weights, parts) in [([0, 0, 5, 0, 0, 0], 1), ([1, 0, 0, 0, 0, 1], 2), ([0, 1, 0, 7, 0, 0], 2)] {
        let cut = Cut::new(&*crossbar, Grain::Hosts, 3, &weights);
        let mut load = vec![0; cut.parts() as usize];
        (0..6).for_each(|host| load[cut.of_host(HostId(host)) as usize] += weights[host as usize]);
        assert!(cut.parts() == parts && load.iter().all(|load| *load > 0), "{weights:?}: {load:?}");
    }
}

#[test]
fn what_is_not_cut_is_in_part_zero() {
    let torus = topology("torus", "sizes = [4, 4]");
    let cut = Cut::new(&*torus, Grain::Routers, 1, &even(&*torus));
    assert_eq!((cut.parts(), cut.of_host(HostId(15)), cut.of_router(RouterId(15))), (1, 0, 0));
}
