//! Energy to solution, by cause.
//!
//! ```text
//! hosts idle     = hosts with a rank · host_idle · makespan
//! computing      = power that a computing process adds · time that ranks compute
//! communication  = power that a waiting process adds · time that ranks are in MPI calls
//! routers, links = (routers · router, ports · router_port) · makespan
//! bytes moved    = bytes · energy per byte, for each link, router and NIC that they pass
//! ```
//!
//! Assumes that power is linear in the number of busy processes, that routers and links take the same power whatever
//! passes, and that a rank that sleeps or has finished leaves its core idle. Hosts without a rank belong to other
//! jobs and do not count, while the whole network does. All sums are whole numbers, the same in any order.
//!
//! Source: power by idle node, busy cores and static network, as in Heinrich et al., "Predicting the energy-consumption
//! of MPI applications at scale using only a single node" (IEEE Cluster 2017).

use engine::{Duration, Energy, EnergyPerByte, Power, Time, TotalTime};
use network::{Fabric, LinkId, Node};
use serde::Serialize;

use crate::config::{Added, Powers};
use crate::observe::Moved;
use crate::run::Ended;

/// Energy by cause; none for what the platform gives no power for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct EnergyCauses {
    /// Hosts with a rank, without what their busy processes add \[J\].
    #[serde(rename = "hosts_idle_J")]
    pub hosts_idle_joules: Option<f64>,
    /// Processes that compute \[J\].
    #[serde(rename = "computing_J")]
    pub computing_joules: Option<f64>,
    /// Processes in MPI calls \[J\].
    #[serde(rename = "communication_J")]
    pub communication_joules: Option<f64>,
    /// All routers of the network, without their ports \[J\].
    #[serde(rename = "routers_J")]
    pub routers_joules: Option<f64>,
    /// All ports of routers \[J\].
    #[serde(rename = "links_J")]
    pub links_joules: Option<f64>,
    /// Bytes in links, routers and NICs \[J\].
    #[serde(rename = "bytes_moved_J")]
    pub bytes_moved_joules: Option<f64>,
}

/// Energy of a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct EnergyUse {
    /// Energy to solution: the sum of all causes \[J\].
    #[serde(rename = "energy_J")]
    pub joules: f64,
    /// The sum over the makespan \[W\]; 0 for a run that takes no time.
    #[serde(rename = "mean_power_W")]
    pub mean_watts: f64,
    /// Energy by cause.
    #[serde(rename = "energy")]
    pub by_cause: EnergyCauses,
}

/// Energy of a run that took `makespan` on this many hosts.
pub fn energy(powers: &Powers, fabric: &Fabric, ended: &Ended, makespan: Time, hosts: u32) -> EnergyUse {
    let whole = TotalTime::from(makespan.since(Time::ZERO));
    let [computing, calling] = busy(ended, makespan);
    let of_all =
        |power: Option<Power>, count: &dyn Fn() -> u64| power.map(|power| power.during(whole * count()));
    let of_busy = |added: Option<Added>, time| added.map(|added| added.power.during(time) / added.of);
    let causes = [
        of_all(powers.host_idle, &|| hosts.into()),
        of_busy(powers.computing, computing),
        of_busy(powers.waiting, calling),
        of_all(powers.router, &|| fabric.topology.routers().into()),
        of_all(powers.router_port, &|| router_ports(fabric)),
        powers.count_bytes().then(|| of_bytes(powers, moved(fabric, ended))),
    ];
    let joules = causes.iter().flatten().copied().sum::<Energy>().joules();
    let seconds = makespan.seconds();
    let [hosts_idle, computing, communication, routers, links, bytes_moved] =
        causes.map(|cause| cause.map(Energy::joules));
    EnergyUse {
        joules,
        mean_watts: if seconds > 0.0 { joules / seconds } else { 0.0 },
        by_cause: EnergyCauses {
            hosts_idle_joules: hosts_idle,
            computing_joules: computing,
            communication_joules: communication,
            routers_joules: routers,
            links_joules: links,
            bytes_moved_joules: bytes_moved,
        },
    }
}

/// Time that all ranks together compute, and that they are in MPI calls, up to `makespan`. The call in which a rank
/// stands at the end of a partial run counts up to there.
fn busy(ended: &Ended, makespan: Time) -> [TotalTime; 2] {
    let (mut computing, mut calling) = (TotalTime::default(), TotalTime::default());
    for totals in ended.views.ranks.totals() {
        computing += totals.compute;
        calling += totals.causes.total();
    }
    for standing in &ended.unfinished {
        let since: Duration = makespan.since(standing.reached);
        match standing.call.as_str() {
            "compute" => computing += since,
            "sleep" | "" => {}
            _ => calling += since,
        }
    }
    [computing, calling]
}

/// Number of ports of all routers: each has a link that leaves it.
fn router_ports(fabric: &Fabric) -> u64 {
    let leaves_router = |link: &u32| matches!(fabric.topology.link(LinkId(*link)).from, Node::Router(_));
    (0..fabric.topology.links()).filter(leaves_router).count() as u64
}

/// Bytes that links have carried, or, in a model without links, those of delivered messages.
fn moved(fabric: &Fabric, ended: &Ended) -> Moved {
    if let Some(routes) = &ended.views.route_bytes {
        return routes.moved();
    }
    let mut moved = Moved::default();
    ended.network.links.totals().iter().for_each(|used| moved.add(fabric, used.link, used.bytes.0));
    moved
}

fn of_bytes(powers: &Powers, moved: Moved) -> Energy {
    let of = |each: Option<EnergyPerByte>, bytes| each.map_or(Energy::default(), |each| each.of(bytes));
    of(powers.link_byte, moved.links)
        + of(powers.router_byte, moved.routers)
        + of(powers.nic_byte, moved.nics)
}
