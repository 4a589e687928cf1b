//! Kinds of hardware inside hosts, by which a program can split a communicator.

use sim::HardwareLevel;

/// A kind of hardware inside hosts: their sockets, or another level.
pub struct HardwareResource {
    /// Name in MPI's hints: `hopcast://socket`.
    pub name: Vec<u8>,
    /// The one of each rank, among those of all hosts.
    pub part_of_rank: Vec<u32>,
}

impl HardwareResource {
    /// Resources of these levels.
    pub fn of(levels: Vec<HardwareLevel>) -> Vec<HardwareResource> {
        let resource = |level: HardwareLevel| HardwareResource {
            name: format!("hopcast://{}", level.name).into_bytes(),
            part_of_rank: level.group_of_rank,
        };
        levels.into_iter().map(resource).collect()
    }

    /// The part of a rank of the run.
    pub fn part(&self, rank: u32) -> u32 {
        self.part_of_rank[rank as usize]
    }
}
