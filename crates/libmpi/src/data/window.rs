//! Windows: the memory that ranks open to each other, the operations on their way to it, and its locks.
//!
//! If all ranks live in one address space, an operation copies between the memories of origin and target, at
//! the moment at which the simulator applies it. Nothing is packed: until then the origin's memory stays as it is.
//! If each is a process, `remote_memory` does it. Memory that the library allocates is shared by all in either case.

use std::collections::VecDeque;

use engine::hash::Map;
use mpi::operation::Data;

use super::meeting::Key;
use super::operator::Accumulation;
use super::parcel::Place;
use super::remote_memory::Far;
use super::touched::{Memories, Memory, Role, touching};

/// Window of one member.
#[derive(Debug, Default)]
pub struct Member {
    /// Its beginning.
    pub base: usize,
    /// Length \[bytes\].
    pub size: usize,
    /// Unit of displacements \[bytes\].
    pub unit: i64,
    /// Dynamic windows: begin and length of what is attached.
    pub attached: Vec<(usize, usize)>,
    /// The process that it is in.
    pub process: libc::pid_t,
    /// Memory that was allocated with the window.
    pub memory: Vec<Line>,
    lock: Lock,
}

impl Member {
    /// One that opens `size` bytes at `base`, in displacements of `unit` bytes.
    pub fn new(base: usize, size: usize, unit: i64) -> Member {
        Member { base, size, unit, process: std::process::id() as libc::pid_t, ..Member::default() }
    }
}

impl Member {
    /// Is all of this attached, in one piece or in several that adjoin?
    pub fn has_attached(&self, first: usize, bytes: usize) -> bool {
        let (mut at, end) = (first, first.saturating_add(bytes));
        while at < end {
            let holds = |&&(base, size): &&(usize, usize)| (base..base + size).contains(&at);
            let Some(&(base, size)) = self.attached.iter().find(holds) else { return false };
            at = base + size;
        }
        true
    }
}

/// Holders of the lock of a member's memory, and those who wait for it.
#[derive(Debug, Default)]
struct Lock {
    holders: u32,
    exclusive: bool,
    queue: VecDeque<(Data, bool)>,
}

impl Lock {
    /// Grants what can be granted, in the order of arrival.
    fn grant(&mut self, answers: &mut Vec<Data>) {
        while let Some(&(data, exclusive)) = self.queue.front() {
            if self.holders > 0 && (exclusive || self.exclusive) {
                return;
            }
            self.queue.pop_front();
            self.holders += 1;
            self.exclusive = exclusive;
            answers.push(data);
        }
    }
}

/// A one-sided operation.
pub enum Action {
    /// target := origin
    Put(Place, Place),
    /// origin := target; origin, target.
    Get(Place, Place),
    /// result := target; target := target ⊕ origin
    Update {
        /// Operands.
        origin: Option<Place>,
        /// Destination of the old values.
        result: Option<Place>,
        /// With what.
        target: Place,
        /// Accumulation that it does.
        how: Accumulation,
    },
    /// result := target; target := origin where target = compare
    Swap {
        /// The new value.
        origin: Place,
        /// Value that the old one is compared with.
        compare: Place,
        /// Destination of the old one.
        result: Place,
        /// The value.
        target: Place,
    },
    /// Any of them, where each rank is a process.
    Far(Far),
    /// A lock of a member, exclusive or not.
    Lock(Key, u32, bool),
    /// Its release.
    Unlock(Key, u32),
}

/// All windows of a run.
#[derive(Default)]
pub struct Windows {
    open: Map<Key, Vec<Member>>,
    /// With the rank that has begun each.
    actions: Vec<Option<(u32, Action)>>,
    free: Vec<Data>,
}

impl Windows {
    /// A member opens its memory.
    pub fn join(&mut self, key: Key, size: usize, rank: u32, member: Member) {
        let members = self.open.entry(key).or_insert_with(|| (0..size).map(|_| Member::default()).collect());
        members[rank as usize] = member;
    }

    /// The members of a window.
    pub fn members(&mut self, key: Key) -> &mut Vec<Member> {
        self.open.get_mut(&key).expect("a window that is open")
    }

    /// A window is closed by all.
    pub fn close(&mut self, key: Key) {
        self.open.remove(&key);
    }

    /// Keeps an operation of rank `origin` until it is applied.
    pub fn keep(&mut self, origin: u32, action: Action) -> Data {
        match self.free.pop() {
            Some(number) => {
                self.actions[number as usize] = Some((origin, action));
                number
            }
            None => {
                self.actions.push(Some((origin, action)));
                self.actions.len() as Data - 1
            }
        }
    }

