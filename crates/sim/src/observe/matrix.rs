//! Communication matrix: exact up to 1,024 ranks, in equal bins of ranks beyond.

use engine::{Observer, Time};
use mpi::Record;
use serde::{Deserialize, Serialize};

use super::{Interest, View, of_kind, restored, saved};
use crate::table::{Column, Table};

const MOST_BINS: u32 = 1024;

/// Messages and bytes from bin to bin.
#[derive(Debug, Serialize, Deserialize)]
pub struct Matrix {
    ranks_per_bin: u32,
    bins: u32,
    /// `[messages, bytes]`, in rows of senders.
    cells: Vec<[u64; 2]>,
}

impl Matrix {
    /// Makes an empty matrix for `ranks` ranks.
    pub fn new(ranks: u32) -> Matrix {
        let ranks_per_bin = ranks.div_ceil(MOST_BINS).max(1);
        let bins = ranks.div_ceil(ranks_per_bin);
        Matrix { ranks_per_bin, bins, cells: vec![[0; 2]; (bins * bins) as usize] }
    }
}

impl Observer<Record> for Matrix {
    fn record(&mut self, _now: Time, record: &Record) {
        if let Record::Message { from, to, bytes, .. } = record {
            let (row, column) = (from.0 / self.ranks_per_bin, to.0 / self.ranks_per_bin);
            let cell = &mut self.cells[(row * self.bins + column) as usize];
            cell[0] += 1;
            cell[1] = cell[1].saturating_add(bytes.0);
        }
    }
}

impl View for Matrix {
    fn interest(&self) -> Interest {
        Interest::Messages
    }

    fn absorb(&mut self, other: Box<dyn View>) {
        let other: Matrix = of_kind(other);
        for (cell, more) in self.cells.iter_mut().zip(&other.cells) {
            cell[0] += more[0];
            cell[1] = cell[1].saturating_add(more[1]);
        }
    }

    fn save(&self) -> Vec<u8> {
        saved(self)
    }

    fn restore(&mut self, saved: &[u8]) {
        *self = restored(saved);
    }

    /// `source` and `destination` are the first rank of their bin.
    fn tables(&self) -> Vec<Table> {
        let used = || self.cells.iter().enumerate().filter(|(_, cell)| cell[0] > 0);
        let first = |bin: usize| bin as u32 * self.ranks_per_bin;
        let bins = self.bins as usize;
        vec![Table::new(
            "matrix",
            vec![
                ("source", Column::U32(used().map(|(index, _)| first(index / bins)).collect())),
                ("destination", Column::U32(used().map(|(index, _)| first(index % bins)).collect())),
                ("ranks_per_bin", Column::U32(used().map(|_| self.ranks_per_bin).collect())),
                ("messages", Column::U64(used().map(|(_, cell)| cell[0]).collect())),
                ("bytes", Column::U64(used().map(|(_, cell)| cell[1]).collect())),
            ],
        )]
    }
}
