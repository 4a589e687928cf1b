//! Properties of every routing of the registry, on every topology that it fits, with random parameters.

use crate::support;

use std::collections::BTreeMap;

use engine::registry::find;
use network::routing::{Decision, Load, ROUTINGS, Routing, RoutingState, Trip, Unloaded};
use network::topology::Idle;
use network::topology::TOPOLOGIES;
use network::{HostId, LinkId, Node, RouterId, Topology};
use support::{distances, topology, try_routing};

/// Routings whose routes are as short as the graph allows.
const SHORTEST: &[&str] =
    &["dimension-order", "shortest-path", "d-mod-k", "s-mod-k", "random-up", "least-loaded-up"];

/// Minimal routes on a dragonfly do not use a third group, which may be shorter.
fn is_shortest(name: &str, topology: &dyn Topology) -> bool {
    SHORTEST.contains(&name) || (name == "minimal" && topology.default_routing() == "dimension-order")
}

const KEYS: u64 = 6;
const SOURCES_MOST: u32 = 50;
const HOSTS_MOST: u32 = 100;

/// A load that differs from link to link without pattern.
struct Uneven(u64);

impl Load for Uneven {
    fn of(&self, link: LinkId) -> u64 {
        (u64::from(link.0) ^ self.0).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 60
    }
}

fn route(
    routing: &dyn Routing,
    topology: &dyn Topology,
    from: u32,
    to: u32,
    key: u64,
    load: &dyn Load,
) -> Vec<LinkId> {
    let mut path = Vec::new();
    routing.route(topology, Trip::new(HostId(from), HostId(to), key), load, &mut path);
    path
}

/// The way of a packet that decides at every router where it may, by a load that differs there from all
/// before. Whatever it decides, what it has taken stays as it was, but for parallel links.
fn decided(
    routing: &dyn Routing,
    topology: &dyn Topology,
    (from, to, key): (u32, u32, u64),
    salt: u64,
) -> Vec<LinkId> {
    let trip = Trip::new(HostId(from), HostId(to), key);
    let (mut path, mut other, mut course) = (Vec::new(), Vec::new(), 0);
    routing.course(topology, trip, course, &mut path);
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for taken in 1..=routing.decisions() {
        if taken as usize + 1 >= path.len() {
            break;
        }
        let state =
            RoutingState { trip, course, taken, links: path.len() as u32, next: path[taken as usize] };
        let load = Uneven(salt.wrapping_mul(97) + u64::from(taken));
        let old = path.clone();
        match routing.adapt(topology, &state, &load, &mut other) {
            Decision::Stay => {}
            Decision::ParallelLink(link) => {
                let ends = |link| (topology.link(link).from, topology.link(link).to);
                assert_eq!(ends(link), ends(state.next));
                path[taken as usize] = link;
            }
            Decision::Course(new) => {
                course = new;
                routing.channels(topology, &path, &mut before);
                routing.channels(topology, &other, &mut after);
                let taken = taken as usize;
                assert_eq!(before[..taken], after[..taken], "what it holds");
                path.truncate(taken);
                path.extend_from_slice(&other[taken..]);
                // Who knows the course alone finds the same way, but for parallel links.
                let mut again = Vec::new();
                routing.course(topology, trip, course, &mut again);
                let ends =
                    |path: &[LinkId]| path.iter().map(|link| topology.link(*link).to).collect::<Vec<_>>();
                assert_eq!(ends(&again), ends(&path));
            }
        }
        assert_eq!(old[..taken as usize], path[..taken as usize]);
    }
    path
}

/// Ways of one message with this key: where nothing is decided on the way, its route.
fn ways(
    routing: &dyn Routing,
    topology: &dyn Topology,
    (from, to, key): (u32, u32, u64),
) -> impl Iterator<Item = Vec<LinkId>> {
    let decided = (0..if routing.decisions() > 0 { 3 } else { 0 })
        .map(move |salt| decided(routing, topology, (from, to, key), salt + key));
    std::iter::once(route(routing, topology, from, to, key, &Uneven(key))).chain(decided)
}

/// Runs `check` on random networks of every kind, with each routing that fits and its random parameters.
fn on_every_routing(check: impl Fn(&str, &dyn Topology, &dyn Routing)) {
    let mut built: BTreeMap<&str, u32> = BTreeMap::new();
    let tried = std::cell::RefCell::new(&mut built);
    for kind in TOPOLOGIES {
        let mut runner = support::runner(16);
        let strategy = (support::parameters(kind.name), 0..4usize);
        let result = runner.run(&strategy, |(text, variant)| {
            let topology = topology(kind.name, &text);
            if topology.hosts() > HOSTS_MOST {
                return Ok(());
            }
            for entry in ROUTINGS {
                let text = support::routing_parameters(entry.name, variant);
                match try_routing(entry.name, text, &*topology) {
                    Ok(routing) => {
                        *tried.borrow_mut().entry(entry.name).or_default() += 1;
                        check(entry.name, &*topology, &*routing);
                    }
                    Err(error) => {
                        assert_ne!(entry.name, topology.default_routing(), "{error}");
                        assert_eq!(error.parameter, "kind", "{}: {error}", entry.name);
                        assert!(error.reason.contains(topology.default_routing()), "{error}");
                    }
                }
            }
            Ok(())
        });
        result.unwrap_or_else(|error| panic!("{}: {error}", kind.name));
    }
    assert_eq!(built.len(), ROUTINGS.len(), "every routing fits some topology: {built:?}");
}

