//! Meetings of a communicator's members: collectives, and the creation of communicators.
//!
//! | collective | a member returns after the call of |
//! | --- | --- |
//! | barrier, all-to-all, allgather, allreduce, reduce-scatter, new communicators, MPI_Finalize | all |
//! | bcast, scatter | the root |
//! | reduce, gather | the root: all; others: nobody |
//! | scan; exscan | those before it |
//! | over neighbours | those that send to it |
//!
//! These are the dependencies of the data. A library may make members wait for more, but no program may rely on that.

use std::sync::Arc;

use engine::hash::Map;
use mpi::Rank;
use mpi::collective::{Collective, Kind};
use mpi::operation::{Neighbours, NewComm};

use super::mail::Place;
use super::{By, Purpose, agree};

/// Identity of a meeting: its communicator, and its members if not all take part.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Meeting {
    /// Communicator.
    pub comm: u32,
    /// Ranks of the world that meet, if not all members do.
    pub part: Option<Arc<[u32]>>,
    /// Tag that tells meetings of the same members apart.
    pub tag: u32,
}

/// Identity of a meeting, and its number among the meetings of the same identity.
pub type Which = (Meeting, u64);

/// Purpose of a member's arrival, with its arguments.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    /// Takes part in a collective.
    Collective(Arc<Collective>),
    /// Takes part in the creation of a communicator.
    Make(NewComm),
    /// Calls MPI_Finalize.
    Finalize,
}

impl What {
    /// Members that a member waits for, out of `members`. An invalid root is reported elsewhere.
    fn rooted(&self, members: usize) -> Rooted {
        let What::Collective(call) = self else { return Rooted::All };
        let root = call.root;
        match call.kind {
            _ if root as usize >= members => Rooted::All,
            Kind::Bcast | Kind::Scatter | Kind::Scatterv => Rooted::From(root),
            Kind::Reduce | Kind::Gather | Kind::Gatherv => Rooted::To(root),
            Kind::Scan | Kind::Exscan => Rooted::Before,
            kind if kind.among_neighbours() => Rooted::Around,
            _ => Rooted::All,
        }
    }
}

enum Rooted {
    All,
    From(u32),
    To(u32),
    Before,
    Around,
}

/// A member that has arrived.
#[derive(Clone)]
pub struct Entry {
    /// Call that it arrived with.
    pub by: Place,
    /// Logical clock.
    pub clock: u64,
    /// Purpose and arguments.
    pub what: What,
    /// Neighbours, by place, in a neighbourhood collective.
    pub around: Option<Arc<Neighbours>>,
    /// Request.
    pub request: u32,
}

/// State of one meeting.
pub struct Instance {
    /// Members that meet, as ranks of the world.
    pub members: Arc<[u32]>,
    /// Arrivals, by place.
    pub entries: Vec<Option<Entry>>,
    /// Place of the member that arrived first.
    first: usize,
    came: usize,
    left: usize,
    latest: u64,
    /// True while all arrivals agree.
    agree: bool,
    /// Numbers of the communicators that the meeting has created, by place.
    pub made: Vec<u32>,
}

impl Instance {
    /// Purpose and operations of the meeting, for a [`Watch`].
    pub fn met(&self) -> (Purpose, impl Iterator<Item = By>) {
        let entries = || self.entries.iter().flatten();
        let first = entries().next().map(|entry| (&entry.what, entry.what.rooted(self.members.len())));
        let purpose = match first {
            Some((What::Make(_), _)) => Purpose::Communicator,
            Some((What::Finalize, _)) => Purpose::Finalize,
            Some((_, Rooted::From(root) | Rooted::To(root))) => {
                Purpose::Rooted(Rank(self.members[root as usize]))
            }
            Some((_, Rooted::Before)) => Purpose::Scan,
            Some((_, Rooted::Around)) => Purpose::Around,
            Some((_, Rooted::All)) | None => Purpose::Together,
        };
        (purpose, entries().map(|entry| entry.by.beginning(entry.request)))
    }
}

