//! A platform as read: everything that the layers are built from.

use std::fmt::Write as _;
use std::sync::Arc;

use engine::registry::{Entry, Parameter, Value};
use engine::{Bandwidth, Duration};
use mpi::file_system::FileSystem;
use mpi::{FunctionTimes, MessageNoise, Setup};
use network::model::{MODELS, ROUTER, transport_keys};
use network::routing::around::Around;
use network::routing::{ROUTINGS, Routing};
use network::statistics::{Detail, Options};
use network::topology::nic_links::with_nic_links;
use network::topology::{ATTACHMENTS, LinkDefaults, TOPOLOGIES};
use network::{Endpoint, Fabric, HostParameters, LinkId, Network, Part, Topology};

use super::calibration::Calibration;
use super::error::{InputError, unknown};
use super::faults;
use super::measured_sizes::MeasuredSizes;
use super::power::Powers;
use super::read::Checked;
use super::sections::{Content, section};
use crate::host_names::HostNames;

/// A platform file, checked.
#[derive(Debug, Clone)]
pub struct Platform {
    pub(super) file: String,
    pub(super) text: String,
    pub(super) sections: Vec<Checked>,
    pub(super) hosts: HostParameters,
    pub(super) file_system: FileSystem,
    /// With the seed 0.
    pub(super) noise: Option<MessageNoise>,
    /// With the seed 0.
    pub(super) functions: FunctionTimes,
    pub(super) calibration: Option<Calibration>,
    pub(super) measured_sizes: MeasuredSizes,
    pub(super) powers: Option<Powers>,
}

/// Checks that a run on a topology is possible; if not, gives the reason.
pub type Fits<'a> = &'a dyn Fn(&dyn Topology) -> Result<(), InputError>;

/// Network model that simulates links one by one, and the routers between them.
const PACKETS: &str = "packet";

/// Latency of a link that nothing has set: above every latency that text can say.
const UNSET: Duration = Duration(u64::MAX >> 2);

impl Platform {
    /// Name of the file, or its substitute in error messages.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Text of the file with comments, without overrides.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Name of the platform.
    pub fn name(&self) -> String {
        self.of("").arguments.text("name").expect("a name is required")
    }

    /// One line about it; may be empty.
    pub fn summary(&self) -> String {
        self.of("").arguments.text("summary").unwrap_or_default()
    }

    /// Source of its numbers; may be empty.
    pub fn source(&self) -> String {
        self.of("").arguments.text("source").unwrap_or_default()
    }

    /// Its fit to measurements; `None` if it was not calibrated.
    pub fn calibration(&self) -> Option<&Calibration> {
        self.calibration.as_ref()
    }

    /// Sizes to which it was fitted.
    pub fn measured_sizes(&self) -> &MeasuredSizes {
        &self.measured_sizes
    }

    /// Powers of its parts; `None` if no energy is counted.
    pub fn powers(&self) -> Option<&Powers> {
        self.powers.as_ref()
    }

