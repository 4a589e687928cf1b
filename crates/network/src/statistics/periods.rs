//! Periods of equal length, never more than so many: their length doubles when time runs out of them.
//!
//! The length at the end is the least `first · 2^k` with which all that was noted fits; what is kept of two
//! neighbours is added up when they become one. Both are exact, so the result depends neither on when the
//! length doubled nor on how a run was cut.

use engine::{Duration, Time};
use serde::{Deserialize, Serialize};

/// Values that are kept by period.
pub trait ByPeriod {
    /// Makes room for `periods` of them.
    fn grow(&mut self, periods: usize);
    /// Makes one period of every two neighbours; a last one without a neighbour stays by itself.
    fn halve(&mut self);
}

/// Something kept by period.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Periods<K> {
    /// Length of one period \[ps\].
    length: u64,
    most: u64,
    count: u64,
    /// The period of the present, which is asked for most: its number, begin and end \[ps\].
    index: u64,
    begin: u64,
    end: u64,
    pub(super) kept: K,
}

impl<K: ByPeriod> Periods<K> {
    /// None yet; of length `first` (above 0), at the most `most` (2 or more).
    pub fn new(first: Duration, most: u32, kept: K) -> Periods<K> {
        assert!(first.0 > 0 && most >= 2, "at least two periods that last");
        let mut periods =
            Periods { length: first.0, most: most.into(), count: 0, index: 0, begin: 0, end: first.0, kept };
        periods.reach(Time::ZERO);
        periods
    }

    /// Length of one period.
    pub fn length(&self) -> Duration {
        Duration(self.length)
    }

    /// End of the present period.
    pub fn end(&self) -> Time {
        Time(self.end)
    }

    /// Number of periods.
    pub fn count(&self) -> usize {
        self.count as usize
    }

    /// The values, by period.
    pub fn kept(&self) -> &K {
        &self.kept
    }

    /// The same periods of something else.
    pub(super) fn with<L: ByPeriod>(&self, mut kept: L) -> Periods<L> {
        kept.grow(self.count());
        let Periods { length, most, count, index, begin, end, .. } = *self;
        Periods { length, most, count, index, begin, end, kept }
    }

    /// It is `now`.
    #[inline]
    pub fn advance(&mut self, now: Time) {
        if now.0 >= self.end {
            self.reach(now);
            self.index = now.0 / self.length;
            self.set_bounds();
        }
    }

    /// The values, and the period of `at`.
    #[inline]
    pub fn at(&mut self, at: Time) -> (&mut K, usize) {
        if at.0 >= self.begin && at.0 < self.end {
            return (&mut self.kept, self.index as usize);
        }
        // Second most is asked for the period that has just ended.
        if at.0 < self.begin && at.0 + self.length >= self.begin {
            return (&mut self.kept, self.index as usize - 1);
        }
        self.reach(at);
        (&mut self.kept, (at.0 / self.length) as usize)
    }

    /// Calls `add` with what is kept, a period, and a stretch of `from..to` in it, for each that it meets.
    #[inline]
    pub fn spread(&mut self, from: Time, to: Time, mut add: impl FnMut(&mut K, usize, Time, Time)) {
        if from.0 >= self.begin && to.0 <= self.end {
            if from < to {
                add(&mut self.kept, self.index as usize, from, to);
            }
            return;
        }
        self.spread_far(from, to, &mut add);
    }

    #[cold]
    fn spread_far(&mut self, from: Time, to: Time, add: &mut dyn FnMut(&mut K, usize, Time, Time)) {
        if from >= to {
            return;
        }
        self.reach(Time(to.0 - 1));
        let mut at = from.0;
        while at < to.0 {
            let period = at / self.length;
            let end = to.0.min((period + 1) * self.length);
            add(&mut self.kept, period as usize, Time(at), Time(end));
            at = end;
        }
    }

    /// Makes a period for `at`.
    #[cold]
    pub fn reach(&mut self, at: Time) {
        while at.0 / self.length >= self.most {
            self.fold();
        }
        let needed = at.0 / self.length + 1;
        if needed > self.count {
            self.count = needed;
            self.kept.grow(needed as usize);
        }
    }

    /// Periods are at least as long as `length`, which is theirs times a power of two.
    pub fn widen(&mut self, length: Duration) {
        while self.length < length.0 {
            self.fold();
        }
    }

    fn fold(&mut self) {
        self.length *= 2;
        self.count = self.count.div_ceil(2);
        self.kept.halve();
        self.index /= 2;
        self.set_bounds();
    }

    fn set_bounds(&mut self) {
        self.begin = self.index * self.length;
        self.end = self.begin + self.length;
    }
}
