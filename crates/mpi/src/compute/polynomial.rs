//! Sums of products, such as `"2.6 us + 70 ps * M * N * K - 1 ps * M"`: most formulas, evaluated without an interpreter.
//!
//! The order of operations is that of the crate exmex, so that both give the same bits: products from left to right, then
//! each chain of differences, then the sum. What is no such formula is left to exmex.

/// Sum of chains of differences of products.
#[derive(Debug, Clone, PartialEq)]
pub struct Polynomial {
    chains: Vec<Chain>,
}

/// The first product less all others.
#[derive(Debug, Clone, PartialEq)]
struct Chain(Vec<Product>);

#[derive(Debug, Clone, PartialEq)]
struct Product {
    factors: Vec<Factor>,
    /// Factors in parentheses behind them.
    end: Option<Vec<Factor>>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Factor {
    Number(f64),
    /// Place among the variables.
    Variable(usize),
}

impl Polynomial {
    /// Reads a formula without units and exponents. Each variable has a name and a place among the values. `None` if the
    /// formula has other operators than `+`, `-` and `*`, or parentheses other than around the end of a product.
    pub fn read(plain: &str, variables: &[(String, usize)]) -> Option<Polynomial> {
        let chains = plain.split('+').map(|chain| {
            let products = chain.split('-').map(|product| Product::read(product.trim(), variables));
            products.collect::<Option<_>>().map(Chain)
        });
        Some(Polynomial { chains: chains.collect::<Option<_>>()? })
    }

    /// Its value for those of its variables.
    #[inline]
    pub fn value(&self, variables: &[f64]) -> f64 {
        let mut chains = self.chains.iter().map(|chain| chain.value(variables));
        let first = chains.next().expect("a text has a first part");
        chains.fold(first, |sum, chain| sum + chain)
    }
}

impl Chain {
    fn value(&self, variables: &[f64]) -> f64 {
        let mut products = self.0.iter().map(|product| product.value(variables));
        let first = products.next().expect("a text has a first part");
        products.fold(first, |left, product| left - product)
    }
}

impl Product {
    /// Reads factors with `*` between them, the last of which may be a product in parentheses.
    fn read(text: &str, variables: &[(String, usize)]) -> Option<Product> {
        let (text, end) = match text.strip_suffix(')').and_then(|text| text.split_once("*(")) {
            Some((text, end)) => (text, Some(factors(end, variables)?)),
            None => (text, None),
        };
        let factors = factors(text, variables)?;
        Some(Product { factors, end })
    }

    fn value(&self, variables: &[f64]) -> f64 {
        let product = multiply(&self.factors, variables);
        self.end.as_ref().map_or(product, |end| product * multiply(end, variables))
    }
}

/// Factors with `*` between them; `None` if two numbers are among them, which exmex may multiply first.
fn factors(text: &str, variables: &[(String, usize)]) -> Option<Vec<Factor>> {
    let factors: Vec<_> =
        text.split('*').map(|factor| Factor::read(factor.trim(), variables)).collect::<Option<_>>()?;
    let numbers = factors.iter().filter(|factor| matches!(factor, Factor::Number(_))).count();
    (numbers < 2).then_some(factors)
}

#[inline]
fn multiply(factors: &[Factor], variables: &[f64]) -> f64 {
    let (first, others) = factors.split_first().expect("a text has a first part");
    others.iter().fold(first.value(variables), |product, factor| product * factor.value(variables))
}

impl Factor {
    fn read(text: &str, variables: &[(String, usize)]) -> Option<Factor> {
        if let Some((_, place)) = variables.iter().find(|(name, _)| name == text) {
            return Some(Factor::Variable(*place));
        }
        let is_plain = text.chars().all(|c| c.is_ascii_digit() || c == '.');
        text.parse().ok().filter(|_| is_plain).map(Factor::Number)
    }

    #[inline]
    fn value(self, variables: &[f64]) -> f64 {
        match self {
            Factor::Number(number) => number,
            Factor::Variable(place) => variables[place],
        }
    }
}

#[cfg(test)]
mod tests {
    use engine::random::{stream, uniform};
    use exmex::Express;

    use super::*;

    const NAMES: [&str; 3] = ["K", "M", "N"];

    fn read(text: &str) -> Option<Polynomial> {
        let places = NAMES.iter().enumerate().map(|(place, name)| (name.to_string(), place));
        Polynomial::read(text, &places.collect::<Vec<_>>())
    }

    /// Values are the same to the bit as those of exmex, whose operators have priorities of their own: a + b - c + d is
    /// a + (b - c) + d.
    #[test]
    fn values_are_those_of_exmex() {
        let texts = [
            "0.0000025*(1) + 0.00000000007*(M*N*K) - 0.0000000001*(M*N) + 0.000000002*(M*K) + 0.000000003*(N*K)",
            "0.1 + 0.2*M - 0.3*N - 0.7*K + 0.9*M*N*K - 0.11",
            "M*0.3*N - K*0.1*(M*N) + N",
            "0 - 0.7*(M*K) + 0.1*K + 0.3*M",
            "0.1*K",
        ];
        let mut random = stream(1, "polynomial", 0);
        for text in texts {
            let (ours, theirs) = (read(text).expect(text), exmex::parse::<f64>(text).expect(text));
            for _ in 0..1000 {
                let values = [(); 3].map(|()| uniform(&mut random) * 1e3);
                let place =
                    |name: &String| NAMES.iter().position(|known| known == name).expect("one of them");
                let used: Vec<_> = theirs.var_names().iter().map(|name| values[place(name)]).collect();
                assert_eq!(ours.value(&values).to_bits(), theirs.eval(&used).unwrap().to_bits(), "{text}");
            }
        }
    }

    #[test]
    fn other_formulas_are_left_to_exmex() {
        for text in [
            "M/2",
            "M^2",
            "min(M, N)",
            "(M + N)*K",
            "2*3*M",
            "-M",
            "(M*N)*K",
            "M*(N + K)",
            "M*(N)*(K)",
            "x",
            "",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
