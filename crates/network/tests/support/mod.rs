//! What the tests of topologies and routings share: arguments from TOML, random networks, distances.
#![allow(dead_code, reason = "each test crate takes what it needs")]

use std::collections::VecDeque;

use engine::registry::{Arguments, BuildError, Kind, Parameter, Value, find};
use engine::{Bandwidth, Duration};
use network::routing::{ROUTINGS, Routing};
use network::topology::{LinkDefaults, TOPOLOGIES};
use network::{LinkId, Node, RouterId, Topology};
use proptest::prelude::*;

/// Every default differs, so that a mixed-up one shows.
pub const DEFAULTS: LinkDefaults = LinkDefaults {
    bandwidth: Bandwidth(7_000_000_000),
    latency: Duration(110_000),
    host_bandwidth: Bandwidth(8_000_000_000),
    host_latency: Duration(635_000),
};

fn value(kind: &Kind, given: &toml::Value) -> Option<Value> {
    Some(match (kind, given) {
        (Kind::List(kind), toml::Value::Array(items)) => {
            Value::List(items.iter().map(|item| value(kind, item)).collect::<Option<_>>()?)
        }
        (Kind::List(kind), item) => Value::List(vec![value(kind, item)?]),
        (Kind::Integer(least, most), toml::Value::Integer(number)) if (least..=most).contains(&number) => {
            Value::Integer(*number)
        }
        (Kind::Number(least, most), number) => {
            let number = number.as_float().or(number.as_integer().map(|number| number as f64))?;
            (*least <= number && number <= *most).then_some(Value::Number(number))?
        }
        (Kind::Time, toml::Value::String(text)) => Value::Time(text.parse().ok()?),
        (Kind::Bandwidth, toml::Value::String(text)) => Value::Bandwidth(text.parse().ok()?),
        (Kind::Size, toml::Value::String(text)) => Value::Size(text.parse().ok()?),
        (Kind::Text | Kind::File, toml::Value::String(text)) => Value::Text(text.clone()),
        (Kind::Choice(words), toml::Value::String(text)) if words.contains(&text.as_str()) => {
            Value::Text(text.clone())
        }
        (Kind::Flag, toml::Value::Boolean(flag)) => Value::Flag(*flag),
        _ => return None,
    })
}

/// The arguments that `text` gives to `parameters`, defaults filled in.
pub fn arguments(parameters: &[Parameter], text: &str) -> Arguments {
    let table: toml::Table = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
    for key in table.keys() {
        assert!(parameters.iter().any(|parameter| parameter.name == key), "no parameter '{key}'");
    }
    let mut arguments = Arguments::default();
    for parameter in parameters {
        let default = || match parameter.default {
            None => panic!("{text}: {} is missing", parameter.name),
            Some("") => None,
            Some(text) => {
                let table: toml::Table = format!("x = {text}").parse().expect("a default is TOML");
                table.get("x").cloned()
            }
        };
        if let Some(given) = table.get(parameter.name).cloned().or_else(default) {
            let value = value(&parameter.kind, &given);
            let value = value.unwrap_or_else(|| panic!("{} does not take {given}", parameter.name));
            arguments.0.insert(parameter.name, value);
        }
    }
    arguments
}

/// The topology `name` with the parameters in `text`, or why not.
pub fn try_topology(name: &str, text: &str) -> Result<Box<dyn Topology>, BuildError> {
    let entry = find(TOPOLOGIES, "topology", name).unwrap();
    (entry.build)(&arguments(entry.parameters, text), &DEFAULTS)
}

/// The topology `name` with the parameters in `text`.
pub fn topology(name: &str, text: &str) -> Box<dyn Topology> {
    try_topology(name, text).unwrap_or_else(|error| panic!("{name} {text}: {error}"))
}

/// The routing `name` for `topology`, or why not.
pub fn try_routing(name: &str, text: &str, topology: &dyn Topology) -> Result<Box<dyn Routing>, BuildError> {
    let entry = find(ROUTINGS, "routing", name).unwrap();
    (entry.build)(&arguments(entry.parameters, text), topology, 42)
}

/// Router hops from `source` to every router; `u32::MAX` where no way leads.
pub fn distances(topology: &dyn Topology, source: RouterId) -> Vec<u32> {
    let mut distances = vec![u32::MAX; topology.routers() as usize];
    let mut queue = VecDeque::from([source]);
    let mut ports = Vec::new();
    distances[source.0 as usize] = 0;
    while let Some(router) = queue.pop_front() {
        ports.clear();
        topology.ports(router, &mut ports);
        for port in &ports {
            let Node::Router(next) = topology.link(*port).to else { panic!("{port:?} leads to a host") };
            if distances[next.0 as usize] == u32::MAX {
                distances[next.0 as usize] = distances[router.0 as usize] + 1;
                queue.push_back(next);
            }
        }
    }
    distances
}

/// Every link.
pub fn links(topology: &dyn Topology) -> impl Iterator<Item = LinkId> {
    (0..topology.links()).map(LinkId)
}

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
        "torus" => {
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
                        list(&sizes), list(&wrap), list(&lanes), list(&quoted("GB/s")), list(&quoted("ns")),
                    )
                })
                .boxed()
        }
        "mesh" | "hyperx" => (sizes(4), common)
            .prop_map(|(sizes, common)| format!("sizes = {}\n{common}", list(&sizes)))
            .boxed(),
        "hypercube" => {
            (1..5u32, common).prop_map(|(n, common)| format!("dimensions = {n}\n{common}")).boxed()
        }
        "ring" => (1..12u32, common).prop_map(|(n, common)| format!("size = {n}\n{common}")).boxed(),
        "crossbar" => (1..20u32).prop_map(|hosts| format!("hosts = {hosts}")).boxed(),
        "fat-tree" => {
            let lists = proptest::collection::vec((1..=4u32, 1..=3u32, 1..=2u32, 1..=3u32), 1..=4).prop_map(
                |levels| {
                    let m: Vec<_> = levels.iter().map(|level| level.0).collect();
                    let mut w: Vec<_> = levels.iter().map(|level| level.1).collect();
                    w[0] = 1;
                    let lanes: Vec<_> = levels[1..].iter().map(|level| level.2).collect();
                    let taper: Vec<_> = levels[1..].iter().map(|level| level.3).collect();
                    format!(
                        "m = {}\nw = {}\nlanes = {}\ntaper = {}",
                        list(&m),
                        list(&w),
                        list(&lanes),
                        list(&taper)
                    )
                },
            );
            let ary = (2..=4u32, 1..=3u32, 1..=4u32)
                .prop_map(|(k, levels, uplinks)| format!("k = {k}\nlevels = {levels}\nuplinks = {uplinks}"));
            prop_oneof![lists, ary].boxed()
        }
        other => panic!("no random parameters for topology '{other}'"),
    }
}

/// Four settings of each routing's parameters, as TOML. A new entry with parameters needs a line here.
pub fn routing_parameters(name: &str) -> [&'static str; 4] {
    match name {
        "dimension-order" => {
            ["", "lanes = \"pair\"\nties = \"up\"", "lanes = \"first\"", "lanes = \"least-loaded\""]
        }
        "d-mod-k" | "s-mod-k" | "random-up" | "least-loaded-up" => [""; 4],
        other => panic!("no parameters for routing '{other}'"),
    }
}
