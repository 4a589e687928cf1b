//! The run: one domain by itself, or several in windows, each on a thread of its own.
//!
//! A domain is a part of the network with its hosts and ranks (see [`network::Cut`]). Domains go on until
//! the first event of any of them plus the least time that anything takes from one to another, then
//! exchange what has left for others: conservative windows. Source: Nicol, "The cost of conservative
//! synchronization in parallel discrete event simulations" (JACM 40(2), 1993), YAWNS. The order of events
//! does not depend on the cut, so neither does the outcome.

mod barrier;
mod domain;
mod end;
mod exchange;
mod merge;
mod peers;
mod progress;
mod windows;

use std::time::Instant;

use engine::{Duration, Time};
use mpi::world::standing::Standing;
use mpi::{Blocked, Failure, Source};
use network::faults::CutOff;

use crate::observe::{Links, Views};

pub use domain::Domain;
use domain::Poll;
use end::ended;
pub use merge::MOST_BEHIND;
pub use peers::{Alone, Peers, domains_of};
pub use progress::{Control, Look, Monitor, Progress, Stop, Until, Unwatched};
use progress::{Heed, Stopping};
use windows::Windows;

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub enum End {
    /// Every rank finished.
    Finished,
    /// The simulated program failed.
    Failed(Failure),
    /// The network itself is in a deadlock, and these ranks are not done.
    Gridlock {
        /// The cycle of channels.
        why: String,
        /// See [`Failure::Deadlock`].
        blocked: Vec<Blocked>,
    },
    /// Messages find no way to their hosts, and these ranks are not done.
    CutOff {
        /// From where to where, and since when.
        who: Vec<CutOff>,
        /// See [`Failure::Deadlock`].
        blocked: Vec<Blocked>,
    },
    /// It was stopped before its end.
    Stopped(Stop),
    /// It goes beyond what can be counted: time beyond [`Time::LAST`], or payload beyond 16 EiB.
    Uncountable,
}

/// A run that has ended, before it is made into a report.
pub struct Ended {
    /// How.
    pub end: End,
    /// The time of the last event, or that at which it was to stop.
    pub now: Time,
    /// The ranks that are not done.
    pub unfinished: Vec<Standing>,
    /// Ranks that are furthest behind, of a run that was stopped; the last one first.
    pub behind: Vec<Blocked>,
    /// Events handled.
    pub events: u64,
    /// Real time of the simulation alone \[s\].
    pub wall_s: f64,
    /// The hash of what happened.
    pub outcome_hash: u64,
    /// Messages with payload, those of collectives included.
    pub messages: u64,
    /// Payload \[bytes\].
    pub bytes: u64,
    /// See [`network::Network::packet_hops`].
    pub packet_hops: u64,
    /// See [`network::Network::losses`].
    pub losses: network::Losses,
    /// Hosts that messages still wait to reach.
    pub cut_off: Vec<CutOff>,
    /// True if the work of a rank has stated memory traffic.
    pub names_memory: bool,
    /// Warnings about what the program has left undone, and its end, in sentences.
    pub leftovers: Vec<String>,
    /// Time before which all events were handled, if the run was left in the middle of an instant or a window.
    pub whole_until: Option<Time>,
    /// Views of ranks.
    pub views: Views,
    /// Views of links.
    pub links: Links,
    /// Threads that ran it, in all processes.
    pub threads: u32,
    /// Processes that ran it.
    pub processes: u32,
}

/// Runs one domain that is the whole machine to its end, or as far as it is to go.
pub fn run(mut domain: Domain, source: &mut dyn Source, monitor: &mut dyn Monitor, until: Until) -> Ended {
    let started = started();
    let (bell, mut stopping) = (monitor.bell(), Stopping::default());
    let mut ask = |domain: &Domain, source: &dyn Source| {
        if !stopping.has_begun() {
            let wants = monitor.poll(domain.progress(source, None));
            let looked = match wants {
                Control::Look => monitor.poll(domain.progress(source, Some(domain.look()))),
                _ => wants,
            };
            if looked == Control::Stop {
                stopping.begin();
            }
        }
        stopping.heed()
    };
    let mut poll = Poll { ask: &mut ask, bell };
    let stop = match domain.start(source, &mut poll) {
        Heed::GoOn => go_on(&mut domain, source, &mut poll, until),
        Heed::EndInstant => {
            domain.advance(Time::ZERO + Duration(1), source, &mut poll);
            Some(Stop::Asked)
        }
        Heed::Leave => Some(Stop::Asked),
    };
    let wall_s = started.elapsed().as_secs_f64();
    let ended = ended(vec![domain], &[source], stop, wall_s, &mut Alone);
    ended.expect("a process by itself reports")
}

/// Runs a domain that has begun to its end; gives the reason if it was stopped before.
fn go_on(domain: &mut Domain, source: &mut dyn Source, poll: &mut Poll, until: Until) -> Option<Stop> {
    // Beyond the first end only what a run whose ranks are all done, or wait for each other, has left.
    for end in [until.end(domain.unfinished()), Time::LAST] {
        let stop = match domain.advance(end, source, poll) {
            true => Some(Stop::Asked),
            false if domain.failed() => None,
            false => until.stop(domain.next_time(), domain.unfinished()),
        };
        if stop.is_some() {
            return stop;
        }
    }
    None
}

/// How several domains ended.
pub enum InWindows {
    /// Ended run.
    Ended(Box<Ended>),
    /// The first process knows.
    Elsewhere,
    /// The simulated program failed while others of its ranks went on. What they have done until then
    /// depends on the cut, so the run is to be done again by one domain.
    FailedAhead,
}

/// Runs several domains, each with its source on a thread of its own, to their end, or as far as they are to
/// go: those of this process, of `all`.
pub fn run_in_windows<S: Source + Send>(
    domains: Vec<Domain>,
    all: u32,
    sources: &mut [S],
    monitor: &mut dyn Monitor,
    until: Until,
    peers: &mut dyn Peers,
) -> InWindows {
    let started = started();
    let windows = Windows::new(&domains, all, until, peers);
    let (domains, stop) = windows.run(domains, sources, monitor, peers);
    if peers.count() == 1 && domains.iter().any(Domain::failed) {
        return InWindows::FailedAhead;
    }
    let wall_s = started.elapsed().as_secs_f64();
    let sources: Vec<&dyn Source> = sources.iter().map(|source| source as &dyn Source).collect();
    match ended(domains, &sources, stop, wall_s, peers) {
        Some(ended) => InWindows::Ended(Box::new(ended)),
        None => InWindows::Elsewhere,
    }
}

fn started() -> Instant {
    #[expect(clippy::disallowed_methods, reason = "the speed of the simulation is part of the report")]
    Instant::now()
}
