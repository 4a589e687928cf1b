//! Links counted by class, with their bandwidths and latencies.

use engine::{Bandwidth, Duration};

use super::{LinkId, Topology};

/// The links of one class.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassSurvey {
    /// Name, as [`Topology::classes`] gives it.
    pub name: String,
    /// Number of directed links.
    pub links: u64,
    /// Bandwidth of the narrowest link.
    pub bandwidth_min: Bandwidth,
    /// Bandwidth of the widest link.
    pub bandwidth_max: Bandwidth,
    /// Latency of the quickest link.
    pub latency_min: Duration,
    /// Latency of the slowest link.
    pub latency_max: Duration,
}

/// The links by class, without classes that have none.
pub fn classes(topology: &dyn Topology) -> Vec<ClassSurvey> {
    let named = topology.classes().into_iter().map(|name| ClassSurvey {
        name,
        links: 0,
        bandwidth_min: Bandwidth::INFINITE,
        bandwidth_max: Bandwidth(0),
        latency_min: Duration(u64::MAX),
        latency_max: Duration::ZERO,
    });
    let mut classes: Vec<ClassSurvey> = named.collect();
    for id in 0..topology.links() {
        let link = topology.link(LinkId(id));
        let class = &mut classes[usize::from(link.class)];
        class.links += 1;
        class.bandwidth_min = class.bandwidth_min.min(link.bandwidth);
        class.bandwidth_max = class.bandwidth_max.max(link.bandwidth);
        class.latency_min = class.latency_min.min(link.latency);
        class.latency_max = class.latency_max.max(link.latency);
    }
    classes.retain(|class| class.links > 0);
    classes
}
