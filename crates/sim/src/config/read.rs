//! Checks a document against the table of sections.

use std::collections::BTreeMap;

use engine::registry::{Arguments, BuildError, Kind, Parameter, Value, respelled};
use engine::{Bandwidth, Bytes, Duration, FlopRate};

use super::document::{Item, Node, quoted};
use super::error::{InputError, Place, unknown, unknown_in};
use super::files::Lookup;
use super::sections::{Choice, Content, Section, below, sections};
use super::value::{check, describe, fill};

/// A section as written, checked, with the defaults filled in.
#[derive(Debug, Clone)]
pub struct Checked {
    /// Dotted name.
    pub name: &'static str,
    /// Model that `kind` names.
    pub kind: Option<&'static str>,
    /// Place of the header.
    pub at: Place,
    /// Values.
    pub arguments: Arguments,
    /// Values of the file, as TOML, and their places, without defaults.
    pub written: BTreeMap<&'static str, (String, Place)>,
    /// A warning for each name that the file spells with underscores, as all of them once were.
    pub old_spellings: Vec<String>,
}

impl Checked {
    /// Error about the value of `key`, or about the section if the file does not set `key`.
    pub fn error(&self, key: &str, reason: impl std::fmt::Display) -> InputError {
        let at = self.written.get(key).map_or(&self.at, |(_, at)| at);
        at.error(format!("{}: {reason}", path(self.name, key)))
    }

    /// Section `name` with defaults only, for a file that lacks it; errors point to this section's place.
    pub fn silent(&self, name: &'static str) -> Checked {
        let (arguments, written, old_spellings) = Default::default();
        Checked { name, kind: None, at: self.at.clone(), arguments, written, old_spellings }
    }

    /// Error of a builder, with its place.
    pub fn build_error(&self, error: &BuildError) -> InputError {
        self.error(error.parameter, &error.reason)
    }
}

/// Formats `section.key`.
pub fn path(section: &str, key: &str) -> String {
    if section.is_empty() { key.to_string() } else { format!("{section}.{key}") }
}

/// Sections of `root`, in the order of the table; the error lists all mistakes in any of them.
pub fn read(root: &Node, files: &Lookup) -> Result<Vec<Checked>, InputError> {
    let (mut read, mut errors) = (Vec::new(), Vec::new());
    for section in sections().iter().filter(|section| entries_above(section).is_none()) {
        match read_section(section, root, files) {
            Ok(checked) => read.extend(checked),
            Err(error) => errors.push(error),
        }
    }
    InputError::all(errors)?;
    Ok(read)
}

/// Reads a section of the document, or of an entry of a list in it: each entry of a list, or the section itself, unless neither
/// the file nor a default has it.
fn read_section(section: &'static Section, root: &Node, files: &Lookup) -> Result<Vec<Checked>, InputError> {
    let name = match entries_above(section) {
        None => &section.name[..],
        Some(list) => &section.name[list.name.len() + 1..],
    };
    let read = match (&section.content, locate(root, name)?) {
        (Content::Repeated(parameters), Some(node)) => {
            let Item::List(nodes) = &node.item else {
                return Err(no_list(section, node));
            };
            let entries = nodes.iter().map(|node| entry(section, parameters, node, files));
            let (entries, wrong): (Vec<_>, Vec<_>) = entries.partition(Result::is_ok);
            InputError::all(wrong.into_iter().filter_map(Result::err).collect())?;
            return Ok(entries.into_iter().flatten().flatten().collect());
        }
        (Content::Repeated(_), None) => None,
        (Content::Keys(parameters), Some(node)) => Some(keys(section, parameters, None, node, files)?),
        (Content::Keys(parameters), None) => absent(section, parameters, root)?,
        (Content::Model { choices, default }, Some(node)) => {
            let choice = chosen(section, choices, *default, node)?;
            Some(keys(section, choice.parameters, Some(choice.name), node, files)?)
        }
        (Content::Model { choices, default }, None) => match default {
            None => return Err(missing(root, section, "kind = one of", &names(choices))),
            Some("") => None,
            Some(name) => {
                let choice = choices.iter().find(|choice| choice.name == *name);
                let choice = choice.expect("a default kind is in its registry");
                let mut checked = empty(section, &root.at);
                checked.kind = Some(choice.name);
                fill(choice.parameters, &mut checked.arguments)
                    .unwrap_or_else(|parameter| panic!("a default kind needs no {}", parameter.name));
                Some(checked)
            }
        },
    };
    Ok(read.into_iter().collect())
}

