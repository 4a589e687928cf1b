//! Quantities are types: `Time`, `Duration`, `Bytes`, `Bandwidth`, `FlopRate`, `EventRate`; for power and energy see
//! [`crate::energy`].
//!
//! Time is whole picoseconds. Sums saturate at the largest value of their type: a run that reaches [`Time::LAST`]
//! (213 days) ends there with an error, and no event is ever in the past. In text every quantity carries its unit
//! (`"635 ns"`, `"64 KiB"`, `"9.375 GB/s"`, `"40 Gbit/s"`); a bare number is an error that shows how to write it.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Sub};
use std::str::FromStr;

use crate::unit_names::factor;
pub use crate::unit_names::{Units, spellings};

use serde::{Deserialize, Serialize};

/// A point in simulated time \[ps since the start of the run\].
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Time(pub u64);

/// A length of simulated time \[ps\], never negative.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Duration(pub u64);

/// An amount of data \[bytes\].
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Bytes(pub u64);

/// A data rate \[bytes per second\]; `Bandwidth::INFINITE` means "never the limit".
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bandwidth(pub u64);

/// A rate of floating-point operations \[flop/s\].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlopRate(pub u64);

/// A rate of counted things \[1/s\], such as a processor's instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventRate(pub u64);

const PS_PER_S: f64 = 1e12;

/// The nearest whole number, halves upwards, of a number from zero to 2⁶⁴: [`f64::round`] without a call.
#[inline]
pub(crate) fn rounded(value: f64) -> u64 {
    let whole = value as u64;
    whole.saturating_add(u64::from(value - whole as f64 >= 0.5))
}

impl Time {
    /// The start of a run.
    pub const ZERO: Time = Time(0);
    /// Last representable moment, 213 days: sums do not exceed it.
    pub const LAST: Time = Time(u64::MAX - 1);
    /// Later than every event.
    pub const NEVER: Time = Time(u64::MAX);
    /// Value in seconds.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / PS_PER_S
    }
    /// Time from `earlier` to this; zero if this is not later.
    #[inline]
    pub fn since(self, earlier: Time) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Duration {
    /// Zero.
    pub const ZERO: Duration = Duration(0);
    /// Converts seconds (≥ 0), rounded to the nearest picosecond; more than 213 days saturates.
    pub fn from_seconds(seconds: f64) -> Duration {
        assert!(seconds >= 0.0, "a duration is not negative: {seconds}");
        Duration(rounded(seconds * PS_PER_S))
    }
    /// Converts whole nanoseconds.
    pub const fn from_ns(ns: u64) -> Duration {
        Duration(ns * 1_000)
    }
    /// Value in seconds.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / PS_PER_S
    }
    /// Multiplies by `factor` (≥ 0), rounded to the nearest picosecond.
    #[inline]
    pub fn scaled(self, factor: f64) -> Duration {
        assert!(factor >= 0.0, "a scale is not negative: {factor}");
        Duration(rounded(self.0 as f64 * factor))
    }
    /// Difference, or zero if `other` is longer.
    #[inline]
    pub fn saturating_sub(self, other: Duration) -> Duration {
        Duration(self.0.saturating_sub(other.0))
    }
}

impl Bandwidth {
    /// Infinite rate: transfers take no time.
    pub const INFINITE: Bandwidth = Bandwidth(u64::MAX);
    /// Time of a transfer of `size` at this rate, rounded up to a whole picosecond.
    #[inline]
    pub fn transfer(self, size: Bytes) -> Duration {
        if self == Bandwidth::INFINITE || size.0 == 0 {
            return Duration::ZERO;
        }
        assert!(self.0 > 0, "a transfer needs a bandwidth above zero");
        // Sizes below 18 MB fit the fast 64-bit path.
        if size.0 < u64::MAX / 1_000_000_000_000 {
            return Duration((size.0 * 1_000_000_000_000).div_ceil(self.0));
        }
        let ps = (u128::from(size.0) * 1_000_000_000_000).div_ceil(u128::from(self.0));
        Duration(u64::try_from(ps).unwrap_or(u64::MAX))
    }
    /// Value in bytes per second, for sums and ratios; infinite is infinity.
    pub fn as_f64(self) -> f64 {
        if self == Bandwidth::INFINITE { f64::INFINITY } else { self.0 as f64 }
    }
    /// Converts bytes per second (≥ 0), rounded; too large a rate is infinite.
    pub fn from_f64(rate: f64) -> Bandwidth {
        assert!(rate >= 0.0, "a bandwidth is not negative: {rate}");
        Bandwidth(rate.round() as u64)
    }
    /// Multiplies by `factor` (≥ 0), rounded; infinite stays infinite.
    #[inline]
    pub fn scaled(self, factor: f64) -> Bandwidth {
        if self == Bandwidth::INFINITE {
            return self;
        }
        // Same as `round`, without the function call that it is on many processors.
        let exact = self.0 as f64 * factor;
        let whole = exact as u64;
        Bandwidth(whole.saturating_add((exact - whole as f64 >= 0.5).into()))
    }
}

