//! Merges the outcomes of domains, so that the result does not depend on the cut.

use engine::hash::Digest;
use engine::{Observer, Time};
use mpi::world::leftover::Leftovers;
use mpi::world::standing::Standing;
use mpi::{Blocked, Failure, PartCall, Rank, Source};
use network::deadlock::{self, Wait};
use network::faults::CutOff;
use network::{NetworkRecord, Totals};
use serde::{Deserialize, Serialize};

use super::{Domain, End, Ended, Stop};
use crate::observe::{NetworkViews, Views};

/// Outcome of one or more domains.
#[derive(Debug, Serialize, Deserialize)]
pub struct Merged {
    /// Time of the last event.
    pub now: Time,
    /// Calls that failures of other domains ask about, with their descriptions.
    pub answers: Vec<(PartCall, String)>,
    events: u64,
    messages: u64,
    bytes: u64,
    packet_hops: u64,
    losses: network::Losses,
    /// True if an event is due later than times can represent.
    goes_beyond: bool,
    /// True if all ranks have finished.
    finished: bool,
    digests: Vec<(Rank, u64)>,
    leftovers: Leftovers,
    /// First failure: time, position among the events of that time, and cause.
    failed: Option<(Time, u64, Failure)>,
    /// Mismatched collectives that show at the end, by rank: if all ranks have finished, and if some have not.
    unmet: Vec<(Rank, Failure)>,
    hidden: Vec<(Rank, Failure)>,
    /// Ranks that cannot go on.
    blocked: Vec<Blocked>,
    /// Channels of the network that cannot go on.
    waits: Vec<Wait>,
    /// Ranks that have not finished.
    unfinished: Vec<Standing>,
    /// Ranks furthest behind, in a run that was stopped.
    behind: Vec<Blocked>,
    /// Pairs of hosts that messages find no route between.
    cut_off: Vec<CutOff>,
    /// True if the work of a rank states memory traffic.
    names_memory: bool,
    domains: u32,
    /// See [`Domain::whole_until`].
    whole_until: Option<Time>,
}

/// Report of a network that counts for the outcome.
#[derive(Default)]
struct Reported {
    totals: Totals,
    cut_off: Vec<CutOff>,
}

impl Observer<NetworkRecord<'_>> for Reported {
    fn record(&mut self, _now: Time, record: &NetworkRecord) {
        match record {
            NetworkRecord::Totals(totals) => self.totals = **totals,
            NetworkRecord::CutOff(cut_off) => self.cut_off.push(**cut_off),
            _ => {}
        }
    }
}

/// Largest number of ranks furthest behind; the table of ranks has all.
pub const MOST_BEHIND: usize = 8;

impl Merged {
    /// Outcome of one domain.
    pub fn of(domain: &mut Domain, source: &dyn Source, stopped: bool) -> Merged {
        let goes_beyond = domain.goes_beyond();
        let mut reported = Reported::default();
        domain.network.report(domain.now(), &mut reported);
        let world = &domain.world;
        let finished = world.finished();
        let stuck = !finished && !stopped && !domain.failed();
        Merged {
            now: domain.now(),
            answers: Vec::new(),
            events: domain.events(),
            messages: world.messages(),
            bytes: world.bytes(),
            packet_hops: reported.totals.packet_hops,
            losses: reported.totals.losses,
            goes_beyond,
            finished,
            digests: world.digests().collect(),
            leftovers: if finished { world.leftovers() } else { Leftovers::default() },
            failed: domain.failure().map(|(at, place, failure)| (at, place, failure.clone())),
            unmet: if finished { world.unmet_collective().into_iter().collect() } else { Vec::new() },
            hidden: if stuck { world.hidden_mismatch().into_iter().collect() } else { Vec::new() },
            blocked: if stuck { world.blocked(source) } else { Vec::new() },
            waits: if stopped || domain.failed() { Vec::new() } else { deadlock::waits(&*domain.network) },
            unfinished: world.standings().collect(),
            behind: if stopped { world.behind(MOST_BEHIND, source) } else { Vec::new() },
            cut_off: reported.cut_off,
            names_memory: domain.world.names_memory(),
            domains: 1,
            whole_until: domain.whole_until(),
        }
    }

    /// Merges the outcome of other domains.
    pub fn and(mut self, other: Merged) -> Merged {
        self.now = self.now.max(other.now);
        self.answers.extend(other.answers);
        self.events += other.events;
        self.messages += other.messages;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.packet_hops += other.packet_hops;
        self.losses = self.losses + other.losses;
        self.goes_beyond |= other.goes_beyond;
        self.finished &= other.finished;
        self.digests.extend(other.digests);
        self.leftovers = self.leftovers.and(other.leftovers);
        let failures = [self.failed.take(), other.failed];
        self.failed = failures.into_iter().flatten().min_by_key(|(at, place, _)| (*at, *place));
        self.unmet.extend(other.unmet);
        self.hidden.extend(other.hidden);
        self.blocked.extend(other.blocked);
        self.waits.extend(other.waits);
        self.unfinished.extend(other.unfinished);
        self.behind.extend(other.behind);
        self.cut_off.extend(other.cut_off);
        self.names_memory |= other.names_memory;
        self.domains += other.domains;
        self.whole_until = [self.whole_until, other.whole_until].into_iter().flatten().min();
        self
    }

