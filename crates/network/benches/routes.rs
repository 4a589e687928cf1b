//! Speed of finding routes and idle paths: `cargo bench -p network --bench routes`.
//!
//! Prints a line per network and routing: links per route, ns per route, ns per link, ns per idle path;
//! then how long a survey of each network takes.
#![allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

#[allow(dead_code, unused_imports, reason = "a part of what tests need")]
#[path = "../tests/support/mod.rs"]
mod support;

use std::hint::black_box;
use std::time::Instant;

use network::HostId;
use network::routing::{Trip, Unloaded};

const NETWORKS: &[(&str, &str, &[&str])] = &[
    (
        "torus",
        "sizes = [17, 8, 24]\nhosts_per_router = 2\nlanes = [2, 1, 2]",
        &["dimension-order", "minimal", "valiant", "shortest-path"],
    ),
    ("torus", "sizes = [100, 100, 100]", &["dimension-order"]),
    (
        "fat-tree",
        "m = [18, 6, 16]\nw = [1, 6, 18]",
        &["d-mod-k", "random-up", "least-loaded-up", "shortest-path"],
    ),
    ("fat-tree", "m = [32, 32, 32, 32]\nw = [1, 32, 32, 32]", &["d-mod-k"]),
    (
        "dragonfly",
        "groups = 74\nrouters_per_group = 32\nhosts_per_router = 16\nglobal_links_per_router = 16",
        &["minimal", "valiant"],
    ),
    ("hyperx", "sizes = [16, 16, 16]\nhosts_per_router = 16", &["dimension-order", "minimal"]),
];

const ROUTES: u32 = 2_000_000;

fn surveys() {
    for (kind, text, routings) in NETWORKS {
        let topology = support::topology(kind, text);
        let routing = support::try_routing(routings[0], "", &*topology).expect("it fits");
        let start = Instant::now();
        let survey = network::survey::survey(&network::Fabric { topology, routing });
        println!("{kind:9} {:8} hosts survey {:6.2} s", survey.hosts, start.elapsed().as_secs_f64());
        println!("          {:?} {:?} {:?}", survey.mean_hops, survey.bisection, survey.diversity);
    }
}

fn main() {
    for (kind, text, routings) in NETWORKS {
        let topology = support::topology(kind, text);
        let hosts = topology.hosts();
        for name in *routings {
            let routing = support::try_routing(name, "", &*topology).expect("it fits");
            // A multiplicative walk over pairs: cheap, and far from any order that caches like.
            let pair = |number: u32| {
                let from = number.wrapping_mul(2_654_435_761) % hosts;
                let to = number.wrapping_mul(1_597_334_677).wrapping_add(1) % hosts;
                (HostId(from), HostId(if to == from { (to + 1) % hosts } else { to }))
            };
            let mut path = Vec::new();
            let mut hops = 0;
            // Tables that are made on demand are not what is measured.
            for number in 0..ROUTES {
                let (from, to) = pair(number);
                path.clear();
                routing.route(&*topology, Trip::new(from, to, number.into()), &Unloaded, &mut path);
                hops += path.len();
            }
            let start = Instant::now();
            for number in 0..ROUTES {
                let (from, to) = pair(number);
                path.clear();
                routing.route(&*topology, Trip::new(from, to, number.into()), &Unloaded, &mut path);
                black_box(&path);
            }
            let route_ns = start.elapsed().as_nanos() as f64 / f64::from(ROUTES);
            let start = Instant::now();
            for number in 0..ROUTES {
                let (from, to) = pair(number);
                black_box(routing.idle(&*topology, from, to));
            }
            let idle_ns = start.elapsed().as_nanos() as f64 / f64::from(ROUTES);
            let links = hops as f64 / f64::from(ROUTES);
            println!(
                "{kind:9} {hosts:8} hosts {name:16} {links:5.1} links {route_ns:7.1} ns/route {:5.1} ns/link \
                 {idle_ns:6.1} ns/idle",
                route_ns / links
            );
        }
    }
    surveys();
}
