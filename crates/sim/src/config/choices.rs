//! Platform and placement, as a request names them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Platform of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PlatformSource {
    /// Name of a preset, or path of a platform file.
    Named(String),
    /// Text of a platform file.
    Inline {
        /// TOML.
        toml: String,
    },
}

impl Default for PlatformSource {
    fn default() -> PlatformSource {
        PlatformSource::Named(String::new())
    }
}

/// Placement that a request asks for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PlacementChoice {
    /// Name of a placement, such as `block:4x3x2`, or path of a file.
    Named(String),
    /// Place of each rank, in order of ranks.
    Listed(Vec<RankPlace>),
}

impl From<&str> for PlacementChoice {
    fn from(name: &str) -> PlacementChoice {
        PlacementChoice::Named(name.to_string())
    }
}

/// Place of one rank.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RankPlace {
    /// Number of a host, whose next free slot the rank takes.
    Host(u32),
    /// A host's number or name, and perhaps its slot: `host[:slot]`.
    Written(String),
}

impl fmt::Display for RankPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RankPlace::Host(number) => write!(f, "{number}"),
            RankPlace::Written(text) => f.write_str(text),
        }
    }
}
