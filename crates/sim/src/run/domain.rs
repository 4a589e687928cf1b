//! One domain of a run: takes events in order, hands each to its layer, and watches.

use std::sync::Arc;

use engine::{Duration, Lane, Queue, Time};
use mpi::world::{Context, Setup, World};
use mpi::{Failure, Letter, Source};
use network::{Arrival, Crossing, Fabric, Network};

use super::exchange::Note;
use super::{Look, POLL_MASK, Progress};
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

/// Is asked every 2¹⁴ events whether to stop.
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
                    for arrival in &*arrivals {
                        let (network, observer) = (&mut **network, &mut *views);
                        let context = &mut Context { now: event.time, queue, network, source, observer };
                        world.arrive(arrival, context);
                    }
                    arrivals.clear();
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

    /// When its next event is due.
    pub(super) fn next_time(&mut self) -> Time {
        self.queue.next_time()
    }

    /// How many of its ranks are not done.
    pub(super) fn unfinished(&self) -> u32 {
        self.world.unfinished()
    }

    /// Messages sent from here less those that have come to here: their sum over all domains is in flight.
    pub(super) fn in_flight(&self) -> u64 {
        self.world.messages().wrapping_sub(self.world.arrived())
    }

    /// What others are to know of it, where the first of what it has `sent` is due then; with the rank that
    /// is furthest behind only if someone `looked`, because finding it takes time.
    pub(super) fn note(&mut self, source: &dyn Source, sent: Time, looked: bool) -> Note {
        Note {
            next: self.queue.next_time().min(sent),
            events: self.events(),
            share_done: source.share_done(),
            ends: self.failed(),
            looks: false,
            unfinished: self.unfinished(),
            in_flight: self.in_flight(),
            behind: if looked { self.world.furthest_behind() } else { None },
        }
    }

    /// A closer look at it, if it is the whole machine.
    pub(super) fn look(&self) -> Look {
        let behind = self.world.furthest_behind();
        Look { unfinished: self.unfinished(), in_flight: self.in_flight(), behind }
    }

    /// Where it stands, if it is the whole machine.
    pub(super) fn progress(&self, source: &dyn Source, look: Option<Look>) -> Progress {
        Progress { now: self.now(), events: self.events(), share_done: source.share_done(), look }
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
