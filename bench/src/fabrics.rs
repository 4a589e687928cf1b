//! Networks of the sizes that the benches ask for.

use std::sync::Arc;

use engine::registry::{Arguments, Parameter, find};
use engine::{Bandwidth, Bytes, Duration};
use network::model::{Arbitration, PacketOptions, Switching};
use network::routing::ROUTINGS;
use network::topology::{LinkDefaults, TOPOLOGIES};
use network::{Fabric, HostParameters, Memory, Nics, Regime};
use sim::config::{self, Texts};

const LINKS: LinkDefaults = LinkDefaults {
    bandwidth: Bandwidth(10_000_000_000),
    latency: Duration::from_ns(100),
    host_bandwidth: Bandwidth(10_000_000_000),
    host_latency: Duration::from_ns(50),
};

/// Arguments of an entry as flags write them: name and value.
type Written<'a> = &'a [(&'a str, &'a str)];

/// A topology of the registry with these arguments, and its own routing without any.
pub fn fabric(kind: &str, arguments: Written) -> Arc<Fabric> {
    fabric_of(&LINKS, kind, arguments)
}

fn fabric_of(links: &LinkDefaults, kind: &str, arguments: Written) -> Arc<Fabric> {
    Arc::new(routed(links, kind, arguments, None))
}

/// The arguments of an entry, checked and completed with the defaults, as a platform's are.
fn completed(kind: &str, parameters: &'static [Parameter], written: Written) -> Arguments {
    let written: Vec<_> = written.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    config::arguments(kind, parameters, &written, &Texts::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn routed(links: &LinkDefaults, kind: &str, arguments: Written, routing: Option<(&str, Written)>) -> Fabric {
    let entry = find(TOPOLOGIES, "topology", kind).unwrap();
    let topology = (entry.build)(&completed(kind, entry.parameters, arguments), links).unwrap();
    let (name, arguments) = routing.unwrap_or((topology.default_routing(), &[]));
    let entry = find(ROUTINGS, "routing", name).unwrap();
    let routing = (entry.build)(&completed(name, entry.parameters, arguments), &*topology, 0).unwrap();
    Fabric { topology, routing }
}

/// A torus of 2,048 hosts with two links between neighbours, of which packets take one as `lanes` says.
pub fn double_torus(lanes: &str) -> Arc<Fabric> {
    let sizes = [("sizes", "16,16,8"), ("lanes", "2")];
    Arc::new(routed(&NSIM_LINKS, "torus", &sizes, Some(("dimension-order", &[("lanes", lanes)]))))
}

/// A dragonfly of 1,056 hosts with this routing.
pub fn dragonfly(routing: &str) -> Arc<Fabric> {
    let sizes = [("routers_per_group", "8"), ("hosts_per_router", "4"), ("global_links_per_router", "4")];
    Arc::new(routed(&NSIM_LINKS, "dragonfly", &sizes, Some((routing, &[]))))
}

/// A list as a flag writes it.
fn list(values: &[i64]) -> String {
    values.iter().map(i64::to_string).collect::<Vec<_>>().join(",")
}

/// A 3-D torus of `side`³ hosts, one on each router.
pub fn torus(side: i64) -> Arc<Fabric> {
    fabric("torus", &[("sizes", &list(&[side; 3]))])
}

/// A full fat tree XGFT(h; m; 1, m…).
pub fn fat_tree(m: &[i64]) -> Arc<Fabric> {
    let w: Vec<i64> = std::iter::once(1).chain(m.iter().copied().take(m.len() - 1)).collect();
    fabric("fat-tree", &[("m", &list(m)), ("w", &list(&w))])
}

/// Links of the NSIM study (Table 3): 4 GB/s, 78 + 4 · 4 ns in a router, 10 ns of cable.
const NSIM_LINKS: LinkDefaults = LinkDefaults {
    bandwidth: Bandwidth(4_000_000_000),
    latency: Duration::from_ns(104),
    host_bandwidth: Bandwidth(4_000_000_000),
    host_latency: Duration::from_ns(52),
};

/// The torus of the NSIM study of these sizes.
pub fn nsim_torus(sizes: &[i64]) -> Arc<Fabric> {
    fabric_of(&NSIM_LINKS, "torus", &[("sizes", &list(sizes))])
}

/// Its packets: 2 KiB with a header of 32 B, flits of 16 B, buffers of four packets.
pub fn nsim_packets() -> PacketOptions {
    PacketOptions {
        payload: Bytes(2016),
        header: Bytes(32),
        flit: Bytes(16),
        buffer: Some(Bytes(8192)),
        switching: Switching::VirtualCutThrough,
        arbitration: Arbitration::RoundRobin,
        pipeline: Duration::from_ns(94),
        crossbar: None,
        output_buffer: None,
    }
}

/// Its hosts: one process, no limit but the link.
pub fn nsim_hosts() -> Arc<HostParameters> {
    let mut hosts = HostParameters::clone(&hosts());
    hosts.regimes[0].nic_rate = Bandwidth(16_000_000_000);
    hosts.regimes[0].latency = Duration::ZERO;
    Arc::new(hosts)
}

/// Hosts with one process whose NIC is a little narrower than the links.
pub fn hosts() -> Arc<HostParameters> {
    Arc::new(HostParameters {
        processes: 1,
        memory: Memory::uniform(Duration::from_ns(300), Bandwidth(8_000_000_000), Bandwidth(40_000_000_000)),
        regimes: vec![Regime {
            latency: Duration::from_ns(500),
            nic_rate: Bandwidth(9_000_000_000),
            ..Regime::FREE
        }],
        nics: Nics::ONE,
        nic_gap: Duration::from_ns(50),
        packet_payload: Bytes(1),
        packet_wire: Bytes(1),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hosts by the closed forms of the topologies: (a h + 1) a p of a dragonfly, the product of a torus or a tree.
    #[test]
    fn every_network_of_the_benches_can_be_built() {
        for routing in ["minimal", "valiant", "ugal-l", "ugal-g", "progressive-adaptive"] {
            assert_eq!(dragonfly(routing).topology.hosts(), 33 * 8 * 4);
        }
        for lanes in ["first", "hashed", "least-loaded"] {
            assert_eq!(double_torus(lanes).topology.hosts(), 2048);
        }
        assert_eq!(torus(4).topology.hosts(), 64);
        assert_eq!(nsim_torus(&[4, 4, 2]).topology.hosts(), 32);
        assert_eq!(fat_tree(&[4, 4]).topology.hosts(), 16);
    }
}
