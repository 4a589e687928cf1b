//! A formula of the arguments of a call, as a platform file writes it: `"2.6 us + 70 ps * M * N * K"`.
//!
//! Operators `+ - * / ^`, functions `min max sqrt exp ln log2 abs floor ceil` and others of the crate exmex,
//! which evaluates it; numbers with exponents; a number followed by s, ms, us, ns or ps is a time, in seconds.
//! Pieces are written as in Python, so that they leave no gap: `"1 us * M if M < 4000 else 9 us + 3 ns * M"`.

use exmex::{Express, FlatEx};

use super::polynomial::Polynomial;

/// Units that can follow a number, in seconds.
const UNITS: [(&str, f64); 5] = [("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9), ("ps", 1e-12)];

/// A formula that has been read.
#[derive(Debug, Clone)]
pub struct Formula {
    text: String,
    /// Names in it, in order of their first use.
    variables: Vec<String>,
    /// Pieces and their conditions, of which the first that is met holds.
    pieces: Vec<(Expression, Comparison)>,
    /// Piece of all other calls.
    rest: Expression,
    timed: bool,
}

/// Formula in one piece, and the places of its variables among those of the whole.
#[derive(Debug, Clone)]
struct Expression {
    parsed: FlatEx<f64>,
    places: Vec<usize>,
    /// The same, if it is one.
    polynomial: Option<Polynomial>,
}

/// Comparison of two formulas: `M * N < 4000`.
#[derive(Debug, Clone)]
struct Comparison {
    left: Expression,
    operator: Operator,
    right: Expression,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// Operators as they are written; those of two characters first.
const OPERATORS: [(&str, Operator); 4] = [
    ("<=", Operator::LessOrEqual),
    (">=", Operator::GreaterOrEqual),
    ("<", Operator::Less),
    (">", Operator::Greater),
];

impl Formula {
    /// Reads `text`, or says what is wrong with it.
    pub fn parse(text: &str) -> Result<Formula, String> {
        let mut reader = Reader::default();
        let (mut pieces, mut rest) = (Vec::new(), text);
        while let Some((piece, after)) = split_word(rest, "if") {
            let (condition, other) = split_word(after, "else").ok_or_else(|| {
                format!("\"{text}\": an 'if' without 'else'; write \"1 us if M < 100 else 2 us\"")
            })?;
            pieces.push((reader.expression(piece)?, reader.comparison(condition)?));
            rest = other;
        }
        let rest = reader.expression(rest)?;
        Ok(Formula { text: text.to_string(), variables: reader.variables, pieces, rest, timed: reader.timed })
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
        self.variables.is_empty() && self.value(&[]) == 0.0
    }

    /// The names in it, in the order in which [`Formula::value`] wants their values.
    pub fn variables(&self) -> &[String] {
        &self.variables
    }

    /// Its value for those of its variables.
    pub fn value(&self, variables: &[f64]) -> f64 {
        let holds = |(_, condition): &&(Expression, Comparison)| condition.holds(variables);
        self.pieces.iter().find(holds).map_or(&self.rest, |(piece, _)| piece).value(variables)
    }
}

impl Expression {
    #[inline]
    fn value(&self, variables: &[f64]) -> f64 {
        match &self.polynomial {
            Some(polynomial) => polynomial.value(variables),
            None => self.interpreted(variables),
        }
    }

    fn interpreted(&self, variables: &[f64]) -> f64 {
        let mut values = [0.0; 24];
        for (value, place) in values.iter_mut().zip(&self.places) {
            *value = variables[*place];
        }
        self.parsed.eval(&values[..self.places.len()]).expect("as many values as names")
    }
}

impl Comparison {
    /// Variable and number of a comparison such as `M <= 4000`.
    fn limit<'a>(&self, variables: &'a [String]) -> Option<(&'a str, f64)> {
        let (smaller, larger) = match self.operator {
            Operator::Less | Operator::LessOrEqual => (&self.left, &self.right),
            Operator::Greater | Operator::GreaterOrEqual => (&self.right, &self.left),
        };
        let name = &variables[*smaller.places.first()?];
        let stands_alone = smaller.parsed.unparse().trim_matches(['{', '}']) == name;
        (stands_alone && larger.places.is_empty()).then(|| (&name[..], larger.value(&[])))
    }

    fn holds(&self, variables: &[f64]) -> bool {
        let (left, right) = (self.left.value(variables), self.right.value(variables));
        match self.operator {
            Operator::Less => left < right,
            Operator::LessOrEqual => left <= right,
            Operator::Greater => left > right,
            Operator::GreaterOrEqual => left >= right,
        }
    }
}

/// Conditions that the arguments of a call must meet all together: `"M <= 15500, M * N * K <= 1e10"`.
#[derive(Debug, Clone)]
pub struct Conditions {
    text: String,
    variables: Vec<String>,
    all: Vec<Comparison>,
}

impl Conditions {
    /// Reads comparisons with commas between them, or says what is wrong with them.
    pub fn parse(text: &str) -> Result<Conditions, String> {
        let mut reader = Reader::default();
        let all = text.split(',').map(|one| reader.comparison(one)).collect::<Result<_, _>>()?;
        Ok(Conditions { text: text.to_string(), variables: reader.variables, all })
    }

    /// Their text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The names in them, in the order in which [`Conditions::hold`] wants their values.
    pub fn variables(&self) -> &[String] {
        &self.variables
    }

    /// Largest value of each variable that stands alone on the smaller side of a comparison with a number.
    pub fn limits(&self) -> Vec<(&str, f64)> {
        self.all.iter().filter_map(|one| one.limit(&self.variables)).collect()
    }

    /// True if all are met by these values of the variables.
    pub fn hold(&self, variables: &[f64]) -> bool {
        self.all.iter().all(|one| one.holds(variables))
    }
}

/// The parts of `text` before and behind the first `word` that stands alone.
fn split_word<'a>(text: &'a str, word: &str) -> Option<(&'a str, &'a str)> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let stands_alone =
        |at: usize| !text[..at].ends_with(is_name) && !text[at + word.len()..].starts_with(is_name);
    let (at, _) = text.match_indices(word).find(|(at, _)| stands_alone(*at))?;
    Some((&text[..at], &text[at + word.len()..]))
}

