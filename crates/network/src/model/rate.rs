//! Whole-number arithmetic for shared rates.
//!
//! Rates are multiples of 2⁻¹⁶ B/s, work is a multiple of one rate step times one picosecond. Sums of
//! whole numbers do not depend on their order, and shares round down, so what a set of transfers gets
//! depends on the set, not on the order in which they were handed over or on the numbers of their
//! hosts. A transfer whose rate is a whole number of bytes per second takes exactly
//! [`Bandwidth::transfer`]; rounding a share down costs less than 2⁻¹⁶ B/s.

use engine::{Bandwidth, Bytes, Duration};

const FRACTION_BITS: u32 = 16;
const PS_PER_S: u128 = 1_000_000_000_000;

/// A data rate \[2⁻¹⁶ B/s\]; at most 140 TB/s, or infinite.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rate(pub u64);

impl Rate {
    /// Never the limit.
    pub const INFINITE: Rate = Rate(u64::MAX);

    /// `bandwidth` exactly; above 140 TB/s it is never the limit.
    pub fn of(bandwidth: Bandwidth) -> Rate {
        if bandwidth.0 >> (63 - FRACTION_BITS) != 0 {
            return Rate::INFINITE;
        }
        Rate(bandwidth.0 << FRACTION_BITS)
    }

    /// From \[B/s\], rounded down.
    pub fn from_bytes_per_second(rate: f64) -> Rate {
        if rate >= (1u64 << (63 - FRACTION_BITS)) as f64 {
            return Rate::INFINITE;
        }
        Rate((rate * f64::from(1 << FRACTION_BITS)) as u64)
    }

    /// Work that this rate does in `time`.
    pub fn during(self, time: Duration) -> Work {
        Work(u128::from(self.0) * u128::from(time.0))
    }
}

/// An amount of data left to move \[2⁻¹⁶ B/s · ps\].
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Work(pub u128);

impl Work {
    /// Nothing left.
    pub const ZERO: Work = Work(0);

    /// All of `size`.
    pub fn of(size: Bytes) -> Work {
        Work((u128::from(size.0) << FRACTION_BITS) * PS_PER_S)
    }

    /// Work that is left after `done`.
    pub fn less(self, done: Work) -> Work {
        Work(self.0.saturating_sub(done.0))
    }

    /// Both together.
    pub fn more(self, other: Work) -> Work {
        Work(self.0 + other.0)
    }

    /// This reading of a clock on one that is ahead by `shift`, which may wrap around.
    pub fn shifted(self, shift: Work) -> Work {
        Work(self.0.wrapping_add(shift.0))
    }

    /// The opposite of [`Work::shifted`].
    pub fn shifted_back(self, shift: Work) -> Work {
        Work(self.0.wrapping_sub(shift.0))
    }

    /// Time that it takes at `rate` (above zero), rounded up to a whole picosecond; more than 213 days
    /// saturates.
    pub fn time(self, rate: Rate) -> Duration {
        if rate == Rate::INFINITE || self.0 == 0 {
            return Duration::ZERO;
        }
        assert!(rate.0 > 0, "a transfer needs a rate above zero");
        let ps = self.0.div_ceil(u128::from(rate.0));
        Duration(u64::try_from(ps).unwrap_or(u64::MAX))
    }

    /// In whole bytes, rounded to the nearest.
    pub fn bytes(self) -> Bytes {
        let half = (PS_PER_S << FRACTION_BITS) / 2;
        let rounded = (self.0 + half) >> FRACTION_BITS;
        // A quotient of 128 bits takes ten times as long.
        Bytes(match u64::try_from(rounded) {
            Ok(rounded) => rounded / PS_PER_S as u64,
            Err(_) => (rounded / PS_PER_S) as u64,
        })
    }
}

/// Share of a resource that one unit of a transfer's rate takes, in 2⁻³² of what a transfer of
/// the resource's reference rate takes; at most [`Weight::ONE`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Weight(pub u64);

impl Weight {
    /// Weight of a transfer whose own limit at the resource is the reference rate.
    pub const ONE: Weight = Weight(1 << 32);

    /// Weight of a transfer that the resource could carry at `own` if it were alone, where `reference ≤ own`
    /// is what it could carry of the slowest kind. Infinite rates take nothing.
    pub fn of(reference: Rate, own: Rate) -> Weight {
        if own == Rate::INFINITE {
            return Weight(0);
        }
        assert!(reference <= own && own.0 > 0, "the reference is the smallest rate");
        Weight(((u128::from(reference.0) << 32) / u128::from(own.0)) as u64)
    }

    /// Amount of the resource that a transfer at `rate` takes.
    pub fn takes(self, rate: Rate) -> u64 {
        ((u128::from(rate.0) * u128::from(self.0)) >> 32) as u64
    }
}

/// The rate at which transfers of together `weight` \[2⁻³²\] fill `capacity`, rounded down.
pub(super) fn fair_share(capacity: u64, weight: u64) -> Rate {
    if weight == 0 {
        return Rate::INFINITE;
    }
    if weight & (Weight::ONE.0 - 1) == 0 {
        return Rate(capacity / (weight >> 32));
    }
    let share = (u128::from(capacity) << 32) / u128::from(weight);
    Rate(u64::try_from(share).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transfer_takes_what_its_bandwidth_says() {
        for (rate, size) in [(1_000_000_000, 1), (3, 1), (7_777_777_777, 123_456_789), (5_000, 1 << 30)] {
            let (bandwidth, size) = (Bandwidth(rate), Bytes(size));
            assert_eq!(Work::of(size).time(Rate::of(bandwidth)), bandwidth.transfer(size));
        }
        assert_eq!(Work::of(Bytes(1)).time(Rate::of(Bandwidth::INFINITE)), Duration::ZERO);
    }

    #[test]
    fn work_done_in_pieces_is_the_whole() {
        let rate = Rate::of(Bandwidth(2_500_000_000));
        let whole = Work::of(Bytes(1_000_000_000));
        let half = whole.less(rate.during(Duration(200_000_000_000)));
        assert_eq!(half.bytes(), Bytes(500_000_000));
        assert_eq!(half.time(rate), Duration(200_000_000_000));
    }

    #[test]
    fn shares_of_unequal_kinds_fill_the_resource() {
        let (slow, fast) = (Rate::of(Bandwidth(1_000)), Rate::of(Bandwidth(4_000)));
        let (of_slow, of_fast) = (Weight::of(slow, slow), Weight::of(slow, fast));
        assert_eq!((of_slow, of_fast), (Weight::ONE, Weight(1 << 30)));
        // x + x/4 = 1000 B/s
        let share = fair_share(slow.0, of_slow.0 + of_fast.0);
        assert_eq!(share, Rate::of(Bandwidth(800)));
        assert_eq!(of_slow.takes(share) + of_fast.takes(share), slow.0);
    }
}