impl FlopRate {
    /// Time of `flops` operations at this rate.
    pub fn compute(self, flops: f64) -> Duration {
        assert!(self.0 > 0, "computing needs a rate above zero");
        Duration::from_seconds(flops / self.0 as f64)
    }
}

impl EventRate {
    /// Time of `count` events at this rate, rounded to the nearest picosecond.
    pub fn time(self, count: u64) -> Duration {
        assert!(self.0 > 0, "what is counted needs a rate above zero");
        let rate = u128::from(self.0);
        let ps = (u128::from(count) * 1_000_000_000_000 + rate / 2) / rate;
        Duration(u64::try_from(ps).unwrap_or(u64::MAX))
    }
}

impl Add<Duration> for Time {
    type Output = Time;
    #[inline]
    fn add(self, rhs: Duration) -> Time {
        Time(self.0.saturating_add(rhs.0).min(Time::LAST.0))
    }
}
impl AddAssign<Duration> for Time {
    #[inline]
    fn add_assign(&mut self, rhs: Duration) {
        *self = *self + rhs;
    }
}
impl Add for Duration {
    type Output = Duration;
    #[inline]
    fn add(self, rhs: Duration) -> Duration {
        Duration(self.0.saturating_add(rhs.0))
    }
}
impl AddAssign for Duration {
    #[inline]
    fn add_assign(&mut self, rhs: Duration) {
        *self = *self + rhs;
    }
}
impl Sub for Time {
    type Output = Duration;
    #[inline]
    fn sub(self, rhs: Time) -> Duration {
        Duration(self.0.checked_sub(rhs.0).expect("a later time minus an earlier one"))
    }
}
impl Mul<u64> for Duration {
    type Output = Duration;
    #[inline]
    fn mul(self, rhs: u64) -> Duration {
        Duration(self.0.saturating_mul(rhs))
    }
}
impl Div<u64> for Duration {
    type Output = Duration;
    fn div(self, rhs: u64) -> Duration {
        Duration(self.0 / rhs)
    }
}
impl Sum for Duration {
    fn sum<I: Iterator<Item = Duration>>(iter: I) -> Duration {
        iter.fold(Duration::ZERO, Add::add)
    }
}
impl Add for Bytes {
    type Output = Bytes;
    #[inline]
    fn add(self, rhs: Bytes) -> Bytes {
        Bytes(self.0.saturating_add(rhs.0))
    }
}
impl AddAssign for Bytes {
    #[inline]
    fn add_assign(&mut self, rhs: Bytes) {
        *self = *self + rhs;
    }
}
impl Mul<u64> for Bytes {
    type Output = Bytes;
    #[inline]
    fn mul(self, rhs: u64) -> Bytes {
        Bytes(self.0.saturating_mul(rhs))
    }
}
impl Sum for Bytes {
    fn sum<I: Iterator<Item = Bytes>>(iter: I) -> Bytes {
        iter.fold(Bytes(0), Add::add)
    }
}

/// Error for a text that is not a quantity: names the expected quantity, and shows how to write it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuantityError(pub String);

impl fmt::Display for QuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
impl std::error::Error for QuantityError {}

