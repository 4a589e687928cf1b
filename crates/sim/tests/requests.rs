//! Requests of runs: their JSON, its schema, and errors in it.

use serde_json::{Value, json};
use sim::request::{OPTIONS, Overrides, Spelling, Takes, schema};
use sim::run::Unwatched;
use sim::{RunRequest, Workload, prepare};

const RING: &str = r#"{"platform": "crossbar", "workload": {"kind": "pattern", "name": "ring"}, "ranks": 4}"#;

/// Request of a ring with further fields.
fn ring(fields: &Value) -> String {
    let mut request: Value = serde_json::from_str(RING).unwrap();
    request.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    request.to_string()
}

fn error(text: &str) -> String {
    RunRequest::from_json(text, Spelling::Keys).unwrap_err().to_string()
}

fn outcome(text: &str) -> String {
    let request = RunRequest::from_json(text, Spelling::Keys).unwrap_or_else(|error| panic!("{error}"));
    let prepared = prepare(&request).unwrap_or_else(|error| panic!("{error}"));
    prepared.run(None, &mut Unwatched).unwrap().report.outcome_hash
}

/// A valid and an invalid value of each option.
fn examples(takes: &Takes) -> (Value, Value) {
    match takes {
        Takes::Whole { least, .. } => (json!(least), json!("many")),
        Takes::Number { least } => (json!(least + 0.5), json!(least - 1.0)),
        Takes::Text | Takes::Folder => (json!("word"), json!(1)),
        Takes::Time => (json!("2.5 ms"), json!("2.5 GB")),
        Takes::Size => (json!("64 KiB"), json!("64 ms")),
        Takes::Choice(choices) => (json!(choices[0]), json!("neither")),
        Takes::Switch | Takes::OnOff => (json!(true), json!("yes")),
        Takes::Names => (json!(["one"]), json!("one")),
        Takes::Placement => (json!([0, "1:0"]), json!([-1])),
        Takes::Overrides => (json!({"link.latency": "1 us"}), json!(["link.latency"])),
    }
}

/// A workload of each kind, by name.
fn workload(kind: &str) -> Value {
    match kind {
        "pattern" | "function" => json!({"kind": kind, "name": "ring"}),
        "jobs" => json!({"kind": kind, "path": "jobs.toml"}),
        _ => json!({"kind": kind, "path": "file"}),
    }
}

/// For each option, the schema and the reader agree on its workloads and on its values, and writing it gives the same
/// request.
#[test]
fn the_schema_and_the_reader_agree_on_every_option() {
    let schema = schema();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let kinds = ["pattern", "trace", "jobs", "function", "compiled", "mpi4py"];
    for option in OPTIONS {
        let (good, bad) = examples(&option.takes);
        for kind in kinds {
            for (value, fits) in [(&good, true), (&bad, false)] {
                let request = json!({"platform": "crossbar", "workload": workload(kind), option.name: value});
                let takes_it = option.workloads.iter().any(|one| one.name() == kind);
                let read = RunRequest::from_json(&request.to_string(), Spelling::Keys);
                assert_eq!(read.is_ok(), fits && takes_it, "{request}: {:?}", read.err());
                assert_eq!(validator.is_valid(&request), fits && takes_it, "{request}");
                if let Ok(read) = read {
                    assert_eq!(RunRequest::from_json(&read.to_json(), Spelling::Keys).unwrap(), read);
                    assert!(validator.is_valid(&serde_json::from_str(&read.to_json()).unwrap()), "{request}");
                }
            }
        }
        assert_eq!(schema["properties"][option.name]["description"], option.text.trim());
    }
    assert_eq!(schema["properties"]["seed"]["default"], 1);
    assert_eq!(schema["properties"]["stack_size"]["default"], "8MiB");
}

#[test]
fn defaults_are_those_of_the_table() {
    let request = RunRequest::from_json(RING, Spelling::Keys).unwrap();
    assert_eq!((request.seed(), request.threads(), request.records()), (1, 1, 0));
    assert_eq!(request.stack_size(), "8MiB");
    let other = RunRequest::from_json(&ring(&json!({"seed": u64::MAX})), Spelling::Keys).unwrap();
    assert_eq!(other.seed(), u64::MAX);
}

