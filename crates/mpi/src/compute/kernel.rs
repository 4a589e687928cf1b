//! Kernels by model: functions of a program that take the time of a formula.
//!
//!   t = f(arguments)                                                   without noise
//!   t = max(0, f + σ z)                                                z ~ N(0, 1)
//!   t = max(0, f + σ (|z| − √(2/π)) / √(1 − 2/π))                      half-normal: mean f, deviation σ
//!   t by the f and σ of mode i, drawn with probability π_i             mixture of modes
//!   t' = r ⌊t / r⌋                                                     with a resolution r
//!
//! Assumptions: the time depends on the arguments alone, calls are independent; f is the mean and σ, a formula of
//! the arguments itself, the standard deviation in both models of noise. Validity: dgemm and the copying kernels of
//! HPL, whose time a polynomial of M, N and K predicts within a few percent; the noise of processors has a sharp
//! lower bound and a tail above, as the half-normal distribution has; modes for functions of which a few calls take
//! many times as long as all others. σ counts as zero where its formula is negative, as a fitted polynomial can be for
//! thin matrices. A resolution is no property of a machine: a program that waits for its kernels by usleep, as the
//! published simulations of HPL do, cuts their times to whole microseconds. f holds for calls like those that it was
//! fitted to, the range. Source: Cornebize, "High performance computing: towards better performance predictions and
//! experiments" (thesis, Université Grenoble Alpes 2021), 3.1 and 4.1, models M-0 to M-2 and M', N-0 to N-2 and N'.

use std::collections::BTreeSet;

use engine::random::{Shape, Stream};
use engine::registry::{BuildError, Mode};

use super::blas;
use super::formula::{Conditions, Formula};

/// A function whose time a formula gives.
#[derive(Debug, Clone)]
pub struct Kernel {
    /// Its name, or that of a routine of BLAS or LAPACK.
    pub function: String,
    /// The names under which programs call it.
    pub symbols: Vec<Symbol>,
    /// Modes of its times, at least one.
    pub modes: Vec<KernelMode>,
    /// Calls for which this was fitted; all if `None`.
    pub range: Option<Conditions>,
    /// r \[s\]: times are cut down to whole multiples of it; 0 if they are not.
    pub resolution: f64,
    /// True if the function also runs.
    pub runs: bool,
    /// Value that it returns where it does not run.
    pub returns: Option<Formula>,
    /// Hosts on which this holds; all if `None`.
    pub hosts: Option<BTreeSet<u32>>,
    /// Sockets of these hosts on which this holds; all if `None`.
    pub sockets: Option<BTreeSet<u16>>,
}

/// One mode of a kernel's times.
#[derive(Debug, Clone)]
pub struct KernelMode {
    /// Share of the calls.
    pub weight: f64,
    /// Mean time \[s\].
    pub time: Formula,
    /// Shape and standard deviation \[s\] of the times around it.
    pub noise: Option<(Shape, Formula)>,
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

/// A number in \[0, 1), drawn for each use: for what a function returns.
pub const RANDOM: &str = "random";

/// Beside the arguments of a routine that has a side: the order of its triangle, M or N.
pub const TRIANGLE: &str = "K";

/// A time \[s\] around `mean`, not below zero; a negative deviation counts as zero.
pub fn draw(mean: f64, noise: Option<(Shape, f64)>, stream: &mut Stream) -> f64 {
    let shift = noise.map_or(0.0, |(shape, deviation)| deviation.max(0.0) * shape.draw(stream));
    (mean + shift).max(0.0)
}

/// `time` \[s\] cut down to a whole multiple of `resolution` \[s\], 0 for none.
pub fn cut(time: f64, resolution: f64) -> f64 {
    if resolution == 0.0 { time } else { (time / resolution).floor() * resolution }
}

impl Kernel {
    /// Makes a kernel without time. `arguments` is "int n, double x", or empty for those of a known routine, or for
    /// arg1 to arg6, all `int`.
    pub fn new(function: &str, arguments: &str) -> Result<Kernel, BuildError> {
        let symbols = if arguments.is_empty() {
            blas::symbols(function).unwrap_or_else(|| vec![Symbol::plain(function, default_arguments())])
        } else {
            let written = arguments.split(',').map(Argument::parse).collect::<Result<_, _>>();
            vec![Symbol::plain(function, written.map_err(|why| BuildError::new("arguments", why))?)]
        };
        Ok(Kernel {
            function: function.to_string(),
            symbols,
            modes: Vec::new(),
            range: None,
            resolution: 0.0,
            runs: false,
            returns: None,
            hosts: None,
            sockets: None,
        })
    }

