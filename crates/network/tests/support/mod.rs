//! Shared by the tests of topologies and routings: arguments from TOML, random networks, distances.

mod random;

use std::collections::VecDeque;

use engine::registry::{Arguments, BuildError, Kind, Parameter, Value, find};
use engine::{Bandwidth, Duration};
use network::routing::{ROUTINGS, Routing};
use network::topology::{LinkDefaults, TOPOLOGIES};
use network::{LinkId, Node, RouterId, Topology};
use proptest::test_runner::{Config, RngSeed, TestRunner};

pub use random::{Example, fitting_networks, parameters, routing_parameters};

/// Runs a property on `cases` random inputs, the same ones each time.
pub fn runner(cases: u32) -> TestRunner {
    TestRunner::new(Config {
        cases,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(1),
        ..Default::default()
    })
}

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
