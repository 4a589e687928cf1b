//! The requests of one rank: the trace's numbers, which grow or repeat as its MPI library pleased,
//! become small dense ones.

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
    /// A request for what the trace calls `handle`. One that still has that number was completed by a
    /// call that the trace does not have; its number in the simulation is never used again.
    pub fn begin(&mut self, handle: i64, persistent: bool) -> Request {
        let request = self.free.pop().unwrap_or_else(|| {
            self.next += 1;
            Request(self.next - 1)
        });
        self.in_use.insert(handle, InUse { request, persistent });
        request
    }

    /// The request that the trace calls `handle`, if it is in use.
    pub fn get(&self, handle: i64) -> Option<Request> {
        self.in_use.get(&handle).map(|entry| entry.request)
    }

    /// A wait for `handle`: a request that is not persistent is free after it.
    pub fn complete(&mut self, handle: i64) -> Option<Request> {
        let entry = *self.in_use.get(&handle)?;
        if !entry.persistent {
            self.release(handle);
        }
        Some(entry.request)
    }

    /// `handle` stands for nothing any more.
    pub fn release(&mut self, handle: i64) -> Option<Request> {
        let request = self.in_use.remove(&handle)?.request;
        self.free.push(request);
        Some(request)
    }
}