/// Units of time, in picoseconds.
pub const TIME_UNITS: Units = &[
    ("ps", 1.0),
    ("ns", 1e3),
    ("us", 1e6),
    ("µs", 1e6),
    ("ms", 1e9),
    ("s", 1e12),
    ("min", 6e13),
    ("h", 3.6e15),
];
/// Units of size, in bytes.
pub const SIZE_UNITS: Units = &[
    ("B", 1.0),
    ("kB", 1e3),
    ("KB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("TB", 1e12),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("TiB", 1_099_511_627_776.0),
];
/// Units of bandwidth, in bytes per second.
pub const RATE_UNITS: Units = &[
    ("B/s", 1.0),
    ("kB/s", 1e3),
    ("KB/s", 1e3),
    ("MB/s", 1e6),
    ("GB/s", 1e9),
    ("TB/s", 1e12),
    ("KiB/s", 1024.0),
    ("MiB/s", 1_048_576.0),
    ("GiB/s", 1_073_741_824.0),
    ("TiB/s", 1_099_511_627_776.0),
    ("bit/s", 0.125),
    ("kbit/s", 125.0),
    ("Mbit/s", 1.25e5),
    ("Gbit/s", 1.25e8),
    ("Tbit/s", 1.25e11),
];
/// Units of compute rate, in operations per second.
pub const FLOP_UNITS: Units = &[
    ("flop/s", 1.0),
    ("kflop/s", 1e3),
    ("Mflop/s", 1e6),
    ("Gflop/s", 1e9),
    ("Tflop/s", 1e12),
    ("Pflop/s", 1e15),
];
/// Units of counted things, per second.
pub const EVENT_UNITS: Units = &[("/s", 1.0), ("k/s", 1e3), ("M/s", 1e6), ("G/s", 1e9)];

/// Parses `"<number> <unit>"`, where the space is optional.
pub(crate) fn parse(text: &str, what: &str, units: Units, example: &str) -> Result<f64, QuantityError> {
    let text = text.trim();
    let split = text
        .char_indices()
        .find(|(at, c)| *c == '/' || c.is_alphabetic() && !exponent_at(text, *at))
        .map_or(text.len(), |(at, _)| at);
    let (number, unit) = (text[..split].trim(), text[split..].trim());
    let number: f64 = number
        .replace('_', "")
        .parse()
        .map_err(|_| QuantityError(format!("'{text}' is not a {what}; write it like \"{example}\"")))?;
    if !number.is_finite() || number < 0.0 {
        return Err(QuantityError(format!("'{text}' is not a {what}: it must be finite and not negative")));
    }
    if unit.is_empty() {
        return Err(QuantityError(format!("'{text}' has no unit; write a {what} like \"{example}\"")));
    }
    let factor = factor(unit, units).ok_or_else(|| {
        let known: Vec<_> = units.iter().map(|(name, _)| *name).collect();
        QuantityError(format!(
            "unknown unit '{unit}' in '{text}'; a {what} takes one of: {}",
            known.join(", ")
        ))
    })?;
    let value = number * factor;
    if value >= u64::MAX as f64 {
        return Err(QuantityError(format!("'{text}' is too large for a {what}")));
    }
    Ok(value)
}

/// True if the letter at `at` is the `e` of a number such as `1e9`.
fn exponent_at(text: &str, at: usize) -> bool {
    let bytes = text.as_bytes();
    matches!(bytes[at], b'e' | b'E')
        && at > 0
        && bytes[at - 1].is_ascii_digit()
        && bytes.get(at + 1).is_some_and(|b| b.is_ascii_digit() || *b == b'-' || *b == b'+')
}

macro_rules! quantity_text {
    ($type:ident, $what:literal, $units:ident, $example:literal) => {
        impl FromStr for $type {
            type Err = QuantityError;
            fn from_str(text: &str) -> Result<$type, QuantityError> {
                Ok($type(parse(text, $what, $units, $example)?.round() as u64))
            }
        }
    };
}
quantity_text!(Time, "time", TIME_UNITS, "635 ns");
quantity_text!(Duration, "time", TIME_UNITS, "635 ns");
quantity_text!(Bytes, "size", SIZE_UNITS, "64 KiB");
quantity_text!(FlopRate, "compute rate", FLOP_UNITS, "10.5 Gflop/s");
quantity_text!(EventRate, "rate", EVENT_UNITS, "2.4e9/s");

impl FromStr for Bandwidth {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Bandwidth, QuantityError> {
        if text.trim() == "infinite" {
            return Ok(Bandwidth::INFINITE);
        }
        Ok(Bandwidth(parse(text, "bandwidth", RATE_UNITS, "9.375 GB/s")?.round() as u64))
    }
}

/// Writes `value` with the largest of `steps` that is not above it, with at most four significant digits.
pub(crate) fn write_scaled(f: &mut fmt::Formatter<'_>, value: f64, steps: &[(f64, &str)]) -> fmt::Result {
    let (factor, unit) = *steps.iter().rev().find(|(factor, _)| value >= *factor).unwrap_or(&steps[0]);
    let scaled = format!("{:.3}", value / factor);
    write!(f, "{} {unit}", scaled.trim_end_matches('0').trim_end_matches('.'))
}

const TIME_STEPS: &[(f64, &str)] = &[(1.0, "ps"), (1e3, "ns"), (1e6, "us"), (1e9, "ms"), (1e12, "s")];

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_scaled(f, self.0 as f64, TIME_STEPS)
    }
}
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_scaled(f, self.0 as f64, TIME_STEPS)
    }
}
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let steps = [
            (1.0, "B"),
            (1024.0, "KiB"),
            (1_048_576.0, "MiB"),
            (1_073_741_824.0, "GiB"),
            (1_099_511_627_776.0, "TiB"),
        ];
        write_scaled(f, self.0 as f64, &steps)
    }
}
impl fmt::Display for Bandwidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Bandwidth::INFINITE {
            return f.write_str("infinite");
        }
        write_scaled(
            f,
            self.0 as f64,
            &[(1.0, "B/s"), (1e3, "kB/s"), (1e6, "MB/s"), (1e9, "GB/s"), (1e12, "TB/s")],
        )
    }
}
impl fmt::Display for FlopRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_scaled(
            f,
            self.0 as f64,
            &[(1.0, "flop/s"), (1e6, "Mflop/s"), (1e9, "Gflop/s"), (1e12, "Tflop/s")],
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers around halves, of all sizes, and those that are no whole number's neighbours.
    #[test]
    fn numbers_are_rounded_as_by_the_library() {
        let edges = [0.0, 0.5, 0.499_999_999_999_999_94, 1.5, 2.5, 4503599627370497.5, 9007199254740993.0];
        let large = [1e18, 9.3e18, 1.8e19, 1e30, f64::INFINITY];
        let many = (0..10_000).map(|number| f64::from(number) * 0.37 + 1e9 * f64::from(number % 7) / 3.0);
        for value in edges.into_iter().chain(large).chain(many) {
            assert_eq!(rounded(value), value.round() as u64, "{value}");
        }
    }

    #[test]
    fn text_carries_its_unit() {
        assert_eq!("635 ns".parse(), Ok(Duration(635_000)));
        assert_eq!("1.5us".parse(), Ok(Duration(1_500_000)));
        assert_eq!("64 KiB".parse(), Ok(Bytes(65_536)));
        assert_eq!("9.375 GB/s".parse(), Ok(Bandwidth(9_375_000_000)));
        assert_eq!("40 Gbit/s".parse(), Ok(Bandwidth(5_000_000_000)));
        assert_eq!("1e3 MB/s".parse(), Ok(Bandwidth(1_000_000_000)));
        assert_eq!("10.5 Gflop/s".parse(), Ok(FlopRate(10_500_000_000)));
        assert_eq!("2.4e9/s".parse(), Ok(EventRate(2_400_000_000)));
        assert_eq!("2.4 G/s".parse(), Ok(EventRate(2_400_000_000)));
    }

    #[test]
    fn a_bare_number_shows_how_to_write_it() {
        let error = "635".parse::<Duration>().unwrap_err().0;
        assert!(error.contains("no unit") && error.contains("635 ns"), "{error}");
        let error = "3 parsecs".parse::<Duration>().unwrap_err().0;
        assert!(error.contains("parsecs") && error.contains("ns"), "{error}");
        for bad in ["-3 ns", "nan ns", "1e400 s", "ns", "", "1 e s"] {
            assert!(bad.parse::<Duration>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_transfer_takes_size_over_rate_rounded_up() {
        assert_eq!(Bandwidth(1_000_000_000).transfer(Bytes(1)), Duration(1_000));
        assert_eq!(Bandwidth(3).transfer(Bytes(1)), Duration(333_333_333_334));
        assert_eq!(Bandwidth(10_000_000_000).transfer(Bytes(1 << 40)).0, (1u64 << 40) * 100);
        assert_eq!(Bandwidth::INFINITE.transfer(Bytes(1 << 40)), Duration::ZERO);
    }

    #[test]
    fn what_is_shown_reads_back() {
        for ps in [0, 1, 999, 1_000, 635_000, 1_500_000, 1_234_000_000_000] {
            assert_eq!(Duration(ps).to_string().parse(), Ok(Duration(ps)));
        }
        assert_eq!(Bandwidth(4_680_000_000).to_string(), "4.68 GB/s");
    }
}