/// Names and units met while a formula is read.
#[derive(Default)]
struct Reader {
    variables: Vec<String>,
    timed: bool,
}

impl Reader {
    fn expression(&mut self, text: &str) -> Result<Expression, String> {
        let text = text.trim();
        let (plain, timed) = plain(text)?;
        self.timed |= timed;
        let parsed = exmex::parse::<f64>(&plain).map_err(|error| format!("\"{text}\": {}", error.msg()))?;
        let names = parsed.var_names().to_vec();
        if names.len() > 24 {
            return Err(format!("\"{text}\" has {} names; 24 at most", names.len()));
        }
        let places: Vec<_> = names.iter().map(|name| self.place(name.clone())).collect();
        let variables: Vec<_> = names.into_iter().zip(places.iter().copied()).collect();
        Ok(Expression { parsed, polynomial: Polynomial::read(&plain, &variables), places })
    }

    fn comparison(&mut self, text: &str) -> Result<Comparison, String> {
        let found = OPERATORS.iter().find_map(|(written, operator)| {
            text.split_once(written).map(|(left, right)| (left, *operator, right))
        });
        let (left, operator, right) = found.ok_or_else(|| {
            format!("'{}' compares nothing; write \"M * N <= 1e6\" (with <, <=, > or >=)", text.trim())
        })?;
        Ok(Comparison { left: self.expression(left)?, operator, right: self.expression(right)? })
    }

    fn place(&mut self, name: String) -> usize {
        self.variables.iter().position(|known| *known == name).unwrap_or_else(|| {
            self.variables.push(name);
            self.variables.len() - 1
        })
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

    /// Each piece holds from its limit to the next, and the last for all other calls; names keep their places.
    #[test]
    fn pieces_hold_where_their_conditions_are_met() {
        let formula = Formula::parse("1 us * M if M < 10 else 5 us if N*M >= 4e2 else 2 us * N").unwrap();
        assert_eq!(formula.variables(), ["M", "N"]);
        let near = |left: f64, right: f64| (left - right).abs() < 1e-18;
        assert!(near(formula.value(&[9.0, 1.0]), 9e-6) && near(formula.value(&[10.0, 40.0]), 5e-6));
        assert!(near(formula.value(&[10.0, 39.0]), 78e-6) && formula.has_unit());
        let swapped = Formula::parse("1 us * b - 1 us * a if b > a else 0 s").unwrap();
        assert_eq!(swapped.variables(), ["a", "b"]);
        assert!(near(swapped.value(&[1.0, 3.0]), 2e-6) && near(swapped.value(&[3.0, 1.0]), 0.0));
        assert!(Formula::parse("1 us * iffy + else_").is_ok());
    }

    #[test]
    fn conditions_are_met_all_together() {
        let range = Conditions::parse("M <= 100, M * N < 1e3").unwrap();
        assert_eq!(range.variables(), ["M", "N"]);
        assert!(range.hold(&[100.0, 9.0]) && !range.hold(&[100.0, 10.0]) && !range.hold(&[101.0, 1.0]));
        let limits = Conditions::parse("M <= 100, 2 * 50 >= N, K * M < 9, L < M, 2 < L").unwrap();
        assert_eq!(limits.limits(), [("M", 100.0), ("N", 100.0)]);
        for wrong in ["", "M", "M <= 3,", "M = 3", "M < "] {
            assert!(Conditions::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_no_formula_is_refused() {
        for wrong in ["", "2 +* M", "3 us 4", "(M", "1.2.3", "M N", "2 M", "1 us if M < 2", "1 if M else 2"] {
            assert!(Formula::parse(wrong).is_err(), "{wrong}");
        }
    }
}
