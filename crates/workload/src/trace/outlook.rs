//! Work ahead of a replay: what the calls of rank 0 come to, by the messages that each is for it.
//!
//! ```text
//! work(call) = 1 + messages,   messages = 1 for a send, ⌈log2 n⌉ for a collective,
//!                              n - 1 for an all-to-all of blocks of more than 256 B
//! ```
//!
//! The trace is read ahead as far as [`MOST_CALLS`]; of a longer one, the part that was read stands for the rest.
//! Assumes that ranks advance together, that communicators have all n ranks, and that a message is as much work
//! whatever its length: good enough for the time left.

use std::cell::OnceCell;

use engine::Bytes;
use mpi::collective::{Kind, Sizes};
use mpi::operation::CommId;
use mpi::{Issued, Op};

use super::error::TraceError;
use super::set::RankCalls;

/// A second of reading, at most.
const MOST_CALLS: u64 = 1 << 21;
/// Libraries exchange such blocks by Bruck's algorithm: MPICH those of up to 256 B.
const SHORT_BLOCK: Bytes = Bytes(256);
/// Numbers below are those of the world and of a rank alone.
const FIRST_COMM: u32 = 2;

/// Work of rank 0 in the calls that it has been given, and in all.
#[derive(Default)]
pub struct Outlook {
    ranks: u32,
    given: f64,
    all: OnceCell<Option<f64>>,
}

impl Outlook {
    /// Outlook of a run of so many ranks, at its beginning.
    pub fn new(ranks: u32) -> Outlook {
        Outlook { ranks, ..Outlook::default() }
    }

    /// The rank is given `op`.
    pub fn give(&mut self, op: &Op) {
        self.given += work(op, self.ranks);
    }

    /// The work so far, and that of all of the calls that `open` gives, for all ranks alike; `None` if they cannot be read.
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

/// Work of `op` for one of so many ranks.
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
