//! Making and freeing communicators.
//!
//! A call deposits what the rank wants, and takes part in the collective that a library would run: an
//! allgather of colour and key (8 bytes for each member) for a split, an allreduce of a mask of free
//! contexts (256 bytes, as in MPICH) for the rest. When the last member has deposited, the new groups
//! are computed once and get the next free numbers: communicators of the same calls have the same
//! numbers in every run. **This table is the only state that ranks share.**
//!
//! Source: MPI 4.0, section 7.4; MPICH, `src/mpi/comm/contextid.c` for the mask.

use std::collections::BTreeSet;
use std::sync::Arc;

use engine::Bytes;
use engine::hash::Map;
use slab::Slab;

use crate::collective::{Collective, Kind, Sizes};
use crate::group::Group;
use crate::operation::{CommId, Neighbours, NewComm, Rank, Tag};
use crate::record::Failure;
use crate::world::calls::Flow;
use crate::world::communicator::{Communicator, Topology, name};
use crate::world::process::Target;
use crate::world::{Context, Outcome, World, text};

/// Colour and key of one member.
const SPLIT_BYTES: Bytes = Bytes(8);
/// A mask of 2048 contexts.
const MASK_BYTES: Bytes = Bytes(256);

/// Communicators that are being made.
#[derive(Debug, Default)]
pub(super) struct Creations {
    pending: Slab<Creation>,
    /// By parent, number of the collective on it, and for MPI_COMM_SELF the rank.
    index: Map<(u32, u32, u32), usize>,
    /// Those that only their members call.
    groups: Vec<GroupCreation>,
    /// The collective of the last call: members of the same creation share it.
    shared: Option<Arc<Collective>>,
}

/// One call of all members of a communicator.
#[derive(Debug)]
struct Creation {
    key: (u32, u32, u32),
    parent: Arc<Communicator>,
    /// What the first caller said; the others must say the same kind.
    first: (u32, NewComm),
    deposits: Vec<Deposit>,
    /// The new communicator of each member of the parent, once all have called.
    results: Vec<CommId>,
    taken: u32,
}

#[derive(Debug)]
struct Deposit {
    /// World rank.
    world: u32,
    /// In the parent.
    rank: u32,
    colour: Option<i64>,
    key: i64,
    neighbours: Option<Arc<Neighbours>>,
}

#[derive(Debug)]
struct GroupCreation {
    parent: CommId,
    tag: Tag,
    members: Arc<[u32]>,
    communicator: Arc<Communicator>,
    called: BTreeSet<u32>,
}

impl World {
    /// The communicator `comm`, of which `rank` must be a member.
    pub(super) fn membership(&self, rank: u32, comm: CommId) -> Outcome<&Arc<Communicator>> {
        if let Some(communicator) = self.communicators.get(comm)
            && communicator.rank_of(rank, rank).is_some()
            && !self.processes[rank as usize].has_freed(comm)
        {
            return Ok(communicator);
        }
        let reason = format!("communicator '{}' does not exist for this rank, or is freed", name(comm));
        Err(self.misuse(rank, reason))
    }

    /// Makes a communicator.
    pub(super) fn new_communicator(
        &mut self,
        rank: u32,
        parent: CommId,
        new: &NewComm,
        context: &mut Context,
    ) -> Outcome<Flow> {
        let communicator = self.membership(rank, parent)?.clone();
        self.check_new(rank, &communicator, new)?;
        if let NewComm::CreateGroup(members, tag) = new {
            return self.new_group(rank, &communicator, members, *tag, context);
        }
        let me = communicator.rank_of(rank, rank).expect("a member has a rank");
        let number = self.deposit(rank, me, &communicator, new)?;
        let call = &mut self.processes[rank as usize].call;
        call.outstanding = 1;
        call.number = number as u32;
        let (kind, bytes) = match new {
            NewComm::Split { .. } | NewComm::SplitHost { .. } | NewComm::CartSub(_) => {
                (Kind::Allgather, SPLIT_BYTES)
            }
            _ => (Kind::Allreduce, MASK_BYTES),
        };
        let collective = self.shared_collective(parent, kind, bytes);
        self.start_collective(rank, &collective, Target::Call, context)?;
        Ok(self.flow_of(rank, Target::Call, context.now))
    }

