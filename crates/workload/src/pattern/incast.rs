//! All ranks send to one root at once: the worst a single ejection link can meet.
//!
//! Closed form for large messages: the root's link is the bottleneck,
//! `makespan ≥ iterations · (ranks - 1) · bytes / bandwidth of that link`.

use engine::registry::{Arguments, BuildError, Entry};
use mpi::Op;
use mpi::operation::Start;

use super::{Build, COMMON, Common, Pattern, Setting, at_least, receive_any, send};

pub(super) const ENTRY: Entry<Build> = Entry {
    name: "incast",
    summary: "all ranks send to rank 0 at once",
    source: "Phanishayee et al., TCP throughput collapse (FAST 2008)",
    parameters: COMMON,
    examples: &[""],
    build,
};

struct Incast {
    common: Common,
    ranks: u32,
}

fn build(arguments: &Arguments, setting: Setting) -> Result<Box<dyn Pattern>, BuildError> {
    at_least(setting.ranks, 2, "incast")?;
    Ok(Box::new(Incast { common: Common::of(arguments), ranks: setting.ranks }))
}

impl Pattern for Incast {
    fn op(&self, rank: u32, step: u32) -> Option<Op> {
        let length = if rank == 0 { self.ranks - 1 } else { 1 };
        let (_, within) = self.common.locate(step, length)?;
        Some(if within == length {
            self.common.work()
        } else if rank == 0 {
            Op::Receive(receive_any(0, self.common.bytes), Start::Blocking)
        } else {
            Op::Send(send(0, 0, self.common.bytes), Start::Blocking)
        })
    }
}
