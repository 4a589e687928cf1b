//! Making and freeing communicators.
//!
//! A call deposits what the rank wants (see `comm_creation.rs`), and takes part in the collective that a library
//! would run: an allgather of colour and key (8 bytes for each member) for a split, an allreduce of a mask
//! of free contexts (256 bytes, as in MPICH) for the rest. The messages of that collective carry a hash of
//! what was asked for, so that members who ask for different things find out.
//!
//! Source: MPI 4.0, section 7.4; MPICH, `src/mpi/comm/contextid.c` for the mask.

use std::sync::Arc;

use engine::Bytes;
use engine::hash::Digest;

use crate::collective::Kind;
use crate::communicator::{Communicator, NASCENT, Topology, name};
use crate::group::Group;
use crate::operation::{CommId, NewComm, Op, Rank, Request, Start, Tag, TwoGroups};
use crate::world::calls::CallProgress;
use crate::world::collective::Identity;
use crate::world::comm_creation::Wish;
use crate::world::{Context, Outcome, World, text};

/// Colour and key of one member.
const SPLIT_BYTES: Bytes = Bytes(8);
/// A mask of 2048 contexts.
const MASK_BYTES: Bytes = Bytes(256);

impl World {
    /// The communicator `comm`, of which `rank` must be a member.
    pub(super) fn membership(&self, rank: Rank, comm: CommId) -> Outcome<&Arc<Communicator>> {
        let comm = comm.communicator();
        if let Some(communicator) = self.predefined.get(rank, comm) {
            return Ok(communicator);
        }
        if let Some(communicator) = self.processes[rank].memberships.get_valid(comm) {
            return Ok(communicator);
        }
        let reason = format!("communicator '{}' does not exist for this rank, or is freed", name(comm));
        Err(self.misuse(rank, reason))
    }

    /// The communicator `comm` of `rank`, also while what is under way on it outlives it.
    pub(super) fn communicator(&self, rank: Rank, comm: CommId) -> Option<&Arc<Communicator>> {
        let comm = comm.communicator();
        if let Some(communicator) = self.predefined.get(rank, comm) {
            return Some(communicator);
        }
        self.processes[rank].memberships.get(comm)
    }

    /// Makes a communicator.
    pub(super) fn new_communicator(
        &mut self,
        rank: Rank,
        asked: CommId,
        new: &NewComm,
        request: Option<Request>,
        context: &mut Context,
    ) -> Outcome<CallProgress> {
        let mut parent = self.membership(rank, asked)?.clone();
        self.check_new(rank, &parent, new)?;
        parent = match new {
            NewComm::CreateGroup(members, tag) => self.nascent(rank, &parent, members, *tag)?,
            NewComm::Inter(groups, tag) => self.nascent_inter(rank, groups, *tag)?,
            _ => parent,
        };
        let start = request.map_or(Start::Blocking, Start::Request);
        let target = self.target(rank, start, || panic!("it is not persistent"))?;
        let target = target.expect("only persistent operations have no target");
        let agreement = agreement(new) ^ u32::from(request.is_some());
        let number = self.deposit(rank, &parent, new, request.is_some(), agreement);
        let process = &mut self.processes[rank];
        process.call.number = number as u32;
        process.call.matched = number as u64;
        // Already now, for the words of a mismatch.
        process.op = Some(match request {
            None => Op::NewComm(asked, new.clone()),
            Some(request) => Op::BeginNewComm(asked, new.clone(), request),
        });
        let (kind, bytes) = match new {
            // Between two groups an allgather is another one, and libraries exchange what leaders have.
            NewComm::Split { .. } | NewComm::SplitHost { .. } | NewComm::CartSub(_)
                if parent.remote().is_none() =>
            {
                (Kind::Allgather, SPLIT_BYTES)
            }
            _ => (Kind::Allreduce, MASK_BYTES),
        };
        let collective = self.creations.agreement_collective(parent.id, kind, bytes);
        let identity = Identity { sequence: None, agreement };
        self.start_collective(rank, &collective, identity, target, context)?;
        Ok(self.progress_of(rank, target, context.now))
    }

