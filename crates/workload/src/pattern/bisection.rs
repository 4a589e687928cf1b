//! Each rank of the lower half exchanges with its partner half the ranks away: the traffic that
//! crosses the middle of a network. With an odd number of ranks the last one only computes.

use engine::registry::{Arguments, BuildError, Entry};
use mpi::Op;

use super::{Build, COMMON, Common, Pattern, Setting, at_least, receive, send};

pub(super) const ENTRY: Entry<Build> = Entry {
    name: "bisection",
    summary: "each rank exchanges with the one half the ranks away",
    source: "effective bisection bandwidth's worst cut for linear placements (Hoefler, Schneider, Lumsdaine 2008)",
    parameters: COMMON,
    examples: &[""],
    build,
};

struct Bisection {
    common: Common,
    half: u32,
}

fn build(arguments: &Arguments, setting: Setting) -> Result<Box<dyn Pattern>, BuildError> {
    at_least(setting.ranks, 2, "bisection")?;
    Ok(Box::new(Bisection { common: Common::of(arguments), half: setting.ranks / 2 }))
}

impl Pattern for Bisection {
    fn op(&self, rank: u32, step: u32) -> Option<Op> {
        let (_, within) = self.common.locate(step, 1)?;
        if within == 1 || rank >= 2 * self.half {
            return Some(self.common.work());
        }
        let partner = if rank < self.half { rank + self.half } else { rank - self.half };
        Some(Op::SendReceive(send(partner, 0, self.common.bytes), receive(partner, 0, self.common.bytes)))
    }
}
