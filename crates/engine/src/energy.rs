//! Power, energy per byte, and energy: whole numbers, so that sums do not depend on their order.
//!
//! ```text
//! 1 µW · 1 ps = 1 aJ = 1 aJ/B · 1 B
//! ```
//!
//! Powers are whole microwatts and energies per byte whole attojoules, so both products are exact.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul};
use std::str::FromStr;

use crate::unit_names::Units;
use crate::units::{Duration, QuantityError, parse, write_scaled};

/// A power \[µW\].
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Power(pub u64);

/// Energy of each byte that passes something \[aJ/B\].
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EnergyPerByte(pub u64);

/// An amount of energy \[aJ\]; sums saturate at 3·10²⁰ J.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Energy(pub u128);

/// Units of power, in microwatts.
pub const POWER_UNITS: Units =
    &[("µW", 1.0), ("uW", 1.0), ("mW", 1e3), ("W", 1e6), ("kW", 1e9), ("MW", 1e12)];

/// Units of energy per byte, in attojoules per byte.
pub const ENERGY_PER_BYTE_UNITS: Units = &[
    ("fJ/bit", 8e3),
    ("pJ/bit", 8e6),
    ("nJ/bit", 8e9),
    ("pJ/B", 1e6),
    ("nJ/B", 1e9),
    ("µJ/B", 1e12),
    ("uJ/B", 1e12),
    ("J/B", 1e18),
];

const AJ_PER_J: f64 = 1e18;

impl Power {
    /// Difference, or zero if `other` is larger.
    pub fn saturating_sub(self, other: Power) -> Power {
        Power(self.0.saturating_sub(other.0))
    }

    /// Energy of this power over `time`.
    pub fn during(self, time: TotalTime) -> Energy {
        Energy(u128::from(self.0).saturating_mul(time.0))
    }
}

/// A sum of many lengths of time, such as those of all ranks \[ps\]; beyond what a [`Duration`] holds.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TotalTime(pub u128);

impl AddAssign<Duration> for TotalTime {
    fn add_assign(&mut self, time: Duration) {
        self.0 += u128::from(time.0);
    }
}

impl From<Duration> for TotalTime {
    fn from(time: Duration) -> TotalTime {
        TotalTime(u128::from(time.0))
    }
}

impl Mul<u64> for TotalTime {
    type Output = TotalTime;
    fn mul(self, times: u64) -> TotalTime {
        TotalTime(self.0.saturating_mul(u128::from(times)))
    }
}

impl EnergyPerByte {
    /// Energy of `bytes`.
    pub fn of(self, bytes: u128) -> Energy {
        Energy(u128::from(self.0).saturating_mul(bytes))
    }
}

impl Energy {
    /// Value in joules.
    pub fn joules(self) -> f64 {
        self.0 as f64 / AJ_PER_J
    }
}

impl Add for Energy {
    type Output = Energy;
    fn add(self, other: Energy) -> Energy {
        Energy(self.0.saturating_add(other.0))
    }
}

impl Sum for Energy {
    fn sum<I: Iterator<Item = Energy>>(all: I) -> Energy {
        all.fold(Energy::default(), Add::add)
    }
}

impl Div<u64> for Energy {
    type Output = Energy;
    fn div(self, parts: u64) -> Energy {
        Energy(self.0 / u128::from(parts))
    }
}

impl FromStr for Power {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Power, QuantityError> {
        Ok(Power(parse(text, "power", POWER_UNITS, "95 W")?.round() as u64))
    }
}

impl FromStr for EnergyPerByte {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<EnergyPerByte, QuantityError> {
        Ok(EnergyPerByte(parse(text, "byte energy", ENERGY_PER_BYTE_UNITS, "10 pJ/bit")?.round() as u64))
    }
}

impl fmt::Display for Power {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_scaled(f, self.0 as f64, &[(1.0, "uW"), (1e3, "mW"), (1e6, "W"), (1e9, "kW"), (1e12, "MW")])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_and_energies_carry_their_units() {
        for text in ["95 W", "95000 mW", "0.095 kW", "95e6 µW", "9.5e7 uW", "0.095 KW"] {
            assert_eq!(text.parse(), Ok(Power(95_000_000)), "{text}");
        }
        // A byte has eight bits.
        for text in
            ["10 pJ/bit", "80 pJ/B", "0.08 nJ/B", "80e-12 J/B", "0.01 nJ/bit", "10000 fJ/bit", "80 pJ/byte"]
        {
            assert_eq!(text.parse(), Ok(EnergyPerByte(80_000_000)), "{text}");
        }
        let error = "95".parse::<Power>().unwrap_err().0;
        assert!(error.contains("no unit") && error.contains("95 W"), "{error}");
        let error = "10".parse::<EnergyPerByte>().unwrap_err().0;
        assert!(error.contains("no unit") && error.contains("pJ/bit"), "{error}");
        for bad in ["-1 W", "95 J", "10 pJ/s", "95 W/s", "3 pJ"] {
            assert!(bad.parse::<Power>().is_err() && bad.parse::<EnergyPerByte>().is_err(), "{bad}");
        }
    }

    #[test]
    fn power_over_time_is_energy() {
        let hour = TotalTime::from(Duration::from_seconds(3600.0));
        assert_eq!(Power(1_000_000_000).during(hour).joules(), 3.6e6);
        assert_eq!((Power(300_000_000).during(hour * 4) / 12).joules(), 3.6e5);
        // 80 pJ/B: 12.5 GB take one joule.
        assert_eq!(EnergyPerByte(80_000_000).of(12_500_000_000).joules(), 1.0);
        assert_eq!(Power(u64::MAX).during(TotalTime(u128::MAX)), Energy(u128::MAX));
    }

    #[test]
    fn a_power_is_shown_as_people_write_it() {
        assert_eq!(Power(95_500_000).to_string(), "95.5 W");
        assert_eq!(Power(1_200_000_000).to_string(), "1.2 kW");
    }
}
