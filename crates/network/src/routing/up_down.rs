//! Fat trees: up to a nearest common ancestor, then the only way down.
//!
//! Routes are `2 (l - 1)` router hops long for hosts that meet on level l, whatever the way up, so the
//! idle path is known per level. Up links never depend on down links: one virtual channel will do.
//! The files of the routings say how the way up (and, where links are parallel, the lane down) is chosen.

use engine::registry::BuildError;
use strength_reduce::StrengthReducedU32;

use super::{Decision, Load, Routing, RoutingState, Trip, Unloaded};
use crate::choice::Choice;
use crate::topology::Idle;
use crate::topology::fat_tree::{FatTree, Level, LevelLinks};
use crate::topology::{HostId, LinkId, Topology};

/// Choice of the parent (and parallel link) among a router's ports up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Climb {
    /// By the destination's number.
    Destination,
    /// By the source's number.
    Source,
    /// At random, by message.
    Random,
    /// The least loaded; among equals at random.
    LeastLoaded,
}

struct UpDown {
    tree: FatTree,
    climb: Climb,
    seed: u64,
}

/// A routing that climbs as `climb` says, if `topology` is a fat tree.
pub(super) fn build(
    climb: Climb,
    topology: &dyn Topology,
    seed: u64,
) -> Result<Box<dyn Routing>, BuildError> {
    let tree = topology.levelled().ok_or_else(|| {
        let reason = format!(
            "this topology has no levels; this routing fits fat-tree; here {} would do",
            topology.default_routing()
        );
        BuildError::new("kind", reason)
    })?;
    Ok(Box::new(UpDown { tree: tree.clone(), climb, seed }))
}

/// One message on its way through the tree.
struct Climber<'a> {
    routing: &'a UpDown,
    trip: Trip,
    choice: Choice,
    load: &'a dyn Load,
}

impl Climber<'_> {
    /// The number among all ports up, parallel links included, from level `level`.
    ///
    /// `⌊host / W_l⌋ mod (w_{l+1} p_{l+1})`, Zahavi's formula for parallel ports, or a random one.
    fn port(&self, level: usize, above: &LevelLinks) -> u32 {
        let ports = above.parents.get() * above.lanes.get();
        let host = match self.routing.climb {
            Climb::Destination => self.trip.to.0,
            Climb::Source => self.trip.from.0,
            // The way down asks again: each level has its own numbers.
            _ => return self.choice.at(level as u64, ports),
        };
        if ports == 1 { 0 } else { host / self.routing.tree.levels()[level].places % ports }
    }

    /// The link up from `(subtree, place)` of `level`, and its parent number.
    fn up(&self, level: usize, subtree: u32, place: u32) -> (LinkId, u32) {
        let tree = &self.routing.tree;
        let above = tree.levels()[level].above.as_ref().expect("a way up ends below the top");
        let first = self.port(level, above);
        let link = |port: u32| {
            let (parent, lane) = (port % above.parents, port / above.parents);
            (tree.up_link(level, subtree, place, parent, lane), parent)
        };
        if self.routing.climb != Climb::LeastLoaded {
            return link(first);
        }
        let ports = above.parents.get() * above.lanes.get();
        let all = (first..ports).chain(0..first).map(link);
        all.min_by_key(|(link, _)| self.load.of(*link)).expect("there is a port up")
    }

    /// The link down to `(subtree, place)` of `level` from its parent number `parent`.
    fn down(&self, level: usize, subtree: u32, place: u32, parent: u32) -> LinkId {
        let tree = &self.routing.tree;
        let above = tree.levels()[level].above.as_ref().expect("a way down begins above");
        let link = |lane| tree.reversed(level, tree.up_link(level, subtree, place, parent, lane));
        let lanes = above.lanes.get();
        if lanes == 1 {
            return link(0);
        }
        let first = self.port(level, above) / above.parents;
        if self.routing.climb != Climb::LeastLoaded {
            return link(first);
        }
        let all = (first..lanes).chain(0..first).map(link);
        all.min_by_key(|link| self.load.of(*link)).expect("there is a lane down")
    }

    /// The number within the level on which two hosts meet of the router above `from` that the numbers say,
    /// whatever the load: its digits are the parents on the way.
    fn place(&self, top: usize) -> u32 {
        let levels = self.routing.tree.levels()[..top].iter().enumerate();
        let digit = |(number, level): (usize, &Level)| {
            let above = level.above.as_ref().expect("a way up ends below the top");
            level.places.get() * (self.port(number, above) % above.parents)
        };
        levels.map(digit).sum()
    }

    /// Appends the links down from router `place` of level `top`.
    fn descend(&self, top: usize, mut place: u32, path: &mut Vec<LinkId>) {
        for (number, level) in self.routing.tree.levels()[..top].iter().enumerate().rev() {
            let (parent, low) = StrengthReducedU32::div_rem(place, level.places);
            path.push(self.down(number, self.trip.to.0 / level.hosts_below, low, parent));
            place = low;
        }
    }
}

