//! Sizes of messages to which the costs of a platform were fitted: `shortest_measured` and `longest_measured`.

use std::ops::RangeInclusive;

use engine::Bytes;
use engine::registry::{Kind, Parameter};

use super::error::InputError;
use super::read::Checked;
use super::sections::optional;

pub(super) const SHORTEST_MEASURED: Parameter = optional(
    "shortest_measured",
    Kind::Size,
    "0 B",
    "Shortest message to which the costs were fitted; runs say which share of the messages is shorter",
);
pub(super) const LONGEST_MEASURED: Parameter = optional(
    "longest_measured",
    Kind::Size,
    "0 B",
    "Longest message to which the costs were fitted; runs say which share of the messages, and of their time, is \
     longer. 0 B: not known, and nothing is said",
);

/// Sizes \[B\] that were measured; `None` where the platform does not say.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MeasuredSizes {
    /// Messages between hosts.
    pub between_hosts: Option<RangeInclusive<u64>>,
    /// Messages within a host.
    pub within_hosts: Option<RangeInclusive<u64>>,
}

/// Sizes that `[mpi]` and `[host.memory]` name; a shortest size without a longest one, or above it, is an error.
pub(super) fn measured_sizes(read: &[Checked]) -> Result<MeasuredSizes, InputError> {
    let of = |name: &str| {
        let Some(section) = read.iter().find(|checked| checked.name == name) else { return Ok(None) };
        let size = |key| section.arguments.size(key).expect("has a default");
        let (shortest, longest) = (size("shortest_measured"), size("longest_measured"));
        match longest {
            Bytes(0) if shortest == Bytes(0) => Ok(None),
            Bytes(0) => {
                Err(section.error("shortest_measured", "says nothing alone: name longest_measured, too"))
            }
            _ if shortest > longest => {
                let reason = format!("{shortest} is above longest_measured, {longest}");
                Err(section.error("shortest_measured", reason))
            }
            _ => Ok(Some(shortest.0..=longest.0)),
        }
    };
    Ok(MeasuredSizes { between_hosts: of("mpi")?, within_hosts: of("host.memory")? })
}
