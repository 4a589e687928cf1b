//! One domain of a run: handles events in order, passes each to its layer, and observes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use engine::{Duration, Event, Lane, Queue, Time};
use mpi::world::{Context, Setup, World};
use mpi::{DomainMessage, Failure, Source};
use network::{Arrival, Crossing, Fabric, Network, Part};

use super::exchange::Note;
use super::progress::{NextStep, share_done};
use super::{Look, Progress};
use crate::observe::{LinkNames, LiveRows, NetworkViews, Views, rank_progress};
use crate::profile::{Layer, MarkedNetwork, Marker};

/// A part of a machine with its ranks in place, ready to run once.
pub struct Domain {
    pub(super) world: World,
    pub(super) network: Box<dyn Network>,
    pub(super) queue: Queue,
    pub(crate) views: Views,
    pub(super) network_views: NetworkViews,
    lookahead: Duration,
    fabric: Arc<Fabric>,
    arrivals: Vec<Arrival>,
    /// Position of the event that failed among those of its time.
    failed_at: u64,
    /// Amount of work after which the next poll is due.
    next_poll: u64,
    /// See [`Domain::whole_until`].
    left_at: Option<Time>,
    marker: Marker,
    /// Reader that follows the run, and its requests that have been answered.
    live: Option<(Arc<LiveRows>, u64)>,
}

/// Events and messages between two polls.
pub(super) const POLL_EVERY: u64 = 1 << 14;

/// Number of events ahead of the current one for which messages are prefetched.
const FAR: usize = 9;
/// Number of events ahead for which the messages' receivers are prefetched.
const MIDDLE: usize = 6;
/// Number of events ahead for which the receivers' collectives are prefetched.
const NEAR: usize = 3;

/// Function that decides now and then whether a domain goes on.
pub(super) struct Poll<'a> {
    /// Decides whether to go on; called after each [`POLL_EVERY`] of work.
    pub ask: &'a mut dyn FnMut(&Domain, &dyn Source) -> NextStep,
    /// While true, `ask` is called after each event.
    pub bell: &'a AtomicBool,
}

impl Domain {
    /// Places the ranks of `setup` on `network`, a model of `fabric`; both for the same part of it.
    pub fn new(
        setup: Setup,
        mut network: Box<dyn Network>,
        (views, network_views): (Views, NetworkViews),
        fabric: Arc<Fabric>,
    ) -> Domain {
        Domain {
            world: World::new(setup),
            lookahead: network.as_part().map_or(Duration(u64::MAX), |part| part.lookahead()),
            network,
            queue: Queue::new(),
            views,
            network_views,
            fabric,
            arrivals: Vec::new(),
            failed_at: 0,
            next_poll: POLL_EVERY,
            left_at: None,
            marker: Marker::default(),
            live: None,
        }
    }

    /// Lets the domain and its layers mark where its thread is.
    pub fn marked(mut self, marker: &Marker) -> Domain {
        self.network = Box::new(MarkedNetwork { network: self.network, marker: marker.clone() });
        self.views.marker = marker.clone();
        self.marker = marker.clone();
        self
    }

    /// Marks that its thread is between windows.
    pub(super) fn mark_window(&self) {
        self.marker.set(Layer::Windows);
    }

    /// Lets a reader follow the run.
    pub fn follow(&mut self, live: Option<Arc<LiveRows>>) {
        if live.is_some() {
            self.network_views.links.follow();
        }
        self.live = live.map(|live| (live, 0));
    }

    /// Part of the network.
    pub(crate) fn part(&self) -> &Part {
        self.world.network_part()
    }

    /// Least time between an event here and its effect in another domain.
    pub fn lookahead(&self) -> Duration {
        self.lookahead
    }

    /// Begins all ranks at time zero, until `poll` says to stop; returns its last answer.
    pub(super) fn start(&mut self, source: &mut dyn Source, poll: &mut Poll) -> NextStep {
        let (now, mut wanted) = (Time::ZERO, NextStep::GoOn);
        self.marker.set(Layer::Mpi);
        for place in 0..self.world.ranks() {
            let Domain { world, network, queue, views, .. } = self;
            let network = &mut **network;
            world.start(place, &mut Context { now, queue, network, source, observer: views });
            wanted = self.poll(source, poll);
            if wanted == NextStep::Leave {
                self.left_at = Some(now);
                return wanted;
            }
        }
        if self.queue.instant_is_over() {
            self.network.end_instant(now, &mut self.queue);
        }
        wanted
    }

    /// Calls `poll` if that is due.
    #[inline(always)]
    fn poll(&mut self, source: &dyn Source, poll: &mut Poll) -> NextStep {
        // Messages count as work, too, since an event may send any number of them.
        let worked = self.queue.popped() + self.world.messages();
        if worked < self.next_poll && !poll.bell.load(Ordering::Relaxed) {
            return NextStep::GoOn;
        }
        self.poll_at(worked, source, poll)
    }

    /// Calls `poll`, with that much work done.
    #[cold]
    #[inline(never)]
    fn poll_at(&mut self, worked: u64, source: &dyn Source, poll: &mut Poll) -> NextStep {
        self.next_poll = worked + POLL_EVERY;
        self.hand_out();
        let marker = self.marker.clone();
        marker.inside(Layer::Monitor, || (poll.ask)(self, source))
    }

