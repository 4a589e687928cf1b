//! Every message goes to a destination drawn uniformly from all other ranks.
//!
//! The draws are made once, so each rank knows how many messages will come; it posts that many
//! receives from anyone, sends its own one after the other, and waits for the rest.

use std::sync::Arc;

use engine::random::stream;
use engine::registry::{Arguments, BuildError, Entry};
use mpi::Op;
use mpi::operation::{Request, Start, Until};
use rand::Rng;

use super::{Build, COMMON, Common, Pattern, Setting, at_least, posted, receive_any, send};

pub(super) const ENTRY: Entry<Build> = Entry {
    name: "uniform",
    summary: "each message goes to a random rank",
    source: "Dally and Towles, Principles and Practices of Interconnection Networks (2004), section 3.2",
    parameters: COMMON,
    examples: &[""],
    build,
};

struct Uniform {
    common: Common,
    seed: u64,
    ranks: u32,
    /// Number of messages that each rank receives.
    incoming: Vec<u32>,
}

fn build(arguments: &Arguments, setting: Setting) -> Result<Box<dyn Pattern>, BuildError> {
    at_least(setting.ranks, 2, "uniform")?;
    let mut uniform = Uniform {
        common: Common::of(arguments),
        seed: setting.seed,
        ranks: setting.ranks,
        incoming: vec![0; setting.ranks as usize],
    };
    for rank in 0..setting.ranks {
        for iteration in 0..uniform.common.iterations {
            let to = uniform.destination(rank, iteration);
            uniform.incoming[to as usize] += 1;
        }
    }
    Ok(Box::new(uniform))
}

impl Uniform {
    fn destination(&self, rank: u32, iteration: u32) -> u32 {
        let name = u64::from(rank) << 32 | u64::from(iteration);
        let drawn = stream(self.seed, "uniform", name).random_range(0..self.ranks - 1);
        if drawn < rank { drawn } else { drawn + 1 }
    }
}

impl Pattern for Uniform {
    fn op(&self, rank: u32, step: u32) -> Option<Op> {
        let incoming = self.incoming[rank as usize];
        if step < incoming {
            return Some(Op::Receive(receive_any(0, self.common.bytes), posted(step)));
        }
        match self.common.locate(step - incoming, 1) {
            Some((iteration, 0)) => {
                let to = self.destination(rank, iteration);
                Some(Op::Send(send(to, 0, self.common.bytes), Start::Blocking))
            }
            Some(_) => Some(self.common.work()),
            None => {
                let all: Arc<[Request]> = (0..incoming).map(Request).collect();
                let length = 1 + u32::from(self.common.computes());
                let last = incoming + self.common.iterations * length;
                (step == last && incoming > 0).then_some(Op::Wait(all, Until::All))
            }
        }
    }
}
