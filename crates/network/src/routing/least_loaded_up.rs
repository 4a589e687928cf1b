//! Least-loaded up-path: every router takes the port up with the least load it sees, and of parallel links down.
//!
//! In the packet model a packet chooses at each router; where whole messages move, all is chosen when one
//! starts.
//!
//! Source: Kim, Dally, Abts, "Adaptive routing in high-radix Clos network" (SC 2006).

use engine::registry::{Arguments, BuildError, Entry};

use super::up_down::{self, Climb};
use super::{Build, Routing};
use crate::topology::Topology;

/// The registry's line.
pub const ENTRY: Entry<Build> = Entry {
    name: "least-loaded-up",
    summary: "up through the least loaded port, equals at random; fat-tree",
    source: "Kim, Dally, Abts 2006",
    parameters: &[],
    examples: &[""],
    build,
};

fn build(_arguments: &Arguments, topology: &dyn Topology, seed: u64) -> Result<Box<dyn Routing>, BuildError> {
    up_down::build(Climb::LeastLoaded, topology, seed)
}
