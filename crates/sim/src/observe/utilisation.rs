//! How full the NICs, links and memories of a run were: what else is the limit once one of them is widened.
//!
//! ```text
//! utilisation = bytes / (rate · makespan), of the fullest of its kind
//! ```
//!
//! A NIC and the link of its host are one, as in the models: its rate is the narrower of `nic.bandwidth` and the
//! `nic_rate` of the regime of the mean message. A memory has the rate of all copies of a host together, for
//! the mean message likewise. Models that know of no links leave those of NICs and links at 0.

use engine::{Bandwidth, Bytes, Time};
use network::HostParameters;
use network::message::LinkUse;
use serde::Serialize;

use super::{LinkNames, Links, NodeMemoryReport};

/// How full the fullest of each kind was, over the whole run.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Utilisation {
    /// Utilisation of NICs with the links of their hosts \[0..1\].
    pub nic: f64,
    /// Utilisation of links between routers \[0..1\].
    pub links: f64,
    /// The class of that link.
    pub links_class: Option<String>,
    /// Utilisation of the memory of hosts, by messages between their ranks \[0..1\].
    pub memory: f64,
}

impl Utilisation {
    /// Utilisation in a run that took so long, with messages of a mean length of `mean`.
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
        if let Some(busiest) = memory.busiest.first() {
            let mean = Bytes(busiest.bytes / busiest.messages.max(1));
            let regime = &hosts.memory.regimes[hosts.memory.regime_of(mean)];
            fullest.memory = share(busiest.bytes, rate(regime.total_bandwidth));
        }
        fullest
    }
}

/// \[B/s\]
fn rate(bandwidth: Bandwidth) -> f64 {
    if bandwidth == Bandwidth::INFINITE { f64::INFINITY } else { bandwidth.0 as f64 }
}
