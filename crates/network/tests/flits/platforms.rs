//! Random small platforms and traffic, with as many ties as real ones never have.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use engine::{Bandwidth, Bytes, Duration, Time};
use network::model::{Arbitration, PacketOptions, Switching};
use network::routing::ROUTINGS;
use network::topology::fat_tree::FatTree;
use network::topology::grid::Grid;
use network::topology::grouped::Grouped;
use network::topology::nic_links::with_nic_links;
use network::topology::{Formula, TOPOLOGIES};
use network::{Fabric, HostId, Link, LinkId, Message, RouterId, Topology};
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::support::Example;
use crate::{common, support};

/// A network by its parameters, as TOML.
#[derive(Debug, Clone)]
pub struct Platform {
    topology: (&'static str, &'static str),
    routing: (&'static str, &'static str),
    /// Rates and latencies, of which each link has one, by its number and `shuffle`.
    rates: Vec<(Bandwidth, Duration)>,
    shuffle: u64,
    pub processes: u16,
    /// Links of each host in each direction, which packets share.
    nic_links: u8,
}

impl Platform {
    pub fn fabric(&self) -> Arc<Fabric> {
        let (kind, text) = self.topology;
        let entry = engine::registry::find(TOPOLOGIES, "topology", kind).unwrap();
        let plain = (entry.build)(&support::arguments(entry.parameters, text), &support::DEFAULTS).unwrap();
        let topology = Mixed { plain, rates: self.rates.clone(), shuffle: self.shuffle };
        let (kind, text) = self.routing;
        let entry = engine::registry::find(ROUTINGS, "routing", kind).unwrap();
        let arguments = support::arguments(entry.parameters, text);
        let routing = (entry.build)(&arguments, &topology, 42).unwrap();
        Arc::new(Fabric { topology: with_nic_links(Box::new(topology), self.nic_links), routing })
    }
}

/// A topology whose links differ from each other.
struct Mixed {
    plain: Box<dyn Topology>,
    rates: Vec<(Bandwidth, Duration)>,
    shuffle: u64,
}

impl Topology for Mixed {
    fn hosts(&self) -> u32 {
        self.plain.hosts()
    }
    fn routers(&self) -> u32 {
        self.plain.routers()
    }
    fn links(&self) -> u32 {
        self.plain.links()
    }
    fn link(&self, id: LinkId) -> Link {
        let word = (u64::from(id.0) ^ self.shuffle).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let (bandwidth, latency) = self.rates[word as usize % self.rates.len()];
        Link { bandwidth, latency, ..self.plain.link(id) }
    }
    fn classes(&self) -> Vec<String> {
        self.plain.classes()
    }
    fn router_of(&self, host: HostId) -> RouterId {
        self.plain.router_of(host)
    }
    fn hosts_of(&self, router: RouterId) -> Range<u32> {
        self.plain.hosts_of(router)
    }
    fn ports(&self, router: RouterId, ports: &mut Vec<LinkId>) {
        self.plain.ports(router, ports);
    }
    fn formula(&self) -> Formula {
        self.plain.formula()
    }
    fn router_name(&self, router: RouterId) -> String {
        self.plain.router_name(router)
    }
    fn default_routing(&self) -> &'static str {
        self.plain.default_routing()
    }
    fn cartesian(&self) -> Option<&Grid> {
        self.plain.cartesian()
    }
    fn levelled(&self) -> Option<&FatTree> {
        self.plain.levelled()
    }
    fn grouped(&self) -> Option<Arc<dyn Grouped>> {
        self.plain.grouped()
    }
}

/// The flit-level simulator takes its time.
const HOSTS_MOST: u32 = 40;

/// A topology with the routings that fit it.
type Routed = (Example, Vec<Example>);

fn networks() -> &'static [Vec<Routed>] {
    static NETWORKS: OnceLock<Vec<Vec<Routed>>> = OnceLock::new();
    NETWORKS.get_or_init(|| support::fitting_networks(HOSTS_MOST))
}

/// Small networks of all kinds, with links that are all alike, or some slower than others.
pub fn any_platform() -> impl Strategy<Value = Platform> {
    let network = select(networks())
        .prop_flat_map(select)
        .prop_flat_map(|(topology, routings)| select(routings).prop_map(move |routing| (topology, routing)));
    // A flit of 8 B or a multiple takes whole picoseconds at each of these.
    let bandwidth = select(&[1, 2, 4, 5, 8, 8, 8, 10][..]).prop_map(|gb| Bandwidth(gb * 1_000_000_000));
    let latency = select(&[0, 10_000, 16_000, 50_000, 50_000, 100_000, 123_457][..]).prop_map(Duration);
    let rates = prop_oneof![
        proptest::collection::vec((bandwidth.clone(), latency.clone()), 1),
        proptest::collection::vec((bandwidth, latency), 2..6),
    ];
    // Nor is it another time on a half of these, or a quarter.
    let nic_links = select(&[1, 1, 2, 4][..]);
    (network, rates, any::<u64>(), 1..=3u16, nic_links).prop_map(
        |((topology, routing), rates, shuffle, processes, nic_links)| Platform {
            topology,
            routing,
            rates,
            shuffle,
            processes,
            nic_links,
        },
    )
}

