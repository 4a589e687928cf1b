//! Totals by MPI call, and by rank and call, and the distribution of call lengths.

use engine::{Bytes, Duration, Observer, Time};
use mpi::Record;
use serde::{Deserialize, Serialize};

use super::histogram::Histogram;
use super::{Detail, View, of_kind, restored, saved};
use crate::table::{Column, Table};

/// Totals of one MPI function on one rank.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallSummary {
    /// Number of calls.
    pub count: u64,
    /// Total time.
    pub total: Duration,
    /// Longest call.
    pub max: Duration,
    /// Part of `total` during which nothing was on its way to the caller.
    pub waiting: Duration,
    /// Bytes that the calls themselves sent or received.
    pub bytes: Bytes,
}

/// Totals of one MPI function over all ranks; their sum may exceed a [`Duration`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallTotals {
    /// Number of calls.
    pub count: u64,
    /// Total time \[ps\].
    pub total_ps: u128,
    /// Longest call.
    pub max: Duration,
    /// Part of `total_ps` during which nothing was on its way to the caller \[ps\].
    pub waiting_ps: u128,
    /// Bytes that the calls themselves sent or received.
    pub bytes: Bytes,
}

impl CallTotals {
    fn add(&mut self, length: Duration, waiting: Duration, bytes: Bytes) {
        self.count += 1;
        self.total_ps += u128::from(length.0);
        self.max = self.max.max(length);
        self.waiting_ps += u128::from(waiting.0);
        self.bytes += bytes;
    }

    fn absorb(&mut self, other: &CallTotals) {
        self.count += other.count;
        self.total_ps += other.total_ps;
        self.max = self.max.max(other.max);
        self.waiting_ps += other.waiting_ps;
        self.bytes += other.bytes;
    }

    /// Total time \[s\].
    pub fn total_s(&self) -> f64 {
        self.total_ps as f64 / PS_PER_S
    }

    /// Part of the total during which nothing was on its way to the caller \[s\].
    pub fn waiting_s(&self) -> f64 {
        self.waiting_ps as f64 / PS_PER_S
    }
}

const PS_PER_S: f64 = 1e12;

impl CallSummary {
    fn add(&mut self, length: Duration, waiting: Duration, bytes: Bytes) {
        self.count += 1;
        self.total += length;
        self.max = self.max.max(length);
        self.waiting += waiting;
        self.bytes += bytes;
    }
}

/// Totals by call; with tables also by rank and call, with the distribution.
#[derive(Debug, Serialize, Deserialize)]
pub struct Calls {
    /// Functions seen so far; a call's index is its position here.
    #[serde(with = "super::names")]
    names: Vec<&'static str>,
    totals: Vec<CallTotals>,
    /// Totals by rank, then by call; empty without tables.
    by_rank: Vec<Vec<CallSummary>>,
    lengths: Vec<Histogram>,
}

impl Calls {
    /// Makes empty totals for `ranks` ranks.
    pub fn new(ranks: u32, detail: Detail) -> Calls {
        let rows = if detail == Detail::Screen { 0 } else { ranks as usize };
        Calls { names: Vec::new(), totals: Vec::new(), by_rank: vec![Vec::new(); rows], lengths: Vec::new() }
    }

    /// `(name, totals)` in descending order of the total time, ties by name.
    pub fn totals(&self) -> Vec<(&'static str, CallTotals)> {
        let mut totals: Vec<_> = self.names.iter().copied().zip(self.totals.iter().copied()).collect();
        totals.sort_by(|a, b| b.1.total_ps.cmp(&a.1.total_ps).then(a.0.cmp(b.0)));
        totals
    }

    /// Indices of the calls in order of names: the order of their first calls depends on the domains.
    fn by_name(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.names.len()).collect();
        order.sort_unstable_by_key(|call| self.names[*call]);
        order
    }

    fn index(&mut self, name: &'static str) -> usize {
        // Mostly the text at the same address.
        let same = self.names.iter().position(|known| std::ptr::eq(*known, name));
        same.unwrap_or_else(|| self.index_of_equal(name))
    }

    #[cold]
    fn index_of_equal(&mut self, name: &'static str) -> usize {
        let known = self.names.iter().position(|known| *known == name);
        known.unwrap_or_else(|| {
            self.names.push(name);
            self.totals.push(CallTotals::default());
            self.lengths.push(Histogram::default());
            self.names.len() - 1
        })
    }
}

