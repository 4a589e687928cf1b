//! Work of the library when the simulator reports to a rank that is not in the call which asked for it.

use mpi::operation::{Data, Request};
use mpi::source::Status;

use super::{point_to_point, request};
use crate::live::process::Process;
use crate::live::reports::Reports;

/// The functions of MPI, as the ranks know them.
pub struct Library;

impl Reports for Library {
    fn matched(&self, receiver: &Process, data: Data, request: Option<Request>) {
        point_to_point::land(receiver, data, request);
    }

    fn completed(&self, rank: &Process, request: Request, status: &Status) {
        request::let_go_completed(rank, request, status);
    }
}