/// All pairs of hosts, or, of large networks, all from some of the hosts.
fn pairs(topology: &dyn Topology) -> impl Iterator<Item = (u32, u32)> {
    let hosts = topology.hosts();
    let sources = (0..hosts).step_by(hosts.div_ceil(SOURCES_MOST) as usize);
    sources.flat_map(move |from| (0..hosts).map(move |to| (from, to))).filter(|(from, to)| from != to)
}

#[test]
fn routes_run_over_consecutive_links_to_their_destination() {
    on_every_routing(|name, topology, routing| {
        let longest = routing.longest(topology);
        let mut measured: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (from, to) in pairs(topology) {
            for path in (0..KEYS).flat_map(|key| ways(routing, topology, (from, to, key))) {
                let mut at = Node::Host(HostId(from));
                for id in &path {
                    let link = topology.link(*id);
                    assert_eq!(link.from, at, "{name}: {path:?} breaks at {id:?}");
                    at = link.to;
                }
                assert_eq!(at, Node::Host(HostId(to)), "{name}");
                let hops = path.len() as u32 - 2;
                assert!(hops <= longest, "{name}: {hops} hops, at most {longest} promised");
                let (start, end) = (topology.router_of(HostId(from)), topology.router_of(HostId(to)));
                let shortest = measured
                    .entry(start.0)
                    .or_insert_with(|| distances(topology, RouterId(start.0)))[end.0 as usize];
                assert!(
                    !is_shortest(name, topology) || hops == shortest,
                    "{name}: {hops} hops, {shortest} would do"
                );
            }
        }
    });
}

#[test]
fn the_idle_path_is_that_of_key_zero() {
    on_every_routing(|name, topology, routing| {
        for (from, to) in pairs(topology) {
            let links: Vec<_> = route(routing, topology, from, to, 0, &Unloaded)
                .into_iter()
                .map(|link| topology.link(link))
                .collect();
            let walked = Idle {
                latency: links.iter().map(|link| link.latency).sum(),
                bandwidth: links.iter().map(|link| link.bandwidth).min().unwrap(),
            };
            assert_eq!(routing.idle(topology, HostId(from), HostId(to)), walked, "{name} {from} to {to}");
        }
    });
}

#[test]
fn a_route_depends_on_its_name_alone() {
    on_every_routing(|name, topology, routing| {
        for (from, to) in pairs(topology) {
            for key in 0..KEYS {
                let first = route(routing, topology, from, to, key, &Unloaded);
                assert_eq!(first, route(routing, topology, from, to, key, &Unloaded), "{name}");
                let mut course = Vec::new();
                routing.course(topology, Trip::new(HostId(from), HostId(to), key), 0, &mut course);
                assert_eq!(first, course, "{name}");
                assert!(routing.is_adaptive() || routing.decisions() == 0, "{name}");
                if !routing.is_adaptive() {
                    assert_eq!(first, route(routing, topology, from, to, 0, &Uneven(key)), "{name}");
                }
            }
        }
    });
}

/// Waiting for a (link, channel) while holding another never closes a circle.
#[test]
fn the_channel_dependency_graph_is_acyclic() {
    on_every_routing(|name, topology, routing| {
        let count = routing.channel_count();
        let mut waits: BTreeMap<(LinkId, u8), Vec<(LinkId, u8)>> = BTreeMap::new();
        let mut channels = Vec::new();
        for (from, to) in pairs(topology) {
            for path in (0..KEYS).flat_map(|key| ways(routing, topology, (from, to, key))) {
                routing.channels(topology, &path, &mut channels);
                assert_eq!(channels.len(), path.len(), "{name}");
                assert!(channels.iter().all(|channel| *channel < count), "{name}: {channels:?} of {count}");
                let held: Vec<_> = path.into_iter().zip(channels.iter().copied()).collect();
                for pair in held.windows(2) {
                    waits.entry(pair[0]).or_default().push(pair[1]);
                    waits.entry(pair[1]).or_default();
                }
            }
        }
        // Kahn: take away what nothing waits for, until nothing is left.
        let mut waiting: BTreeMap<(LinkId, u8), usize> = waits.keys().map(|held| (*held, 0)).collect();
        for next in waits.values_mut() {
            next.sort();
            next.dedup();
            next.iter().for_each(|next| *waiting.get_mut(next).unwrap() += 1);
        }
        let mut free: Vec<_> =
            waiting.iter().filter(|(_, count)| **count == 0).map(|(held, _)| *held).collect();
        let mut taken = 0;
        while let Some(held) = free.pop() {
            taken += 1;
            for next in &waits[&held] {
                let count = waiting.get_mut(next).unwrap();
                *count -= 1;
                if *count == 0 {
                    free.push(*next);
                }
            }
        }
        assert_eq!(taken, waits.len(), "{name}: {} channels wait in a circle", waits.len() - taken);
    });
}

