//! The clocks of a run's hosts, brought together.
//!
//! Times in a trace come from each host's own clock, often the time since its boot. In the recorded run
//! of LULESH on Hopper four hosts differ by up to 0.68 s. The first call that lets nobody go before all
//! have come (a barrier, an allreduce, an allgather, an all-to-all on all ranks) ends at nearly the same
//! moment everywhere; each host's earliest return from it is taken as that moment.
//! Validity: the error is the spread of those returns (microseconds) plus the drift after it (there
//! 1 ms in 54 s).

use std::collections::BTreeMap;

use engine::{Duration, Time};

/// Calls that return on no rank before all ranks have called.
pub const SYNCHRONISING: &[&str] = &[
    "MPI_Barrier",
    "MPI_Allreduce",
    "MPI_Allgather",
    "MPI_Allgatherv",
    "MPI_Alltoall",
    "MPI_Alltoallv",
    "MPI_Alltoallw",
    "MPI_Reduce_scatter",
    "MPI_Finalize",
];
/// Largest number of calls of a rank that is searched for one: reading a whole trace twice would cost more than it
/// gives.
pub const FARTHEST: usize = 100_000;
/// A run of more than 100 days is a damaged clock [ns].
const LONGEST_NS: i64 = 100 * 24 * 3600 * 1_000_000_000;

/// Converts the times of a rank's clock to times of the run: holds the clock's origin \[ns\].
#[derive(Debug, Clone, Copy)]
pub struct Times {
    origin_ns: i64,
}

impl Times {
    /// Time in the run of a time of the rank's clock, or the reason why it has none.
    pub fn time(self, ns: i64) -> Result<Time, String> {
        let ns = ns.saturating_sub(self.origin_ns).max(0);
        if ns > LONGEST_NS {
            return Err(format!("is {ns} ns after the run began, over 100 days"));
        }
        Ok(Time(ns as u64 * 1000))
    }
}

impl Times {
    /// Warning about a call whose times lie before the run's begin since the clock was set back; `None` for all
    /// others. [`Times::time`] gives the begin of the run for such times.
    pub fn set_back(self, [begin_ns, end_ns]: [i64; 2]) -> Option<String> {
        let early = |ns: i64| (self.origin_ns.saturating_sub(ns).max(0) as u64).saturating_mul(1000);
        let (does, early) =
            if early(begin_ns) > 0 { ("begins", early(begin_ns)) } else { ("ends", early(end_ns)) };
        (early > 0).then(|| format!("{does} {} before the first call of the run", Duration(early)))
    }
}

/// Beginning of the run, on each rank's clock.
pub struct ClockTable {
    origins_ns: Vec<i64>,
}

/// The begin of one rank's trace.
#[derive(Debug, Clone, Copy)]
pub struct Begin {
    /// Time at which its first call began \[ns\].
    pub first_ns: i64,
    /// The first call that synchronises, and its return \[ns\].
    pub together: Option<(&'static str, i64)>,
}

impl ClockTable {
    /// Clocks as recorded, and aligned by the first call that synchronises the ranks; with warnings where alignment
    /// is impossible.
    pub fn align(begins: &[Begin], host_of: &[&str]) -> (ClockTable, ClockTable, Vec<String>) {
        let mut hosts: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (rank, host) in host_of.iter().enumerate() {
            hosts.entry(host).or_default().push(rank);
        }
        let mut warnings = Vec::new();
        if begins.iter().all(|begin| begin.first_ns == 0) {
            warnings.push("the trace has no wall-clock times: nothing is computed between calls".to_string());
        }
        let first = begins.iter().map(|begin| begin.first_ns).min().unwrap_or(0);
        let recorded = ClockTable { origins_ns: vec![first; begins.len()] };
        if hosts.len() < 2 {
            return (ClockTable { origins_ns: recorded.origins_ns.clone() }, recorded, warnings);
        }
        // Return from the synchronising call on each host's clock: the earliest of its ranks.
        let same = begins.windows(2).all(|pair| {
            pair[0].together.is_some()
                && pair[0].together.map(|(name, _)| name) == pair[1].together.map(|(name, _)| name)
        });
        if !same {
            warnings.push(
                "no call in which all ranks wait for each other was found near the begin of the trace: \
                 the hosts' clocks are aligned by their first calls"
                    .to_string(),
            );
        }
        let mut moments = vec![0; begins.len()];
        for ranks in hosts.values() {
            let moment = |&rank: &usize| match begins[rank].together {
                Some((_, end)) if same => end,
                _ => begins[rank].first_ns,
            };
            let host_moment = ranks.iter().map(moment).min().unwrap_or(0);
            ranks.iter().for_each(|&rank| moments[rank] = host_moment);
        }
        // The run begins with the first call, as long before the shared moment as on its own host.
        let lead =
            begins.iter().zip(&moments).map(|(begin, moment)| moment.saturating_sub(begin.first_ns)).max();
        let lead = lead.unwrap_or(0);
        let aligned =
            ClockTable { origins_ns: moments.iter().map(|moment| moment.saturating_sub(lead)).collect() };
        (recorded, aligned, warnings)
    }

    /// Clocks aligned by stated differences \[ns\], which are added to each rank's times to get those of one clock. The
    /// ranks of a host share its clock: the difference of its first rank counts.
    pub fn shifted(begins: &[Begin], host_of: &[&str], differences_ns: &[i64]) -> ClockTable {
        let mut of_host: BTreeMap<&str, i64> = BTreeMap::new();
        for (host, difference) in host_of.iter().zip(differences_ns) {
            of_host.entry(host).or_insert(*difference);
        }
        let difference = |rank: usize| match host_of[rank] {
            "" => differences_ns[rank],
            host => of_host[host],
        };
        let ranks = || 0..begins.len();
        let first =
            ranks().map(|rank| begins[rank].first_ns.saturating_add(difference(rank))).min().unwrap_or(0);
        ClockTable { origins_ns: ranks().map(|rank| first.saturating_sub(difference(rank))).collect() }
    }

    /// The clock of `rank`.
    pub fn of_rank(&self, rank: u32) -> Times {
        Times { origin_ns: self.origins_ns[rank as usize] }
    }
}
