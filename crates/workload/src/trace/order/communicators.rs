//! Members of a recording's communicators, as these are created.

use std::collections::BTreeMap;
use std::sync::Arc;

use mpi::group::Group;
use mpi::operation::{CartGrid, Neighbours, NewComm};

/// A communicator, in ranks of the world.
#[derive(Clone)]
pub struct Comm {
    /// Members; the group with the lowest member first if there are two.
    local: Group,
    /// The other group of an inter-communicator.
    remote: Option<Group>,
    /// All members, those of the first group first.
    members: Arc<[u32]>,
    topology: Topology,
}

#[derive(Clone)]
enum Topology {
    None,
    Grid(Arc<CartGrid>),
    /// Neighbours of each member of a graph topology, or a grid.
    Graph(Arc<[Arc<Neighbours>]>),
}

impl Comm {
    /// Communicator of all `ranks`.
    pub fn world(ranks: u32) -> Comm {
        Comm::new(Group::world(ranks), None, Topology::None)
    }

    /// Communicator of these ranks, each named once.
    pub fn of(members: Vec<u32>) -> Comm {
        let group = Group::new(members).expect("each member is there once");
        Comm::new(group, None, Topology::None)
    }

    fn new(local: Group, remote: Option<Group>, topology: Topology) -> Comm {
        let members = local.members().chain(remote.iter().flat_map(Group::members)).collect();
        Comm { local, remote, members, topology }
    }

    /// Inter-communicator of two groups.
    pub fn two(one: &Group, other: &Group) -> Comm {
        let swapped = other.member(0) < one.member(0);
        let (local, remote) = if swapped { (other, one) } else { (one, other) };
        Comm::new(local.clone(), Some(remote.clone()), Topology::None)
    }

    /// Group of `me`, and the group that its peers are in.
    fn sides(&self, me: u32) -> (&Group, &Group) {
        match &self.remote {
            None => (&self.local, &self.local),
            Some(remote) if self.local.rank_of(me).is_some() => (&self.local, remote),
            Some(remote) => (remote, &self.local),
        }
    }

    /// Rank of `me` in it.
    pub fn rank_of(&self, me: u32) -> Option<u32> {
        self.sides(me).0.rank_of(me)
    }

    /// World rank that `me` addresses as `rank`.
    pub fn peer(&self, me: u32, rank: u32) -> Option<u32> {
        self.sides(me).1.member(rank)
    }

    /// Number of ranks that `me` can address.
    pub fn peers(&self, me: u32) -> u32 {
        self.sides(me).1.size()
    }

    /// All members; those of the first group come first.
    pub fn members(&self) -> &Arc<[u32]> {
        &self.members
    }

    /// Index of a world rank among all members.
    pub fn place_of(&self, rank: u32) -> Option<usize> {
        let in_remote = || Some(self.local.size() + self.remote.as_ref()?.rank_of(rank)?);
        self.local.rank_of(rank).or_else(in_remote).map(|place| place as usize)
    }

    /// True if it is an inter-communicator.
    pub fn is_inter(&self) -> bool {
        self.remote.is_some()
    }

    /// Its grid, if it has one.
    pub fn grid(&self) -> Option<&CartGrid> {
        match &self.topology {
            Topology::Grid(grid) => Some(grid),
            _ => None,
        }
    }

    /// Neighbours of the member at `place` in a neighbourhood collective; `None` without a topology.
    pub fn around(&self, place: usize) -> Option<Arc<Neighbours>> {
        match &self.topology {
            Topology::None => None,
            Topology::Graph(all) => all.get(place).cloned(),
            Topology::Grid(grid) => Some(Arc::new(grid.neighbours(place as u32))),
        }
    }

    /// Communicators that the members create together; `asked` has the arguments by place. Empty if `check::of_new`
    /// finds an error.
    pub fn make(&self, asked: &[NewComm], hosts: &[String]) -> Vec<Comm> {
        match asked {
            [NewComm::Dup, ..] => return vec![self.clone()],
            [NewComm::Inter(groups, _), ..] => return vec![Comm::two(&groups.local, &groups.remote)],
            [NewComm::Merge { high }, ..] => {
                let Some(remote) = &self.remote else { return Vec::new() };
                let other = asked.get(self.local.size() as usize);
                let swapped = *high && matches!(other, Some(NewComm::Merge { high: false }));
                let (first, last) = if swapped { (remote, &self.local) } else { (&self.local, remote) };
                return vec![Comm::of(first.members().chain(last.members()).collect())];
            }
            _ if self.is_inter() => return Vec::new(),
            _ => {}
        }
        let mut parts: BTreeMap<i64, Vec<(i64, u32)>> = BTreeMap::new();
        for (one, place) in asked.iter().zip(0..) {
            if let Some((colour, key)) = self.part(one, place, hosts) {
                parts.entry(colour).or_default().push((key, place));
            }
        }
        parts.into_values().map(|part| self.made(part, asked)).collect()
    }

    /// Colour of the new communicator that the member at `place` joins, and its key there.
    fn part(&self, asked: &NewComm, place: u32, hosts: &[String]) -> Option<(i64, i64)> {
        let position = |list: &[u32]| {
            let at = list.iter().position(|&member| member == place)?;
            Some((i64::from(list[0]), at as i64))
        };
        match asked {
            NewComm::Split { colour, key } => colour.map(|colour| (colour, *key)),
            NewComm::SplitHost { key } => {
                let host = |place| self.local.member(place).and_then(|rank| hosts.get(rank as usize));
                let first = (0..self.local.size()).find(|&other| host(other) == host(place));
                first.map(|first| (first.into(), *key))
            }
            NewComm::Create(list) | NewComm::CreateGroup(list, _) => position(list),
            NewComm::Cart(grid) => {
                let size = grid.size().filter(|size| *size <= self.local.size())?;
                (place < size).then_some((0, place.into()))
            }
            NewComm::CartSub(keep) => {
                let grid = self.grid().filter(|grid| grid.sizes.len() == keep.len())?;
                let (_, colour, key) = grid.sub(place, keep);
                Some((colour, key))
            }
            NewComm::Graph(_) => Some((0, place.into())),
            NewComm::OutsideGraph | NewComm::Dup | NewComm::Inter(..) | NewComm::Merge { .. } => None,
        }
    }

    fn made(&self, mut part: Vec<(i64, u32)>, asked: &[NewComm]) -> Comm {
        part.sort_unstable();
        let places = || part.iter().map(|(_, place)| *place);
        let topology = match places().next().map(|place| &asked[place as usize]) {
            Some(NewComm::Cart(grid)) => Topology::Grid(grid.clone()),
            Some(NewComm::CartSub(keep)) => match self.grid() {
                Some(grid) => Topology::Grid(Arc::new(grid.sub(0, keep).0)),
                None => Topology::None,
            },
            Some(NewComm::Graph(_)) => {
                let around = places().filter_map(|place| match &asked[place as usize] {
                    NewComm::Graph(around) => Some(around.clone()),
                    _ => None,
                });
                Topology::Graph(around.collect())
            }
            _ => Topology::None,
        };
        let members = places().filter_map(|place| self.local.member(place)).collect();
        Comm { topology, ..Comm::of(members) }
    }
}
