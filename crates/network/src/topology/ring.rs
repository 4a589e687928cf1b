//! Ring: a torus of one dimension.
//!
//! n routers, two neighbours each, diameter ⌊n / 2⌋; two cables a lane hold its halves together.
//!
//! Source: Dally and Towles, "Principles and Practices of Interconnection Networks" (2004), chapter 5.

use engine::registry::{Arguments, BuildError, Entry, Kind, Parameter};

use super::grid::Connection;
use super::torus::{BANDWIDTH, HOSTS_PER_ROUTER, LANES, LATENCY, of_connections};
use super::{Build, LinkDefaults, Topology};

/// The registry's line.
pub const ENTRY: Entry<Build> = Entry {
    name: "ring",
    summary: "routers in a circle",
    source: "Dally and Towles 2004, chapter 5",
    parameters: &[
        Parameter {
            name: "size",
            kind: Kind::Integer(1, 1 << 24),
            default: None,
            summary: "routers in the circle",
        },
        HOSTS_PER_ROUTER,
        LANES,
        BANDWIDTH,
        LATENCY,
    ],
    examples: &[
        "size = 9",
        "size = 6\nhosts_per_router = 2\nlanes = 3",
        "size = 2\nbandwidth = \"3 GB/s\"\nlatency = \"90 ns\"",
    ],
    build,
};

fn build(arguments: &Arguments, links: &LinkDefaults) -> Result<Box<dyn Topology>, BuildError> {
    let size = arguments.integer("size").unwrap_or(1);
    of_connections(arguments, links, &[size], &[Connection::Ring])
}