/// A crossbar as fast as the links or with a rate of its own, faster or slower, and outputs with buffers for one packet to
/// three, or without.
fn any_crossbar() -> impl Strategy<Value = (Option<Bandwidth>, Option<(u64, u64)>)> {
    let rate = select(&[1, 2, 4, 8, 10, 20, 40][..]).prop_map(|gb| Bandwidth(gb * 1_000_000_000));
    (prop::option::of(rate), prop::option::of((1..=3u64, select(&[0, 5, 40][..]))))
}

/// All options, with buffers for one packet to four.
pub fn any_options() -> impl Strategy<Value = PacketOptions> {
    let sizes = (select(&[24, 64, 120][..]), select(&[0, 8, 20][..]), select(&[8, 16, 32][..]));
    let buffer = (1..=4u64, select(&[0, 5, 40][..]));
    let pipeline = select(&[0, 10_000, 33_333, 50_000][..]).prop_map(Duration);
    let arbitration = select(&[Arbitration::RoundRobin, Arbitration::Age][..]);
    let switching =
        select(&[Switching::VirtualCutThrough, Switching::VirtualCutThrough, Switching::StoreAndForward][..]);
    let routers = (any_crossbar(), pipeline, arbitration, switching);
    (sizes, buffer, prop::bool::weighted(0.8), routers).prop_map(
        |((payload, header, flit), (packets, more), limited, routers)| {
            let ((crossbar, output), pipeline, arbitration, switching) = routers;
            let longest = u64::div_ceil(payload + header, flit) * flit;
            PacketOptions {
                payload: Bytes(payload),
                header: Bytes(header),
                flit: Bytes(flit),
                buffer: limited.then_some(Bytes(packets * longest + more)),
                crossbar,
                output_buffer: output.map(|(packets, more)| Bytes(packets * longest + more)),
                switching,
                arbitration,
                pipeline,
            }
        },
    )
}

/// A message between hosts and processes that are yet to be known: its size in hundredths of a packet.
#[derive(Debug, Clone)]
pub struct Sending {
    at: Time,
    from: (Index, Index),
    to: (Index, Index),
    percent: u64,
}

/// Many at the same time, of the same size, to the same host.
pub fn any_traffic() -> impl Strategy<Value = Vec<Sending>> {
    let at = prop_oneof![
        2 => Just(0),
        1 => select(&[16_000, 50_000, 100_000, 400_000][..]),
        1 => 0..2_000_000u64
    ];
    let percent = prop_oneof![1 => select(&[0, 100, 200, 400][..]), 1 => 0..1000u64];
    let end = || (any::<Index>(), any::<Index>());
    let sending = (at, end(), end(), percent).prop_map(|(at, from, to, percent)| Sending {
        at: Time(at),
        from,
        to,
        percent,
    });
    (proptest::collection::vec(sending, 1..60), prop::option::weighted(0.3, end())).prop_map(
        |(mut sendings, hot)| {
            for (number, sending) in sendings.iter_mut().enumerate() {
                match hot {
                    Some(hot) if number % 3 > 0 => sending.to = hot,
                    _ => {}
                }
            }
            sendings
        },
    )
}

/// The messages of `traffic` on `platform`, none from a host to itself.
pub fn messages(
    traffic: &[Sending],
    platform: &Platform,
    hosts: u32,
    options: &PacketOptions,
) -> Vec<(Time, Message)> {
    let process = |index: Index| index.index(platform.processes.into()) as u16;
    let message = |(number, sending): (usize, &Sending)| {
        let from = sending.from.0.index(hosts as usize) as u32;
        let mut to = sending.to.0.index(hosts as usize) as u32;
        if to == from {
            to = (to + 1) % hosts;
        }
        let size = sending.percent * options.payload.0 / 100;
        let ends = [(from, process(sending.from.1)), (to, process(sending.to.1))];
        (sending.at, common::message(ends[0], ends[1], size, number as u64))
    };
    traffic.iter().enumerate().map(message).collect()
}
