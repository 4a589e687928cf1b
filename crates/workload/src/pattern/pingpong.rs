//! Two ranks send one message back and forth: latency and bandwidth of one path.
//!
//! Closed form on an idle network: `makespan = 2 · iterations · T(bytes)`.

use engine::registry::{Arguments, BuildError, Entry, Kind, Parameter};
use mpi::Op;
use mpi::operation::Start;

use super::{BYTES, Build, COMPUTE, Common, ITERATIONS, MEMORY, Pattern, Setting, at_least, receive, send};

pub(super) const ENTRY: Entry<Build> = Entry {
    name: "pingpong",
    summary: "two ranks send one message back and forth",
    source: "Hockney, The communication challenge for MPP (Parallel Computing 20, 1994)",
    parameters: &[
        BYTES,
        ITERATIONS,
        COMPUTE,
        MEMORY,
        Parameter {
            name: "partner",
            kind: Kind::Integer(1, u32::MAX as i64),
            default: Some("1"),
            summary: "the rank that answers rank 0; all others do nothing",
        },
    ],
    examples: &[""],
    build,
};

struct PingPong {
    common: Common,
    partner: u32,
}

fn build(arguments: &Arguments, setting: Setting) -> Result<Box<dyn Pattern>, BuildError> {
    at_least(setting.ranks, 2, "pingpong")?;
    let partner = arguments.integer("partner").expect("partner has a default") as u32;
    if partner >= setting.ranks {
        let reason = format!("rank {partner} is not below the number of ranks, {}", setting.ranks);
        return Err(BuildError::new("partner", reason));
    }
    Ok(Box::new(PingPong { common: Common::of(arguments), partner }))
}

impl Pattern for PingPong {
    fn op(&self, rank: u32, step: u32) -> Option<Op> {
        let other = match rank {
            0 => self.partner,
            rank if rank == self.partner => 0,
            _ => return None,
        };
        let (_, within) = self.common.locate(step, 2)?;
        let sends = (within == 0) == (rank == 0);
        Some(match within {
            2 => self.common.work(),
            _ if sends => Op::Send(send(other, 0, self.common.bytes), Start::Blocking),
            _ => Op::Receive(receive(other, 0, self.common.bytes), Start::Blocking),
        })
    }
}
