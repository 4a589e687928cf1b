//! Estimate of a replay's total work: the calls of rank 0, weighted by the messages of each.
//!
//! ```text
//! work(call) = 1 + messages,   messages = 1 for a send, ⌈log2 n⌉ for a collective,
//!                              n - 1 for an all-to-all of blocks of more than 256 B
//! ```
//!
//! At most [`MOST_CALLS`] of the trace are read; of a longer trace, this part stands for the rest. Assumes that ranks
//! advance together, that communicators have all n ranks, and that the work of a message does not depend on its
//! length: good enough to estimate the time left.

use std::cell::OnceCell;

use engine::Bytes;
use mpi::collective::{Kind, Sizes};
use mpi::operation::CommId;
use mpi::{Issued, Op};

use super::error::TraceError;
use super::set::RankCalls;

/// Most calls to read, which takes at most about a second.
const MOST_CALLS: u64 = 1 << 21;
/// Longest block that libraries exchange by Bruck's algorithm; 256 B in MPICH.
const SHORT_BLOCK: Bytes = Bytes(256);
/// First number of a new communicator: lower ones are the world and MPI_COMM_SELF.
const FIRST_COMM: u32 = 2;

/// Work of rank 0: in the operations issued so far, and in total.
#[derive(Default)]
pub struct Outlook {
    ranks: u32,
    given: f64,
    all: OnceCell<Option<f64>>,
}

impl Outlook {
    /// Begins the outlook of a run of `ranks` ranks.
    pub fn new(ranks: u32) -> Outlook {
        Outlook { ranks, ..Outlook::default() }
    }

    /// Counts `op`, which rank 0 has been given.
    pub fn give(&mut self, op: &Op) {
        self.given += work(op, self.ranks);
    }

    /// Issued and total work; `open` gives the calls that the total is summed over, and the sums count for all ranks
    /// alike. `None` if the calls cannot be read.
    pub fn issued(&self, open: impl FnOnce() -> Result<Box<dyn RankCalls>, TraceError>) -> Option<Issued> {
        let all = *self.all.get_or_init(|| self.read(&mut *open().ok()?).ok());
        let ranks = f64::from(self.ranks);
        all.map(|all| Issued { given: ranks * self.given.min(all), all: ranks * all })
    }

    fn read(&self, calls: &mut dyn RankCalls) -> Result<f64, TraceError> {
        let (mut all, mut comm) = (0.0, FIRST_COMM);
        for _ in 0..MOST_CALLS {
            let Some(step) = calls.next()? else { return Ok(all) };
            all += work(&step.op, self.ranks);
            if matches!(step.op, Op::NewComm(..)) {
                calls.made(CommId(comm));
                comm += 1;
            }
        }
        Ok(all / calls.share_read())
    }
}

/// Work of `op` for one of `ranks` ranks.
fn work(op: &Op, ranks: u32) -> f64 {
    let rounds = f64::from(ranks.next_power_of_two().trailing_zeros());
    let messages = match op {
        Op::Compute(_) | Op::SleepUntil(_) | Op::Finish => return 0.0,
        Op::Send(..) | Op::SendReceive(..) | Op::Access(..) => 1.0,
        Op::Start(requests) | Op::StartAs(requests, _) => requests.len() as f64,
        Op::Collective(call, _) => match (&call.sizes, call.kind) {
            (Sizes::Own { send, .. }, _) => send.len() as f64,
            (Sizes::Equal(bytes), Kind::Alltoall) if *bytes > SHORT_BLOCK => f64::from(ranks - 1),
            _ => rounds,
        },
        Op::NewComm(..) | Op::Finalize(_) => rounds,
        _ => 0.0,
    };
    1.0 + messages
}