    fn check_new(&self, rank: Rank, parent: &Communicator, new: &NewComm) -> Outcome<()> {
        let size = parent.size();
        let wrong = match new {
            NewComm::Dup | NewComm::Split { .. } | NewComm::SplitHost { .. } | NewComm::OutsideGraph => None,
            NewComm::Merge { .. } if parent.remote().is_none() => {
                Some(format!("{} is not an inter-communicator", parent.name()))
            }
            NewComm::Merge { .. } => None,
            NewComm::Cart(_) | NewComm::CartSub(_) | NewComm::Graph(_) | NewComm::CreateGroup(..)
                if parent.remote().is_some() =>
            {
                Some(format!("{} is an inter-communicator", parent.name()))
            }
            NewComm::Inter(..) if parent.id != CommId::WORLD => Some("its groups are of the world".into()),
            NewComm::Inter(groups, _) => {
                let TwoGroups { local, remote } = &**groups;
                let mut both = local.members().chain(remote.members());
                match (both.find(|member| *member >= size), local.intersection(remote).member(0)) {
                    _ if local.size() == 0 || remote.size() == 0 => Some("a group is empty".into()),
                    (Some(member), _) => Some(format!("rank {member} is not below the size {size}")),
                    (None, Some(member)) => Some(format!("rank {member} is in both groups")),
                    (None, None) => None,
                }
            }
            NewComm::Create(members) | NewComm::CreateGroup(members, _) => {
                match (members.iter().find(|member| **member >= size), Group::new(members.to_vec())) {
                    (Some(member), _) => Some(format!("rank {member} is not below the size {size}")),
                    (None, Err(member)) => Some(format!("rank {member} stands twice in the group")),
                    (None, Ok(_)) => None,
                }
            }
            NewComm::Cart(grid) => match grid.size() {
                Some(needed) if needed <= size => None,
                _ => Some(format!("a grid of sizes {:?} does not fit {size} ranks", grid.sizes)),
            },
            NewComm::CartSub(remain) => match &parent.topology {
                Topology::Cart(grid) if grid.sizes.len() == remain.len() => None,
                Topology::Cart(grid) => Some(format!("the grid has {} dimensions", grid.sizes.len())),
                _ => Some(format!("{} has no Cartesian topology", parent.name())),
            },
            NewComm::Graph(around) => {
                let mut all = around.sources.iter().chain(&around.destinations);
                all.find(|peer| **peer >= size).map(|peer| format!("neighbour {peer} is not below {size}"))
            }
        };
        match wrong {
            None => Ok(()),
            Some(reason) => Err(self.misuse(rank, format!("{}: {reason}", text::creation(parent.id, new)))),
        }
    }

    /// Colour and key of `rank` for `new`, a member of `parent` with rank `me` in it.
    pub(super) fn wish(&self, rank: Rank, me: u32, parent: &Communicator, new: &NewComm) -> Wish {
        let (colour, key) = match new {
            NewComm::Split { colour, key } => (*colour, *key),
            NewComm::SplitHost { key } => {
                (Some(i64::from(self.setup.placement[rank.0 as usize].host.0)), *key)
            }
            NewComm::Dup | NewComm::Graph(_) | NewComm::CreateGroup(..) | NewComm::Inter(..) => (Some(0), 0),
            NewComm::Merge { high } => (Some(0), i64::from(*high)),
            NewComm::OutsideGraph => (None, 0),
            NewComm::Create(members) => {
                let place = members.iter().position(|member| *member == me);
                // The groups of an inter-communicator meet, each with a list of its own.
                let first = if parent.remote().is_some() { 0 } else { members.first().copied().unwrap_or(0) };
                (place.map(|_| i64::from(first)), place.unwrap_or(0) as i64)
            }
            NewComm::CartSub(remain) => match &parent.topology {
                Topology::Cart(grid) => {
                    let (_, colour, key) = grid.sub(me, remain);
                    (Some(colour), key)
                }
                _ => panic!("the topology has been checked"),
            },
            NewComm::Cart(grid) => (grid.size().filter(|size| me < *size).map(|_| 0), 0),
        };
        Wish { colour, key }
    }

    /// The group of MPI_Comm_create_group as a communicator in which its members, who alone call, can
    /// talk: its number is drawn from the call, so that they agree on it without a word.
    fn nascent(
        &mut self,
        rank: Rank,
        parent: &Communicator,
        members: &[u32],
        tag: Tag,
    ) -> Outcome<Arc<Communicator>> {
        let world: Option<Vec<u32>> =
            members.iter().map(|member| Some(parent.member(rank, *member)?.0)).collect();
        let world = world.expect("members have been checked");
        if !world.contains(&rank.0) {
            return Err(self.misuse(rank, "MPI_Comm_create_group: only members of the group call it".into()));
        }
        // Zeros leave an empty digest as it is: what comes first is none.
        let mut name = Digest::default();
        name.fold(1);
        name.fold(u64::from(parent.id.0) << 32 | u64::from(tag));
        world.iter().for_each(|member| name.fold(u64::from(*member)));
        let id = CommId(NASCENT | drawn(&name, NASCENT));
        let sequence = self.processes[rank].memberships.peek_collective(id);
        let group = Group::new(world).expect("members have been checked");
        let known = self.creations.parent(id, Rank(group.member(0).expect("it has a member")), sequence);
        let nascent = known.unwrap_or_else(|| Arc::new(Communicator::new(id, group, Topology::Plain)));
        self.processes[rank].memberships.join(nascent.clone());
        Ok(nascent)
    }

