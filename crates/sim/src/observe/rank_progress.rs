//! Progress of ranks, for a reader that follows a run: how far each is, and how its time was spent so far.
//!
//! Ranks are in at most 256 bins of neighbours, so that a request costs little to answer in runs of any size.

use engine::{Duration, Time};
use mpi::Rank;

use super::RankTotals;
use crate::table::{Column, Table};

const MOST_BINS: usize = 256;

/// Sums over the ranks of a bin.
#[derive(Debug, Default, Clone, Copy)]
struct Bin {
    ranks: u32,
    finished: u32,
    reached_s: f64,
    least: Option<Time>,
    compute_s: f64,
    transfer_s: f64,
    waiting_s: f64,
}

/// Table `rank_progress` at `now` of the ranks of `domain`. Later rows of a domain take the place of earlier ones.
///
/// `totals` of all ranks of the run; `reached`: the time that each rank of the domain has reached, `None` for one that
/// has finished.
pub fn rank_progress(
    now: Time,
    domain: u32,
    totals: &[RankTotals],
    reached: impl Iterator<Item = (Rank, Option<Time>)>,
) -> Table {
    let per_bin = totals.len().div_ceil(MOST_BINS).max(1);
    let mut bins = vec![Bin::default(); totals.len().div_ceil(per_bin)];
    for (rank, reached) in reached {
        let of = &totals[rank.0 as usize];
        bins[rank.0 as usize / per_bin].add(of, reached);
    }
    let rows: Vec<_> = (0..).zip(&bins).filter(|(_, bin)| bin.ranks > 0).collect();
    let whole = |of: &dyn Fn(&Bin) -> u32| Column::U32(rows.iter().map(|(_, bin)| of(bin)).collect());
    let mean = |of: &dyn Fn(&Bin) -> f64| {
        Column::F64(rows.iter().map(|(_, bin)| of(bin) / f64::from(bin.ranks)).collect())
    };
    let least = rows.iter().map(|(_, bin)| bin.least.unwrap_or(now).seconds());
    Table::new(
        "rank_progress",
        vec![
            ("at_s", Column::F64(vec![now.seconds(); rows.len()])),
            ("domain", Column::U32(vec![domain; rows.len()])),
            ("rank", Column::U32(rows.iter().map(|(number, _)| number * per_bin as u32).collect())),
            ("ranks", whole(&|bin| bin.ranks)),
            ("finished", whole(&|bin| bin.finished)),
            ("reached_s", mean(&|bin| bin.reached_s)),
            ("least_reached_s", Column::F64(least.collect())),
            ("compute_s", mean(&|bin| bin.compute_s)),
            ("transfer_s", mean(&|bin| bin.transfer_s)),
            ("waiting_s", mean(&|bin| bin.waiting_s)),
        ],
    )
}

impl Bin {
    fn add(&mut self, totals: &RankTotals, reached: Option<Time>) {
        let seconds = |time: Duration| time.seconds();
        self.ranks += 1;
        self.finished += u32::from(reached.is_none());
        self.reached_s += reached.unwrap_or(totals.finish).seconds();
        self.least = [self.least, reached].into_iter().flatten().min();
        self.compute_s += seconds(totals.compute);
        self.transfer_s += seconds(totals.transfer());
        self.waiting_s += seconds(totals.waiting());
    }
}
