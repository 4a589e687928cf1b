//! Every MPI call and stretch of computing, in the order of their ends (ties by rank), up to a limit. Messages
//! between them, in the order in which they are received.

use engine::{Observer, Time};
use mpi::Record;
use serde::{Deserialize, Serialize};

use super::names::Name;
use super::{View, of_kind, restored, saved};
use crate::table::{Column, Table};

/// First records, up to a limit.
#[derive(Debug, Serialize, Deserialize)]
pub struct Records {
    limit: usize,
    /// Number of all records, with those beyond the limit.
    count: u64,
    /// Records in the order of their ends. Beyond the limit, all records that end at the time of the last one: only
    /// the final order by rank decides which of them are kept.
    rows: Vec<Row>,
    /// Messages received; truncated to the first ones in order when there are twice as many as are kept.
    messages: Vec<Received>,
    /// Number of all messages received.
    received: u64,
}

/// Number of messages kept for each call record of the limit, since a collective sends several.
const MESSAGES_PER_CALL: usize = 16;

/// One message; its fields are in the order in which messages are sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Received {
    at: Time,
    to: u32,
    from: u32,
    sent: Time,
    bytes: u64,
}

#[derive(Debug, Serialize, Deserialize)]
struct Row {
    rank: u32,
    #[serde(with = "super::names::one")]
    name: Name,
    begin: Time,
    end: Time,
    bytes: u64,
}

impl Records {
    /// Keeps at most `limit` records.
    pub fn new(limit: u32) -> Records {
        Records { limit: limit as usize, count: 0, rows: Vec::new(), messages: Vec::new(), received: 0 }
    }

    fn keep(&mut self, row: Row) {
        self.count += 1;
        let is_beyond = self.rows.len() >= self.limit;
        if is_beyond && self.rows.last().is_none_or(|last| last.end < row.end) {
            return;
        }
        self.rows.push(row);
    }

    fn most_messages(&self) -> usize {
        self.limit.saturating_mul(MESSAGES_PER_CALL)
    }

    fn keep_message(&mut self, message: Received) {
        self.received += 1;
        self.messages.push(message);
        if self.messages.len() >= self.most_messages().saturating_mul(2) {
            self.messages.sort_unstable();
            self.messages.truncate(self.most_messages());
        }
    }

    /// First messages, up to the end of the last call that is kept.
    fn kept_messages(&self) -> Vec<Received> {
        let Some(last) = self.kept().last().map(|row| row.end) else { return Vec::new() };
        let mut messages = self.messages.clone();
        messages.sort_unstable();
        messages.truncate(self.most_messages());
        messages.retain(|message| message.at <= last);
        messages
    }

    /// Records up to the limit.
    fn kept(&self) -> Vec<&Row> {
        let mut rows: Vec<&Row> = self.rows.iter().collect();
        // The sort is stable, so records of one rank stay in order.
        rows.sort_by_key(|row| (row.end, row.rank));
        rows.truncate(self.limit);
        rows
    }
}

impl Observer<Record> for Records {
    fn record(&mut self, _now: Time, record: &Record) {
        match *record {
            Record::Compute { rank, begin, end } => {
                self.keep(Row { rank: rank.0, name: "compute", begin, end, bytes: 0 });
            }
            Record::Call { rank, name, begin, end, bytes, .. } => {
                self.keep(Row { rank: rank.0, name, begin, end, bytes: bytes.0 });
            }
            Record::Message { from, to, bytes, sent, received, .. } => {
                self.keep_message(Received { at: received, to: to.0, from: from.0, sent, bytes: bytes.0 });
            }
            Record::Contention { .. } | Record::Collective { .. } | Record::Finish { .. } => {}
        }
    }
}

impl View for Records {
    fn absorb(&mut self, other: Box<dyn View>) {
        let other: Records = of_kind(other);
        self.count += other.count;
        self.rows.extend(other.rows);
        self.messages.extend(other.messages);
        self.received += other.received;
    }

    fn save(&self) -> Vec<u8> {
        saved(self)
    }

    fn restore(&mut self, saved: &[u8]) {
        *self = restored(saved);
    }

    fn warning(&self) -> Option<String> {
        let end = self.kept().last()?.end;
        let all_calls = self.count <= self.limit as u64;
        if !all_calls {
            return Some(format!(
                "the timeline ends at {end}: it holds the first {} of {} calls and stretches of computing",
                self.limit, self.count
            ));
        }
        (self.received > self.most_messages() as u64).then(|| {
            format!("the timeline shows the first {} of {} messages", self.most_messages(), self.received)
        })
    }

    fn tables(&self) -> Vec<Table> {
        let rows = self.kept();
        let calls = Table::new(
            "call_records",
            vec![
                ("rank", Column::U32(rows.iter().map(|row| row.rank).collect())),
                ("call", Column::Text(rows.iter().map(|row| row.name.to_string()).collect())),
                ("begin_s", Column::F64(rows.iter().map(|row| row.begin.seconds()).collect())),
                ("end_s", Column::F64(rows.iter().map(|row| row.end.seconds()).collect())),
                ("bytes", Column::U64(rows.iter().map(|row| row.bytes).collect())),
            ],
        );
        let messages = self.kept_messages();
        let ranks = |of: fn(&Received) -> u32| Column::U32(messages.iter().map(of).collect());
        let times = |of: fn(&Received) -> Time| {
            Column::F64(messages.iter().map(|message| of(message).seconds()).collect())
        };
        let messages = Table::new(
            "message_records",
            vec![
                ("source", ranks(|message| message.from)),
                ("destination", ranks(|message| message.to)),
                ("bytes", Column::U64(messages.iter().map(|message| message.bytes).collect())),
                ("sent_s", times(|message| message.sent)),
                ("received_s", times(|message| message.at)),
            ],
        );
        vec![calls, messages]
    }
}
