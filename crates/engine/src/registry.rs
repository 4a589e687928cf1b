//! The shape of a registry: a `const` table of entries, each with its parameters.
//!
//! One line in such a table enrols a model in `hopcast list`, in error messages, in the reference
//! pages, in the JSON schema and in the property tests. The reader of platform files checks a TOML
//! table against `parameters` and hands `build` the checked [`Arguments`].

use std::collections::BTreeMap;
use std::fmt;

use crate::units::{Bandwidth, Bytes, Duration, FlopRate};

/// One model under its name. `B` is the registry's type of build function.
#[derive(Debug, Clone, Copy)]
pub struct Entry<B: 'static> {
    /// What `kind = "…"` says in a platform file.
    pub name: &'static str,
    /// One line for `hopcast list`.
    pub summary: &'static str,
    /// The publication or product that the model is taken from.
    pub source: &'static str,
    /// What a platform file may say about it.
    pub parameters: &'static [Parameter],
    /// Small configurations that it builds of, as TOML: the reference page shows the first, and property tests of
    /// the registry run over all of them and over variations. `""` is the defaults alone.
    pub examples: &'static [&'static str],
    /// Makes the model of checked arguments.
    pub build: B,
}

/// One parameter of an entry.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// Its key in the platform file.
    pub name: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// Its value where the file is silent, as TOML text; `None` means that the file must say it,
    /// `Some("")` that it may be missing.
    pub default: Option<&'static str>,
    /// One line, with the unit and the meaning.
    pub summary: &'static str,
}

/// What a parameter takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// A whole number in a closed range.
    Integer(i64, i64),
    /// A number in a closed range.
    Number(f64, f64),
    /// `"635 ns"`
    Time,
    /// `"9.375 GB/s"`
    Bandwidth,
    /// `"64 KiB"`
    Size,
    /// `"10 Gflop/s"`
    FlopRate,
    /// Any text.
    Text,
    /// A file, named relative to the platform file; the value is its content (only `sim` reads files).
    File,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// `true` or `false`.
    Flag,
    /// A list of values of one kind; where only one value is written, a list of that value.
    List(&'static Kind),
}

/// A checked value of a parameter.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// See [`Kind::Integer`].
    Integer(i64),
    /// See [`Kind::Number`].
    Number(f64),
    /// See [`Kind::Time`].
    Time(Duration),
    /// See [`Kind::Bandwidth`].
    Bandwidth(Bandwidth),
    /// See [`Kind::Size`].
    Size(Bytes),
    /// See [`Kind::FlopRate`].
    FlopRate(FlopRate),
    /// See [`Kind::Text`], [`Kind::File`] (its content) and [`Kind::Choice`].
    Text(String),
    /// See [`Kind::Flag`].
    Flag(bool),
    /// See [`Kind::List`].
    List(Vec<Value>),
}

/// The checked arguments of one entry: every parameter without a default of `""` is there.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Arguments(pub BTreeMap<&'static str, Value>);

/// A value that is well written but does not fit: says which parameter, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildError {
    /// The parameter that is wrong.
    pub parameter: &'static str,
    /// Why, with the value and what would do.
    pub reason: String,
}

impl BuildError {
    /// `parameter` is wrong for `reason`.
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
            /// The list of the same kind; empty where the parameter is missing.
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
        /// A whole number.
        integer, integers, Integer, i64;
        /// A number.
        number, numbers, Number, f64;
        /// A length of time.
        time, times, Time, Duration;
        /// A bandwidth.
        bandwidth, bandwidths, Bandwidth, Bandwidth;
        /// A size.
        size, sizes, Size, Bytes;
        /// A compute rate.
        flop_rate, flop_rates, FlopRate, FlopRate;
        /// A text, choice or content of a file.
        text, texts, Text, String;
        /// A flag.
        flag, flags, Flag, bool;
    }
}

/// The names of all entries of a table, for a parameter that chooses one of them.
pub const fn names<B, const COUNT: usize>(table: &[Entry<B>]) -> [&'static str; COUNT] {
    assert!(table.len() == COUNT, "as many names as entries");
    let (mut names, mut at) = ([""; COUNT], 0);
    while at < COUNT {
        names[at] = table[at].name;
        at += 1;
    }
    names
}

/// The entry called `name`, or an error that lists the choices.
pub fn find<'a, B>(table: &'a [Entry<B>], what: &str, name: &str) -> Result<&'a Entry<B>, String> {
    table.iter().find(|entry| entry.name == name).ok_or_else(|| {
        let known: Vec<_> = table.iter().map(|entry| entry.name).collect();
        format!("unknown {what} '{name}'; known: {}", known.join(", "))
    })
}
