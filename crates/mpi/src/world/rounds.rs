//! Collectives of one rank: those under way, the receives of their rounds, and messages that came before these.

use std::ops::{Index, IndexMut};
use std::sync::Arc;

use engine::{Bytes, Time};

use crate::cause::Path;
use crate::collective::{Collective, Round, Shape, Step};
use crate::communicator::Communicator;
use crate::operation::{CommId, Neighbours, Request};
use crate::world::index::{CollectiveHandle, Numbered, SendHandle};
use crate::world::match_lists::{Key, Lists, Pattern};
use crate::world::process::Target;

/// A collective under way on one rank.
#[derive(Debug)]
pub(crate) struct Instance {
    pub call: Arc<Collective>,
    pub communicator: Arc<Communicator>,
    pub neighbours: Option<Arc<Neighbours>>,
    pub algorithm: Round,
    /// Bytes of its segments.
    pub segment: Bytes,
    /// End of the latest part that is done.
    pub at: Time,
    /// Its number on the communicator.
    pub sequence: u32,
    pub signature: u32,
    /// This rank's place in the communicator.
    pub me: u32,
    /// The round to begin next.
    pub round: u32,
    /// Number of messages that the present round waits for.
    pub outstanding: u32,
    /// The latest entry of a rank into the collective on which the rounds so far depend.
    pub latest: Time,
    /// The path of the rank at its own entry.
    pub entry: Path,
    pub target: Target,
}

impl Instance {
    /// Begins the next round: its messages go to `steps`. False if there is none.
    #[inline]
    pub fn begin_round(&mut self, steps: &mut Vec<Step>) -> bool {
        let shape = Shape {
            size: self.communicator.everybody(),
            call: &self.call,
            neighbours: self.neighbours.as_deref(),
            segment: self.segment,
            halves: self.communicator.halves(),
        };
        if !(self.algorithm)(&shape, self.me, self.round, steps) {
            return false;
        }
        self.round += 1;
        // One for the round itself, so that it is not over before all of it has begun.
        self.outstanding = 1;
        true
    }

    /// The present round waits for one more message.
    #[inline]
    pub fn expect_part(&mut self) {
        self.outstanding += 1;
    }

    /// Work for the present round ends at `at`.
    #[inline]
    pub fn lasts_until(&mut self, at: Time) {
        self.at = self.at.max(at);
    }

    /// One part of the present round is done: true if all are.
    #[inline]
    pub fn end_part(&mut self) -> bool {
        self.outstanding -= 1;
        self.outstanding == 0
    }

    fn is_of(&self, key: Key) -> bool {
        self.call.comm == key.context && self.sequence == key.tag
    }
}

/// A receive of a round that waits for its message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Awaited {
    pub bytes: u64,
    pub instance: CollectiveHandle,
    pub signature: u32,
    /// True if the data is reduced into what is there.
    pub combine: bool,
}

/// A message that waits for the round that receives it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Early {
    pub bytes: u64,
    pub signature: u32,
    /// For a rendezvous, the sender's handle.
    pub handle: Option<SendHandle>,
    /// Time at which it was handed to the network.
    pub injected: Time,
    pub arrived: Time,
    /// Time at which its sender's round began.
    pub sent: Time,
    /// The latest entry that it depends on.
    pub latest: Time,
    /// Its number among all messages of its sender.
    pub asked: u32,
}

/// Collectives of one rank, with the messages and receives that have not met.
#[derive(Debug, Default)]
pub(crate) struct Rounds {
    instances: Numbered<CollectiveHandle, Instance>,
    awaited: Lists<Awaited>,
    early: Lists<Early>,
}

/// Signature of a message that comes from another call than the rank's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Disagreement(pub u32);

impl Rounds {
    /// Begins a collective. Most ranks are in one at a time.
    #[inline]
    pub fn begin(&mut self, instance: Instance) -> CollectiveHandle {
        self.instances.insert_alone(instance)
    }

    /// Ends a collective.
    #[inline]
    pub fn end(&mut self, instance: CollectiveHandle) -> Instance {
        self.instances.remove(instance)
    }

    /// A round receives a message: takes it, if it has come, or waits for it.
    #[inline]
    pub fn receive(&mut self, key: Key, awaited: Awaited) -> Result<Option<Early>, Disagreement> {
        let pattern = Pattern::exact(key);
        let Awaited { bytes, signature, .. } = awaited;
        let fits = |early: &Early| early.bytes == bytes || early.signature != signature;
        let early = if self.early.is_empty() { None } else { self.early.take_message(pattern, fits) };
        match early {
            None => {
                self.awaited.push(pattern, awaited);
                Ok(None)
            }
            Some((_, early)) if early.signature == signature => Ok(Some(early)),
            Some((_, early)) => Err(Disagreement(early.signature)),
        }
    }

    /// A message has come: gives the round that waits for it, or keeps it for one that will. `is_over` says whether the
    /// collective of its number has returned.
    #[inline]
    pub fn arrive(
        &mut self,
        key: Key,
        early: Early,
        is_over: impl FnOnce() -> bool,
    ) -> Result<Option<Awaited>, Disagreement> {
        let fits = |awaited: &Awaited| awaited.bytes == early.bytes && awaited.signature == early.signature;
        if let Some(awaited) = self.awaited.take_receive(key, fits) {
            return Ok(Some(awaited));
        }
        let differs = match self.instances.iter().find(|(_, instance)| instance.is_of(key)) {
            Some((_, instance)) => instance.signature != early.signature,
            // Whoever has returned from that collective has had all of its messages.
            None => is_over(),
        };
        if differs {
            return Err(Disagreement(early.signature));
        }
        self.early.push(Pattern::exact(key), early);
        Ok(None)
    }

    /// Nobody waits for `request` any more.
    pub fn forget(&mut self, request: Request) {
        self.instances.values_mut().for_each(|instance| instance.target.forget(request));
    }

    /// Collectives under way.
    pub fn iter(&self) -> impl Iterator<Item = (CollectiveHandle, &Instance)> {
        self.instances.iter()
    }

    /// The collective of this number on `comm`, if the rank is in it.
    pub fn find(&self, comm: CommId, sequence: u32) -> Option<(CollectiveHandle, &Instance)> {
        self.instances.iter().find(|(_, one)| one.call.comm == comm && one.sequence == sequence)
    }

    /// Receives that the present round of `instance` waits for, in no particular order.
    pub fn awaited_by(&self, instance: CollectiveHandle) -> impl Iterator<Item = (Pattern, &Awaited)> {
        self.awaited.iter().filter(move |(_, awaited)| awaited.instance == instance)
    }

    /// Messages that came before their rounds, in no particular order.
    pub fn early(&self) -> impl Iterator<Item = (Key, &Early)> {
        self.early.iter().map(|(pattern, early)| (pattern.key(), early))
    }

    /// Asks the processor for what the next message of a collective needs.
    pub fn prefetch(&self) {
        self.awaited.prefetch();
        if let Some(instance) = self.instances.get(CollectiveHandle(0)) {
            engine::prefetch_start(instance, size_of_val(instance));
        }
    }
}

impl Index<CollectiveHandle> for Rounds {
    type Output = Instance;
    #[inline]
    fn index(&self, instance: CollectiveHandle) -> &Instance {
        &self.instances[instance]
    }
}

impl IndexMut<CollectiveHandle> for Rounds {
    #[inline]
    fn index_mut(&mut self, instance: CollectiveHandle) -> &mut Instance {
        &mut self.instances[instance]
    }
}