    /// Calls of other domains that failures of these refer to.
    pub fn asked(&self) -> Vec<PartCall> {
        let failed = self.failed.iter().map(|(.., failure)| failure);
        let others = self.unmet.iter().chain(&self.hidden).map(|(_, failure)| failure);
        let part = |failure: &Failure| match failure {
            Failure::Mismatch { elsewhere, .. } => *elsewhere,
            _ => None,
        };
        failed.chain(others).filter_map(part).collect()
    }

    /// End of the run, if these are all of its domains.
    pub fn close(
        mut self,
        stop: Option<Stop>,
        wall_s: f64,
        views: Views,
        network: NetworkViews,
        processes: u32,
    ) -> Ended {
        self.digests.sort_unstable();
        self.blocked.sort_by_key(|blocked| blocked.rank);
        self.behind.sort_by_key(|behind| (behind.since, behind.rank));
        self.behind.truncate(MOST_BEHIND);
        self.cut_off.sort_unstable();
        let end = self.end(stop);
        let outcome_hash = self.outcome_hash(&end);
        let failed_ahead = processes > 1 && self.failed.is_some();
        let at = self.failed.as_ref().map_or(self.now, |(at, ..)| *at);
        let mut leftovers = if end == End::Finished { self.leftovers.sentences() } else { Vec::new() };
        if failed_ahead {
            leftovers.push(format!(
                "other ranks went on for a moment after the failure, up to {}: the counts include it",
                self.now
            ));
        }
        Ended {
            end,
            now: at,
            unfinished: self.unfinished,
            behind: self.behind,
            events: self.events,
            wall_s,
            outcome_hash,
            messages: self.messages,
            bytes: self.bytes,
            packet_hops: self.packet_hops,
            losses: self.losses,
            cut_off: self.cut_off,
            names_memory: self.names_memory,
            leftovers,
            whole_until: self.whole_until,
            views,
            network,
            threads: self.domains,
            processes,
        }
    }

    fn end(&mut self, stop: Option<Stop>) -> End {
        if let Some((.., failure)) = &self.failed {
            return End::Failed(self.in_full(failure));
        }
        if let Some(stop) = stop {
            return End::Stopped(stop);
        }
        if self.goes_beyond || self.bytes == u64::MAX {
            return End::Uncountable;
        }
        if !self.finished
            && let Some(why) = deadlock::in_words(&self.waits)
        {
            return End::Gridlock { why, blocked: std::mem::take(&mut self.blocked) };
        }
        if !self.finished && !self.cut_off.is_empty() {
            let (who, blocked) = (self.cut_off.clone(), std::mem::take(&mut self.blocked));
            return End::CutOff { who, blocked };
        }
        // Mismatch of the lowest rank, which does not depend on the cut.
        let found = if self.finished { &self.unmet } else { &self.hidden };
        if let Some((_, mismatch)) = found.iter().min_by_key(|(rank, _)| *rank) {
            return End::Failed(self.in_full(mismatch));
        }
        if self.finished {
            return End::Finished;
        }
        End::Failed(Failure::Deadlock(std::mem::take(&mut self.blocked)))
    }

    /// Completes a mismatch with the facts that another domain knows about it.
    fn in_full(&self, failure: &Failure) -> Failure {
        let mut failure = failure.clone();
        if let Failure::Mismatch { calls, elsewhere } = &mut failure
            && let Some(part) = elsewhere.take()
            && let Some((_, call)) = self.answers.iter().find(|(known, _)| *known == part)
        {
            calls[1].1.clone_from(call);
        }
        failure
    }

    /// Hash over the failure of the program, the time at which the run was stopped, and the events of each rank, in
    /// the order of ranks. If the program failed while other ranks went on, only over the failure: the progress of
    /// the others is no part of the outcome.
    fn outcome_hash(&self, end: &End) -> u64 {
        let mut all = Digest::default();
        if let End::Failed(failure) = end {
            all.fold_text(&failure.to_string());
            if let Failure::Deadlock(blocked) = failure {
                blocked.iter().for_each(|blocked| all.fold_text(&blocked.call));
            }
        }
        if let End::Stopped(_) = end {
            all.fold(self.now.0);
        }
        match &self.failed {
            Some((at, ..)) => all.fold(at.0),
            None => self.digests.iter().for_each(|(_, digest)| all.fold(*digest)),
        }
        all.value()
    }
}