    /// Hands out new rows if the reader that follows the run has asked for some.
    fn hand_out(&mut self) {
        let now = self.now();
        if let Some((live, answered)) = &mut self.live
            && *answered < live.asked()
        {
            *answered = live.asked();
            let mut tables = self.views.new_rows(now);
            tables.push(rank_progress(
                now,
                self.world.part(),
                self.views.ranks.totals(),
                self.world.reached(),
            ));
            tables.extend(self.network_views.links.new_rows(&LinkNames::new(&self.fabric)));
            live.give(tables);
        }
    }

    /// Handles events before `end`. Stops at a failure, or when `poll` says so, and then returns true.
    pub(super) fn advance(&mut self, mut end: Time, source: &mut dyn Source, poll: &mut Poll) -> bool {
        let (mut next_sample, mut asked) = (self.network_views.links.next_sample(), false);
        self.left_at = None;
        if self.failed() {
            return asked;
        }
        let is_large = self.world.is_large();
        self.marker.set(Layer::Mpi);
        while let Some(event) = self.next_before(end) {
            if is_large {
                self.prefetch();
            }
            while event.time > next_sample {
                self.sample(next_sample);
                next_sample = self.network_views.links.next_sample();
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
                network.end_instant(event.time, queue);
            }
            if world.failed().is_some() {
                self.failed_at = event.key.word();
                return asked;
            }
            match self.poll(source, poll) {
                NextStep::GoOn => {}
                NextStep::EndInstant => (end, asked) = (end.min(self.now() + Duration(1)), true),
                NextStep::Leave => {
                    self.left_at = Some(self.now());
                    return true;
                }
            }
        }
        asked
    }

    /// Takes the next event before `end` out of the queue.
    #[inline(always)]
    fn next_before(&mut self, end: Time) -> Option<Event> {
        let before = self.marker.enter(Layer::Queue);
        let event = self.queue.pop_before(end);
        self.marker.leave(before);
        event
    }

    /// Prefetches the data of the next events: those further ahead first, as more indirections lead to their data.
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

    /// Time before which all events were handled, if the domain stopped in the middle of an instant or a window.
    pub(super) fn whole_until(&self) -> Option<Time> {
        self.left_at
    }

    /// Time of the last event.
    pub(super) fn now(&self) -> Time {
        self.queue.now()
    }

    /// Events handled.
    pub(super) fn events(&self) -> u64 {
        self.queue.popped()
    }

    /// Time of the next event.
    pub(super) fn next_time(&mut self) -> Time {
        self.queue.next_time()
    }

    /// Number of its ranks that have not finished.
    pub(super) fn unfinished(&self) -> u32 {
        self.world.unfinished()
    }

    /// Messages sent from here minus those received here: the sum over all domains is the number in flight.
    pub(super) fn in_flight(&self) -> u64 {
        self.world.messages().wrapping_sub(self.world.arrived())
    }

    /// Note for other domains; `sent` is the time of the first message to them. It has the rank that is furthest
    /// behind only if `looked`, since finding it takes time.
    pub(super) fn note(&mut self, source: &dyn Source, sent: Time, looked: bool) -> Note {
        Note {
            next: self.queue.next_time().min(sent),
            lookahead: self.network.as_part().map_or(Duration(u64::MAX), |part| part.current_lookahead()),
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

    /// A closer look at the run, if the domain is the whole machine.
    pub(super) fn look(&self) -> Look {
        let behind = self.world.furthest_behind();
        Look { unfinished: self.unfinished(), in_flight: self.in_flight(), behind }
    }

    /// Progress of the run, if the domain is the whole machine.
    pub(super) fn progress(&self, source: &dyn Source, look: Option<Look>) -> Progress {
        let share_done = share_done(source.issued(), self.world.announced(), self.world.moved());
        Progress { now: self.now(), events: self.events(), share_done, look }
    }

    /// True if an event is due later than times can represent.
    pub(super) fn goes_beyond(&mut self) -> bool {
        (Time::LAST..Time::NEVER).contains(&self.queue.next_time())
    }

    /// True if the simulated program has failed here.
    pub(super) fn failed(&self) -> bool {
        self.world.failed().is_some()
    }

    /// Time of the failure, its position among the events of that time, and its cause.
    pub(super) fn failure(&self) -> Option<(Time, u64, &Failure)> {
        self.world.failed().map(|failure| (self.now(), self.failed_at, failure))
    }

    /// Takes the messages for other domains.
    pub(super) fn take(&mut self, crossings: &mut Vec<Crossing>) -> Vec<DomainMessage> {
        if let Some(part) = self.network.as_part() {
            part.take_crossings(crossings);
        }
        self.world.take_domain_messages()
    }

    /// Receives a message from another domain.
    pub(super) fn import(&mut self, crossing: &Crossing) {
        let part = self.network.as_part().expect("a network that is not cut takes nothing from other parts");
        part.import(crossing, &mut self.queue);
    }

    /// Brings the observers to `now`, the end of the run.
    pub(super) fn finish(&mut self, now: Time) {
        while now > self.network_views.links.next_sample() {
            self.sample(self.network_views.links.next_sample());
        }
        let topology = &*self.fabric.topology;
        self.network_views.links.finish(now, &mut *self.network, &|link| topology.link(link).class);
        self.network_views.finish(now, &mut *self.network);
    }

    fn sample(&mut self, at: Time) {
        let topology = &*self.fabric.topology;
        let (links, network) = (&mut self.network_views.links, &mut *self.network);
        self.marker.inside(Layer::Observers, || links.sample(at, network, &|link| topology.link(link).class));
    }
}
