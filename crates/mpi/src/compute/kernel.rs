//! Kernels by model: functions of a program that take the time of a formula.
//!
//!   t = f(arguments)                                                   without noise
//!   t = max(0, f + σ z)                                                z ~ N(0, 1)
//!   t = max(0, f + σ (|z| − √(2/π)) / √(1 − 2/π))                      half-normal: mean f, deviation σ
//!
//! Assumptions: the time depends on the arguments alone, calls are independent; f is the mean and σ, a formula of
//! the arguments itself, the standard deviation in both models of noise. Validity: dgemm and the copying kernels of
//! HPL, whose time a polynomial of M, N and K predicts within a few percent; the noise of processors has a sharp
//! lower bound and a tail above, as the half-normal distribution has. Source: Cornebize, "High performance
//! computing: towards better performance predictions and experiments" (thesis, Université Grenoble Alpes 2021),
//! 3.1 and 4.1, models M-0 to M-2, N-0 to N-2.

use std::collections::BTreeSet;

use engine::random::Stream;
use engine::registry::BuildError;
use rand_chacha::rand_core::RngCore;

use super::blas;
use super::formula::Formula;

/// A function whose time a formula gives.
#[derive(Debug, Clone)]
pub struct Kernel {
    /// Its name, or that of a routine of BLAS or LAPACK.
    pub function: String,
    /// The names under which programs call it.
    pub symbols: Vec<Symbol>,
    /// Its mean time \[s\].
    pub time: Formula,
    /// Variation of its times.
    pub noise: Noise,
    /// Their standard deviation \[s\]; of no noise, nothing.
    pub deviation: Option<Formula>,
    /// True if the function also runs.
    pub runs: bool,
    /// Value that it returns where it does not run.
    pub returns: Option<Formula>,
    /// Hosts on which this holds; all if `None`.
    pub hosts: Option<BTreeSet<u32>>,
}

/// A name of a function in a program, and how it is called by it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    /// As the linker knows it.
    pub name: String,
    /// Calling conventions.
    pub style: Style,
    /// Its arguments in order.
    pub arguments: Vec<Argument>,
}

/// Calling conventions of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// A routine of BLAS or LAPACK as Fortran calls it: indices count from 1.
    Fortran,
    /// A routine of BLAS as C calls it: indices count from 0.
    C,
    /// Any other function.
    Own,
}

/// An argument of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argument {
    /// Its name in formulas.
    pub name: String,
    /// Type by which it is passed.
    pub of: Type,
}

/// Type by which an argument is passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// `int`
    Int32,
    /// `long`, `size_t`
    Int64,
    /// `double`
    Double,
    /// `float`
    Float,
    /// `const char *` to one letter
    CharAt,
    /// `const int *` to one number
    Int32At,
    /// `const long *` to one number
    Int64At,
    /// `const double *` to one number
    DoubleAt,
    /// `const float *` to one number
    FloatAt,
    /// An address, which formulas do not use.
    Pointer,
}

/// Variation of a kernel's times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Noise {
    /// Not at all.
    None,
    /// To both sides.
    Normal,
    /// Upwards from a lower bound.
    HalfNormal,
}

/// A number in \[0, 1), drawn for each use: for what a function returns.
pub const RANDOM: &str = "random";

/// Beside the arguments of a routine that has a side: the order of its triangle, M or N.
pub const TRIANGLE: &str = "K";

impl Noise {
    /// Names in platform files.
    pub const NAMES: &[&str] = &["none", "normal", "half-normal"];

    /// The noise of that name, one of [`Noise::NAMES`].
    pub fn named(name: &str) -> Option<Noise> {
        [Noise::None, Noise::Normal, Noise::HalfNormal]
            .into_iter()
            .zip(Noise::NAMES)
            .find_map(|(noise, known)| (*known == name).then_some(noise))
    }

    /// A time of that mean and deviation \[s\], not below zero.
    pub fn draw(self, mean: f64, deviation: f64, stream: &mut Stream) -> f64 {
        let half = std::f64::consts::FRAC_2_PI;
        let shift = match self {
            Noise::None => 0.0,
            Noise::Normal => normal(stream),
            Noise::HalfNormal => (normal(stream).abs() - half.sqrt()) / (1.0 - half).sqrt(),
        };
        (mean + deviation * shift).max(0.0)
    }
}