/// The error about a `section` that is a list and was given as something else, or in which a flag names an entry of none.
fn no_list(section: &Section, node: &Node) -> InputError {
    let name = &section.name;
    let reason = if node.key_at.is_flag() && matches!(node.item, Item::Table(_)) {
        format!(
            "the platform has no [[{name}]], and a flag changes an entry that is there; write one into the file, or \
             all of them: --set '{name}=[{{ … }}]'"
        )
    } else {
        format!("'{name}' is a list; write [[{name}]]")
    };
    node.key_at.error(reason)
}

/// The list in whose entries a section lies, if it does.
fn entries_above(section: &Section) -> Option<&'static Section> {
    let (above, _) = section.name.rsplit_once('.')?;
    sections().iter().find(|list| list.name == above && matches!(list.content, Content::Repeated(_)))
}

/// Reads an entry of a list, and behind it the sections that it has inside.
fn entry(
    section: &'static Section,
    parameters: &'static [Parameter],
    node: &Node,
    files: &Lookup,
) -> Result<Vec<Checked>, InputError> {
    let (mut read, mut errors) = (Vec::new(), Vec::new());
    match keys(section, parameters, None, node, files) {
        Err(error) if !matches!(node.item, Item::Table(_)) => return Err(error),
        Ok(checked) => read.push(checked),
        Err(error) => errors.push(error),
    }
    let inside =
        sections().iter().filter(|one| entries_above(one).is_some_and(|list| list.name == section.name));
    for inner in inside {
        match read_section(inner, node, files) {
            Ok(checked) => read.extend(checked),
            Err(error) => errors.push(error),
        }
    }
    InputError::all(errors)?;
    Ok(read)
}

/// Finds the table `name` of the document, if there is one.
fn locate<'a>(root: &'a Node, name: &str) -> Result<Option<&'a Node>, InputError> {
    let (above, last) = name.rsplit_once('.').unwrap_or(("", name));
    let old = last.replace('-', "_");
    let mut node = root;
    for step in above.split('.').chain([last]).filter(|step| !step.is_empty()) {
        let Item::Table(fields) = &node.item else {
            return Err(node.at.error(format!("{} is a value where a section is wanted", node.text)));
        };
        let old = || fields.get(&old).filter(|_| step == last);
        let Some(next) = fields.get(step).or_else(old) else { return Ok(None) };
        node = next;
    }
    Ok(Some(node))
}

fn names(choices: &[Choice]) -> String {
    choices.iter().map(|choice| choice.name).collect::<Vec<_>>().join(", ")
}

fn missing(root: &Node, section: &Section, key: &str, what: &str) -> InputError {
    InputError::whole(
        &*root.at.file,
        format!("section [{}] ({}) is missing; it must set {key} {what}", section.name, section.summary),
    )
}

fn empty(section: &'static Section, at: &Place) -> Checked {
    let (arguments, written, old_spellings) = Default::default();
    Checked { name: &section.name, kind: None, at: at.clone(), arguments, written, old_spellings }
}

/// True if the section has no defaults where the file leaves it out: the parameters of a network or compute model, which
/// wait until the model is chosen, and powers, without which no energy is counted.
pub fn waits(name: &str) -> bool {
    name == "power" || ["network.", "compute."].iter().any(|above| name.starts_with(above))
}

