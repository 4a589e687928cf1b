//! A formula of the arguments of a call, as a platform file writes it: `"2.6 us + 70 ps * M * N * K"`.
//!
//! Operators `+ - * / ^`, functions `min max sqrt exp ln log2 abs floor ceil` and others of the crate exmex,
//! which evaluates it; numbers with exponents; a number followed by s, ms, us, ns or ps is a time, in seconds.

use exmex::{Express, FlatEx};

/// Units that can follow a number, in seconds.
const UNITS: [(&str, f64); 5] = [("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9), ("ps", 1e-12)];

/// A formula that has been read.
#[derive(Debug, Clone)]
pub struct Formula {
    text: String,
    expression: FlatEx<f64>,
    timed: bool,
}

impl Formula {
    /// Reads `text`, or says what is wrong with it.
    pub fn parse(text: &str) -> Result<Formula, String> {
        let (plain, timed) = plain(text)?;
        let expression =
            exmex::parse::<f64>(&plain).map_err(|error| format!("\"{text}\": {}", error.msg()))?;
        Ok(Formula { text: text.to_string(), expression, timed })
    }

    /// Its text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// True if it contains a time with its unit.
    pub fn has_unit(&self) -> bool {
        self.timed
    }

    /// True if it is zero, whatever its arguments are.
    pub fn is_zero(&self) -> bool {
        self.variables().is_empty() && self.expression.eval(&[]).is_ok_and(|value| value == 0.0)
    }

    /// The names in it, in the order in which [`Formula::value`] wants their values.
    pub fn variables(&self) -> &[String] {
        self.expression.var_names()
    }

    /// Its value for those of its variables.
    pub fn value(&self, variables: &[f64]) -> f64 {
        self.expression.eval(variables).expect("as many values as names")
    }
}

/// The formula without units and exponents, which the evaluator does not know, and whether a unit was in it.
fn plain(text: &str) -> Result<(String, bool), String> {
    let (mut plain, mut rest, mut timed) = (String::new(), text, false);
    while let Some(first) = rest.chars().next() {
        if first.is_ascii_alphabetic() || first == '_' {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            plain.push_str(&rest[..end]);
            rest = &rest[end..];
        } else if first.is_ascii_digit() || first == '.' {
            let end = number_end(rest);
            let value: f64 =
                rest[..end].parse().map_err(|_| format!("'{}' is not a number", &rest[..end]))?;
            rest = &rest[end..];
            let word = rest.trim_start();
            let unit = word.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(word.len());
            let factor = UNITS.iter().find(|(name, _)| *name == &word[..unit]);
            if let Some((_, seconds)) = factor {
                timed = true;
                rest = &word[unit..];
                plain.push_str(&format!("{}", value * seconds));
            } else {
                plain.push_str(&format!("{value}"));
            }
        } else {
            plain.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    Ok((plain, timed))
}

/// End of the number with which `text` begins.
fn number_end(text: &str) -> usize {
    let digits = |from: usize| {
        text[from..]
            .find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_')
            .map_or(text.len(), |at| from + at)
    };
    let end = digits(0);
    let exponent = text[end..].strip_prefix(['e', 'E']);
    let signed = exponent.map(|rest| rest.strip_prefix(['+', '-']).unwrap_or(rest));
    match signed {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_digit()) => digits(text.len() - rest.len()),
        _ => end,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str, variables: &[f64]) -> f64 {
        Formula::parse(text).unwrap().value(variables)
    }

    #[test]
    fn formulas_have_units_exponents_and_arguments() {
        assert!((value("2 us + 70 ps * M * N * K", &[10.0, 20.0, 30.0]) - 2.42e-6).abs() < 1e-18);
        assert!((value("1.5e-3*N^2 - 1E+1", &[100.0]) - 5.0).abs() < 1e-12);
        assert_eq!(value("floor(min(N, 3.7)) + 2e2s", &[9.0]), 203.0);
        assert_eq!(value("ms + us", &[1.0, 2.0]), 3.0);
        let formula = Formula::parse("4ns*b + a").unwrap();
        assert_eq!(
            (formula.variables(), formula.has_unit()),
            (&["a".to_string(), "b".to_string()][..], true)
        );
        assert!(!Formula::parse("4*e1").unwrap().has_unit());
        assert!(Formula::parse("0 s").unwrap().is_zero() && !Formula::parse("0*M").unwrap().is_zero());
    }

    #[test]
    fn what_is_no_formula_is_refused() {
        for wrong in ["", "2 +* M", "3 us 4", "(M", "1.2.3", "M N", "2 M"] {
            assert!(Formula::parse(wrong).is_err(), "{wrong}");
        }
    }
}
