//! Networks of the sizes that the benches ask for.

use std::sync::Arc;

use engine::registry::{Arguments, Value, find};
use engine::{Bandwidth, Bytes, Duration};
use network::routing::ROUTINGS;
use network::topology::{LinkDefaults, TOPOLOGIES};
use network::{Fabric, HostParameters, Memory, Regime};

const LINKS: LinkDefaults = LinkDefaults {
    bandwidth: Bandwidth(10_000_000_000),
    latency: Duration::from_ns(100),
    host_bandwidth: Bandwidth(10_000_000_000),
    host_latency: Duration::from_ns(50),
};

/// A topology of the registry with these arguments, and its own routing without any.
pub fn fabric(kind: &str, arguments: &[(&'static str, Value)]) -> Arc<Fabric> {
    let arguments = Arguments(arguments.iter().cloned().collect());
    let topology = (find(TOPOLOGIES, "topology", kind).unwrap().build)(&arguments, &LINKS).unwrap();
    let routing = find(ROUTINGS, "routing", topology.default_routing()).unwrap();
    let routing = (routing.build)(&Arguments::default(), &*topology, 0).unwrap();
    Arc::new(Fabric { topology, routing })
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

/// Hosts with one process whose NIC is a little narrower than the links.
pub fn hosts() -> Arc<HostParameters> {
    Arc::new(HostParameters {
        processes: 1,
        memory: Memory {
            latency: Duration::from_ns(300),
            bandwidth: Bandwidth(8_000_000_000),
            total_bandwidth: Bandwidth(40_000_000_000),
        },
        regimes: vec![Regime {
            up_to: Bytes(u64::MAX),
            send_overhead: Duration::ZERO,
            receive_overhead: Duration::ZERO,
            latency: Duration::from_ns(500),
            process_rate: Bandwidth::INFINITE,
            process_rate_change: 0.0,
            nic_rate: Bandwidth(9_000_000_000),
        }],
        nic_gap: Duration::from_ns(50),
        packet_payload: Bytes(1),
        packet_wire: Bytes(1),
    })
}
