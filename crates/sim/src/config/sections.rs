//! Sections of a platform file: one table for reading, error messages, the JSON schema and the reference page.

use std::sync::OnceLock;

use engine::registry::{Entry, Kind, Parameter};
use mpi::compute::COMPUTE_MODELS;
use network::model::{MODELS, ROUTER, transport_keys};
use network::routing::ROUTINGS;
use network::topology::TOPOLOGIES;

use super::calibration::{CALIBRATION, CHECKS};
use super::compute::COMPUTE;
use super::faults::{FAULTS, PLANNED};
use super::file_system::FILE_SYSTEM;
use super::functions::FUNCTIONS;
use super::host::{HOST, LINK, NIC, REGIMES};
use super::kernels::KERNELS;
use super::memory::{LEVEL_REGIMES, LEVEL_REGIMES_SUMMARY, LEVELS, LEVELS_SUMMARY, MEMORY, MEMORY_REGIMES};
use super::mpi::{MPI, collective_keys};
use super::power::POWER;
use crate::placement::PLACEMENTS;

/// One section.
#[derive(Debug, Clone)]
pub struct Section {
    /// Dotted name in the file; empty for the keys above the first section.
    pub name: String,
    /// One line for the reference page.
    pub summary: &'static str,
    /// Contents.
    pub content: Content,
}

/// Contents of a section.
#[derive(Debug, Clone)]
pub enum Content {
    /// A fixed set of keys.
    Keys(&'static [Parameter]),
    /// A model of a registry, named by `kind`, with its own parameters.
    Model {
        /// Entries of the registry.
        choices: Vec<Choice>,
        /// Default of `kind`, as in [`Parameter::default`].
        default: Option<&'static str>,
    },
    /// Any number of `[[section]]` with these keys each; each may have sections of its own inside.
    Repeated(&'static [Parameter]),
}

#[cfg(test)]
impl Section {
    /// Parameters of the section, or of all models that it can name.
    pub fn parameters(&self) -> Vec<&'static Parameter> {
        match &self.content {
            Content::Keys(keys) | Content::Repeated(keys) => keys.iter().collect(),
            Content::Model { choices, .. } => choices.iter().flat_map(|choice| choice.parameters).collect(),
        }
    }
}

/// A model of a registry, without its build function.
#[derive(Debug, Clone, Copy)]
pub struct Choice {
    /// Value of `kind`.
    pub name: &'static str,
    /// One line of description.
    pub summary: &'static str,
    /// Publication.
    pub source: &'static str,
    /// Parameters.
    pub parameters: &'static [Parameter],
}

/// Choices of a registry.
pub fn choices<B>(table: &'static [Entry<B>]) -> Vec<Choice> {
    let strip = |entry: &'static Entry<B>| Choice {
        name: entry.name,
        summary: entry.summary,
        source: entry.source,
        parameters: entry.parameters,
    };
    table.iter().map(strip).collect()
}

/// Makes a parameter that the file must set.
pub(super) const fn required(name: &'static str, kind: Kind, summary: &'static str) -> Parameter {
    Parameter { name, kind, default: None, summary }
}

/// Makes a parameter with a default, as TOML text; `""` means that it may be absent.
pub(super) const fn optional(
    name: &'static str,
    kind: Kind,
    default: &'static str,
    summary: &'static str,
) -> Parameter {
    Parameter { name, kind, default: Some(default), summary }
}

const TOP: &[Parameter] = &[
    required("name", Kind::Text, "The name of the platform, for reports"),
    optional("summary", Kind::Text, "", "One line about it, for `hopcast list`"),
    optional("source", Kind::Text, "", "Source of its numbers"),
    optional("note", Kind::Text, "", "Caution about its values, in a sentence: every run warns of it"),
];

const STATISTICS: &[Parameter] = &[
    optional(
        "detail",
        Kind::Choice(&["none", "classes", "links", "channels"]),
        "none",
        "Traffic that the packet model keeps over time: nothing; traffic by class of link (direction, level) and \
         virtual channel, and by region; by link and router, too; by virtual channel of each link, too",
    ),
    optional("period", Kind::Time, "1 us", "The length of a period, which doubles whenever periods run out"),
    optional("periods", Kind::Integer(2, 65_536), "512", "The most periods"),
    optional(
        "rows",
        Kind::Integer(1024, 4_000_000_000),
        "500000",
        "The most rows of a table: where 16 periods of all virtual channels are more, only links are kept; where \
         those are more, routers; then only classes and regions",
    ),
    optional(
        "residence",
        Kind::Time,
        "",
        "Packets that stay in a router's buffer for longer are counted and listed. Default: none are",
    ),
    optional(
        "slow_packets",
        Kind::Integer(0, 1_000_000),
        "1000",
        "The most of them that are listed, the slowest",
    ),
];

const HOSTS: &[Parameter] = &[
    optional(
        "names",
        Kind::Text,
        "",
        "Names of the hosts in order of their numbers, with ranges in braces: \"dahu-{1..32}\"",
    ),
    optional(
        "map",
        Kind::File,
        "",
        "A file of lines \"name number\" or \"name coordinates… slot\", ranges in braces as in names; instead of \
         names",
    ),
];

