//! The platforms that come with hopcast. Adding one is a file in `data/platforms` and a line here.

use super::files::Files;

/// A platform that comes with hopcast.
#[derive(Debug, Clone, Copy)]
pub struct Preset {
    /// The name that `hopcast run` takes.
    pub name: &'static str,
    /// The platform file, comments included.
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

/// The files that presets name.
const BESIDE: &[(&str, &str)] = &[("hopper.hosts", include_str!("../../../../data/platforms/hopper.hosts"))];

/// [`BESIDE`] as a place to read from.
pub(super) struct Beside;

impl Files for Beside {
    fn read(&self, name: &str) -> Result<String, String> {
        let found = BESIDE.iter().find(|(file, _)| *file == name);
        found.map(|(_, text)| text.to_string()).ok_or_else(|| "presets have no such file".to_string())
    }
}

/// The files that presets name, beside which a copied preset must find them: names and texts.
pub fn preset_files() -> &'static [(&'static str, &'static str)] {
    BESIDE
}
