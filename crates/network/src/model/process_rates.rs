//! Rates at which the processes of a host can send, by regime and by how many of them are active.

use engine::Bandwidth;

use super::rate::{Rate, Weight};
use crate::HostParameters;
use crate::memory::SharedMemory;
use crate::message::Message;

/// Rates by kind of transfer: one for each regime, then one for each regime of copies in memory.
pub(super) struct ProcessRates {
    /// Most processes that can be active at once.
    processes: usize,
    /// `[kind][active processes - 1]`
    process: Vec<Rate>,
    /// By kind: R_N, or the memory's total.
    nic: Vec<Rate>,
    weight: Vec<Weight>,
    /// Number of kinds that are no copies.
    regimes: usize,
    /// By kind: the smallest R_N of a regime, or the smallest total bandwidth of the memory of that level.
    reference: Vec<Rate>,
}

impl ProcessRates {
    /// Rates of hosts whose NICs have links that carry `link` of payload. A NIC and its link are one: the narrower of both
    /// counts.
    pub fn new(hosts: &HostParameters, link: Bandwidth) -> ProcessRates {
        let processes = usize::from(hosts.processes.max(1));
        let mut process: Vec<Rate> = hosts
            .regimes
            .iter()
            .flat_map(|regime| each_of(regime.process_rate, regime.process_rate_change, processes))
            .collect();
        let copies = &hosts.memory.regimes;
        process.extend(copies.iter().flat_map(|copy| each_of(copy.bandwidth, 0.0, processes)));
        let mut nic: Vec<Rate> =
            hosts.regimes.iter().map(|regime| Rate::of(regime.nic_rate.min(link))).collect();
        let regimes = nic.len();
        nic.extend(copies.iter().map(|copy| Rate::of(copy.total_bandwidth)));
        let of_level = |kind: SharedMemory| regimes + kind.regimes.start..regimes + kind.regimes.end;
        let together = std::iter::once(0..regimes).chain(hosts.memory.shared().map(of_level));
        let reference: Vec<Rate> = together
            .flat_map(|kinds| {
                let slowest = *nic[kinds.clone()].iter().min().expect("there is a regime");
                kinds.map(move |_| slowest)
            })
            .collect();
        let weight = reference.iter().zip(&nic).map(|(slowest, rate)| Weight::of(*slowest, *rate)).collect();
        ProcessRates { processes, process, nic, weight, regimes, reference }
    }

    /// The kind of `message`.
    pub fn kind(&self, message: &Message, of_memory: bool) -> usize {
        usize::from(message.regime) + if of_memory { self.regimes } else { 0 }
    }

    /// Rate of the path of each of `active` processes to the NIC.
    pub fn path(&self, kind: usize, active: usize) -> Rate {
        self.process[kind * self.processes + active.min(self.processes) - 1]
    }

    /// The most that each of `active` processes can send, the NIC's own limit included.
    pub fn process(&self, kind: usize, active: usize) -> Rate {
        self.path(kind, active).min(self.nic[kind])
    }

    /// Share of the NIC (or memory) that a transfer takes.
    pub fn weight(&self, kind: usize) -> Weight {
        self.weight[kind]
    }

    /// Rate that transfers of weight one share, at the NIC or memory of this kind.
    pub fn reference(&self, kind: usize) -> Rate {
        self.reference[kind]
    }
}

/// `(R_Cb + (k−1) R_Ci) / k` for k from 1 to `processes`.
///
/// An aggregate below 1 B/s makes no sense: it stays what it was for one process less. Platforms whose further
/// processes take bandwidth away come with a warning.
fn each_of(base: Bandwidth, change: f64, processes: usize) -> Vec<Rate> {
    if base == Bandwidth::INFINITE || change == 0.0 {
        return vec![Rate::of(base); processes];
    }
    let mut aggregate = base.0 as f64;
    (1..=processes)
        .map(|active| {
            let formula = base.0 as f64 + (active - 1) as f64 * (base.0 as f64 + change);
            if formula >= 1.0 {
                aggregate = formula;
            }
            Rate::from_bytes_per_second(aggregate / active as f64)
        })
        .collect()
}
