//! Platform files: TOML in, a checked [`Platform`] out, or an error that names file, line and choices.

mod document;
mod error;
mod files;
mod flags;
mod host;
mod hosts;
mod platform;
mod preset;
mod read;
mod reference;
mod schema;
mod sections;
mod value;

pub use error::InputError;
pub use files::{Disk, Files, Texts};
pub use flags::arguments;
pub use hosts::HostNames;
pub use platform::Platform;
pub use preset::{PRESETS, Preset, preset_files};
pub use reference::reference;
pub use schema::schema;
pub use value::describe;

use error::unknown;
use files::Lookup;

/// Loads the platform file `name`, or the preset of that name where there is no such file.
///
/// `overrides` are `--set` flags, key and value (`("topology.sizes", "[4, 4]")`; a value that is not
/// TOML is taken as a text). Files that the platform names lie beside it; files that an override names
/// are looked up in `base`, as `name` is.
pub fn load(name: &str, overrides: &[(String, String)], base: &dyn Files) -> Result<Platform, InputError> {
    let (folder, _) = name.rsplit_once('/').unwrap_or_default();
    let reason = match base.read(name) {
        Ok(text) => return parse(name, &text, overrides, &Lookup { folder, beside: base, base }),
        Err(reason) => reason,
    };
    let short = name.strip_suffix(".toml").unwrap_or(name);
    if let Some(preset) = PRESETS.iter().find(|preset| preset.name == short) {
        let file = format!("{}.toml", preset.name);
        return parse(&file, preset.text, overrides, &Lookup { folder: "", beside: &preset::Beside, base });
    }
    if name.contains('/') || name.ends_with(".toml") {
        return Err(InputError::whole(name, format!("cannot read this platform file: {reason}")));
    }
    let known: Vec<_> = PRESETS.iter().map(|preset| preset.name).collect();
    let message = format!("{}; or name a file", unknown("platform", name, &known));
    Err(InputError::whole(name, message))
}

/// What `--placement CHOICE` and `--ppn N` stand for as overrides: a placement's name, or else a file.
pub fn placement_overrides(choice: Option<&str>, processes_per_host: Option<u16>) -> Vec<(String, String)> {
    let table = |choice: &str| {
        let known = crate::placement::PLACEMENTS.iter().any(|entry| entry.name == choice && choice != "file");
        let quoted = document::quoted(choice);
        match known {
            true => format!("{{ kind = {quoted} }}"),
            false => format!("{{ kind = \"file\", file = {quoted} }}"),
        }
    };
    let kind = choice.map(|choice| ("placement".to_string(), table(choice)));
    let each = processes_per_host.map(|each| ("placement.processes_per_host".to_string(), each.to_string()));
    kind.into_iter().chain(each).collect()
}

fn parse(
    file: &str,
    text: &str,
    overrides: &[(String, String)],
    files: &Lookup,
) -> Result<Platform, InputError> {
    let mut document = document::parse(file, text)?;
    for (key, value) in overrides {
        document.set(key, value)?;
    }
    let sections = read::read(&document, files)?;
    let hosts = host::host_parameters(&sections)?;
    Ok(Platform { file: file.to_string(), text: text.to_string(), sections, hosts })
}