/// A number in \[0, 1).
pub fn uniform(stream: &mut Stream) -> f64 {
    (stream.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// A standard normal number (Box and Muller 1958).
pub(super) fn normal(stream: &mut Stream) -> f64 {
    let radius = (-2.0 * (1.0 - uniform(stream)).ln()).sqrt();
    radius * (std::f64::consts::TAU * uniform(stream)).cos()
}

impl Kernel {
    /// Makes a kernel of names and texts of formulas. `arguments` is "int n, double x", or empty for those of a
    /// known routine, or for arg1 to arg6, all `int`.
    pub fn new(function: &str, arguments: &str, time: &str) -> Result<Kernel, BuildError> {
        let symbols = if arguments.is_empty() {
            blas::symbols(function).unwrap_or_else(|| vec![Symbol::plain(function, default_arguments())])
        } else {
            let written = arguments.split(',').map(Argument::parse).collect::<Result<_, _>>();
            vec![Symbol::plain(function, written.map_err(|why| BuildError::new("arguments", why))?)]
        };
        let time = formula("time", time)?;
        if !time.has_unit() {
            let reason = format!(
                "\"{}\" names no time; write one with its unit, such as \"2 us + 70 ps * N\"",
                time.text()
            );
            return Err(BuildError::new("time", reason));
        }
        let kernel = Kernel {
            function: function.to_string(),
            symbols,
            time,
            noise: Noise::None,
            deviation: None,
            runs: false,
            returns: None,
            hosts: None,
        };
        kernel.check("time", &kernel.time)?;
        Ok(kernel)
    }

    /// Its times vary, with this deviation.
    pub fn with_noise(mut self, noise: Noise, deviation: &str) -> Result<Kernel, BuildError> {
        let deviation = formula("deviation", deviation)?;
        self.check("deviation", &deviation)?;
        (self.noise, self.deviation) = (noise, Some(deviation));
        Ok(self)
    }

    /// It returns that where it does not run.
    pub fn returning(mut self, value: &str) -> Result<Kernel, BuildError> {
        let value = formula("returns", value)?;
        self.check("returns", &value)?;
        self.returns = Some(value);
        Ok(self)
    }

    /// Names that formulas about it may use.
    fn names(&self) -> Vec<&str> {
        let arguments = &self.symbols[0].arguments;
        let numbers = arguments.iter().filter(|argument| argument.of != Type::Pointer);
        let mut names: Vec<_> = numbers.map(|argument| &argument.name[..]).collect();
        if self.symbols[0].style != Style::Own && names.contains(&"side") {
            names.push(TRIANGLE);
        }
        names.push(RANDOM);
        names
    }

    fn check(&self, key: &'static str, formula: &Formula) -> Result<(), BuildError> {
        let names = self.names();
        match formula.variables().iter().find(|name| !names.contains(&&name[..])) {
            None => Ok(()),
            Some(name) => {
                let known = names.join(", ");
                let text = formula.text();
                let reason =
                    format!("\"{text}\": {} has no argument '{name}'; known: {known}", self.function);
                Err(BuildError::new(key, reason))
            }
        }
    }
}

fn formula(key: &'static str, text: &str) -> Result<Formula, BuildError> {
    Formula::parse(text).map_err(|reason| BuildError::new(key, reason))
}

fn default_arguments() -> Vec<Argument> {
    (1..=6).map(|number| Argument { name: format!("arg{number}"), of: Type::Int32 }).collect()
}

impl Symbol {
    fn plain(name: &str, arguments: Vec<Argument>) -> Symbol {
        Symbol { name: name.to_string(), style: Style::Own, arguments }
    }
}

impl Argument {
    /// "int n", "const double *x".
    fn parse(text: &str) -> Result<Argument, String> {
        let spaced = text.replace('*', " * ");
        let words: Vec<_> = spaced.split_whitespace().filter(|word| *word != "const").collect();
        let pointer = words.contains(&"*");
        let words: Vec<_> = words.into_iter().filter(|word| *word != "*").collect();
        let wrong =
            || format!("'{}' is not a type and a name, such as \"int n\" or \"double *x\"", text.trim());
        let [of @ .., name] = &words[..] else { return Err(wrong()) };
        let of = match (&of.join(" ")[..], pointer) {
            ("int" | "unsigned" | "unsigned int" | "int32_t" | "uint32_t", false) => Type::Int32,
            ("int" | "int32_t", true) => Type::Int32At,
            ("long" | "size_t" | "int64_t" | "uint64_t" | "unsigned long", false) => Type::Int64,
            ("long" | "size_t" | "int64_t", true) => Type::Int64At,
            ("double", false) => Type::Double,
            ("double", true) => Type::DoubleAt,
            ("float", false) => Type::Float,
            ("float", true) => Type::FloatAt,
            ("char", true) => Type::CharAt,
            ("void", true) => Type::Pointer,
            _ => return Err(wrong()),
        };
        Ok(Argument { name: name.to_string(), of })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::random::stream;

    #[test]
    fn a_kernel_knows_its_arguments() {
        let own = Kernel::new("relax", "int n, const double *x, void *scratch", "3 ns * n * x").unwrap();
        assert_eq!(own.symbols[0].arguments[1], Argument { name: "x".into(), of: Type::DoubleAt });
        assert!(Kernel::new("dtrsm", "", "1 ns * K").is_ok() && Kernel::new("f", "", "1 ns * arg6").is_ok());
        let wrong = |function, arguments, time| Kernel::new(function, arguments, time).unwrap_err().parameter;
        assert_eq!(wrong("dgemm", "", "1 ns * L"), "time");
        assert_eq!(wrong("dgemm", "", "1 ns * A"), "time");
        assert_eq!(wrong("dgemm", "", "M * N"), "time");
        assert_eq!(wrong("f", "int", "1 ns"), "arguments");
        assert_eq!(wrong("f", "short n", "1 ns"), "arguments");
    }

    /// Over many draws the mean and the deviation are those that were asked for; half-normal times have the lower
    /// bound f − σ √(2/π) / √(1 − 2/π) = f − 1.3236 σ.
    #[test]
    fn noise_has_the_mean_and_the_deviation_asked_for() {
        for noise in [Noise::Normal, Noise::HalfNormal] {
            let mut stream = stream(1, "kernels", 0);
            let drawn: Vec<_> = (0..100_000).map(|_| noise.draw(10.0, 1.0, &mut stream)).collect();
            let mean = drawn.iter().sum::<f64>() / 1e5;
            let variance = drawn.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / 1e5;
            assert!(
                (mean - 10.0).abs() < 0.02 && (variance - 1.0).abs() < 0.03,
                "{noise:?} {mean} {variance}"
            );
            let least = drawn.iter().copied().fold(f64::MAX, f64::min);
            assert_eq!(least >= 10.0 - 1.3237, noise == Noise::HalfNormal);
        }
        assert_eq!(Noise::None.draw(3.0, 1.0, &mut stream(1, "kernels", 0)), 3.0);
    }
}
