//! Results of the jobs of a run of several.

use engine::Time;
use serde::Serialize;

use super::TimeSplit;
use crate::feed::PlacedJob;
use crate::observe::RankTotals;

/// Result of one of several jobs.
#[derive(Debug, Clone, Serialize)]
pub struct JobReport {
    /// Its name.
    pub name: String,
    /// What it did.
    pub workload: String,
    /// How its ranks were placed.
    pub placement: &'static str,
    /// Its first rank in the run.
    pub first_rank: u32,
    /// How many ranks.
    pub ranks: u32,
    /// Hosts that have one of them.
    pub hosts_used: u32,
    /// When they began \[s\].
    pub start_s: f64,
    /// When the last was done; absent where not all are \[s\].
    pub end_s: Option<f64>,
    /// From its start to its end \[s\].
    pub makespan_s: Option<f64>,
    /// Where its time went, summed over its ranks.
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
