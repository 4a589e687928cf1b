//! UGAL-G: minimal, or by a random place, as the queues of all routers of the group say.
//!
//! As `ugal-l`, but the load of a way is that of its most loaded output within the group of the first
//! router: on dragonflies the global channel's, or the local one's before it; on grids that of the whole
//! way. `q_m H_m > q_d H_d + threshold` sends a packet on the detour.
//!
//! Assumes that a router knows the queues of others at once, which none does: it is the ideal that
//! realizable routings are held to. A run of the packet model can be cut between groups, but not within
//! them; on grids it cannot be cut.
//!
//! Source: Kim, Dally, Scott, Abts, "Technology-driven, highly-scalable dragonfly topology" (ISCA 2008),
//! section 4.1.

use engine::registry::{Arguments, BuildError, Entry};

use super::detour::{self, PARAMETERS, Rule};
use super::{Build, Routing};
use crate::topology::Topology;

/// The registry's line.
pub const ENTRY: Entry<Build> = Entry {
    name: "ugal-g",
    summary: "minimal or Valiant by all queues of the group, the ideal; dragonflies, slim-fly, grids (hyperx, torus, …)",
    source: "Kim, Dally, Scott, Abts 2008",
    parameters: PARAMETERS,
    examples: &["", "lanes = \"least-loaded\"", "threshold = \"3 B\"", "lanes = \"pair\"\nties = \"up\""],
    build,
};

fn build(arguments: &Arguments, topology: &dyn Topology, seed: u64) -> Result<Box<dyn Routing>, BuildError> {
    detour::build(Rule::Global, arguments, topology, seed)
}
