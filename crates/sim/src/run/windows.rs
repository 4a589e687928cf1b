//! Domains on threads of one or several processes, which advance in windows.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use engine::{Duration, Time};
use mpi::Source;
use network::Crossing;

use super::barrier::{Barrier, Broken};
use super::domain::{POLL_EVERY, Poll};
use super::exchange::{Exchange, Note};
use super::peers::{Item, Opened, Peers, domains_of};
use super::progress::{NextStep, Stopping};
use super::{Control, Domain, Monitor, Progress, Stop, Until, Unwatched};

/// Run in windows, in one process.
pub struct Windows {
    barrier: Barrier,
    exchange: Exchange,
    /// Domains of this process, by their numbers among all.
    here: Range<u32>,
    /// The process of each domain.
    process_of: Vec<u32>,
    me: u32,
    until: Until,
    /// True if the window is to be left in the middle, since a requested stop has waited for long enough.
    leaves: AtomicBool,
}

/// Function that decides between windows, and within long ones, how to go on; it gets the progress of all domains.
type Ask<'a> = &'a mut dyn FnMut(Progress) -> Control;

/// Requests of the user, as seen by the thread of one domain.
struct User<'a> {
    ask: Ask<'a>,
    stopping: Stopping,
    /// True if the user wants a closer look at all domains.
    looks: bool,
    /// See [`Windows::leaves`].
    leaves: &'a AtomicBool,
}

impl User<'_> {
    /// Reports the progress of the run, and returns its next step.
    fn next_step(&mut self, progress: Progress) -> NextStep {
        match (self.ask)(progress) {
            Control::Continue => {}
            Control::Look => self.looks = true,
            Control::Stop => self.stopping.begin(),
        }
        if self.stopping.next_step() == NextStep::Leave {
            self.leaves.store(true, Ordering::Relaxed);
        }
        if self.leaves.load(Ordering::Relaxed) { NextStep::Leave } else { NextStep::GoOn }
    }

    /// Like `next_step`, within a window; `all` is the note before it, and other domains had then handled `others` events.
    /// Events of this domain are counted up to now, so that progress never runs backwards.
    fn next_step_since(&mut self, domain: &Domain, all: &Note, others: u64, looked: bool) -> NextStep {
        self.next_step(Progress { events: others + domain.events(), ..all.progress(domain.now(), looked) })
    }
}

impl Windows {
    /// Makes the windows of the `domains` of this process, out of `all`. Their lookahead is positive.
    pub fn new(domains: &[Domain], all: u32, until: Until, peers: &dyn Peers) -> Windows {
        let lookahead = domains.iter().map(Domain::lookahead).min().expect("a process has a domain");
        assert!(lookahead > Duration::ZERO, "nothing gets from one domain to another in no time");
        let (me, processes) = (peers.rank(), peers.count());
        let process_of =
            (0..processes).flat_map(|process| domains_of(process, processes, all).map(move |_| process));
        Windows {
            barrier: Barrier::new(domains.len() as u32),
            exchange: Exchange::new(domains.len(), processes as usize),
            here: domains_of(me, processes, all),
            process_of: process_of.collect(),
            me,
            until,
            leaves: AtomicBool::new(false),
        }
    }

