//! Profile of one simulation, from its begin to its report.

use std::time::Instant;

use crate::feed::Feed;
use crate::profile::{LayerCost, Marker, Phases, Sampler, SimulatorProfile};
use crate::request::Workload;
use crate::run::Domain;

/// A simulation under way, with its samples if there is a profile.
pub struct Profiling {
    markers: Vec<Marker>,
    started: Option<(Instant, Sampler)>,
}

impl Profiling {
    /// Begins the simulation of `domains`, with a profile if there `is` one.
    pub fn start(is: bool, domains: Vec<Domain>) -> (Profiling, Vec<Domain>) {
        if !is || domains.is_empty() {
            return (Profiling { markers: Vec::new(), started: None }, domains);
        }
        let markers: Vec<Marker> = domains.iter().map(|_| Marker::new()).collect();
        let marked = domains.into_iter().zip(&markers).map(|(domain, marker)| domain.marked(marker));
        let domains = marked.collect();
        #[expect(
            clippy::disallowed_methods,
            reason = "the profile of the simulator is no part of the simulation"
        )]
        let now = Instant::now();
        let sampler = Sampler::start(markers.clone());
        (Profiling { markers, started: sampler.map(|sampler| (now, sampler)) }, domains)
    }

    /// Sources of the domains, which mark while they work.
    pub fn feeds(&self, feeds: Vec<Feed>) -> Vec<Feed> {
        if self.markers.is_empty() {
            return feeds;
        }
        feeds.into_iter().zip(&self.markers).map(|(feed, marker)| feed.marked(marker)).collect()
    }

    /// Marker of the first domain, if there is a profile.
    pub fn marker(&self) -> Option<Marker> {
        self.markers.first().cloned()
    }

    /// Ends the simulation, which took `wall_s` after the stretches of `set_up`; `None` without a profile.
    pub fn finish(self, set_up: &Phases, workload: &Workload, wall_s: f64) -> Option<SimulatorProfile> {
        let (started, sampler) = self.started?;
        let gathering = (started.elapsed().as_secs_f64() - wall_s).max(0.0);
        let mut profile = sampler.finish(source_name(workload), wall_s);
        profile.layers.splice(0..0, set_up.done().iter().cloned());
        let layer = "gathering from domains";
        profile.layers.push(LayerCost { phase: "report", layer, time_s: gathering, memory_bytes: 0 });
        Some(profile)
    }
}

fn source_name(workload: &Workload) -> &'static str {
    match workload {
        Workload::Pattern { .. } => "pattern",
        Workload::Trace { .. } => "replay of the trace",
        Workload::Jobs { .. } => "operations of the jobs",
        Workload::Function { .. } => "rank functions in Python",
        Workload::Compiled { .. } | Workload::Mpi4py { .. } => "ranks of the program",
        Workload::Sources { .. } => "operations",
    }
}
