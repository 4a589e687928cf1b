//! Blueprint of a run: builds its domains, any number of them.

use std::ops::Range;
use std::sync::Arc;

use engine::Duration;
use network::model::{Cutting, MODELS};
use network::statistics::{Detail, LEAST_PERIODS};
use network::{Cut, Endpoint, Fabric, Grain, Part};

use crate::config::{InputError, Platform, Powers};
use crate::observe::{Kept, LiveRows, NetworkScope, NetworkViews, RankScope, RouteBytes, Views, knows_links};
use crate::run::Domain;

/// A machine with its ranks in place, any part of which can be built any number of times.
pub struct Blueprint {
    /// The platform.
    pub platform: Platform,
    /// The network model.
    pub model: String,
    /// Seed of all random streams.
    pub seed: u64,
    /// Fabric that the model routes over.
    pub fabric: Arc<Fabric>,
    /// Place of each rank.
    pub placement: Arc<[Endpoint]>,
    /// First rank of each job.
    pub jobs: Arc<[u32]>,
    /// Records to keep.
    pub kept: Kept,
    /// Rows for a reader that follows the run, if there is one.
    pub live: Option<Arc<LiveRows>>,
}

impl Blueprint {
    /// Builds one part.
    pub fn domain(&self, part: &Part) -> Result<Domain, InputError> {
        let hosts = Arc::new(self.platform.host_parameters().clone());
        let mut network =
            self.platform.model(&self.model, self.seed, self.fabric.clone(), hosts.clone(), part)?;
        let statistics = self.platform.statistics()?;
        let scope = NetworkScope { fabric: &self.fabric, part, statistics, detail: self.kept.detail };
        let mut network_views = NetworkViews::new(&scope);
        if network_views.observe_packets() {
            let packets = network.as_packets();
            let packets = packets.ok_or_else(|| self.platform.without_statistics(&self.model))?;
            network_views.observe(packets);
        }
        let placement = self.placement.clone();
        let setup =
            self.platform.world_setup(self.seed, placement, self.jobs.clone(), part.clone(), hosts)?;
        let counts_bytes = self.platform.powers().is_some_and(Powers::count_bytes);
        let route_bytes = (counts_bytes && !knows_links(&*network))
            .then(|| RouteBytes::new(self.fabric.clone(), setup.host.clone(), self.placement.clone()));
        let (placement, fabric, host) = (self.placement.clone(), self.fabric.clone(), setup.host.clone());
        let measured = self.platform.measured_sizes().clone();
        let scope = RankScope { placement, fabric: fabric.clone(), host, measured, kept: self.kept };
        let mut views = Views::new(scope);
        views.route_bytes = route_bytes;
        let mut domain = Domain::new(setup, network, (views, network_views), fabric);
        domain.follow(self.live.clone());
        Ok(domain)
    }

    /// Warning about the requested statistics, if the tables will not hold everything.
    pub fn statistics_warning(&self) -> Result<Option<String>, InputError> {
        let Some(options) = self.platform.statistics()? else { return Ok(None) };
        let (topology, channels) = (&*self.fabric.topology, self.fabric.routing.channel_count());
        let kept = options.detail == Detail::Classes || options.places(topology, channels.into()).is_some();
        Ok((!kept).then(|| {
            format!(
                "statistics by link or router are not kept: {} routers need statistics.rows of {} or more",
                topology.routers(),
                u64::from(topology.routers()) * u64::from(LEAST_PERIODS)
            )
        }))
    }

    /// Builds the whole machine as one domain.
    pub fn whole(&self) -> Result<Domain, InputError> {
        self.domain(&Part::whole())
    }

    /// Cuts the machine into up to `parts` parts; the error says why it cannot be cut.
    pub fn cut(&self, parts: u32) -> Result<Cut, &'static str> {
        let entry = MODELS.iter().find(|entry| entry.name == self.model);
        let grain = match entry.map(|entry| entry.build.cut) {
            Some(Cutting::At(grain)) => grain,
            Some(Cutting::Never(reason)) => return Err(reason),
            None => return Err("the model is unknown"),
        };
        let most = if grain == Grain::Routers { self.fabric.most_parts()? } else { MOST_PARTS };
        let mut weights = vec![0; self.fabric.topology.hosts() as usize];
        self.placement.iter().for_each(|endpoint| weights[endpoint.host.0 as usize] += 1);
        let cut = Cut::new(&*self.fabric.topology, grain, parts.min(MOST_PARTS).min(most), &weights);
        if cut.parts() == 1 {
            return Err(match grain {
                Grain::Hosts => "all ranks are on one host",
                Grain::Routers => {
                    "all ranks are on one router, or on routers that stay together (a slab, a group, a subtree)"
                }
            });
        }
        Ok(cut)
    }

    /// Builds these parts of `cut`; the error says why they cannot run side by side.
    pub fn domains(
        &self,
        cut: Cut,
        parts: Range<u32>,
    ) -> Result<Result<Vec<Domain>, &'static str>, InputError> {
        let cut = Arc::new(cut);
        let part = |me| self.domain(&Part { cut: cut.clone(), me });
        let domains = parts.map(part).collect::<Result<Vec<_>, _>>()?;
        if domains.iter().any(|domain| domain.lookahead() == Duration::ZERO) {
            return Ok(Err("messages between hosts may take no time on this platform"));
        }
        Ok(Ok(domains))
    }
}

/// Largest number of parts; more threads do not help.
const MOST_PARTS: u32 = 1024;
