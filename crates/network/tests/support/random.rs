//! Random parameters for every entry of the registries, as TOML: their examples, and variations of these. A new entry
//! brings its own examples.

use engine::registry::{Entry, Kind, Parameter, find};
use network::Topology;
use network::routing::ROUTINGS;
use network::topology::{Build, TOPOLOGIES};
use proptest::prelude::*;
use toml::Value;

/// Networks with more hosts or routers are too large to look at every pair.
const MOST: u32 = 100;

/// Random parameters of a small network of kind `name`, as TOML: an example, or one with some values changed.
pub fn parameters(name: &str) -> BoxedStrategy<String> {
    let entry = find(TOPOLOGIES, "topology", name).unwrap();
    assert!(!entry.examples.is_empty(), "{name} has no example");
    let strategy = (0..entry.examples.len(), any::<u64>(), prop::bool::weighted(0.75));
    strategy
        .prop_map(move |(number, word, varied)| {
            let example = entry.examples[number];
            let other = vary(entry.parameters, example, &mut Words(word));
            let fits = |text: &str| {
                let built = super::try_topology(entry.name, text);
                built.is_ok_and(|topology| topology.hosts().max(topology.routers()) <= MOST)
            };
            if varied && fits(&other) { other } else { example.to_string() }
        })
        .boxed()
}

/// One of the examples of a routing.
pub fn routing_parameters(name: &str, number: usize) -> &'static str {
    let examples = find(ROUTINGS, "routing", name).unwrap().examples;
    examples[number % examples.len()]
}

/// An entry of a registry and an example of it.
pub type Example = (&'static str, &'static str);

/// Every example of every topology with 2 to `most` hosts, with all routings that fit it and their examples; one list for
/// each kind of topology.
pub fn fitting_networks(most: u32) -> Vec<Vec<(Example, Vec<Example>)>> {
    let routings = |topology: &dyn Topology| -> Vec<Example> {
        let all = ROUTINGS.iter().flat_map(|entry| entry.examples.iter().map(|text| (entry.name, *text)));
        all.filter(|(name, text)| super::try_routing(name, text, topology).is_ok()).collect()
    };
    let kind = |entry: &'static Entry<Build>| -> Vec<(Example, Vec<Example>)> {
        let built = entry.examples.iter().map(|text| (*text, super::topology(entry.name, text)));
        let small = built.filter(|(_, topology)| (2..=most).contains(&topology.hosts()));
        small.map(|(text, topology)| ((entry.name, text), routings(&*topology))).collect()
    };
    TOPOLOGIES.iter().map(kind).filter(|networks| !networks.is_empty()).collect()
}

/// Random words.
struct Words(u64);

impl Words {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// `example` with about every third of its values changed, each within what its parameter takes.
fn vary(parameters: &[Parameter], example: &str, words: &mut Words) -> String {
    let mut table: toml::Table = example.parse().unwrap_or_else(|error| panic!("{example}: {error}"));
    for (key, value) in &mut table {
        let parameter = parameters.iter().find(|parameter| parameter.name == key);
        let parameter = parameter.unwrap_or_else(|| panic!("{example}: no parameter '{key}'"));
        change(&parameter.kind, value, words);
    }
    table.to_string()
}

fn change(kind: &Kind, value: &mut Value, words: &mut Words) {
    if let (Kind::List(inner), Value::Array(values)) = (kind, &mut *value) {
        return values.iter_mut().for_each(|value| change(inner, value, words));
    }
    if words.below(3) > 0 {
        return;
    }
    match (kind, value) {
        (Kind::List(inner), value) => change(inner, value, words),
        (Kind::Integer(least, most), Value::Integer(number)) => {
            *number = (*number + words.below(4) as i64 - 1).clamp(*least, *most);
        }
        (Kind::Choice(choices), Value::String(text)) => {
            *text = choices[words.below(choices.len() as u64) as usize].to_string();
        }
        (Kind::Flag, Value::Boolean(flag)) => *flag = !*flag,
        (Kind::Bandwidth, Value::String(text)) => *text = format!("{} GB/s", 1 + words.below(9)),
        (Kind::Time, Value::String(text)) => *text = format!("{} ns", 1 + words.below(300)),
        (Kind::File, Value::String(text)) => {
            let lines: Vec<&str> = text.lines().collect();
            let left_out = words.below(lines.len().max(1) as u64) as usize;
            let kept = lines.iter().enumerate().filter(|(number, _)| *number != left_out);
            *text = kept.map(|(_, line)| *line).collect::<Vec<_>>().join("\n");
        }
        _ => {}
    }
}
