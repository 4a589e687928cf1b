//! Results of the jobs of a run of several.

use engine::Time;
use serde::Serialize;

use super::TimeSplit;
use crate::feed::PlacedJob;
use crate::observe::RankTotals;

/// Result of one of several jobs.
#[derive(Debug, Clone, Serialize)]
pub struct JobReport {
    /// Name.
    pub name: String,
    /// Workload.
    pub workload: String,
    /// Kind of the placement.
    pub placement: &'static str,
    /// First rank in the run.
    pub first_rank: u32,
    /// Number of ranks.
    pub ranks: u32,
    /// Number of hosts that have one of its ranks.
    pub hosts_used: u32,
    /// Start of its ranks \[s\].
    pub start_s: f64,
    /// Finish of its last rank; absent unless all have finished \[s\].
    pub end_s: Option<f64>,
    /// Time from its start to its end \[s\].
    pub makespan_s: Option<f64>,
    /// Split of its time, summed over ranks.
    pub time: TimeSplit,
}

impl JobReport {
    /// Result of `job` at the end of a run.
    pub fn of(job: &PlacedJob, totals: &[RankTotals], host_of_rank: &[u32], unfinished: &[u32]) -> JobReport {
        let ranks = job.first as usize..(job.first + job.ranks) as usize;
        let mut hosts = host_of_rank[ranks.clone()].to_vec();
        hosts.sort_unstable();
        hosts.dedup();
        let own = &totals[ranks.clone()];
        let done = !unfinished.iter().any(|rank| ranks.contains(&(*rank as usize)));
        let end = own.iter().map(|totals| totals.finish).max().filter(|_| done);
        JobReport {
            name: job.name.clone(),
            workload: job.workload.clone(),
            placement: job.placement,
            first_rank: job.first,
            ranks: job.ranks,
            hosts_used: hosts.len() as u32,
            start_s: job.start.seconds(),
            end_s: end.map(Time::seconds),
            makespan_s: end.map(|end| end.since(job.start).seconds()),
            time: TimeSplit::of(own),
        }
    }
}