impl Observer<Record> for Calls {
    #[inline]
    fn record(&mut self, _now: Time, record: &Record) {
        let Record::Call { rank, name, begin, end, ref causes, bytes } = *record else { return };
        let waiting = causes.waiting();
        let index = self.index(name);
        let length = end.since(begin);
        self.totals[index].add(length, waiting, bytes);
        if let Some(row) = self.by_rank.get_mut(rank.0 as usize) {
            if index >= row.len() {
                row.resize(index + 1, CallSummary::default());
            }
            row[index].add(length, waiting, bytes);
            self.lengths[index].add(length);
        }
    }
}

impl View for Calls {
    fn absorb(&mut self, other: Box<dyn View>) {
        let other: Calls = of_kind(other);
        let places: Vec<usize> = other.names.iter().map(|name| self.index(name)).collect();
        for ((place, totals), lengths) in places.iter().zip(&other.totals).zip(&other.lengths) {
            self.totals[*place].absorb(totals);
            self.lengths[*place].absorb(lengths);
        }
        // All calls of a rank are in one domain.
        let rows = self.by_rank.iter_mut().zip(&other.by_rank).filter(|(_, theirs)| !theirs.is_empty());
        for (row, theirs) in rows {
            row.resize(self.names.len(), CallSummary::default());
            theirs.iter().zip(&places).for_each(|(cell, place)| row[*place] = *cell);
        }
    }

    fn save(&self) -> Vec<u8> {
        saved(self)
    }

    fn restore(&mut self, saved: &[u8]) {
        *self = restored(saved);
    }

    fn tables(&self) -> Vec<Table> {
        let order = self.by_name();
        let cells = |rank: usize, row: &'_ [CallSummary]| -> Vec<(usize, usize, CallSummary)> {
            let known = order.iter().filter(|call| **call < row.len());
            known.map(|call| (rank, *call, row[*call])).filter(|(_, _, cell)| cell.count > 0).collect()
        };
        let by_rank = self.by_rank.iter().enumerate();
        let all: Vec<_> = by_rank.flat_map(|(rank, row)| cells(rank, row)).collect();
        let rows = || all.iter().map(|(rank, call, cell)| (*rank, *call, cell));
        let seconds = |of: fn(&CallSummary) -> Duration| {
            Column::F64(rows().map(|(_, _, cell)| of(cell).seconds()).collect())
        };
        let calls = Table::new(
            "calls",
            vec![
                ("rank", Column::U32(rows().map(|(rank, _, _)| rank as u32).collect())),
                ("call", Column::Text(rows().map(|(_, call, _)| self.names[call].to_string()).collect())),
                ("count", Column::U64(rows().map(|(_, _, cell)| cell.count).collect())),
                ("total_s", seconds(|cell| cell.total)),
                ("max_s", seconds(|cell| cell.max)),
                ("waiting_s", seconds(|cell| cell.waiting)),
                ("bytes", Column::U64(rows().map(|(_, _, cell)| cell.bytes.0).collect())),
            ],
        );
        let bins = || {
            let named = order.iter().map(|call| (self.names[*call], &self.lengths[*call]));
            named.flat_map(|(name, histogram)| histogram.bins().map(move |bin| (name, bin)))
        };
        let durations = Table::new(
            "call_durations",
            vec![
                ("call", Column::Text(bins().map(|(name, _)| name.to_string()).collect())),
                ("low_s", Column::F64(bins().map(|(_, bin)| bin.0).collect())),
                ("high_s", Column::F64(bins().map(|(_, bin)| bin.1).collect())),
                ("count", Column::U64(bins().map(|(_, bin)| bin.2).collect())),
            ],
        );
        vec![calls, durations]
    }
}
