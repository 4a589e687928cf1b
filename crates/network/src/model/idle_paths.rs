//! Idle paths that were asked for lately, so that they need not be found again: the way through some networks is long to
//! find, messages mostly go to the same few hosts, and one that waits for its receiver asks several times.
//!
//! Each pair of hosts has one place, which it shares with others; the last that asked has it. What an idle path is depends
//! on its hosts alone, so that nothing shows whether it was kept.

use std::cell::Cell;

use crate::Fabric;
use crate::topology::{HostId, Idle};

/// Most places \[binary logarithm\]: some 400 KiB.
const MOST: u32 = 14;

/// The idle paths of a fabric.
pub(super) struct IdlePaths {
    places: Box<[Cell<Kept>]>,
    /// Lower bits of a hash, which name no place.
    shift: u32,
}

#[derive(Clone, Copy)]
struct Kept {
    /// Both hosts, or [`NOBODY`].
    pair: u64,
    idle: Idle,
}

/// Nobody's pair: hosts are fewer than 2^32 - 1.
const NOBODY: u64 = u64::MAX;

/// 2^64 over the golden ratio, odd: products with it differ in their upper bits (Knuth, "Sorting and Searching", 6.4).
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

impl IdlePaths {
    /// Nothing yet, for `hosts` hosts.
    pub fn new(hosts: u32) -> IdlePaths {
        let pairs = u64::from(hosts).saturating_mul(u64::from(hosts));
        let bits = pairs.max(2).next_power_of_two().trailing_zeros().min(MOST);
        let idle = Idle { latency: engine::Duration::ZERO, bandwidth: engine::Bandwidth::INFINITE };
        let nobody = Cell::new(Kept { pair: NOBODY, idle });
        IdlePaths { places: vec![nobody; 1 << bits].into(), shift: u64::BITS - bits }
    }

    /// The idle path from `from` to `to` on `fabric`, always the same one.
    #[inline]
    pub fn between(&self, fabric: &Fabric, from: HostId, to: HostId) -> Idle {
        let pair = u64::from(from.0) << 32 | u64::from(to.0);
        let place = &self.places[(pair.wrapping_mul(SPREAD) >> self.shift) as usize];
        let kept = place.get();
        if kept.pair == pair {
            return kept.idle;
        }
        let idle = fabric.idle(from, to);
        place.set(Kept { pair, idle });
        idle
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use engine::registry::{Arguments, Value, find};
    use engine::{Bandwidth, Duration};

    use super::*;
    use crate::routing::ROUTINGS;
    use crate::topology::{LinkDefaults, TOPOLOGIES};

    #[test]
    fn pairs_that_share_a_place_keep_their_own_paths() {
        let links = LinkDefaults {
            bandwidth: Bandwidth(10_000_000_000),
            latency: Duration::from_ns(100),
            host_bandwidth: Bandwidth(12_000_000_000),
            host_latency: Duration::from_ns(50),
        };
        let sizes = Value::List(vec![Value::Integer(6), Value::Integer(5)]);
        let arguments = Arguments(BTreeMap::from([("sizes", sizes)]));
        let topology = (find(TOPOLOGIES, "topology", "mesh").unwrap().build)(&arguments, &links).unwrap();
        let routing = find(ROUTINGS, "routing", topology.default_routing()).unwrap();
        let routing = (routing.build)(&Arguments::default(), &*topology, 0).unwrap();
        let (fabric, hosts) = (Fabric { topology, routing }, 30);
        // Sixteen places for 870 pairs of thirty hosts.
        let few = IdlePaths::new(3);
        let mut lengths = BTreeMap::new();
        for round in 0..2 {
            for (from, to) in (0..hosts).flat_map(|from| (0..hosts).map(move |to| (HostId(from), HostId(to))))
            {
                let (found, kept) = (few.between(&fabric, from, to), few.between(&fabric, from, to));
                assert_eq!([found, kept], [fabric.idle(from, to); 2], "{from:?} to {to:?} in round {round}");
                *lengths.entry(found.latency).or_insert(0) += 1;
            }
        }
        assert!(lengths.len() > 5, "paths of different lengths");
    }
}
