//! Who is in the communicators of a recording, as they are made.

use std::collections::BTreeMap;
use std::sync::Arc;

use mpi::group::Group;
use mpi::operation::{CartGrid, Neighbours, NewComm};

/// A communicator of ranks of the world.
#[derive(Clone)]
pub struct Comm {
    /// Its members; of an inter-communicator, the group whose first member is lower.
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
    /// By place.
    Graph(Arc<[Arc<Neighbours>]>),
}

impl Comm {
    /// All `ranks`.
    pub fn world(ranks: u32) -> Comm {
        Comm::new(Group::world(ranks), None, Topology::None)
    }

    /// These ranks, each once.
    pub fn of(members: Vec<u32>) -> Comm {
        let group = Group::new(members).expect("each member is there once");
        Comm::new(group, None, Topology::None)
    }

    fn new(local: Group, remote: Option<Group>, topology: Topology) -> Comm {
        let members = local.members().chain(remote.iter().flat_map(Group::members)).collect();
        Comm { local, remote, members, topology }
    }

    /// Two groups.
    pub fn two(one: &Group, other: &Group) -> Comm {
        let swapped = other.member(0) < one.member(0);
        let (local, remote) = if swapped { (other, one) } else { (one, other) };
        Comm::new(local.clone(), Some(remote.clone()), Topology::None)
    }

    /// The group of `me`, and the group in which its peers are.
    fn sides(&self, me: u32) -> (&Group, &Group) {
        match &self.remote {
            None => (&self.local, &self.local),
            Some(remote) if self.local.rank_of(me).is_some() => (&self.local, remote),
            Some(remote) => (remote, &self.local),
        }
    }

    /// The rank of `me` in it.
    pub fn rank_of(&self, me: u32) -> Option<u32> {
        self.sides(me).0.rank_of(me)
    }

    /// Whom `me` means by a rank.
    pub fn peer(&self, me: u32, rank: u32) -> Option<u32> {
        self.sides(me).1.member(rank)
    }

    /// All members, those of the first group first.
    pub fn members(&self) -> &Arc<[u32]> {
        &self.members
    }

    /// Where a rank of the world stands among all members.
    pub fn place_of(&self, rank: u32) -> Option<usize> {
        let in_remote = || Some(self.local.size() + self.remote.as_ref()?.rank_of(rank)?);
        self.local.rank_of(rank).or_else(in_remote).map(|place| place as usize)
    }

    /// Who sends to the member at `place` in a collective over neighbours.
    pub fn sources(&self, place: u32) -> Vec<u32> {
        match &self.topology {
            Topology::None => Vec::new(),
            Topology::Graph(all) => {
                all.get(place as usize).map_or(Vec::new(), |around| around.sources.clone())
            }
            Topology::Grid(grid) => {
                let here = coordinates(place, &grid.sizes);
                let mut around = Vec::new();
                for (dimension, (&size, &periodic)) in grid.sizes.iter().zip(&grid.periodic).enumerate() {
                    for step in [size - 1, 1] {
                        let to = here[dimension] + step;
                        let inside = if step == 1 { to < size } else { here[dimension] > 0 };
                        if periodic || inside {
                            let mut there = here.clone();
                            there[dimension] = to % size;
                            around.push(place_of(&there, &grid.sizes));
                        }
                    }
                }
                around
            }
        }
    }

    /// What its members make together, who `asked` by place.
    pub fn make(&self, asked: &[NewComm], hosts: &[String]) -> Result<Vec<Comm>, String> {
        match asked {
            [NewComm::Dup, ..] => return Ok(vec![self.clone()]),
            [NewComm::Inter(groups, _), ..] => return Ok(vec![Comm::two(&groups.local, &groups.remote)]),
            [NewComm::Merge { high }, ..] => {
                let Some(remote) = &self.remote else { return Err("merges a single group".into()) };
                let other = asked.get(self.local.size() as usize);
                let swapped = *high && matches!(other, Some(NewComm::Merge { high: false }));
                let (first, last) = if swapped { (remote, &self.local) } else { (&self.local, remote) };
                return Ok(vec![Comm::of(first.members().chain(last.members()).collect())]);
            }
            _ if self.remote.is_some() => {
                return Err("makes a part of an inter-communicator, which is not followed".into());
            }
            _ => {}
        }
        let mut parts: BTreeMap<i64, Vec<(i64, u32)>> = BTreeMap::new();
        for (one, place) in asked.iter().zip(0..) {
            if let Some((colour, key)) = self.part(one, place, hosts)? {
                parts.entry(colour).or_default().push((key, place));
            }
        }
        Ok(parts.into_values().map(|part| self.made(part, asked)).collect())
    }

