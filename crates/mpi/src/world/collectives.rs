//! Choice of the algorithms of collectives, and what the ranks of a world share while they run them.

use std::sync::Arc;

use engine::Bytes;

use crate::collective::{Algorithm, Collective, Round, Shape, Sizes, Step, inter, step};
use crate::operation::Neighbours;
use crate::world::{Setup, text};

/// The latest choice, and memory that is used again.
#[derive(Debug, Default)]
pub(super) struct Collectives {
    /// The messages of a round, while it is begun.
    steps: Vec<Step>,
    /// The collective that was prepared last: ranks often share a call.
    prepared: Option<Prepared>,
    sends: Sends,
}

/// A call with what was chosen for it.
#[derive(Debug, Clone)]
pub(super) struct Prepared {
    call: Arc<Collective>,
    /// Ranks of its communicator, and of its first group: two communicators can have one number.
    size: u32,
    halves: Option<u32>,
    pub algorithm: Round,
    /// Its messages by rank, where there is a formula.
    sends: Option<fn(&Shape, u32) -> u64>,
    pub name: &'static str,
    pub segment: Bytes,
    pub signature: u32,
}

impl Collectives {
    /// The algorithm, its segment and the signature of a call on a communicator of `size` ranks, or the reason why it
    /// is wrong. `halves` as of [`Communicator::halves`].
    ///
    /// [`Communicator::halves`]: crate::communicator::Communicator::halves
    pub fn prepare(
        &mut self,
        call: &Arc<Collective>,
        size: u32,
        halves: Option<u32>,
        neighbours: Option<&Neighbours>,
        setup: &Setup,
    ) -> Result<Prepared, String> {
        if let Some(prepared) = &self.prepared
            && (prepared.size, prepared.halves) == (size, halves)
            && same(&prepared.call, call)
        {
            return Ok(prepared.clone());
        }
        let misuse = |reason: String| format!("{}: {reason}", text::collective(call));
        let shape = Shape { size, call, neighbours, segment: setup.segment, halves };
        let chosen = call.check(size, neighbours).and_then(|()| match halves {
            None => {
                let chosen = setup.selection.choose(&shape)?;
                let Algorithm { round, sends, .. } = chosen.entry.build;
                Ok((round, sends, chosen.segment, chosen.entry.name))
            }
            Some(_) => inter::check(call.kind, &call.sizes)
                .map(|()| (inter::round as Round, None, None, inter::NAME)),
        });
        let (algorithm, sends, segment, name) = chosen.map_err(misuse)?;
        let prepared = Prepared {
            call: call.clone(),
            size,
            halves,
            algorithm,
            sends,
            name,
            segment: segment.unwrap_or(setup.segment),
            signature: signature(call, name),
        };
        self.sends.forget(neighbours.is_none());
        self.prepared = Some(prepared.clone());
        Ok(prepared)
    }

    /// Messages that the member at `place` sends in the call that was prepared last.
    pub fn messages_of(&mut self, place: u32, prepared: &Prepared, shape: &Shape) -> u64 {
        if let Some(formula) = prepared.sends {
            return formula(shape, place);
        }
        if let Some(sends) = self.sends.known(place) {
            return sends;
        }
        let sends = step::sent(prepared.algorithm, shape, place, &mut self.steps);
        self.sends.note(place, sends)
    }

    /// Memory for the messages of a round.
    pub fn lend_steps(&mut self) -> Vec<Step> {
        std::mem::take(&mut self.steps)
    }

    /// Takes that memory back.
    pub fn give_back_steps(&mut self, steps: Vec<Step>) {
        self.steps = steps;
    }
}

/// True if two calls are the same for sure, without a look at lists of sizes.
fn same(one: &Arc<Collective>, other: &Arc<Collective>) -> bool {
    Arc::ptr_eq(one, other) || matches!(one.sizes, Sizes::Equal(_)) && one == other
}

/// Signature that must agree between the members: the kind in the upper 8 bits, then a hash of root, size and
/// algorithm. Lists of sizes are left out, for not all members need to know them.
fn signature(call: &Collective, algorithm: &str) -> u32 {
    let mut digest = engine::hash::Digest::default();
    digest.fold(u64::from(call.root));
    algorithm.bytes().for_each(|letter| digest.fold(u64::from(letter)));
    match &call.sizes {
        Sizes::Equal(bytes) => digest.fold(bytes.0),
        Sizes::ByRank(_) => digest.fold(u64::MAX),
        Sizes::Own { .. } => digest.fold(u64::MAX - 1),
    }
    let hash = digest.value();
    (call.kind as u32) << 24 | ((hash ^ hash >> 32) & 0xFF_FFFF) as u32
}

/// Messages that each place of the communicator sends in the call that was prepared last: to count them takes a look at
/// all rounds, and callers repeat calls.
#[derive(Debug, Default)]
struct Sends {
    by_place: Vec<u32>,
    /// False where it is not the call alone that decides.
    kept: bool,
}

impl Sends {
    const UNKNOWN: u32 = u32::MAX;

    /// Another call is prepared.
    fn forget(&mut self, kept: bool) {
        self.by_place.clear();
        self.kept = kept;
    }

    fn known(&self, place: u32) -> Option<u64> {
        let sends = *self.by_place.get(place as usize)?;
        (sends != Self::UNKNOWN).then_some(u64::from(sends))
    }

    /// Keeps the number of `place`, and gives it back.
    fn note(&mut self, place: u32, sends: u64) -> u64 {
        if self.kept {
            let place = place as usize;
            if place >= self.by_place.len() {
                self.by_place.resize(place + 1, Self::UNKNOWN);
            }
            self.by_place[place] = u32::try_from(sends).unwrap_or(Self::UNKNOWN);
        }
        sends
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_kept_until_another_call_is_prepared() {
        let mut sends = Sends::default();
        sends.forget(true);
        assert_eq!(sends.known(3), None);
        assert_eq!(sends.note(3, 7), 7);
        assert_eq!((sends.known(2), sends.known(3)), (None, Some(7)));
        sends.forget(false);
        assert_eq!(sends.note(3, 8), 8);
        assert_eq!(sends.known(3), None);
    }
}