    /// Applies an operation on memory of rank `target`; says which are to be answered now.
    pub fn apply(&mut self, number: Data, target: u32, answers: &mut Vec<Data>) {
        let (origin, action) = self.actions[number as usize].take().expect("an operation is applied once");
        // A lock that is not granted yet keeps its number.
        let granted = answers.len();
        match action {
            Action::Lock(key, rank, exclusive) => {
                let lock = &mut self.members(key)[rank as usize].lock;
                lock.queue.push_back((number, exclusive));
                lock.grant(answers);
            }
            Action::Unlock(key, rank) => {
                answers.push(number);
                let lock = &mut self.members(key)[rank as usize].lock;
                lock.holders -= 1;
                lock.grant(answers);
            }
            data => {
                touching(data.memories(origin, target), || data.run());
                answers.push(number);
            }
        }
        self.free.extend_from_slice(&answers[granted..]);
    }
}

/// Is any of them folded memory whose contents mean nothing?
fn is_lost(places: [Option<&Place>; 3]) -> bool {
    places.into_iter().flatten().any(Place::is_lost)
}

fn contents(place: &Place) -> Box<[u8]> {
    // SAFETY: the program vouches for that many values there (`Address`).
    unsafe { place.layout.pack(place.at.pointer(), place.count) }
}

impl Action {
    /// The memory of both ranks that it touches.
    fn memories(&self, origin: u32, target: u32) -> Memories {
        let own = |place| Some(Memory::of(origin, Role::Origin, place));
        let there = |place| Some(Memory::of(target, Role::Window, place));
        match self {
            Action::Put(origin, target) | Action::Get(origin, target) => {
                [there(target), own(origin), None, None]
            }
            Action::Update { origin, result, target, .. } => {
                [there(target), origin.as_ref().and_then(own), result.as_ref().and_then(own), None]
            }
            Action::Swap { origin, compare, result, target } => {
                [there(target), own(origin), own(compare), own(result)]
            }
            Action::Far(_) | Action::Lock(..) | Action::Unlock(..) => [None; 4],
        }
    }

    fn run(self) {
        match self {
            Action::Put(origin, target) => origin.copy(&target),
            Action::Get(origin, target) => target.copy(&origin),
            Action::Update { origin, result, target, .. }
                if is_lost([origin.as_ref(), result.as_ref(), Some(&target)]) => {}
            Action::Update { origin, result, target, how } => {
                let given = origin.map(|origin| contents(&origin));
                if let Some(result) = result {
                    result.put(&contents(&target));
                }
                let given = given.unwrap_or_default();
                // SAFETY: as in `contents`.
                unsafe { how.apply(&given, target.at.pointer(), &target.layout, target.count) };
            }
            Action::Swap { origin, compare, result, target } => {
                let (new, old) = (contents(&origin), contents(&target));
                let equal = contents(&compare) == old;
                result.put(&old);
                if equal {
                    target.put(&new);
                }
            }
            Action::Far(far) => far.run(),
            Action::Lock(..) | Action::Unlock(..) => {}
        }
    }
}

/// Kind of memory for windows.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub struct Line([u8; 64]);

/// Memory for windows, zero at first; none if there is not enough.
pub fn allocate(bytes: usize) -> Option<Vec<Line>> {
    let lines = bytes.div_ceil(64).max(1);
    let mut memory = Vec::new();
    memory.try_reserve_exact(lines).ok()?;
    memory.resize(lines, Line([0; 64]));
    Some(memory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpi::operation::CommId;

    /// Shared ones together, exclusive ones alone, all in the order of arrival.
    #[test]
    fn locks_are_granted_in_the_order_of_arrival() {
        let key = Key { comm: CommId::WORLD, first: 0, number: 0 };
        let mut windows = Windows::default();
        windows.join(key, 1, 0, Member::default());
        let mut now = |action| {
            let (mut answers, number) = (Vec::new(), windows.keep(0, action));
            windows.apply(number, 0, &mut answers);
            (number, answers)
        };
        let (first, granted) = now(Action::Lock(key, 0, false));
        assert_eq!(granted, [first]);
        let (second, granted) = now(Action::Lock(key, 0, false));
        assert_eq!(granted, [second]);
        let (third, granted) = now(Action::Lock(key, 0, true));
        assert!(granted.is_empty());
        let (fourth, granted) = now(Action::Lock(key, 0, false));
        assert!(granted.is_empty());
        let (release, granted) = now(Action::Unlock(key, 0));
        assert_eq!(granted, [release]);
        let (release, granted) = now(Action::Unlock(key, 0));
        assert_eq!(granted, [release, third]);
        let (release, granted) = now(Action::Unlock(key, 0));
        assert_eq!(granted, [release, fourth]);
    }
}
