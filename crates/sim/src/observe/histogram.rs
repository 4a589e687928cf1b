//! A histogram of durations in logarithmic bins: sixteen to the decade, picoseconds to centuries.

use std::sync::LazyLock;

use engine::Duration;
use serde::{Deserialize, Serialize};

const BINS_PER_DECADE: f64 = 16.0;

/// First picosecond of bin 1, 2, …
static FIRST: LazyLock<Vec<u64>> = LazyLock::new(|| {
    let exact = |bin: u32| 10f64.powf(f64::from(bin) / BINS_PER_DECADE).ceil();
    (0..).map(exact).take_while(|first| *first < u64::MAX as f64).map(|first| first as u64).collect()
});

/// Counts by duration. Bin 0 holds durations of zero; bin i ≥ 1 holds `[10^((i-1)/16), 10^(i/16))` ps.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Histogram {
    counts: Vec<u64>,
    /// Shortest and longest duration, which limit the outermost bins.
    range: Option<(Duration, Duration)>,
}

impl Histogram {
    /// Counts a duration.
    #[inline]
    pub fn add(&mut self, duration: Duration) {
        let bin = bin_of(duration.0);
        if bin >= self.counts.len() {
            self.counts.resize(bin + 1, 0);
        }
        self.counts[bin] += 1;
        let (shortest, longest) = self.range.unwrap_or((duration, duration));
        self.range = Some((shortest.min(duration), longest.max(duration)));
    }

    fn widen(&mut self, range: Option<(Duration, Duration)>) {
        self.range = match (self.range, range) {
            (Some(one), Some(other)) => Some((one.0.min(other.0), one.1.max(other.1))),
            (one, other) => one.or(other),
        };
    }

    /// Adds the counts of another histogram.
    pub fn absorb(&mut self, other: &Histogram) {
        if other.counts.len() > self.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, more)| *count += more);
        self.widen(other.range);
    }

    /// Bounds and counts `(low, high, count)` \[s\] of the bins that are not empty. The outermost are cut to the
    /// shortest and the longest duration, so percentiles lie within these.
    pub fn bins(&self) -> impl Iterator<Item = (f64, f64, u64)> + '_ {
        let (shortest, longest) = self.range.unwrap_or_default();
        let edge = |bin: usize| 10f64.powf(bin as f64 / BINS_PER_DECADE) * 1e-12;
        self.counts.iter().enumerate().filter(|(_, count)| **count > 0).map(move |(bin, count)| match bin {
            0 => (0.0, 0.0, *count),
            bin => (edge(bin - 1).max(shortest.seconds()), edge(bin).min(longest.seconds()), *count),
        })
    }
}

/// Bin of a duration \[ps\].
fn bin_of(ps: u64) -> usize {
    let Some(octave) = ps.checked_ilog2() else { return 0 };
    // Bins of this octave are not below that of its beginning: 16 log10(2) = 4.8 bins for each octave.
    let mut bin = octave as usize * 4816 / 1000;
    let edges = FIRST.get(bin..).unwrap_or_default();
    bin += edges.iter().take_while(|first| **first <= ps).count();
    bin
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_lies_in_its_bin() {
        for ps in [1, 9, 10, 999, 1_000, 635_000, 54_000_000_000_000] {
            let mut histogram = Histogram::default();
            histogram.add(Duration(ps));
            let (low, high, count) = histogram.bins().next().unwrap();
            let seconds = Duration(ps).seconds();
            assert_eq!((low, high, count), (seconds, seconds, 1));
            histogram.add(Duration(1));
            histogram.add(Duration(u64::MAX >> 1));
            let (low, high, _) =
                histogram.bins().find(|(low, high, _)| *low <= seconds && seconds <= *high).unwrap();
            assert!(high <= low * 10f64.powf(1.0 / BINS_PER_DECADE) * (1.0 + 1e-12), "{low} {high}");
            assert_eq!(histogram.bins().last().unwrap().1, Duration(u64::MAX >> 1).seconds());
        }
        for bin in 0..FIRST.len() {
            assert!(bin_of(FIRST[bin]) > bin && bin_of(FIRST[bin] - 1) <= bin, "{bin}");
        }
        let mut histogram = Histogram::default();
        histogram.add(Duration::ZERO);
        assert_eq!(histogram.bins().collect::<Vec<_>>(), [(0.0, 0.0, 1)]);
    }
}
