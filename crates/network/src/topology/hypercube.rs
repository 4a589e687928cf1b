//! Hypercube: n dimensions of two routers each.
//!
//! 2ⁿ routers, n ports each, diameter n; a cut in the middle cuts 2ⁿ⁻¹ cables a lane.
//!
//! Source: Seitz, "The Cosmic Cube" (CACM 28(1), 1985).

use engine::registry::{Arguments, BuildError, Entry, Kind, Parameter};

use super::grid::Connection;
use super::torus::{BANDWIDTH, HOSTS_PER_ROUTER, LANES, LATENCY, of_connections};
use super::{Build, LinkDefaults, Topology};

/// The registry's line.
pub const ENTRY: Entry<Build> = Entry {
    name: "hypercube",
    summary: "two routers in each of n dimensions",
    source: "Seitz 1985",
    parameters: &[
        Parameter {
            name: "dimensions",
            kind: Kind::Integer(1, 24),
            default: None,
            summary: "n: the network has 2^n routers",
        },
        HOSTS_PER_ROUTER,
        LANES,
        BANDWIDTH,
        LATENCY,
    ],
    examples: &[
        "dimensions = 4",
        "dimensions = 2\nhosts_per_router = 2\nlanes = 3",
        "dimensions = 3\nbandwidth = \"3 GB/s\"\nlatency = \"90 ns\"",
    ],
    build,
};

fn build(arguments: &Arguments, links: &LinkDefaults) -> Result<Box<dyn Topology>, BuildError> {
    let dimensions = arguments.integer("dimensions").unwrap_or(1) as usize;
    of_connections(arguments, links, &vec![2; dimensions], &vec![Connection::Line; dimensions])
}
