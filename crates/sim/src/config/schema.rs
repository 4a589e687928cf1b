//! JSON schema of platform files, for editors: generated, so that it never lags behind.

use engine::energy::{ENERGY_PER_BYTE_UNITS, POWER_UNITS};
use engine::random::Shape;
use engine::registry::{Kind, Parameter};
use engine::units;
use serde_json::{Map, Value, json};

use super::sections::{Choice, Content, below, section};

/// The schema (JSON Schema, draft 2020-12). [`super::load`] refuses every file that the schema refuses; only `load`
/// checks constraints between keys (regimes in order, sizes that fit).
pub fn schema() -> Value {
    let mut schema = table("");
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("hopcast platform");
    schema
}

/// Schema of the section called `name`, with its subsections.
fn table(name: &str) -> Value {
    let section = section(name);
    match &section.content {
        Content::Keys(parameters) => object(section.summary, parameters, name, None),
        Content::Repeated(parameters) => {
            json!({"type": "array", "description": section.summary, "items": object("", parameters, name, None)})
        }
        Content::Model { choices, .. } => {
            let one = |choice: &Choice| object(choice.summary, choice.parameters, name, Some(choice.name));
            let kinds: Vec<_> = choices.iter().map(|choice| choice.name).collect();
            json!({
                "type": "object",
                "description": section.summary,
                "required": ["kind"],
                "properties": {"kind": {"enum": kinds}},
                "oneOf": choices.iter().map(one).collect::<Vec<_>>(),
            })
        }
    }
}

/// Schema of an object with `parameters`, and the sections below `name`.
fn object(summary: &str, parameters: &[Parameter], name: &str, kind: Option<&str>) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    if let Some(kind) = kind {
        properties.insert("kind".to_string(), json!({"const": kind}));
        required.push("kind");
    }
    for parameter in parameters {
        let mut property = value(&parameter.kind);
        property["description"] = json!(parameter.summary);
        match parameter.default {
            None => required.push(parameter.name),
            Some("") => {}
            Some(default) => property["default"] = json!(default),
        }
        properties.insert(parameter.name.to_string(), property);
    }
    for inner in below(name) {
        let inner_name = super::read::path(name, inner);
        if must_stand(&inner_name) {
            required.push(inner);
        }
        properties.insert(inner.to_string(), table(&inner_name));
    }
    json!({
        "type": "object",
        "description": summary,
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// True if a file must have the section.
fn must_stand(name: &str) -> bool {
    match &section(name).content {
        Content::Keys(_) if super::read::waits(name) => false,
        Content::Keys(parameters) => {
            let lacking = parameters.iter().any(|parameter| parameter.default.is_none());
            lacking || below(name).iter().any(|inner| must_stand(&super::read::path(name, inner)))
        }
        Content::Repeated(_) => false,
        Content::Model { default, .. } => default.is_none(),
    }
}

/// Schema of one value.
pub fn value(kind: &Kind) -> Value {
    match kind {
        Kind::Integer(low, high) => json!({"type": "integer", "minimum": low, "maximum": high}),
        Kind::Number(low, high) => {
            let mut number = json!({"type": "number"});
            for (bound, limit) in [("minimum", low), ("maximum", high)] {
                if limit.is_finite() {
                    number[bound] = json!(limit);
                }
            }
            number
        }
        Kind::Time => quantity(units::TIME_UNITS, "635 ns"),
        Kind::LinearTime => {
            let (number, units) = (NUMBER, alternatives(units::TIME_UNITS));
            let constant = format!(r"{number}\s*({units})");
            let slope = format!(r"{number}\s*({units})/B");
            let pattern = format!(r"^\s*({constant}(\s*\+\s*{slope})?|{slope}(\s*\+\s*{constant})?)\s*$");
            json!({"type": "string", "pattern": pattern, "examples": ["296 ns + 96 ps/B"]})
        }
        Kind::Size => quantity(units::SIZE_UNITS, "64 KiB"),
        Kind::FlopRate => quantity(units::FLOP_UNITS, "10.5 Gflop/s"),
        Kind::Power => quantity(POWER_UNITS, "95 W"),
        Kind::EnergyPerByte => quantity(ENERGY_PER_BYTE_UNITS, "10 pJ/bit"),
        Kind::Bandwidth => {
            json!({"anyOf": [{"const": "infinite"}, quantity(units::RATE_UNITS, "9.375 GB/s")]})
        }
        Kind::Text | Kind::File => json!({"type": "string"}),
        Kind::Choice(choices) => json!({"enum": choices}),
        Kind::Flag => json!({"type": "boolean"}),
        Kind::List(inner) => {
            json!({"anyOf": [value(inner), {"type": "array", "items": value(inner)}]})
        }
        Kind::Modes => {
            let mode = json!({
                "type": "object",
                "properties": {
                    "weight": value(&Kind::Number(0.0, 1.0)),
                    "mean": {"type": "string"},
                    "deviation": {"type": "string"},
                    "shape": value(&Kind::Choice(Shape::NAMES)),
                },
                "required": ["mean"],
                "additionalProperties": false,
            });
            json!({"type": "array", "items": mode, "minItems": 1})
        }
    }
}

/// Pattern of a number.
const NUMBER: &str = r"([0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*)([eE][+-]?[0-9]+)?";

/// Pattern of one of the units.
fn alternatives(known: &[(&str, f64)]) -> String {
    known.iter().flat_map(|(unit, _)| units::spellings(unit)).collect::<Vec<_>>().join("|")
}

/// Schema of a number with one of the units.
fn quantity(known: &[(&str, f64)], example: &str) -> Value {
    let pattern = format!(r"^\s*\+?{NUMBER}\s*({})\s*$", alternatives(known));
    json!({"type": "string", "pattern": pattern, "examples": [example]})
}
