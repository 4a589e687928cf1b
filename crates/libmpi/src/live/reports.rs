//! Reports of the simulator to a rank that is not in the call which asked for them.

use mpi::operation::{Data, Request};
use mpi::source::Status;

use super::process::Process;

/// Reports of the simulator, for the layer of the calls, which implements them.
pub trait Reports: Sync {
    /// The message with contents `data` goes into a receive of `receiver` for certain: that of its call, or `request`.
    fn matched(&self, receiver: &Process, data: Data, request: Option<Request>);
    /// An operation of `rank` whose request was freed is complete.
    fn completed(&self, rank: &Process, request: Request, status: &Status);
}
