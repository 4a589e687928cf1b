//! Communicators and groups of one rank, as the trace numbers them.
//!
//! A communicator of the trace becomes one of the simulation when it is made. Groups are kept as lists of
//! ranks within a *frame*: an order of processes that one or several communicators have (a copy has its
//! original's). Frames cut out of another one by a list of members know it, so that groups of different
//! communicators can be compared.

use std::sync::Arc;

use engine::hash::Map;
use mpi::operation::{CartGrid, CommId};

use super::names::{COMM_NULL, COMM_SELF, COMM_WORLD, GROUP_EMPTY};
use super::record::Record;

/// Index of a frame: an order of processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameId(usize);

#[derive(Debug, Default, Clone)]
struct Frame {
    size: Option<u32>,
    /// Number of this rank in the frame.
    own: Option<u32>,
    /// Frame that this one is a subset of, and its members' ranks there.
    parent: Option<(FrameId, Arc<[u32]>)>,
}

/// A communicator of the trace.
#[derive(Debug, Clone)]
pub struct Comm {
    /// Communicator of the simulation.
    pub id: CommId,
    /// Order of its members.
    pub frame: FrameId,
    /// Cartesian grid, if it has one.
    pub grid: Option<Arc<CartGrid>>,
}

#[derive(Debug, Clone)]
struct Group {
    frame: FrameId,
    /// Ranks in the frame; `None` stands for all of them, in order.
    members: Option<Arc<[u32]>>,
}

/// Communicators and groups of one rank.
pub struct Comms {
    comms: Map<i64, Comm>,
    groups: Map<i64, Group>,
    frames: Vec<Frame>,
    ranks: u32,
}

/// Reason why a call on communicators or groups cannot be followed.
type Reason = String;

const WORLD_FRAME: FrameId = FrameId(0);
const SELF_FRAME: FrameId = FrameId(1);

impl Comms {
    /// Begins with the world of `ranks` ranks, in which this one is `rank`.
    pub fn new(rank: u32, ranks: u32) -> Comms {
        let world = Frame { size: Some(ranks), own: Some(rank), parent: None };
        let alone = Frame { size: Some(1), own: Some(0), parent: Some((WORLD_FRAME, Arc::new([rank]))) };
        let mut comms = Map::default();
        comms.insert(COMM_WORLD, Comm { id: CommId::WORLD, frame: WORLD_FRAME, grid: None });
        comms.insert(COMM_SELF, Comm { id: CommId::SELF, frame: SELF_FRAME, grid: None });
        Comms { comms, groups: Map::default(), frames: vec![world, alone], ranks }
    }

    /// Communicator that the trace calls `handle`.
    pub fn get(&self, handle: i64) -> Result<&Comm, Reason> {
        self.comms.get(&handle).ok_or_else(|| match handle {
            COMM_NULL => "uses MPI_COMM_NULL".to_string(),
            _ => format!("uses communicator {handle}, which no recorded call has made"),
        })
    }

    /// Records the communicator that the simulation has created for `handle`.
    pub fn insert(&mut self, handle: i64, comm: Comm) {
        self.comms.insert(handle, comm);
    }

    /// Size of a frame, if known.
    pub fn size(&self, frame: FrameId) -> Option<u32> {
        self.frames[frame.0].size
    }

    /// Number of this rank in a frame, if known.
    pub fn own(&self, frame: FrameId) -> Option<u32> {
        self.frames[frame.0].own
    }

    /// Adds a frame whose members are unknown.
    pub fn new_frame(&mut self, size: Option<u32>, own: Option<u32>) -> FrameId {
        self.frames.push(Frame { size, own, parent: None });
        FrameId(self.frames.len() - 1)
    }

    /// Adds a frame of the members `members` of `parent`.
    pub fn cut(&mut self, parent: FrameId, members: Arc<[u32]>) -> FrameId {
        let own = self.own(parent).and_then(|own| members.iter().position(|&member| member == own));
        let own = own.map(|own| own as u32);
        self.frames.push(Frame { size: Some(members.len() as u32), own, parent: Some((parent, members)) });
        FrameId(self.frames.len() - 1)
    }

    /// Records the size of a communicator that a call returned.
    pub fn learn_size(&mut self, handle: i64, size: i64) -> Result<(), Reason> {
        let Some(comm) = self.comms.get(&handle) else { return Ok(()) };
        let said = u32::try_from(size).ok().filter(|&said| said <= self.ranks);
        let said = said
            .ok_or_else(|| format!("gives a communicator of {size} members; the trace has {}", self.ranks))?;
        match *self.frames[comm.frame.0].size.get_or_insert(said) {
            known if known == said => Ok(()),
            known => Err(format!("gives communicator {handle} {said} members, but the trace shows {known}")),
        }
    }

    /// Records the rank in a communicator that a call returned.
    pub fn learn_rank(&mut self, handle: i64, rank: i64) -> Result<(), Reason> {
        let Some(comm) = self.comms.get(&handle) else { return Ok(()) };
        let said = u32::try_from(rank).map_err(|_| format!("gives this process the rank {rank}"))?;
        match *self.frames[comm.frame.0].own.get_or_insert(said) {
            known if known == said => Ok(()),
            known => Err(format!(
                "gives this process rank {said} in communicator {handle}, but in the replay it has {known} \
                 (a reordered topology, or a file of another rank)"
            )),
        }
    }

