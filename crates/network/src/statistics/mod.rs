//! Statistics over time: what went over links and stood in buffers in each period, how long messages took,
//! and which packets stayed too long.
//!
//! ```text
//! throughput   bytes on the wire, headers included / (period · links)
//! efficiency   payload bytes / (period · bandwidth of the links)
//! waiting      from a packet's request for a link (its router's pipeline is behind it; at a NIC, the
//!              process has it ready) until the link is granted
//! stall        a link is idle, has requests that nothing else holds up, and none of them has credit
//! occupancy    bytes · time in a buffer / period: a packet counts whole from its request until its tail
//!              has left
//! residence    from the arrival of a packet's head at a router until its tail has left it
//! latency      of a message, from its injection to its delivery; copies within a host are left out
//! ```
//!
//! All is counted in whole numbers. A stretch over several periods is split by time: of n bytes sent in
//! `[b, e)`, `⌊n (t − b) / (e − b)⌋` have left by t. A packet and its wait count where its transmission
//! begins, a message where it is delivered. So sums over periods are exact totals, whatever the periods.
//!
//! Bounded: at most [`Options::periods`] periods, whose length doubles when they run out, and at most
//! [`Options::rows`] rows by place, for which places are put together, and periods made longer.
//!
//! Source: Miwa et al., "NSIM" (IEICE Trans. Inf. & Syst. E94-D(12), 2011), 3.2 and Figures 8 and 9.

mod latency;
mod observer;
mod periods;
mod regions;
mod slow;
mod traffic;

use engine::{Duration, Time};
use serde::{Deserialize, Serialize};

pub use latency::Latencies;
pub use observer::StatisticsObserver;
pub use periods::{ByPeriod, Periods};
pub use regions::{MOST_REGIONS, Region, Regions};
pub use slow::{SlowPacket, SlowPackets};
pub use traffic::{Held, Row, Sent, Traffic};

use crate::topology::Topology;

/// Detail in which traffic is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// By class of link (direction on grids, level on trees) and virtual channel, and by [`Regions`].
    Classes,
    /// By link, too, or by router: see [`Places`].
    Links,
    /// By virtual channel of each link, too, or more coarsely.
    Channels,
}

/// Options of statistics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Detail in which traffic is kept.
    pub detail: Detail,
    /// The length of the first period, which may double; above 0.
    pub period: Duration,
    /// The most periods; 2 or more.
    pub periods: u32,
    /// The most rows by place.
    pub rows: u32,
    /// Residence in a buffer above which a packet is slow.
    pub residence: Duration,
    /// The most slow packets that are listed.
    pub slow_packets: u32,
}

/// Kind of place: the finest that was asked for, for which the rows are enough for [`LEAST_PERIODS`] periods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Places {
    /// A virtual channel of a link, numbered `link · channels + channel`.
    Channels,
    /// A link.
    Links,
    /// A router: the links that leave it and those of its hosts that lead to it, the buffers in it.
    Routers,
}

/// Places are put together where there would be fewer periods.
pub const LEAST_PERIODS: u32 = 16;

impl Options {
    /// Kind of the places on `topology`, and their number; `None` if they are not kept, or too many.
    pub fn places(&self, topology: &dyn Topology, channels: u32) -> Option<(Places, u32)> {
        if self.detail == Detail::Classes {
            return None;
        }
        let lanes = topology.links().checked_mul(channels).filter(|_| self.detail == Detail::Channels);
        let lanes = lanes.map(|lanes| (Places::Channels, lanes));
        let links = (Places::Links, topology.links());
        let mut all = lanes.into_iter().chain([links, (Places::Routers, topology.routers())]);
        all.find(|(_, count)| u64::from(*count) * u64::from(LEAST_PERIODS) <= u64::from(self.rows))
    }

    /// Periods for a table of so many groups, of which [`LEAST_PERIODS`] fit into the rows.
    pub fn periods_of(&self, groups: u32) -> u32 {
        self.periods.min(self.rows / groups.max(1)).max(2)
    }
}

/// Statistics of a run, or of one part of its network.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Statistics {
    /// By class of link and virtual channel: group `class · channels + channel`.
    pub classes: Traffic,
    /// By region: the groups are the numbers of [`Regions`] of `rows`; its periods may be longer.
    pub regions: Traffic,
    /// The most rows by region, and by place.
    pub rows: u32,
    /// Kind of the groups of `by_place`.
    pub places: Option<Places>,
    /// By place; its periods may be longer.
    pub by_place: Option<Traffic>,
    /// Virtual channels of a link.
    pub channels: u32,
    /// True if packets have crossed to buffers of outputs.
    pub output_buffers: bool,
    /// Latencies of messages, by period.
    pub latency: Periods<Vec<Latencies>>,
    /// Packets that stayed too long.
    pub slow: SlowPackets,
    /// Up to when.
    pub until: Time,
}

impl Statistics {
    /// With what was kept of another part of the network, up to the same time.
    pub fn and(mut self, other: Statistics) -> Statistics {
        self.classes.absorb(&other.classes);
        self.regions.absorb(&other.regions);
        if let (Some(all), Some(more)) = (&mut self.by_place, &other.by_place) {
            all.absorb(more);
        }
        self.output_buffers |= other.output_buffers;
        self.latency.absorb(other.latency);
        self.slow.absorb(other.slow);
        self.until = self.until.max(other.until);
        self
    }

    /// Latencies of all messages.
    pub fn latencies(&self) -> Latencies {
        let mut all = Latencies::default();
        self.latency.kept().iter().for_each(|period| all.add(period));
        all
    }
}
