//! Operations that a program leaves undone when all its ranks are done: it has a result, but is most likely wrong.

use serde::{Deserialize, Serialize};

use crate::communicator::name as comm_name;
use crate::operation::Rank;
use crate::record::Failure;
use crate::world::match_lists::{Key, Pattern};
use crate::world::process::Process;
use crate::world::rounds::Disagreement;
use crate::world::{World, text};

impl World {
    /// Once all ranks are done: a message of a collective that nobody took, so that its receiver has not
    /// called the same collective; with the receiver.
    pub fn unmet_collective(&self) -> Option<(Rank, Failure)> {
        self.processes.iter().find_map(|(rank, process)| {
            let (key, early) =
                process.rounds.early().min_by_key(|(key, _)| (key.tag, key.context, key.source))?;
            Some((rank, *self.mismatch(rank, key, Disagreement(early.signature))))
        })
    }

    /// Once all ranks are done: what of their messages, receives and collectives never came to an end.
    pub fn leftovers(&self) -> Leftovers {
        Leftovers([self.all(unreceived), self.all(unanswered), self.all(unfinished)])
    }

    /// Number of them on all ranks, and the first in words with its rank.
    fn all(&self, find: fn(Rank, &Process) -> (usize, Option<String>)) -> Found {
        let mut all = Found::default();
        for (rank, process) in self.processes.iter() {
            let (count, example) = find(rank, process);
            all.count += count as u64;
            all.example = all.example.or(example.map(|example| (rank.0, example)));
        }
        all
    }
}

/// Operations that never came to an end: messages, receives, collectives.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leftovers(pub [Found; 3]);

/// Number of leftovers of a kind, and the first in words with its rank.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// Number of them.
    pub count: u64,
    /// `(rank, in words)`, of the lowest rank.
    pub example: Option<(u32, String)>,
}

const KINDS: [[&str; 3]; 3] = [
    ["message was", "messages were", "sent and never received"],
    ["receive was", "receives were", "posted and no message came for it"],
    ["collective was", "collectives were", "begun and never completed"],
];

impl Leftovers {
    /// With those of another world of the same run.
    pub fn and(self, other: Leftovers) -> Leftovers {
        let mut both = self;
        for (one, other) in both.0.iter_mut().zip(other.0) {
            one.count += other.count;
            let examples = [one.example.take(), other.example];
            one.example = examples.into_iter().flatten().min();
        }
        both
    }

    /// One sentence for each kind that there is.
    pub fn sentences(&self) -> Vec<String> {
        let told = KINDS.iter().zip(&self.0).filter(|(_, found)| found.count > 0);
        told.map(|([one, many, what], found)| {
            let example = found.example.as_ref().map_or("", |(_, example)| example);
            match found.count {
                1 => format!("1 {one} {what}: {example}"),
                count => format!("{count} {many} {what}, such as {example}"),
            }
        })
        .collect()
    }
}

fn unreceived(rank: Rank, process: &Process) -> (usize, Option<String>) {
    let all: Vec<_> = process.matching.unreceived().collect();
    let first = all.iter().min_by_key(|(key, envelope)| (envelope.arrived, key.source, key.tag));
    let example = first.map(|(key, envelope)| {
        let Key { context, source, tag } = *key;
        format!(
            "{} bytes from rank {} to rank {} with tag {tag} in {}",
            envelope.bytes,
            source.0,
            rank.0,
            comm_name(context)
        )
    });
    (all.len(), example)
}

fn unanswered(rank: Rank, process: &Process) -> (usize, Option<String>) {
    let order = |pattern: &Pattern| (pattern.key().context, pattern.source(), pattern.key().tag);
    let first = process.matching.posted().map(|(pattern, _)| pattern).min_by_key(order);
    let example = first.map(|pattern| {
        let from = pattern.source().map_or("any rank".into(), |source| format!("rank {}", source.0));
        format!("that of rank {} from {from} in {}", rank.0, comm_name(pattern.key().context))
    });
    (process.matching.posted().count(), example)
}

fn unfinished(rank: Rank, process: &Process) -> (usize, Option<String>) {
    let first = process.rounds.iter().map(|(_, instance)| instance).min_by_key(|one| one.sequence);
    let example = first.map(|one| format!("{} of rank {}", text::collective(&one.call), rank.0));
    (process.rounds.iter().count(), example)
}
