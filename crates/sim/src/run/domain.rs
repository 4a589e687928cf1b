//! One domain of a run: takes events in order, hands each to its layer, and watches.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use engine::{Duration, Lane, Queue, Time};
use mpi::world::{Context, Setup, World};
use mpi::{Failure, Letter, Source};
use network::{Arrival, Crossing, Fabric, Network};

use super::exchange::Note;
use super::progress::{Heed, share_done};
use super::{Look, Progress};
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
    /// The work after which the next poll is due.
    next_poll: u64,
    /// See [`Domain::whole_until`].
    left_at: Option<Time>,
}

/// Events and messages between two polls.
pub(super) const POLL_EVERY: u64 = 1 << 14;

/// Events ahead of the present one for which messages are prefetched,
const FAR: usize = 9;
/// then their receivers,
const MIDDLE: usize = 6;
/// then the collectives of those.
const NEAR: usize = 3;

/// The function that a domain asks now and then whether to go on.
pub(super) struct Poll<'a> {
    /// Decides whether to go on; asked after each [`POLL_EVERY`] of work.
    pub ask: &'a mut dyn FnMut(&Domain, &dyn Source) -> Heed,
    /// While it is true, `ask` is asked after each event.
    pub bell: &'a AtomicBool,
}

impl Domain {
    /// The ranks of `setup` on `network`, a model of `fabric`; both for the same part of it.
    pub fn new(setup: Setup, network: Box<dyn Network>, fabric: Arc<Fabric>, detail: Detail) -> Domain {
        let views = Views::new(setup.placement.clone(), detail);
        Domain {
            world: World::new(setup),
            network,
            queue: Queue::new(),
            views,
            links: Links::new(fabric.topology.links(), detail != Detail::Screen),
            fabric,
            arrivals: Vec::new(),
            failed_at: 0,
            next_poll: POLL_EVERY,
            left_at: None,
        }
    }

    /// The least time between an event here and what it makes happen in another domain.
    pub fn lookahead(&self) -> Duration {
        self.network.lookahead()
    }

    /// Begins ranks at time zero until all have begun or `poll` says to stop; gives its last answer.
    pub(super) fn start(&mut self, source: &mut dyn Source, poll: &mut Poll) -> Heed {
        let (now, mut wanted) = (Time::ZERO, Heed::GoOn);
        for place in 0..self.world.ranks() {
            let Domain { world, network, queue, views, .. } = self;
            let network = &mut **network;
            world.start(place, &mut Context { now, queue, network, source, observer: views });
            wanted = self.poll(source, poll);
            if wanted == Heed::Leave {
                self.left_at = Some(now);
                return wanted;
            }
        }
        if self.queue.instant_is_over() {
            self.network.settle(now, &mut self.queue);
        }
        wanted
    }

    /// Asks `poll` whether to go on, if that is due.
    #[inline]
    fn poll(&mut self, source: &dyn Source, poll: &mut Poll) -> Heed {
        // An event may send any number of messages, each of which is work.
        let worked = self.queue.popped() + self.world.messages();
        if worked < self.next_poll && !poll.bell.load(Ordering::Relaxed) {
            return Heed::GoOn;
        }
        self.next_poll = worked + POLL_EVERY;
        (poll.ask)(self, source)
    }

    /// Handles events before `end`, up to a failure, or until `poll` says to stop: then gives true.
    pub(super) fn advance(&mut self, mut end: Time, source: &mut dyn Source, poll: &mut Poll) -> bool {
        let (mut next_sample, mut asked) = (self.links.next_sample(), false);
        self.left_at = None;
        if self.failed() {
            return asked;
        }
        let is_large = self.world.is_large();
        while let Some(event) = self.queue.pop_before(end) {
            if is_large {
                self.prefetch();
            }
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
                return asked;
            }
            match self.poll(source, poll) {
                Heed::GoOn => {}
                Heed::EndInstant => (end, asked) = (end.min(self.now() + Duration(1)), true),
                Heed::Leave => {
                    self.left_at = Some(self.now());
                    return true;
                }
            }
        }
        asked
    }

    /// Asks for what the next events need, the further ahead the more there is to be found on the way to it.
    #[inline]
    fn prefetch(&self) {
        let Domain { world, network, queue, .. } = self;
        if let Some(token) = queue.upcoming(FAR) {
            match token.lane() {
                Lane::Rank => world.prefetch(token),
                Lane::Network => network.prefetch(token),
            }
        }
        let cargo_of = |ahead| {
            let token = queue.upcoming(ahead).filter(|token| token.lane() == Lane::Network)?;
            network.upcoming_cargo(token)
        };
        if let Some(cargo) = cargo_of(MIDDLE) {
            world.prefetch_receiver(cargo);
        }
        if let Some(cargo) = cargo_of(NEAR) {
            world.prefetch_collectives(cargo);
        }
    }

    /// Time before which all events were handled, if the domain was left in the middle of an instant or a window.
    pub(super) fn whole_until(&self) -> Option<Time> {
        self.left_at
    }

    /// The time of the last event.
    pub(super) fn now(&self) -> Time {
        self.queue.now()
    }

    /// Events handled.
    pub(super) fn events(&self) -> u64 {
        self.queue.popped()
    }

    /// Time at which its next event is due.
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

    /// Note for other domains, where the first of what it has `sent` is due then; with the rank that
    /// is furthest behind only if someone `looked`, because finding it takes time.
    pub(super) fn note(&mut self, source: &dyn Source, sent: Time, looked: bool) -> Note {
        Note {
            next: self.queue.next_time().min(sent),
            events: self.events(),
            issued: source.issued(),
            announced: self.world.announced(),
            moved: self.world.moved(),
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

    /// Its progress, if it is the whole machine.
    pub(super) fn progress(&self, source: &dyn Source, look: Option<Look>) -> Progress {
        let share_done = share_done(source.issued(), self.world.announced(), self.world.moved());
        Progress { now: self.now(), events: self.events(), share_done, look }
    }

    /// Is something due later than can be counted?
    pub(super) fn goes_beyond(&mut self) -> bool {
        (Time::LAST..Time::NEVER).contains(&self.queue.next_time())
    }

    /// Has the simulated program failed here?
    pub(super) fn failed(&self) -> bool {
        self.world.failed().is_some()
    }

    /// Time of the failure, its place among the events of that time, and its cause.
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
