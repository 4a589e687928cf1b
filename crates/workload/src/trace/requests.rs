//! Requests of one rank: maps the trace's numbers, which depend on its MPI library, to small dense ones.

use engine::hash::Map;
use mpi::operation::Request;

/// A request in use.
#[derive(Debug, Clone, Copy)]
struct InUse {
    request: Request,
    persistent: bool,
}

/// All requests of one rank.
#[derive(Default)]
pub struct Requests {
    in_use: Map<i64, InUse>,
    free: Vec<Request>,
    next: u32,
}

impl Requests {
    /// Begins a request for the trace's `handle`. An older request with that handle was completed by a call that the
    /// trace lacks; its number in the simulation is never reused.
    pub fn begin(&mut self, handle: i64, persistent: bool) -> Request {
        let request = self.free.pop().unwrap_or_else(|| {
            self.next += 1;
            Request(self.next - 1)
        });
        self.in_use.insert(handle, InUse { request, persistent });
        request
    }

    /// Request that the trace calls `handle`, if it is in use.
    pub fn get(&self, handle: i64) -> Option<Request> {
        self.in_use.get(&handle).map(|entry| entry.request)
    }

    /// Completes `handle`; a request that is not persistent is free afterwards.
    pub fn complete(&mut self, handle: i64) -> Option<Request> {
        let entry = *self.in_use.get(&handle)?;
        if !entry.persistent {
            self.release(handle);
        }
        Some(entry.request)
    }

    /// Releases `handle`.
    pub fn release(&mut self, handle: i64) -> Option<Request> {
        let request = self.in_use.remove(&handle)?.request;
        self.free.push(request);
        Some(request)
    }
}
