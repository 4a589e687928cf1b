//! HyperX: a grid whose dimensions are complete graphs (a flattened butterfly, where all are equal).
//!
//! Routers `∏ s_d`, each with `Σ (s_d - 1) lanes_d` ports to others; diameter is the number of
//! dimensions of two or more routers.
//!
//! Source: Ahn, Binkert, Davis, McLaren, Schreiber, "HyperX: topology, routing, and packaging of
//! efficient large-scale networks" (SC 2009), section 2.

use engine::registry::{Arguments, BuildError, Entry};

use super::grid::Connection;
use super::torus::{BANDWIDTH, HOSTS_PER_ROUTER, LANES, LATENCY, SIZES, of_connections};
use super::{Build, LinkDefaults, Topology};

/// The registry's line.
pub const ENTRY: Entry<Build> = Entry {
    name: "hyperx",
    summary: "complete graphs in any number of dimensions",
    source: "Ahn, Binkert, Davis, McLaren, Schreiber 2009",
    parameters: &[SIZES, HOSTS_PER_ROUTER, LANES, BANDWIDTH, LATENCY],
    examples: &[
        "sizes = [4, 3]\nhosts_per_router = 2",
        "sizes = [2, 3, 4]\nlanes = [1, 2, 1]",
        "sizes = [4]\nbandwidth = \"3 GB/s\"\nlatency = \"90 ns\"",
    ],
    build,
};

fn build(arguments: &Arguments, links: &LinkDefaults) -> Result<Box<dyn Topology>, BuildError> {
    let sizes = arguments.integers("sizes");
    // Links of a complete graph have no direction of their own.
    for (name, values) in [
        ("lanes", arguments.integers("lanes").len()),
        ("bandwidth", arguments.bandwidths("bandwidth").len()),
        ("latency", arguments.times("latency").len()),
    ] {
        if values > 1 && values != sizes.len() {
            return Err(BuildError::new(
                name,
                format!("{values} values for {} dimensions; write one for all, or one each", sizes.len()),
            ));
        }
    }
    of_connections(arguments, links, &sizes, &vec![Connection::Full; sizes.len()])
}