/// Effects of an arrival.
pub struct Arrived {
    /// True if all members have arrived.
    pub complete: bool,
    /// Ranks that may go on now.
    pub wake: Vec<Rank>,
    /// A call that does not agree with another one, and the reason.
    pub mismatch: Option<(Place, String)>,
}

/// All meetings in progress.
#[derive(Default)]
pub struct Meetings(Map<Which, Instance>);

impl Meetings {
    /// A member arrives at the meeting of `members`, at its `place`; `inter` for an inter-communicator.
    pub fn arrive(
        &mut self,
        which: &Which,
        members: &Arc<[u32]>,
        (place, inter): (usize, bool),
        entry: Entry,
    ) -> Arrived {
        let instance = self.0.entry(which.clone()).or_insert_with(|| Instance {
            members: members.clone(),
            entries: vec![None; members.len()],
            first: place,
            came: 0,
            left: 0,
            latest: 0,
            agree: true,
            made: Vec::new(),
        });
        let first = instance.entries[instance.first].as_ref();
        let mut mismatch = first.and_then(|first| Some((entry.by, agree::differs(&entry, first, inter)?)));
        instance.came += 1;
        instance.latest = instance.latest.max(entry.clock);
        let complete = instance.came == members.len();
        let wake = match entry.what.rooted(members.len()) {
            Rooted::All => complete,
            Rooted::From(root) => place == root as usize,
            Rooted::To(_) => complete,
            Rooted::Before | Rooted::Around => true,
        };
        instance.entries[place] = Some(entry);
        instance.agree &= mismatch.is_none();
        if complete && instance.agree && !inter {
            mismatch = agree::in_all(&instance.entries);
        }
        let came = instance.entries.iter().flatten().map(|entry| entry.by.rank);
        Arrived { complete, wake: if wake { came.collect() } else { Vec::new() }, mismatch }
    }

    /// Meeting in progress, if there is one.
    pub fn get_mut(&mut self, which: &Which) -> Option<&mut Instance> {
        self.0.get_mut(which)
    }

    /// Call with which the member at `place` arrived.
    pub fn by(&self, which: &Which, place: usize) -> Option<Place> {
        self.0.get(which)?.entries[place].as_ref().map(|entry| entry.by)
    }

    /// Latest clock that the member at `place` has waited for, if any; `None` while it must still wait.
    pub fn ready(&self, which: &Which, place: usize) -> Option<Option<u64>> {
        let instance = self.0.get(which)?;
        let own = instance.entries[place].as_ref()?;
        let clock_of = |place: usize| instance.entries.get(place)?.as_ref().map(|entry| entry.clock);
        let of_all = || (instance.came == instance.members.len()).then_some(Some(instance.latest));
        let others = instance.members.len() > 1;
        match own.what.rooted(instance.members.len()) {
            _ if !others => Some(None),
            Rooted::All => of_all(),
            Rooted::From(root) if place == root as usize => Some(None),
            Rooted::From(root) => clock_of(root as usize).map(Some),
            Rooted::To(root) if place == root as usize => of_all(),
            Rooted::To(_) => Some(None),
            Rooted::Before => {
                (0..place).map(clock_of).try_fold(None, |latest, clock| Some(latest.max(Some(clock?))))
            }
            Rooted::Around => {
                let sources = own.around.iter().flat_map(|around| &around.sources);
                let there = sources.filter(|source| (**source as usize) < instance.members.len());
                there
                    .map(|&source| clock_of(source as usize))
                    .try_fold(None, |latest, clock| Some(latest.max(Some(clock?))))
            }
        }
    }

    /// Lets a member leave; the meeting ends when all have left.
    pub fn leave(&mut self, which: &Which) {
        if let Some(instance) = self.0.get_mut(which) {
            instance.left += 1;
            if instance.left == instance.members.len() {
                self.0.remove(which);
            }
        }
    }

    /// Members that have not arrived.
    pub fn absent(&self, which: &Which) -> Vec<Rank> {
        let Some(instance) = self.0.get(which) else { return Vec::new() };
        let all = instance.members.iter().zip(&instance.entries);
        all.filter(|(_, entry)| entry.is_none()).map(|(rank, _)| Rank(*rank)).collect()
    }
}
