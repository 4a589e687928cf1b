//! Sizes of messages to which the costs of a platform were fitted: `shortest_measured` and `longest_measured`.

use std::ops::RangeInclusive;

use engine::registry::{Kind, Parameter};

use super::Platform;
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

impl Platform {
    /// Sizes to which the platform was fitted.
    pub fn measured_sizes(&self) -> MeasuredSizes {
        let of = |section: &str| {
            let arguments = &self.of(section).arguments;
            let size = |key| arguments.size(key).expect("has a default").0;
            let (shortest, longest) = (size("shortest_measured"), size("longest_measured"));
            (longest > 0).then_some(shortest..=longest)
        };
        MeasuredSizes { between_hosts: of("mpi"), within_hosts: of("host.memory") }
    }
}
