//! Computing that shares the memory of its socket with other ranks: see [`crate::compute::sockets`].

use engine::hash::Map;
use engine::{Bytes, Duration, Lane, Owner, Time};

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

impl World {
    /// Begins to compute.
    #[inline]
    pub(super) fn compute(&mut self, rank: Rank, work: Work, context: &mut Context) -> CallProgress {
        let (sockets, bytes) = (self.setup.sockets, work.memory_bytes());
        let slot = Slot { rank: rank.0, host: self.setup.placement[rank.0 as usize].host.0 };
        let own = self.setup.compute.time(slot, work);
        if bytes == Bytes(0) {
            return CallProgress::Return(context.now + own);
        }
        self.memory.named = true;
        let alone = own.max(sockets.memory_bandwidth.transfer(bytes));
        if !sockets.share() || alone == Duration::ZERO {
            return CallProgress::Return(context.now + alone);
        }
        let index = self.socket_of(rank);
        self.memory.sockets[index.0 as usize].socket.begin(context.now, rank.0, alone, bytes);
        self.schedule(index, context);
        CallProgress::Sharing
    }

    /// True if the work of a rank has stated memory traffic.
    pub fn names_memory(&self) -> bool {
        self.memory.named
    }

    /// Ends the stretches of a socket that end now: none if their end has moved since the event was scheduled.
    pub(super) fn memory_done(&mut self, index: SocketIndex, context: &mut Context) -> Outcome<()> {
        let shared = &mut self.memory.sockets[index.0 as usize];
        let ended = shared.socket.end(context.now);
        // This event is spent: another stretch that ends at the same instant, by rounding, needs one of its own.
        shared.due = shared.due.filter(|due| *due != context.now);
        self.schedule(index, context);
        ended.into_iter().try_for_each(|rank| self.resume(Rank(rank), context))
    }

    /// Schedules an event for the next end, unless there is one.
    fn schedule(&mut self, index: SocketIndex, context: &mut Context) {
        let shared = &mut self.memory.sockets[index.0 as usize];
        let next = shared.socket.next();
        if let Some(at) = next.filter(|_| next != shared.due) {
            let owner = Owner::new(Lane::Rank, shared.owner.0);
            context.queue.push(at, owner, Wake::MemoryDone(index).encode());
        }
        shared.due = next;
    }

    fn socket_of(&mut self, rank: Rank) -> SocketIndex {
        let (place, sockets) = (self.setup.placement[rank.0 as usize], self.setup.sockets);
        let number = sockets.of_slot(place.process, self.setup.host.processes);
        let key = u64::from(place.host.0) << 16 | u64::from(number);
        let all = &mut self.memory.sockets;
        *self.memory.index.entry(key).or_insert_with(|| {
            let socket = Socket::new(sockets.memory_bandwidth);
            all.push(Shared { socket, owner: rank, due: None });
            SocketIndex(all.len() as u32 - 1)
        })
    }
}
