//! Each message with its latency: all of a run, or an equal share of them where they are more than the table may hold.
//!
//! ```text
//! kept: draw(sender, number) < share,   share = 1, ½, ¼, …: the first at which no more than `rows` messages are kept
//! ```
//!
//! The draw depends on nothing but the message: the same messages are kept for any number of threads and processes. A
//! view of a part of the ranks has never halved the share more often than the whole run has to.

use engine::{Observer, Time, random};
use mpi::Record;
use serde::{Deserialize, Serialize};

use super::{Interest, Summary, View, of_kind, restored, saved};
use crate::table::{Column, Table};

/// Messages of a share of the run.
#[derive(Debug, Serialize, Deserialize)]
pub struct Messages {
    rows: usize,
    /// The share is one half to this power.
    halvings: u32,
    /// Number of all messages.
    count: u64,
    /// In the order in which they were received, by domain.
    kept: Vec<Row>,
    /// Number of the first of them that have been handed out while the run goes on.
    given: usize,
}

/// One message; its fields are in the order in which messages are sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Row {
    received: Time,
    from: u32,
    number: u32,
    to: u32,
    sent: Time,
    bytes: u64,
    draw: u32,
    collective: bool,
}

/// Share of the messages that the table `messages` holds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MessagesReport {
    /// All messages received, those of collectives included.
    pub messages: u64,
    /// Messages in the table.
    pub kept: u64,
    /// Share that was kept, a power of one half \[0..1\]: messages whose `sample` is below it.
    pub share: f64,
}

/// Number of values that a draw has.
const DRAWS: u64 = 1 << 32;

impl Messages {
    /// Keeps at most `rows` messages.
    pub fn new(rows: u32) -> Messages {
        Messages { rows: rows as usize, halvings: 0, count: 0, kept: Vec::new(), given: 0 }
    }

    fn is_within_share(&self, draw: u32) -> bool {
        u64::from(draw) < DRAWS >> self.halvings
    }

    fn share(&self) -> f64 {
        0.5_f64.powi(self.halvings as i32)
    }

    /// Halves the share until no more messages are left than the table may hold.
    fn halve(&mut self) {
        while self.kept.len() > self.rows {
            self.halvings += 1;
            self.thin();
        }
    }

    /// Drops the messages beyond the share.
    fn thin(&mut self) {
        let limit = DRAWS >> self.halvings;
        let is_kept = |row: &Row| u64::from(row.draw) < limit;
        self.given = self.kept[..self.given].iter().filter(|row| is_kept(row)).count();
        self.kept.retain(is_kept);
    }

    fn table(&self, rows: &[Row]) -> Table {
        let whole = |of: fn(&Row) -> u32| Column::U32(rows.iter().map(of).collect());
        let number = |of: fn(&Row) -> f64| Column::F64(rows.iter().map(of).collect());
        Table::new(
            "messages",
            vec![
                ("source", whole(|row| row.from)),
                ("destination", whole(|row| row.to)),
                ("number", whole(|row| row.number)),
                ("bytes", Column::U64(rows.iter().map(|row| row.bytes).collect())),
                ("sent_s", number(|row| row.sent.seconds())),
                ("received_s", number(|row| row.received.seconds())),
                ("latency_s", number(|row| row.received.since(row.sent).seconds())),
                ("collective", whole(|row| row.collective.into())),
                ("sample", number(|row| f64::from(row.draw) / DRAWS as f64)),
                ("share", Column::F64(vec![self.share(); rows.len()])),
            ],
        )
    }
}

impl Observer<Record> for Messages {
    fn record(&mut self, _now: Time, record: &Record) {
        let Record::Message { from, to, number, bytes, sent, received, collective } = *record else { return };
        self.count += 1;
        let draw = random::at(0, "messages", from.0.into(), number.into());
        if self.is_within_share(draw) {
            let (from, to, bytes) = (from.0, to.0, bytes.0);
            self.kept.push(Row { received, from, number, to, sent, bytes, draw, collective });
            self.halve();
        }
    }
}

impl View for Messages {
    fn interest(&self) -> Interest {
        Interest::Messages
    }

    fn absorb(&mut self, other: Box<dyn View>) {
        let other: Messages = of_kind(other);
        self.count += other.count;
        self.halvings = self.halvings.max(other.halvings);
        self.kept.extend(other.kept);
        self.thin();
        self.halve();
    }

    fn save(&self) -> Vec<u8> {
        saved(self)
    }

    fn restore(&mut self, saved: &[u8]) {
        *self = restored(saved);
    }

    fn tables(&self) -> Vec<Table> {
        let mut rows = self.kept.clone();
        rows.sort_unstable();
        vec![self.table(&rows)]
    }

    fn new_rows(&mut self, _now: Time) -> Vec<Table> {
        let new = std::mem::replace(&mut self.given, self.kept.len());
        vec![self.table(&self.kept[new..])]
    }

    fn summarize(&self, summary: &mut Summary) {
        summary.kept_messages =
            Some(MessagesReport { messages: self.count, kept: self.kept.len() as u64, share: self.share() });
    }
}
