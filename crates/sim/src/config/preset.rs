//! Platforms that come with hopcast. Adding one is a file in `data/platforms` and a line here.

use super::files::Files;

/// A platform that comes with hopcast.
#[derive(Debug, Clone, Copy)]
pub struct Preset {
    /// Name for `hopcast run`.
    pub name: &'static str,
    /// Text of the platform file, with comments.
    pub text: &'static str,
}

macro_rules! presets {
    ($($name:literal),* $(,)?) => {
        &[$(Preset { name: $name, text: include_str!(concat!("../../../../data/platforms/", $name, ".toml")) }),*]
    };
}

/// Every preset.
pub const PRESETS: &[Preset] = presets![
    "hopper",
    "hopper-max-rate",
    "mustang",
    "mustang-slow",
    "mustang-torus",
    "mustang-torus-slow",
    "endeavor",
    "nsim-torus",
    "fat-tree",
    "dragonfly",
    "tofu",
    "crossbar",
    "dahu",
    "stampede",
    "aries",
    "slingshot-10",
    "slingshot-11",
    "ndr",
    "omni-path",
    "ethernet-25",
    "ethernet-100",
];

/// Files that presets name.
const BESIDE: &[(&str, &str)] = &[
    ("hopper.hosts", include_str!("../../../../data/platforms/hopper.hosts")),
    ("dahu-dgemm.csv", include_str!("../../../../data/platforms/dahu-dgemm.csv")),
];

/// [`BESIDE`] as a source of files.
pub(super) struct Beside;

impl Files for Beside {
    fn read(&self, name: &str) -> Result<String, String> {
        let found = BESIDE.iter().find(|(file, _)| *file == name);
        found.map(|(_, text)| text.to_string()).ok_or_else(|| "presets have no such file".to_string())
    }
}

/// Files that presets name, which must lie beside a copied preset: names and texts.
pub fn preset_files() -> &'static [(&'static str, &'static str)] {
    BESIDE
}
