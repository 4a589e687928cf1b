//! Dragonflies: local, global, local; with or without a detour through a random group, or router.
//!
//! Channels ascend along every route: the local links of the n-th group are on channel n, and so is the global link that
//! leaves it. Within a channel, links have an order: rows, columns, global links. A route takes them in that order, so
//! that no packets wait for each other in a circle; a link that would break the order, and all after it, are on the next
//! channel. That makes 2 channels for minimal routes, 3 for those with a detour, and one more where a detour may begin
//! at a later router.
//!
//! Source: Kim, Dally, Scott, Abts, "Technology-driven, highly-scalable dragonfly topology" (ISCA 2008).

use super::choice::Choice;
use super::{Load, Routing};
use crate::fabric::Idle;
use crate::topology::dragonfly::Dragonfly;
use crate::topology::{HostId, LinkId, Rates, Topology};

/// A routing for dragonflies.
pub(super) struct Groups {
    pub dragonfly: Dragonfly,
    /// True if messages between groups go through a third one.
    pub detour: bool,
    pub seed: u64,
}

/// Receiver of the links of a route, in order.
trait Way {
    /// The link, which has these rates.
    fn link(&mut self, link: LinkId, rates: Rates);
}

impl Way for Vec<LinkId> {
    fn link(&mut self, link: LinkId, _rates: Rates) {
        self.push(link);
    }
}

impl Way for Idle {
    fn link(&mut self, _link: LinkId, rates: Rates) {
        self.latency += rates.latency;
        self.bandwidth = self.bandwidth.min(rates.bandwidth);
    }
}

impl Groups {
    /// Tells `way` the links between the routers of two hosts.
    fn walk(&self, from: HostId, to: HostId, key: u64, way: &mut impl Way) {
        let dragonfly = &self.dragonfly;
        let (start, end) = (dragonfly.router_number(from), dragonfly.router_number(to));
        if start == end {
            return;
        }
        let mut choice = Choice::new(self.seed, from, to, key);
        let at = if self.detour { self.through_group(start, end, &mut choice, way) } else { start };
        self.home(at, end, &mut choice, way);
    }

    /// Goes to a third group, if `end` is in another group and there is a third; gives the router at which it arrives.
    fn through_group(&self, at: u32, end: u32, choice: &mut Choice, way: &mut impl Way) -> u32 {
        let dragonfly = &self.dragonfly;
        let (group, target) = (dragonfly.place(at).0, dragonfly.place(end).0);
        if group == target || dragonfly.groups() < 3 {
            return at;
        }
        // One of the other groups: skip the two that are taken, the lower first.
        let mut between = choice.below(dragonfly.groups() - 2);
        between += u32::from(between >= group.min(target));
        between += u32::from(between >= group.max(target));
        self.cross(at, between, None, choice, way)
    }

    /// Goes to a third router of the group, if there is one, and gives it.
    fn through_router(&self, at: u32, end: u32, choice: &mut Choice, way: &mut impl Way) -> u32 {
        let dragonfly = &self.dragonfly;
        let ((_, number), (_, target)) = (dragonfly.place(at), dragonfly.place(end));
        let size = dragonfly.group_size();
        if number == target || size < 3 {
            return at;
        }
        let mut between = choice.below(size - 2);
        between += u32::from(between >= number.min(target));
        between += u32::from(between >= number.max(target));
        let router = at - number + between;
        self.local(at, router, choice, way);
        router
    }

    /// Goes the minimal way to `end`.
    fn home(&self, mut at: u32, end: u32, choice: &mut Choice, way: &mut impl Way) {
        let target = self.dragonfly.place(end).0;
        if self.dragonfly.place(at).0 != target {
            at = self.cross(at, target, Some(end), choice, way);
        }
        self.local(at, end, choice, way);
    }

