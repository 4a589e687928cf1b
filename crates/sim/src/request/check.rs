//! Checks of a request against the table of options: keys, values, and the workloads that take an option.

use engine::{Bytes, Time};
use serde_json::{Map, Value};

use super::table::{RunOption, Takes, WorkloadKind};
use super::{OPTIONS, VERSION};
use crate::config::{InputError, unknown};

/// Spelling of options in errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spelling {
    /// Keys of requests and keywords of Python: `stop_at`.
    Keys,
    /// Flags of the command line: `--stop-at`.
    Flags,
}

impl Spelling {
    fn of(self, option: &RunOption) -> String {
        match (self, option.short) {
            (Spelling::Keys, _) => option.name.to_string(),
            (Spelling::Flags, Some(short)) => short.to_string(),
            (Spelling::Flags, None) => format!("--{}", option.name.replace('_', "-")),
        }
    }
}

/// Keys of a request that are not options.
const OTHERS: [&str; 5] = ["version", "platform", "workload", "directory", "made_by"];

/// Reports all mistakes in a request.
pub(super) fn check(request: &Value, spelling: Spelling) -> Result<(), InputError> {
    let wrong = |place: &str, reason: String| InputError::whole(place, reason);
    let Value::Object(request) = request else {
        return Err(wrong("request", "a request is an object with platform and workload".to_string()));
    };
    let mut errors = Vec::new();
    match request.get("version") {
        None | Some(Value::Null) => {}
        Some(version) if *version == VERSION => {}
        Some(version) => {
            let reason = format!("this hopcast reads version {VERSION} of requests, not {version}");
            return Err(wrong("version", reason));
        }
    }
    match request.get("platform") {
        Some(Value::String(_)) => {}
        Some(Value::Object(inline))
            if inline.get("toml").is_some_and(Value::is_string) && inline.len() == 1 => {}
        other => {
            let reason = "a preset's name, a file's path, or {\"toml\": a platform file's text}";
            errors.push(wrong("platform", but_is(reason, other)));
        }
    }
    let workload = workload(request.get("workload"), &mut errors);
    for (key, value) in request {
        if OTHERS.contains(&key.as_str()) || value.is_null() {
            continue;
        }
        let Some(option) = OPTIONS.iter().find(|option| option.name == key) else {
            let known: Vec<_> = OTHERS.into_iter().chain(OPTIONS.iter().map(|option| option.name)).collect();
            errors.push(wrong("request", unknown("key", key, &known)));
            continue;
        };
        let place = spelling.of(option);
        if let Err(reason) = takes(&option.takes, value) {
            errors.push(wrong(&place, reason));
        } else if let Some((kind, what)) = &workload
            && !option.workloads.contains(kind)
        {
            errors.push(wrong(&place, misplaced(option, *kind, what)));
        }
    }
    InputError::all(errors)
}

/// Kind and name of the workload.
fn workload(value: Option<&Value>, errors: &mut Vec<InputError>) -> Option<(WorkloadKind, String)> {
    let known: Vec<_> = super::table::ANY.iter().map(|kind| kind.name()).collect();
    let fields = value.and_then(Value::as_object);
    let Some(name) = fields.and_then(|fields| fields.get("kind")).and_then(Value::as_str) else {
        let reason = format!("an object with a kind ({})", known.join(", "));
        errors.push(InputError::whole("workload", but_is(&reason, value)));
        return None;
    };
    let Some(kind) = WorkloadKind::named(name) else {
        errors.push(InputError::whole("workload", unknown("kind", name, &known)));
        return None;
    };
    Some((kind, called(fields.expect("it has a kind"))))
}

/// Name of a workload.
fn called(fields: &Map<String, Value>) -> String {
    let names = ["path", "name"].iter().filter_map(|key| fields.get(*key)?.as_str());
    names.map(String::from).next().unwrap_or_else(|| "it".to_string())
}

/// Reason why an option does not apply to a workload.
fn misplaced(option: &RunOption, kind: WorkloadKind, what: &str) -> String {
    let kinds: Vec<_> = option.workloads.iter().map(|kind| kind.one()).collect();
    let takers = match kinds.split_last() {
        Some((last, [])) => (*last).to_string(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => "none".to_string(),
    };
    format!("it is for {takers}, and '{what}' is {}", kind.one())
}

fn but_is(wanted: &str, value: Option<&Value>) -> String {
    match value {
        None => format!("is missing: {wanted}"),
        Some(value) => format!("{wanted}, not {value}"),
    }
}

/// Fails with the valid values unless the option takes `value`.
fn takes(takes: &Takes, value: &Value) -> Result<(), String> {
    let wanted = match (takes, value) {
        (Takes::Whole { least, most }, _) => {
            if value.as_u64().is_some_and(|value| (*least..=*most).contains(&value)) {
                return Ok(());
            }
            match *most {
                most if most >= u64::from(u32::MAX) => format!("a whole number of at least {least}"),
                most => format!("a whole number from {least} to {most}"),
            }
        }
        (Takes::Number { least }, _) => {
            if value.as_f64().is_some_and(|value| value.is_finite() && value >= *least) {
                return Ok(());
            }
            format!("a finite number of at least {least}")
        }
        (Takes::Time, Value::String(text)) => return quantity::<Time>(text),
        (Takes::Size, Value::String(text)) => return quantity::<Bytes>(text),
        (Takes::Time, _) => "a time with its unit such as \"2.5 ms\"".to_string(),
        (Takes::Size, _) => "a size with its unit such as \"64 KiB\"".to_string(),
        (Takes::Choice(choices), Value::String(text)) => {
            return choices
                .contains(&text.as_str())
                .then_some(())
                .ok_or_else(|| unknown("choice", text, choices));
        }
        (Takes::Choice(choices), _) => format!("one of {}", choices.join(", ")),
        (Takes::Text | Takes::Folder | Takes::Placement, Value::String(_)) => return Ok(()),
        (Takes::Switch | Takes::OnOff, Value::Bool(_)) => return Ok(()),
        (Takes::Names, Value::Array(names)) if names.iter().all(Value::is_string) => return Ok(()),
        (Takes::Placement, Value::Array(places)) => return places.iter().try_for_each(place),
        (Takes::Overrides, Value::Object(_)) => return Ok(()),
        (Takes::Text, _) => "a text".to_string(),
        (Takes::Folder, _) => "the path of a folder".to_string(),
        (Takes::Switch | Takes::OnOff, _) => "true or false".to_string(),
        (Takes::Names, _) => "a list of names".to_string(),
        (Takes::Placement, _) => {
            "a placement's name, a file, or a list with the host of each rank".to_string()
        }
        (Takes::Overrides, _) => "values of the platform by section.key".to_string(),
    };
    Err(format!("{wanted}, not {value}"))
}

fn place(value: &Value) -> Result<(), String> {
    let fits = value.is_string() || value.as_u64().is_some_and(|host| host <= u64::from(u32::MAX));
    fits.then_some(())
        .ok_or_else(|| format!("the place of a rank is a host's number, or a text host[:slot], not {value}"))
}

fn quantity<T: std::str::FromStr<Err = engine::units::QuantityError>>(text: &str) -> Result<(), String> {
    text.parse::<T>().map(|_| ()).map_err(|error| error.to_string())
}
