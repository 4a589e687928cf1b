//! Every rank sends to one fixed partner of a random permutation without fixed points.
//!
//! The permutation is one random cycle through all ranks (Sattolo's algorithm), so nobody sends to
//! itself. Source: Sattolo, "An algorithm to generate a random cyclic permutation" (IPL 22, 1986).

use engine::random::stream;
use engine::registry::{Arguments, BuildError, Entry};
use mpi::Op;
use rand::Rng;

use super::{Build, COMMON, Common, Pattern, Setting, at_least, receive, send};

pub(super) const ENTRY: Entry<Build> = Entry {
    name: "permutation",
    summary: "each rank sends to its partner in a random permutation",
    source: "Dally and Towles, Principles and Practices of Interconnection Networks (2004), section 3.2",
    parameters: COMMON,
    examples: &[""],
    build,
};

struct Permutation {
    common: Common,
    to: Vec<u32>,
    from: Vec<u32>,
}

/// A random cyclic order of all ranks: `order[i]` is followed by `order[i + 1]`.
fn build(arguments: &Arguments, setting: Setting) -> Result<Box<dyn Pattern>, BuildError> {
    at_least(setting.ranks, 2, "permutation")?;
    let mut random = stream(setting.seed, "permutation", 0);
    let mut to: Vec<u32> = (0..setting.ranks).collect();
    for last in (1..to.len()).rev() {
        to.swap(last, random.random_range(0..last));
    }
    let mut from = vec![0; to.len()];
    for (rank, partner) in to.iter().enumerate() {
        from[*partner as usize] = rank as u32;
    }
    Ok(Box::new(Permutation { common: Common::of(arguments), to, from }))
}

impl Pattern for Permutation {
    fn op(&self, rank: u32, step: u32) -> Option<Op> {
        let (_, within) = self.common.locate(step, 1)?;
        if within == 1 {
            return Some(self.common.work());
        }
        let (to, from) = (self.to[rank as usize], self.from[rank as usize]);
        Some(Op::SendReceive(send(to, 0, self.common.bytes), receive(from, 0, self.common.bytes)))
    }
}