    /// Members of group `handle` as ranks of `frame`.
    pub fn members_in(&self, handle: i64, frame: FrameId) -> Result<Arc<[u32]>, Reason> {
        if handle == GROUP_EMPTY {
            return Ok(Arc::new([]));
        }
        let group = self.group(handle)?;
        if group.frame == frame {
            return self.listed(group);
        }
        let (root, members) = self.lift(group.frame, self.listed(group)?);
        let (other_root, all) = self.lift(frame, self.listed(&Group { frame, members: None })?);
        if root != other_root {
            return Err(format!(
                "group {handle} comes from a communicator whose members the trace does not list"
            ));
        }
        let place = |member: &u32| all.iter().position(|other| other == member).map(|at| at as u32);
        members
            .iter()
            .map(place)
            .collect::<Option<Arc<[u32]>>>()
            .ok_or_else(|| format!("group {handle} has members outside the communicator"))
    }

    /// Follows a call that makes or measures a group.
    pub fn observe(&mut self, record: &Record) -> Result<(), Reason> {
        let name = record.call().name;
        let argument = |name| record.number(name).unwrap_or_default();
        if name == "MPI_Comm_group" {
            if let Some(comm) = self.comms.get(&argument("comm")) {
                let group = Group { frame: comm.frame, members: None };
                self.groups.insert(argument("group"), group);
            }
            return Ok(());
        }
        let Some(operation) = name.strip_prefix("MPI_Group_") else { return Ok(()) };
        let first = if record.has("group1") { "group1" } else { "group" };
        // Groups of windows and files are not followed, so an unknown one is no error until used.
        let Some(group) = self.groups.get(&argument(first)).cloned() else { return Ok(()) };
        if operation == "size" && group.members.is_none() {
            let size = argument("size").clamp(0, self.ranks.into()) as u32;
            self.frames[group.frame.0].size.get_or_insert(size);
        }
        if !record.has("newgroup") {
            return Ok(());
        }
        let members = self.listed(&group)?;
        let other = || self.members_in(argument("group2"), group.frame);
        let new: Vec<u32> = match operation {
            "union" => {
                let other = other()?;
                let added = other.iter().filter(|rank| !members.contains(rank));
                members.iter().chain(added).copied().collect()
            }
            "intersection" => {
                let other = other()?;
                members.iter().filter(|rank| other.contains(rank)).copied().collect()
            }
            "difference" => {
                let other = other()?;
                members.iter().filter(|rank| !other.contains(rank)).copied().collect()
            }
            "incl" | "range_incl" => {
                chosen(record, members.len())?.into_iter().map(|at| members[at]).collect()
            }
            _ => {
                let mut keep = vec![true; members.len()];
                chosen(record, members.len())?.into_iter().for_each(|at| keep[at] = false);
                members.iter().zip(keep).filter(|(_, keep)| *keep).map(|(rank, _)| *rank).collect()
            }
        };
        self.groups.insert(argument("newgroup"), Group { frame: group.frame, members: Some(new.into()) });
        Ok(())
    }

    fn group(&self, handle: i64) -> Result<&Group, Reason> {
        self.groups
            .get(&handle)
            .ok_or_else(|| format!("uses group {handle}, which no recorded call has made"))
    }

    fn listed(&self, group: &Group) -> Result<Arc<[u32]>, Reason> {
        match &group.members {
            Some(members) => Ok(members.clone()),
            None => {
                let size = self
                    .size(group.frame)
                    .ok_or("uses a communicator whose size the trace does not state")?;
                Ok((0..size).collect())
            }
        }
    }

    /// Translates members of a frame to ranks of its outermost known ancestor.
    fn lift(&self, frame: FrameId, members: Arc<[u32]>) -> (FrameId, Arc<[u32]>) {
        let (mut frame, mut members) = (frame, members);
        while let Some((parent, places)) = &self.frames[frame.0].parent {
            members = members.iter().filter_map(|&rank| places.get(rank as usize).copied()).collect();
            frame = *parent;
        }
        (frame, members)
    }
}

/// Members that MPI_Group_incl, _excl, _range_incl or _range_excl selects, below `size`.
fn chosen(record: &Record, size: usize) -> Result<Vec<usize>, Reason> {
    let check = |rank: i64| {
        let place = usize::try_from(rank).ok().filter(|place| *place < size);
        place.ok_or_else(|| format!("names rank {rank} of a group of {size}"))
    };
    if record.has("ranks") {
        return record.ints("ranks").iter().map(|&rank| check(rank.into())).collect();
    }
    let mut places = Vec::new();
    for range in record.int_lists("ranges") {
        let &[first, last, stride] = range else {
            return Err(format!("has a range of {} numbers instead of first, last and stride", range.len()));
        };
        let (first, last, stride) = (i64::from(first), i64::from(last), i64::from(stride));
        if stride == 0 {
            return Err("has a range with stride 0".into());
        }
        let mut rank = first;
        while if stride > 0 { rank <= last } else { rank >= last } {
            places.push(check(rank)?);
            if places.len() > size {
                return Err(format!("names more ranks than the {size} of the group"));
            }
            rank += stride;
        }
    }
    Ok(places)
}
