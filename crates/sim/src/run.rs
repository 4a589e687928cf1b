//! The run loop: takes events in order, hands each to its layer, and watches.

use std::sync::Arc;
use std::time::Instant;

use engine::{Lane, Queue, Time};
use mpi::world::{Context, World};
use mpi::{Failure, Source};
use network::{Fabric, Network};

use crate::observe::{Detail, Links, Views};

/// A built machine with its ranks in place, ready to run once.
pub struct Machine {
    /// The ranks.
    pub world: World,
    /// The network model.
    pub network: Box<dyn Network>,
    /// What the model routes over.
    pub fabric: Arc<Fabric>,
    /// How many ranks.
    pub ranks: u32,
    /// What to keep.
    pub detail: Detail,
}

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Simulated time.
    pub now: Time,
    /// Events handled so far.
    pub events: u64,
    /// How much of the workload is done \[0..1\], where it can tell.
    pub share_done: Option<f64>,
}

/// What a monitor wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// Go on.
    Continue,
    /// Stop here, with a partial result.
    Stop,
}

/// Is told now and then where the run stands, and may stop it.
pub trait Monitor {
    /// Called every 2¹⁶ events; must not touch the simulation.
    fn poll(&mut self, progress: Progress) -> Control;
}

/// Lets every run go on.
pub struct Unwatched;

impl Monitor for Unwatched {
    fn poll(&mut self, _progress: Progress) -> Control {
        Control::Continue
    }
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub enum End {
    /// Every rank finished.
    Finished,
    /// The simulated program failed.
    Failed(Failure),
    /// A monitor stopped it.
    Stopped,
    /// It goes beyond what can be counted: time beyond [`Time::LAST`], or payload beyond 16 EiB.
    Uncountable,
}

/// A run that has ended, before it is made into a report.
pub struct Ended {
    /// How.
    pub end: End,
    /// The time of the last event.
    pub now: Time,
    /// Events handled.
    pub events: u64,
    /// Real time of the simulation alone \[s\].
    pub wall_s: f64,
    /// What was seen of ranks.
    pub views: Views,
    /// What was seen of links.
    pub links: Links,
}

const POLL_MASK: u64 = (1 << 16) - 1;

impl Machine {
    /// Runs `source` to its end.
    pub fn run(&mut self, source: &mut dyn Source, monitor: &mut dyn Monitor) -> Ended {
        #[expect(clippy::disallowed_methods, reason = "the speed of the simulation is part of the report")]
        let started = Instant::now();
        let mut queue = Queue::new();
        let mut views = Views::new(self.ranks, self.detail);
        let mut links = Links::new(self.fabric.topology.links(), self.detail != Detail::Screen);
        let stopped = self.handle_events(source, monitor, &mut queue, &mut views, &mut links);
        let end = match self.world.failed() {
            Some(failure) => End::Failed(failure.clone()),
            None if stopped => End::Stopped,
            None if queue.now() >= Time::LAST || self.world.bytes() == u64::MAX => End::Uncountable,
            None if self.world.finished() => match self.world.unmet_collective() {
                Some(mismatch) => End::Failed(mismatch),
                None => End::Finished,
            },
            None => End::Failed(self.world.deadlock(source)),
        };
        let wall_s = started.elapsed().as_secs_f64();
        self.sample(queue.now(), &mut links);
        Ended { end, now: queue.now(), events: queue.popped(), wall_s, views, links }
    }

    /// Returns whether the monitor stopped the run.
    fn handle_events(
        &mut self,
        source: &mut dyn Source,
        monitor: &mut dyn Monitor,
        queue: &mut Queue,
        views: &mut Views,
        links: &mut Links,
    ) -> bool {
        macro_rules! context {
            ($now:expr) => {
                &mut Context { now: $now, queue, network: &mut *self.network, source, observer: views }
            };
        }
        self.world.start(context!(Time::ZERO));
        if queue.instant_is_over() {
            self.network.settle(Time::ZERO, queue);
        }
        let mut arrivals = Vec::new();
        let mut next_sample = links.next_sample();
        while let Some(event) = queue.pop() {
            if event.time >= Time::LAST {
                return false;
            }
            while event.time > next_sample {
                self.sample(next_sample, links);
                next_sample = links.next_sample();
            }
            match event.token.lane() {
                Lane::Rank => self.world.wake(event.token, context!(event.time)),
                Lane::Network => {
                    self.network.wake(event.time, event.token, queue, &mut arrivals);
                    for arrival in arrivals.drain(..) {
                        self.world.arrive(&arrival, context!(event.time));
                    }
                }
            }
            if queue.instant_is_over() {
                self.network.settle(event.time, queue);
            }
            if self.world.failed().is_some() {
                return false;
            }
            if queue.popped() & POLL_MASK == 0 {
                let (events, share_done) = (queue.popped(), source.share_done());
                if monitor.poll(Progress { now: event.time, events, share_done }) == Control::Stop {
                    return true;
                }
            }
        }
        false
    }

    fn sample(&mut self, at: Time, links: &mut Links) {
        let fabric = &self.fabric;
        links.sample(at, &mut *self.network, &|link| fabric.topology.link(link).class);
    }
}
