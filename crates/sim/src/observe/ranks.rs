//! Totals by rank: split of its time, and messages sent and received.

use std::cmp::Reverse;
use std::sync::Arc;

use engine::{Duration, Observer, Time};
use mpi::{Cause, Causes, Path, Record};
use network::Endpoint;
use serde::{Deserialize, Serialize};

use super::{View, of_kind, restored, saved};
use crate::table::{Column, Table};

/// Totals of a rank.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankTotals {
    /// Time of computing.
    pub compute: Duration,
    /// Longest stretch of computing.
    pub longest: Duration,
    /// Number of stretches of computing.
    pub stretches: u64,
    /// Time in MPI calls, by cause.
    pub causes: Causes,
    /// Time at which it finished; zero if it never did.
    pub finish: Time,
    /// Messages sent, those of collectives included.
    pub messages_sent: u64,
    /// Payload of messages sent \[bytes\].
    pub bytes_sent: u64,
    /// Messages received.
    pub messages_received: u64,
    /// Payload of messages received \[bytes\].
    pub bytes_received: u64,
    /// Messages sent to other hosts.
    pub messages_out: u64,
    /// Payload of messages sent to other hosts \[bytes\].
    pub bytes_out: u64,
    /// Messages received from other hosts.
    pub messages_in: u64,
    /// Payload of messages received from other hosts \[bytes\].
    pub bytes_in: u64,
}

impl RankTotals {
    /// Time in MPI calls with nothing on its way to the rank.
    pub fn waiting(&self) -> Duration {
        self.causes.waiting()
    }

    /// Time in MPI calls while something was on its way, with overheads.
    pub fn transfer(&self) -> Duration {
        self.causes.total().saturating_sub(self.waiting())
    }
}

/// Totals of all ranks.
#[derive(Debug, Serialize, Deserialize)]
pub struct Ranks {
    totals: Vec<RankTotals>,
    last: Option<Last>,
    #[serde(skip)]
    placement: Arc<[Endpoint]>,
}

/// Rank that finished last; the lowest of several.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Last {
    /// Rank.
    pub rank: u32,
    /// Time at which it finished.
    pub finish: Time,
    /// Critical path up to then.
    pub path: Path,
}

impl Ranks {
    /// Makes empty totals of ranks in these places.
    pub fn new(placement: &Arc<[Endpoint]>) -> Ranks {
        let totals = vec![RankTotals::default(); placement.len()];
        Ranks { totals, last: None, placement: placement.clone() }
    }

    /// Totals by rank.
    pub fn totals(&self) -> &[RankTotals] {
        &self.totals
    }

    /// Rank that finished last, once one has finished.
    pub fn last(&self) -> Option<Last> {
        self.last
    }

    fn note_last(&mut self, done: Last) {
        let order = |last: &Last| (last.finish, Reverse(last.rank));
        self.last = self.last.into_iter().chain([done]).max_by_key(order);
    }
}