/// All sections; a section precedes its subsections.
pub fn sections() -> &'static [Section] {
    static SECTIONS: OnceLock<Vec<Section>> = OnceLock::new();
    SECTIONS.get_or_init(|| {
        let keys = |name: &str, keys, summary| {
            let content = Content::Keys(keys);
            Section { name: name.to_string(), summary, content }
        };
        let model = |name: &str, choices, default, summary| {
            let content = Content::Model { choices, default };
            Section { name: name.to_string(), summary, content }
        };
        let regimes = "Costs of a message, by its size. Default: one regime without costs";
        let functions = "Functions of MPI whose calls take a time of their own. Default: none";
        let caches = "Messages within a host of up to these sizes, such as those that fit into a cache; longer ones \
                      go by host.memory. Default: none";
        let kernels = "Functions of compiled programs whose time a formula gives. Default: none";
        let checks = "Errors of the platform beside measurements of its machine, relative, by what was measured; every run says them";
        let planned = "Failures at given times. Default: none";
        let mut sections = vec![
            keys("", TOP, "Name and origin of the platform"),
            keys("calibration", CALIBRATION, "Fit of the platform to measurements of its machine. Default: none"),
            Section { content: Content::Repeated(CHECKS), ..keys("calibration.checks", CHECKS, checks) },
            model("topology", choices(TOPOLOGIES), None, "Hosts, routers and links"),
            model(
                "routing",
                choices(ROUTINGS),
                Some(""),
                "The way through them. Default: what suits the topology",
            ),
            keys("link", LINK, "Links between routers"),
            keys("router", ROUTER, "Routers, as the packet model simulates them"),
            keys("transport", transport_keys(), "Transport of messages in packets, as the packet model simulates it"),
            keys("host", HOST, "Properties of every host"),
            keys("host.memory", MEMORY, "Messages between the processes of a host"),
            Section {
                content: Content::Repeated(MEMORY_REGIMES),
                ..keys("host.memory.regimes", MEMORY_REGIMES, caches)
            },
            Section { content: Content::Repeated(LEVELS), ..keys("host.levels", LEVELS, LEVELS_SUMMARY) },
            Section {
                content: Content::Repeated(LEVEL_REGIMES),
                ..keys("host.levels.regimes", LEVEL_REGIMES, LEVEL_REGIMES_SUMMARY)
            },
            keys("nic", NIC, "Between a host and its router"),
            keys("network", network_keys(), "The network model"),
            keys("mpi", MPI, "The MPI library"),
            keys("mpi.collectives", collective_keys(), "Algorithms that replace the library's choice"),
            Section { content: Content::Repeated(REGIMES), ..keys("mpi.regimes", REGIMES, regimes) },
            Section { content: Content::Repeated(FUNCTIONS), ..keys("mpi.functions", FUNCTIONS, functions) },
            keys("compute", COMPUTE, "The processor of one process"),
            Section { content: Content::Repeated(KERNELS), ..keys("compute.kernels", KERNELS, kernels) },
            keys("filesystem", FILE_SYSTEM, "File system under all files. Default: no access takes time"),
            model("placement", choices(PLACEMENTS), Some("linear"), "Rule that gives each rank its host and slot"),
            keys("statistics", STATISTICS, "Traffic that is kept over time, for the report"),
            keys(
                "faults",
                FAULTS,
                "Links and routers that fail and return, as the packet model simulates it",
            ),
            Section { content: Content::Repeated(PLANNED), ..keys("faults.planned", PLANNED, planned) },
            keys("hosts", HOSTS, "Names of the hosts in recorded runs"),
            keys("power", POWER, "Power of hosts, routers and links, for the energy of a run. Default: no energy is counted"),
        ];
        let own = |above: &str, entry: Choice| {
            keys(&format!("{above}.{}", entry.name), entry.parameters, entry.summary)
        };
        sections.extend(choices(MODELS).into_iter().map(|entry| own("network", entry)));
        sections.extend(choices(COMPUTE_MODELS).into_iter().map(|entry| own("compute", entry)));
        sections
    })
}

/// Sections directly below `name`, as keys.
pub fn below(name: &str) -> Vec<&'static str> {
    let inside = |section: &'static Section| match name {
        "" => Some(&section.name[..]).filter(|name| !name.is_empty() && !name.contains('.')),
        _ => section.name.strip_prefix(name)?.strip_prefix('.').filter(|name| !name.contains('.')),
    };
    sections().iter().filter_map(inside).collect()
}

/// Section called `name`.
pub fn section(name: &str) -> &'static Section {
    sections().iter().find(|section| section.name == name).expect("only declared sections are asked for")
}

/// Key `model`, whose choices are the network models. Called once.
fn network_keys() -> &'static [Parameter] {
    let models: &'static [&'static str] = MODELS.iter().map(|entry| entry.name).collect::<Vec<_>>().leak();
    let default = if models.contains(&"flow") { "flow" } else { "" };
    vec![optional("model", Kind::Choice(models), default, "The model, unless `--model` names another")].leak()
}
