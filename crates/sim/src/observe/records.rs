//! Every MPI call and stretch of computing, in the order in which they end, up to a limit.

use engine::{Observer, Time};
use mpi::Record;

use super::View;
use crate::table::{Column, Table};

/// The first so many records.
#[derive(Debug)]
pub struct Records {
    limit: u32,
    /// How many there were after the limit.
    left_out: u64,
    rows: Vec<(u32, &'static str, Time, Time)>,
}

impl Records {
    /// Keeps at most `limit` records.
    pub fn new(limit: u32) -> Records {
        Records { limit, left_out: 0, rows: Vec::new() }
    }
}

impl Observer<Record> for Records {
    fn record(&mut self, _now: Time, record: &Record) {
        let row = match record {
            Record::Compute { rank, begin, end } => (rank.0, "compute", *begin, *end),
            Record::Call { rank, name, begin, end, .. } => (rank.0, *name, *begin, *end),
            _ => return,
        };
        if self.rows.len() < self.limit as usize {
            self.rows.push(row);
        } else {
            self.left_out += 1;
        }
    }
}

impl View for Records {
    fn warning(&self) -> Option<String> {
        let (.., end) = self.rows.last().filter(|_| self.left_out > 0)?;
        Some(format!(
            "the timeline ends at {end}: it holds the first {} of {} calls and stretches of computing",
            self.limit,
            u64::from(self.limit) + self.left_out
        ))
    }

    fn tables(&self) -> Vec<Table> {
        vec![Table::new(
            "call_records",
            vec![
                ("rank", Column::U32(self.rows.iter().map(|row| row.0).collect())),
                ("call", Column::Text(self.rows.iter().map(|row| row.1.to_string()).collect())),
                ("begin_s", Column::F64(self.rows.iter().map(|row| row.2.seconds()).collect())),
                ("end_s", Column::F64(self.rows.iter().map(|row| row.3.seconds()).collect())),
            ],
        )]
    }
}
