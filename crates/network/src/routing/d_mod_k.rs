//! D-mod-k: from level l up through port `⌊destination / W_l⌋ mod (w_{l+1} p_{l+1})` of w parents, p links each.
//!
//! Source: Zahavi, "D-Mod-K routing providing non-blocking traffic for shift permutations on real life fat
//! trees" (CCIT report 776, 2010).

use engine::registry::{Arguments, BuildError, Entry};

use super::up_down::{self, Climb};
use super::{Build, Routing};
use crate::topology::Topology;

/// The registry's line.
pub const ENTRY: Entry<Build> = Entry {
    name: "d-mod-k",
    summary: "up by the destination's number, so that all to one host meet early; fat-tree",
    source: "Zahavi 2010",
    parameters: &[],
    examples: &[""],
    build,
};

fn build(_arguments: &Arguments, topology: &dyn Topology, seed: u64) -> Result<Box<dyn Routing>, BuildError> {
    up_down::build(Climb::Destination, topology, seed)
}
