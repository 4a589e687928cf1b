//! Survey of a network without simulating it: counts, distances, bisection, path diversity.
//!
//! Formulas answer where a topology has them. Otherwise the graph is searched: completely as long as
//! that takes no more than a few hundred million steps, beyond that from a sample. Every value says
//! how it was found.

mod bisection;
mod diversity;

use std::fmt;

use engine::{Bandwidth, Duration};

use crate::Fabric;
use crate::routing::{Trip, Unloaded};
use crate::topology::adjacency::Adjacency;
use crate::topology::link_classes::{ClassSurvey, classes};
use crate::topology::{HostId, RouterId, Topology};

/// Method by which a value was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// By a formula that holds for all sizes.
    Formula,
    /// By looking at all there is.
    Counted,
    /// By looking at that many (routers, or pairs of hosts): a mean is near, an extreme may be missed.
    Sampled(u32),
    /// By a heuristic search: the true value is at most this.
    AtMost,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Found::Formula => f.write_str("by formula"),
            Found::Counted => f.write_str("counted"),
            Found::Sampled(number) => write!(f, "from a sample of {number}"),
            Found::AtMost => f.write_str("at most, by the best cut found"),
        }
    }
}

/// A value, and how it was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Value<T> {
    /// The value.
    pub value: T,
    /// Method by which it was found.
    pub found: Found,
}

impl<T> Value<T> {
    fn known(value: T) -> Value<T> {
        Value { value, found: Found::Formula }
    }
}

/// Number of ways between two routers that have hosts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Diversity {
    /// Edge-disjoint shortest paths: the least over the sampled pairs.
    pub least: u32,
    /// The mean over the sampled pairs.
    pub mean: f64,
    /// Pairs of routers looked at.
    pub pairs: u32,
}

/// Routes on the idle network, from a sample of pairs of hosts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Routed {
    /// Mean hops between routers.
    pub mean_hops: f64,
    /// Most hops seen.
    pub most_hops: u32,
    /// Least idle latency seen.
    pub latency_min: Duration,
    /// Mean idle latency.
    pub latency_mean: Duration,
    /// Most idle latency seen.
    pub latency_max: Duration,
    /// Pairs of hosts looked at.
    pub pairs: u32,
    /// Virtual channels that keep the routing free of deadlock.
    pub channels: u8,
}

/// Properties of a network.
#[derive(Debug, Clone, PartialEq)]
pub struct Survey {
    /// Number of hosts.
    pub hosts: u64,
    /// Number of routers.
    pub routers: u64,
    /// Number of directed links, those of the hosts included.
    pub links: u64,
    /// The links by class.
    pub classes: Vec<ClassSurvey>,
    /// Most hops between the routers of two hosts; from a sample, at least this.
    pub diameter: Value<u32>,
    /// Mean hops over all ordered pairs of different hosts; `None` with a single host.
    pub mean_hops: Option<Value<f64>>,
    /// Bandwidth one way between two halves of the hosts, which an estimate takes as even as whole routers
    /// allow (up to the hosts of one router); `None` where one router has all of them.
    pub bisection: Option<Value<Bandwidth>>,
    /// Bandwidth that half of the hosts can send at once, those of the smaller half where the halves are uneven: a network
    /// whose bisection is as much is "full".
    pub half_of_hosts: Bandwidth,
    /// Ways between routers; `None` where one router has all hosts.
    pub diversity: Option<Diversity>,
    /// Routes of the fabric's routing; `None` with a single host.
    pub routed: Option<Routed>,
}

/// Steps that a search may take, beyond which it samples.
const WORK: u64 = 300_000_000;

/// Bandwidth of the best cut that a search finds, where it parts the hosts evenly: no formula may be above it.
pub fn searched_bisection(topology: &dyn Topology) -> Option<Bandwidth> {
    let (rate, hosts) = bisection::estimate(topology, &Adjacency::of(topology))?;
    (2 * hosts == u64::from(topology.hosts())).then(|| Bandwidth::from_f64(rate))
}

