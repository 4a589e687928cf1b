//! Valiant: to a random place first, then on to the destination, so that no pattern is bad.
//!
//! Grids: dimension order to a random router, then dimension order to the destination; two segments of
//! channels (see `grid_channels`). Slim Fly: minimal to a random router, then minimal. Dragonflies: minimal to a random third group, then minimal. Messages
//! within a router, or within a group of a dragonfly, take no detour. At most twice the diameter; on
//! dragonflies 5 hops, on a Dragonfly+ 6.
//!
//! Source: Valiant and Brebner, "Universal schemes for parallel communication" (STOC 1981); Kim, Dally,
//! Scott, Abts 2008 (ISCA), section 4.1.

use engine::registry::{Arguments, BuildError, Entry};

use super::dimension_order::{LANES, TIES, Way};
use super::groups::Groups;
use super::{Build, Decision, Load, Routing, RoutingState, Trip, grid_channels};
use crate::choice::Choice;
use crate::topology::Idle;
use crate::topology::{HostId, LinkId, Topology};

/// The registry's line.
pub const ENTRY: Entry<Build> = Entry {
    name: "valiant",
    summary: "through a random router (grids, slim-fly) or group (dragonflies)",
    source: "Valiant and Brebner 1981; Kim, Dally, Scott, Abts 2008",
    parameters: &[LANES, TIES],
    examples: &["", "lanes = \"pair\"\nties = \"up\"", "lanes = \"first\"", "lanes = \"least-loaded\""],
    build,
};

fn build(arguments: &Arguments, topology: &dyn Topology, seed: u64) -> Result<Box<dyn Routing>, BuildError> {
    if let Some(network) = topology.grouped() {
        return Ok(Box::new(Groups { network, detour: true, seed }));
    }
    let way = Way::new(arguments, topology, seed)?;
    let dateline = grid_channels::needs_dateline(&way.grid, |size| size);
    Ok(Box::new(ValiantGrid { way, dateline, seed }))
}

struct ValiantGrid {
    way: Way,
    dateline: bool,
    seed: u64,
}

impl ValiantGrid {
    /// The routers at the start, in between, and at the end.
    fn stations(&self, trip: Trip) -> [u32; 3] {
        let grid = &self.way.grid;
        let (start, end) = (grid.router_number(trip.from), grid.router_number(trip.to));
        let between = Choice::new(self.seed, trip).at(1, grid.routers());
        [start, if start == end { end } else { between }, end]
    }
}

impl Routing for ValiantGrid {
    fn route(&self, topology: &dyn Topology, trip: Trip, load: &dyn Load, path: &mut Vec<LinkId>) {
        path.push(topology.up(trip.from));
        let words = self.way.words(trip);
        let [start, between, end] = self.stations(trip);
        self.way.walk(start, between, words, load, path);
        self.way.walk(between, end, words, load, path);
        path.push(topology.down(trip.to));
    }
    fn channels(&self, _topology: &dyn Topology, path: &[LinkId], channels: &mut Vec<u8>) {
        grid_channels::channels(&self.way.grid, self.dateline, path, channels);
    }
    fn channel_count(&self) -> u8 {
        2 * (1 + u8::from(self.dateline))
    }
    fn longest(&self, _topology: &dyn Topology) -> u32 {
        2 * self.way.diameter()
    }
    fn is_adaptive(&self) -> bool {
        true
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
        let trip = Trip::new(from, to, 0);
        let words = self.way.words(trip);
        let [start, between, end] = self.stations(trip);
        let (first, second) = (self.way.idle(start, between, words), self.way.idle(between, end, words));
        self.way.with_hosts(Idle {
            latency: first.latency + second.latency,
            bandwidth: first.bandwidth.min(second.bandwidth),
        })
    }
}