impl UpDown {
    fn climber<'a>(&'a self, trip: Trip, load: &'a dyn Load) -> Climber<'a> {
        Climber { routing: self, trip, choice: Choice::new(self.seed, trip), load }
    }
}

impl Routing for UpDown {
    fn route(&self, topology: &dyn Topology, trip: Trip, load: &dyn Load, path: &mut Vec<LinkId>) {
        let Trip { from, to, .. } = trip;
        let top = self.tree.meeting_level(from, to);
        let climber = self.climber(trip, load);
        path.push(topology.up(from));
        let mut place = 0;
        for (number, level) in self.tree.levels()[..top].iter().enumerate() {
            let (link, parent) = climber.up(number, from.0 / level.hosts_below, place);
            path.push(link);
            place += level.places.get() * parent;
        }
        climber.descend(top, place, path);
        path.push(topology.down(to));
    }
    fn channels(&self, _topology: &dyn Topology, path: &[LinkId], channels: &mut Vec<u8>) {
        channels.clear();
        channels.resize(path.len(), 0);
    }
    fn channel_count(&self) -> u8 {
        1
    }
    fn longest(&self, topology: &dyn Topology) -> u32 {
        topology.formula().diameter.expect("fat trees know their diameter")
    }
    fn is_adaptive(&self) -> bool {
        matches!(self.climb, Climb::Random | Climb::LeastLoaded)
    }
    fn decisions(&self) -> u32 {
        if self.climb == Climb::LeastLoaded { 2 * self.tree.levels().len() as u32 } else { 0 }
    }
    fn adapt(
        &self,
        topology: &dyn Topology,
        state: &RoutingState,
        load: &dyn Load,
        path: &mut Vec<LinkId>,
    ) -> Decision {
        let RoutingState { trip, course, taken, .. } = *state;
        let Trip { from, to, .. } = trip;
        let top = self.tree.meeting_level(from, to);
        let climber = self.climber(trip, load);
        let place = course.checked_sub(1).unwrap_or_else(|| climber.place(top));
        let number = if taken as usize <= top { taken as usize - 1 } else { 2 * top - taken as usize };
        let level = &self.tree.levels()[number];
        let above = level.above.as_ref().expect("a way up ends below the top");
        let (high, low) = StrengthReducedU32::div_rem(place, level.places);
        let parent = high % above.parents;
        if taken as usize > top {
            let link = climber.down(number, to.0 / level.hosts_below, low, parent);
            return if link == state.next { Decision::Stay } else { Decision::ParallelLink(link) };
        }
        let (link, chosen) = climber.up(number, from.0 / level.hosts_below, low);
        if chosen == parent {
            return if link == state.next { Decision::Stay } else { Decision::ParallelLink(link) };
        }
        let course = 1 + place + level.places.get() * chosen - level.places.get() * parent;
        path.clear();
        self.course(topology, trip, course, path);
        path[taken as usize] = link;
        Decision::Course(course)
    }
    /// One more than the number of the router on the level where the hosts meet.
    fn course(&self, topology: &dyn Topology, trip: Trip, course: u32, path: &mut Vec<LinkId>) {
        let Trip { from, to, .. } = trip;
        let top = self.tree.meeting_level(from, to);
        let climber = self.climber(trip, &Unloaded);
        let place = course.checked_sub(1).unwrap_or_else(|| climber.place(top));
        path.push(topology.up(from));
        for (number, level) in self.tree.levels()[..top].iter().enumerate() {
            let above = level.above.as_ref().expect("a way up ends below the top");
            let (high, low) = StrengthReducedU32::div_rem(place, level.places);
            let lane = climber.port(number, above) / above.parents;
            path.push(self.tree.up_link(number, from.0 / level.hosts_below, low, high % above.parents, lane));
        }
        climber.descend(top, place, path);
        path.push(topology.down(to));
    }
    fn idle(&self, _topology: &dyn Topology, from: HostId, to: HostId) -> Idle {
        self.tree.levels()[self.tree.meeting_level(from, to)].idle
    }
}
