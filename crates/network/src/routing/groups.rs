//! Ways through networks of groups (dragonflies, Slim Fly): minimal, or by a random place in between.
//!
//! The network says what a minimal way is, by which places detours go, and how many virtual channels keep them free of
//! deadlock: see [`crate::topology::grouped`].
//!
//! Source: Kim, Dally, Scott, Abts, "Technology-driven, highly-scalable dragonfly topology" (ISCA 2008), section 4.1.

use std::sync::Arc;

use super::{Load, Routing, Trip};
use crate::choice::Choice;
use crate::topology::Idle;
use crate::topology::grouped::{Aside, Grouped, Walk};
use crate::topology::{HostId, LinkId, Topology};

/// A routing for networks of groups.
pub(super) struct Groups {
    pub network: Arc<dyn Grouped>,
    /// True if messages between groups go by a third place.
    pub detour: bool,
    pub seed: u64,
}

impl Groups {
    /// Goes over the links between the routers of two hosts.
    fn walk(&self, trip: Trip, walk: &mut Walk) {
        let (start, end) = (self.network.router_number(trip.from), self.network.router_number(trip.to));
        if start == end {
            return;
        }
        let mut choice = Choice::new(self.seed, trip);
        let at =
            if self.detour { self.network.aside(start, end, Aside::Group, &mut choice, walk) } else { start };
        self.network.minimal(at, end, &mut choice, walk);
    }

    /// Appends the links of a route that begins its detour at its router number `turn` (the first is 1), or
    /// nowhere (0).
    pub fn turning(&self, trip: Trip, turn: u32, path: &mut Vec<LinkId>) {
        let first = path.len();
        let start = self.network.router_number(trip.from);
        self.walk(trip, &mut Walk::onto(path));
        if turn == 0 {
            return;
        }
        path.truncate(first + turn as usize - 1);
        let taken = path[first..].last();
        let at = taken.map_or(start, |link| self.network.end_of(*link));
        let mut choice = Choice::new(self.seed.wrapping_add(turn.into()), trip);
        let end = self.network.router_number(trip.to);
        let within = self.network.group_of(start) == self.network.group_of(end);
        let place = if within { Aside::Router } else { Aside::Group };
        let mut walk = Walk::onto(path);
        let at = self.network.aside(at, end, place, &mut choice, &mut walk);
        self.network.minimal(at, end, &mut choice, &mut walk);
    }
}

impl Routing for Groups {
    fn route(&self, topology: &dyn Topology, trip: Trip, _load: &dyn Load, path: &mut Vec<LinkId>) {
        path.push(topology.up(trip.from));
        self.walk(trip, &mut Walk::onto(path));
        path.push(topology.down(trip.to));
    }
    fn channels(&self, topology: &dyn Topology, path: &[LinkId], channels: &mut Vec<u8>) {
        self.network.channels(2 * topology.hosts(), path, channels);
    }
    fn channel_count(&self) -> u8 {
        self.network.reach().channels[usize::from(self.detour)]
    }
    fn longest(&self, _topology: &dyn Topology) -> u32 {
        self.network.reach().hops[usize::from(self.detour)]
    }
    fn is_adaptive(&self) -> bool {
        self.detour || self.network.spreads()
    }
    fn idle(&self, _topology: &dyn Topology, from: HostId, to: HostId) -> Idle {
        let mut walk = Walk::measuring();
        self.walk(Trip::new(from, to, 0), &mut walk);
        let (host, between) = (self.network.host_rates(), walk.idle());
        Idle { latency: host.latency * 2 + between.latency, bandwidth: host.bandwidth.min(between.bandwidth) }
    }
}