    /// Formula of a time, with its unit.
    fn time(&self, key: &'static str, text: &str) -> Result<Formula, BuildError> {
        let time = formula(key, text)?;
        if !time.has_unit() {
            let reason =
                format!("\"{text}\" names no time; write one with its unit, such as \"2 us + 70 ps * N\"");
            return Err(BuildError::new(key, reason));
        }
        self.check(key, time.text(), time.variables())?;
        Ok(time)
    }

    /// It takes this time.
    pub fn taking(mut self, time: &str) -> Result<Kernel, BuildError> {
        self.modes = vec![KernelMode { weight: 1.0, time: self.time("time", time)?, noise: None }];
        Ok(self)
    }

    /// Its times vary around their mean, with this deviation.
    pub fn with_noise(mut self, shape: Shape, deviation: &str) -> Result<Kernel, BuildError> {
        let deviation = formula("deviation", deviation)?;
        self.check("deviation", deviation.text(), deviation.variables())?;
        self.modes.iter_mut().for_each(|mode| mode.noise = Some((shape, deviation.clone())));
        Ok(self)
    }

    /// Its times are those of one of these modes, drawn for each call by weight.
    pub fn with_modes(mut self, modes: &[Mode]) -> Result<Kernel, BuildError> {
        let mode = |mode: &Mode| {
            let deviation = mode.deviation.as_ref().map(|text| formula("modes", text)).transpose()?;
            if let Some(formula) = &deviation {
                self.check("modes", formula.text(), formula.variables())?;
            }
            let noise = deviation.map(|formula| (mode.shape, formula));
            Ok(KernelMode { weight: mode.weight, time: self.time("modes", &mode.mean)?, noise })
        };
        self.modes = modes.iter().map(mode).collect::<Result<_, BuildError>>()?;
        Ok(self)
    }

    /// It was fitted to calls that meet these conditions.
    pub fn within(mut self, range: &str) -> Result<Kernel, BuildError> {
        let range = Conditions::parse(range).map_err(|reason| BuildError::new("range", reason))?;
        self.check("range", range.text(), range.variables())?;
        self.range = Some(range);
        Ok(self)
    }

    /// It returns that where it does not run.
    pub fn returning(mut self, value: &str) -> Result<Kernel, BuildError> {
        let value = formula("returns", value)?;
        self.check("returns", value.text(), value.variables())?;
        self.returns = Some(value);
        Ok(self)
    }

    /// True if it holds on this socket of this host.
    pub fn holds(&self, host: u32, socket: u16) -> bool {
        self.hosts.as_ref().is_none_or(|hosts| hosts.contains(&host))
            && self.sockets.as_ref().is_none_or(|sockets| sockets.contains(&socket))
    }

    /// Mean time \[s\] of a call, not cut to the resolution; `argument` is the value of a name of its formulas.
    pub fn mean(&self, argument: impl Fn(&str) -> f64) -> f64 {
        let weight: f64 = self.modes.iter().map(|mode| mode.weight).sum();
        let mean = |mode: &KernelMode| {
            let values: Vec<_> = mode.time.variables().iter().map(|name| argument(name)).collect();
            mode.weight * mode.time.value(&values).max(0.0)
        };
        self.modes.iter().map(mean).sum::<f64>() / weight
    }

