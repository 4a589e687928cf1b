//! Times that grow with a size: `"296 ns + 96.36 ps/B"`.
//!
//! ```text
//!   t(n) = a + b n        a ≥ 0 [ps], b ≥ 0 [ps/B]; rounded to whole picoseconds
//! ```

use std::fmt;
use std::str::FromStr;

use crate::units::{Bytes, Duration, QuantityError, rounded};

/// A time that grows with a size.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LinearTime {
    /// Time of an empty message.
    pub constant: Duration,
    /// Time that each byte adds \[ps\].
    pub per_byte: f64,
}

impl LinearTime {
    /// No time at all.
    pub const ZERO: LinearTime = LinearTime::constant(Duration::ZERO);

    /// The same time for all sizes.
    pub const fn constant(constant: Duration) -> LinearTime {
        LinearTime { constant, per_byte: 0.0 }
    }

    /// Time for this size.
    #[inline]
    pub fn of(&self, size: Bytes) -> Duration {
        if self.per_byte == 0.0 {
            return self.constant;
        }
        self.constant + Duration(rounded(self.per_byte * size.0 as f64))
    }
}

impl FromStr for LinearTime {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<LinearTime, QuantityError> {
        let mut time = LinearTime::ZERO;
        let mut last = None;
        for term in terms(text) {
            let is_slope = term.contains('/');
            if last == Some(is_slope) {
                let example = "write it like \"296 ns + 96.36 ps/B\"";
                return Err(QuantityError(format!("'{text}' is not a time and a time per byte; {example}")));
            }
            last = Some(is_slope);
            match term.split_once('/') {
                None => time.constant = term.parse()?,
                Some((numerator, "B")) => time.per_byte = picoseconds(numerator)?,
                Some((_, unit)) => {
                    return Err(QuantityError(format!("unknown unit '/{unit}' in '{text}'; known: /B")));
                }
            }
        }
        Ok(time)
    }
}

/// Terms of a sum; the sign of an exponent is none of the sum.
fn terms(text: &str) -> Vec<&str> {
    let is_plus = |(at, c): &(usize, char)| {
        *c == '+' && *at > 0 && !text[..*at].ends_with(['e', 'E']) && !text[..*at].trim().is_empty()
    };
    let mut starts: Vec<usize> = text.char_indices().filter(is_plus).map(|(at, _)| at).collect();
    starts.push(text.len());
    let mut from = 0;
    let cut = |end: usize| {
        let term = text[from..end].trim();
        from = end + 1;
        term
    };
    starts.into_iter().map(cut).collect()
}

/// A time that may be less than a picosecond.
fn picoseconds(text: &str) -> Result<f64, QuantityError> {
    let (number, unit) = text.trim().split_at(text.trim().trim_end_matches(char::is_alphabetic).len());
    let whole: Duration = format!("1 {unit}").parse()?;
    let number: f64 = number
        .trim()
        .replace('_', "")
        .parse()
        .map_err(|_| QuantityError(format!("'{text}' is not a time; write it like \"96.36 ps/B\"")))?;
    if !number.is_finite() || number < 0.0 {
        return Err(QuantityError(format!("'{text}' is not a time: it must be finite and not negative")));
    }
    Ok(number * whole.0 as f64)
}

impl fmt::Display for LinearTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.constant, self.per_byte) {
            (constant, 0.0) => write!(f, "{constant}"),
            (Duration::ZERO, per_byte) => write!(f, "{per_byte} ps/B"),
            (constant, per_byte) => write!(f, "{constant} + {per_byte} ps/B"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_grows_with_the_size() {
        let time: LinearTime = "296.549 ns + 96.36 ps/B".parse().unwrap();
        assert_eq!(time.of(Bytes(0)), Duration(296_549));
        assert_eq!(time.of(Bytes(8_133)), Duration(296_549 + 783_696));
        assert_eq!("1 us".parse(), Ok(LinearTime::constant(Duration::from_ns(1000))));
        assert_eq!("0.25 ps/B + 1e+3 ns".parse::<LinearTime>().unwrap().of(Bytes(10)), Duration(1_000_003));
        assert_eq!("2 ns/B".parse::<LinearTime>().unwrap().of(Bytes(3)), Duration(6_000));
    }

    #[test]
    fn what_is_shown_reads_back() {
        for text in ["1 us", "96.36 ps/B", "296.549 ns + 96.36 ps/B"] {
            assert_eq!(text.parse::<LinearTime>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for wrong in
            ["", "1", "1 us + 2 us", "1 ps/B + 2 ps/B", "1 us/KiB", "1 us + ", "-1 ps/B", "x ps/B", "1 us +"]
        {
            assert!(wrong.parse::<LinearTime>().is_err(), "{wrong}");
        }
    }
}
