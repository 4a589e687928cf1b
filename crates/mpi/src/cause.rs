//! Causes of time in MPI: why a rank is in a call, to the picosecond.

use std::ops::AddAssign;

use engine::Duration;
use serde::{Deserialize, Serialize};

/// Reason why a rank spends time in MPI. Those up to [`Cause::Software`] can also lie on the critical path, see [`Path`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// A handshake waited for a rank that computed outside MPI, where no library makes progress.
    NoProgress,
    /// The message took longer than on an idle network.
    Contention,
    /// The transfer of the message's bytes at the narrowest rate of its path.
    Bandwidth,
    /// The latency of the path, of the NIC's set-up and of the regime.
    Latency,
    /// MPI's own work: overheads, copies, reductions, polls.
    Software,
    /// The partner had not sent yet.
    LateSender,
    /// The partner had not posted its receive yet.
    LateReceiver,
    /// A rank on which this one depends had not entered the collective yet.
    Imbalance,
    /// The file system worked.
    Storage,
}

impl Cause {
    /// All of them, in the order of their numbers.
    pub const ALL: [Cause; 9] = [
        Cause::NoProgress,
        Cause::Contention,
        Cause::Bandwidth,
        Cause::Latency,
        Cause::Software,
        Cause::LateSender,
        Cause::LateReceiver,
        Cause::Imbalance,
        Cause::Storage,
    ];

    /// Those where the cause is the partner, rather than the network or the library.
    const WAITING: [Cause; 4] = [Cause::NoProgress, Cause::LateSender, Cause::LateReceiver, Cause::Imbalance];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Cause::NoProgress => "no_progress",
            Cause::Contention => "contention",
            Cause::Bandwidth => "bandwidth",
            Cause::Latency => "latency",
            Cause::Software => "software",
            Cause::LateSender => "late_sender",
            Cause::LateReceiver => "late_receiver",
            Cause::Imbalance => "imbalance",
            Cause::Storage => "storage",
        }
    }
}

/// Time by cause.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Causes([Duration; Cause::ALL.len()]);

impl Causes {
    /// No time at all.
    pub const NONE: Causes = Causes([Duration::ZERO; Cause::ALL.len()]);

    /// Adds `time` to that of `cause`.
    #[inline]
    pub fn add(&mut self, cause: Cause, time: Duration) {
        self.0[cause as usize] += time;
    }

    /// Takes off `time`, that of software first: work is all that is counted before it is done.
    pub fn take_back(&mut self, time: Duration) {
        let mut left = time;
        for cause in [Cause::Software].into_iter().chain(Cause::ALL) {
            let taken = self.of(cause).min(left);
            self.0[cause as usize] = self.of(cause).saturating_sub(taken);
            left = left.saturating_sub(taken);
        }
    }

    /// The time of `cause`.
    pub fn of(&self, cause: Cause) -> Duration {
        self.0[cause as usize]
    }

    /// The sum over all causes.
    #[inline]
    pub fn total(&self) -> Duration {
        self.0.iter().copied().sum()
    }

    /// The time in which nothing was on its way to the rank, since its partners were late.
    pub fn waiting(&self) -> Duration {
        Cause::WAITING.into_iter().map(|cause| self.of(cause)).sum()
    }
}

impl AddAssign for Causes {
    #[inline]
    fn add_assign(&mut self, other: Causes) {
        self.0.iter_mut().zip(other.0).for_each(|(time, more)| *time += more);
    }
}

/// Causes that lie on a path: those before [`Cause::LateSender`].
pub const ON_PATH: usize = 5;

/// The critical path up to a moment of a rank: the chain of dependencies that ends there, with the time since the start of
/// the run that it spent for each cause. The rest is computing (and the file system): while a rank waits for a partner, the
/// path runs through the partner.
///
/// The last of an event's predecessors is on the path. A message carries the path of its sender, adds its own transfer,
/// and becomes the path of a receiver that waited for it. Source: the definition of the critical path of a program
/// activity graph, followed forwards: Yang, Miller, "Critical path analysis for the execution of
/// parallel and distributed programs" (ICDCS 1988); online as in Hollingsworth, "An online computation of critical
/// path profiling" (SPDT 1996).
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Path(pub [u64; ON_PATH]);

impl Path {
    /// Extends the path by `time` because of `cause`; causes that lie on no path count as computing.
    #[inline]
    pub fn add(&mut self, cause: Cause, time: Duration) {
        if let Some(sum) = self.0.get_mut(cause as usize) {
            *sum += time.0;
        }
    }

    /// Takes off `time` of software, which was counted before it was done.
    pub fn take_back(&mut self, time: Duration) {
        let software = &mut self.0[Cause::Software as usize];
        *software = software.saturating_sub(time.0);
    }

    /// The time of `cause` on the path; zero for causes that lie on no path.
    pub fn of(&self, cause: Cause) -> Duration {
        Duration(self.0.get(cause as usize).copied().unwrap_or(0))
    }

    /// The sum over all causes: the path without computing.
    pub fn total(&self) -> Duration {
        Duration(self.0.iter().sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_numbered_in_order_and_the_first_lie_on_paths() {
        assert!(Cause::ALL.into_iter().enumerate().all(|(number, cause)| cause as usize == number));
        let mut path = Path::default();
        Cause::ALL.into_iter().for_each(|cause| path.add(cause, Duration(1)));
        assert_eq!(path.total(), Duration(ON_PATH as u64));
        assert_eq!(path.of(Cause::LateSender), Duration::ZERO);
    }
}
