//! Every MPI call and stretch of computing, in the order in which they end, up to a limit; those that end
//! at the same time in the order of ranks.

use engine::{Observer, Time};
use mpi::Record;
use serde::{Deserialize, Serialize};

use super::names::Name;
use super::{View, of_kind, restored, saved};
use crate::table::{Column, Table};

/// The first so many records.
#[derive(Debug, Serialize, Deserialize)]
pub struct Records {
    limit: usize,
    /// How many there were, those beyond the limit included.
    count: u64,
    /// In the order of ends. Beyond the limit, those that end with the last: only in the order of ranks
    /// is it known which of them are to be kept.
    rows: Vec<Row>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Row {
    rank: u32,
    #[serde(with = "super::names::one")]
    name: Name,
    begin: Time,
    end: Time,
}

impl Records {
    /// Keeps at most `limit` records.
    pub fn new(limit: u32) -> Records {
        Records { limit: limit as usize, count: 0, rows: Vec::new() }
    }

    fn keep(&mut self, row: Row) {
        self.count += 1;
        let is_beyond = self.rows.len() >= self.limit;
        if is_beyond && self.rows.last().is_none_or(|last| last.end < row.end) {
            return;
        }
        self.rows.push(row);
    }

    /// Those up to the limit.
    fn kept(&self) -> Vec<&Row> {
        let mut rows: Vec<&Row> = self.rows.iter().collect();
        // Those of one rank stay in order.
        rows.sort_by_key(|row| (row.end, row.rank));
        rows.truncate(self.limit);
        rows
    }
}

impl Observer<Record> for Records {
    fn record(&mut self, _now: Time, record: &Record) {
        match *record {
            Record::Compute { rank, begin, end } => {
                self.keep(Row { rank: rank.0, name: "compute", begin, end });
            }
            Record::Call { rank, name, begin, end, .. } => self.keep(Row { rank: rank.0, name, begin, end }),
            _ => {}
        }
    }
}

impl View for Records {
    fn absorb(&mut self, other: Box<dyn View>) {
        let other: Records = of_kind(other);
        self.count += other.count;
        self.rows.extend(other.rows);
    }

    fn save(&self) -> Vec<u8> {
        saved(self)
    }

    fn restore(&mut self, saved: &[u8]) {
        *self = restored(saved);
    }

    fn warning(&self) -> Option<String> {
        if self.count <= self.limit as u64 {
            return None;
        }
        let end = self.kept().last()?.end;
        Some(format!(
            "the timeline ends at {end}: it holds the first {} of {} calls and stretches of computing",
            self.limit, self.count
        ))
    }

    fn tables(&self) -> Vec<Table> {
        let rows = self.kept();
        vec![Table::new(
            "call_records",
            vec![
                ("rank", Column::U32(rows.iter().map(|row| row.rank).collect())),
                ("call", Column::Text(rows.iter().map(|row| row.name.to_string()).collect())),
                ("begin_s", Column::F64(rows.iter().map(|row| row.begin.seconds()).collect())),
                ("end_s", Column::F64(rows.iter().map(|row| row.end.seconds()).collect())),
            ],
        )]
    }
}
