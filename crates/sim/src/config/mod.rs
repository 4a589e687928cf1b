//! Platform files: TOML in, a checked [`Platform`] out, or an error that names file, line and choices.

mod calibration;
mod choices;
mod compute;
mod document;
mod error;
mod faults;
mod file_system;
mod files;
mod flags;
mod functions;
mod host;
mod kernel_table;
mod kernels;
mod measured_sizes;
mod memory;
mod message_noise;
mod modes;
mod mpi;
mod platform;
mod power;
mod preset;
mod ranks;
mod read;
mod reference;
mod schema;
mod sections;
mod value;

pub use calibration::{Calibration, Check};
pub use choices::{PlacementChoice, PlatformSource, RankPlace};
pub use document::Override;
pub use error::InputError;
pub use files::{Disk, Files, Texts, read_file};
pub use flags::arguments;
pub use measured_sizes::MeasuredSizes;
pub use platform::Platform;
pub use power::{Added, Powers};
pub use preset::{PRESETS, Preset, preset_files};
pub use reference::reference;
pub use schema::schema;
pub(crate) use schema::value as value_schema;
pub use value::describe;

pub(crate) use error::unknown;
use files::Lookup;
pub(crate) use read::old_spelling;
#[cfg(test)]
pub(crate) use sections::sections;

/// Loads the platform file `name`, or the preset of that name if there is no such file.
///
/// Files that the platform names lie beside it; files that an override names are looked up in `base`, like `name`
/// itself.
pub fn load(name: &str, overrides: &[Override], base: &dyn Files) -> Result<Platform, InputError> {
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
    if reason.contains("valid UTF-8") {
        let message = "this is no platform file but binary data; the platform comes first: \
                       hopcast run PLATFORM -n RANKS PROGRAM";
        return Err(InputError::whole(name, message));
    }
    if name.contains('/') || name.ends_with(".toml") || reason == files::NAMED_PIPE {
        return Err(InputError::whole(name, format!("cannot read this platform file: {reason}")));
    }
    let known: Vec<_> = PRESETS.iter().map(|preset| preset.name).collect();
    let message = format!("{}; or name a file", unknown("platform", name, &known));
    Err(InputError::whole(name, message))
}

/// Loads the platform of a request; see [`load`]. An inline one finds the files that it names in `base`.
pub fn load_source(
    source: &PlatformSource,
    overrides: &[Override],
    base: &dyn Files,
) -> Result<Platform, InputError> {
    match source {
        PlatformSource::Named(name) => load(name, overrides, base),
        PlatformSource::Inline { toml } => {
            parse("inline platform", toml, overrides, &Lookup { folder: "", beside: base, base })
        }
    }
}

/// Overrides that stand for `--placement CHOICE` and `--ppn N`: the name of a placement, a file in `base`, or a list.
pub fn placement_overrides(
    choice: Option<&PlacementChoice>,
    processes_per_host: Option<u16>,
    base: &dyn Files,
) -> Result<Vec<Override>, InputError> {
    let mut overrides = Vec::new();
    match choice {
        None => {}
        Some(PlacementChoice::Named(name)) => overrides.push(placement_named(name, base)?),
        Some(PlacementChoice::Listed(places)) => {
            let hosts: Vec<_> = places.iter().map(|place| document::quoted(&place.to_string())).collect();
            let value = format!("{{ kind = \"list\", hosts = [{}] }}", hosts.join(", "));
            let flag = "placement".to_string();
            overrides.push(Override { key: "placement".to_string(), value, flag });
        }
    }
    if let Some(each) = processes_per_host {
        let key = "placement.processes_per_host".to_string();
        overrides.push(Override { key, value: each.to_string(), flag: format!("--ppn {each}") });
    }
    Ok(overrides)
}

/// Override that stands for `--placement NAME`.
fn placement_named(choice: &str, base: &dyn Files) -> Result<Override, InputError> {
    let flag = format!("--placement {choice}");
    let names = crate::placement::PLACEMENTS.iter().map(|entry| entry.name);
    let known: Vec<_> = names.filter(|name| !["file", "list"].contains(name)).collect();
    let quoted = document::quoted(choice);
    let value = if known.contains(&choice) {
        format!("{{ kind = {quoted} }}")
    } else if let Some(shape) = choice.strip_prefix("block:") {
        let sizes: Option<Vec<u32>> = shape.split('x').map(|size| size.parse().ok()).collect();
        let sizes = sizes.ok_or_else(|| {
            let message =
                format!("'{shape}' is no shape; write the routers along each dimension, as in 4x3x2");
            InputError::whole(&flag, message)
        })?;
        format!("{{ kind = \"block\", shape = {sizes:?} }}")
    } else {
        base.read(choice).map_err(|reason| {
            let message = format!("{}, or a file: {reason}", unknown("placement", choice, &known));
            InputError::whole(&flag, message)
        })?;
        format!("{{ kind = \"file\", file = {quoted} }}")
    };
    Ok(Override { key: "placement".to_string(), value, flag })
}

fn parse(file: &str, text: &str, overrides: &[Override], files: &Lookup) -> Result<Platform, InputError> {
    let mut document = document::parse(file, text)?;
    InputError::all(overrides.iter().filter_map(|by| document.set(by).err()).collect())?;
    let sections = read::read(&document, files)?;
    let of_files = sections.iter().find(|checked| checked.name == "filesystem");
    let file_system = file_system::file_system(of_files.expect("read, or filled with its defaults"));
    let hosts = host::host_parameters(&sections);
    let (noise, functions) = (message_noise::message_noise(&sections), functions::function_times(&sections));
    let calibration = calibration::calibration(&sections)
        .and_then(|known| Ok((known, measured_sizes::measured_sizes(&sections)?)));
    let slots = hosts.as_ref().map_or(1, |hosts| hosts.processes);
    let powers = power::powers(&sections, slots);
    match (hosts, file_system, noise, functions, calibration, powers) {
        (
            Ok(hosts),
            Ok(file_system),
            Ok(noise),
            Ok(functions),
            Ok((calibration, measured_sizes)),
            Ok(powers),
        ) => {
            let (file, text) = (file.to_string(), text.to_string());
            Ok(Platform {
                file,
                text,
                sections,
                hosts,
                file_system,
                noise,
                functions,
                calibration,
                measured_sizes,
                powers,
            })
        }
        (hosts, file_system, noise, functions, calibration, powers) => {
            let first = [hosts.err(), file_system.err(), noise.err(), functions.err()];
            let errors = first.into_iter().chain([calibration.err(), powers.err()]);
            Err(InputError::all(errors.flatten().collect()).expect_err("one of them is wrong"))
        }
    }
}
