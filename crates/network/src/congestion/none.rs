//! None: a connection sends as fast as its NIC and the credits of the network let it.
//!
//! Lossless networks hold packets back hop by hop. What is full stays full until its queues have drained, and fills the buffers
//! behind it, through which packets to other places go, too (tree saturation).
//!
//! Source: Pfister and Norton, "Hot spot contention and combining in multistage interconnection networks" (IEEE ToC C-34(10),
//! 1985).

use engine::registry::Entry;

use super::Build;

/// The registry's line.
pub(super) const ENTRY: Entry<Build> = Entry {
    name: "none",
    summary: "connections send as fast as NICs and credits let them",
    source: "Pfister and Norton 1985",
    parameters: &[],
    examples: &[""],
    build: |_, _| Ok(None),
};
