//! Adaptive detours: minimal or Valiant, as the queues say. What the routings that choose so share.
//!
//! ```text
//! detour   if   q_m H_m > q_d H_d + threshold
//! ```
//!
//! with q the load ahead of a packet on its minimal way (m) and on one by a random place (d), and H the hops
//! left on each. On dragonflies the minimal way is `minimal`'s and the detour `valiant`'s, by a third group,
//! where the packet is in the group that it comes from; between routers of one group the detour goes by a third router
//! of the group, as on Cray's Aries (Faanes et al., "Cray Cascade", SC 2012); on grids they are dimension order, and dimension
//! order to a random router and from there. A packet that has begun a detour ends it.
//!
//! Channels: those of the most segments that a way can have, see `groups` and `grid_channels`.

use engine::Bytes;
use engine::registry::{Arguments, BuildError, Kind, Parameter};

use super::dimension_order::{LANES, TIES, Way};
use super::groups::Groups;
use super::{Decision, Load, Routing, RoutingState, Trip, Unloaded, Visibility, decide_ahead, grid_channels};
use crate::choice::Choice;
use crate::topology::Idle;
use crate::topology::{HostId, LinkId, Topology};

/// Number of all of them.
pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "threshold",
        kind: Kind::Size,
        default: Some("\"0 B\""),
        summary: "a detour needs so much more on the minimal way, hops times bytes",
    },
    LANES,
    TIES,
];

/// Load that counts, and when it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    /// That of the next link, at the first router.
    Local,
    /// The most on the way within the group, at the first router.
    Global,
    /// That of the next link, at every router while the packet is on its minimal way.
    Progressive,
}

/// A network with two ways between hosts.
enum Ways {
    Groups(Groups),
    Grid { way: Way, seed: u64, dateline: bool },
}

struct Detour {
    ways: Ways,
    rule: Rule,
    threshold: Bytes,
}

/// A routing that takes detours as `rule` says.
pub(super) fn build(
    rule: Rule,
    arguments: &Arguments,
    topology: &dyn Topology,
    seed: u64,
) -> Result<Box<dyn Routing>, BuildError> {
    let threshold = arguments.size("threshold").unwrap_or(Bytes(0));
    let ways = if let Some(network) = topology.grouped() {
        Ways::Groups(Groups { network, detour: false, seed })
    } else {
        let way = Way::new(arguments, topology, seed)?;
        let dateline = grid_channels::needs_dateline(&way.grid, |size| size);
        Ways::Grid { way, seed, dateline }
    };
    Ok(Box::new(Detour { ways, rule, threshold }))
}

impl Detour {
    /// At how many routers a detour can begin.
    fn turns(&self) -> u32 {
        match (&self.ways, self.rule) {
            (_, Rule::Local | Rule::Global) => 1,
            (Ways::Groups(groups), Rule::Progressive) => 1 + groups.network.reach().later,
            (Ways::Grid { way, .. }, Rule::Progressive) => way.diameter().max(1),
        }
    }

    /// Number of minimal stretches of the longest way through a grid.
    fn stretches(&self) -> u32 {
        if self.rule == Rule::Progressive { 3 } else { 2 }
    }

    /// The load ahead of a packet that has `taken` links of `path`.
    fn ahead(&self, path: &[LinkId], taken: u32, load: &dyn Load) -> u64 {
        let ahead = &path[taken as usize..path.len() - 1];
        if self.rule != Rule::Global {
            return ahead.first().map_or(0, |next| load.of(*next));
        }
        let within = match &self.ways {
            Ways::Groups(groups) => {
                let gate = ahead.iter().position(|link| groups.network.is_global(*link));
                &ahead[..gate.map_or(ahead.len(), |gate| gate + 1)]
            }
            Ways::Grid { .. } => ahead,
        };
        within.iter().map(|link| load.of(*link)).max().unwrap_or(0)
    }

