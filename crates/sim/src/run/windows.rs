//! Domains on threads, in windows.

use engine::{Duration, Time};
use mpi::Source;
use network::Crossing;

use super::barrier::{Barrier, Broken};
use super::exchange::{Exchange, Note};
use super::{Control, Domain, Monitor, POLL_MASK, Progress};

/// A run in windows.
pub struct Windows {
    barrier: Barrier,
    exchange: Exchange,
    domains: usize,
    lookahead: Duration,
}

/// Is asked between windows, and within long ones, whether to stop; knows the events of all domains.
type Ask<'a> = &'a mut dyn FnMut(Progress) -> bool;

impl Windows {
    /// For these domains. Between them everything takes time.
    pub fn new(domains: &[Domain]) -> Windows {
        let lookahead = domains.iter().map(|domain| domain.lookahead()).min();
        let lookahead = lookahead.expect("a run has a domain");
        assert!(lookahead > Duration::ZERO, "nothing gets from one domain to another in no time");
        let (barrier, exchange) = (Barrier::new(domains.len() as u32), Exchange::new(domains.len()));
        Windows { barrier, exchange, domains: domains.len(), lookahead }
    }

    /// Runs them to their end; the first on this thread, where the monitor is. Says whether that stopped it.
    pub fn run<S: Source + Send>(
        &self,
        domains: Vec<Domain>,
        sources: &mut [S],
        monitor: &mut dyn Monitor,
    ) -> (Vec<Domain>, bool) {
        let mut stopped = false;
        let mut polled = 0;
        let mut ask = |progress: Progress| {
            if progress.events - polled > POLL_MASK {
                polled = progress.events;
                stopped |= monitor.poll(progress) == Control::Stop;
            }
            stopped
        };
        let mut pairs = domains.into_iter().zip(sources).enumerate();
        let (_, (mut first, source)) = pairs.next().expect("a run has a domain");
        let mut all = std::thread::scope(|scope| {
            let others: Vec<_> = pairs
                .map(|(me, (mut domain, source))| {
                    scope.spawn(move || {
                        // A broken barrier is told of by the thread that broke it.
                        let _ = self.run_one(me, &mut domain, source, &mut |_| false);
                        domain
                    })
                })
                .collect();
            let _ = self.run_one(0, &mut first, source, &mut ask);
            let join = |other: std::thread::ScopedJoinHandle<'_, Domain>| match other.join() {
                Ok(domain) => domain,
                Err(panic) => std::panic::resume_unwind(panic),
            };
            others.into_iter().map(join).collect::<Vec<_>>()
        });
        all.insert(0, first);
        (all, stopped)
    }

    /// One domain's side of the run.
    fn run_one(
        &self,
        me: usize,
        domain: &mut Domain,
        source: &mut dyn Source,
        ask: Ask,
    ) -> Result<(), Broken> {
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
            let all = self.exchange.all(parity);
            if all.ends || all.next >= Time::LAST {
                return Ok(());
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

    /// Puts what has left the domain into the mail; gives when the first of it is due.
    fn send(&self, parity: usize, me: usize, domain: &mut Domain, crossings: &mut Vec<Crossing>) -> Time {
        let letters = domain.take(crossings);
        for letter in letters {
            self.exchange.mail(parity, me, letter.to as usize, |mail| mail.letters.push(letter.words));
        }
        let first = crossings.iter().map(|crossing| crossing.at).min().unwrap_or(Time::NEVER);
        crossings.sort_unstable_by_key(|crossing| crossing.to);
        for to_one in crossings.chunk_by(|one, other| one.to == other.to) {
            self.exchange.mail(parity, me, to_one[0].to as usize, |mail| {
                mail.crossings.extend_from_slice(to_one);
            });
        }
        crossings.clear();
        first
    }

    /// Takes what others have sent.
    fn receive(&self, parity: usize, me: usize, domain: &mut Domain) {
        for from in (0..self.domains).filter(|from| *from != me) {
            self.exchange.mail(parity, from, me, |mail| {
                mail.crossings.drain(..).for_each(|crossing| domain.import(&crossing));
                mail.letters.drain(..).for_each(|words| domain.world.deliver(&words));
            });
        }
    }
}
