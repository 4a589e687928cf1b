//! Levels inside hosts by which a compiled program can split a communicator: those of `host.levels`, and the sockets where
//! a host has several.

use network::Endpoint;

use crate::config::Platform;

/// Groups of the ranks of a run that are together at one level of their host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HardwareLevel {
    /// Name: `socket`, `numa`.
    pub name: String,
    /// Number of the group of each rank among those of all hosts.
    pub group_of_rank: Vec<u32>,
}

/// Name of the level of the sockets.
const SOCKET: &str = "socket";

/// Levels of the hosts of `platform` with ranks in these places, from the outermost inwards.
pub fn hardware_levels(platform: &Platform, placement: &[Endpoint]) -> Vec<HardwareLevel> {
    let (sockets, hosts) = (platform.processor().sockets, platform.host_parameters());
    let in_host = |endpoint: &Endpoint, groups: u32, group: u16| endpoint.host.0 * groups + u32::from(group);
    let mut levels: Vec<(u32, HardwareLevel)> = Vec::new();
    for level in hosts.memory.levels().iter().rev() {
        let group = |at: &Endpoint| in_host(at, level.groups(), level.group_of_slot[usize::from(at.process)]);
        let group_of_rank = placement.iter().map(group).collect();
        levels.push((level.groups(), HardwareLevel { name: level.name.clone(), group_of_rank }));
    }
    if sockets.count > 1 && levels.iter().all(|(_, level)| level.name != SOCKET) {
        let count = u32::from(sockets.count);
        let group = |at: &Endpoint| in_host(at, count, sockets.of_slot(at.process, hosts.processes));
        let group_of_rank = placement.iter().map(group).collect();
        let inside = levels.partition_point(|(groups, _)| *groups < count);
        levels.insert(inside, (count, HardwareLevel { name: SOCKET.to_string(), group_of_rank }));
    }
    levels.into_iter().map(|(_, level)| level).collect()
}
