//! S-mod-k: from level l up through port `⌊source / W_l⌋ mod (w_{l+1} p_{l+1})` of w parents, p links each.
//!
//! Source: Leiserson et al., "The network architecture of the Connection Machine CM-5" (JPDC 33(2), 1996);
//! Rodriguez et al., "Oblivious routing schemes in extended generalized fat tree networks" (HiperIO 2009).

use engine::registry::{Arguments, BuildError, Entry};

use super::up_down::{self, Climb};
use super::{Build, Routing};
use crate::topology::Topology;

/// The registry's line.
pub const ENTRY: Entry<Build> = Entry {
    name: "s-mod-k",
    summary: "up by the source's number, so that all of one host part late; fat-tree",
    source: "Rodriguez et al. 2009",
    parameters: &[],
    examples: &[""],
    build,
};

fn build(_arguments: &Arguments, topology: &dyn Topology, seed: u64) -> Result<Box<dyn Routing>, BuildError> {
    up_down::build(Climb::Source, topology, seed)
}