    fn check_new(&self, rank: u32, parent: &Communicator, new: &NewComm) -> Outcome<()> {
        let size = parent.size();
        let wrong = match new {
            NewComm::Dup | NewComm::Split { .. } | NewComm::SplitHost { .. } => None,
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

    /// Puts down what `rank` wants; the last one makes the communicators.
    fn deposit(&mut self, rank: u32, me: u32, parent: &Arc<Communicator>, new: &NewComm) -> Outcome<usize> {
        let sequence = self.processes[rank as usize].peek_collective(parent.id);
        let oneself = if parent.id == CommId::SELF { rank + 1 } else { 0 };
        let key = (parent.id.0, sequence, oneself);
        let creations = &mut self.creations;
        let number = *creations.index.entry(key).or_insert_with(|| {
            creations.pending.insert(Creation {
                key,
                parent: parent.clone(),
                first: (rank, new.clone()),
                deposits: Vec::new(),
                results: Vec::new(),
                taken: 0,
            })
        });
        let creation = &mut creations.pending[number];
        if !agree(&creation.first.1, new) {
            let (first, theirs) = &creation.first;
            let calls = vec![
                (Rank(*first), text::creation(parent.id, theirs)),
                (Rank(rank), text::creation(parent.id, new)),
            ];
            return Err(Box::new(Failure::Mismatch { calls }));
        }
        let host = i64::from(self.setup.placement[rank as usize].host.0);
        let (colour, order) = match new {
            NewComm::Split { colour, key } => (*colour, *key),
            NewComm::SplitHost { key } => (Some(host), *key),
            NewComm::Dup | NewComm::Graph(_) => (Some(0), 0),
            NewComm::Create(members) | NewComm::CreateGroup(members, _) => {
                let place = members.iter().position(|member| *member == me);
                (place.map(|_| 0), place.unwrap_or(0) as i64)
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
        let neighbours = if let NewComm::Graph(around) = new { Some(around.clone()) } else { None };
        creation.deposits.push(Deposit { world: rank, rank: me, colour, key: order, neighbours });
        if creation.deposits.len() == parent.size() as usize {
            self.make(number);
        }
        Ok(number)
    }

    /// All members have called: makes a communicator for each colour, in the order of colours.
    fn make(&mut self, number: usize) {
        let creation = &mut self.creations.pending[number];
        let mut deposits = std::mem::take(&mut creation.deposits);
        deposits.sort_unstable_by_key(|deposit| (deposit.colour, deposit.key, deposit.rank));
        creation.results = vec![CommId::NULL; deposits.len()];
        for part in deposits.chunk_by(|a, b| a.colour == b.colour).filter(|part| part[0].colour.is_some()) {
            let members = part.iter().map(|deposit| deposit.world).collect();
            let group = Group::new(members).expect("each member deposits once");
            let topology = match (&creation.first.1, &creation.parent.topology) {
                (NewComm::Dup, topology) => topology.clone(),
                (NewComm::Cart(grid), _) => Topology::Cart(grid.clone()),
                (NewComm::CartSub(remain), Topology::Cart(grid)) => {
                    Topology::Cart(Arc::new(grid.sub(part[0].rank, remain).0))
                }
                (NewComm::Graph(_), _) => {
                    let around = part.iter().map(|deposit| deposit.neighbours.clone());
                    Topology::Graph(around.map(|around| around.expect("all gave neighbours")).collect())
                }
                _ => Topology::Plain,
            };
            let id = self.communicators.add(group, topology).id;
            part.iter().for_each(|deposit| creation.results[deposit.rank as usize] = id);
        }
    }

    /// Makes a communicator that only its members know of (MPI_Comm_create_group).
    fn new_group(
        &mut self,
        rank: u32,
        parent: &Arc<Communicator>,
        members: &Arc<[u32]>,
        tag: Tag,
        context: &mut Context,
    ) -> Outcome<Flow> {
        let world: Vec<u32> = members
            .iter()
            .map(|member| parent.member(rank, *member).expect("members have been checked"))
            .collect();
        if !world.contains(&rank) {
            return Err(self.misuse(rank, "MPI_Comm_create_group: only members of the group call it".into()));
        }
        let groups = &mut self.creations.groups;
        let found = groups.iter().position(|group| {
            group.parent == parent.id
                && group.tag == tag
                && group.members == *members
                && group.communicator.rank_of(rank, rank).is_some()
                && !group.called.contains(&rank)
        });
        let at = found.unwrap_or_else(|| {
            let group = Group::new(world).expect("members have been checked");
            let communicator = self.communicators.add(group, Topology::Plain);
            let (members, called) = (members.clone(), BTreeSet::new());
            groups.push(GroupCreation { parent: parent.id, tag, members, communicator, called });
            groups.len() - 1
        });
        let group = &mut groups[at];
        group.called.insert(rank);
        let id = group.communicator.id;
        if group.called.len() == group.members.len() {
            groups.remove(at);
        }
        let call = &mut self.processes[rank as usize].call;
        call.outstanding = 1;
        call.number = id.0;
        let collective = self.shared_collective(id, Kind::Allreduce, MASK_BYTES);
        self.start_collective(rank, &collective, Target::Call, context)?;
        Ok(self.flow_of(rank, Target::Call, context.now))
    }

    /// The call returns: tells the source which communicator is the rank's.
    pub(super) fn collect_communicator(&mut self, rank: u32, new: &NewComm) {
        let number = self.processes[rank as usize].call.number;
        let id = if let NewComm::CreateGroup(..) = new {
            CommId(number)
        } else {
            let creation = &mut self.creations.pending[number as usize];
            let me = creation.parent.rank_of(rank, rank).expect("a member has a rank");
            assert!(!creation.results.is_empty(), "a member returned before all had called");
            let id = creation.results[me as usize];
            creation.taken += 1;
            if creation.taken == creation.parent.size() {
                self.creations.index.remove(&creation.key);
                self.creations.pending.remove(number as usize);
            }
            id
        };
        self.completion.comm = id;
        self.completion.created = self.communicators.get(id).cloned();
    }

    /// Frees a communicator; local, though the standard calls it collective.
    pub(super) fn free_communicator(
        &mut self,
        rank: u32,
        comm: CommId,
        context: &mut Context,
    ) -> Outcome<Flow> {
        self.membership(rank, comm)?;
        if comm == CommId::WORLD || comm == CommId::SELF {
            return Err(self.misuse(rank, format!("{} cannot be freed", name(comm))));
        }
        let process = &mut self.processes[rank as usize];
        process.memberships.entry(comm.0).freed = true;
        // While something is under way on it, it must stay known.
        let matched = process.rare.iter().flat_map(|rare| rare.matched.iter());
        let busy = process.posted.iter().any(|(pattern, _)| pattern.key().context == comm.0)
            || process.incoming.iter().any(|(_, incoming)| incoming.context == comm.0)
            || matched.into_iter().any(|(_, (key, _))| key.context == comm.0);
        if !busy {
            self.communicators.free(comm);
        }
        Ok(Flow::Return(context.now))
    }

    /// The collective of a creation, shared by its members where they call one after the other.
    fn shared_collective(&mut self, comm: CommId, kind: Kind, bytes: Bytes) -> Arc<Collective> {
        let shared = &mut self.creations.shared;
        match shared {
            Some(call) if call.comm == comm && call.kind == kind => call.clone(),
            _ => {
                let call = Arc::new(Collective {
                    kind,
                    comm,
                    root: 0,
                    sizes: Sizes::Equal(bytes),
                    element: 4,
                    commutative: true,
                    algorithm: None,
                });
                *shared = Some(call.clone());
                call
            }
        }
    }
}

/// Do two members ask for the same kind of communicator?
fn agree(a: &NewComm, b: &NewComm) -> bool {
    match (a, b) {
        (NewComm::Create(a), NewComm::Create(b)) => a == b,
        (NewComm::Cart(a), NewComm::Cart(b)) => a == b,
        (NewComm::CartSub(a), NewComm::CartSub(b)) => a == b,
        _ => std::mem::discriminant(a) == std::mem::discriminant(b),
    }
}