    /// Appends the links of a route that begins its detour at its router number `turn` (the first is 1), or
    /// nowhere (0).
    pub fn turning(&self, from: HostId, to: HostId, key: u64, turn: u32, path: &mut Vec<LinkId>) {
        let first = path.len();
        let start = self.dragonfly.router_number(from);
        self.walk(from, to, key, path);
        if turn == 0 {
            return;
        }
        path.truncate(first + turn as usize - 1);
        let taken = path[first..].last();
        let at = taken.map_or(start, |link| self.dragonfly.end_of(*link));
        let mut choice = Choice::new(self.seed.wrapping_add(turn.into()), from, to, key);
        let end = self.dragonfly.router_number(to);
        let group = |router| self.dragonfly.place(router).0;
        let at = if group(start) == group(end) {
            self.through_router(at, end, &mut choice, path)
        } else {
            self.through_group(at, end, &mut choice, path)
        };
        self.home(at, end, &mut choice, path);
    }

    /// Goes to group `target`, over one of the links that make the way to `end` shortest; says where it lands.
    fn cross(&self, at: u32, target: u32, end: Option<u32>, choice: &mut Choice, way: &mut impl Way) -> u32 {
        let group = self.dragonfly.place(at).0;
        let hops = |copy: u32| {
            let (_, gate, landing) = self.dragonfly.global_link(group, target, copy);
            self.dragonfly.local_hops(at, gate) + end.map_or(0, |end| self.dragonfly.local_hops(landing, end))
        };
        let copies = self.dragonfly.copies();
        let mut copy = 0;
        if copies > 1 {
            let least = (0..copies).map(hops).min().expect("two groups are linked");
            let equals = (0..copies).filter(|copy| hops(*copy) == least).count() as u32;
            let chosen = choice.below(equals) as usize;
            copy = (0..copies).filter(|copy| hops(*copy) == least).nth(chosen).expect("it was counted");
        }
        let (link, gate, landing) = self.dragonfly.global_link(group, target, copy);
        self.local(at, gate, choice, way);
        way.link(link, self.dragonfly.global);
        landing
    }

    fn local(&self, mut at: u32, end: u32, choice: &mut Choice, way: &mut impl Way) {
        let dragonfly = &self.dragonfly;
        while at != end {
            let (next, is_row) = dragonfly.local_step(at, end);
            let lane = choice.below(dragonfly.lanes(is_row));
            let rates = if is_row { dragonfly.local } else { dragonfly.column };
            way.link(dragonfly.local_link(at, next, lane), rates);
            at = next;
        }
    }
}

impl Routing for Groups {
    fn route(
        &self,
        topology: &dyn Topology,
        from: HostId,
        to: HostId,
        key: u64,
        _load: &dyn Load,
        path: &mut Vec<LinkId>,
    ) {
        path.push(topology.up(from));
        self.walk(from, to, key, path);
        path.push(topology.down(to));
    }
    fn channels(&self, topology: &dyn Topology, path: &[LinkId], channels: &mut Vec<u8>) {
        channels.clear();
        let (mut channel, mut before) = (0, None);
        for link in path {
            if link.0 < 2 * topology.hosts() {
                channels.push(0);
                continue;
            }
            let order = self.dragonfly.order_of(*link);
            channel += u8::from(before.is_some_and(|before| order <= before));
            before = Some(order);
            channels.push(channel);
        }
    }
    fn channel_count(&self) -> u8 {
        if self.detour { 3 } else { 2 }
    }
    fn longest(&self, _topology: &dyn Topology) -> u32 {
        let local = self.dragonfly.local_diameter();
        if self.detour { 3 * local + 2 } else { 2 * local + 1 }
    }
    fn is_adaptive(&self) -> bool {
        self.detour
            || self.dragonfly.copies() > 1
            || self.dragonfly.lanes(true).max(self.dragonfly.lanes(false)) > 1
    }
    fn idle(&self, _topology: &dyn Topology, from: HostId, to: HostId) -> Idle {
        let host = self.dragonfly.host;
        let mut idle = Idle { latency: host.latency * 2, bandwidth: host.bandwidth };
        self.walk(from, to, 0, &mut idle);
        idle
    }
}