impl Observer<Record> for Ranks {
    #[inline]
    fn record(&mut self, _now: Time, record: &Record) {
        match *record {
            Record::Compute { rank, begin, end } => {
                let (totals, time) = (&mut self.totals[rank.0 as usize], end.since(begin));
                totals.compute += time;
                totals.longest = totals.longest.max(time);
                totals.stretches += 1;
            }
            Record::Call { rank, begin, end, causes, .. } => {
                if end > begin {
                    self.totals[rank.0 as usize].causes += causes;
                }
            }
            Record::Message { from, to, bytes, .. } => {
                let [here, there] = [from, to].map(|rank| self.placement[rank.0 as usize].host);
                let crosses = u64::from(here != there);
                let sender = &mut self.totals[from.0 as usize];
                sender.messages_sent += 1;
                sender.bytes_sent = sender.bytes_sent.saturating_add(bytes.0);
                sender.messages_out += crosses;
                sender.bytes_out = sender.bytes_out.saturating_add(crosses * bytes.0);
                let receiver = &mut self.totals[to.0 as usize];
                receiver.messages_received += 1;
                receiver.bytes_received = receiver.bytes_received.saturating_add(bytes.0);
                receiver.messages_in += crosses;
                receiver.bytes_in = receiver.bytes_in.saturating_add(crosses * bytes.0);
            }
            Record::Contention { .. } | Record::Collective { .. } => {}
            Record::Finish { rank, at, path } => {
                self.totals[rank.0 as usize].finish = at;
                self.note_last(Last { rank: rank.0, finish: at, path });
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
        self.finish = self.finish.max(other.finish);
        self.messages_sent += other.messages_sent;
        self.bytes_sent = self.bytes_sent.saturating_add(other.bytes_sent);
        self.messages_received += other.messages_received;
        self.bytes_received = self.bytes_received.saturating_add(other.bytes_received);
        self.messages_out += other.messages_out;
        self.bytes_out = self.bytes_out.saturating_add(other.bytes_out);
        self.messages_in += other.messages_in;
        self.bytes_in = self.bytes_in.saturating_add(other.bytes_in);
    }
}

impl View for Ranks {
    /// Adds the totals of another domain: the messages of a rank are counted in the receiver's domain.
    fn absorb(&mut self, other: Box<dyn View>) {
        let other: Ranks = of_kind(other);
        self.totals.iter_mut().zip(&other.totals).for_each(|(totals, more)| totals.add(more));
        other.last.into_iter().for_each(|last| self.note_last(last));
    }

    fn save(&self) -> Vec<u8> {
        saved(self)
    }

    fn restore(&mut self, saved: &[u8]) {
        let placement = std::mem::take(&mut self.placement);
        *self = Ranks { placement, ..restored(saved) };
    }

    fn tables(&self) -> Vec<Table> {
        // A single pass, since the totals of a million ranks do not fit into a cache.
        let (mut seconds, mut counts) = (vec![Vec::new(); SECONDS.len()], vec![Vec::new(); COUNTS.len()]);
        for totals in &self.totals {
            seconds.iter_mut().zip(SECONDS).for_each(|(column, (_, of))| column.push(of(totals)));
            counts.iter_mut().zip(COUNTS).for_each(|(column, (_, of))| column.push(of(totals)));
        }
        let ranks = Column::U32((0..self.totals.len() as u32).collect());
        let seconds = SECONDS.iter().zip(seconds).map(|((name, _), column)| (*name, Column::F64(column)));
        let counts = COUNTS.iter().zip(counts).map(|((name, _), column)| (*name, Column::U64(column)));
        vec![Table::new("ranks", [("rank", ranks)].into_iter().chain(seconds).chain(counts).collect())]
    }
}

/// Value of a column for a rank.
type Of<T> = fn(&RankTotals) -> T;

/// Columns of times \[s\], each with its value for a rank.
const SECONDS: &[(&str, Of<f64>)] = &[
    ("compute_s", |totals| totals.compute.seconds()),
    ("transfer_s", |totals| totals.transfer().seconds()),
    ("waiting_s", |totals| totals.waiting().seconds()),
    ("finish_s", |totals| totals.finish.seconds()),
    ("late_sender_s", |totals| totals.causes.of(Cause::LateSender).seconds()),
    ("late_receiver_s", |totals| totals.causes.of(Cause::LateReceiver).seconds()),
    ("no_progress_s", |totals| totals.causes.of(Cause::NoProgress).seconds()),
    ("imbalance_s", |totals| totals.causes.of(Cause::Imbalance).seconds()),
    ("contention_s", |totals| totals.causes.of(Cause::Contention).seconds()),
    ("bandwidth_s", |totals| totals.causes.of(Cause::Bandwidth).seconds()),
    ("latency_s", |totals| totals.causes.of(Cause::Latency).seconds()),
    ("software_s", |totals| totals.causes.of(Cause::Software).seconds()),
    ("storage_s", |totals| totals.causes.of(Cause::Storage).seconds()),
];

/// Columns of counts, each with its value for a rank.
const COUNTS: &[(&str, Of<u64>)] = &[
    ("messages_sent", |totals| totals.messages_sent),
    ("bytes_sent", |totals| totals.bytes_sent),
    ("messages_received", |totals| totals.messages_received),
    ("bytes_received", |totals| totals.bytes_received),
];
