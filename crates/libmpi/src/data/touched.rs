//! Memory of ranks while it is copied: a fault there is that rank's, whichever rank runs.

use std::cell::Cell;

use super::parcel::Place;

/// Role of the memory for its rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Buffer of a send.
    Send,
    /// Buffer of a receive.
    Receive,
    /// Memory that it opens to others.
    Window,
    /// Buffer of its one-sided operation.
    Origin,
}

impl Role {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Role::Send => "send buffer",
            Role::Receive => "receive buffer",
            Role::Window => "window memory",
            Role::Origin => "buffer of a one-sided operation",
        }
    }
}

/// A rank's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// Rank that owns it.
    pub rank: u32,
    /// Role of it.
    pub role: Role,
    /// Begin.
    pub at: usize,
    /// Length \[bytes\].
    pub bytes: usize,
}

impl Memory {
    /// That of `place`.
    pub fn of(rank: u32, role: Role, place: &Place) -> Memory {
        let (begin, bytes) = place.layout.span(usize::try_from(place.count).unwrap_or(0));
        Memory { rank, role, at: (place.at.pointer() as usize).wrapping_add_signed(begin), bytes }
    }

    /// Is it where an access to `address` has failed? No address is told of what no process can have.
    fn has(&self, address: usize) -> bool {
        const NOWHERE: usize = 1 << 47;
        address.wrapping_sub(self.at) < self.bytes || address == 0 && self.at >= NOWHERE
    }
}

/// At most so many are touched by one operation.
pub type Memories = [Option<Memory>; 4];

thread_local! {
    static TOUCHED: Cell<Memories> = const { Cell::new([None; 4]) };
}

/// Runs `work`, which touches these. After a fault in it they stay noted.
pub fn touching(memories: Memories, work: impl FnOnce()) {
    TOUCHED.set(memories);
    work();
    TOUCHED.set([None; 4]);
}

/// Memory in which a fault at `address` has been, if any was touched.
pub fn at_fault(address: usize) -> Option<Memory> {
    let memories = TOUCHED.take();
    let mut all = memories.iter().flatten();
    all.clone().find(|memory| memory.has(address)).or(all.next()).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_in_the_memory_that_has_its_address() {
        let memory = |rank, at| Some(Memory { rank, role: Role::Send, at, bytes: 10 });
        let memories = [memory(0, 100), memory(1, 200), memory(2, 0xdead << 48), None];
        for (address, rank) in [(105, 0), (200, 1), (209, 1), (0, 2), (210, 0)] {
            touching([None; 4], || TOUCHED.set(memories));
            assert_eq!(at_fault(address), None);
            TOUCHED.set(memories);
            assert_eq!(at_fault(address).map(|memory| memory.rank), Some(rank));
        }
    }
}
