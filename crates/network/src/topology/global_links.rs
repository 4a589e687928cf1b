//! Global links between all pairs of groups of a network, for dragonflies of every kind.
//!
//! Of a group's routers a have global ports, the gates: all routers of a dragonfly, the spines of a Dragonfly+. How ports are
//! numbered and where they lead is said at the head of [`super::dragonfly`].
//!
//! Source: Hastings et al., "Comparing global link arrangements for dragonfly networks" (CLUSTER 2015).

use std::ops::Range;
use std::sync::Arc;

use engine::registry::{Arguments, BuildError, Kind, Parameter};

use super::{LinkId, Rates};

const COUNT: Kind = Kind::Integer(1, 1 << 20);

pub(super) const GROUPS: Parameter = Parameter {
    name: "groups",
    kind: COUNT,
    default: Some(""),
    summary: "g; missing: as many as one global link to each allows, a h + 1",
};
pub(super) const PER_PAIR: Parameter = Parameter {
    name: "global_links_per_pair",
    kind: COUNT,
    default: Some(""),
    summary: "n, parallel links between two groups; missing: as many as the ports allow",
};
pub(super) const ARRANGEMENT: Parameter = Parameter {
    name: "arrangement",
    kind: Kind::Choice(&["absolute", "relative", "circulant"]),
    default: Some("\"absolute\""),
    summary: "which global port leads to which group",
};

/// Assignment of global ports to groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Arrangement {
    Absolute,
    Relative,
    Circulant,
}

/// The global links of a network of groups; its routers with global ports are called gates here.
#[derive(Debug, Clone)]
pub struct GlobalLinks {
    groups: u32,
    /// a
    gates: u32,
    /// n
    copies: u32,
    /// The gate of its group that has each global port; q of them.
    gate_of: Arc<[u32]>,
    arrangement: Arrangement,
    first: u32,
}

/// The number of groups, and of links between two of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counts {
    pub groups: u64,
    pub copies: u64,
}

impl Counts {
    /// Reads the counts of groups with `gates` gates of at most `each` global links.
    pub fn read(arguments: &Arguments, gates: u64, each: u64) -> Result<Counts, BuildError> {
        let count = |name| arguments.integer(name).map(|value| value as u64);
        let (a, h) = (gates, each);
        let g = count("groups").unwrap_or(a * h + 1);
        if g > a * h + 1 {
            let reason = format!(
                "{g} groups, but a group has {a} x {h} = {} global links; at most {} groups can be connected",
                a * h,
                a * h + 1
            );
            return Err(BuildError::new("groups", reason));
        }
        let most = if g == 1 { 1 } else { a * h / (g - 1) };
        let n = count("global_links_per_pair").unwrap_or(most);
        if n > most {
            let reason = format!(
                "{n} links to each of {} groups need more ports than {a} x {h}; at most {most}",
                g - 1
            );
            return Err(BuildError::new("global_links_per_pair", reason));
        }
        Ok(Counts { groups: g, copies: n })
    }
}

impl GlobalLinks {
    /// Between groups with `gates` gates each; `first` is the number of the first link.
    pub(super) fn new(arguments: &Arguments, counts: Counts, gates: u64, first: u32) -> GlobalLinks {
        let ports = counts.copies * (counts.groups - 1);
        GlobalLinks {
            groups: counts.groups as u32,
            gates: gates as u32,
            copies: counts.copies as u32,
            // Ports are spread evenly over the gates of a group.
            gate_of: (0..ports).map(|port| (port * gates / ports) as u32).collect(),
            arrangement: match arguments.text("arrangement").as_deref() {
                Some("relative") => Arrangement::Relative,
                Some("circulant") => Arrangement::Circulant,
                _ => Arrangement::Absolute,
            },
            first,
        }
    }

    /// g
    pub fn groups(&self) -> u32 {
        self.groups
    }
    /// n
    pub fn copies(&self) -> u32 {
        self.copies
    }
    /// Checks that a link between routers is one of these, which come last.
    pub fn holds(&self, link: LinkId) -> bool {
        link.0 >= self.first
    }

    /// Link number `copy` from `group` to `target`, with the gates at its ends.
    pub fn link(&self, group: u32, target: u32, copy: u32) -> (LinkId, u32, u32) {
        let start = copy * (self.groups - 1);
        let port = start + self.slot(group, target);
        let back = start + self.slot(target, group);
        let link = LinkId(self.first + group * self.ports() + port);
        (link, self.gate_of[port as usize], self.gate_of[back as usize])
    }

    /// The gates at the ends of each link from `group` to `target`, by its copy.
    #[inline]
    pub fn between(&self, group: u32, target: u32) -> impl Iterator<Item = (u32, u32)> + Clone + '_ {
        let from = |slot: u32| self.gate_of[slot as usize..].iter().step_by(self.groups as usize - 1);
        from(self.slot(group, target)).copied().zip(from(self.slot(target, group)).copied())
    }

    /// Group and gate at both ends of a link.
    pub fn ends(&self, id: LinkId) -> [(u32, u32); 2] {
        let index = id.0 - self.first;
        let (group, port) = (index / self.ports(), index % self.ports());
        let (copy, slot) = (port / (self.groups - 1), port % (self.groups - 1));
        let target = self.target(group, slot);
        let (link, from, to) = self.link(group, target, copy);
        debug_assert_eq!(link, id);
        [(group, from), (target, to)]
    }

    /// The links that leave a gate.
    pub fn leaving(&self, group: u32, gate: u32) -> Range<u32> {
        let first = self.first + group * self.ports();
        first + self.first_port(gate)..first + self.first_port(gate + 1)
    }

    /// The slot of `group` that leads to `target`.
    fn slot(&self, group: u32, target: u32) -> u32 {
        let ahead = if target > group { target - group } else { target + self.groups - group };
        match self.arrangement {
            Arrangement::Absolute => target - u32::from(target > group),
            Arrangement::Relative => ahead - 1,
            Arrangement::Circulant if ahead * 2 <= self.groups => 2 * (ahead - 1),
            Arrangement::Circulant => 2 * (self.groups - ahead) - 1,
        }
    }

    /// The group to which slot `slot` of `group` leads.
    fn target(&self, group: u32, slot: u32) -> u32 {
        let ahead = match self.arrangement {
            Arrangement::Absolute => return slot + u32::from(slot >= group),
            Arrangement::Relative => slot + 1,
            Arrangement::Circulant if slot % 2 == 0 => slot / 2 + 1,
            Arrangement::Circulant => self.groups - slot.div_ceil(2),
        };
        (group + ahead) % self.groups
    }

    /// q, the global ports of a group.
    fn ports(&self) -> u32 {
        self.gate_of.len() as u32
    }

    /// The first global port of a gate.
    fn first_port(&self, gate: u32) -> u32 {
        (u64::from(gate) * self.gate_of.len() as u64).div_ceil(self.gates.into()) as u32
    }
}

/// The rates that the arguments `bandwidth` and `latency` name, `missing` where they are silent.
pub(super) fn rates(
    arguments: &Arguments,
    bandwidth: &'static str,
    latency: &str,
    missing: Rates,
) -> Result<Rates, BuildError> {
    let given = Rates {
        bandwidth: arguments.bandwidth(bandwidth).unwrap_or(missing.bandwidth),
        latency: arguments.time(latency).unwrap_or(missing.latency),
    };
    if given.bandwidth.0 == 0 {
        return Err(BuildError::new(bandwidth, "0 B/s carries nothing; write more, or \"infinite\""));
    }
    Ok(given)
}
