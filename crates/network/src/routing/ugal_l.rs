//! UGAL-L: minimal, or by a random place, as the two queues at the first router say.
//!
//! A packet at its first router compares the load of the outputs of its minimal way and of one random
//! detour, times the hops on each (see `detour`): `q_m H_m > q_d H_d + threshold` sends it on the detour. The
//! load of an output is what waits for it there and what of the buffers behind it is not free. In models
//! that move whole messages it is what the model knows of the links when the message starts.
//!
//! Assumes that what is full far away fills the queues here in time (backpressure), which takes as long as
//! the buffers in between are deep.
//!
//! Source: Singh, "Load-balanced routing in interconnection networks" (Stanford, 2005); Kim, Dally, Scott,
//! Abts, "Technology-driven, highly-scalable dragonfly topology" (ISCA 2008), section 4.1.

use engine::registry::{Arguments, BuildError, Entry};

use super::detour::{self, PARAMETERS, Rule};
use super::{Build, Routing};
use crate::topology::Topology;

/// The registry's line.
pub const ENTRY: Entry<Build> = Entry {
    name: "ugal-l",
    summary: "minimal or Valiant by the queues of the first router; dragonflies, slim-fly, grids (hyperx, torus, …)",
    source: "Singh 2005; Kim, Dally, Scott, Abts 2008",
    parameters: PARAMETERS,
    examples: &["", "lanes = \"least-loaded\"", "threshold = \"3 B\"", "lanes = \"pair\"\nties = \"up\""],
    build,
};

fn build(arguments: &Arguments, topology: &dyn Topology, seed: u64) -> Result<Box<dyn Routing>, BuildError> {
    detour::build(Rule::Local, arguments, topology, seed)
}
