//! One domain of a run: takes events in order, hands each to its layer, and watches.

use std::sync::Arc;

use engine::{Duration, Lane, Queue, Time};
use mpi::world::{Context, Setup, World};
use mpi::{Failure, Letter, Source};
use network::{Arrival, Crossing, Fabric, Network};

use super::POLL_MASK;
use crate::observe::{Detail, Links, Views};

/// A part of a machine with its ranks in place, ready to run once.
pub struct Domain {
    pub(super) world: World,
    pub(super) network: Box<dyn Network>,
    pub(super) queue: Queue,
    pub(super) views: Views,
    pub(super) links: Links,
    fabric: Arc<Fabric>,
    arrivals: Vec<Arrival>,
    /// The place of the event that failed among those of its time.
    failed_at: u64,
}

/// Is asked every 2¹⁶ events whether to stop.
pub(super) type Poll<'a> = &'a mut dyn FnMut(&Domain, &dyn Source) -> bool;

impl Domain {
    /// The ranks of `setup` on `network`, a model of `fabric`; both for the same part of it.
    pub fn new(setup: Setup, network: Box<dyn Network>, fabric: Arc<Fabric>, detail: Detail) -> Domain {
        let ranks = setup.placement.len() as u32;
        Domain {
            world: World::new(setup),
            network,
            queue: Queue::new(),
            views: Views::new(ranks, detail),
            links: Links::new(fabric.topology.links(), detail != Detail::Screen),
            fabric,
            arrivals: Vec::new(),
            failed_at: 0,
        }
    }

    /// The least time between an event here and what it makes happen in another domain.
    pub fn lookahead(&self) -> Duration {
        self.network.lookahead()
    }

    /// Begins, at time zero.
    pub(super) fn start(&mut self, source: &mut dyn Source) {
        let Domain { world, network, queue, views, .. } = self;
        let now = Time::ZERO;
        world.start(&mut Context { now, queue, network: &mut **network, source, observer: views });
        if self.queue.instant_is_over() {
            self.network.settle(Time::ZERO, &mut self.queue);
        }
    }

    /// Handles what is due before `end`, up to a failure, or until `poll` says to stop.
    pub(super) fn advance(&mut self, end: Time, source: &mut dyn Source, poll: Poll) {
        let mut next_sample = self.links.next_sample();
        if self.failed() {
            return;
        }
        while let Some(event) = self.queue.pop_before(end) {
            while event.time > next_sample {
                self.sample(next_sample);
                next_sample = self.links.next_sample();
            }
            let Domain { world, network, queue, views, arrivals, .. } = self;
            match event.token.lane() {
                Lane::Rank => world.wake(
                    event.token,
                    &mut Context { now: event.time, queue, network: &mut **network, source, observer: views },
                ),
                Lane::Network => {
                    network.wake(event.time, event.token, queue, arrivals);
                    for arrival in arrivals.drain(..) {
                        let (network, observer) = (&mut **network, &mut *views);
                        let context = &mut Context { now: event.time, queue, network, source, observer };
                        world.arrive(&arrival, context);
                    }
                }
            }
            if queue.instant_is_over() {
                network.settle(event.time, queue);
            }
            if world.failed().is_some() {
                self.failed_at = event.key.word();
                return;
            }
            if queue.popped() & POLL_MASK == 0 && poll(self, source) {
                return;
            }
        }
    }

    /// The time of the last event.
    pub(super) fn now(&self) -> Time {
        self.queue.now()
    }

    /// Events handled.
    pub(super) fn events(&self) -> u64 {
        self.queue.popped()
    }

    /// Is something due later than can be counted?
    pub(super) fn goes_beyond(&mut self) -> bool {
        (Time::LAST..Time::NEVER).contains(&self.queue.next_time())
    }

    /// Has the simulated program failed here?
    pub(super) fn failed(&self) -> bool {
        self.world.failed().is_some()
    }

    /// When, with the place among the events of that time, and why.
    pub(super) fn failure(&self) -> Option<(Time, u64, &Failure)> {
        self.world.failed().map(|failure| (self.now(), self.failed_at, failure))
    }

    /// Takes what has left for other domains.
    pub(super) fn take(&mut self, crossings: &mut Vec<Crossing>) -> Vec<Letter> {
        self.network.take_crossings(crossings);
        self.world.take_letters()
    }

    /// Takes in what has come from another domain.
    pub(super) fn import(&mut self, crossing: &Crossing) {
        self.network.import(crossing, &mut self.queue);
    }

    /// Brings the observers to `now`, the end of the run.
    pub(super) fn finish(&mut self, now: Time) {
        while now > self.links.next_sample() {
            self.sample(self.links.next_sample());
        }
        self.sample(now);
        self.links.take_statistics(now, &mut *self.network);
    }

    fn sample(&mut self, at: Time) {
        let topology = &*self.fabric.topology;
        self.links.sample(at, &mut *self.network, &|link| topology.link(link).class);
    }
}
