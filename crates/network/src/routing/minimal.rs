//! Minimal: a random one of the shortest routes that the structure offers.
//!
//! Dragonfly: local, global, local, over one of the global links between the two groups with the fewest
//! hops (a shorter way through a third group is not taken). Dragonfly+: up, across, down. Slim Fly: one hop, or two by a
//! random common neighbour. Grids: the dimensions that differ in random
//! order, each the shorter way; one segment of channels for each dimension (see `grid_channels`).
//!
//! Source: Kim, Dally, Scott, Abts 2008 (ISCA), section 4.1; Ahn, Binkert, Davis, McLaren, Schreiber,
//! "HyperX: topology, routing, and packaging of efficient large-scale networks" (SC 2009), section 3.

use engine::registry::{Arguments, BuildError, Entry};

use super::dimension_order::{LANES, TIES, Way};
use super::groups::Groups;
use super::{Build, Decision, Load, Routing, RoutingState, Trip, grid_channels};
use crate::choice::Choice;
use crate::topology::Idle;
use crate::topology::{HostId, LinkId, Topology};

/// The registry's line.
pub const ENTRY: Entry<Build> = Entry {
    name: "minimal",
    summary: "a random shortest route; dragonflies, slim-fly, and grids (hyperx, torus, …) in random order of dimensions",
    source: "Kim, Dally, Scott, Abts 2008; Ahn et al. 2009",
    parameters: &[LANES, TIES],
    examples: &["", "lanes = \"pair\"\nties = \"up\"", "lanes = \"first\"", "lanes = \"least-loaded\""],
    build,
};

fn build(arguments: &Arguments, topology: &dyn Topology, seed: u64) -> Result<Box<dyn Routing>, BuildError> {
    if let Some(network) = topology.grouped() {
        return Ok(Box::new(Groups { network, detour: false, seed }));
    }
    let way = Way::new(arguments, topology, seed)?;
    let dateline = grid_channels::needs_dateline(&way.grid, |size| size / 2);
    let long = way.grid.dimensions().iter().filter(|dimension| dimension.shape.size > 1).count();
    Ok(Box::new(MinimalGrid { way, dateline, segments: long.max(1) as u8, seed }))
}

struct MinimalGrid {
    way: Way,
    dateline: bool,
    segments: u8,
    seed: u64,
}

impl Routing for MinimalGrid {
    fn route(&self, topology: &dyn Topology, trip: Trip, load: &dyn Load, path: &mut Vec<LinkId>) {
        let Trip { from, to, .. } = trip;
        path.push(topology.up(from));
        let (grid, words) = (&self.way.grid, self.way.words(trip));
        let mut choice = Choice::new(self.seed, trip);
        let (mut at, end) = (grid.router_number(from), grid.router_number(to));
        // More than 32 dimensions of two routers do not fit into a number of routers.
        let mut differing = [0u8; 32];
        let mut count = 0;
        let (mut rest, mut rest_to) = (at, end);
        for (number, dimension) in grid.dimensions().iter().enumerate() {
            if rest % dimension.size != rest_to % dimension.size {
                differing[count] = number as u8;
                count += 1;
            }
            (rest, rest_to) = (rest / dimension.size, rest_to / dimension.size);
        }
        while count > 0 {
            let chosen = choice.below(count as u32) as usize;
            at = self.way.along(differing[chosen].into(), at, end, words, load, path);
            count -= 1;
            differing[chosen] = differing[count];
        }
        path.push(topology.down(to));
    }
    fn channels(&self, _topology: &dyn Topology, path: &[LinkId], channels: &mut Vec<u8>) {
        grid_channels::channels(&self.way.grid, self.dateline, path, channels);
    }
    fn channel_count(&self) -> u8 {
        self.segments * (1 + u8::from(self.dateline))
    }
    fn longest(&self, _topology: &dyn Topology) -> u32 {
        self.way.diameter()
    }
    fn is_adaptive(&self) -> bool {
        self.segments > 1 || self.way.parts()
    }
    fn decisions(&self) -> u32 {
        self.way.decisions()
    }
    fn adapt(
        &self,
        _topology: &dyn Topology,
        state: &RoutingState,
        load: &dyn Load,
        _path: &mut Vec<LinkId>,
    ) -> Decision {
        self.way.adapt(state.next, load)
    }
    fn idle(&self, _topology: &dyn Topology, from: HostId, to: HostId) -> Idle {
        // The order of the dimensions changes neither the number of hops in each, nor its links' rates.
        self.way.idle_hosts(from, to)
    }
}