    /// Runs the domains to their end; the first on this thread, where the monitor is. Returns true if they were
    /// stopped early, by the requested end, or by a monitor or a failure of any process.
    pub fn run<S: Source + Send>(
        &self,
        domains: Vec<Domain>,
        sources: &mut [S],
        monitor: &mut dyn Monitor,
        peers: &mut dyn Peers,
    ) -> (Vec<Domain>, Option<Stop>) {
        let bell = monitor.bell();
        let mut ask = |progress: Progress| monitor.poll(progress);
        let mut pairs = domains.into_iter().zip(sources).enumerate();
        let (_, (mut first, source)) = pairs.next().expect("a run has a domain");
        let mut stop = None;
        let mut all = std::thread::scope(|scope| {
            let others: Vec<_> = pairs
                .map(|(me, (mut domain, source))| {
                    scope.spawn(move || {
                        // The thread that broke the barrier reports the reason.
                        let (ask, bell) = (&mut |_| Control::Continue, Unwatched.bell());
                        let _ = self.run_one(me, &mut domain, source, ask, bell, None);
                        domain
                    })
                })
                .collect();
            stop = self.run_one(0, &mut first, source, &mut ask, bell, Some(peers)).ok().flatten();
            let join = |other: std::thread::ScopedJoinHandle<'_, Domain>| match other.join() {
                Ok(domain) => domain,
                Err(panic) => std::panic::resume_unwind(panic),
            };
            others.into_iter().map(join).collect::<Vec<_>>()
        });
        all.insert(0, first);
        (all, stop)
    }

    /// Runs the only domain of this process on this thread; see [`Windows::run`].
    pub fn run_single(
        &self,
        domain: &mut Domain,
        source: &mut dyn Source,
        monitor: &mut dyn Monitor,
        peers: &mut dyn Peers,
    ) -> Option<Stop> {
        let bell = monitor.bell();
        let mut ask = |progress: Progress| monitor.poll(progress);
        self.run_one(0, domain, source, &mut ask, bell, Some(peers)).ok().flatten()
    }

    /// Runs one domain. Returns the reason if it ended early.
    ///
    /// A window that has begun is completed, so that all domains stop at the same time, unless that takes too long.
    fn run_one(
        &self,
        me: usize,
        domain: &mut Domain,
        source: &mut dyn Source,
        ask: Ask,
        bell: &AtomicBool,
        mut peers: Option<&mut dyn Peers>,
    ) -> Result<Option<Stop>, Broken> {
        let _guard = self.barrier.guard();
        let mut crossings = Vec::new();
        let mut user = User { ask, stopping: Stopping::default(), looks: false, leaves: &self.leaves };
        let (mut parity, mut looked, mut polled) = (0, false, 0);
        let (mut all, mut others) = (Note::NOTHING, 0);
        let mut ask = |domain: &Domain, _: &dyn Source| user.next_step_since(domain, &all, 0, false);
        domain.start(source, &mut Poll { ask: &mut ask, bell });
        domain.mark_window();
        let mut ends = false;
        loop {
            self.send_contents(parity, source);
            let sent = self.send(parity, me, domain, &mut crossings);
            let note = domain.note(source, sent, looked);
            let looks = std::mem::take(&mut user.looks);
            // A window that was left in the middle is the last one.
            let ends_now = ends || domain.whole_until().is_some();
            self.exchange.post(parity, me, Note { looks, ends: ends_now || note.ends, ..note });
            self.barrier.wait_with(&mut || {
                user.next_step_since(domain, &all, others, false);
            })?;
            all = self.meet(parity, &mut peers)?;
            // Contents of the last window, too, which nothing receives any more: a source may show some.
            self.receive_contents(parity, me, source);
            if all.ends {
                return Ok(Some(Stop::Asked));
            }
            let stop = self.until.stop(all.next, all.unfinished);
            if stop.is_some() || all.next >= Time::LAST {
                return Ok(stop);
            }
            self.receive(parity, me, domain);
            let end = (all.next + all.lookahead).min(self.until.end(all.unfinished));
            others = all.events - note.events;
            let mut ask = |domain: &Domain, _: &dyn Source| user.next_step_since(domain, &all, others, false);
            domain.advance(end, source, &mut Poll { ask: &mut ask, bell });
            domain.mark_window();
            if looked || all.events >= polled + POLL_EVERY {
                polled = all.events;
                user.next_step_since(domain, &all, others, looked);
            }
            // Events at time zero happen before a stop that was requested while the ranks began.
            ends = user.stopping.has_begun();
            looked = all.looks;
            parity = 1 - parity;
        }
    }

    /// Sums the notes of all domains; the thread of the first domain communicates with other processes.
    fn meet(&self, parity: usize, peers: &mut Option<&mut dyn Peers>) -> Result<Note, Broken> {
        if self.process_of.last() == Some(&0) {
            return Ok(self.exchange.here(parity));
        }
        if let Some(peers) = peers {
            let note = self.exchange.here(parity);
            let processes = 0..peers.count() as usize;
            let seal = |process| self.exchange.parcel(parity, process, |parcel| parcel.seal(&note));
            let received = peers.exchange(&processes.map(seal).collect::<Vec<_>>());
            let opened = received.iter().map(|sealed| Opened::new(sealed));
            let (notes, parcels): (Vec<Note>, Vec<Opened>) = opened.unzip();
            self.exchange.post_total(parity, notes.into_iter());
            parcels.into_iter().flatten().for_each(|item| self.hand_out(parity, item));
        }
        self.barrier.wait()?;
        Ok(self.exchange.total(parity))
    }

    /// Moves an item from another process to the mail.
    fn hand_out(&self, parity: usize, item: Item) {
        let others = self.here.len();
        let place = |to: u32| (to - self.here.start) as usize;
        match item {
            Item::Crossing(crossing) => self.exchange.mail(parity, others, place(crossing.to), |mail| {
                mail.crossings.push(crossing);
            }),
            Item::DomainMessage(to, words) => {
                self.exchange.mail(parity, others, place(to), |mail| mail.domain_messages.push(words));
            }
            Item::Contents(contents) => {
                self.exchange.mail(parity, others, 0, |mail| mail.contents.push(contents));
            }
        }
    }

    /// Moves the contents for other processes to the parcels.
    fn send_contents(&self, parity: usize, source: &mut dyn Source) {
        for (process, contents) in source.take_contents() {
            self.exchange.parcel(parity, process as usize, |parcel| parcel.contents(&contents));
        }
    }

    /// Receives the contents that other processes have for the source of this domain.
    fn receive_contents(&self, parity: usize, me: usize, source: &mut dyn Source) {
        self.exchange.mail(parity, self.here.len(), me, |mail| {
            mail.contents.drain(..).for_each(|contents| source.receive_contents(&contents));
        });
    }

    /// Moves the domain's messages for others to the mail; returns the time of the first of them.
    fn send(&self, parity: usize, me: usize, domain: &mut Domain, crossings: &mut Vec<Crossing>) -> Time {
        for message in domain.take(crossings) {
            match self.place(message.to) {
                Ok(to) => self.exchange.mail(parity, me, to, |mail| mail.domain_messages.push(message.words)),
                Err(process) => self.exchange.parcel(parity, process, |parcel| {
                    parcel.domain_message(message.to, &message.words);
                }),
            }
        }
        let first = crossings.iter().map(|crossing| crossing.at).min().unwrap_or(Time::NEVER);
        // A stable sort: models rely on the order in which one part sends.
        crossings.sort_by_key(|crossing| crossing.to);
        for to_one in crossings.chunk_by(|one, other| one.to == other.to) {
            match self.place(to_one[0].to) {
                Ok(to) => self.exchange.mail(parity, me, to, |mail| mail.crossings.extend_from_slice(to_one)),
                Err(process) => self.exchange.parcel(parity, process, |parcel| {
                    to_one.iter().for_each(|crossing| parcel.crossing(crossing));
                }),
            }
        }
        crossings.clear();
        first
    }

    /// Index of a domain in this process, or else the number of its process.
    fn place(&self, domain: u32) -> Result<usize, usize> {
        match self.process_of[domain as usize] {
            process if process == self.me => Ok((domain - self.here.start) as usize),
            process => Err(process as usize),
        }
    }

    /// Receives the messages of other domains.
    fn receive(&self, parity: usize, me: usize, domain: &mut Domain) {
        for from in (0..=self.here.len()).filter(|from| *from != me) {
            self.exchange.mail(parity, from, me, |mail| {
                mail.crossings.drain(..).for_each(|crossing| domain.import(&crossing));
                mail.domain_messages.drain(..).for_each(|words| domain.world.deliver(&words));
            });
        }
    }
}
