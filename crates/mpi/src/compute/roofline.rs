//! Roofline: work takes as long as its operations or its memory traffic, whichever is longer.
//!
//! ```text
//!   t = max(flops / flop_rate, bytes / memory_bandwidth)       work that states operations and bytes
//!   t = max(time, bytes / memory_bandwidth)                    work that states a time, and bytes or none
//! ```
//!
//! Assumptions: computing overlaps with memory traffic; every process slot is alike, and two equal pieces of work take the
//! same time. Validity: loops that are limited by one of both, within some 10 %. Source: Williams, Waterman,
//! Patterson, "Roofline" (CACM 52(4), 2009).

use engine::Duration;
use engine::registry::Entry;

use super::{Build, ComputeModel, Processor, Slot};
use crate::operation::Work;

/// Entry of the registry.
pub const ENTRY: Entry<Build> = Entry {
    name: "roofline",
    summary: "operations or memory traffic, whichever takes longer; equal work takes equal time",
    source: "Williams, Waterman, Patterson, CACM 52(4), 2009",
    parameters: &[],
    examples: &[""],
    build: |_, processor, _| Ok(Box::new(Roofline { processor })),
};

/// The processor alone decides.
#[derive(Debug)]
struct Roofline {
    processor: Processor,
}

impl ComputeModel for Roofline {
    fn time(&mut self, _: Slot, work: Work) -> Duration {
        self.processor.time(work)
    }
}
