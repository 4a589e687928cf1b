//! Collectives that do not agree, in words.

use crate::collective::Kind;
use crate::operation::{CommId, Op, Rank};
use crate::record::{Failure, PartCall};
use crate::world::match_lists::Key;
use crate::world::process::{Process, Target};
use crate::world::rounds::Disagreement;
use crate::world::{World, text};

impl World {
    /// A message of `key.source` met a call of `rank` with another signature, under the same number on the
    /// same communicator. Calls that have returned are known by kind at most.
    pub(super) fn mismatch(&self, rank: Rank, key: Key, other: Disagreement) -> Box<Failure> {
        let process = &self.processes[rank];
        let comes_to_it = key.tag >= process.memberships.peek_collective(key.context);
        let mine = call_of(process, key.context, key.tag).unwrap_or_else(|| match comes_to_it {
            true => "no collective that takes part in it".into(),
            false => "another call, and it has returned".into(),
        });
        let name = Kind::all().nth((other.0 >> 24) as usize).map_or("a collective", Kind::function);
        let other = PartCall { rank: key.source, comm: key.context, number: key.tag };
        let theirs = self.part_call(&other).unwrap_or_else(|| format!("{name}(…), and it has returned"));
        let elsewhere = self.processes.get(key.source).is_none().then_some(other);
        Box::new(Failure::Mismatch { calls: vec![(rank, mine), (key.source, theirs)], elsewhere })
    }

    /// The call in words, where its rank is in this world and stands in it.
    pub fn part_call(&self, part: &PartCall) -> Option<String> {
        let process = self.processes.get(part.rank)?;
        call_of(process, part.comm, part.number)
    }
}

fn call_of(process: &Process, comm: CommId, number: u32) -> Option<String> {
    let (_, found) = process.rounds.find(comm, number)?;
    Some(match &process.op {
        // The collective by which a communicator is made is none of the program.
        Some(op @ Op::NewComm(..)) if found.target == Target::Call => text::describe(op),
        _ => text::collective(&found.call),
    })
}
