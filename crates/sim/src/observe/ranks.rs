//! Totals by rank: where its time went, and what it sent and received.

use engine::{Duration, Observer, Time};
use mpi::Record;
use serde::{Deserialize, Serialize};

use super::{View, of_kind, restored, saved};
use crate::table::{Column, Table};

/// One rank's totals.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankTotals {
    /// Computing.
    pub compute: Duration,
    /// In MPI calls, waiting included.
    pub calls: Duration,
    /// In MPI calls with nothing on its way to it.
    pub waiting: Duration,
    /// When it was done; zero if it never was.
    pub finish: Time,
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
    /// In MPI calls while something was on its way, overheads included.
    pub fn transfer(&self) -> Duration {
        self.calls.saturating_sub(self.waiting)
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
            Record::Compute { rank, begin, end } => self.0[rank.0 as usize].compute += end.since(begin),
            Record::Call { rank, begin, end, waiting, .. } => {
                let totals = &mut self.0[rank.0 as usize];
                totals.calls += end.since(begin);
                totals.waiting += waiting;
            }
            Record::Message { from, to, bytes, .. } => {
                let sender = &mut self.0[from.0 as usize];
                sender.messages_sent += 1;
                sender.bytes_sent = sender.bytes_sent.saturating_add(bytes.0);
                let receiver = &mut self.0[to.0 as usize];
                receiver.messages_received += 1;
                receiver.bytes_received = receiver.bytes_received.saturating_add(bytes.0);
            }
            Record::Finish { rank, at } => self.0[rank.0 as usize].finish = at,
        }
    }
}

impl RankTotals {
    fn add(&mut self, other: &RankTotals) {
        self.compute += other.compute;
        self.calls += other.calls;
        self.waiting += other.waiting;
        self.finish = self.finish.max(other.finish);
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
        vec![Table::new(
            "ranks",
            vec![
                ("rank", Column::U32((0..self.0.len() as u32).collect())),
                ("compute_s", seconds(|totals| totals.compute.seconds())),
                ("transfer_s", seconds(|totals| totals.transfer().seconds())),
                ("waiting_s", seconds(|totals| totals.waiting.seconds())),
                ("finish_s", seconds(|totals| totals.finish.seconds())),
                ("messages_sent", counts(|totals| totals.messages_sent)),
                ("bytes_sent", counts(|totals| totals.bytes_sent)),
                ("messages_received", counts(|totals| totals.messages_received)),
                ("bytes_received", counts(|totals| totals.bytes_received)),
            ],
        )]
    }
}
