//! Estimate of a run's memory before it starts, beside what the machine has: a platform that cannot fit is
//! refused before anything is built.
//!
//! ```text
//! least = links · per_link + hosts · per_host + ranks · per_rank
//! ```
//!
//! Topologies are formulas and take nothing. The coefficients are what the models keep for each link and host
//! (`crates/network/src/model`), by measuring runs that differ in their numbers of hosts alone (crossbar and hopper,
//! rounded down), and what MPI keeps for a rank. The model `flow` keeps next to nothing for links that are not used; all are in its report.
//! Validity: a lower bound. Messages, tables of routes and what vectors hold in reserve are not counted.

use network::model::HostLinks;
use network::{HostId, HostParameters, Topology};

use crate::config::InputError;

/// Size of a run.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// Hosts of the platform.
    pub hosts: u32,
    /// Process slots of a host.
    pub slots: u16,
    /// Links inside a host in the model `flow`, which are numbered behind those of the platform: the ways of its
    /// processes to each NIC and back, their copies, and its memory, as far as they can be a limit ([`HostLinks`]).
    pub parts: u64,
    /// Number of NICs of a host.
    pub nics: u8,
    /// Links of the platform, those of all NICs included.
    pub links: u64,
    /// Ranks of the workload.
    pub ranks: u32,
    /// Memory of the source of operations for a rank \[bytes\].
    pub source_per_rank: u64,
}

/// Memory of a model for each element \[bytes\].
struct Coefficients {
    model: &'static str,
    link: u64,
    host: u64,
}

/// Memory of every model. A refusal suggests the first one that fits easily.
const COEFFICIENTS: &[Coefficients] = &[
    // A station with three times, and a memory with one.
    Coefficients { model: "loggp", link: 0, host: 32 },
    // Two stations of 32 B.
    Coefficients { model: "max-rate", link: 0, host: 64 },
    Coefficients { model: "postal", link: 0, host: 0 },
    // A link with its buffers and credits.
    Coefficients { model: "packet", link: 150, host: 8 },
    Coefficients { model: "infinite", link: 0, host: 0 },
    // A link's totals in the report, and a host's number of messages.
    Coefficients { model: "flow", link: 32, host: 4 },
];

/// A rank in MPI: its requests, matching and totals \[bytes\].
const PER_RANK: u64 = 1_000;
/// A rank program in Python: its greenlet with a stack of Python frames \[bytes\].
pub const PER_PROGRAM: u64 = 7_000;

impl Size {
    /// Size of a run of `ranks` ranks on `topology`, with `nic_links` links for each NIC in each direction.
    pub fn of(
        topology: &dyn Topology,
        hosts: &HostParameters,
        nic_links: u8,
        ranks: u32,
        source_per_rank: u64,
    ) -> Size {
        let further = 2 * u64::from(topology.hosts());
        let (nics, nic_links) = (u64::from(hosts.nics.count), u64::from(nic_links));
        Size {
            hosts: topology.hosts(),
            slots: hosts.processes,
            parts: HostLinks::new(hosts, topology.link(topology.up(HostId(0))).bandwidth).total(),
            nics: hosts.nics.count,
            links: if hosts.nics.in_planes {
                (u64::from(topology.links()) + further * (nic_links - 1)) * nics
            } else {
                u64::from(topology.links()) + further * (nics * nic_links - 1)
            },
            ranks,
            source_per_rank,
        }
    }

    /// Lower bound of the memory that the run needs in `model` \[bytes\].
    fn least(&self, model: &str) -> u64 {
        let ranks = u64::from(self.ranks) * (PER_RANK + self.source_per_rank);
        let Some(each) = COEFFICIENTS.iter().find(|each| each.model == model) else { return ranks };
        ranks + self.links * each.link + u64::from(self.hosts) * each.host
    }

    /// Refuses a run that does not fit into `memory` \[bytes\] in `model`, or whose elements cannot be numbered.
    /// Errors are about `platform`.
    pub fn check(&self, model: &str, memory: u64, platform: &str) -> Result<(), InputError> {
        let Size { hosts, links, ranks, slots, nics, parts, .. } = *self;
        let least = self.least(model);
        if least > memory {
            let fits = COEFFICIENTS.iter().find(|other| self.least(other.model) <= memory / 2);
            let help = fits.map_or(String::new(), |other| format!(" or --model {}", other.model));
            let reason = format!(
                "{hosts} hosts, {links} links and {ranks} ranks need at least {} of memory in the model \
                 '{model}', and this machine has {}; take a smaller platform, fewer ranks{help}",
                amount(least),
                amount(memory),
            );
            return Err(InputError::whole(platform, reason));
        }
        if u64::from(hosts) * u64::from(slots) > u64::from(u32::MAX) {
            let reason =
                format!("{hosts} hosts with {slots} process slots each are more than {} slots", u32::MAX);
            return Err(InputError::whole(platform, reason));
        }
        let most = u64::from(u32::MAX);
        if links > most || u64::from(hosts) * u64::from(slots) * u64::from(nics) > most {
            let reason = format!(
                "{hosts} hosts with {nics} NICs and {slots} process slots each: a network has at most {most} links, \
                 and as many slots at NICs"
            );
            return Err(InputError::whole(platform, reason));
        }
        let all = links.saturating_add(parts.saturating_mul(u64::from(hosts)));
        if model == "flow" && all > most {
            let reason = format!(
                "{links} links and {parts} more inside each of {hosts} hosts: the model 'flow' has at most {most} links"
            );
            return Err(InputError::whole(platform, reason));
        }
        Ok(())
    }
}

