//! Checks a written value against the kind of its parameter.

use std::str::FromStr;

use engine::registry::{Arguments, Kind, Parameter, Value, respelled};
use engine::{Bandwidth, Bytes, Duration, EnergyPerByte, FlopRate, LinearTime, Power};

use super::document::{Item, Node};
use super::error::{InputError, unknown};
use super::files::{Lookup, Texts};
use super::modes::modes;

/// Checked value of `node`, written at the key `path`; files are looked up in `files`.
pub fn check(kind: &Kind, node: &Node, path: &str, files: &Lookup) -> Result<Value, InputError> {
    if let Kind::List(inner) = kind {
        return Ok(Value::List(match &node.item {
            Item::List(nodes) => {
                nodes.iter().map(|node| check(inner, node, path, files)).collect::<Result<_, _>>()?
            }
            _ => vec![check(inner, node, path, files)?],
        }));
    }
    if *kind == Kind::Modes {
        return modes(node, path, files);
    }
    let wrong = || node.at.error(format!("{path}: {} is not {}", node.text, describe(kind)));
    match (kind, &node.item) {
        (Kind::Integer(low, high), Item::Integer(value)) if (low..=high).contains(&value) => {
            Ok(Value::Integer(*value))
        }
        (Kind::Number(low, high), Item::Integer(value)) if (*low..=*high).contains(&(*value as f64)) => {
            Ok(Value::Number(*value as f64))
        }
        (Kind::Number(low, high), Item::Number(value)) if (low..=high).contains(&value) => {
            Ok(Value::Number(*value))
        }
        (Kind::Flag, Item::Flag(value)) => Ok(Value::Flag(*value)),
        (Kind::Text, Item::Text(text)) => Ok(Value::Text(text.clone())),
        (Kind::Choice(choices), Item::Text(text)) => {
            let found = choices.iter().find(|choice| *choice == text).copied();
            match found.or_else(|| respelled(text, choices.iter().copied())) {
                Some(choice) => Ok(Value::Text(choice.to_string())),
                None => Err(node.at.error(format!("{path}: {}", unknown("choice", text, choices)))),
            }
        }
        (Kind::File, Item::Text(name)) => files
            .read(name, &node.at)
            .map(Value::Text)
            .map_err(|reason| node.at.error(format!("{path}: cannot read \"{name}\": {reason}"))),
        (Kind::Time, _) => quantity::<Duration>(node, path, Value::Time, wrong),
        (Kind::LinearTime, _) => quantity::<LinearTime>(node, path, Value::LinearTime, wrong),
        (Kind::Bandwidth, _) => quantity::<Bandwidth>(node, path, Value::Bandwidth, wrong),
        (Kind::Size, _) => quantity::<Bytes>(node, path, Value::Size, wrong),
        (Kind::FlopRate, _) => quantity::<FlopRate>(node, path, Value::FlopRate, wrong),
        (Kind::Power, _) => quantity::<Power>(node, path, Value::Power, wrong),
        (Kind::EnergyPerByte, _) => quantity::<EnergyPerByte>(node, path, Value::EnergyPerByte, wrong),
        _ => Err(wrong()),
    }
}

/// Parses a quantity. A bare number also goes to the quantity's own parser, whose error shows how to write the unit.
fn quantity<T: FromStr<Err = engine::units::QuantityError>>(
    node: &Node,
    path: &str,
    value: fn(T) -> Value,
    wrong: impl Fn() -> InputError,
) -> Result<Value, InputError> {
    let text = match &node.item {
        Item::Text(text) => text,
        Item::Integer(_) | Item::Number(_) => &node.text,
        _ => return Err(wrong()),
    };
    text.parse().map(value).map_err(|reason| node.at.error(format!("{path}: {reason}")))
}

/// Describes the values of a kind, with an example for quantities.
pub fn describe(kind: &Kind) -> String {
    match kind {
        Kind::Integer(low, i64::MAX) => format!("a whole number of at least {low}"),
        Kind::Integer(low, high) => format!("a whole number from {low} to {high}"),
        Kind::Number(low, high) if high.is_infinite() || *high == f64::MAX => {
            format!("a number of at least {low}")
        }
        Kind::Number(low, high) => format!("a number from {low} to {high}"),
        Kind::Time => "a time such as \"635 ns\"".to_string(),
        Kind::LinearTime => "a time such as \"296 ns\" or \"296 ns + 96 ps/B\"".to_string(),
        Kind::Bandwidth => "a bandwidth such as \"9.375 GB/s\"".to_string(),
        Kind::Size => "a size such as \"64 KiB\"".to_string(),
        Kind::FlopRate => "a compute rate such as \"10.5 Gflop/s\"".to_string(),
        Kind::Power => "a power such as \"95 W\"".to_string(),
        Kind::EnergyPerByte => "an energy per byte such as \"10 pJ/bit\"".to_string(),
        Kind::Text => "a text in quotes".to_string(),
        Kind::File => "the name of a file, in quotes".to_string(),
        Kind::Choice(choices) => format!("one of {}", choices.join(", ")),
        Kind::Flag => "true or false".to_string(),
        Kind::List(inner) => format!("{}, or a list of such", describe(inner)),
        Kind::Modes => {
            "a list of modes such as [{ weight = 0.9, mean = \"1 us\", deviation = \"80 ns\" }, …]"
                .to_string()
        }
    }
}

/// Fills in the defaults of `parameters` that `arguments` lacks; the error is a parameter that has neither.
///
/// Files have no defaults.
pub fn fill(parameters: &'static [Parameter], arguments: &mut Arguments) -> Result<(), &'static Parameter> {
    let files = Lookup { folder: "", beside: &Texts::default(), base: &Texts::default() };
    for parameter in parameters {
        if arguments.0.contains_key(parameter.name) {
            continue;
        }
        match parameter.default {
            None => return Err(parameter),
            Some("") => {}
            Some(text) => {
                let node = super::document::value("default", text);
                let value = check(&parameter.kind, &node, parameter.name, &files)
                    .unwrap_or_else(|error| panic!("the default of a parameter fits its kind: {error}"));
                arguments.0.insert(parameter.name, value);
            }
        }
    }
    Ok(())
}