    /// The groups of a new inter-communicator as one in which their members can agree, likewise.
    fn nascent_inter(&mut self, rank: Rank, groups: &TwoGroups, tag: Tag) -> Outcome<Arc<Communicator>> {
        let TwoGroups { local, remote } = groups;
        if local.rank_of(rank.0).is_none() {
            return Err(self.misuse(rank, "MPI_Intercomm_create: only members of a group call it".into()));
        }
        let (one, other) = if local.member(0) < remote.member(0) { (local, remote) } else { (remote, local) };
        let mut name = Digest::default();
        name.fold(2);
        name.fold(u64::from(tag));
        one.fold(&mut name);
        other.fold(&mut name);
        let id = CommId(NASCENT | drawn(&name, NASCENT));
        let nascent = Arc::new(Communicator::inter(id, local.clone(), remote.clone()));
        self.processes[rank].memberships.join(nascent.clone());
        Ok(nascent)
    }

    /// The call returns: tells the source which communicator is the rank's.
    pub(super) fn collect_communicator(&mut self, rank: Rank) {
        let process = &mut self.processes[rank];
        let (parent, made, next) = self.creations.take(process.call.number as usize, rank);
        process.memberships.made_below(next);
        if parent.0 >= NASCENT {
            process.memberships.leave(parent);
        }
        if let Some(communicator) = &made {
            process.memberships.join(communicator.clone());
        }
        self.completion.comm = made.as_ref().map_or(CommId::NULL, |communicator| communicator.id);
        self.completion.created = made;
    }

    /// Frees a communicator; local, though the standard calls it collective.
    pub(super) fn free_communicator(
        &mut self,
        rank: Rank,
        comm: CommId,
        context: &mut Context,
    ) -> Outcome<CallProgress> {
        self.membership(rank, comm)?;
        if comm == CommId::WORLD || comm == CommId::SELF {
            return Err(self.misuse(rank, format!("{} cannot be freed", name(comm))));
        }
        let process = &mut self.processes[rank];
        // While something is under way on it, it must stay known.
        let busy = process.matching.is_under_way_on(comm) || process.rendezvous.is_under_way_on(comm);
        process.memberships.free(comm, busy);
        Ok(CallProgress::Return(context.now))
    }
}

/// A number below `limit`, a power of two, that is drawn from what is in a digest.
pub(super) fn drawn(digest: &Digest, limit: u32) -> u32 {
    let value = digest.value();
    (value ^ value >> 32) as u32 & (limit - 1)
}

/// Hash, of 24 bits, of the arguments that must be the same on all members.
fn agreement(new: &NewComm) -> u32 {
    let mut digest = Digest::default();
    let mut fold = |code: u64, words: &mut dyn Iterator<Item = u64>| {
        digest.fold(code);
        words.for_each(|word| digest.fold(word));
    };
    match new {
        NewComm::Dup => fold(1, &mut [].into_iter()),
        // Whoever wants to be in no part of a split by hosts gives no colour.
        NewComm::Split { .. } | NewComm::SplitHost { .. } => fold(2, &mut [].into_iter()),
        NewComm::Create(_) => fold(4, &mut [].into_iter()),
        NewComm::CreateGroup(..) => fold(5, &mut [].into_iter()),
        NewComm::Cart(grid) => {
            let sides = grid.sizes.iter().zip(&grid.periodic);
            fold(6, &mut sides.map(|(size, wraps)| u64::from(*size) << 1 | u64::from(*wraps)));
        }
        NewComm::CartSub(remain) => fold(7, &mut remain.iter().map(|keeps| u64::from(*keeps))),
        NewComm::Graph(_) | NewComm::OutsideGraph => fold(8, &mut [].into_iter()),
        NewComm::Inter(..) => fold(9, &mut [].into_iter()),
        NewComm::Merge { .. } => fold(10, &mut [].into_iter()),
    }
    let hash = digest.value();
    ((hash ^ hash >> 32) & 0xFF_FFFF) as u32
}
