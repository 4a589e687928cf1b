//! Ranks of the run, derived from the definitions: the location of each rank's events, its host, its communicators.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::hash::Map;

use super::archive::{Definitions, Group, GroupKind};
use super::names;
use crate::trace::error::TraceError;

/// The members of a communicator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Members {
    /// All ranks of the run, in order: MPI_COMM_WORLD.
    World,
    /// Each process alone (MPI_COMM_SELF).
    Alone,
    /// Members as ranks of the world, in the communicator's order.
    Ranks(Arc<[u32]>),
}

/// Ranks, hosts and communicators of the run.
#[derive(Debug, Clone)]
pub(super) struct Ranks {
    /// Location with each rank's events.
    pub locations: Vec<u64>,
    /// Name of each rank's host.
    pub hosts: Vec<String>,
    /// Members of communicators, by number.
    pub comms: BTreeMap<u32, Members>,
    /// MPI functions among the regions.
    pub functions: Arc<Map<u32, &'static str>>,
    /// Number of locations with events that belong to no rank.
    pub others: usize,
}

impl Ranks {
    /// Derives the ranks from `definitions`, which are those of `file`.
    pub(super) fn new(definitions: &Definitions, file: &str) -> Result<Ranks, TraceError> {
        let error = |reason: String| TraceError::new(file, reason);
        let ranked = |group: &&Group| matches!(group.kind, GroupKind::Ranks | GroupKind::RankProcesses);
        let all = definitions.groups.values().find(ranked).filter(|group| !group.members.is_empty());
        let all = all.ok_or_else(|| {
            let count = definitions.locations.len();
            error(format!("none of the {count} locations is a rank of MPI: nothing can be replayed"))
        })?;
        let locations = locations(definitions, all).map_err(error)?;
        let mut hosts = Vec::with_capacity(locations.len());
        for location in &locations {
            let known = definitions.locations.get(location);
            let process = known.ok_or_else(|| error(format!("location {location} is not defined")))?.process;
            let node = definitions.processes.get(&process).and_then(|node| definitions.nodes.get(node));
            hosts.push(node.map_or(String::new(), |name| definitions.string(*name).to_string()));
        }
        let regions = definitions.regions.iter().map(|(region, name)| (*region, definitions.string(*name)));
        let functions = regions.filter(|(_, name)| name.starts_with("MPI_"));
        let functions = Arc::new(functions.map(|(region, name)| (region, names::known(name))).collect());
        let with_events = definitions.locations.iter().filter(|(_, location)| location.events > 0);
        let mut sorted = locations.clone();
        sorted.sort_unstable();
        let others = with_events.filter(|(number, _)| sorted.binary_search(number).is_err()).count();
        let comms = comms(definitions, &locations).map_err(error)?;
        Ok(Ranks { locations, hosts, comms, functions, others })
    }

    /// Number of ranks.
    pub(super) fn count(&self) -> u32 {
        self.locations.len() as u32
    }

    /// Place of `rank` in a communicator, and the communicator's size.
    pub(super) fn place(&self, members: &Members, rank: u32) -> Option<(u32, u32)> {
        match members {
            Members::World => Some((rank, self.count())),
            Members::Alone => Some((0, 1)),
            Members::Ranks(ranks) => {
                let place = ranks.iter().position(|member| *member == rank)?;
                Some((place as u32, ranks.len() as u32))
            }
        }
    }
}

/// Location of each rank.
fn locations(definitions: &Definitions, all: &Group) -> Result<Vec<u64>, String> {
    if all.kind == GroupKind::Ranks {
        return Ok(all.members.clone());
    }
    // The MPI calls of a process are those of its first thread.
    let mut first: BTreeMap<u64, u64> = BTreeMap::new();
    for (number, location) in definitions.locations.iter().filter(|(_, location)| location.is_thread) {
        first.entry(location.process.into()).or_insert(*number);
    }
    let of = |process: &u64| {
        first.get(process).copied().ok_or_else(|| format!("process {process} is a rank, but has no thread"))
    };
    all.members.iter().map(of).collect()
}

fn comms(definitions: &Definitions, locations: &[u64]) -> Result<BTreeMap<u32, Members>, String> {
    let rank_of: BTreeMap<u64, u32> =
        locations.iter().enumerate().map(|(rank, location)| (*location, rank as u32)).collect();
    let mut comms = BTreeMap::new();
    let is_all = |ranks: &[u32]| ranks.len() == locations.len() && ranks.is_sorted();
    let mut world: Option<(u32, bool)> = None;
    for (&number, &(name, group)) in &definitions.comms {
        let Some(group) = definitions.groups.get(&group) else { continue };
        let members = match group.kind {
            GroupKind::Alone => Members::Alone,
            GroupKind::Ranks | GroupKind::RankProcesses => {
                Members::Ranks((0..locations.len() as u32).collect())
            }
            GroupKind::Some => {
                let rank = |member: &u64| {
                    let rank = if group.by_location {
                        rank_of.get(member).copied()
                    } else {
                        u32::try_from(*member).ok().filter(|rank| (*rank as usize) < locations.len())
                    };
                    rank.ok_or_else(|| {
                        format!("communicator {number} has member {member} of {} ranks", locations.len())
                    })
                };
                let ranks = group.members.iter().map(rank).collect::<Result<Vec<u32>, _>>()?;
                let mut sorted = ranks.clone();
                sorted.sort_unstable();
                if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
                    return Err(format!("communicator {number} has a rank twice among {ranks:?}"));
                }
                Members::Ranks(ranks.into())
            }
        };
        let is_named = definitions.string(name) == "MPI_COMM_WORLD";
        if matches!(&members, Members::Ranks(ranks) if is_all(ranks))
            && world.is_none_or(|(_, already)| is_named && !already)
        {
            world = Some((number, is_named));
        }
        comms.insert(number, members);
    }
    if let Some((number, _)) = world {
        comms.insert(number, Members::World);
    }
    Ok(comms)
}
