//! Copies between the processes of one host: their costs, by size and by the level of the host that holds both ends.
//!
//! ```text
//! level of a copy    the innermost whose group holds both processes; where none does, the host itself
//! ```
//!
//! A level divides the process slots into groups: cores with a cache in common, NUMA nodes, sockets. The copies of one
//! level within one group share its total bandwidth; copies of different levels, or in different groups, do not slow each
//! other. A process copies for one message after the other, or for several at the same time, as the model has it,
//! whatever their levels. A host without levels is one memory.

use std::ops::Range;

use engine::{Bandwidth, Bytes, Duration, LinearTime};

/// Copies between the processes of one host.
#[derive(Debug, Clone, PartialEq)]
pub struct Memory {
    /// Costs of the copies that no level holds, then of those of each level, from the innermost outwards. Those of each
    /// are in order of size, the last without limit: copies that fit into a cache are faster.
    pub regimes: Vec<MemoryRegime>,
    levels: Vec<MemoryLevel>,
}

/// Costs of a copy between two processes of one host. One of n bytes keeps the memory of its group busy for
/// `n / total_bandwidth`, whatever the regimes of the copies beside it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MemoryRegime {
    /// Up to and including this payload; the last regime has `Bytes(u64::MAX)`.
    pub up_to: Bytes,
    /// From the sender's store to the receiver's load.
    pub latency: Duration,
    /// Bandwidth of one copy between two processes.
    pub bandwidth: Bandwidth,
    /// Bandwidth of all such copies together: those of one group of the level, or of the host.
    pub total_bandwidth: Bandwidth,
    /// CPU time of the sending process for a message within the host; `None`: that of the host's regime for its size, else
    /// that of the message's [`crate::Regime`].
    pub send_overhead: Option<LinearTime>,
    /// CPU time of a call that begins to send within the host; `None`: `send_overhead`, else as there.
    pub isend_overhead: Option<LinearTime>,
    /// CPU time of the receiving process; `None`: as for `send_overhead`.
    pub receive_overhead: Option<LinearTime>,
}

/// Groups of the process slots of a host whose copies have costs of their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryLevel {
    /// Name for reports and programs: `socket`.
    pub name: String,
    /// The group of each process slot, from 0.
    pub group_of_slot: Vec<u16>,
    /// Its regimes among those of the memory.
    regimes: Range<usize>,
    /// Number of its first group among all groups of the host.
    first_group: u32,
}

impl MemoryLevel {
    /// Number of its groups in a host.
    pub fn groups(&self) -> u32 {
        self.group_of_slot.iter().max().map_or(0, |last| u32::from(*last) + 1)
    }

    /// True if a group holds both process slots.
    #[inline]
    pub fn holds(&self, one: u16, other: u16) -> bool {
        self.group_of_slot[usize::from(one)] == self.group_of_slot[usize::from(other)]
    }
}

/// A kind of memory: the host's own, or that of a level. The copies of these regimes share it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedMemory {
    /// Its regimes among those of the host's memory.
    pub regimes: Range<usize>,
    /// Number of such memories in a host.
    pub groups: u32,
}

impl Memory {
    /// Memory without levels, with regimes in order of size, the last without limit.
    pub fn new(regimes: Vec<MemoryRegime>) -> Memory {
        Memory { regimes, levels: Vec::new() }
    }

    /// Memory with one regime for copies of all sizes.
    pub fn uniform(latency: Duration, bandwidth: Bandwidth, total_bandwidth: Bandwidth) -> Memory {
        let regime = MemoryRegime {
            up_to: Bytes(u64::MAX),
            latency,
            bandwidth,
            total_bandwidth,
            send_overhead: None,
            isend_overhead: None,
            receive_overhead: None,
        };
        Memory::new(vec![regime])
    }

    /// Adds a level around those that there are, with its regimes in order of size, the last without limit.
    pub fn add_level(&mut self, name: String, group_of_slot: Vec<u16>, regimes: Vec<MemoryRegime>) {
        let (first, first_group) = (self.regimes.len(), self.groups());
        self.regimes.extend(regimes);
        let regimes = first..self.regimes.len();
        assert!(!regimes.is_empty() && regimes.end <= MOST_REGIMES, "a message names its regime in a byte");
        self.levels.push(MemoryLevel { name, group_of_slot, regimes, first_group });
    }

    /// Levels inside the host, from the innermost outwards.
    pub fn levels(&self) -> &[MemoryLevel] {
        &self.levels
    }