#[test]
fn what_is_wrong_is_said_with_key_value_and_choices() {
    for (fields, said) in [
        (json!({"sede": 1}), "request: unknown key 'sede'; did you mean 'seed'? known: version, platform"),
        (json!({"seed": -1}), "seed: a whole number of at least 0, not -1"),
        (json!({"ranks": 0}), "ranks: a whole number from 1 to 2147483647, not 0"),
        (json!({"stop_at": 5}), "stop_at: a time with its unit such as \"2.5 ms\", not 5"),
        (json!({"mode": "none"}), "mode: it is for a recorded trace, and 'ring' is a pattern"),
        (
            json!({"compute": "none"}),
            "compute: it is for a compiled program or an mpi4py program, and 'ring'",
        ),
        (json!({"statistics": "linsk"}), "statistics: unknown choice 'linsk'; did you mean 'links'?"),
        (json!({"version": 2}), "version: this hopcast reads version 1 of requests, not 2"),
        (json!({"platform": 3}), "platform: a preset's name"),
        (json!({"workload": {"kind": "patern"}}), "workload: unknown kind 'patern'; did you mean 'pattern'?"),
        (json!({"workload": {"kind": "pattern"}}), "missing field `name`"),
        (json!({"workload": {"kind": "trace", "path": "a", "paht": "b"}}), "unknown field `paht`"),
    ] {
        let text = error(&ring(&fields));
        assert!(text.contains(said), "{fields}: {text}");
    }
    let two = error(&ring(&json!({"seed": -1, "ppn": 0})));
    assert!(two.contains("seed: ") && two.contains("ppn: a whole number from 1 to 65535"), "{two}");
    let text = ring(&json!({"stop_at": "5", "ranks": 0}));
    let flags = RunRequest::from_json(&text, Spelling::Flags).unwrap_err().to_string();
    assert!(flags.contains("--stop-at: ") && flags.contains("-n: "), "{flags}");
}

/// The later of two overrides applies, whatever their names: a key of another kind is dropped with its kind.
#[test]
fn overrides_hold_in_the_order_of_the_text() {
    let read = |set: &str| {
        let text =
            format!(r#"{{"platform": "p", "workload": {{"kind": "trace", "path": "t"}}, "set": {set}}}"#);
        RunRequest::from_json(&text, Spelling::Keys).unwrap().set.unwrap()
    };
    let pair = |key: &str, value: &str| (key.to_string(), value.to_string());
    let written = r#"{"z.a": "1 us", "a.z": 2, "m.m": [1, {"b": true}]}"#;
    let expected = vec![pair("z.a", "1 us"), pair("a.z", "2"), pair("m.m", r#"[1, {"b" = true}]"#)];
    assert_eq!(read(written), Overrides(expected));
}

/// An inline platform equals the same in a file; a list of hosts equals a file of them, and gives the number of
/// ranks.
#[test]
fn platforms_and_placements_may_stand_in_the_request() {
    let toml = sim::config::PRESETS.iter().find(|preset| preset.name == "crossbar").unwrap().text;
    assert_eq!(outcome(&ring(&json!({"platform": {"toml": toml}}))), outcome(RING));

    let file = format!("{}/places-of-ranks.txt", env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(&file, "3\n3\n0\n7:1\n").unwrap();
    let listed = json!({"placement": [3, "3", 0, "7:1"], "ranks": null});
    assert_eq!(outcome(&ring(&listed)), outcome(&ring(&json!({"placement": file}))));
    assert_ne!(outcome(&ring(&listed)), outcome(RING));

    let request = RunRequest::from_json(&ring(&json!({"placement": [0, 1]})), Spelling::Keys).unwrap();
    let error = prepare(&request).err().unwrap().to_string();
    assert_eq!(error, "placement: placement.hosts: 2 places for 4 ranks: each has one");
}

#[test]
fn a_job_is_a_pattern_or_a_recording() {
    let jobs = json!([{"name": "one", "workload": {"kind": "function", "name": "main"}, "ranks": 2}]);
    for (jobs, said) in
        [(jobs, "job 'one': a job is a pattern or a recording"), (json!([]), "jobs: there is no job")]
    {
        let text = json!({"platform": "crossbar", "workload": {"kind": "jobs", "jobs": jobs}}).to_string();
        let request = RunRequest::from_json(&text, Spelling::Keys).unwrap();
        assert_eq!(prepare(&request).err().unwrap().to_string(), said);
    }
    assert_eq!(Workload::default(), Workload::Jobs { path: None, jobs: Vec::new() });
}
