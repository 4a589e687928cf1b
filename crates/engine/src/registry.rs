//! The shape of a registry: a `const` table of entries, each with its parameters.
//!
//! One line in such a table enrols a model in `hopcast list`, in error messages, in the reference
//! pages, in the JSON schema and in the property tests. The reader of platform files checks a TOML
//! table against `parameters` and hands `build` the checked [`Arguments`].

use std::collections::BTreeMap;
use std::fmt;

use crate::energy::{EnergyPerByte, Power};
use crate::linear_time::LinearTime;
use crate::random::Shape;
use crate::units::{Bandwidth, Bytes, Duration, FlopRate};

/// A model and its name. `B` is the registry's type of build function.
#[derive(Debug, Clone, Copy)]
pub struct Entry<B: 'static> {
    /// Name, which a platform file selects with `kind = "…"`.
    pub name: &'static str,
    /// One line for `hopcast list`.
    pub summary: &'static str,
    /// Publication or product that the model is taken from.
    pub source: &'static str,
    /// Parameters that a platform file may set.
    pub parameters: &'static [Parameter],
    /// Small configurations that it can be built of, as TOML: the reference page shows the first, and property tests
    /// of the registry run over all of them and over variations. `""` stands for the defaults alone.
    pub examples: &'static [&'static str],
    /// Builds the model from checked arguments.
    pub build: B,
}

/// One parameter of an entry.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// Key in the platform file.
    pub name: &'static str,
    /// Kind of its values.
    pub kind: Kind,
    /// Default as TOML text; `None` for a parameter that the file must set, `Some("")` for one that may be absent.
    pub default: Option<&'static str>,
    /// One line, with the unit and the meaning.
    pub summary: &'static str,
}

/// Kind of a parameter's values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// A whole number in a closed range.
    Integer(i64, i64),
    /// A number in a closed range.
    Number(f64, f64),
    /// `"635 ns"`
    Time,
    /// `"296 ns + 96.36 ps/B"`
    LinearTime,
    /// `"9.375 GB/s"`
    Bandwidth,
    /// `"64 KiB"`
    Size,
    /// `"10 Gflop/s"`
    FlopRate,
    /// `"95 W"`
    Power,
    /// `"10 pJ/bit"`
    EnergyPerByte,
    /// Any text.
    Text,
    /// A file, named relative to the platform file; the value is its contents (only `sim` reads files).
    File,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// `true` or `false`.
    Flag,
    /// A list of values of one kind; a single value stands for a list of one.
    List(&'static Kind),
    /// Modes of a distribution: `[{ weight = 0.9, mean = "1 us", deviation = "80 ns" }, …]`.
    Modes,
}

/// One mode of a distribution, as a platform file writes it; the parameter says in which form its texts are.
#[derive(Debug, Clone, PartialEq)]
pub struct Mode {
    /// Share of the draws; all modes together have 1.
    pub weight: f64,
    /// Mean of the mode.
    pub mean: String,
    /// Standard deviation around it; `None` if there is none.
    pub deviation: Option<String>,
    /// Shape around it.
    pub shape: Shape,
}

/// Checked value of a parameter.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// See [`Kind::Integer`].
    Integer(i64),
    /// See [`Kind::Number`].
    Number(f64),
    /// See [`Kind::Time`].
    Time(Duration),
    /// See [`Kind::LinearTime`].
    LinearTime(LinearTime),
    /// See [`Kind::Bandwidth`].
    Bandwidth(Bandwidth),
    /// See [`Kind::Size`].
    Size(Bytes),
    /// See [`Kind::FlopRate`].
    FlopRate(FlopRate),
    /// See [`Kind::Power`].
    Power(Power),
    /// See [`Kind::EnergyPerByte`].
    EnergyPerByte(EnergyPerByte),
    /// See [`Kind::Text`], [`Kind::File`] (its contents) and [`Kind::Choice`].
    Text(String),
    /// See [`Kind::Flag`].
    Flag(bool),
    /// See [`Kind::List`].
    List(Vec<Value>),
    /// See [`Kind::Modes`].
    Modes(Vec<Mode>),
}

