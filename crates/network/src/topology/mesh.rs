//! Mesh: a grid whose dimensions are lines, a torus without the closing links.
//!
//! Diameter `Σ (s_d - 1)`; cutting dimension d in the middle cuts `∏ s / s_d` cables a lane.
//!
//! Source: Dally and Towles, "Principles and Practices of Interconnection Networks" (2004), chapter 5.

use engine::registry::{Arguments, BuildError, Entry};

use super::grid::Connection;
use super::torus::{BANDWIDTH, HOSTS_PER_ROUTER, LANES, LATENCY, SIZES, of_connections};
use super::{Build, LinkDefaults, Topology};

/// The registry's line.
pub const ENTRY: Entry<Build> = Entry {
    name: "mesh",
    summary: "lines in any number of dimensions",
    source: "Dally and Towles 2004, chapter 5",
    parameters: &[SIZES, HOSTS_PER_ROUTER, LANES, BANDWIDTH, LATENCY],
    examples: &[
        "sizes = [4, 3]",
        "sizes = [2, 3, 4]\nhosts_per_router = 2\nlanes = 2",
        "sizes = [5]\nbandwidth = \"3 GB/s\"\nlatency = \"90 ns\"",
    ],
    build,
};

fn build(arguments: &Arguments, links: &LinkDefaults) -> Result<Box<dyn Topology>, BuildError> {
    let sizes = arguments.integers("sizes");
    of_connections(arguments, links, &sizes, &vec![Connection::Line; sizes.len()])
}
