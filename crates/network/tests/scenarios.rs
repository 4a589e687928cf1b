//! Runs the literate scenarios in `tests/scenarios`: prose that derives a closed form, and TOML that
//! holds every named model to it.
//!
//! Each TOML block stands alone. Times are held to 2 ps, for shares round down.

use crate::common;

use std::collections::BTreeMap;
use std::path::Path;

use common::graph::Graph;
use engine::{Bandwidth, Bytes, Duration, Time};
use network::{HostParameters, Memory, Message, NicChoice, NicOrder, NicPair, Nics, Regime};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scenario {
    models: Vec<String>,
    /// Names of routers, separated by blanks; each has `hosts_per_router` hosts: "A" is A's first.
    routers: String,
    #[serde(default = "one")]
    hosts_per_router: u32,
    /// "A-B 5 GB/s 100 ns", and "host …" for all links between hosts and routers.
    links: Vec<String>,
    #[serde(default)]
    host: Host,
    messages: Vec<Sending>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Host {
    processes: u16,
    regimes: Vec<HostRegime>,
    nics: u8,
    nic_choice: String,
    nic_setup: String,
    nic_order: Option<String>,
    nic_gap: String,
    packet: [u64; 2],
    /// Latency, bandwidth and total bandwidth of each regime of the memory.
    memory: Vec<[String; 3]>,
}

impl Default for Host {
    fn default() -> Host {
        Host {
            processes: 1,
            regimes: vec![HostRegime::default()],
            nics: 1,
            nic_choice: "round-robin".into(),
            nic_setup: "0 ns".into(),
            nic_order: None,
            nic_gap: "0 ns".into(),
            packet: [1, 1],
            memory: vec![["0 ns".into(), "infinite".into(), "infinite".into()]],
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct HostRegime {
    latency: String,
    process_rate: String,
    /// R_Ci [GB/s]; equal to the process rate where it is missing.
    further_rate: Option<f64>,
    nic_rate: String,
}

impl Default for HostRegime {
    fn default() -> HostRegime {
        HostRegime {
            latency: "0 ns".into(),
            process_rate: "infinite".into(),
            further_rate: None,
            nic_rate: "infinite".into(),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sending {
    /// "A -> B", with a process of the host as in "A.3 -> B.0"; "A/2" is the router's third host.
    from_to: String,
    size: String,
    #[serde(default = "start")]
    at: String,
    #[serde(default)]
    regime: u8,
    /// NICs of the source and of the destination.
    nics: Option<[u8; 2]>,
    /// The routers on the way, where it is not the shortest.
    via: Option<String>,
    delivered: String,
    sent: Option<String>,
}

fn one() -> u32 {
    1
}
fn start() -> String {
    "0 s".into()
}

fn read<T: std::str::FromStr<Err = engine::units::QuantityError>>(text: &str) -> T {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

impl Scenario {
    fn router(&self, name: &str) -> u32 {
        let found = self.routers.split_whitespace().position(|router| router == name);
        found.unwrap_or_else(|| panic!("no router '{name}'")) as u32
    }

    fn endpoint(&self, text: &str) -> (u32, u16) {
        let (text, process) = text.trim().split_once('.').unwrap_or((text.trim(), "0"));
        let (router, host) = text.split_once('/').unwrap_or((text, "0"));
        let host: u32 = host.parse().unwrap();
        (self.router(router) * self.hosts_per_router + host, process.parse().unwrap())
    }

    fn graph(&self) -> Graph {
        let mut graph = Graph {
            routers: self.routers.split_whitespace().count() as u32,
            hosts_per_router: self.hosts_per_router,
            host_link: (Bandwidth::INFINITE, Duration(0)),
            edges: Vec::new(),
            routes: BTreeMap::new(),
        };
        for link in &self.links {
            let words: Vec<&str> = link.split_whitespace().collect();
            let (name, rest) = words.split_first().expect("a link has a name");
            let (bandwidth, latency) = rest.split_at(if rest[0] == "infinite" { 1 } else { 2 });
            let values: (Bandwidth, Duration) = (read(&bandwidth.join(" ")), read(&latency.join(" ")));
            match name.split_once('-') {
                Some((a, b)) => graph.edges.push((self.router(a), self.router(b), values.0, values.1)),
                None => graph.host_link = values,
            }
        }
        for sending in &self.messages {
            if let Some(via) = &sending.via {
                let path: Vec<u32> = via.split_whitespace().map(|name| self.router(name)).collect();
                graph.routes.insert((path[0], *path.last().unwrap()), path);
            }
        }
        graph
    }

    fn hosts(&self) -> HostParameters {
        let regimes = self.host.regimes.iter().map(|regime| {
            let process_rate: Bandwidth = read(&regime.process_rate);
            let change = regime.further_rate.map_or(0.0, |rate| rate * 1e9 - process_rate.0 as f64);
            Regime {
                latency: read(&regime.latency),
                process_rate,
                process_rate_change: change,
                nic_rate: read(&regime.nic_rate),
                ..Regime::FREE
            }
        });
        let memory = self.host.memory.iter().map(|[latency, bandwidth, total]| {
            Memory::uniform(read(latency), read(bandwidth), read(total)).regimes[0]
        });
        HostParameters {
            processes: self.host.processes,
            memory: Memory::new(memory.collect()),
            regimes: regimes.collect(),
            nics: Nics {
                count: self.host.nics,
                choice: NicChoice::named(&self.host.nic_choice).expect("a known choice"),
                setup: read(&self.host.nic_setup),
                order: self.host.nic_order.as_ref().map(|name| NicOrder::named(name).expect("a known order")),
                in_planes: false,
            },
            nic_gap: read(&self.host.nic_gap),
            packet_payload: Bytes(self.host.packet[0]),
            packet_wire: Bytes(self.host.packet[1]),
        }
    }

    fn check(&self, place: &str) {
        let hosts: std::sync::Arc<HostParameters> = self.hosts().into();
        let fabric = self.graph().fabric_with(hosts.nics);
        let messages: Vec<(Time, Message)> = (self.messages.iter().enumerate())
            .map(|(number, sending)| {
                let (from, to) = sending.from_to.split_once("->").expect("from_to is \"A -> B\"");
                let (from, to) = (self.endpoint(from), self.endpoint(to));
                let mut message = common::message(from, to, read::<Bytes>(&sending.size).0, number as u64);
                message.regime = sending.regime;
                message.nics = sending.nics.map(|[from, to]| NicPair { from, to });
                message.notify_sent = sending.sent.is_some();
                (read(&sending.at), message)
            })
            .collect();
        assert!(!self.models.is_empty(), "{place}: no models");
        for name in &self.models {
            let times = common::run(&mut *common::model(name, &fabric, &hosts), &messages);
            for (times, sending) in times.iter().zip(&self.messages) {
                let what = format!("{place}, {name}, {}", sending.from_to);
                near(times.delivered, &sending.delivered, &what);
                if let Some(sent) = &sending.sent {
                    near(times.sent.unwrap(), sent, &format!("{what}, sent"));
                }
            }
        }
    }
}

fn near(found: Time, expected: &str, what: &str) {
    let time: Time = read(expected);
    assert!(found.0.abs_diff(time.0) <= 2, "{what}: {found} ({} ps), expected {expected}", found.0);
}

#[test]
fn every_scenario_holds() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
    let mut files: Vec<_> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut count = 0;
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        for (number, block) in text.split("```toml").skip(1).enumerate() {
            let block = block.split("```").next().unwrap();
            let place = format!("{name}, block {}", number + 1);
            let scenario: Scenario = toml::from_str(block).unwrap_or_else(|error| panic!("{place}: {error}"));
            scenario.check(&place);
            count += 1;
        }
    }
    assert!(count > 0, "there are scenarios");
}