    /// True if some copies take processes a time of their own, not that of messages to other hosts.
    pub fn has_overheads(&self) -> bool {
        let own = |regime: &MemoryRegime| {
            [regime.send_overhead, regime.isend_overhead, regime.receive_overhead].iter().any(Option::is_some)
        };
        self.regimes.iter().any(own)
    }

    /// Index of the regime for a copy of `size` that no level holds.
    #[inline]
    pub fn regime_of(&self, size: Bytes) -> usize {
        self.regime_in(0..self.regimes.len(), size)
    }

    /// Index of the regime for a copy of `size` between two process slots.
    #[inline]
    pub fn regime_between(&self, one: u16, other: u16, size: Bytes) -> usize {
        match self.levels.iter().find(|level| level.holds(one, other)) {
            None => self.regime_of(size),
            Some(level) => self.regime_in(level.regimes.clone(), size),
        }
    }

    /// Index of the regime for a copy of `size` among those of the host or of one level.
    #[inline]
    pub fn regime_in(&self, among: Range<usize>, size: Bytes) -> usize {
        let first = among.start;
        let found = self.regimes[among].iter().position(|regime| size <= regime.up_to);
        first + found.expect("the last regime has no limit")
    }

    /// Level of the copies of a regime; `None`: the host itself.
    #[inline]
    pub fn level_of(&self, regime: u8) -> Option<&MemoryLevel> {
        self.levels.iter().find(|level| level.regimes.contains(&usize::from(regime)))
    }

    /// Number of memories in a host: its own, and one for each group of each level.
    pub fn groups(&self) -> u32 {
        self.levels.last().map_or(1, |level| level.first_group + level.groups())
    }

    /// Memory that a copy of `regime` by process `slot` shares, among those of its host: 0 is the host's own.
    #[inline]
    pub fn group_of(&self, regime: u8, slot: u16) -> u32 {
        let group =
            |level: &MemoryLevel| level.first_group + u32::from(level.group_of_slot[usize::from(slot)]);
        self.level_of(regime).map_or(0, group)
    }

    /// Kinds of memories in the order of the numbers of their groups.
    pub fn shared(&self) -> impl Iterator<Item = SharedMemory> {
        let own = self.levels.first().map_or(self.regimes.len(), |level| level.regimes.start);
        let inside = self
            .levels
            .iter()
            .map(|level| SharedMemory { regimes: level.regimes.clone(), groups: level.groups() });
        std::iter::once(SharedMemory { regimes: 0..own, groups: 1 }).chain(inside)
    }
}

/// Most regimes of a memory, those of all levels together.
pub const MOST_REGIMES: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    fn regime(up_to: u64, latency: u64) -> MemoryRegime {
        let mut regime =
            Memory::uniform(Duration(latency), Bandwidth::INFINITE, Bandwidth::INFINITE).regimes[0];
        regime.up_to = Bytes(up_to);
        regime
    }

    /// Two sockets of two pairs each; pairs have a cache for up to 100 B.
    fn memory() -> Memory {
        let mut memory = Memory::new(vec![regime(100, 50), regime(u64::MAX, 60)]);
        let pairs = vec![regime(100, 10), regime(u64::MAX, 20)];
        memory.add_level("pair".to_string(), (0..8).map(|slot| slot / 2).collect(), pairs);
        memory.add_level(
            "socket".to_string(),
            (0..8).map(|slot| slot / 4).collect(),
            vec![regime(u64::MAX, 30)],
        );
        memory
    }

    #[test]
    fn the_innermost_level_that_holds_both_has_the_copy() {
        let memory = memory();
        let latency =
            |one, other, size| memory.regimes[memory.regime_between(one, other, Bytes(size))].latency.0;
        assert_eq!([latency(2, 3, 100), latency(3, 2, 101), latency(3, 3, 1)], [10, 20, 10]);
        assert_eq!([latency(1, 2, 1), latency(4, 7, 1 << 40)], [30, 30]);
        assert_eq!([latency(3, 4, 100), latency(0, 7, 101)], [50, 60]);
    }

    #[test]
    fn each_group_of_each_level_is_a_memory_of_its_own() {
        let memory = memory();
        // The host, four pairs, two sockets.
        assert_eq!(memory.groups(), 7);
        let group = |one, other| memory.group_of(memory.regime_between(one, other, Bytes(1)) as u8, one);
        assert_eq!([group(0, 7), group(0, 1), group(7, 6), group(0, 2), group(4, 7)], [0, 1, 4, 5, 6]);
        let kinds: Vec<_> = memory.shared().map(|kind| (kind.regimes, kind.groups)).collect();
        assert_eq!(kinds, [(0..2, 1), (2..4, 4), (4..5, 2)]);
    }
}
