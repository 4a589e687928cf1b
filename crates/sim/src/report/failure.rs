//! Failure of a run in its report, and the ranks that stand in calls.

use engine::Time;
use mpi::Failure;
use network::Fabric;
use serde::Serialize;

use crate::feed::PlacedJob;
use crate::run::{End, Ended};

/// Failure of the simulated program.
#[derive(Debug, Clone, Serialize)]
pub struct FailureReport {
    /// Kind of the failure: "deadlock", "truncation", "mismatch", "abort", "misuse", or, of the network, "gridlock"
    /// or "unreachable".
    pub kind: &'static str,
    /// Description.
    pub text: String,
    /// Ranks that cannot go on, or that made the mistake.
    pub ranks: Vec<StuckRank>,
}

/// A rank that cannot go on.
#[derive(Debug, Clone, Serialize)]
pub struct StuckRank {
    /// Number of the rank.
    pub rank: u32,
    /// Call that it is in; empty if only the text describes it.
    pub call: String,
    /// Begin of the wait \[s\].
    pub since_s: f64,
    /// Description of what it waits for; empty if the failure is its own.
    pub waits_for: String,
    /// Ranks that it waits for.
    pub waits_for_ranks: Vec<u32>,
    /// Place in the user's program, if known.
    pub place: Option<String>,
}

/// Failure of the run, if it failed.
pub(super) fn failure(fabric: &Fabric, ended: &Ended, jobs: &[PlacedJob]) -> Option<FailureReport> {
    Some(match &ended.end {
        End::Failed(failure) => failure_report(failure, ended.now, jobs),
        End::Gridlock { why, blocked } => FailureReport {
            kind: "gridlock",
            text: format!("the network is in a deadlock: {why}"),
            ranks: blocked.iter().map(stuck).collect(),
        },
        End::CutOff { who, blocked } => FailureReport {
            kind: "unreachable",
            text: format!("no way is left, and none returns: {}", crate::observe::cut_off(fabric, who)),
            ranks: blocked.iter().map(stuck).collect(),
        },
        End::Finished | End::Stopped(_) | End::Uncountable => return None,
    })
}

/// Name of a rank: its number, with its job if there are several.
fn named(rank: mpi::Rank, jobs: &[PlacedJob]) -> String {
    let own = |job: &&PlacedJob| (job.first..job.first + job.ranks).contains(&rank.0);
    match jobs.iter().find(own) {
        Some(job) => format!("rank {} of job '{}'", rank.0 - job.first, job.name),
        None => format!("rank {}", rank.0),
    }
}

fn failure_report(failure: &Failure, now: Time, jobs: &[PlacedJob]) -> FailureReport {
    let standing = |rank: mpi::Rank, call: String| StuckRank {
        rank: rank.0,
        call,
        since_s: now.seconds(),
        waits_for: String::new(),
        waits_for_ranks: Vec::new(),
        place: None,
    };
    let (kind, ranks) = match failure {
        Failure::Deadlock(blocked) => ("deadlock", blocked.iter().map(stuck).collect()),
        Failure::Truncation { rank, call, .. } => ("truncation", vec![standing(*rank, call.clone())]),
        Failure::Mismatch { calls, .. } => {
            ("mismatch", calls.iter().map(|(rank, call)| standing(*rank, call.clone())).collect())
        }
        Failure::Abort { rank, code } => ("abort", vec![standing(*rank, format!("MPI_Abort({code})"))]),
        Failure::Misuse { rank, .. } => ("misuse", vec![standing(*rank, String::new())]),
    };
    FailureReport { kind, text: failure.text(|rank| named(rank, jobs)), ranks }
}

pub(super) fn stuck(blocked: &mpi::Blocked) -> StuckRank {
    StuckRank {
        rank: blocked.rank.0,
        call: blocked.call.clone(),
        since_s: blocked.since.seconds(),
        waits_for: blocked.waits_for.clone(),
        waits_for_ranks: blocked.ranks.iter().map(|rank| rank.0).collect(),
        place: blocked.place.clone(),
    }
}