/// Defaults of a section that the file leaves out, if it has any then; see [`waits`].
fn absent(
    section: &'static Section,
    parameters: &'static [Parameter],
    root: &Node,
) -> Result<Option<Checked>, InputError> {
    if waits(&section.name) {
        return Ok(None);
    }
    let mut checked = empty(section, &root.at);
    match fill(parameters, &mut checked.arguments) {
        Ok(()) => Ok(Some(checked)),
        Err(parameter) => {
            Err(missing(root, section, parameter.name, &format!("= {}", describe(&parameter.kind))))
        }
    }
}

/// Model that `kind` names, or the section's default if it names none.
fn chosen<'a>(
    section: &Section,
    choices: &'a [Choice],
    default: Option<&str>,
    node: &Node,
) -> Result<&'a Choice, InputError> {
    let Item::Table(fields) = &node.item else { return Err(not_a_section(section, node)) };
    let known: Vec<_> = choices.iter().map(|choice| choice.name).collect();
    let Some(kind) = fields.get("kind") else {
        let usual = choices.iter().find(|choice| Some(choice.name) == default);
        return usual.ok_or_else(|| {
            node.at.error(format!("[{}] lacks kind; known: {}", section.name, known.join(", ")))
        });
    };
    let Item::Text(name) = &kind.item else {
        return Err(kind.at.error(format!("{}.kind: {} is not a text in quotes", section.name, kind.text)));
    };
    choices.iter().find(|choice| choice.name == name).ok_or_else(|| {
        kind.at.error(format!("{}.kind: {}", section.name, unknown(&section.name, name, &known)))
    })
}

/// Warning that `place` says `old` where it means `name`.
pub fn old_spelling(place: &str, old: &str, name: &str) -> String {
    format!("{place}: '{old}' is now spelled '{name}'; the next release will refuse the old spelling")
}

fn not_a_section(section: &Section, node: &Node) -> InputError {
    node.key_at.error(format!("'{0}' is a section; write [{0}] and its keys below it", section.name))
}

/// Hint at the section of `key`, which `section` of this kind does not know.
fn belongs(section: &Section, kind: Option<&str>, key: &str) -> Option<String> {
    if let Content::Model { choices, .. } = &section.content {
        let has = |choice: &&Choice| {
            Some(choice.name) != kind && choice.parameters.iter().any(|parameter| parameter.name == key)
        };
        let kinds = choices.iter().filter(has).map(|choice| format!("'{}'", choice.name));
        match &kinds.collect::<Vec<_>>()[..] {
            [] => {}
            [one] => return Some(format!("it is a key of kind {one}")),
            several => return Some(format!("it is a key of one of the kinds {}", several.join(", "))),
        }
    }
    let is_inner = |one: &&Section| one.name.rsplit_once('.').is_some_and(|(_, name)| name == key);
    match &sections().iter().filter(is_inner).map(header).collect::<Vec<_>>()[..] {
        [] => {}
        [one] => return Some(format!("it is the section {one}")),
        several => return Some(format!("it is one of the sections {}", several.join(", "))),
    }
    match &homes(key)[..] {
        [] => None,
        [one] => Some(format!("it is a key of {one}")),
        several => Some(format!("it is a key of one of {}", several.join(", "))),
    }
}

/// Header of a section as a file writes it.
fn header(section: &Section) -> String {
    match section.content {
        Content::Repeated(_) => format!("[[{}]]", section.name),
        Content::Keys(_) | Content::Model { .. } => format!("[{}]", section.name),
    }
}

/// Headers of the sections that have `key`.
fn homes(key: &str) -> Vec<String> {
    let has = |section: &&'static Section| match section.content {
        Content::Keys(keys) | Content::Repeated(keys) => {
            !section.name.is_empty() && keys.iter().any(|parameter| parameter.name == key)
        }
        Content::Model { .. } => false,
    };
    sections().iter().filter(has).map(header).collect()
}

