//! What a program leaves undone when all its ranks are done: it has a result, but is most likely wrong.

use crate::operation::CommId;
use crate::record::Failure;
use crate::world::communicator::name as comm_name;
use crate::world::matching::{Key, Pattern};
use crate::world::process::Process;
use crate::world::{World, text};

impl World {
    /// Once all ranks are done: a message of a collective that nobody took, so that its receiver has not
    /// called the same collective.
    pub fn unmet_collective(&self) -> Option<Failure> {
        self.processes.iter().zip(0..).find_map(|(process, rank)| {
            let first = process.early.iter().map(|(pattern, early)| (pattern.key(), early));
            let (key, early) = first.min_by_key(|(key, _)| (key.tag, key.context, key.source))?;
            Some(*self.mismatch(rank, key, early.signature))
        })
    }

    /// Once all ranks are done: what of their messages, receives and collectives never came to an end,
    /// one sentence for each kind.
    pub fn leftovers(&self) -> Vec<String> {
        let found = [
            ("message was", "messages were", "sent and never received", self.all(unreceived)),
            ("receive was", "receives were", "posted and no message came for it", self.all(unanswered)),
            ("collective was", "collectives were", "begun and never completed", self.all(unfinished)),
        ];
        let told = found.into_iter().filter(|(.., (count, _))| *count > 0);
        told.map(|(one, many, what, (count, example))| match count {
            1 => format!("1 {one} {what}: {example}"),
            _ => format!("{count} {many} {what}, such as {example}"),
        })
        .collect()
    }

    /// How many there are on all ranks, and the first in words.
    fn all(&self, find: fn(u32, &Process) -> (usize, Option<String>)) -> (usize, String) {
        let mut all = (0, None);
        for (process, rank) in self.processes.iter().zip(0..) {
            let (count, example) = find(rank, process);
            all = (all.0 + count, all.1.or(example));
        }
        (all.0, all.1.unwrap_or_default())
    }
}

fn unreceived(rank: u32, process: &Process) -> (usize, Option<String>) {
    let waiting = process.unexpected.iter().map(|(pattern, envelope)| (pattern.key(), envelope));
    let matched = process.rare.iter().flat_map(|rare| rare.matched.iter().map(|(_, (key, one))| (*key, one)));
    let all: Vec<_> = waiting.chain(matched).collect();
    let first = all.iter().min_by_key(|(key, envelope)| (envelope.arrived, key.source, key.tag));
    let example = first.map(|(key, envelope)| {
        let Key { context, source, tag } = *key;
        format!(
            "{} bytes from rank {source} to rank {rank} with tag {tag} in {}",
            envelope.bytes,
            comm_name(CommId(context))
        )
    });
    (all.len(), example)
}

fn unanswered(rank: u32, process: &Process) -> (usize, Option<String>) {
    let order = |pattern: &Pattern| (pattern.key().context, pattern.source(), pattern.key().tag);
    let first = process.posted.iter().map(|(pattern, _)| pattern).min_by_key(order);
    let example = first.map(|pattern| {
        let from = pattern.source().map_or("any rank".into(), |source| format!("rank {source}"));
        format!("that of rank {rank} from {from} in {}", comm_name(CommId(pattern.key().context)))
    });
    (process.posted.iter().count(), example)
}

fn unfinished(rank: u32, process: &Process) -> (usize, Option<String>) {
    let first = process.instances.iter().map(|(_, instance)| instance).min_by_key(|one| one.sequence);
    let example = first.map(|one| format!("{} of rank {rank}", text::collective(&one.call)));
    (process.instances.len(), example)
}
