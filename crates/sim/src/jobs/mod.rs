//! Several jobs in one run: programs that do not know of each other and share the network.
//!
//! Each job has ranks of its own, numbered from 0, a world communicator of its own, hosts of its own and a
//! start. In the run, the ranks of the second job follow those of the first. What a job does is a recording or
//! a pattern; its times count from its start.

mod feed;
mod place;

use engine::Time;
use serde::Serialize;

pub use feed::Jobs;
pub(crate) use place::{Machine, open, settle};

use crate::observe::RankTotals;
use crate::report::TimeSplit;
pub use crate::request::Job;

/// A job with its ranks in place.
#[derive(Debug, Clone)]
pub struct Placed {
    /// Its name.
    pub name: String,
    /// What it does.
    pub workload: String,
    /// How its ranks were placed.
    pub placement: &'static str,
    /// Its first rank in the run.
    pub first: u32,
    /// How many ranks.
    pub ranks: u32,
    /// When they begin.
    pub start: Time,
}

/// What the report says of a job.
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

impl Placed {
    /// What there is to say of it, at the end of a run.
    pub fn report(&self, totals: &[RankTotals], host_of_rank: &[u32], unfinished: &[u32]) -> JobReport {
        let ranks = self.first as usize..(self.first + self.ranks) as usize;
        let mut hosts = host_of_rank[ranks.clone()].to_vec();
        hosts.sort_unstable();
        hosts.dedup();
        let own = &totals[ranks.clone()];
        let done = !unfinished.iter().any(|rank| ranks.contains(&(*rank as usize)));
        let end = own.iter().map(|totals| totals.finish).max().filter(|_| done);
        JobReport {
            name: self.name.clone(),
            workload: self.workload.clone(),
            placement: self.placement,
            first_rank: self.first,
            ranks: self.ranks,
            hosts_used: hosts.len() as u32,
            start_s: self.start.seconds(),
            end_s: end.map(Time::seconds),
            makespan_s: end.map(|end| end.since(self.start).seconds()),
            time: TimeSplit::of(own),
        }
    }
}
