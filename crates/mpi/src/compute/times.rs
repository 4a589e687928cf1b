//! The last times of one kind of stretches: their median and deviation, and the mean of those that count. See
//! [`super::stretches`].
//!
//! The window is kept in order, too, beside the ring: a time is put in its place, and the oldest taken out, with two
//! binary searches, and the median absolute deviation is that of the half of all times that are next to the median, which
//! lie together.

/// Times of one kind of visits.
#[derive(Debug, Default)]
pub(super) struct Times {
    /// The last times \[s\], as a ring.
    recent: Vec<f32>,
    /// Place of the next time in the ring.
    next: usize,
    /// The same times in order.
    ordered: Vec<f32>,
    pub(super) count: u64,
    pub(super) median: f64,
    /// Median absolute deviation \[s\].
    pub(super) deviation: f64,
    pub(super) accepted: Moments,
    pub(super) discarded: u64,
    pub(super) discarded_time: f64,
}

/// Count, mean and sum of squared differences (Welford 1962).
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Moments {
    pub(super) count: u64,
    pub(super) mean: f64,
    pub(super) squares: f64,
}

impl Moments {
    pub(super) fn add(&mut self, time: f64) {
        self.count += 1;
        let before = time - self.mean;
        self.mean += before / self.count as f64;
        self.squares += before * (time - self.mean);
    }

    pub(super) fn deviation(&self) -> f64 {
        if self.count < 2 { 0.0 } else { (self.squares / (self.count - 1) as f64).sqrt() }
    }
}

/// Most of the last times that a median covers; it covers two steps of all ranks, if that lies within the limits.
const RECENT: usize = 1024;
/// Fewest of the last times that a median covers, once there are as many.
const SHORTEST: usize = 32;
/// Number of ranks from which on high times must be confirmed.
pub(super) const MANY: u32 = 8;
/// Ratio of the standard deviation to the MAD of a normal distribution.
const MAD_TO_DEVIATION: f64 = 1.4826;

impl Times {
    pub(super) fn add(&mut self, time: f64, ranks: u32) {
        let window = (2 * ranks as usize).clamp(SHORTEST, RECENT);
        let time = time as f32;
        if self.recent.len() < window {
            self.recent.push(time);
            self.ordered.insert(self.place(time), time);
        } else {
            let oldest = std::mem::replace(&mut self.recent[self.next], time);
            self.exchange(oldest, time);
        }
        self.next = if self.next + 1 < window { self.next + 1 } else { 0 };
        self.count += 1;
        let median = self.ordered[self.ordered.len() / 2];
        (self.median, self.deviation) = (median.into(), deviation(&self.ordered, median).into());
    }

    /// Place in the order of the first time that is not below `time`.
    fn place(&self, time: f32) -> usize {
        self.ordered.partition_point(|other| *other < time)
    }

    /// Takes `oldest` out of the order, and puts `time` in: what lies between them moves by one place.
    fn exchange(&mut self, oldest: f32, time: f32) {
        let (from, to) = (self.place(oldest), self.place(time));
        if from < to {
            self.ordered.copy_within(from + 1..to, from);
            self.ordered[to - 1] = time;
        } else {
            self.ordered.copy_within(to..from, to + 1);
            self.ordered[to] = time;
        }
    }

    /// Half width of the interval around `expected` that counts as noise \[s\].
    pub(super) fn noise(&self, expected: f64) -> f64 {
        (3.0 * MAD_TO_DEVIATION * self.deviation).clamp(0.05 * expected, 0.25 * expected + 1e-6)
    }

    /// True if two fifths of the last times, as many as there are `ranks`, are above `limit`.
    pub(super) fn confirms(&self, limit: f64, ranks: u32) -> bool {
        let window = (ranks as usize).clamp(MANY as usize, RECENT).min(self.recent.len());
        let all = self.recent.len();
        let at = |back: usize| self.recent[(self.next + all - 1 - back) % all];
        let high = (0..window).filter(|back| f64::from(at(*back)) > limit).count();
        5 * high >= 2 * window
    }
}

/// The median of the distances to `median` of times in order: the largest of those that are next to it, one more than
/// half of all.
fn deviation(ordered: &[f32], median: f32) -> f32 {
    let near = ordered.len() / 2 + 1;
    // Of the stretches of so many neighbours, the first whose lower end is no further away than what follows it.
    let (mut first, mut beyond) = (0, ordered.len() - near);
    while first < beyond {
        let middle = usize::midpoint(first, beyond);
        if median - ordered[middle] > ordered[middle + near] - median {
            first = middle + 1;
        } else {
            beyond = middle;
        }
    }
    (median - ordered[first]).abs().max((ordered[first + near - 1] - median).abs())
}

#[cfg(test)]
mod tests {
    use engine::random::{stream, uniform};

    use super::*;

    /// Random times, many of them equal, in windows that are filled several times over.
    #[test]
    fn median_and_deviation_are_those_of_the_sorted_window() {
        for (ranks, distinct) in [(1, 5.0), (1, 1e6), (40, 100.0), (700, 1e6)] {
            let (mut times, mut random) = (Times::default(), stream(1, "times", 0));
            let mut all: Vec<f32> = Vec::new();
            for _ in 0..3_000 {
                let time = (uniform(&mut random) * distinct).floor();
                times.add(time, ranks);
                all.push(time as f32);
                let window = &all[all.len() - all.len().min((2 * ranks as usize).clamp(SHORTEST, RECENT))..];
                let middle = |mut values: Vec<f32>| {
                    values.sort_by(f32::total_cmp);
                    values[values.len() / 2]
                };
                let median = middle(window.to_vec());
                let deviation = middle(window.iter().map(|time| (time - median).abs()).collect());
                assert_eq!((times.median, times.deviation), (median.into(), deviation.into()));
            }
        }
    }
}
