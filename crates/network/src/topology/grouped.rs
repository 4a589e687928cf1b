//! Groups: the capability of networks of a few hops between any two routers, which routings with detours use.
//!
//! Routers belong to groups (of a dragonfly, of racks), each of which is one [`super::Topology::unit`]. The network knows
//! its minimal ways and the random places by which detours go; the routings know when to take one.
//!
//! Virtual channels ascend along every route. Within a channel, links have an order ([`Grouped::order_of`]): a link that
//! would not come later in it than the link before, and all links after it, are on the next channel. So packets never wait
//! for each other in a circle, whatever the ways are; the fewer links break the order, the fewer channels are needed.
//!
//! Source: Dally and Seitz, "Deadlock-free message routing in multiprocessor interconnection networks" (IEEE ToC C-36(5),
//! 1987): channels in a total order that every route ascends.

use engine::{Bandwidth, Duration};

use super::{HostId, LinkId, Rates};
use crate::choice::Choice;
use crate::topology::Idle;

/// Receiver of the links of a way, in order: keeps them, or only what an idle network offers on them.
#[derive(Debug)]
pub struct Walk<'a> {
    links: Option<&'a mut Vec<LinkId>>,
    idle: Idle,
}

impl<'a> Walk<'a> {
    /// Appends links to `links`.
    pub fn onto(links: &'a mut Vec<LinkId>) -> Walk<'a> {
        Walk { links: Some(links), ..Walk::measuring() }
    }
    /// Only adds up.
    pub fn measuring() -> Walk<'a> {
        Walk { links: None, idle: Idle { latency: Duration::ZERO, bandwidth: Bandwidth::INFINITE } }
    }
    /// Goes over a link, which has these rates.
    #[inline]
    pub fn link(&mut self, link: LinkId, rates: Rates) {
        self.idle.latency += rates.latency;
        self.idle.bandwidth = self.idle.bandwidth.min(rates.bandwidth);
        if let Some(links) = &mut self.links {
            links.push(link);
        }
    }
    /// Latency and bandwidth of the links so far on an idle network.
    pub fn idle(&self) -> Idle {
        self.idle
    }
}

/// The kind of place by which a detour goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aside {
    /// A third group; networks that do not care for groups take any router.
    Group,
    /// A router of the same group.
    Router,
}

/// Bounds of the ways of a network: hops between routers, and virtual channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reach {
    /// Most hops of a minimal way, and of one with a detour from its first router on.
    pub hops: [u32; 2],
    /// Virtual channels of minimal ways, of those with a detour, and of those where it may begin at a later router.
    pub channels: [u8; 3],
    /// Routers of a minimal way, beside the first, at which a detour may begin.
    pub later: u32,
}

/// See above. Routers go by their numbers.
pub trait Grouped: Send + Sync {
    /// Number of groups.
    fn groups(&self) -> u32;
    /// The group of a router.
    fn group_of(&self, router: u32) -> u32;
    /// The router of a host.
    fn router_number(&self, host: HostId) -> u32;
    /// Rates of the hosts' links.
    fn host_rates(&self) -> Rates;
    /// Checks that a link between routers connects two groups.
    fn is_global(&self, link: LinkId) -> bool;
    /// The router at the end of a link between routers.
    fn end_of(&self, link: LinkId) -> u32;
    /// Place of a link between routers in the order within a virtual channel.
    fn order_of(&self, link: LinkId) -> u8;
    /// Bounds of its ways.
    fn reach(&self) -> Reach;
    /// Checks that messages with equal ends may go different minimal ways.
    fn spreads(&self) -> bool;

    /// Goes a minimal way from router `at` to router `end`.
    fn minimal(&self, at: u32, end: u32, choice: &mut Choice, walk: &mut Walk);

    /// Goes to a random place off the minimal way from `at` to `end`, and gives the router where it arrives: `at` where
    /// there is no such place.
    fn aside(&self, at: u32, end: u32, place: Aside, choice: &mut Choice, walk: &mut Walk) -> u32;

    /// Writes the virtual channel of each link of `path`, a route between two hosts, whose own links are below `first`.
    fn channels(&self, first: u32, path: &[LinkId], channels: &mut Vec<u8>) {
        channels.clear();
        let (mut channel, mut before) = (0, None);
        for link in path {
            if link.0 < first {
                channels.push(0);
                continue;
            }
            let order = self.order_of(*link);
            channel += u8::from(before.is_some_and(|before| order <= before));
            before = Some(order);
            channels.push(channel);
        }
    }
}

/// A random number below `count`, but for two that are taken (equal ones count once).
pub(super) fn other_than(taken: [u32; 2], count: u32, choice: &mut Choice) -> u32 {
    let [low, high] = [taken[0].min(taken[1]), taken[0].max(taken[1])];
    let mut other = choice.below(count - if low == high { 1 } else { 2 });
    other += u32::from(other >= low);
    other + u32::from(low != high && other >= high)
}
