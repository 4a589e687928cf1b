//! A run: one domain, or several in windows, each on a thread of its own.
//!
//! A domain is a part of the network with its hosts and ranks (see [`network::Cut`]). Domains advance until the first
//! event of any of them plus the lookahead (the least time of any effect on another domain, by what is in the network
//! then), then exchange their messages: conservative windows. Source: Nicol, "The cost of conservative synchronization in parallel discrete
//! event simulations" (JACM 40(2), 1993), YAWNS. The order of events does not depend on the cut, so neither does the
//! outcome.

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

use crate::observe::{NetworkViews, Views};

pub use domain::Domain;
use domain::Poll;
use end::ended;
pub use merge::MOST_BEHIND;
pub use peers::{Peers, SingleProcess, domains_of};
pub use progress::{Control, Look, Monitor, Progress, Stop, Until, Unwatched};
use progress::{NextStep, Stopping};
use windows::Windows;

/// End of a run.
#[derive(Debug, Clone, PartialEq)]
pub enum End {
    /// Every rank has finished.
    Finished,
    /// The simulated program failed.
    Failed(Failure),
    /// The network itself is in a deadlock, and these ranks have not finished.
    Gridlock {
        /// Cycle of channels.
        why: String,
        /// See [`Failure::Deadlock`].
        blocked: Vec<Blocked>,
    },
    /// Messages find no route to their hosts, and these ranks have not finished.
    CutOff {
        /// Pairs of hosts, and the begin of their messages' waits.
        who: Vec<CutOff>,
        /// See [`Failure::Deadlock`].
        blocked: Vec<Blocked>,
    },
    /// The run was stopped before its end.
    Stopped(Stop),
    /// It goes beyond what can be counted: time beyond [`Time::LAST`], or payload beyond 16 EiB.
    Uncountable,
}

/// A run that has ended, before its report is made.
pub struct Ended {
    /// End of the run.
    pub end: End,
    /// Time of the last event, or the requested end.
    pub now: Time,
    /// Ranks that have not finished.
    pub unfinished: Vec<Standing>,
    /// Ranks that are furthest behind, in a run that was stopped; the last one first.
    pub behind: Vec<Blocked>,
    /// Events handled.
    pub events: u64,
    /// Real time of the simulation alone \[s\].
    pub wall_s: f64,
    /// Hash of the outcome.
    pub outcome_hash: u64,
    /// Messages with payload, with those of collectives.
    pub messages: u64,
    /// Payload \[bytes\].
    pub bytes: u64,
    /// See [`network::Network::packet_hops`].
    pub packet_hops: u64,
    /// See [`network::Totals::losses`].
    pub losses: network::Losses,
    /// Pairs of hosts between which messages still wait for a route.
    pub cut_off: Vec<CutOff>,
    /// True if the work of a rank states memory traffic.
    pub names_memory: bool,
    /// Warnings about operations that the program left incomplete, and about its end.
    pub leftovers: Vec<String>,
    /// Time before which all events were handled, if the run stopped in the middle of an instant or a window.
    pub whole_until: Option<Time>,
    /// Views of ranks.
    pub views: Views,
    /// Views of the network.
    pub network: NetworkViews,
    /// Threads that ran it, in all processes.
    pub threads: u32,
    /// Processes that ran it.
    pub processes: u32,
}

/// Runs one domain that is the whole machine to its end, or until `until`.
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
        stopping.next_step()
    };
    let mut poll = Poll { ask: &mut ask, bell };
    let stop = match domain.start(source, &mut poll) {
        NextStep::GoOn => go_on(&mut domain, source, &mut poll, until),
        NextStep::EndInstant => {
            domain.advance(Time::ZERO + Duration(1), source, &mut poll);
            Some(Stop::Asked)
        }
        NextStep::Leave => Some(Stop::Asked),
    };
    let wall_s = started.elapsed().as_secs_f64();
    let ended = ended(vec![domain], &[source], stop, wall_s, &mut SingleProcess);
    ended.expect("a process by itself reports")
}

/// Runs a domain that has begun to its end; returns the reason if it stopped earlier.
fn go_on(domain: &mut Domain, source: &mut dyn Source, poll: &mut Poll, until: Until) -> Option<Stop> {
    // Beyond the first end, only a run goes on whose ranks have all finished, or wait for each other.
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

/// Outcome of several domains.
pub enum InWindows {
    /// The run has ended.
    Ended(Box<Ended>),
    /// The first process has the outcome.
    Elsewhere,
    /// The simulated program failed while others of its ranks went on. Their progress until then depends on the cut,
    /// so the run must be repeated in one domain.
    FailedAhead,
}

/// Runs several domains, each with its source on a thread of its own, to their end, or until `until`: those of this
/// process, out of `all`.
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

/// Runs the only domain of this process, out of `all` in several processes, on this thread. `None` in all processes but
/// the first.
pub fn run_share_in_windows(
    mut domain: Domain,
    all: u32,
    source: &mut dyn Source,
    monitor: &mut dyn Monitor,
    until: Until,
    peers: &mut dyn Peers,
) -> Option<Ended> {
    let started = started();
    let windows = Windows::new(std::slice::from_ref(&domain), all, until, peers);
    let stop = windows.run_single(&mut domain, source, monitor, peers);
    let wall_s = started.elapsed().as_secs_f64();
    ended(vec![domain], &[source], stop, wall_s, peers)
}

fn started() -> Instant {
    #[expect(clippy::disallowed_methods, reason = "the speed of the simulation is part of the report")]
    Instant::now()
}
