//! Networks of the sizes that the benches ask for.

use std::sync::Arc;

use engine::registry::{Arguments, Value, find};
use engine::{Bandwidth, Bytes, Duration};
use network::model::{Arbitration, PacketOptions, Switching};
use network::routing::ROUTINGS;
use network::topology::{LinkDefaults, TOPOLOGIES};
use network::{Fabric, HostParameters, Memory, Nics, Regime};

const LINKS: LinkDefaults = LinkDefaults {
    bandwidth: Bandwidth(10_000_000_000),
    latency: Duration::from_ns(100),
    host_bandwidth: Bandwidth(10_000_000_000),
    host_latency: Duration::from_ns(50),
};

/// A topology of the registry with these arguments, and its own routing without any.
pub fn fabric(kind: &str, arguments: &[(&'static str, Value)]) -> Arc<Fabric> {
    fabric_of(&LINKS, kind, arguments)
}

fn fabric_of(links: &LinkDefaults, kind: &str, arguments: &[(&'static str, Value)]) -> Arc<Fabric> {
    Arc::new(routed(links, kind, arguments, None))
}

/// A routing of the registry, and its arguments.
type Named<'a> = (&'a str, &'a [(&'static str, Value)]);

fn routed(
    links: &LinkDefaults,
    kind: &str,
    arguments: &[(&'static str, Value)],
    routing: Option<Named>,
) -> Fabric {
    let of = |arguments: &[(&'static str, Value)]| Arguments(arguments.iter().cloned().collect());
    let topology = (find(TOPOLOGIES, "topology", kind).unwrap().build)(&of(arguments), links).unwrap();
    let (name, arguments) = routing.unwrap_or((topology.default_routing(), &[]));
    let routing = (find(ROUTINGS, "routing", name).unwrap().build)(&of(arguments), &*topology, 0).unwrap();
    Fabric { topology, routing }
}

/// A torus of 2,048 hosts with two links between neighbours, of which packets take one as `lanes` says.
pub fn double_torus(lanes: &str) -> Arc<Fabric> {
    let sizes = [("sizes", integers(&[16, 16, 8])), ("lanes", integers(&[2]))];
    let arguments = [("lanes", Value::Text(lanes.into()))];
    Arc::new(routed(&NSIM_LINKS, "torus", &sizes, Some(("dimension-order", &arguments))))
}

/// A dragonfly of 1,056 hosts with this routing.
pub fn dragonfly(routing: &str) -> Arc<Fabric> {
    let sizes = ["routers_per_group", "hosts_per_router", "global_links_per_router"];
    let sizes: Vec<_> = sizes.into_iter().zip([8, 4, 4].map(Value::Integer)).collect();
    Arc::new(routed(&NSIM_LINKS, "dragonfly", &sizes, Some((routing, &[]))))
}

fn integers(values: &[i64]) -> Value {
    Value::List(values.iter().map(|value| Value::Integer(*value)).collect())
}

/// A 3-D torus of `side`³ hosts, one on each router.
pub fn torus(side: i64) -> Arc<Fabric> {
    fabric("torus", &[("sizes", integers(&[side; 3])), ("hosts_per_router", Value::Integer(1))])
}

/// A full fat tree XGFT(h; m; 1, m…).
pub fn fat_tree(m: &[i64]) -> Arc<Fabric> {
    let w: Vec<i64> = std::iter::once(1).chain(m.iter().copied().take(m.len() - 1)).collect();
    fabric("fat-tree", &[("m", integers(m)), ("w", integers(&w))])
}

/// Of the NSIM study (Table 3): 4 GB/s, 78 + 4 · 4 ns in a router, 10 ns of cable.
const NSIM_LINKS: LinkDefaults = LinkDefaults {
    bandwidth: Bandwidth(4_000_000_000),
    latency: Duration::from_ns(104),
    host_bandwidth: Bandwidth(4_000_000_000),
    host_latency: Duration::from_ns(52),
};

/// The torus of the NSIM study of these sizes.
pub fn nsim_torus(sizes: &[i64]) -> Arc<Fabric> {
    fabric_of(&NSIM_LINKS, "torus", &[("sizes", integers(sizes)), ("hosts_per_router", Value::Integer(1))])
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
            up_to: Bytes(u64::MAX),
            send_overhead: Duration::ZERO,
            receive_overhead: Duration::ZERO,
            latency: Duration::from_ns(500),
            process_rate: Bandwidth::INFINITE,
            process_rate_change: 0.0,
            nic_rate: Bandwidth(9_000_000_000),
        }],
        nics: Nics::ONE,
        nic_gap: Duration::from_ns(50),
        packet_payload: Bytes(1),
        packet_wire: Bytes(1),
    })
}
