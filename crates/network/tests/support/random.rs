//! Random parameters for every entry of the registries, as TOML. A new entry needs a line here.

use proptest::prelude::*;

fn list<T: std::fmt::Display>(values: &[T]) -> String {
    format!("[{}]", values.iter().map(T::to_string).collect::<Vec<_>>().join(", "))
}

/// Random parameters of a small network of kind `name`, as TOML. A new entry needs a line here.
pub fn parameters(name: &str) -> BoxedStrategy<String> {
    let lanes = prop_oneof![Just("lanes = 1"), Just("lanes = 2"), Just("lanes = 3")];
    let rates = prop_oneof![Just(""), Just("bandwidth = \"3 GB/s\"\nlatency = \"90 ns\"")];
    let common = (1..3u32, lanes, rates)
        .prop_map(|(hosts, lanes, rates)| format!("hosts_per_router = {hosts}\n{lanes}\n{rates}\n"));
    let sizes = |most: u32| proptest::collection::vec(1..=most, 1..=3);
    match name {
        "torus" => torus(),
        "mesh" | "hyperx" => (sizes(4), common)
            .prop_map(|(sizes, common)| format!("sizes = {}\n{common}", list(&sizes)))
            .boxed(),
        "hypercube" => {
            (1..5u32, common).prop_map(|(n, common)| format!("dimensions = {n}\n{common}")).boxed()
        }
        "ring" => (1..12u32, common).prop_map(|(n, common)| format!("size = {n}\n{common}")).boxed(),
        "crossbar" => (1..20u32).prop_map(|hosts| format!("hosts = {hosts}")).boxed(),
        "fat-tree" => fat_tree(),
        "dragonfly" => dragonfly(),
        "graph" => graph(),
        other => panic!("no random parameters for topology '{other}'"),
    }
}

/// Four settings of each routing's parameters, as TOML. A new entry with parameters needs a line here.
pub fn routing_parameters(name: &str) -> [&'static str; 4] {
    match name {
        "dimension-order" | "minimal" | "valiant" => {
            ["", "lanes = \"pair\"\nties = \"up\"", "lanes = \"first\"", "lanes = \"least-loaded\""]
        }
        "ugal-l" | "ugal-g" | "progressive-adaptive" => {
            ["", "lanes = \"least-loaded\"", "threshold = \"3 B\"", "lanes = \"pair\"\nties = \"up\""]
        }
        "shortest-path" => ["", "equals = \"first\"", "", "memory = \"1 MiB\""],
        "d-mod-k" | "s-mod-k" | "random-up" | "least-loaded-up" => [""; 4],
        other => panic!("no parameters for routing '{other}'"),
    }
}

fn torus() -> BoxedStrategy<String> {
    let dimension = (1..=5u32, any::<bool>(), 1..3u32, 1..3u32, 1..9u32, 1..9u32);
    (proptest::collection::vec(dimension, 1..=3), 1..3u32)
        .prop_map(|(dimensions, hosts)| {
            let sizes: Vec<_> = dimensions.iter().map(|d| d.0).collect();
            let wrap: Vec<_> = dimensions.iter().map(|d| d.1).collect();
            let lanes: Vec<_> = dimensions.iter().flat_map(|d| [d.2, d.3]).collect();
            let quoted = |unit: &str| -> Vec<String> {
                dimensions.iter().flat_map(|d| [d.4, d.5]).map(|n| format!("\"{n} {unit}\"")).collect()
            };
            format!(
                "sizes = {}\nwrap = {}\nlanes = {}\nbandwidth = {}\nlatency = {}\nhosts_per_router = {hosts}",
                list(&sizes),
                list(&wrap),
                list(&lanes),
                list(&quoted("GB/s")),
                list(&quoted("ns")),
            )
        })
        .boxed()
}

fn fat_tree() -> BoxedStrategy<String> {
    let lists =
        proptest::collection::vec((1..=4u32, 1..=3u32, 1..=2u32, 1..=3u32), 1..=4).prop_map(|levels| {
            let m: Vec<_> = levels.iter().map(|level| level.0).collect();
            let mut w: Vec<_> = levels.iter().map(|level| level.1).collect();
            w[0] = 1;
            let lanes: Vec<_> = levels[1..].iter().map(|level| level.2).collect();
            let taper: Vec<_> = levels[1..].iter().map(|level| level.3).collect();
            format!("m = {}\nw = {}\nlanes = {}\ntaper = {}", list(&m), list(&w), list(&lanes), list(&taper))
        });
    let ary = (2..=4u32, 1..=3u32, 1..=4u32)
        .prop_map(|(k, levels, uplinks)| format!("k = {k}\nlevels = {levels}\nuplinks = {uplinks}"));
    prop_oneof![lists, ary].boxed()
}

fn dragonfly() -> BoxedStrategy<String> {
    (1..5u32, 1..3u32, 1..4u32, 0..4u32, (1..3u32, 1..3u32), 0..3usize, 1..4u32)
        .prop_flat_map(|(a, p, h, fewer, (lanes, column_lanes), arrangement, rows)| {
            // More rows with few columns, as many routers as before without.
            let a = if rows > 1 { rows * a.min(3) } else { a };
            (1..=a * h + 1).prop_map(move |groups| {
                let arrangement = ["absolute", "relative", "circulant"][arrangement];
                let most = (a * h).checked_div(groups - 1).unwrap_or(1);
                format!(
                    "groups = {groups}\nrouters_per_group = {a}\nhosts_per_router = {p}\n\
                         global_links_per_router = {h}\nglobal_links_per_pair = {}\nlocal_lanes = {lanes}\n\
                         rows = {rows}\ncolumn_lanes = {column_lanes}\ncolumn_latency = \"150 ns\"\n\
                         arrangement = \"{arrangement}\"\nglobal_latency = \"500 ns\"\n\
                         global_bandwidth = \"5 GB/s\"\n",
                    most.saturating_sub(fewer).max(1),
                )
            })
        })
        .boxed()
}

/// A random tree of routers, random cables on top, and hosts on random routers.
fn graph() -> BoxedStrategy<String> {
    (1..12usize, 1..16usize, any::<[u32; 32]>(), 0..10usize)
        .prop_map(|(routers, hosts, random, more)| {
            let pick = |at: usize, bound: usize| random[at % 32] as usize % bound;
            let mut text = String::from("file = \"\"\"\n");
            for router in 1..routers {
                text += &format!("r{router} r{} {} GB/s\n", pick(router, router), 1 + pick(router + 7, 4));
            }
            for cable in 0..more {
                let (from, to) = (pick(cable + 11, routers), pick(cable + 23, routers));
                if from != to {
                    text += &format!("r{from} r{to} {} ns x{}\n", 10 * pick(cable, 9), 1 + pick(cable, 2));
                }
            }
            for host in 0..hosts {
                text += &format!("host h{host}\nh{host} r{}\n", pick(host * 3, routers));
            }
            text + "\"\"\""
        })
        .boxed()
}