    /// True if a detour that begins here is better; if so it is in `path`.
    fn turns_aside(
        &self,
        topology: &dyn Topology,
        state: &RoutingState,
        load: &dyn Load,
        path: &mut Vec<LinkId>,
    ) -> bool {
        let RoutingState { trip, taken, .. } = *state;
        let minimal = if self.rule == Rule::Global {
            path.clear();
            self.course(topology, trip, 0, path);
            self.ahead(path, taken, load)
        } else {
            load.of(state.next)
        };
        let minimal = minimal * u64::from(state.hops_left());
        if minimal <= self.threshold.0 {
            return false;
        }
        path.clear();
        self.course(topology, trip, taken, path);
        let hops = path.len() as u64 - 1 - u64::from(taken);
        minimal > self.ahead(path, taken, load) * hops + self.threshold.0
    }
}

impl Routing for Detour {
    fn route(&self, topology: &dyn Topology, trip: Trip, load: &dyn Load, path: &mut Vec<LinkId>) {
        decide_ahead(self, topology, trip, load, path);
    }
    fn channels(&self, topology: &dyn Topology, path: &[LinkId], channels: &mut Vec<u8>) {
        match &self.ways {
            Ways::Groups(groups) => groups.channels(topology, path, channels),
            Ways::Grid { way, dateline, .. } => {
                grid_channels::channels(&way.grid, *dateline, path, channels);
            }
        }
    }
    fn channel_count(&self) -> u8 {
        match &self.ways {
            Ways::Groups(groups) => {
                groups.network.reach().channels[1 + usize::from(self.rule == Rule::Progressive)]
            }
            Ways::Grid { dateline, .. } => self.stretches() as u8 * (1 + u8::from(*dateline)),
        }
    }
    fn longest(&self, _topology: &dyn Topology) -> u32 {
        match &self.ways {
            Ways::Groups(groups) => self.turns() - 1 + groups.network.reach().hops[1],
            Ways::Grid { way, .. } => self.stretches() * way.diameter(),
        }
    }
    fn is_adaptive(&self) -> bool {
        true
    }
    fn decisions(&self) -> u32 {
        let lanes = if let Ways::Grid { way, .. } = &self.ways { way.decisions() } else { 0 };
        self.turns().max(lanes)
    }
    fn visibility(&self) -> Visibility {
        match (self.rule, &self.ways) {
            (Rule::Local | Rule::Progressive, _) => Visibility::Router,
            (Rule::Global, Ways::Groups(_)) => Visibility::Group,
            (Rule::Global, Ways::Grid { .. }) => Visibility::Network,
        }
    }
    fn adapt(
        &self,
        topology: &dyn Topology,
        state: &RoutingState,
        load: &dyn Load,
        path: &mut Vec<LinkId>,
    ) -> Decision {
        let undecided = state.course == 0 && state.taken <= self.turns();
        let aside = undecided && self.turns_aside(topology, state, load, path);
        let next = if aside { path[state.taken as usize] } else { state.next };
        let turn = match &self.ways {
            Ways::Grid { way, .. } => way.adapt(next, load),
            Ways::Groups(_) => Decision::Stay,
        };
        if !aside {
            return turn;
        }
        if let Decision::ParallelLink(link) = turn {
            path[state.taken as usize] = link;
        }
        Decision::Course(state.taken)
    }
    fn course(&self, topology: &dyn Topology, trip: Trip, course: u32, path: &mut Vec<LinkId>) {
        let Trip { from, to, .. } = trip;
        path.push(topology.up(from));
        match &self.ways {
            Ways::Groups(groups) => groups.turning(trip, course, path),
            Ways::Grid { way, seed, .. } => {
                let words = way.words(trip);
                let (mut at, end) = (way.grid.router_number(from), way.grid.router_number(to));
                way.walk(at, end, words, &Unloaded, path);
                if course > 0 && at != end {
                    path.truncate(course as usize);
                    at = if course > 1 { way.grid.hop(path[path.len() - 1]).to } else { at };
                    let place = Choice::new(*seed, trip).at(course.into(), way.grid.routers());
                    way.walk(at, place, words, &Unloaded, path);
                    way.walk(place, end, words, &Unloaded, path);
                }
            }
        }
        path.push(topology.down(to));
    }
    fn idle(&self, topology: &dyn Topology, from: HostId, to: HostId) -> Idle {
        match &self.ways {
            Ways::Groups(groups) => groups.idle(topology, from, to),
            Ways::Grid { way, .. } => way.idle_hosts(from, to),
        }
    }
}