#[test]
fn random_routes_change_with_the_seed() {
    for (kind, text, name) in [
        ("fat-tree", "k = 4\nlevels = 3", "random-up"),
        ("torus", "sizes = [4, 4, 4]", "valiant"),
        ("hyperx", "sizes = [4, 4, 4]", "minimal"),
    ] {
        let topology = topology(kind, text);
        let entry = find(ROUTINGS, "routing", name).unwrap();
        let routes = |seed| -> Vec<_> {
            let routing = (entry.build)(&support::arguments(entry.parameters, ""), &*topology, seed).unwrap();
            pairs(&*topology).map(|(from, to)| route(&*routing, &*topology, from, to, 1, &Unloaded)).collect()
        };
        assert_ne!(routes(1), routes(2), "{name}");
    }
}

/// Tables for a million hosts do not fit; the error says how much they need, and what would do.
#[test]
fn tables_too_large_are_refused() {
    let topology = topology("torus", "sizes = [100, 100, 100]");
    let error = try_routing("shortest-path", "memory = \"64 MiB\"", &*topology).err().unwrap();
    assert_eq!(error.parameter, "memory");
    // A million tables of a million entries of two bytes.
    for part in ["64 MiB", "1.819 TiB", "dimension-order"] {
        assert!(error.reason.contains(part), "{error}");
    }
}

/// Hopper's published ends: 1.27 us for hosts of one router and 3.88 us for the farthest, with
/// 635 ns to the router and 108.75 ns a hop (24 hops).
#[test]
fn latencies_of_gemini() {
    let text = "sizes = [17, 8, 24]\nhosts_per_router = 2\nlatency = \"108.75 ns\"";
    let topology = topology("torus", text);
    let routing = try_routing("dimension-order", "", &*topology).unwrap();
    let latency = |from: u32, to: u32| routing.idle(&*topology, HostId(from), HostId(to)).latency;
    let all: Vec<_> = (1..topology.hosts()).map(|to| latency(0, to)).collect();
    assert_eq!(*all.iter().min().unwrap(), "1.27 us".parse().unwrap());
    assert_eq!(*all.iter().max().unwrap(), "3.88 us".parse().unwrap());
}

/// D-mod-k gives every destination of a shift its own way down a full tree (Zahavi 2010).
#[test]
fn d_mod_k_does_not_block_shifts() {
    let topology = topology("fat-tree", "k = 4\nlevels = 3");
    let routing = try_routing("d-mod-k", "", &*topology).unwrap();
    for shift in 1..topology.hosts() {
        let mut used: Vec<LinkId> = (0..topology.hosts())
            .flat_map(|from| {
                let to = (from + shift) % topology.hosts();
                route(&*routing, &*topology, from, to, 0, &Unloaded)
            })
            .collect();
        let all = used.len();
        used.sort();
        used.dedup();
        assert_eq!(used.len(), all, "shift by {shift}");
    }
}

/// Two switches with four hosts each and four cables between them.
const CABLES: &str =
    "file = \"\"\"\nhost a b c d e f g h\na s\nb s\nc s\nd s\ne t\nf t\ng t\nh t\ns t x4\n\"\"\"";

#[test]
fn consecutive_hosts_take_parallel_links_in_turns_and_every_message_to_a_host_the_same() {
    let topology = topology("graph", CABLES);
    let routing = try_routing("shortest-path", "", &*topology).unwrap();
    let between = |from, to, key| {
        let path = route(&*routing, &*topology, from, to, key, &Unloaded);
        assert_eq!(path.len(), 3);
        path[1]
    };
    for (from, to) in [(0, 4), (4, 0)] {
        let mut links: Vec<LinkId> = (0..4).map(|host| between(from, to + host, 0)).collect();
        links.sort_unstable();
        links.dedup();
        assert_eq!(links.len(), 4, "each host on the other switch has a cable of its own");
    }
    for (from, key) in (0..4).flat_map(|from| (0..KEYS).map(move |key| (from, key))) {
        assert_eq!(between(from, 6, key), between(0, 6, 0));
    }
    let first = try_routing("shortest-path", "equals = \"first\"", &*topology).unwrap();
    let links: BTreeMap<LinkId, u32> =
        (4..8).map(|to| (route(&*first, &*topology, 0, to, 0, &Unloaded)[1], to)).collect();
    assert_eq!(links.len(), 1, "equals = \"first\" is the first port for all");
}