    /// Name of its topology's kind.
    pub fn topology_kind(&self) -> &'static str {
        self.of("topology").kind.expect("a topology has a kind")
    }

    /// Hosts, routers and links.
    pub fn topology(&self) -> Result<Box<dyn Topology>, InputError> {
        self.topology_that(&|_| Ok(()))
    }

    /// Place for errors about the size of the topology: the flag that set a part of it, else the file.
    pub fn topology_place(&self) -> &str {
        let flag = self.of("topology").written.values().find(|(_, at)| at.is_flag());
        flag.map_or(&self.file, |(_, at)| &at.file)
    }

    /// Topology, if it `fits`; checked before any work for each of its links.
    fn topology_that(&self, fits: Fits) -> Result<Box<dyn Topology>, InputError> {
        let checked = self.of("topology");
        let entry = entry(TOPOLOGIES, checked);
        let (link, nic) = (&self.of("link").arguments, &self.of("nic").arguments);
        let defaults = LinkDefaults {
            bandwidth: link.bandwidth("bandwidth").unwrap_or(Bandwidth::INFINITE),
            latency: link.time("latency").unwrap_or(UNSET),
            host_bandwidth: nic.bandwidth("bandwidth").expect("required"),
            host_latency: nic.time("latency").expect("required"),
        };
        let topology =
            (entry.build)(&checked.arguments, &defaults).map_err(|error| checked.build_error(&error))?;
        fits(&*topology)?;
        self.check_links(&*topology)?;
        Ok(topology)
    }

    /// Checks that the topology's own parameters set what `[link]` leaves open.
    fn check_links(&self, topology: &dyn Topology) -> Result<(), InputError> {
        let link = self.of("link");
        let open = |key: &str| !link.written.contains_key(key);
        if !open("bandwidth") && !open("latency") {
            return Ok(());
        }
        for id in 2 * topology.hosts()..topology.links() {
            let found = topology.link(LinkId(id));
            let class = || topology.classes()[usize::from(found.class)].clone();
            if open("bandwidth") && found.bandwidth == Bandwidth::INFINITE {
                let example = "need a bandwidth such as \"9.375 GB/s\"";
                return Err(
                    link.error("bandwidth", format!("is missing: links of class '{}' {example}", class()))
                );
            }
            if found.latency >= UNSET {
                let example = "need a latency such as \"100 ns\"";
                return Err(
                    link.error("latency", format!("is missing: links of class '{}' {example}", class()))
                );
            }
        }
        Ok(())
    }

    /// Topology with its routing, and all links that the machine has.
    pub fn fabric(&self, seed: u64) -> Result<Fabric, InputError> {
        self.fabric_that(seed, PACKETS, &|_| Ok(()))
    }

    /// Topology as `model` sees it with its routing, if the topology `fits`.
    pub fn fabric_that(&self, seed: u64, model: &str, fits: Fits) -> Result<Fabric, InputError> {
        let nic = self.of("nic");
        let topology = self.attached(self.topology_that(fits)?, self.nic_links(model));
        let named = self.find("routing");
        let mut default =
            Checked { kind: Some(topology.default_routing()), ..self.of("topology").silent("routing") };
        super::value::fill(entry(ROUTINGS, &default).parameters, &mut default.arguments)
            .unwrap_or_else(|parameter| panic!("a default routing requires '{}'", parameter.name));
        let checked = named.unwrap_or(&default);
        let routing = (entry(ROUTINGS, checked).build)(&checked.arguments, &*topology, seed)
            .map_err(|error| checked.build_error(&error))?;
        let faults = faults::faults(self.of("faults"), &self.all("faults.planned"), &*topology, seed)?;
        let routing = if faults.is_empty() {
            routing
        } else if topology.planes() > 1 {
            let reason = "ways around faults are known to networks in one plane alone; known here: router, or no [faults]";
            return Err(nic.error("attachment", reason));
        } else {
            Box::new(Around::new(routing, &*topology, faults)) as Box<dyn Routing>
        };
        Ok(Fabric { topology, routing })
    }

    /// `topology`, whose hosts have one link up and one down, with all NICs, of so many `links` each.
    fn attached(&self, topology: Box<dyn Topology>, links: u8) -> Box<dyn Topology> {
        let (nic, count) = (self.of("nic"), self.hosts.nics.count);
        let attachment = nic.arguments.text("attachment").expect("has a default");
        let attach = ATTACHMENTS.iter().find(|entry| entry.name == attachment).expect("a known choice").build;
        // A plane has its own links.
        match self.hosts.nics.in_planes {
            true => attach(with_nic_links(topology, links), count),
            false => with_nic_links(attach(topology, count), links),
        }
    }

    /// Links of a NIC in each direction, as `model` sees them.
    pub fn nic_links(&self, model: &str) -> u8 {
        let links = self.of("nic").arguments.integer("links").expect("has a default") as u8;
        if model == PACKETS { links } else { 1 }
    }

    /// Refuses faults in a `model` that does not simulate them.
    pub fn check_faults(&self, model: &str) -> Result<(), InputError> {
        let refused = || faults::refused(self.of("faults"), &self.all("faults.planned"), model);
        if model == PACKETS { Ok(()) } else { refused().map_or(Ok(()), Err) }
    }

    /// Refuses an order of messages at NICs that `model` does not simulate.
    pub fn check_nic_order(&self, model: &str) -> Result<(), InputError> {
        let (Some(order), Some(entry)) = (self.hosts.nics.order, MODELS.iter().find(|one| one.name == model))
        else {
            return Ok(());
        };
        if entry.build.knows(order) {
            return Ok(());
        }
        let able = |order| MODELS.iter().filter(move |one| one.build.nic_orders.contains(&order));
        let models: Vec<&str> = able(order).map(|one| one.name).collect();
        let reason = format!(
            "in the model '{model}' a process sends one message after the other over a NIC; known there: in-turn. \
             Models with \"{}\": {}",
            self.of("nic").arguments.text("order").unwrap_or_default(),
            models.join(", ")
        );
        Err(self.of("nic").error("order", reason))
    }

    /// Parameters of every host.
    pub fn host_parameters(&self) -> &HostParameters {
        &self.hosts
    }

    /// Times of the functions of `[[mpi.functions]]`.
    pub fn function_times(&self) -> &FunctionTimes {
        &self.functions
    }

    /// File system of compiled programs.
    pub fn file_system(&self) -> &FileSystem {
        &self.file_system
    }

    /// Network model that the platform names, if it names one.
    pub fn model_name(&self) -> Option<String> {
        self.of("network").arguments.text("model")
    }

    /// Network model `name` over one part of `fabric`, with the parameters of `[network.name]`; `seed` is that of all
    /// random streams.
    pub fn model(
        &self,
        name: &str,
        seed: u64,
        fabric: Arc<Fabric>,
        hosts: Arc<HostParameters>,
        part: &Part,
    ) -> Result<Box<dyn Network>, InputError> {
        let known: Vec<_> = MODELS.iter().map(|entry| entry.name).collect();
        let entry = MODELS
            .iter()
            .find(|entry| entry.name == name)
            .ok_or_else(|| InputError::whole("--model", unknown("network model", name, &known)))?;
        let section = format!("network.{name}");
        let silent = self.of("network").silent(&super::sections::section(&section).name);
        let checked = self.find(&section).unwrap_or(&silent);
        let mut arguments = checked.arguments.clone();
        super::value::fill(entry.parameters, &mut arguments).map_err(|parameter| {
            let what = super::value::describe(&parameter.kind);
            checked.error(parameter.name, format!("is missing ({}): {what}", parameter.summary))
        })?;
        let hardware = [(self.of("router"), ROUTER), (self.of("transport"), transport_keys())];
        hardware.iter().for_each(|(section, _)| arguments.0.extend(section.arguments.0.clone()));
        arguments.0.insert("seed", Value::Integer(seed as i64));
        (entry.build.make)(&arguments, fabric, hosts, part).map_err(|error| {
            let has_it = |table: &[Parameter]| table.iter().any(|each| each.name == error.parameter);
            let said = hardware.iter().find(|(_, table)| has_it(table));
            said.map_or(checked, |(section, _)| section).build_error(&error)
        })
    }

    /// Warnings about values of the platform that `model` ignores, other models simulate, and that change results.
    pub fn unheard(&self, model: &str) -> Vec<String> {
        let mut unheard = Vec::new();
        let loss = self.of("transport").arguments.number("loss").expect("has a default");
        if model != PACKETS && loss != 0.0 {
            unheard.push(format!(
                "transport.loss = {loss}: links lose nothing in the model '{model}', only in 'packet'"
            ));
        }
        let never_meet = MODELS.iter().any(|one| one.name == model && one.build.nic_orders.is_empty());
        if let Some(order) = self.of("nic").arguments.text("order").filter(|_| never_meet) {
            unheard.push(format!("nic.order = \"{order}\": messages never meet in the model '{model}'"));
        }
        unheard.extend(self.unheard_routers(model));
        unheard.extend(self.unheard_compute());
        unheard
    }

    /// The same about routers and the links between them and NICs.
    fn unheard_routers(&self, model: &str) -> Vec<String> {
        let mut unheard = Vec::new();
        if model == PACKETS {
            return unheard;
        }
        let rate = |section, key| self.of(section).arguments.bandwidth(key);
        let widest = rate("nic", "bandwidth").max(rate("link", "bandwidth")).expect("a NIC has a bandwidth");
        if let Some(crossbar) = rate("router", "crossbar_bandwidth").filter(|crossbar| *crossbar < widest) {
            unheard.push(format!(
                "router.crossbar_bandwidth = {crossbar}: routers pass what links bring in the model '{model}', only in \
                 '{PACKETS}' crossbars slow it down"
            ));
        }
        let links = self.of("nic").arguments.integer("links").expect("has a default");
        if links > 1 {
            unheard.push(format!(
                "nic.links = {links}: a NIC has one link of their total bandwidth in the model '{model}'; in \
                 '{PACKETS}' each packet takes one of them, for {links} times as long"
            ));
        }
        unheard
    }

    /// Warnings about regimes in which several processes of a host that send together are slower than one alone.
    pub fn doubts(&self) -> Vec<String> {
        let mut doubts = Vec::new();
        for (checked, regime) in self.all("mpi.regimes").iter().zip(&self.hosts.regimes) {
            let Some(loss) = checked.arguments.bandwidth("further_process_loss") else { continue };
            doubts.push(format!(
                "further_process_loss = {loss} in the regime '{}': several processes of a host that send together move \
                 less than one alone, which moves {}; machines do not show that",
                checked.arguments.text("name").unwrap_or_default(),
                regime.process_rate,
            ));
        }
        doubts
    }

    /// Warning that costs of MPI were not measured on this machine, if the platform says so.
    pub fn unmeasured(&self) -> Option<String> {
        let text = self.of("mpi").arguments.text("unmeasured")?;
        let name = self.name();
        Some(format!(
            "the platform '{name}' has no measured MPI software: {text}; compare a ping-pong of the machine with `hopcast \
             run {name} pingpong` before you trust what short messages take"
        ))
    }

    /// Warnings about names that the file spells with underscores, as all of them once were.
    pub fn old_spellings(&self) -> Vec<String> {
        self.sections.iter().flat_map(|checked| checked.old_spellings.clone()).collect()
    }

    /// Warning that the platform gives about its own values.
    pub fn note(&self) -> Option<String> {
        let text = self.of("").arguments.text("note")?;
        Some(format!("the platform '{}': {text}", self.name()))
    }

    /// Statistics over time that a run keeps; `None` without any.
    pub fn statistics(&self) -> Result<Option<Options>, InputError> {
        let section = self.of("statistics");
        let keys = &section.arguments;
        let detail = match keys.text("detail").as_deref() {
            Some("classes") => Detail::Classes,
            Some("links") => Detail::Links,
            Some("channels") => Detail::Channels,
            _ => return Ok(None),
        };
        let whole = |key| keys.integer(key).expect("has a default") as u32;
        let period = keys.time("period").expect("has a default");
        if period == Duration::ZERO {
            return Err(section.error("period", "0 s: a period lasts; such as \"1 us\""));
        }
        Ok(Some(Options {
            detail,
            period,
            periods: whole("periods"),
            rows: whole("rows"),
            residence: keys.time("residence").unwrap_or(Duration(u64::MAX)),
            slow_packets: whole("slow_packets"),
        }))
    }

    /// Error for requested statistics that `model` cannot keep.
    pub fn without_statistics(&self, model: &str) -> InputError {
        let reason = format!("only the network model 'packet' keeps statistics over time, not '{model}'");
        self.of("statistics").error("detail", reason)
    }

    /// Setup of the world of the ranks in one domain.
    pub fn world_setup(
        &self,
        seed: u64,
        placement: Arc<[Endpoint]>,
        jobs: Arc<[u32]>,
        part: Part,
        host: Arc<HostParameters>,
    ) -> Result<Setup, InputError> {
        let mpi = self.mpi();
        Ok(Setup {
            placement,
            jobs,
            part,
            host,
            protocol: self.protocol(),
            noise: self.noise.clone().map(|noise| MessageNoise { seed, ..noise }),
            functions: FunctionTimes { seed, ..self.functions.clone() },
            compute: self.compute_model(seed)?,
            sockets: self.processor().sockets,
            reduce_rate: mpi.bandwidth("reduce_rate").expect("has a default"),
            segment: mpi.size("segment").expect("has a default"),
            selection: self.selection(),
            file_system: self.file_system,
        })
    }

    /// Names of the hosts.
    pub fn host_names(&self, topology: &dyn Topology) -> Result<HostNames, InputError> {
        let hosts = self.of("hosts");
        match (hosts.arguments.text("names"), hosts.arguments.text("map")) {
            (None, None) => Ok(HostNames::default()),
            (Some(_), Some(_)) => Err(hosts.error("map", "hosts have names or a map, not both")),
            (Some(pattern), None) => {
                HostNames::of_pattern(&pattern, topology).map_err(|reason| hosts.error("names", reason))
            }
            (None, Some(map)) => HostNames::of_map(&map, topology).map_err(|(line, reason)| {
                let file = hosts.written["map"].0.trim_matches('"').to_string();
                InputError { file, line, column: 0, message: reason, more: Vec::new() }
            }),
        }
    }

    /// Full platform as TOML: overrides applied, defaults filled in and marked.
    pub fn to_toml(&self) -> String {
        let mut toml = String::new();
        for checked in &self.sections {
            let section = section(checked.name);
            let parameters = match &section.content {
                Content::Keys(parameters) | Content::Repeated(parameters) => parameters,
                Content::Model { choices, .. } => {
                    let choice = choices.iter().find(|choice| Some(choice.name) == checked.kind);
                    choice.expect("a section read has a known kind").parameters
                }
            };
            match section.content {
                Content::Repeated(_) => writeln!(toml, "\n[[{}]]", checked.name),
                _ if checked.name.is_empty() => Ok(()),
                _ => writeln!(toml, "\n[{}]", checked.name),
            }
            .expect("text takes what is written");
            if let Some(kind) = checked.kind {
                toml.push_str(&format!("kind = \"{kind}\"\n"));
            }
            for parameter in parameters {
                if let Some((text, _)) = checked.written.get(parameter.name) {
                    toml.push_str(&format!("{} = {text}\n", parameter.name));
                } else if let Some(default) = parameter.default.filter(|default| !default.is_empty()) {
                    let text = super::document::value("default", default).text;
                    toml.push_str(&format!("{} = {text} # default\n", parameter.name));
                }
            }
        }
        toml
    }

    pub(super) fn find(&self, name: &str) -> Option<&Checked> {
        self.sections.iter().find(|checked| checked.name == name)
    }

    pub(super) fn all(&self, name: &str) -> Vec<&Checked> {
        self.sections.iter().filter(|checked| checked.name == name).collect()
    }

    pub(super) fn of(&self, name: &str) -> &Checked {
        self.find(name).unwrap_or_else(|| panic!("[{name}] is read, or filled with its defaults"))
    }
}

pub(super) fn entry<B>(table: &'static [Entry<B>], checked: &Checked) -> &'static Entry<B> {
    let kind = checked.kind.expect("a section of models has a kind");
    table.iter().find(|entry| entry.name == kind).expect("the reader accepts known kinds only")
}
