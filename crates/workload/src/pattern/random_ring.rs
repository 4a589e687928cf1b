//! HPCC's random ring: all ranks in a ring of random order, each exchanges with both neighbours.
//!
//! Each iteration takes a new order, begins with a barrier, posts both receives, sends to both
//! neighbours and waits for all four. HPCC's bandwidth per process is
//! `2 · bytes / time of the iteration`, as the geometric mean over ten orders.
//!
//! Source: Luszczek et al., "Introduction to the HPC Challenge benchmark suite" (2005); NSIM 5.1.

use std::sync::Arc;

use engine::random::stream;
use engine::registry::{Arguments, BuildError, Entry};
use mpi::Op;
use mpi::collective::Kind;
use mpi::operation::{Request, Start, Until};
use rand::seq::SliceRandom;

use super::collective::equal;
use super::{Build, COMMON, Common, Pattern, Setting, at_least, posted, receive, send};

pub(super) const ENTRY: Entry<Build> = Entry {
    name: "random-ring",
    summary: "HPCC's random ring: exchange with both neighbours in a random order, new in each iteration",
    source: "HPC Challenge benchmark suite (Luszczek et al. 2005)",
    parameters: COMMON,
    examples: &[""],
    build,
};

struct RandomRing {
    common: Common,
    /// For each iteration: the neighbours of each rank, `[left, right]`.
    neighbours: Vec<Vec<[u32; 2]>>,
    all: Arc<[Request]>,
}

fn build(arguments: &Arguments, setting: Setting) -> Result<Box<dyn Pattern>, BuildError> {
    at_least(setting.ranks, 2, "random-ring")?;
    let common = Common::of(arguments);
    if u64::from(common.iterations) * u64::from(setting.ranks) > 100_000_000 {
        let reason = format!("{} orders of {} ranks are too many to keep", common.iterations, setting.ranks);
        return Err(BuildError::new("iterations", reason));
    }
    let neighbours = (0..common.iterations).map(|i| order(setting, i)).collect();
    Ok(Box::new(RandomRing { common, neighbours, all: (0..4).map(Request).collect() }))
}

fn order(setting: Setting, iteration: u32) -> Vec<[u32; 2]> {
    let mut order: Vec<u32> = (0..setting.ranks).collect();
    order.shuffle(&mut stream(setting.seed, "random-ring", iteration.into()));
    let count = order.len();
    let mut neighbours = vec![[0; 2]; count];
    for (place, rank) in order.iter().enumerate() {
        neighbours[*rank as usize] = [order[(place + count - 1) % count], order[(place + 1) % count]];
    }
    neighbours
}

impl Pattern for RandomRing {
    fn op(&self, rank: u32, step: u32) -> Option<Op> {
        let (iteration, within) = self.common.locate(step, 6)?;
        let [left, right] = self.neighbours[iteration as usize][rank as usize];
        let bytes = self.common.bytes;
        Some(match within {
            0 => Op::Collective(Arc::new(equal(Kind::Barrier, engine::Bytes(0), None)), Start::Blocking),
            // Tag 0 travels to the right, tag 1 to the left.
            1 => Op::Receive(receive(left, 0, bytes), posted(0)),
            2 => Op::Receive(receive(right, 1, bytes), posted(1)),
            3 => Op::Send(send(right, 0, bytes), posted(2)),
            4 => Op::Send(send(left, 1, bytes), posted(3)),
            5 => Op::Wait(self.all.clone(), Until::All),
            _ => self.common.work(),
        })
    }
}
