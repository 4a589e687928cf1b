//! Regions: neighbouring positions of a class of links, put together so that even the largest machine has few.
//!
//! What a position is, the topology says ([`Topology::positions`]): a coordinate along the dimension on grids,
//! a router of the lower level on trees, a group on dragonflies, a router elsewhere and for hosts' links.

use super::LEAST_PERIODS;
use crate::topology::{LinkId, Positions, Topology};

/// Regions of a class, at the most.
pub const MOST_REGIONS: u32 = 64;

/// The regions of a network, numbered class by class.
#[derive(Debug, Clone)]
pub struct Regions {
    classes: Vec<Class>,
    count: u32,
}

#[derive(Debug, Clone)]
struct Class {
    first: u32,
    /// Positions in a region.
    block: u32,
    positions: Positions,
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Region {
    /// Its class of links.
    pub class: u16,
    /// Name of a position, such as "x" or "group".
    pub positions_of: String,
    /// The first of its positions,
    pub first: u32,
    /// and the last.
    pub last: u32,
}

impl Regions {
    /// As fine as [`MOST_REGIONS`] and [`LEAST_PERIODS`] periods in `rows` rows allow; one for each class at
    /// the least.
    pub fn of(topology: &dyn Topology, rows: u32) -> Regions {
        let names = topology.classes();
        let most = (rows / LEAST_PERIODS / names.len() as u32).clamp(1, MOST_REGIONS);
        let mut count = 0;
        let class = |class| {
            let positions = topology.positions(class);
            let (first, block) = (count, positions.count.max(1).div_ceil(most));
            count += positions.count.max(1).div_ceil(block);
            Class { first, block, positions }
        };
        let classes = (0..names.len() as u16).map(class).collect();
        Regions { classes, count }
    }

    /// Number of regions.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// That of a link.
    pub fn of_link(&self, topology: &dyn Topology, link: LinkId) -> u32 {
        let class = &self.classes[topology.link(link).class as usize];
        class.first + topology.position(link) / class.block
    }

    /// The one with a number below [`Regions::count`].
    pub fn get(&self, number: u32) -> Region {
        let place = self.classes.partition_point(|class| class.first <= number) - 1;
        let Class { first, block, positions } = &self.classes[place];
        let begin = (number - first) * block;
        Region {
            class: place as u16,
            positions_of: positions.of.clone(),
            first: begin,
            last: (begin + block).min(positions.count) - 1,
        }
    }
}