/// Checks the keys of one table.
fn keys(
    section: &'static Section,
    parameters: &'static [Parameter],
    kind: Option<&'static str>,
    node: &Node,
    files: &Lookup,
) -> Result<Checked, InputError> {
    let Item::Table(fields) = &node.item else { return Err(not_a_section(section, node)) };
    let mut checked = Checked { kind, ..empty(section, &node.at) };
    let inner = below(&section.name);
    let (mut errors, mut strangers) = (Vec::new(), false);
    for (key, node) in fields {
        if let Some(parameter) = parameters.iter().find(|parameter| parameter.name == key) {
            let path = path(&section.name, key);
            let value = check(&parameter.kind, node, &path, files);
            match value.and_then(|value| refuse_zero(&path, &value, node).map(|()| value)) {
                Ok(value) => {
                    let mut text = node.text.clone();
                    if let (Kind::Choice(_), Value::Text(choice), Item::Text(old)) =
                        (parameter.kind, &value, &node.item)
                        && choice != old
                    {
                        checked.old_spellings.push(old_spelling(&path, old, choice));
                        text = quoted(choice);
                    }
                    checked.arguments.0.insert(parameter.name, value);
                    checked.written.insert(parameter.name, (text, node.at.clone()));
                }
                Err(error) => errors.push(error),
            }
        } else if let Some(name) = respelled(key, inner.iter().copied()) {
            checked.old_spellings.push(old_spelling(&format!("[{}]", path(&section.name, key)), key, name));
        } else if !(inner.contains(&&key[..])
            || kind.is_some() && key == "kind"
            || fell_away(section, fields, key))
        {
            let mut known: Vec<_> = kind.iter().map(|_| "kind").collect();
            known.extend(parameters.iter().map(|parameter| parameter.name));
            known.extend(&inner);
            let (what, place) = match (kind, &section.name[..]) {
                (Some(kind), name) => ("key", format!(" in [{name}] of kind '{kind}'")),
                (None, "") => ("section or key", String::new()),
                (None, name) => ("key", format!(" in [{name}]")),
            };
            let hint = belongs(section, kind, key);
            errors.push(node.key_at.error(unknown_in(what, key, &place, &known, hint.as_deref())));
            strangers = true;
        }
    }
    // An unknown key is probably the missing one, misspelled.
    let is_missing = |one: &&Parameter| !strangers && one.default.is_none() && !fields.contains_key(one.name);
    for parameter in parameters.iter().filter(is_missing) {
        let what = format!("lacks {} ({}): {}", parameter.name, parameter.summary, describe(&parameter.kind));
        let place =
            if section.name.is_empty() { "the file".to_string() } else { format!("[{}]", section.name) };
        errors.push(node.at.error(format!("{place} {what}")));
    }
    InputError::all(errors)?;
    fill(parameters, &mut checked.arguments)
        .unwrap_or_else(|parameter| panic!("'{}' is there, or was missed", parameter.name));
    Ok(checked)
}

/// True if the file sets `key` for its own kind, which an override has replaced by another kind.
fn fell_away(section: &Section, fields: &BTreeMap<String, Node>, key: &str) -> bool {
    let Content::Model { choices, .. } = &section.content else { return false };
    let is_overridden = |key: &str| fields.get(key).is_some_and(|node| node.at.line == 0);
    let is_known = choices.iter().flat_map(|choice| choice.parameters).any(|known| known.name == key);
    is_known && is_overridden("kind") && !is_overridden(key)
}

/// Refuses zero rates, with which nothing would ever end, and zeros of a few other keys. Times may be zero.
fn refuse_zero(path: &str, value: &Value, node: &Node) -> Result<(), InputError> {
    let reason = match value {
        Value::List(values) => return values.iter().try_for_each(|value| refuse_zero(path, value, node)),
        // R_Ci of the max-rate model: further processes may add nothing.
        _ if path.starts_with("mpi.regimes.further_process_") => return Ok(()),
        Value::Bandwidth(Bandwidth(0)) => "moves nothing; write \"infinite\" for no limit",
        Value::FlopRate(FlopRate(0)) => "computes nothing",
        Value::Time(Duration(0)) if path == "mpi.poll" => "lets a loop of tests never end",
        Value::Size(Bytes(0)) if ["mpi.segment", "link.packet_payload"].contains(&path) => "carries nothing",
        _ => return Ok(()),
    };
    Err(node.at.error(format!("{path}: {} {reason}", node.text)))
}
