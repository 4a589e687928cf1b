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
    build,
};

fn build(arguments: &Arguments, links: &LinkDefaults) -> Result<Box<dyn Topology>, BuildError> {
    let sizes = arguments.integers("sizes");
    of_connections(arguments, links, &sizes, &vec![Connection::Line; sizes.len()])
}
