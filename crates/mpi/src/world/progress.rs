//! Progress: when a rank answers the messages that reach it while it computes.
//!
//! A message of a handshake that reaches its rank at a is answered at
//!
//!   p(a) = min { t >= a : at t the rank makes progress }
//!
//! Under [`Progress::Asynchronous`] that is a itself. Under [`Progress::Calls`] a rank makes progress
//! while it is inside a call that may block (for as long as it is in it), at a test or probe, and from
//! its MPI_Finalize on; not while it computes (but where it polls meanwhile, [`Work::Polled`]), nor in calls
//! that only start an operation (MPI_Isend, MPI_Irecv, MPI_Start), that are local, or that do not
//! communicate. Answered are requests to send that meet a posted receive (with the clearance), clearances
//! (with the data), messages that are called back, and rounds of non-blocking collectives whose messages are
//! there (with the next round). What is answered in a test or probe keeps the rank in it until the overheads
//! are spent.
//!
//! Assumptions: a message is matched when it arrives in either case, so that progress delays answers and
//! never lets a message overtake another; an eager message, and the data of a rendezvous, need no progress of
//! their receiver, for the network interface stores them; the sender's data leaves without it, too. A
//! receive that starts without progress and finds a request to send which a call before it has seen
//! answers at once. Programs that only block (no non-blocking, persistent or buffered operations) take
//! the same times either way: a handshake that finds its rank computing finds no receive posted.
//!
//! Validity: `Calls` is a library without a progress thread, on an interface that does not run the
//! handshake by itself: MPICH (MPIR_CVAR_ASYNC_PROGRESS is off by default), Intel MPI
//! (I_MPI_ASYNC_PROGRESS the same), Open MPI (ob1 answers from opal_progress, which calls drive), Cray
//! MPT on Gemini and Aries (MPICH_NEMESIS_ASYNC_PROGRESS is off by default). `Asynchronous` is one with
//! such a thread, the thread's own time left out, or with an interface that matches messages and runs
//! the rendezvous in hardware, as Slingshot's (fi_cxi(7): "completes without software progress"). A
//! rendezvous by RDMA read answers with the data itself and needs one answer less, of the sender.
//!
//! Source: MPI 4.0, section 3.7.4 (what a library must promise); Brightwell, Riesen, Underwood,
//! "Analyzing the Impact of Overlap, Offload, and Independent Progress for MPI" (IJHPCA 19(2), 2005);
//! Hoefler, Lumsdaine, "Message Progression in Parallel Computing: to Thread or not to Thread?"
//! (Cluster 2008); Wittmann, Hager, Zeiser, Wellein, "Asynchronous MPI for the Masses" (arXiv:1302.4280);
//! Denis, Trahay, "MPI Overlap: Benchmark and Analysis" (ICPP 2016); for Gemini:
//! Pritchard, Roweth, Henseler, Cassella, "Leveraging the Cray Linux Environment Core Specialization
//! Feature to Realize MPI Asynchronous Progress on Cray XE Systems" (CUG 2012).

use engine::Time;

use crate::operation::{Op, Rank, Work};
use crate::world::flight::Flight;
use crate::world::index::{CollectiveHandle, ReceiveHandle, SendHandle};
use crate::world::process::Process;
use crate::world::protocol_message::{ClearToSend, Ends, RecallAnswer};
use crate::world::send::Cleared;
use crate::world::{Context, Outcome, World, text};

/// Times at which a rank answers the messages of handshakes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// At once, whatever it does.
    Asynchronous,
    /// While it is inside an MPI call that makes progress.
    Calls,
}

impl Progress {
    /// Names of the modes in platform files.
    pub const NAMES: &[&str] = &["asynchronous", "calls"];

    /// The mode of that name, one of [`Progress::NAMES`].
    pub fn named(name: &str) -> Option<Progress> {
        match name {
            "asynchronous" => Some(Progress::Asynchronous),
            "calls" => Some(Progress::Calls),
            _ => None,
        }
    }

    /// Up to when a rank has seen what has come, before its first call.
    pub(super) fn seen_at_first(self) -> Time {
        match self {
            Progress::Asynchronous => Time::NEVER,
            Progress::Calls => Time::ZERO,
        }
    }
}

/// A message that a rank answers when it makes progress.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Unanswered {
    /// A request to send that has met its receive.
    Request { receive: ReceiveHandle, send: SendHandle, arrived: Time },
    /// A clearance.
    Clear {
        clear: ClearToSend,
        /// Time at which it arrived.
        arrived: Time,
        /// Its flight to this rank.
        flight: Flight,
    },
    /// The answer to a recall of a message.
    Recall { ends: Ends, answer: RecallAnswer },
    /// A round of a collective that is done.
    Round { instance: CollectiveHandle },
}

impl Process {
    /// Has the rank made progress since `arrived`, or does it now?
    pub fn has_seen(&self, arrived: Time) -> bool {
        arrived <= self.seen
    }

    /// Keeps `what` until the rank makes progress.
    pub fn answer_later(&mut self, what: Unanswered) {
        self.rare().unanswered.push(what);
    }
}

impl World {
    /// A call begins: answers what waits for a call that makes progress, if this is one. Gives the time
    /// at which that is done.
    pub(super) fn progress(&mut self, rank: Rank, op: &Op, context: &mut Context) -> Outcome<Time> {
        let now = context.now;
        if self.setup.protocol.progress == Progress::Asynchronous {
            return Ok(now);
        }
        let process = &mut self.processes[rank];
        if !makes_progress(op) {
            // The call before may have made progress, up to now.
            process.seen = process.seen.min(now);
            return Ok(now);
        }
        process.seen = Time::NEVER;
        let Some(rare) = process.rare.as_mut().filter(|rare| !rare.unanswered.is_empty()) else {
            return Ok(now);
        };
        let unanswered = std::mem::take(&mut rare.unanswered);
        self.answer_waiting(rank, unanswered, context)
    }

    /// Answers what has waited for progress of `rank`; gives the time at which that is done.
    #[inline(never)]
    fn answer_waiting(
        &mut self,
        rank: Rank,
        unanswered: Vec<Unanswered>,
        context: &mut Context,
    ) -> Outcome<Time> {
        let now = context.now;
        for what in unanswered {
            match what {
                Unanswered::Request { receive, send, arrived } => {
                    self.processes[rank].rendezvous.end_stall(receive, now);
                    self.send_clearance(rank, receive, send, arrived, context);
                }
                Unanswered::Clear { clear, arrived, flight } => {
                    let cleared = Cleared { flight, arrived, stalled: now.since(arrived) };
                    self.send_data(rank, &clear, cleared, context)?;
                }
                Unanswered::Recall { ends, answer } => self.answer_recall(ends, answer, context),
                Unanswered::Round { instance } => self.advance(rank, instance, context)?,
            }
        }
        Ok(self.processes[rank].free.max(now))
    }
}

/// Does a call look for messages of others?
fn makes_progress(op: &Op) -> bool {
    text::blocks(op)
        || matches!(op, Op::Test(..) | Op::ProbeNow(_) | Op::ProbeMatched(..) | Op::Finish)
        || matches!(op, Op::Compute(Work::Polled(_) | Work::PolledFlops(_)))
}
