//! Utilisation of the NICs, processes' links to them, links and memories of a run: the candidates for the next
//! bottleneck once one of them is widened.
//!
//! ```text
//! utilisation = bytes / (rate · makespan), of the fullest of its kind
//! ```
//!
//! A NIC and the link of its host are one, as in the models: its rate is the narrower of `nic.bandwidth` and the
//! `nic_rate` of the regime of the mean message. A memory has the rate of all copies of a host together, or
//! of all of a level in one of its groups, for the mean message likewise. The path of a process to a NIC has `process_rate` of the process's mean message, and as
//! many of them as a host has NICs; where further processes add another rate, it has its share of what all
//! processes of the host get that send. Models that know of no links leave those of NICs and links at 0.

use std::collections::BTreeMap;

use engine::{Bandwidth, Bytes, Time};
use network::message::LinkUse;
use network::{HostParameters, Regime};
use serde::Serialize;

use super::{LinkNames, Links, NodeMemoryReport, RankTotals};

/// Highest utilisation of each kind of resource, over the whole run.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Utilisation {
    /// Utilisation of NICs with the links of their hosts \[0..1\].
    pub nic: f64,
    /// Utilisation of the paths of processes to their NICs \[0..1\].
    pub process: f64,
    /// Utilisation of links between routers \[0..1\].
    pub links: f64,
    /// Class of that link.
    pub links_class: Option<String>,
    /// Utilisation of the memory of hosts, by messages between their ranks \[0..1\].
    pub memory: f64,
}

impl Utilisation {
    /// Utilisation in a run of length `makespan`, with messages of a mean length of `mean`.
    pub fn of(
        (links, names, hosts): (&Links, &LinkNames, &HostParameters),
        memory: &NodeMemoryReport,
        mean: Bytes,
        makespan: Time,
    ) -> Utilisation {
        let seconds = makespan.seconds();
        let share = |bytes: u64, rate: f64| if seconds > 0.0 { bytes as f64 / (rate * seconds) } else { 0.0 };
        let headers = hosts.packet_wire.0 as f64 / hosts.packet_payload.0 as f64;
        let nic_rate = rate(hosts.regimes[hosts.regime_of(mean)].nic_rate) * headers;
        let mut fullest = Utilisation::default();
        for LinkUse { link, bytes, .. } in links.totals() {
            let own = names.bandwidth(*link);
            if !names.fabric.topology.link(*link).is_between_routers() {
                fullest.nic = fullest.nic.max(share(bytes.0, own.min(nic_rate)));
            } else if share(bytes.0, own) > fullest.links {
                fullest.links = share(bytes.0, own);
                fullest.links_class = Some(names.class(*link));
            }
        }
        for (busiest, kind) in memory.fullest.iter().zip(hosts.memory.shared()) {
            let mean = Bytes(busiest.bytes / busiest.messages.max(1));
            let regime = &hosts.memory.regimes[hosts.memory.regime_in(kind.regimes, mean)];
            fullest.memory = fullest.memory.max(share(busiest.bytes, rate(regime.total_bandwidth)));
        }
        fullest
    }

    /// Adds the highest utilisation of a process's link, of ranks with these totals on these hosts.
    pub fn with_processes(
        mut self,
        (totals, host_of_rank): (&[RankTotals], &[u32]),
        hosts: &HostParameters,
        makespan: Time,
    ) -> Utilisation {
        let paths = makespan.seconds() * f64::from(hosts.nics.count);
        if paths == 0.0 {
            return self;
        }
        let mut senders: BTreeMap<u32, u32> = BTreeMap::new();
        for (rank, host) in totals.iter().zip(host_of_rank) {
            *senders.entry(*host).or_default() += u32::from(rank.bytes_out > 0);
        }
        let share = |bytes: u64, messages: u64, active: u32| {
            let mean = Bytes(bytes / messages.max(1));
            bytes as f64 / (path_rate(&hosts.regimes[hosts.regime_of(mean)], active) * paths)
        };
        for (rank, host) in totals.iter().zip(host_of_rank) {
            let out = share(rank.bytes_out, rank.messages_out, senders[host]);
            self.process = self.process.max(out).max(share(rank.bytes_in, rank.messages_in, 1));
        }
        self
    }
}

/// Rate of each of `active` processes of a host: `(R_Cb + (k - 1) R_Ci) / k`, see [`Regime`] \[B/s\].
fn path_rate(regime: &Regime, active: u32) -> f64 {
    if regime.process_rate == Bandwidth::INFINITE {
        return f64::INFINITY;
    }
    let (base, active) = (rate(regime.process_rate), f64::from(active.max(1)));
    let further = base + regime.process_rate_change;
    ((base + (active - 1.0) * further) / active).max(1.0)
}

/// Value in bytes per second.
fn rate(bandwidth: Bandwidth) -> f64 {
    if bandwidth == Bandwidth::INFINITE { f64::INFINITY } else { bandwidth.0 as f64 }
}
