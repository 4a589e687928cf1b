//! Catalogue of every registry as data, for `hopcast list`, the reference pages and their tests.

use engine::registry::{Entry, Parameter};
use mpi::collective::ALGORITHMS;
use mpi::compute::COMPUTE_MODELS;
use network::congestion::CONGESTION_CONTROLS;
use network::model::{MODELS, TRANSPORTS};
use network::routing::ROUTINGS;
use network::topology::{ATTACHMENTS, TOPOLOGIES};
use serde_json::{Value, json};
use workload::pattern::PATTERNS;
use workload::trace::FORMATS;

use crate::config::{self, PRESETS, describe};
use crate::observe::{self, OBSERVERS};
use crate::placement::PLACEMENTS;

/// All registries: an array of `{name, noun, entries: [{name, summary, source, parameters, examples}]}`; a
/// parameter is `{name, takes, default, summary}`, where a default of `null` means that it is required
/// and `""` that it may be missing.
pub fn catalogue() -> Value {
    json!([
        registry("platforms", "platform", platforms()),
        registry("topologies", "topology", entries(TOPOLOGIES)),
        registry("routings", "routing", entries(ROUTINGS)),
        registry("attachments", "attachment", entries(ATTACHMENTS)),
        registry("models", "model", entries(MODELS)),
        registry("transports", "transport", entries(TRANSPORTS)),
        registry("compute-models", "compute-model", entries(COMPUTE_MODELS)),
        registry("congestion-controls", "congestion-control", entries(CONGESTION_CONTROLS)),
        registry("placements", "placement", entries(PLACEMENTS)),
        registry("collectives", "collective", collectives()),
        registry("patterns", "pattern", entries(PATTERNS)),
        registry("formats", "format", entries(FORMATS)),
        registry("observers", "observer", observers()),
    ])
}

fn registry(name: &str, noun: &str, entries: Vec<Value>) -> Value {
    json!({"name": name, "noun": noun, "entries": entries})
}

fn entries<B>(table: &[Entry<B>]) -> Vec<Value> {
    table.iter().map(entry).collect()
}

fn entry<B>(entry: &Entry<B>) -> Value {
    json!({
        "name": entry.name,
        "summary": entry.summary,
        "source": entry.source,
        "parameters": entry.parameters.iter().map(parameter).collect::<Vec<_>>(),
        "examples": entry.examples,
    })
}

fn parameter(parameter: &Parameter) -> Value {
    json!({
        "name": parameter.name,
        "takes": describe(&parameter.kind),
        "default": parameter.default,
        "summary": parameter.summary,
    })
}

/// Algorithms as `collective/algorithm`, since many collectives have a `ring`; each with all collectives that it
/// implements.
fn collectives() -> Vec<Value> {
    let with_kinds = |algorithm: &Entry<mpi::collective::Algorithm>| {
        let mut value = entry(algorithm);
        let kinds: Vec<_> = algorithm.build.kinds.iter().map(|kind| kind.name()).collect();
        value["name"] = json!(format!("{}/{}", kinds[0], algorithm.name));
        value["does"] = json!(kinds);
        value
    };
    ALGORITHMS.iter().map(with_kinds).collect()
}

fn observers() -> Vec<Value> {
    let describe = |observer: &observe::Entry| json!({"name": observer.name, "summary": observer.summary, "source": "", "parameters": []});
    OBSERVERS.iter().map(describe).collect()
}

fn platforms() -> Vec<Value> {
    let describe = |preset: &config::Preset| {
        let platform = config::load(preset.name, &[], &config::Texts::default());
        let platform = platform.unwrap_or_else(|error| panic!("preset {}: {error}", preset.name));
        json!({
            "name": preset.name,
            "summary": platform.summary(),
            "source": platform.source(),
            "parameters": [],
        })
    };
    PRESETS.iter().map(describe).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::registry::Kind;
    use std::collections::BTreeSet;

    /// Property tests run over examples, and pages show them: each is TOML with all required keys and no unknown
    /// ones.
    #[test]
    fn every_entry_has_examples_of_its_parameters() {
        fn check<B>(table: &[Entry<B>]) {
            for entry in table {
                assert!(!entry.examples.is_empty(), "{} has no example", entry.name);
                for example in entry.examples {
                    let text: toml::Table = example.parse().expect("an example is TOML");
                    let known = |key: &String| entry.parameters.iter().any(|parameter| parameter.name == key);
                    assert!(text.keys().all(known), "{}: {example}", entry.name);
                    let missing = |parameter: &&Parameter| {
                        parameter.default.is_none() && !text.contains_key(parameter.name)
                    };
                    assert_eq!(entry.parameters.iter().find(missing).map(|one| one.name), None, "{example}");
                }
            }
        }
        check(TOPOLOGIES);
        check(ROUTINGS);
        check(ATTACHMENTS);
        check(MODELS);
        check(TRANSPORTS);
        check(COMPUTE_MODELS);
        check(CONGESTION_CONTROLS);
        check(PLACEMENTS);
        check(ALGORITHMS);
        check(PATTERNS);
        check(FORMATS);
    }

    /// One page per entry needs one name per entry, and a summary.
    #[test]
    fn names_are_unique_within_a_registry_and_nothing_goes_without_a_summary() {
        for registry in catalogue().as_array().expect("an array") {
            let mut names = BTreeSet::new();
            for entry in registry["entries"].as_array().expect("an array") {
                let name = entry["name"].as_str().expect("a text");
                assert!(names.insert(name), "{} has '{name}' twice", registry["name"]);
                assert_ne!(entry["summary"], "", "{name} has no summary");
                for parameter in entry["parameters"].as_array().expect("an array") {
                    assert_ne!(parameter["summary"], "", "{name}.{} has no summary", parameter["name"]);
                }
            }
        }
    }

    /// Names of entries, and the words that a parameter chooses from, have hyphens between their words. Before the slash
    /// of an algorithm's name stands its collective, a key of platform files.
    #[test]
    fn names_of_entries_and_choices_are_kebab_case() {
        let kebab = |name: &str| !name.contains('_') && name.to_lowercase() == name;
        for registry in catalogue().as_array().expect("an array of registries") {
            for entry in registry["entries"].as_array().expect("an array of entries") {
                let name = entry["name"].as_str().expect("a text");
                let own = name.rsplit('/').next().expect("its last part");
                assert!(kebab(own), "{}: {name}", registry["name"]);
            }
        }
        for section in config::sections() {
            for parameter in section.parameters() {
                let Kind::Choice(choices) = parameter.kind else { continue };
                assert_eq!(choices.iter().find(|choice| !kebab(choice)), None, "{}", parameter.name);
            }
        }
    }
}
