//! Progressive adaptive: as UGAL-L, asked again at every router while the packet is on its minimal way.
//!
//! A packet that has chosen the minimal way at its first router may still leave it later, by the queues that
//! it sees there (see `detour`): on dragonflies at the router with the global link, in the group that it
//! comes from; on grids at every router of the way. A detour once begun is not given up.
//!
//! A later detour is a longer way with one stretch more: 4 channels on dragonflies, three segments on grids.
//!
//! Source: Jiang, Kim, Dally, "Indirect adaptive routing on large scale interconnection networks" (ISCA
//! 2009), section 3.

use engine::registry::{Arguments, BuildError, Entry};

use super::detour::{self, PARAMETERS, Rule};
use super::{Build, Routing};
use crate::topology::Topology;

/// The registry's line.
pub const ENTRY: Entry<Build> = Entry {
    name: "progressive-adaptive",
    summary: "UGAL-L that may leave the minimal way later, too; dragonflies, slim-fly, grids (hyperx, torus, …)",
    source: "Jiang, Kim, Dally 2009",
    parameters: PARAMETERS,
    examples: &["", "lanes = \"least-loaded\"", "threshold = \"3 B\"", "lanes = \"pair\"\nties = \"up\""],
    build,
};

fn build(arguments: &Arguments, topology: &dyn Topology, seed: u64) -> Result<Box<dyn Routing>, BuildError> {
    detour::build(Rule::Progressive, arguments, topology, seed)
}