/// Memory that this process may use \[bytes\]: that of the machine, or less by its control group; no limit if the
/// system does not tell.
pub fn machine() -> u64 {
    let read = |file: &str| std::fs::read_to_string(file).unwrap_or_default();
    let meminfo = read("/proc/meminfo");
    let total = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let total = total.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    let group = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    let limits = group.iter().filter_map(|file| read(file).trim().parse::<u64>().ok());
    limits.chain(total.map(|kib| kib * 1024)).min().unwrap_or(u64::MAX)
}

/// Formats `bytes` as GiB or TiB.
fn amount(bytes: u64) -> String {
    let gib = bytes as f64 / (1_u64 << 30) as f64;
    if gib < 1024.0 { format!("{gib:.1} GiB") } else { format!("{:.1} TiB", gib / 1024.0) }
}

/// High-water mark of this process's memory; 0 if the system does not tell.
pub fn peak_rss_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) * 1024
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use network::Part;

    use super::*;
    use crate::config::{self, Texts};

    const GIB: u64 = 1 << 30;

    fn huge(slots: u16) -> Size {
        Size {
            hosts: 1_000_000_000,
            slots,
            // A memory, and a copy for each slot.
            parts: 1 + u64::from(slots),
            nics: 1,
            links: 2_000_000_000,
            ranks: 4,
            source_per_rank: 0,
        }
    }

    #[test]
    fn what_does_not_fit_is_refused_with_both_numbers_and_a_way_out() {
        // 2e9 · 150 B + 1e9 · 8 B + 4 · 1,000 B = 308e9 B = 286.8 GiB.
        let error = huge(128).check("packet", 200 * GIB, "crossbar.toml").unwrap_err();
        assert_eq!(
            error.to_string(),
            "crossbar.toml: 1000000000 hosts, 2000000000 links and 4 ranks need at least 286.8 GiB of memory in \
             the model 'packet', and this machine has 200.0 GiB; take a smaller platform, fewer ranks or --model \
             loggp"
        );
    }

    #[test]
    fn what_fits_is_let_through_unless_its_slots_cannot_be_numbered() {
        assert_eq!(huge(4).check("loggp", 200 * GIB, "x"), Ok(()));
        let error = huge(128).check("loggp", 200 * GIB, "x").unwrap_err();
        assert_eq!(
            error.to_string(),
            "x: 1000000000 hosts with 128 process slots each are more than 4294967295 slots"
        );
    }

    /// 2e9 links of the platform and 3e9 inside hosts.
    #[test]
    fn the_links_of_the_flow_model_can_be_numbered() {
        let size = Size { parts: 3, ..huge(1) };
        assert_eq!(size.check("loggp", 200 * GIB, "x"), Ok(()));
        let error = size.check("flow", 200 * GIB, "x").unwrap_err();
        assert_eq!(
            error.to_string(),
            "x: 2000000000 links and 3 more inside each of 1000000000 hosts: the model 'flow' has at most \
             4294967295 links"
        );
    }

    #[test]
    fn the_links_and_slots_of_all_nics_can_be_numbered() {
        let size = Size { nics: 3, links: 6_000_000_000, ..huge(1) };
        let error = size.check("postal", 200 * GIB, "x").unwrap_err();
        assert_eq!(
            error.to_string(),
            "x: 1000000000 hosts with 3 NICs and 1 process slots each: a network has at most 4294967295 links, \
             and as many slots at NICs"
        );
    }

    /// Memory that this process holds \[bytes\].
    fn resident() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        1024 * line.split_whitespace().next().unwrap().parse::<u64>().unwrap()
    }

    /// The flow model takes memory for what moves: built for 158,976 hosts with 7.8 million links inside them, it holds
    /// less than 64 B for each host. A table over all links would take ten times as much.
    #[test]
    fn an_idle_flow_model_is_small() {
        let platform = config::load("tofu", &[], &Texts::default()).unwrap();
        let hosts = Arc::new(platform.host_parameters().clone());
        let fabric = Arc::new(platform.fabric(1).unwrap());
        let size = Size::of(&*platform.topology().unwrap(), &hosts, 1, 0, 0);
        assert!(size.parts * u64::from(size.hosts) > 7_000_000);
        // Other tests allocate meanwhile, so several attempts are made; all models are kept.
        let mut models = Vec::new();
        let mut taken = (0..8).map(|_| {
            let (fabric, hosts, before) = (fabric.clone(), hosts.clone(), resident());
            models.push(platform.model("flow", 1, fabric, hosts, &Part::whole()).unwrap());
            resident().saturating_sub(before)
        });
        assert!(taken.any(|taken| taken < 64 * u64::from(size.hosts)));
    }

    #[test]
    fn every_model_has_its_coefficients() {
        for entry in network::model::MODELS {
            assert!(COEFFICIENTS.iter().any(|each| each.model == entry.name), "add {}", entry.name);
        }
    }

    #[test]
    fn this_machine_has_memory() {
        assert!(machine() > 64 << 20);
    }
}
