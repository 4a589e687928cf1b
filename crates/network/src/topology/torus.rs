//! Torus: a grid whose dimensions are rings, or lines where `wrap` says so.
//!
//! Routers `∏ s_d`; each has up and down neighbours in every dimension. Diameter `Σ ⌊s_d / 2⌋` over
//! rings plus `Σ (s_d - 1)` over lines; a ring is cut into halves by `2 ∏ s / s_d` cables a lane.
//! Cray Gemini is three rings with (2, 1, 2) lanes and two hosts per router; Tofu is six dimensions
//! of which the last three are 2 x 3 x 2 with `wrap = [true, true, true, false, true, false]`.
//!
//! Source: Dally, "Performance analysis of k-ary n-cube interconnection networks" (IEEE ToC 39(6), 1990);
//! Alverson, Roweth, Kaplan, "The Gemini System Interconnect" (HOTI 2010); Ajima, Sumimoto, Shimizu,
//! "Tofu: A 6D mesh/torus interconnect for exascale computers" (Computer 42(11), 2009).

use engine::registry::{Arguments, BuildError, Entry, Kind, Parameter};

use super::grid::{self, Connection, Grid, Shape};
use super::{Build, LinkDefaults, Topology};

pub(super) const SIZES: Parameter = Parameter {
    name: "sizes",
    kind: Kind::List(&Kind::Integer(1, 1 << 24)),
    default: None,
    summary: "routers along each dimension, the fastest varying first",
};
pub(super) const HOSTS_PER_ROUTER: Parameter = Parameter {
    name: "hosts_per_router",
    kind: Kind::Integer(1, 1 << 20),
    default: Some("1"),
    summary: "hosts on each router",
};
pub(super) const LANES: Parameter = Parameter {
    name: "lanes",
    kind: Kind::List(&Kind::Integer(1, 1 << 10)),
    default: Some(""),
    summary: "parallel links: one value, one per dimension, or up and down for each dimension; missing: 1",
};
pub(super) const BANDWIDTH: Parameter = Parameter {
    name: "bandwidth",
    kind: Kind::List(&Kind::Bandwidth),
    default: Some(""),
    summary: "of each link: one value, one per dimension, or up and down for each; missing: [link]'s",
};
pub(super) const LATENCY: Parameter = Parameter {
    name: "latency",
    kind: Kind::List(&Kind::Time),
    default: Some(""),
    summary: "of each link and the router behind it: lists as for bandwidth; missing: [link]'s",
};

/// The registry's line.
pub const ENTRY: Entry<Build> = Entry {
    name: "torus",
    summary: "rings in any number of dimensions, some of which may be open",
    source: "Dally 1990; Alverson, Roweth, Kaplan 2010 (Gemini); Ajima, Sumimoto, Shimizu 2009 (Tofu)",
    parameters: &[
        SIZES,
        HOSTS_PER_ROUTER,
        LANES,
        BANDWIDTH,
        LATENCY,
        Parameter {
            name: "wrap",
            kind: Kind::List(&Kind::Flag),
            default: Some("true"),
            summary: "whether a dimension is a ring: one value, or one per dimension",
        },
    ],
    examples: &[
        "sizes = [4, 3, 2]\nwrap = [true, true, false]\nlanes = [2, 1, 1, 1, 3, 2]",
        "sizes = [5, 4]\nhosts_per_router = 2",
        "sizes = [3]\nlanes = [2, 1]\nbandwidth = [\"3 GB/s\", \"5 GB/s\"]\nlatency = \"90 ns\"",
        "sizes = [2, 4, 1]\nwrap = true",
    ],
    build,
};

fn build(arguments: &Arguments, links: &LinkDefaults) -> Result<Box<dyn Topology>, BuildError> {
    let sizes = arguments.integers("sizes");
    let wraps = arguments.flags("wrap");
    if wraps.len() > 1 && wraps.len() != sizes.len() {
        return Err(BuildError::new(
            "wrap",
            format!("{} values for {} dimensions; write one for all, or one each", wraps.len(), sizes.len()),
        ));
    }
    let wraps = grid::spread("wrap", &wraps, true, sizes.len())?;
    let connections = wraps.iter().map(|[ring, _]| if *ring { Connection::Ring } else { Connection::Line });
    of_connections(arguments, links, &sizes, &connections.collect::<Vec<_>>())
}

/// A grid of `sizes` with the shared parameters of `arguments`.
pub(super) fn of_connections(
    arguments: &Arguments,
    links: &LinkDefaults,
    sizes: &[i64],
    connections: &[Connection],
) -> Result<Box<dyn Topology>, BuildError> {
    if sizes.is_empty() {
        return Err(BuildError::new("sizes", "[] has no dimension; write for example [8, 8, 8]"));
    }
    let sides = grid::sides(
        sizes.len(),
        &arguments.integers("lanes"),
        &arguments.bandwidths("bandwidth"),
        &arguments.times("latency"),
        links,
    )?;
    let shapes: Vec<Shape> = (0..sizes.len())
        .map(|d| Shape { connection: connections[d], size: sizes[d] as u32, sides: sides[d] })
        .collect();
    let hosts_per_router = arguments.integer("hosts_per_router").unwrap_or(1);
    Ok(Box::new(Grid::new(&shapes, hosts_per_router as u32, links, "dimension-order")?))
}
