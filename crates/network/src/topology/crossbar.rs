//! Crossbar: all hosts on one switch, which never limits; a grid without dimensions.
//!
//! Source: Dally and Towles, "Principles and Practices of Interconnection Networks" (2004), chapter 6.

use engine::registry::{Arguments, BuildError, Entry, Kind, Parameter};

use super::grid::Grid;
use super::{Build, LinkDefaults, Topology};

/// The registry's line.
pub const ENTRY: Entry<Build> = Entry {
    name: "crossbar",
    summary: "one switch for all hosts",
    source: "Dally and Towles 2004, chapter 6",
    parameters: &[Parameter {
        name: "hosts",
        kind: Kind::Integer(1, 1 << 30),
        default: None,
        summary: "hosts on the switch",
    }],
    examples: &["hosts = 12", "hosts = 2"],
    build,
};

fn build(arguments: &Arguments, links: &LinkDefaults) -> Result<Box<dyn Topology>, BuildError> {
    let hosts = arguments.integer("hosts").unwrap_or(1);
    Ok(Box::new(Grid::new(&[], hosts as u32, links, "dimension-order")?))
}
