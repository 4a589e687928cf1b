//! Communication matrices by period of simulated time: between ranks, and between the routers of their hosts.
//!
//! A message counts in the period in which its receiver has it. Each matrix has bins of ranks or routers, so few that 16
//! periods of a full matrix would fit into its rows; periods double when the rows run out. Neither depends on how the run
//! is cut: a part of the run has never more rows than the whole.

use std::collections::{BTreeMap, BTreeSet};

use engine::{Bytes, Duration, Observer, Time};
use mpi::Record;
use serde::{Deserialize, Serialize};

use super::{Interest, RankScope, View, of_kind, restored, saved};
use crate::table::{Column, Table};

/// Largest number of bins.
const MOST_BINS: u32 = 1024;

/// Number of periods of a full matrix that fit into the rows.
const LEAST_PERIODS: u32 = 16;

/// Length of a period, until rows run out.
const FIRST_PERIOD: Duration = Duration(1_000_000);

/// Matrices of ranks and of routers.
pub struct MatrixPeriods {
    ranks: Grid,
    routers: Grid,
    /// Routers whose hosts have ranks, in order: the members of `routers`, so that idle ones widen no bin.
    with_ranks: Vec<u32>,
    /// Router of each rank's host, as its place in `with_ranks`, and the host.
    places: Vec<(u32, u32)>,
}

/// Messages and bytes by period from bin to bin.
#[derive(Debug, Serialize, Deserialize)]
struct Grid {
    per_bin: u32,
    bins: u32,
    rows: usize,
    period: Duration,
    /// By period and by source and destination in one number.
    cells: BTreeMap<(u64, u32), Cell>,
}

