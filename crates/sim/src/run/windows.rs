//! Domains on threads of one or several processes, in windows.

use std::ops::Range;

use engine::{Duration, Time};
use mpi::Source;
use network::Crossing;

use super::barrier::{Barrier, Broken};
use super::exchange::{Exchange, Note};
use super::peers::{Item, Opened, Peers, domains_of};
use super::{Control, Domain, Monitor, POLL_MASK, Progress};

/// A run in windows: the side of one process.
pub struct Windows {
    barrier: Barrier,
    exchange: Exchange,
    /// The domains of this process, of all.
    here: Range<u32>,
    /// The process of each domain.
    process_of: Vec<u32>,
    me: u32,
    lookahead: Duration,
}

/// Is asked between windows, and within long ones, whether to stop; knows the events of all domains.
type Ask<'a> = &'a mut dyn FnMut(Progress) -> bool;

impl Windows {
    /// For `domains` of this process, of so many. Between them everything takes time.
    pub fn new(domains: &[Domain], all: u32, peers: &dyn Peers) -> Windows {
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
            lookahead,
        }
    }

    /// Runs them to their end; the first on this thread, where the monitor is. Says whether they were made
    /// to end, by a monitor or a failure, of this process or another.
    pub fn run<S: Source + Send>(
        &self,
        domains: Vec<Domain>,
        sources: &mut [S],
        monitor: &mut dyn Monitor,
        peers: &mut dyn Peers,
    ) -> (Vec<Domain>, bool) {
        let mut stopped = false;
        let mut polled = 0;
        let mut ask = |progress: Progress| {
            if progress.events > polled + POLL_MASK {
                polled = progress.events;
                stopped |= monitor.poll(progress) == Control::Stop;
            }
            stopped
        };
        let mut pairs = domains.into_iter().zip(sources).enumerate();
        let (_, (mut first, source)) = pairs.next().expect("a run has a domain");
        let mut cut_short = false;
        let mut all = std::thread::scope(|scope| {
            let others: Vec<_> = pairs
                .map(|(me, (mut domain, source))| {
                    scope.spawn(move || {
                        // A broken barrier is told of by the thread that broke it.
                        let _ = self.run_one(me, &mut domain, source, &mut |_| false, None);
                        domain
                    })
                })
                .collect();
            cut_short = self.run_one(0, &mut first, source, &mut ask, Some(peers)) == Ok(true);
            let join = |other: std::thread::ScopedJoinHandle<'_, Domain>| match other.join() {
                Ok(domain) => domain,
                Err(panic) => std::panic::resume_unwind(panic),
            };
            others.into_iter().map(join).collect::<Vec<_>>()
        });
        all.insert(0, first);
        (all, cut_short)
    }

    /// One domain's side of the run. Says whether it was made to end.
    fn run_one(
        &self,
        me: usize,
        domain: &mut Domain,
        source: &mut dyn Source,
        ask: Ask,
        mut peers: Option<&mut dyn Peers>,
    ) -> Result<bool, Broken> {
        let _guard = self.barrier.guard();
        let mut crossings = Vec::new();
        let (mut parity, mut before) = (0, 0);
        domain.start(source);
        let mut ends = false;
        loop {
            let sent = self.send(parity, me, domain, &mut crossings);
            let next = domain.queue.next_time().min(sent);
            let (events, share_done) = (domain.events(), source.share_done());
            self.exchange.post(parity, me, Note { next, events, share_done, ends: ends || domain.failed() });
            self.barrier.wait()?;
            let all = self.meet(parity, &mut peers)?;
            if all.ends || all.next >= Time::LAST {
                return Ok(all.ends);
            }
            self.receive(parity, me, domain);
            let end = all.next + self.lookahead;
            let others = all.events - events;
            domain.advance(end, source, &mut |domain, _| {
                let events = others + domain.events();
                ends |= ask(Progress { now: domain.now(), events, share_done: all.share_done });
                ends
            });
            if me == 0 && all.events != before {
                before = all.events;
                let Note { events, share_done, .. } = all;
                ends |= ask(Progress { now: domain.now(), events, share_done });
            }
            parity = 1 - parity;
        }
    }

    /// What all domains have noted; with other processes, the first domain's thread talks to them.
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

    /// Puts what another process has sent into the mail.
    fn hand_out(&self, parity: usize, item: Item) {
        let others = self.here.len();
        let place = |to: u32| (to - self.here.start) as usize;
        match item {
            Item::Crossing(crossing) => self.exchange.mail(parity, others, place(crossing.to), |mail| {
                mail.crossings.push(crossing);
            }),
            Item::Letter(to, words) => {
                self.exchange.mail(parity, others, place(to), |mail| mail.letters.push(words));
            }
        }
    }

    /// Puts what has left the domain into the mail; gives when the first of it is due.
    fn send(&self, parity: usize, me: usize, domain: &mut Domain, crossings: &mut Vec<Crossing>) -> Time {
        for letter in domain.take(crossings) {
            match self.place(letter.to) {
                Ok(to) => self.exchange.mail(parity, me, to, |mail| mail.letters.push(letter.words)),
                Err(process) => self.exchange.parcel(parity, process, |parcel| {
                    parcel.letter(letter.to, &letter.words);
                }),
            }
        }
        let first = crossings.iter().map(|crossing| crossing.at).min().unwrap_or(Time::NEVER);
        // Stable: models rely on the order in which one part sends.
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

    /// Which of the domains here that is, or in which process it is.
    fn place(&self, domain: u32) -> Result<usize, usize> {
        match self.process_of[domain as usize] {
            process if process == self.me => Ok((domain - self.here.start) as usize),
            process => Err(process as usize),
        }
    }

    /// Takes what others have sent.
    fn receive(&self, parity: usize, me: usize, domain: &mut Domain) {
        for from in (0..=self.here.len()).filter(|from| *from != me) {
            self.exchange.mail(parity, from, me, |mail| {
                mail.crossings.drain(..).for_each(|crossing| domain.import(&crossing));
                mail.letters.drain(..).for_each(|words| domain.world.deliver(&words));
            });
        }
    }
}