/// Checked arguments of one entry: values of all parameters but those with the default `""` that are absent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Arguments(pub BTreeMap<&'static str, Value>);

/// A value that is well formed but does not fit: names the parameter and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildError {
    /// Name of the parameter.
    pub parameter: &'static str,
    /// Reason, with the value and the valid ones.
    pub reason: String,
}

impl BuildError {
    /// Makes an error about `parameter`.
    pub fn new(parameter: &'static str, reason: impl Into<String>) -> BuildError {
        BuildError { parameter, reason: reason.into() }
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.parameter, self.reason)
    }
}
impl std::error::Error for BuildError {}

macro_rules! getters {
    ($($(#[$doc:meta])* $name:ident, $list:ident, $variant:ident, $type:ty;)*) => {
        $(
            $(#[$doc])*
            pub fn $name(&self, name: &str) -> Option<$type> {
                self.0.get(name).map(|value| match value {
                    Value::$variant(value) => value.clone(),
                    other => panic!("parameter '{name}' was declared otherwise: {other:?}"),
                })
            }
            /// List of values; empty if the parameter is absent.
            pub fn $list(&self, name: &str) -> Vec<$type> {
                match self.0.get(name) {
                    None => Vec::new(),
                    Some(Value::List(values)) => values.iter().map(|value| match value {
                        Value::$variant(value) => value.clone(),
                        other => panic!("parameter '{name}' was declared otherwise: {other:?}"),
                    }).collect(),
                    Some(other) => panic!("parameter '{name}' was declared otherwise: {other:?}"),
                }
            }
        )*
    };
}

impl Arguments {
    getters! {
        /// Integer.
        integer, integers, Integer, i64;
        /// Number.
        number, numbers, Number, f64;
        /// Duration.
        time, times, Time, Duration;
        /// Time that grows with a size.
        linear_time, linear_times, LinearTime, LinearTime;
        /// Bandwidth.
        bandwidth, bandwidths, Bandwidth, Bandwidth;
        /// Size.
        size, sizes, Size, Bytes;
        /// Compute rate.
        flop_rate, flop_rates, FlopRate, FlopRate;
        /// Power.
        power, powers, Power, Power;
        /// Energy per byte.
        energy_per_byte, energies_per_byte, EnergyPerByte, EnergyPerByte;
        /// Text, choice or contents of a file.
        text, texts, Text, String;
        /// Flag.
        flag, flags, Flag, bool;
    }

    /// Modes of a distribution; `None` if the parameter is absent.
    pub fn modes(&self, name: &str) -> Option<&[Mode]> {
        self.0.get(name).map(|value| match value {
            Value::Modes(modes) => &modes[..],
            other => panic!("parameter '{name}' was declared otherwise: {other:?}"),
        })
    }
}

/// Names of all entries of a table, for a parameter that chooses one of them.
pub const fn names<B, const COUNT: usize>(table: &[Entry<B>]) -> [&'static str; COUNT] {
    assert!(table.len() == COUNT, "as many names as entries");
    let (mut names, mut at) = ([""; COUNT], 0);
    while at < COUNT {
        names[at] = table[at].name;
        at += 1;
    }
    names
}

/// The one of `known` whose old spelling, with underscores between its words, is `name`.
pub fn respelled<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known.into_iter().find(|known| *known != name && known.replace('-', "_") == name)
}

/// Finds the entry called `name`, or fails with a list of the choices.
pub fn find<'a, B>(table: &'a [Entry<B>], what: &str, name: &str) -> Result<&'a Entry<B>, String> {
    table.iter().find(|entry| entry.name == name).ok_or_else(|| {
        let known: Vec<_> = table.iter().map(|entry| entry.name).collect();
        format!("unknown {what} '{name}'; known: {}", known.join(", "))
    })
}
