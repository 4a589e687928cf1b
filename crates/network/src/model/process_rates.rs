//! What the processes of a host can send, by regime and by how many of them are active.

use engine::Bandwidth;

use super::rate::{Rate, Weight};
use crate::HostParameters;
use crate::message::Message;

/// Rates by kind of transfer: one for each regime, and one for copies in memory.
pub(super) struct ProcessRates {
    /// Most processes that can be active at once.
    processes: usize,
    /// `[kind][active processes - 1]`
    process: Vec<Rate>,
    nic: Vec<Rate>,
    weight: Vec<Weight>,
    /// The smallest R_N of a regime, and the memory's total.
    reference: [Rate; 2],
}

impl ProcessRates {
    pub fn new(hosts: &HostParameters) -> ProcessRates {
        let processes = usize::from(hosts.processes.max(1));
        let mut process: Vec<Rate> = hosts
            .regimes
            .iter()
            .flat_map(|regime| each_of(regime.process_rate, regime.process_rate_change, processes))
            .collect();
        process.extend(each_of(hosts.memory.bandwidth, 0.0, processes));
        let mut nic: Vec<Rate> = hosts.regimes.iter().map(|regime| Rate::of(regime.nic_rate)).collect();
        let total = Rate::of(hosts.memory.total_bandwidth);
        let slowest = nic.iter().copied().min().expect("a platform has at least one regime");
        let mut weight: Vec<Weight> = nic.iter().map(|rate| Weight::of(slowest, *rate)).collect();
        nic.push(total);
        weight.push(Weight::of(total, total));
        ProcessRates { processes, process, nic, weight, reference: [slowest, total] }
    }

    /// The kind of `message`.
    pub fn kind(&self, message: &Message, of_memory: bool) -> usize {
        if of_memory { self.nic.len() - 1 } else { usize::from(message.regime) }
    }

    /// What the path of each of `active` processes to the NIC carries.
    pub fn path(&self, kind: usize, active: usize) -> Rate {
        self.process[kind * self.processes + active.min(self.processes) - 1]
    }

    /// The most that each of `active` processes can send, the NIC's own limit included.
    pub fn process(&self, kind: usize, active: usize) -> Rate {
        self.path(kind, active).min(self.nic[kind])
    }

    /// How much of the NIC (or memory) a transfer takes.
    pub fn weight(&self, kind: usize) -> Weight {
        self.weight[kind]
    }

    /// What transfers of weight one share.
    pub fn reference(&self, of_memory: bool) -> Rate {
        self.reference[usize::from(of_memory)]
    }
}

/// `(R_Cb + (k−1) R_Ci) / k` for k from 1 to `processes`.
///
/// An aggregate below 1 B/s makes no sense: it stays what it was for one process less.
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