    /// Arguments in its range, each 1 or its limit, for which the deviation is below zero, as a fitted polynomial can be
    /// for thin matrices.
    pub fn negative_deviation(&self) -> Option<String> {
        let range = self.range.as_ref()?;
        let limits = range.limits();
        let corners = (0..1_u32 << limits.len().min(10)).map(|corner| {
            let value =
                |(at, (_, limit)): (usize, &(&str, f64))| if corner >> at & 1 == 1 { *limit } else { 1.0 };
            limits.iter().enumerate().map(value).collect::<Vec<_>>()
        });
        let values = |names: &[String], corner: &[f64]| -> Option<Vec<f64>> {
            let place = |name: &String| limits.iter().position(|(known, _)| known == name);
            names.iter().map(|name| place(name).map(|place| corner[place])).collect()
        };
        let deviations: Vec<_> = self.modes.iter().filter_map(|mode| mode.noise.as_ref()).collect();
        corners
            .filter(|corner| values(range.variables(), corner).is_some_and(|values| range.hold(&values)))
            .find(|corner| {
                let negative = |formula: &Formula| {
                    values(formula.variables(), corner).is_some_and(|values| formula.value(&values) < 0.0)
                };
                deviations.iter().any(|(_, formula)| negative(formula))
            })
            .map(|corner| {
                let words = limits.iter().zip(corner).map(|((name, _), value)| format!("{name} = {value}"));
                words.collect::<Vec<_>>().join(", ")
            })
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

    fn check(&self, key: &'static str, text: &str, variables: &[String]) -> Result<(), BuildError> {
        let names = self.names();
        match variables.iter().find(|name| !names.contains(&&name[..])) {
            None => Ok(()),
            Some(name) => {
                let known = names.join(", ");
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
    use engine::random::{pick, stream};

    #[test]
    fn a_kernel_knows_its_arguments() {
        let own = Kernel::new("relax", "int n, const double *x, void *scratch")
            .unwrap()
            .taking("3 ns * n * x")
            .unwrap();
        assert_eq!(own.symbols[0].arguments[1], Argument { name: "x".into(), of: Type::DoubleAt });
        let made = |function, arguments, time| Kernel::new(function, arguments)?.taking(time);
        assert!(made("dtrsm", "", "1 ns * K").is_ok() && made("f", "", "1 ns * arg6").is_ok());
        let wrong = |function, arguments, time| made(function, arguments, time).unwrap_err().parameter;
        assert_eq!(made("dgemm", "", "1 ns").unwrap().within("M * L < 3").unwrap_err().parameter, "range");
        assert_eq!(wrong("dgemm", "", "1 ns * L"), "time");
        assert_eq!(wrong("dgemm", "", "1 ns * A"), "time");
        assert_eq!(wrong("dgemm", "", "M * N"), "time");
        assert_eq!(wrong("f", "int", "1 ns"), "arguments");
        assert_eq!(wrong("f", "short n", "1 ns"), "arguments");
    }

    /// 1 us + 1 ps M N - 3 ps M K is negative where M and K are large and N is not: M N K <= 1e7 keeps N at 1.
    #[test]
    fn a_negative_deviation_is_found_at_a_corner_of_the_range() {
        let made = |deviation: &str| {
            let kernel = Kernel::new("dgemm", "").unwrap().taking("1 s").unwrap();
            let kernel = kernel.with_noise(Shape::Normal, deviation).unwrap();
            kernel.within("M <= 3e3, N <= 3e3, K <= 3e3, M*N*K <= 1e7").unwrap()
        };
        let found = made("1 us + 1 ps*M*N - 3 ps*M*K").negative_deviation();
        assert_eq!(found.as_deref(), Some("M = 3000, N = 1, K = 3000"));
        assert_eq!(made("1 us + 1 ps*M*N").negative_deviation(), None);
    }

    /// A mixture of 1 s +- 0.1 s for nine calls of ten and 11 s +- 1 s for the others has mean 2 s and variance
    /// 0.9 (0.01 + 1) + 0.1 (1 + 81) = 9.109 s^2; a deviation below zero counts as zero.
    #[test]
    fn times_are_those_of_the_modes() {
        let mode = |weight, mean: &str, deviation: &str| Mode {
            weight,
            mean: mean.into(),
            deviation: Some(deviation.into()),
            shape: Shape::HalfNormal,
        };
        let modes = [mode(0.9, "1 s", "0.1 s"), mode(0.1, "11 s", "1 s")];
        let kernel = Kernel::new("f", "").unwrap().with_modes(&modes).unwrap();
        let mut stream = stream(1, "kernels", 0);
        let weights = || kernel.modes.iter().map(|mode| mode.weight);
        let one = |_| {
            let mode = &kernel.modes[pick(weights(), &mut stream)];
            let noise = mode.noise.as_ref().map(|(shape, deviation)| (*shape, deviation.value(&[])));
            draw(mode.time.value(&[]), noise, &mut stream)
        };
        let drawn: Vec<_> = (0..1_000_000).map(one).collect();
        let mean = drawn.iter().sum::<f64>() / 1e6;
        let variance = drawn.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / 1e6;
        assert!(
            (mean / 2.0 - 1.0).abs() < 0.01 && (variance / 9.109 - 1.0).abs() < 0.01,
            "{mean} {variance}"
        );
        assert_eq!(draw(3.0, Some((Shape::HalfNormal, -1.0)), &mut stream), 3.0);
        assert_eq!(draw(3.0, None, &mut stream), 3.0);
    }
}