/// Totals of a cell.
#[derive(Debug, Default, Clone, Copy, Serialize, Deserialize)]
struct Cell {
    all: Total,
    /// Part that has been handed out while the run goes on.
    given: Total,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Total {
    messages: u64,
    bytes: u64,
}

impl Total {
    fn add(&mut self, other: Total) {
        self.messages += other.messages;
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

impl Grid {
    /// Makes an empty matrix of `members` ranks or routers with at most `rows` rows.
    fn new(members: u32, rows: u32) -> Grid {
        let most = (rows / LEAST_PERIODS).isqrt().clamp(1, MOST_BINS);
        let per_bin = members.div_ceil(most).max(1);
        let bins = members.div_ceil(per_bin).max(1);
        Grid { per_bin, bins, rows: rows as usize, period: FIRST_PERIOD, cells: BTreeMap::new() }
    }

    fn note(&mut self, from: u32, to: u32, at: Time, bytes: Bytes) {
        let pair = from / self.per_bin * self.bins + to / self.per_bin;
        let cell = self.cells.entry((at.0 / self.period.0, pair)).or_default();
        cell.all.add(Total { messages: 1, bytes: bytes.0 });
        self.coarsen();
    }

    /// Doubles the periods until the rows suffice.
    fn coarsen(&mut self) {
        while self.cells.len() > self.rows {
            self.double();
        }
    }

    fn double(&mut self) {
        self.period = Duration(self.period.0 * 2);
        for ((period, pair), cell) in std::mem::take(&mut self.cells) {
            let into = self.cells.entry((period / 2, pair)).or_default();
            into.all.add(cell.all);
            into.given.add(cell.given);
        }
    }

    /// Adds the matrix of another domain.
    fn absorb(&mut self, mut other: Grid) {
        while self.period < other.period {
            self.double();
        }
        while other.period < self.period {
            other.double();
        }
        for (key, cell) in other.cells {
            self.cells.entry(key).or_default().all.add(cell.all);
        }
        self.coarsen();
    }

    /// Messages since the last call, in periods that end by `now`.
    fn new_rows(&mut self, now: Time) -> Vec<(u64, u32, Total)> {
        let over = now.0 / self.period.0;
        let fresh = |(&(period, pair), cell): (&(u64, u32), &mut Cell)| {
            let given = std::mem::replace(&mut cell.given, cell.all);
            let messages = cell.all.messages - given.messages;
            let bytes = cell.all.bytes - given.bytes;
            (messages > 0).then_some((period, pair, Total { messages, bytes }))
        };
        self.cells.range_mut(..(over, 0)).filter_map(fresh).collect()
    }

    fn all_rows(&self) -> Vec<(u64, u32, Total)> {
        self.cells.iter().map(|(&(period, pair), cell)| (period, pair, cell.all)).collect()
    }

    /// Table of `rows`, with the numbers of members by bin in column `per_bin`; `number` is that of a member.
    fn table(
        &self,
        (name, per_bin): (&'static str, &'static str),
        number: impl Fn(u32) -> u32,
        rows: &[(u64, u32, Total)],
    ) -> Table {
        let time = |after: u64| {
            let at = |period: u64| Duration((period + after).saturating_mul(self.period.0)).seconds();
            Column::F64(rows.iter().map(|row| at(row.0)).collect())
        };
        let first = |of: fn(u32, u32) -> u32| {
            Column::U32(rows.iter().map(|row| number(of(row.1, self.bins) * self.per_bin)).collect())
        };
        Table::new(
            name,
            vec![
                ("begin_s", time(0)),
                ("end_s", time(1)),
                ("source", first(|pair, bins| pair / bins)),
                ("destination", first(|pair, bins| pair % bins)),
                (per_bin, Column::U32(vec![self.per_bin; rows.len()])),
                ("messages", Column::U64(rows.iter().map(|row| row.2.messages).collect())),
                ("bytes", Column::U64(rows.iter().map(|row| row.2.bytes).collect())),
            ],
        )
    }
}

impl MatrixPeriods {
    /// Makes empty matrices of the ranks and routers in `scope`.
    pub fn new(scope: &RankScope) -> MatrixPeriods {
        let (topology, rows) = (&*scope.fabric.topology, scope.kept.matrix_periods);
        let router = |at: &network::Endpoint| topology.router_of(at.host).0;
        let with_ranks: Vec<u32> =
            scope.placement.iter().map(router).collect::<BTreeSet<_>>().into_iter().collect();
        let member = |at| with_ranks.partition_point(|other| *other < router(at)) as u32;
        let places = scope.placement.iter().map(|at| (member(at), at.host.0)).collect();
        MatrixPeriods {
            ranks: Grid::new(scope.placement.len() as u32, rows),
            routers: Grid::new(with_ranks.len() as u32, rows),
            with_ranks,
            places,
        }
    }

    fn tables_of(&self, ranks: &[(u64, u32, Total)], routers: &[(u64, u32, Total)]) -> Vec<Table> {
        vec![
            self.ranks.table(("matrix_periods", "ranks_per_bin"), |rank| rank, ranks),
            self.routers.table(
                ("router_matrix_periods", "routers_per_bin"),
                |member| self.with_ranks[member as usize],
                routers,
            ),
        ]
    }
}

impl Observer<Record> for MatrixPeriods {
    fn record(&mut self, _now: Time, record: &Record) {
        let Record::Message { from, to, bytes, received, .. } = *record else { return };
        self.ranks.note(from.0, to.0, received, bytes);
        let [(here, source), (there, destination)] = [from, to].map(|rank| self.places[rank.0 as usize]);
        if source != destination {
            self.routers.note(here, there, received, bytes);
        }
    }
}

impl View for MatrixPeriods {
    fn interest(&self) -> Interest {
        Interest::Messages
    }

    fn absorb(&mut self, other: Box<dyn View>) {
        let other: MatrixPeriods = of_kind(other);
        self.ranks.absorb(other.ranks);
        self.routers.absorb(other.routers);
    }

    fn save(&self) -> Vec<u8> {
        saved(&(&self.ranks, &self.routers))
    }

    fn restore(&mut self, saved: &[u8]) {
        (self.ranks, self.routers) = restored(saved);
    }

    /// `source` and `destination` are the first of their bin.
    fn tables(&self) -> Vec<Table> {
        self.tables_of(&self.ranks.all_rows(), &self.routers.all_rows())
    }

    fn new_rows(&mut self, now: Time) -> Vec<Table> {
        let (ranks, routers) = (self.ranks.new_rows(now), self.routers.new_rows(now));
        self.tables_of(&ranks, &routers)
    }
}
