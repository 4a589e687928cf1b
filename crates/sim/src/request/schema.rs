//! JSON schema of requests, made of the table of options.

use engine::registry::Kind;
use serde_json::{Map, Value, json};

use super::table::{ANY, RunOption, Takes, WorkloadKind};
use super::{OPTIONS, VERSION};
use crate::config;

/// The schema (JSON Schema, draft 2020-12). [`super::RunRequest::from_json`] refuses every request that the schema
/// refuses.
pub fn schema() -> Value {
    let mut properties = Map::new();
    properties.insert("version".into(), json!({"const": VERSION, "description": "Version of the format."}));
    properties.insert("platform".into(), platform());
    properties.insert(
        "workload".into(),
        json!({"oneOf": ANY.iter().map(|kind| workload(*kind)).collect::<Vec<_>>()}),
    );
    properties.insert(
        "directory".into(),
        text(
            "Folder in which relative paths begin and programs run; relative to that of the request's file.",
        ),
    );
    properties.insert(
        "made_by".into(),
        json!({"type": "object", "description": "Record of the run: versions, and inputs with their hashes."}),
    );
    for option in OPTIONS {
        properties.insert(option.name.to_string(), described(option));
    }
    let rules: Vec<_> =
        OPTIONS.iter().filter(|option| option.workloads.len() < ANY.len()).map(rule).collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "hopcast run request",
        "type": "object",
        "required": ["platform", "workload"],
        "properties": properties,
        "additionalProperties": false,
        "allOf": rules,
    })
}

fn text(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

fn platform() -> Value {
    let inline = json!({
        "type": "object",
        "required": ["toml"],
        "properties": {"toml": text("A platform file's text.")},
        "additionalProperties": false,
    });
    json!({"description": "Platform: a preset, a file, or inline.", "anyOf": [{"type": "string"}, inline]})
}

/// An option with its text and default.
fn described(option: &RunOption) -> Value {
    let mut property = value(&option.takes);
    property["description"] = json!(option.text.trim());
    let entry = option.to_json();
    if !entry["default"].is_null() {
        property["default"] = entry["default"].clone();
    }
    property
}

fn value(takes: &Takes) -> Value {
    match takes {
        Takes::Whole { least, most } => json!({"type": "integer", "minimum": least, "maximum": most}),
        Takes::Number { least } => json!({"type": "number", "minimum": least}),
        Takes::Text | Takes::Folder => json!({"type": "string"}),
        Takes::Time => config::value_schema(&Kind::Time),
        Takes::Size => config::value_schema(&Kind::Size),
        Takes::Choice(choices) => json!({"enum": choices}),
        Takes::Switch | Takes::OnOff => json!({"type": "boolean"}),
        Takes::Names => json!({"type": "array", "items": {"type": "string"}}),
        Takes::Placement => {
            let place = json!({"anyOf": [{"type": "integer", "minimum": 0, "maximum": u32::MAX}, {"type": "string"}]});
            json!({"anyOf": [{"type": "string"}, {"type": "array", "items": place}]})
        }
        Takes::Overrides => json!({"type": "object"}),
    }
}

/// Rule that an option may be given only with the workloads that take it.
fn rule(option: &RunOption) -> Value {
    let kinds: Vec<_> = option.workloads.iter().map(|kind| kind.name()).collect();
    json!({
        "if": {"required": [option.name]},
        "then": {"properties": {"workload": {"properties": {"kind": {"enum": kinds}}}}},
    })
}

fn workload(kind: WorkloadKind) -> Value {
    let texts =
        |description: &str| json!({"type": "array", "items": {"type": "string"}, "description": description});
    let command = || texts("Words of its command line after its name.");
    let (fields, required) = match kind {
        WorkloadKind::Pattern => (
            json!({
                "name": text("Name of the pattern."),
                "arguments": {"type": "object", "description": "Values by parameter."},
            }),
            vec!["name"],
        ),
        WorkloadKind::Trace => {
            (json!({"path": text("Folder, file or archive of the recorded run.")}), vec!["path"])
        }
        WorkloadKind::Jobs => (
            json!({
                "path": text("File of jobs."),
                "jobs": {"type": "array", "items": {"type": "object"}, "description": "Jobs, instead of a file."},
            }),
            vec![],
        ),
        WorkloadKind::Function => (
            json!({
                "file": text("File that defines the function."),
                "name": text("Name of the function."),
                "words": texts("Words of the command line of a program file."),
                "arguments": {"type": "array", "description": "Arguments after the communicator."},
                "keywords": {"type": "object", "description": "Arguments by name."},
            }),
            vec!["name"],
        ),
        WorkloadKind::Compiled => {
            (json!({"path": text("File of the compiled program."), "arguments": command()}), vec!["path"])
        }
        WorkloadKind::Mpi4py => (
            json!({"path": text("File of the program, which imports mpi4py."), "arguments": command()}),
            vec!["path"],
        ),
    };
    let mut properties = fields;
    properties["kind"] = json!({"const": kind.name()});
    let required: Vec<_> = std::iter::once("kind").chain(required).collect();
    json!({"type": "object", "required": required, "properties": properties, "additionalProperties": false})
}
