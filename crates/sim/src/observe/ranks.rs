//! Totals by rank: where its time went, and what it sent and received.

use engine::{Duration, Observer, Time};
use mpi::{Cause, Causes, Path, Record};
use serde::{Deserialize, Serialize};

use super::{View, of_kind, restored, saved};
use crate::table::{Column, Table};

/// One rank's totals.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankTotals {
    /// Computing.
    pub compute: Duration,
    /// Its longest stretch of computing.
    pub longest: Duration,
    /// Number of its stretches of computing.
    pub stretches: u64,
    /// In MPI calls, by cause.
    pub causes: Causes,
    /// When it was done; zero if it never was.
    pub finish: Time,
    /// The critical path up to then.
    pub path: Path,
    /// Messages sent, those of collectives included.
    pub messages_sent: u64,
    /// Their bytes.
    pub bytes_sent: u64,
    /// Messages received.
    pub messages_received: u64,
    /// Their bytes.
    pub bytes_received: u64,
}

impl RankTotals {
    /// In MPI calls with nothing on its way to it.
    pub fn waiting(&self) -> Duration {
        self.causes.waiting()
    }

    /// In MPI calls while something was on its way, overheads included.
    pub fn transfer(&self) -> Duration {
        self.causes.total().saturating_sub(self.waiting())
    }
}

/// The totals of all ranks.
#[derive(Debug, Serialize, Deserialize)]
pub struct Ranks(Vec<RankTotals>);

impl Ranks {
    /// For this many ranks.
    pub fn new(ranks: u32) -> Ranks {
        Ranks(vec![RankTotals::default(); ranks as usize])
    }
    /// By rank.
    pub fn totals(&self) -> &[RankTotals] {
        &self.0
    }
}

impl Observer<Record> for Ranks {
    #[inline]
    fn record(&mut self, _now: Time, record: &Record) {
        match *record {
            Record::Compute { rank, begin, end } => {
                let (totals, time) = (&mut self.0[rank.0 as usize], end.since(begin));
                totals.compute += time;
                totals.longest = totals.longest.max(time);
                totals.stretches += 1;
            }
            Record::Call { rank, begin, end, causes, .. } => {
                if end > begin {
                    self.0[rank.0 as usize].causes += causes;
                }
            }
            Record::Message { from, to, bytes, .. } => {
                let sender = &mut self.0[from.0 as usize];
                sender.messages_sent += 1;
                sender.bytes_sent = sender.bytes_sent.saturating_add(bytes.0);
                let receiver = &mut self.0[to.0 as usize];
                receiver.messages_received += 1;
                receiver.bytes_received = receiver.bytes_received.saturating_add(bytes.0);
            }
            Record::Contention { .. } | Record::Collective { .. } => {}
            Record::Finish { rank, at, path } => {
                let totals = &mut self.0[rank.0 as usize];
                (totals.finish, totals.path) = (at, path);
            }
        }
    }
}

impl RankTotals {
    fn add(&mut self, other: &RankTotals) {
        self.compute += other.compute;
        self.longest = self.longest.max(other.longest);
        self.stretches += other.stretches;
        self.causes += other.causes;
        // A rank is done in one domain.
        if other.finish > self.finish {
            (self.finish, self.path) = (other.finish, other.path);
        }
        self.messages_sent += other.messages_sent;
        self.bytes_sent = self.bytes_sent.saturating_add(other.bytes_sent);
        self.messages_received += other.messages_received;
        self.bytes_received = self.bytes_received.saturating_add(other.bytes_received);
    }
}

impl View for Ranks {
    /// What a rank has sent is known where it was received.
    fn absorb(&mut self, other: Box<dyn View>) {
        let other: Ranks = of_kind(other);
        self.0.iter_mut().zip(&other.0).for_each(|(totals, more)| totals.add(more));
    }

    fn save(&self) -> Vec<u8> {
        saved(self)
    }

    fn restore(&mut self, saved: &[u8]) {
        *self = restored(saved);
    }

    fn tables(&self) -> Vec<Table> {
        let seconds = |of: fn(&RankTotals) -> f64| Column::F64(self.0.iter().map(of).collect());
        let counts = |of: fn(&RankTotals) -> u64| Column::U64(self.0.iter().map(of).collect());
        let by = |cause| Column::F64(self.0.iter().map(|totals| totals.causes.of(cause).seconds()).collect());
        vec![Table::new(
            "ranks",
            vec![
                ("rank", Column::U32((0..self.0.len() as u32).collect())),
                ("compute_s", seconds(|totals| totals.compute.seconds())),
                ("transfer_s", seconds(|totals| totals.transfer().seconds())),
                ("waiting_s", seconds(|totals| totals.waiting().seconds())),
                ("finish_s", seconds(|totals| totals.finish.seconds())),
                ("messages_sent", counts(|totals| totals.messages_sent)),
                ("bytes_sent", counts(|totals| totals.bytes_sent)),
                ("messages_received", counts(|totals| totals.messages_received)),
                ("bytes_received", counts(|totals| totals.bytes_received)),
                ("late_sender_s", by(Cause::LateSender)),
                ("late_receiver_s", by(Cause::LateReceiver)),
                ("no_progress_s", by(Cause::NoProgress)),
                ("imbalance_s", by(Cause::Imbalance)),
                ("contention_s", by(Cause::Contention)),
                ("bandwidth_s", by(Cause::Bandwidth)),
                ("latency_s", by(Cause::Latency)),
                ("software_s", by(Cause::Software)),
                ("storage_s", by(Cause::Storage)),
            ],
        )]
    }
}
