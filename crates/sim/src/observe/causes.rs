//! Causes of the time in MPI, the critical path, and balance: the data for the sentence about the bottleneck of a
//! run.

use engine::{Duration, Time};
use mpi::Cause;
use serde::Serialize;

use super::ranks::Last;
use super::{RankTotals, Ranks};

/// Time in MPI by cause, summed over ranks; together all time in MPI.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct CausesReport {
    /// The partner had not sent yet \[s\].
    pub late_sender_s: f64,
    /// The partner had not posted its receive yet \[s\].
    pub late_receiver_s: f64,
    /// A handshake waited for a rank that computed outside MPI \[s\].
    pub no_progress_s: f64,
    /// A rank had not entered a collective yet \[s\].
    pub imbalance_s: f64,
    /// Messages took longer than on an idle network \[s\].
    pub contention_s: f64,
    /// Bytes over the narrowest rate of their path \[s\].
    pub bandwidth_s: f64,
    /// Latency of paths, NICs and regimes \[s\].
    pub latency_s: f64,
    /// Overheads, copies, reductions and polls \[s\].
    pub software_s: f64,
    /// The file system \[s\].
    pub storage_s: f64,
}

impl CausesReport {
    /// Sums the causes of some ranks.
    pub fn of(ranks: &[RankTotals]) -> CausesReport {
        let mut sums = [0.0; Cause::ALL.len()];
        for rank in ranks {
            Cause::ALL.iter().for_each(|cause| sums[*cause as usize] += rank.causes.of(*cause).seconds());
        }
        let sum = |cause| sums[cause as usize];
        CausesReport {
            late_sender_s: sum(Cause::LateSender),
            late_receiver_s: sum(Cause::LateReceiver),
            no_progress_s: sum(Cause::NoProgress),
            imbalance_s: sum(Cause::Imbalance),
            contention_s: sum(Cause::Contention),
            bandwidth_s: sum(Cause::Bandwidth),
            latency_s: sum(Cause::Latency),
            software_s: sum(Cause::Software),
            storage_s: sum(Cause::Storage),
        }
    }
}

/// The critical path of a run: the chain of dependencies that ends with the last rank's finish. Its parts sum to the
/// makespan.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct CriticalPath {
    /// Rank that finished last, with which the path ends; the lowest of several.
    pub rank: u32,
    /// Computing, sleeping and the file system, on any rank \[s\].
    pub compute_s: f64,
    /// Transfers that would have been complete earlier, had a rank outside MPI made progress \[s\].
    pub no_progress_s: f64,
    /// See [`CausesReport`] \[s\].
    pub contention_s: f64,
    /// See [`CausesReport`] \[s\].
    pub bandwidth_s: f64,
    /// See [`CausesReport`] \[s\].
    pub latency_s: f64,
    /// See [`CausesReport`] \[s\].
    pub software_s: f64,
}

impl CriticalPath {
    /// Critical path of a run whose ranks have all finished.
    pub fn of(ranks: &Ranks) -> Option<CriticalPath> {
        let Last { rank, finish, path } = ranks.last().filter(|last| last.finish > Time::ZERO)?;
        let of = |cause| path.of(cause).seconds();
        Some(CriticalPath {
            rank,
            compute_s: finish.since(Time::ZERO).saturating_sub(path.total()).seconds(),
            no_progress_s: of(Cause::NoProgress),
            contention_s: of(Cause::Contention),
            bandwidth_s: of(Cause::Bandwidth),
            latency_s: of(Cause::Latency),
            software_s: of(Cause::Software),
        })
    }
}

/// Balance of computing and of received bytes over ranks.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Balance {
    /// The rank that computes the most; the lowest of several.
    pub rank: u32,
    /// Computing of that rank \[s\].
    pub compute_s: f64,
    /// Computing of the rank with the next most \[s\].
    pub next_s: f64,
    /// Median of computing over ranks, the lower one of an even number \[s\].
    pub median_s: f64,
    /// Mean of computing over ranks \[s\].
    pub mean_s: f64,
    /// Number of stretches of computing of `rank`.
    pub stretches: u64,
    /// Longest stretch of `rank` \[s\].
    pub longest_s: f64,
    /// Median over ranks of the number of stretches.
    pub median_stretches: u64,
    /// Median over ranks of the longest stretch \[s\].
    pub median_longest_s: f64,
    /// The rank that received the most bytes; the lowest of several.
    pub receiver: u32,
    /// Share of all bytes that `receiver` received \[0..1\].
    pub receiver_share: f64,
}

impl Balance {
    /// Balance of the ranks with these totals, at least one.
    pub fn of(ranks: &[RankTotals]) -> Balance {
        let seconds = |time: Duration| time.seconds();
        let mut computes: Vec<Duration> = ranks.iter().map(|rank| rank.compute).collect();
        let mut longest: Vec<Duration> = ranks.iter().map(|rank| rank.longest).collect();
        let mut stretches: Vec<u64> = ranks.iter().map(|rank| rank.stretches).collect();
        let mean = computes.iter().map(|time| seconds(*time)).sum::<f64>() / computes.len() as f64;
        let (middle, last) = ((ranks.len() - 1) / 2, ranks.len() - 1);
        longest.select_nth_unstable(middle);
        stretches.select_nth_unstable(middle);
        let median = *computes.select_nth_unstable(middle).1;
        // The highest is behind the second highest.
        computes.select_nth_unstable(last.saturating_sub(1));
        let first_of = |is: &dyn Fn(&RankTotals) -> bool| ranks.iter().position(is).unwrap_or(0);
        let most = first_of(&|rank| rank.compute == computes[last]);
        let received: Vec<u64> = ranks.iter().map(|rank| rank.bytes_received).collect();
        let total = received.iter().map(|bytes| *bytes as f64).sum::<f64>().max(1.0);
        let greatest = received.iter().copied().max().unwrap_or(0);
        Balance {
            rank: most as u32,
            compute_s: seconds(computes[last]),
            next_s: seconds(computes[last.saturating_sub(1)]),
            median_s: seconds(median),
            mean_s: mean,
            stretches: ranks[most].stretches,
            longest_s: seconds(ranks[most].longest),
            median_stretches: stretches[middle],
            median_longest_s: seconds(longest[middle]),
            receiver: first_of(&|rank| rank.bytes_received == greatest) as u32,
            receiver_share: greatest as f64 / total,
        }
    }
}
