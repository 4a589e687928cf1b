//! Computing that shares the memory of its socket with other ranks: see [`crate::compute::sockets`].

use engine::hash::Map;
use engine::{Bandwidth, Bytes, Duration, Lane, Owner, Time};
use network::HostId;

use crate::compute::Slot;
use crate::compute::sockets::Socket;
use crate::operation::{Rank, Work};
use crate::world::calls::CallProgress;
use crate::world::index::SocketIndex;
use crate::world::{Context, Outcome, Wake, World};

/// Sockets on which ranks of this world compute, made when the first of them moves bytes.
#[derive(Debug, Default)]
pub(super) struct Memory {
    sockets: Vec<Shared>,
    /// Index of each socket, by its host and its number there.
    index: Map<u64, SocketIndex>,
    /// True if the work of a rank has stated memory traffic.
    named: bool,
}

#[derive(Debug)]
struct Shared {
    socket: Socket,
    /// The rank that owns its events: the first that has used it.
    owner: Rank,
    /// The time of its latest event.
    due: Option<Time>,
}

/// Event to schedule: a stretch of computing on a socket may have ended then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Due {
    at: Time,
    socket: SocketIndex,
    owner: Rank,
}

impl Memory {
    /// The socket of this number on a host, whose memory has this bandwidth; `rank` is on it.
    fn socket(&mut self, host: HostId, number: u16, bandwidth: Bandwidth, rank: Rank) -> SocketIndex {
        let key = u64::from(host.0) << 16 | u64::from(number);
        let all = &mut self.sockets;
        *self.index.entry(key).or_insert_with(|| {
            all.push(Shared { socket: Socket::new(bandwidth), owner: rank, due: None });
            SocketIndex(all.len() as u32 - 1)
        })
    }

    /// A rank begins a stretch that takes `alone` by itself and moves `bytes`.
    fn begin(
        &mut self,
        index: SocketIndex,
        now: Time,
        rank: Rank,
        alone: Duration,
        bytes: Bytes,
    ) -> Option<Due> {
        self.sockets[index.0 as usize].socket.begin(now, rank.0, alone, bytes);
        self.next_due(index)
    }

    /// Ends the stretches of a socket that end `now`, an instant for which an event was scheduled: gives their ranks.
    fn end(&mut self, index: SocketIndex, now: Time) -> (Vec<u32>, Option<Due>) {
        let shared = &mut self.sockets[index.0 as usize];
        let ended = shared.socket.end(now);
        // This event is spent: another stretch that ends at the same instant, by rounding, needs one of its own.
        shared.due = shared.due.filter(|due| *due != now);
        (ended, self.next_due(index))
    }

    /// Event for the next end on a socket, unless there is one.
    fn next_due(&mut self, index: SocketIndex) -> Option<Due> {
        let shared = &mut self.sockets[index.0 as usize];
        let next = shared.socket.next();
        let new = next.filter(|_| next != shared.due);
        shared.due = next;
        Some(Due { at: new?, socket: index, owner: shared.owner })
    }
}

impl World {
    /// Begins to compute.
    #[inline]
    pub(super) fn compute(&mut self, rank: Rank, work: Work, context: &mut Context) -> CallProgress {
        let bytes = work.memory_bytes();
        let host = self.setup.placement[rank.0 as usize].host;
        let own = self.setup.compute.time(Slot { rank: rank.0, host: host.0 }, work);
        if bytes == Bytes(0) {
            return CallProgress::Return(context.now + own);
        }
        self.compute_in_memory(rank, own, bytes, context)
    }

    /// Begins to compute for `own` alone, while `bytes` go through memory.
    #[inline(never)]
    fn compute_in_memory(
        &mut self,
        rank: Rank,
        own: Duration,
        bytes: Bytes,
        context: &mut Context,
    ) -> CallProgress {
        let (sockets, place) = (self.setup.sockets, self.setup.placement[rank.0 as usize]);
        self.memory.named = true;
        let alone = own.max(sockets.memory_bandwidth.transfer(bytes));
        if !sockets.share() || alone == Duration::ZERO {
            return CallProgress::Return(context.now + alone);
        }
        let number = sockets.of_slot(place.process, self.setup.host.processes);
        let index = self.memory.socket(place.host, number, sockets.memory_bandwidth, rank);
        let due = self.memory.begin(index, context.now, rank, alone, bytes);
        schedule(due, context);
        CallProgress::Sharing
    }

    /// True if the work of a rank has stated memory traffic.
    pub fn names_memory(&self) -> bool {
        self.memory.named
    }

    /// Ends the stretches of a socket that end now: none if their end has moved since the event was scheduled.
    pub(super) fn memory_done(&mut self, index: SocketIndex, context: &mut Context) -> Outcome<()> {
        let (ended, due) = self.memory.end(index, context.now);
        schedule(due, context);
        ended.into_iter().try_for_each(|rank| self.resume(Rank(rank), context))
    }
}

fn schedule(due: Option<Due>, context: &mut Context) {
    if let Some(Due { at, socket, owner }) = due {
        context.queue.push(at, Owner::new(Lane::Rank, owner.0), Wake::MemoryDone(socket).encode());
    }
}
