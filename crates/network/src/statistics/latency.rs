//! Latencies of messages, in logarithmic bins, by period.

use engine::{Duration, Time};
use serde::{Deserialize, Serialize};

use super::periods::{ByPeriod, Periods};

/// Bins to a doubling, as a power of two: a bin is at most 1/16 wider than its low end.
const FINE: u32 = 4;

/// Counts by duration.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latencies {
    counts: Vec<u64>,
    /// Number of messages.
    pub count: u64,
    /// All together \[ps\].
    pub total_ps: u128,
    /// The longest.
    pub max: Duration,
}

/// The bin of a duration: exact below 16 ps, then sixteen to a doubling.
fn bin(ps: u64) -> usize {
    if ps < 1 << FINE {
        return ps as usize;
    }
    let order = ps.ilog2();
    let fraction = ps >> (order - FINE);
    (u64::from(order - FINE) << FINE) as usize + fraction as usize
}

/// Lower bound of a bin \[ps\].
fn low(bin: usize) -> u64 {
    let (order, fraction) = ((bin >> FINE) as u32, (bin as u64) & ((1 << FINE) - 1));
    match order {
        0 => fraction,
        order => (fraction | 1 << FINE) << (order - 1),
    }
}

impl Latencies {
    /// Counts a latency.
    pub fn note(&mut self, latency: Duration) {
        let bin = bin(latency.0);
        if bin >= self.counts.len() {
            self.counts.resize(bin + 1, 0);
        }
        self.counts[bin] += 1;
        self.count += 1;
        self.total_ps += u128::from(latency.0);
        self.max = self.max.max(latency);
    }

    /// The mean \[s\]. There must be a latency.
    pub fn mean_s(&self) -> f64 {
        self.total_ps as f64 * 1e-12 / self.count as f64
    }

    /// Adds the counts of `other`.
    pub fn add(&mut self, other: &Latencies) {
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, more)| *count += more);
        self.count += other.count;
        self.total_ps += other.total_ps;
        self.max = self.max.max(other.max);
    }

    /// `(low, high, count)` of the bins that hold something.
    pub fn bins(&self) -> impl Iterator<Item = (Duration, Duration, u64)> + '_ {
        let bins = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        bins.map(|(bin, count)| (Duration(low(bin)), Duration(low(bin + 1)), *count))
    }

    /// Latency that `share` (0..=1) of them do not exceed: exact to the width of a bin; zero of none.
    pub fn quantile(&self, share: f64) -> Duration {
        let wanted = (share * self.count as f64).ceil().max(1.0) as u64;
        let mut below = 0;
        for (low, high, count) in self.bins() {
            if below + count >= wanted {
                let within = (high.0 - low.0 - 1) as f64 * ((wanted - below) as f64 / count as f64);
                return Duration(low.0 + within as u64).min(self.max);
            }
            below += count;
        }
        Duration::ZERO
    }
}

impl ByPeriod for Vec<Latencies> {
    fn grow(&mut self, periods: usize) {
        self.resize(periods, Latencies::default());
    }

    fn halve(&mut self) {
        let merge = |pair: &[Latencies]| {
            let mut one = pair[0].clone();
            pair[1..].iter().for_each(|next| one.add(next));
            one
        };
        *self = self.chunks(2).map(merge).collect();
    }
}

impl Periods<Vec<Latencies>> {
    /// A message was delivered at `now`, so long after it was handed to the network.
    pub(crate) fn note(&mut self, now: Time, latency: Duration) {
        self.advance(now);
        let (kept, period) = self.at(now);
        kept[period].note(latency);
    }

    pub(crate) fn absorb(&mut self, mut other: Periods<Vec<Latencies>>) {
        self.widen(other.length());
        other.widen(self.length());
        self.reach(Time((other.count() as u64 - 1) * self.length().0));
        self.kept.iter_mut().zip(&other.kept).for_each(|(one, more)| one.add(more));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_lies_in_its_bin_and_bins_are_narrow() {
        let around =
            (0..63).flat_map(|order| [(1u64 << order) - 1, 1 << order, (1 << order) + 1, 3 << order]);
        for ps in around {
            let (low, high) = (low(bin(ps)), low(bin(ps) + 1));
            assert!(low <= ps && ps < high, "{low} {ps} {high}");
            assert!(high - low == 1 || (high - low) * 16 <= low);
        }
    }

    /// Shares of 1..=1000 ns are exact to a bin, and the greatest is exact.
    #[test]
    fn quantiles() {
        let mut latencies = Latencies::default();
        (1..=1000).for_each(|ns| latencies.note(Duration(ns * 1000)));
        for (share, ns) in [(0.5, 500.0), (0.9, 900.0), (0.99, 990.0)] {
            let found = latencies.quantile(share).0 as f64 / 1000.0;
            assert!((found / ns - 1.0).abs() < 1.0 / 16.0, "{share}: {found}");
        }
        assert_eq!(latencies.quantile(1.0), Duration(1_000_000));
        assert_eq!(Latencies::default().quantile(0.5), Duration::ZERO);
    }
}
