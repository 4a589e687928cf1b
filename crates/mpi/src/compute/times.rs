//! The last times of one kind of stretches: their median and deviation, and the mean of those that count. See
//! [`super::stretches`].

/// Times of one kind of visits.
#[derive(Debug, Default)]
pub(super) struct Times {
    /// The last times \[s\], as a ring.
    pub(super) recent: Vec<f32>,
    /// Place of the next time in the ring.
    pub(super) next: usize,
    pub(super) count: u64,
    /// Samples until the median is computed again.
    pub(super) stale: u32,
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
        if self.recent.len() < window {
            self.recent.push(time as f32);
        } else {
            self.recent[self.next] = time as f32;
        }
        self.next = (self.next + 1) % window;
        self.count += 1;
        if self.stale == 0 {
            self.renew();
            self.stale = (self.recent.len() / 16) as u32;
        } else {
            self.stale -= 1;
        }
    }

    pub(super) fn renew(&mut self) {
        let mut all = self.recent.clone();
        let middle = all.len() / 2;
        let median = *all.select_nth_unstable_by(middle, f32::total_cmp).1;
        all.iter_mut().for_each(|time| *time = (*time - median).abs());
        let deviation = *all.select_nth_unstable_by(middle, f32::total_cmp).1;
        (self.median, self.deviation) = (median.into(), deviation.into());
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
