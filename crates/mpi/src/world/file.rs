//! Accesses to files: how a rank asks the file system for them, and learns that they are done.

use engine::{Lane, Owner, Time};
use network::HostId;

use crate::file_system::{Access, FileSystem, Storage};
use crate::operation::{Rank, Request, Start};
use crate::world::calls::CallProgress;
use crate::world::index::{FileAccessIndex, Numbered};
use crate::world::process::Target;
use crate::world::{Context, Outcome, Wake, World};

/// The file system, and the accesses that it works at for requests.
#[derive(Debug)]
pub(super) struct Files {
    storage: Storage,
    pending: Numbered<FileAccessIndex, Pending>,
}

/// An access under way, which a request stands for.
#[derive(Debug, Clone, Copy)]
struct Pending {
    rank: Rank,
    target: Target,
    since: Time,
}

impl Files {
    /// A file system at time zero.
    pub fn new(file_system: FileSystem) -> Files {
        Files { storage: Storage::new(file_system), pending: Numbered::default() }
    }

    /// End of an access that a process of `host` begins at `since`.
    fn end_of(&mut self, since: Time, host: HostId, access: &Access) -> Time {
        self.storage.done(since, host.0, &access.work)
    }

    /// Keeps an access until it is done.
    fn begin(&mut self, access: Pending) -> FileAccessIndex {
        self.pending.insert(access)
    }

    /// An access is done.
    fn end(&mut self, index: FileAccessIndex) -> Pending {
        self.pending.remove(index)
    }

    /// Nobody waits for `request` of `rank` any more.
    pub fn forget(&mut self, rank: Rank, request: Request) {
        let own = self.pending.values_mut().filter(|access| access.rank == rank);
        own.for_each(|access| access.target.forget(request));
    }
}

impl World {
    /// Begins an access. It takes a rank that waits for it, and otherwise nothing of it.
    pub(super) fn issue_file(
        &mut self,
        rank: Rank,
        access: &Access,
        start: Start,
        context: &mut Context,
    ) -> Outcome<CallProgress> {
        assert!(
            self.setup.part.is_whole() || self.setup.file_system.is_free(),
            "a file system that takes time is in one domain"
        );
        if let Start::Persistent(_) = start {
            return Err(self.misuse(rank, "an access to a file cannot be persistent".into()));
        }
        let target = self.target(rank, start, || unreachable!("it is not persistent"))?;
        let target = target.expect("only persistent operations have no target");
        let since = self.processes[rank].free.max(context.now);
        let host = self.setup.placement[rank.0 as usize].host;
        let done = self.files.end_of(since, host, access);
        if target == Target::Call {
            return Ok(CallProgress::Return(done));
        }
        let index = self.files.begin(Pending { rank, target, since });
        context.queue.push(done, Owner::new(Lane::Rank, rank.0), Wake::FileDone(index).encode());
        Ok(CallProgress::Return(since))
    }

    /// An access that a request stands for is done.
    pub(super) fn file_done(&mut self, index: FileAccessIndex, context: &mut Context) -> Outcome<()> {
        let Pending { rank, target, since } = self.files.end(index);
        if self.processes[rank].awaits(target) {
            self.charge_file(rank, since, context);
        }
        let outcome = self.complete(rank, target, context.now, None, context);
        let outcome = outcome.and_then(|()| self.resume_ready(context));
        self.wake_poller(rank, context);
        outcome
    }
}
