//! Sources of operations: a trace, a pattern, a Python function, a C program on a fiber.

use std::sync::Arc;

use engine::Time;

use crate::communicator::Communicator;
use crate::operation::{CommId, Data, Op, Rank, Request, Tag};

/// Result of a rank's latest operation, which its source hears when it is asked for the next.
#[derive(Debug, Clone, PartialEq)]
pub struct Completion {
    /// The rank's simulated time: the call has just returned.
    pub now: Time,
    /// For receives, probes and waits: where from, with which tag, how long, and what.
    pub status: Status,
    /// For waits and tests of several requests: `(index, its status)` of those complete, ascending.
    /// For `Until::All` in order of the requests; kept empty for [`Op::WaitOne`].
    pub done: Vec<(u32, Status)>,
    /// For tests and probes that do not wait: whether there was something.
    pub flag: bool,
    /// For matched probes: the message's number for [`Op::ReceiveMatched`].
    pub matched: u64,
    /// For [`Op::NewComm`]: the new communicator of this rank.
    pub comm: CommId,
    /// For [`Op::NewComm`]: who is in it and with which topology; `None` where `comm` is `NULL`.
    pub created: Option<Arc<Communicator>>,
}

/// Status of a received message, or of a send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    /// Its source, a rank in the communicator; `u32::MAX` for sends and for [`crate::operation::Peer::Null`].
    pub source: u32,
    /// Its tag.
    pub tag: Tag,
    /// Its length in bytes.
    pub bytes: u64,
    /// Its content as the sender gave it; 0 is phantom.
    pub data: Data,
    /// True if it was cancelled.
    pub cancelled: bool,
}

impl Status {
    /// Status of an operation that received nothing.
    pub const EMPTY: Status = Status { source: u32::MAX, tag: 0, bytes: 0, data: 0, cancelled: false };
}

impl Default for Completion {
    fn default() -> Completion {
        Completion {
            now: Time::ZERO,
            status: Status::EMPTY,
            done: Vec::new(),
            flag: false,
            matched: 0,
            comm: CommId::NULL,
            created: None,
        }
    }
}

/// Operations that the ranks of a source have been given so far, in units of the source, and all that they will be.
/// Both are 0 where no rank has been asked for yet.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Issued {
    /// Work of the operations that were given.
    pub given: f64,
    /// Work of all operations.
    pub all: f64,
}

impl Issued {
    /// Sums over both sources.
    pub fn and(self, other: Issued) -> Issued {
        Issued { given: self.given + other.given, all: self.all + other.all }
    }
}

/// Yields the operations of every rank, one at a time.
pub trait Source {
    /// The next operation of `rank`, whose last one gave `done`. After [`Op::Finish`] it is not asked again.
    ///
    /// It is called at the simulated time `done.now`, ranks interleaved in the order of simulated time.
    fn next(&mut self, rank: Rank, done: &Completion) -> Op;

    /// The rendezvous message with content `data` goes into the receive of `receiver` under `request`, or of
    /// the call in which it stands. Its sender has not been told yet that it may use its memory again, so that a
    /// source can copy from the one memory to the other now. Not told of collectives and freed receives.
    fn matched(&mut self, data: Data, receiver: Rank, request: Option<Request>) {
        let _ = (data, receiver, request);
    }

    /// The operation that `rank` has let go under `request` ([`Op::LetGo`]) is complete.
    fn completed(&mut self, rank: Rank, request: Request, status: &Status) {
        let _ = (rank, request, status);
    }

    /// The one-sided operation with content `data` is applied at `target` now, in the order in which each origin
    /// has called. Puts into `answers` the contents of the operations there that are answered now: mostly itself; a
    /// lock that is held is granted later.
    fn access(&mut self, target: Rank, data: Data, answers: &mut Vec<Data>) {
        let _ = target;
        answers.push(data);
    }

    /// The message of `sender` with content `data` goes to `receiver`, whose source is in another process. Returns the
    /// number by which that source will know the content.
    fn export(&mut self, data: Data, sender: Rank, receiver: Rank) -> Data {
        let _ = (sender, receiver);
        data
    }

    /// Takes the contents for the sources of other processes, by process. They are there before anything that has been
    /// sent since the last call.
    fn take_contents(&mut self) -> Vec<(u32, Vec<u8>)> {
        Vec::new()
    }

    /// Receives contents from the source of another process.
    fn receive_contents(&mut self, contents: &[u8]) {
        let _ = contents;
    }

    /// Place of `rank` in the user's program ("cannon.py:31"), for reports of failures.
    fn place(&self, rank: Rank) -> Option<String> {
        let _ = rank;
        None
    }

    /// The function that `rank` called with the last operation, if that is not the function of the operation itself: a
    /// recorded MPI_Waitsome is performed as a wait for the requests that it completed.
    fn function(&self, rank: Rank) -> Option<&'static str> {
        let _ = rank;
        None
    }

    /// The function of MPI in which `rank` is with the last operation, if that may be another than the operation's own: an
    /// MPI_Test is performed as a test of any of one request.
    fn calling(&self, rank: Rank) -> Option<&'static str> {
        self.function(rank)
    }

    /// Operations given so far, and all of them, weighted by their work; `None` if it cannot tell.
    /// For the time left: about right will do.
    fn issued(&self) -> Option<Issued> {
        None
    }

    /// Reason why the source itself has given up with [`Op::Abort`], if it has: a damaged trace, an exception
    /// of the user's program. That is bad input, not a failure of the simulated program.
    fn take_error(&mut self) -> Option<String> {
        None
    }
}