/// Looks at the network; takes seconds for the largest.
pub fn survey(fabric: &Fabric) -> Survey {
    let topology = &*fabric.topology;
    let formula = topology.formula();
    let adjacency = Adjacency::of(topology);
    let distances = Distances::of(fabric, &adjacency);
    let planes = f64::from(topology.planes());
    let (bisection, half) = match formula.bisection {
        Some(known) => (Some(Value::known(known)), formula.hosts / 2),
        None => match bisection::estimate(topology, &adjacency) {
            None => (None, formula.hosts / 2),
            Some((rate, hosts)) => {
                (Some(Value { value: Bandwidth::from_f64(rate * planes), found: Found::AtMost }), hosts)
            }
        },
    };
    let host_rate = topology.whole_link(topology.up(HostId(0))).bandwidth.as_f64();
    let searched = distances.found;
    let diameter = formula.diameter.map_or(Value { value: distances.most, found: searched }, Value::known);
    let mean_hops = formula.mean_hops.map_or(Value { value: distances.mean, found: searched }, Value::known);
    Survey {
        hosts: formula.hosts,
        routers: formula.routers,
        links: formula.links,
        classes: classes(topology),
        diameter,
        mean_hops: (formula.hosts > 1).then_some(mean_hops),
        bisection,
        half_of_hosts: Bandwidth::from_f64(host_rate * half as f64 * planes),
        diversity: diversity::sample(&adjacency, WORK),
        routed: routed(fabric),
    }
}

/// Hops between the routers of hosts, by search.
struct Distances {
    most: u32,
    mean: f64,
    found: Found,
}

impl Distances {
    /// Only searched where a formula is missing.
    fn of(fabric: &Fabric, adjacency: &Adjacency) -> Distances {
        let topology = &*fabric.topology;
        let formula = topology.formula();
        if formula.diameter.is_some() && (formula.mean_hops.is_some() || formula.hosts < 2) {
            return Distances { most: 0, mean: 0.0, found: Found::Formula };
        }
        let with_hosts: Vec<u32> =
            (0..adjacency.routers()).filter(|router| adjacency.has_hosts(*router)).collect();
        let each = u64::from(topology.links()) + u64::from(topology.routers());
        let most_sources = (WORK / each).clamp(1, with_hosts.len() as u64);
        let step = with_hosts.len() as u64 / most_sources;
        let sources: Vec<u32> = with_hosts.iter().copied().step_by(step as usize).collect();
        let (mut most, mut hops, mut pairs) = (0, 0.0, 0.0);
        for source in &sources {
            let here = topology.hosts_of(RouterId(*source)).len() as f64;
            let distances = adjacency.distances([*source]);
            for router in &with_hosts {
                let distance = distances[*router as usize];
                let there = topology.hosts_of(RouterId(*router)).len() as f64;
                most = most.max(distance);
                hops += here * there * f64::from(distance);
                pairs += here * (there - f64::from(u32::from(router == source)));
            }
        }
        let found = match sources.len() {
            all if all == with_hosts.len() => Found::Counted,
            some => Found::Sampled(some as u32),
        };
        Distances { most, mean: hops / pairs, found }
    }
}

const ROUTED_PAIRS: u64 = 20_000;

fn routed(fabric: &Fabric) -> Option<Routed> {
    let hosts = u64::from(fabric.topology.hosts());
    if hosts < 2 {
        return None;
    }
    let all = hosts * (hosts - 1);
    let pairs = all.min(ROUTED_PAIRS);
    let (mut path, mut hops, mut most) = (Vec::new(), 0, 0);
    let (mut least, mut sum, mut longest) = (Duration(u64::MAX), 0.0, Duration::ZERO);
    for number in 0..pairs {
        // Even steps through all ordered pairs.
        let pair = (u128::from(number) * u128::from(all) / u128::from(pairs)) as u64;
        let (from, to) = (pair / (hosts - 1), pair % (hosts - 1));
        let to = to + u64::from(to >= from);
        let (from, to) = (HostId(from as u32), HostId(to as u32));
        fabric.route(Trip::new(from, to, number), &Unloaded, &mut path);
        hops += path.len() as u64 - 2;
        most = most.max(path.len() as u32 - 2);
        let latency: Duration = path.iter().map(|link| fabric.topology.link(*link).latency).sum();
        (least, longest) = (least.min(latency), longest.max(latency));
        sum += latency.seconds();
    }
    Some(Routed {
        mean_hops: hops as f64 / pairs as f64,
        most_hops: most,
        latency_min: least,
        latency_mean: Duration::from_seconds(sum / pairs as f64),
        latency_max: longest,
        pairs: pairs as u32,
        channels: fabric.routing.channel_count(),
    })
}
