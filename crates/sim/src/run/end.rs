//! What domains have come to, put together: nothing of it shows how the run was cut.

use engine::Time;
use engine::hash::Digest;
use mpi::world::leftover::Leftovers;
use mpi::{Blocked, Failure, Rank, Source};
use network::Network;

use super::{Domain, End, Ended};
use crate::observe::{Links, Views};

/// The end of a run. `sources` are those of the domains.
pub fn ended(mut domains: Vec<Domain>, sources: &[&dyn Source], stopped: bool, wall_s: f64) -> Ended {
    let now = domains.iter().map(Domain::now).max().expect("a run has a domain");
    let events = domains.iter().map(Domain::events).sum();
    let bytes = domains.iter().fold(0, |sum: u64, domain| sum.saturating_add(domain.world.bytes()));
    let uncountable = bytes == u64::MAX || domains.iter_mut().any(|domain| domain.goes_beyond());
    let failed = domains.iter().find_map(Domain::failure).cloned();
    let end = match failed {
        Some(failure) => End::Failed(failure),
        None if stopped => End::Stopped,
        None if uncountable => End::Uncountable,
        None if domains.iter().all(|domain| domain.world.finished()) => match unmet(&domains) {
            Some(mismatch) => End::Failed(mismatch),
            None => End::Finished,
        },
        None => nothing_left(&domains, sources),
    };
    let outcome_hash = outcome_hash(&domains, now);
    let messages = domains.iter().map(|domain| domain.world.messages()).sum();
    let packet_hops = domains.iter().map(|domain| domain.network.packet_hops()).sum();
    let leftovers = if end == End::Finished { leftovers(&domains) } else { Vec::new() };
    let threads = domains.len() as u32;
    let (views, links) = seen(domains, now);
    Ended {
        end,
        now,
        events,
        wall_s,
        outcome_hash,
        messages,
        bytes,
        packet_hops,
        leftovers,
        views,
        links,
        threads,
    }
}

/// Per rank what happened to it, in the order of ranks. Where the program failed while other ranks went
/// on, only the failure: how far they have come is no part of the outcome.
fn outcome_hash(domains: &[Domain], now: Time) -> u64 {
    let mut all = Digest::default();
    if let Some(failure) = domains.iter().find_map(Domain::failure) {
        all.fold(now.0);
        fold_failure(failure, &mut all);
        return all.value();
    }
    let mut digests: Vec<(Rank, u64)> = domains.iter().flat_map(|domain| domain.world.digests()).collect();
    digests.sort_unstable();
    digests.iter().for_each(|(_, digest)| all.fold(*digest));
    all.value()
}

fn fold_failure(failure: &Failure, digest: &mut Digest) {
    let (kind, ranks): (u64, Vec<Rank>) = match failure {
        Failure::Deadlock(blocked) => (1, blocked.iter().map(|blocked| blocked.rank).collect()),
        Failure::Truncation { rank, from, .. } => (2, vec![*rank, *from]),
        Failure::Mismatch { calls, .. } => (3, calls.iter().map(|(rank, _)| *rank).collect()),
        Failure::Abort { rank, .. } => (4, vec![*rank]),
        Failure::Misuse { rank, .. } => (5, vec![*rank]),
    };
    digest.fold(kind);
    ranks.iter().for_each(|rank| digest.fold(rank.0.into()));
}

/// A collective that the program's end has left unmet: that of the lowest rank.
fn unmet(domains: &[Domain]) -> Option<Failure> {
    let found = domains.iter().filter_map(|domain| domain.world.unmet_collective());
    found.min_by_key(|(rank, _)| *rank).map(|(_, failure)| in_full(failure, domains))
}

/// Ranks are not done, and nothing can happen any more: in the network, or in the program.
fn nothing_left(domains: &[Domain], sources: &[&dyn Source]) -> End {
    let parts: Vec<&dyn Network> = domains.iter().map(|domain| &*domain.network).collect();
    match network::deadlock::describe(&parts) {
        Some(why) => End::Gridlock { why, blocked: blocked(domains, sources) },
        None => End::Failed(deadlock(domains, sources)),
    }
}

/// Why the program cannot go on: a deadlock that names every rank that is not done, or the mismatched
/// collective behind it.
fn deadlock(domains: &[Domain], sources: &[&dyn Source]) -> Failure {
    let hidden = domains.iter().filter_map(|domain| domain.world.hidden_mismatch());
    if let Some((_, failure)) = hidden.min_by_key(|(rank, _)| *rank) {
        return in_full(failure, domains);
    }
    Failure::Deadlock(blocked(domains, sources))
}

/// Every rank that is not done.
fn blocked(domains: &[Domain], sources: &[&dyn Source]) -> Vec<Blocked> {
    let blocked = domains.iter().zip(sources).flat_map(|(domain, source)| domain.world.blocked(*source));
    let mut blocked: Vec<Blocked> = blocked.collect();
    blocked.sort_by_key(|blocked| blocked.rank);
    blocked
}

/// A mismatch with what another domain knows of it.
fn in_full(mut failure: Failure, domains: &[Domain]) -> Failure {
    if let Failure::Mismatch { calls, elsewhere } = &mut failure
        && let Some(part) = elsewhere.take()
        && let Some(call) = domains.iter().find_map(|domain| domain.world.part_call(&part))
    {
        calls[1].1 = call;
    }
    failure
}

fn leftovers(domains: &[Domain]) -> Vec<String> {
    let all = domains.iter().map(|domain| domain.world.leftovers());
    all.fold(Leftovers::default(), Leftovers::and).sentences()
}

/// What the observers of all domains have seen, up to `now`.
fn seen(domains: Vec<Domain>, now: Time) -> (Views, Links) {
    let each = domains.into_iter().map(|mut domain| {
        domain.finish(now);
        (domain.views, domain.links)
    });
    each.reduce(|(views, links), (other_views, other_links)| (views.and(other_views), links.and(other_links)))
        .expect("a run has a domain")
}
