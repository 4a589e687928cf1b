//! Links inside a host, as far as they can be a limit: how many the model has of each sort.

use engine::Bandwidth;

use crate::model::process_rates::ProcessRates;
use crate::model::rate::Rate;
use crate::{HostParameters, MemoryRegime};

/// Links of each sort inside one host; none where nothing of that sort can be a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostLinks {
    /// Ways of the processes out to each NIC.
    pub ways_out: u32,
    /// Ways from each NIC into the processes.
    pub ways_in: u32,
    /// Copies of the processes.
    pub copies: u32,
    /// Memories that copies share: the host's own, and one for each group of each level.
    pub memories: u32,
}

impl HostLinks {
    /// Links of hosts whose own links carry so much on the wire.
    pub fn new(hosts: &HostParameters, link: Bandwidth) -> HostLinks {
        let share = hosts.packet_payload.0 as f64 / hosts.packet_wire.0 as f64;
        HostLinks::beside(hosts, Rate::of(link.scaled(share)))
    }

    /// Links of hosts whose own links carry so much payload.
    pub(super) fn beside(hosts: &HostParameters, link: Rate) -> HostLinks {
        let processes = u32::from(hosts.processes.max(1));
        let ways = processes * u32::from(hosts.nics.count);
        let rates = ProcessRates::new(hosts, Bandwidth::INFINITE);
        let is_limit = |active: usize| {
            hosts
                .regimes
                .iter()
                .enumerate()
                .any(|(regime, of)| rates.path(regime, active) < Rate::of(of.nic_rate).min(link))
        };
        let most = if changes(hosts) { processes as usize } else { 1 };
        let slow = |copy: &MemoryRegime| Rate::of(copy.bandwidth) < Rate::of(copy.total_bandwidth);
        let memory = &hosts.memory.regimes;
        HostLinks {
            ways_out: if (1..=most).any(is_limit) { ways } else { 0 },
            ways_in: if is_limit(1) { ways } else { 0 },
            copies: if memory.iter().any(slow) { processes } else { 0 },
            memories: match hosts.memory.groups() {
                1 => u32::from(processes > 1 || !memory.iter().all(slow)),
                groups => groups,
            },
        }
    }

    /// All of them.
    pub fn total(&self) -> u64 {
        [self.ways_out, self.ways_in, self.copies, self.memories].into_iter().map(u64::from).sum()
    }
}

/// True if the rate of a process's way out depends on how many of its host send.
pub(super) fn changes(hosts: &HostParameters) -> bool {
    hosts.regimes.iter().any(|regime| regime.process_rate_change != 0.0)
}