    /// Which of the new communicators the member at `place` is in, and its order there.
    fn part(&self, asked: &NewComm, place: u32, hosts: &[String]) -> Result<Option<(i64, i64)>, String> {
        let position = |list: &[u32]| {
            let at = list.iter().position(|&member| member == place)?;
            Some((i64::from(list[0]), at as i64))
        };
        Ok(match asked {
            NewComm::Split { colour, key } => colour.map(|colour| (colour, *key)),
            NewComm::SplitHost { key } => {
                let host = |place| self.local.member(place).and_then(|rank| hosts.get(rank as usize));
                let first = (0..self.local.size()).find(|&other| host(other) == host(place));
                first.map(|first| (first.into(), *key))
            }
            NewComm::Create(list) | NewComm::CreateGroup(list, _) => position(list),
            NewComm::Cart(grid) => {
                let count = grid.sizes.iter().fold(1_u64, |count, &size| count.saturating_mul(size.into()));
                (u64::from(place) < count).then_some((0, place.into()))
            }
            NewComm::CartSub(keep) => {
                let Topology::Grid(grid) = &self.topology else {
                    return Err("takes a part of a grid, but this communicator is none".into());
                };
                let here = coordinates(place, &grid.sizes);
                let index = |kept: bool| {
                    let of = here.iter().zip(&grid.sizes).zip(keep.iter().chain(std::iter::repeat(&false)));
                    of.filter(|(_, keep)| **keep == kept)
                        .fold(0, |index, ((&at, &size), _)| index * i64::from(size) + i64::from(at))
                };
                Some((index(false), index(true)))
            }
            NewComm::Graph(_) => Some((0, place.into())),
            NewComm::OutsideGraph | NewComm::Dup | NewComm::Inter(..) | NewComm::Merge { .. } => None,
        })
    }

    fn made(&self, mut part: Vec<(i64, u32)>, asked: &[NewComm]) -> Comm {
        part.sort_unstable();
        let places = || part.iter().map(|(_, place)| *place);
        let topology = match places().next().map(|place| &asked[place as usize]) {
            Some(NewComm::Cart(grid)) => Topology::Grid(grid.clone()),
            Some(NewComm::CartSub(keep)) => match &self.topology {
                Topology::Grid(grid) => Topology::Grid(Arc::new(kept(grid, keep))),
                _ => Topology::None,
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

fn kept(grid: &CartGrid, keep: &[bool]) -> CartGrid {
    let kept = |at: &usize| keep.get(*at).copied().unwrap_or(false);
    let dimensions = || (0..grid.sizes.len()).filter(kept);
    CartGrid {
        sizes: dimensions().map(|at| grid.sizes[at]).collect(),
        periodic: dimensions().map(|at| grid.periodic.get(at).copied().unwrap_or(false)).collect(),
    }
}

/// Row-major: the last dimension is the fastest.
fn coordinates(mut place: u32, sizes: &[u32]) -> Vec<u32> {
    let mut here: Vec<u32> = sizes
        .iter()
        .rev()
        .map(|&size| {
            let at = place % size.max(1);
            place /= size.max(1);
            at
        })
        .collect();
    here.reverse();
    here
}

fn place_of(here: &[u32], sizes: &[u32]) -> u32 {
    here.iter().zip(sizes).fold(0, |place, (&at, &size)| place * size + at)
}
