//! Where the members of a communicator meet: collectives, and the making of communicators.
//!
//! | collective | a member returns after the call of |
//! | --- | --- |
//! | barrier, all-to-all, allgather, allreduce, reduce-scatter, new communicators, MPI_Finalize | all |
//! | bcast, scatter | the root |
//! | reduce, gather | the root: all; others: nobody |
//! | scan; exscan | those before it |
//! | over neighbours | those that send to it |
//!
//! That is what the data depends on. A library may make members wait for more, which no program may rely on.

use std::sync::Arc;

use engine::hash::Map;
use mpi::Rank;
use mpi::collective::{Collective, Kind};
use mpi::operation::{Neighbours, NewComm};

use super::mail::Place;
use super::{By, Purpose, agree};

/// Who meets: the members of a communicator, or some of them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Meeting {
    /// The communicator.
    pub comm: u32,
    /// Ranks of the world, if not all members meet.
    pub part: Option<Arc<[u32]>>,
    /// What keeps meetings of a part apart.
    pub tag: u32,
}

/// Which of their meetings.
pub type Which = (Meeting, u64);

/// What a member comes for.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    /// A collective.
    Collective(Arc<Collective>),
    /// To make a communicator.
    Make(NewComm),
    /// MPI_Finalize.
    Finalize,
}

impl What {
    /// For whom a member waits, one of `members`. A root that is none of them has been found elsewhere.
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

/// One that came.
#[derive(Clone)]
pub struct Entry {
    /// By which call.
    pub by: Place,
    /// Its logical clock.
    pub clock: u64,
    /// For what.
    pub what: What,
    /// With whom it talks in a collective over neighbours, by place.
    pub around: Option<Arc<Neighbours>>,
    /// Under which request.
    pub request: u32,
}

/// One meeting.
pub struct Instance {
    /// Who is to come, ranks of the world.
    pub members: Arc<[u32]>,
    /// By place.
    pub entries: Vec<Option<Entry>>,
    /// The place of who came first.
    first: usize,
    came: usize,
    left: usize,
    latest: u64,
    /// Whether all that came so far go together.
    agree: bool,
    /// What all have made, by place.
    pub made: Vec<u32>,
}

impl Instance {
    /// Who came, for those who watch.
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

/// What came of an arrival.
pub struct Arrived {
    /// Whether all are there.
    pub complete: bool,
    /// Who may go on now.
    pub wake: Vec<Rank>,
    /// Which call does not go with another one, and why.
    pub mismatch: Option<(Place, String)>,
}

/// All meetings that are going on.
#[derive(Default)]
pub struct Meetings(Map<Which, Instance>);

impl Meetings {
    /// A member comes to the meeting of `members`, in its `place`; of two groups if `inter`.
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

    /// One that has not ended.
    pub fn get_mut(&mut self, which: &Which) -> Option<&mut Instance> {
        self.0.get_mut(which)
    }

    /// By which call the member in `place` has come.
    pub fn by(&self, which: &Which, place: usize) -> Option<Place> {
        self.0.get(which)?.entries[place].as_ref().map(|entry| entry.by)
    }

    /// Whether the member in `place` may go on: the latest clock that it has waited for, if any.
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

    /// The member has gone on; a meeting that all have left is forgotten.
    pub fn leave(&mut self, which: &Which) {
        if let Some(instance) = self.0.get_mut(which) {
            instance.left += 1;
            if instance.left == instance.members.len() {
                self.0.remove(which);
            }
        }
    }

    /// Who has not come yet.
    pub fn absent(&self, which: &Which) -> Vec<Rank> {
        let Some(instance) = self.0.get(which) else { return Vec::new() };
        let all = instance.members.iter().zip(&instance.entries);
        all.filter(|(_, entry)| entry.is_none()).map(|(rank, _)| Rank(*rank)).collect()
    }
}
