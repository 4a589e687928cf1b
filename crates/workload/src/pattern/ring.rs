//! Every rank sends to the next and receives from the one before, around a ring.
//!
//! Step k: `sendrecv(to = rank + 1, from = rank - 1)` modulo the number of ranks.

use engine::registry::{Arguments, BuildError, Entry};
use mpi::Op;

use super::{Build, COMMON, Common, Pattern, Setting, at_least, receive, send};

pub(super) const ENTRY: Entry<Build> = Entry {
    name: "ring",
    summary: "each rank sends to the next and receives from the one before",
    source: "b_eff's natural ring (Koniges, Rabenseifner, Solchenbach 2001)",
    parameters: COMMON,
    examples: &[""],
    build,
};

struct Ring {
    common: Common,
    ranks: u32,
}

fn build(arguments: &Arguments, setting: Setting) -> Result<Box<dyn Pattern>, BuildError> {
    at_least(setting.ranks, 2, "ring")?;
    Ok(Box::new(Ring { common: Common::of(arguments), ranks: setting.ranks }))
}

impl Pattern for Ring {
    fn op(&self, rank: u32, step: u32) -> Option<Op> {
        let (_, within) = self.common.locate(step, 1)?;
        if within == 1 {
            return Some(self.common.work());
        }
        let (right, left) = ((rank + 1) % self.ranks, (rank + self.ranks - 1) % self.ranks);
        Some(Op::SendReceive(send(right, 0, self.common.bytes), receive(left, 0, self.common.bytes)))
    }
}
