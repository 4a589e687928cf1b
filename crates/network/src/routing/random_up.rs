//! Random up-path: every port up with the same probability, drawn for each message and level.
//!
//! Source: Valiant and Brebner, "Universal schemes for parallel communication" (STOC 1981); Greenberg and
//! Leiserson, "Randomized routing on fat-trees" (1985).

use engine::registry::{Arguments, BuildError, Entry};

use super::up_down::{self, Climb};
use super::{Build, Routing};
use crate::topology::Topology;

/// The registry's line.
pub const ENTRY: Entry<Build> = Entry {
    name: "random-up",
    summary: "up through random ports, drawn for each message; fat-tree",
    source: "Greenberg and Leiserson 1985",
    parameters: &[],
    examples: &[""],
    build,
};

fn build(_arguments: &Arguments, topology: &dyn Topology, seed: u64) -> Result<Box<dyn Routing>, BuildError> {
    up_down::build(Climb::Random, topology, seed)
}
